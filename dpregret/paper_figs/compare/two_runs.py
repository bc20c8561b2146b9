"""Compare two runs: which verdicts and exponents moved, and which moved beyond their intervals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.core.boundary import as_json
from dpregret.core.errors import ConfigError, one_line, printable
from dpregret.paper_figs.compare import figures
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.result_tables import FITTED, SAME, read_judged
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DamageError

BEYOND, VERDICT, ONLY_A, ONLY_B, OTHER, NOTHING = (
    "exponent moved beyond its interval", "verdict", "only in A", "only in B", "another measurement", "nothing",
)  # fmt: skip
SLACK = 2e-5
"""Numbers without noise, written with six digits, differ by less."""


class CompareError(ConfigError):
    """Two folders that cannot be compared; the message is one line."""


def read_tables(folder: Path, files: Sequence[Path]) -> pd.DataFrame:
    """All lines of the given tables of claims in a folder, with the column `paper`; CompareError, DamageError."""
    if not files:
        raise CompareError(f"{folder}: no claims.csv here, nor one folder below; name the results of a run")
    frames = [
        read_judged(file.parent, needed=(*SAME, *FITTED)).assign(paper=file.resolve().parent.name) for file in files
    ]
    judged = pd.concat(frames, ignore_index=True)
    return judged.loc[judged["verdict"] != NOT_RUN]


def compare(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """One row per claim that differs, sorted by gravity; papers that only one side has are left out.

    An exponent moved beyond its interval when the change is larger than the interval of a difference of two
    independent fits, sqrt(h_A^2 + h_B^2) with the half widths h of the two 95 % intervals. Runs with common random
    numbers agree better than that; another grid of cells (`cells`: other) may move what is no exact power. Claims
    that measure something else on the two sides are named and not compared. Claims that were not run do not count.
    """
    papers = set(first["paper"]) & set(second["paper"])
    sides = [frame.loc[frame["paper"].isin(papers)] for frame in (first, second)]
    both = sides[0].merge(sides[1], on=["paper", "claim"], how="outer", suffixes=("_a", "_b"), indicator="side")
    change = both["fitted_b"] - both["fitted_a"]
    half_a, half_b = ((both[f"fitted_high_{side}"] - both[f"fitted_low_{side}"]) / 2 for side in ("a", "b"))
    beyond = change.abs() > np.sqrt(half_a**2 + half_b**2) + SLACK
    of_a, of_b = (both[[f"{column}_{side}" for column in SAME]].to_numpy() for side in "ab")
    other = (of_a != of_b).any(axis=1)
    sides_differ = both["side"] == "left_only", both["side"] == "right_only"
    verdict = both["verdict_a"] != both["verdict_b"]
    what = np.select([*sides_differ, other, beyond, verdict], [ONLY_A, ONLY_B, OTHER, BEYOND, VERDICT], default=NOTHING)
    table = pd.DataFrame(
        {
            "paper": both["paper"],
            "claim": both["claim"],
            "verdict of A": both["verdict_a"].fillna(formats.DASH),
            "verdict of B": both["verdict_b"].fillna(formats.DASH),
            "exponent of A": _fitted(both, "a"),
            "exponent of B": _fitted(both, "b"),
            "change": [formats.format_number(value, 3) for value in change],
            "cells": np.where(both["cells_used_a"] == both["cells_used_b"], "same", "other"),
            "what": pd.Categorical(what, [BEYOND, VERDICT, OTHER, ONLY_A, ONLY_B, NOTHING], ordered=True),
        }
    )
    moved = table.loc[table["what"] != NOTHING].sort_values(["what", "paper", "claim"], ignore_index=True)
    return moved.astype({"what": "str"})


def summary(first: pd.DataFrame, second: pd.DataFrame, moved: pd.DataFrame) -> str:
    """The result of the comparison, in a sentence."""
    common = first.merge(second, on=["paper", "claim"])
    if common.empty:
        return "the two folders have no claim in common"
    counts = moved["what"].value_counts()
    verdicts = ((moved["verdict of A"] != moved["verdict of B"]) & moved["what"].isin([BEYOND, VERDICT])).sum()
    text = f"{len(common)} claims in common: {counts.get(BEYOND, 0)} exponents moved beyond their intervals, "
    text += f"{verdicts} verdicts changed"
    further = [f"{counts[name]} {name}" for name in (OTHER, ONLY_A, ONLY_B) if name in counts]
    return text + (f"; {', '.join(further)}" if further else "")


def _fitted(both: pd.DataFrame, side: str) -> list[str]:
    columns = both[[f"fitted_{side}", f"fitted_low_{side}", f"fitted_high_{side}"]].to_numpy(dtype=float)
    return [formats.with_interval(Estimate(*row), 3) if np.isfinite(row[0]) else formats.DASH for row in columns]


def main(
    a: str, b: str, read: Callable[[str], tuple[pd.DataFrame, figures.Drawn]], long: bool = False, in_json: bool = False
) -> int:
    """Print what differs; exit code 2 when the two cannot be compared. read: gives the lines and the figures of a
    name."""
    try:
        (first, drawn_a), (second, drawn_b) = read(a), read(b)
        moved, redrawn = compare(first, second), figures.compare_figures(drawn_a, drawn_b)
    except (CompareError, DamageError, OSError) as fault:
        print(f"dpregret: compare: {one_line(fault)}", file=sys.stderr)
        return 2
    sentence = "\n".join(filter(None, (summary(first, second, moved), figures.summary(drawn_a, drawn_b, redrawn))))
    if in_json:
        rows = moved.rename(columns=lambda name: name.replace(" ", "_"))
        drawings = redrawn.rename(columns=lambda name: name.replace(" ", "_"))
        print(as_json({"a": a, "b": b, "summary": sentence, "moved": rows, "figures": drawings}), end="")
        return 0
    if len(moved):
        both = {side: moved[f"exponent of {side}"] + " " + moved[f"verdict of {side}"] for side in "AB"}
        named = moved["paper"] + " " + moved["claim"]  # papers share names of claims
        few = moved[["what"]].assign(**both)
        few.insert(0, "claim", named)
        print(formats.terminal(moved if long else few, printable(f"A: {a}   B: {b}")))
    if len(redrawn):
        print(formats.terminal(redrawn, "data of figures"))
    print(sentence)
    return 0
