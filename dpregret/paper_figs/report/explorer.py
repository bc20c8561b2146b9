"""The data behind the interactive curves: means over runs with intervals, one row per cell of every experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.claims import ClaimsFile
from dpregret.paper_figs.judge.runs import OPTIONS
from dpregret.paper_figs.judge.vocabulary import labels_of
from dpregret.paper_figs.report.findings import NOBODY, Names, TextTable, learner_name, text_table
from dpregret.paper_figs.text.formats import DASH, significant

SILENT: Final = " without noise"
SERIES: Final = ("learner", "variant")
VARIABLES: Final = ("stream", "set", "checkpoint", "dimension", "window", "epsilon", "delta", *OPTIONS)
"""Variables for the horizontal axis or to hold fixed; `checkpoint` is T (or n)."""
NUMBERS: Final = ("mean", "low", "high", "bound", "trivial", "runs")
READ: Final = ("anytime", "regret", "trivial_regret", "bound")
"""The columns of runs that it reads, besides those that identify rows."""
LABELS: Final = {
    "stream": "losses", "set": "set", "dimension": "dimension", "window": "window W", "epsilon": "eps",
    "delta": "delta", "best_loss": "loss of the best expert L*", "length": "rounds that tell the experts apart",
    "active": "active records", "kill": "rounds until an expert errs", "probability": "probability",
    "strong_convexity": "strong convexity mu", "strength": "records of the instance, in units of the bound",
    "corners": "corners k", "curvature": "curvature Gamma", "smoothness": "smoothness lambda",
}  # fmt: skip
CHARTED: Final = {
    "horizon": "checkpoint", "samples": "checkpoint", "experts": "dimension", "mu": "epsilon", "width": "dimension",
    "landau": "window", "items": "window", "convexity": "strong_convexity", "beta": "checkpoint", "delta": "delta",
}  # fmt: skip
"""Swept parameter -> variable of the chart, where the names differ."""


def explorer(runs: pd.DataFrame, claims: ClaimsFile, names: Names = NOBODY) -> dict[str, Any]:
    """Experiment -> variables that vary, series and rows; numbers have five significant digits.

    A learner that needs no new run for a shorter horizon shows its checkpoints; the others their last rounds. Learners
    that protect everything have no window, learners without privacy no eps (null); a private learner that was run
    without noise too is two series.
    """
    rows = runs.loc[runs["status"] == "ok"]
    longest = rows.groupby(["experiment", *SERIES])["horizon"].transform("max")
    shown = np.where(rows["anytime"], rows["horizon"] == longest, rows["checkpoint"] == rows["horizon"])
    rows = rows.loc[shown & (rows["checkpoint"] > 1)]
    rows = rows.assign(window=rows["window"].where(rows["window"].between(1, rows["horizon"] - 1)))
    private = np.isfinite(rows["epsilon"])
    rows = rows.assign(epsilon=rows["epsilon"].where(private), delta=rows["delta"].where(private))
    words = labels_of(claims.response)
    experiments = rows.groupby("experiment", sort=True)
    return {
        "response": words.response,
        "labels": {**LABELS, "checkpoint": "records n" if claims.problem == "erm" else "horizon T (rounds)"},
        "experiments": {str(name): _experiment(group, names) for name, group in experiments},
    }


def unclaimed(shown: dict[str, Any], claims: ClaimsFile, titles: Mapping[str, str]) -> Iterator[TextTable]:
    """Of each experiment that no claim is about, the means at the longest length, from what `explorer` shows."""
    claimed = {claim.experiment for claim in claims.claims}
    for name, found in shown["experiments"].items():
        if name in claimed:
            continue
        cells = pd.DataFrame(found["rows"], columns=["series", *found["variables"], *NUMBERS], dtype=object)
        if "checkpoint" in cells:
            cells = cells.loc[cells["checkpoint"] == cells["checkpoint"].max()]
        texts = cells.map(in_cell)
        columns = {
            "learner": [found["names"][series] for series in cells["series"]],
            **{shown["labels"][each]: texts[each] for each in found["variables"]},
            shown["response"]: texts["mean"],
            "95 %": "[" + texts["low"] + ", " + texts["high"] + "]",
            "runs": texts["runs"],
        }
        caption = f"Experiment {name}: no claim is about it."
        frame = pd.DataFrame(columns, index=cells.index)
        yield text_table(f"{claims.paper}-{name}", titles.get(name) or name, caption, frame)


def _experiment(rows: pd.DataFrame, known: Names) -> dict[str, Any]:
    varying = [name for name in VARIABLES if name in rows.columns and rows[name].nunique(dropna=False) > 1]
    pairs = list(zip(rows["learner"], rows["variant"], strict=True))
    names = {pair: pair[0] + ("" if pair[1] == "plain" else f" {pair[1]}") for pair in pairs}
    private = rows["epsilon"].notna()
    silent = ~private & private.groupby([rows[name] for name in SERIES]).transform("any")
    called = {name: learner_name(known, *pair) for pair, name in names.items()}
    called |= {name + SILENT: text + SILENT for name, text in called.items()}
    words = [names[pair] + SILENT * alone for pair, alone in zip(pairs, silent, strict=True)]
    rows = rows.assign(series=np.array(words, dtype=object))
    series = list(rows.sort_values("epsilon", kind="stable", na_position="last")["series"].unique())
    measured = {
        "mean": ("regret", "mean"),
        "spread": ("regret", "std"),
        "bound": ("bound", "mean"),
        "trivial": ("trivial_regret", "mean"),
        "runs": ("regret", "size"),
    }
    cells = rows.groupby(["series", *varying], sort=True, dropna=False).agg(**measured).reset_index()
    reach = fits.half_width(cells["spread"].fillna(0).to_numpy(), cells["runs"].clip(lower=2).to_numpy())  # none of one
    cells = cells.assign(low=cells["mean"] - reach, high=cells["mean"] + reach)
    constant = {name: _plain(rows[name].iloc[0]) for name in VARIABLES if name in rows.columns and name not in varying}
    return {
        "series": series,
        "names": [called[name] for name in series],
        "printed": [name for name in series if "printed" in name],
        "variables": varying,
        "constant": {name: value for name, value in constant.items() if value is not None},
        "rows": [
            [series.index(record["series"]), *(_plain(record[name]) for name in (*varying, *NUMBERS))]
            for record in cells.to_dict("records")
        ],
    }


def in_cell(value: Any) -> str:
    """A word, a number with three digits, or a dash for what a learner has not."""
    if value is None or isinstance(value, str):
        return value or DASH
    return str(value) if isinstance(value, int) else significant(value)


def _plain(value: Any) -> str | float | int | None:
    """A JSON value: text, a short number, or null for what is not finite."""
    if isinstance(value, str):
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else float(f"{number:.5g}")
