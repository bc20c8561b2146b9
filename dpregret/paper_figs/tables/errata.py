"""The measured effect of each erratum: errata.csv and errata.md."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import NotRun, select_rows, setting
from dpregret.paper_figs.judge.claims import ErrataFile, Erratum, Measure, Quantity
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import plain

COLUMNS: Final = [
    "erratum", "kind", "provenance", "place", "printed", "right", "why", "status", "quantity", "against", "ratio",
    "as printed", "corrected", "of constant", "setting", "claims", "experiment", "note",
]  # fmt: skip
MEASURED, NOT_MEASURABLE = "measured", "not measured"
QUANTITIES: Final[Mapping[Quantity, tuple[str, str]]] = {
    "regret_ratio": ("regret", "mean regret at the longest horizon"),
    "excess_ratio": ("regret", "mean excess risk at the largest n"),
    "delivered_epsilon": ("delivered_epsilon", "delivered eps / claimed eps"),
    "noise_ratio": ("noise_scale", "noise scale per node"),
}
"""Quantity -> the column of a run that holds it, and its name in words."""
EMPTY: Final = ("quantity", "as printed", "against", "corrected", "ratio", "of constant", "setting")
"""Columns of an effect."""


def write_errata(
    runs: pd.DataFrame, errata: ErrataFile, out: Path, experiments: Collection[str] | None = None
) -> pd.DataFrame:
    """Write errata.csv and errata.md into `out`; return the frame."""
    rows = [_row(runs, erratum, experiments) for erratum in errata.errata]
    frame = pd.DataFrame(rows, columns=None if rows else COLUMNS)
    formats.write_csv(frame, out / "errata.csv")
    (out / "errata.md").write_text("\n".join(_section(row) for row in frame.to_dict("records")), encoding="utf-8")
    return frame


def _section(row: dict[Hashable, str]) -> str:
    row = {name: plain(text) for name, text in row.items()}
    lines = [f"## {row['erratum']}: {row['place']}", "", f"- kind: {row['kind']}, {row['provenance']}"]
    lines += [f"- {key}: {row[key]}" for key in ("printed", "right", "why")]
    if row["status"] == MEASURED:
        effect = f"{row['as printed']} as printed, {row['corrected']} in {row['against']}"
        lines.append(f"- measured ({row['experiment']}): {row['quantity']} {effect}")
    elif row["status"] != NOT_MEASURABLE or not row["claims"]:
        lines.append(f"- {row['status']}")
    if row["claims"]:
        lines.append(f"- shown by: {row['claims']}")
    if row["note"]:
        lines.append(f"- note: {row['note']}")
    return "\n".join(lines) + "\n"


def _row(runs: pd.DataFrame, erratum: Erratum, experiments: Collection[str] | None) -> dict[str, str]:
    found = dict.fromkeys(EMPTY, formats.DASH)
    status, note = NOT_MEASURABLE, erratum.reason
    if erratum.measure is not None and erratum.experiment is not None:
        if experiments is not None and erratum.experiment not in experiments:
            status, note = NOT_RUN, f"experiment {erratum.experiment} is not in this profile"
        else:
            try:
                found, status = measure(runs, erratum.measure, erratum.experiment), MEASURED
            except (NotRun, fits.NoExponent) as missing:
                status, note = NOT_RUN, str(missing)
    copied = {name: getattr(erratum, name) for name in ("kind", "provenance", "place", "printed", "right", "why")}
    about = {"claims": " ".join(erratum.claims), "experiment": erratum.experiment or formats.DASH, "note": note}
    return {"erratum": erratum.id, **copied, "status": status, **found, **about}


def measure(runs: pd.DataFrame, what: Measure, experiment: str) -> dict[str, str]:
    """Printed and corrected value of a quantity, with 95 % intervals where runs differ, and their ratio.

    `of constant`: the printed regret over that of a constant point. Raises NotRun or NoExponent.
    """
    column, quantity = QUANTITIES[what.quantity]
    printed_rows, right_rows = (_last_rows(runs, what, name, experiment) for name in (what.variant, what.against))
    keys = ["run", "set", "dimension", "epsilon", "window"]
    pairs = printed_rows.merge(right_rows, on=keys, suffixes=("_printed", "_right"), validate="one_to_one")
    if pairs.empty:
        raise NotRun(f"no common runs of {what.variant} and {what.against} of {what.learner} in {experiment}")
    scale = pairs["epsilon"] if what.quantity == "delivered_epsilon" else 1.0
    printed, right = ((pairs[f"{column}_{side}"] / scale).to_numpy(dtype=float) for side in ("printed", "right"))
    if not (np.isfinite(printed).all() and np.isfinite(right).all()):
        raise NotRun(f"{column} is not finite for {what.learner} in {experiment}")
    share = float("nan")
    if column == "regret":
        share = float(pairs["regret_printed"].mean() / pairs["trivial_regret_printed"].mean())
    return {
        "quantity": quantity,
        "against": f"{what.learner}.{what.against}",
        "ratio": formats.significant(float(printed.mean() / right.mean())),
        "of constant": formats.significant(share),
        "setting": setting(printed_rows),
        "as printed": _mean_text(printed),
        "corrected": _mean_text(right),
    }


def _mean_text(values: Array) -> str:
    """Mean with its interval over runs; a range over settings where the quantity is not random."""
    if values.std() == 0 or len(values) < 2:
        return formats.significant(float(values[0]))
    return formats.significant_interval(fits.mean_interval(values))


def _last_rows(runs: pd.DataFrame, what: Measure, variant: str, experiment: str) -> pd.DataFrame:
    rows = select_rows(runs, what.learner, variant, experiment, what.stream, dict(what.where))
    rows = rows.loc[(rows["checkpoint"] == rows["horizon"]) & (rows["horizon"] == rows["horizon"].max())]
    rows = pd.DataFrame(rows.loc[rows["status"] == "ok"])
    if rows.empty:
        raise NotRun(f"{what.learner}.{variant} has no finished run in {experiment}")
    return rows
