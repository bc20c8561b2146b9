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
QUANTITY_TEXT: Final[Mapping[Quantity, str]] = {
    "regret_ratio": "mean regret at the longest horizon",
    "excess_ratio": "mean excess risk at the largest n",
    "delivered_epsilon": "delivered eps / claimed eps",
    "noise_ratio": "noise scale per node",
}
COLUMN_OF: Final[Mapping[Quantity, str]] = {
    "regret_ratio": "regret", "excess_ratio": "regret", "noise_ratio": "noise_scale",
    "delivered_epsilon": "delivered_epsilon",
}  # fmt: skip
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
    return {
        "erratum": erratum.id, "kind": erratum.kind, "provenance": erratum.provenance, "place": erratum.place,
        "printed": erratum.printed, "right": erratum.right, "why": erratum.why, "status": status, **found,
        "claims": " ".join(erratum.claims), "experiment": erratum.experiment or formats.DASH, "note": note,
    }  # fmt: skip


def measure(runs: pd.DataFrame, what: Measure, experiment: str) -> dict[str, str]:
    """Printed and corrected value of a quantity, with 95 % intervals where runs differ, and their ratio.

    `of constant`: the printed regret over that of a constant point. Raises NotRun or NoExponent.
    """
    printed_rows, corrected_rows = (_last_rows(runs, what, name, experiment) for name in (what.variant, what.against))
    result = {
        "quantity": QUANTITY_TEXT[what.quantity],
        "against": f"{what.learner}.{what.against}",
        "ratio": formats.DASH,
        "of constant": formats.DASH,
        "setting": setting(printed_rows),
    }
    column = COLUMN_OF[what.quantity]
    keys = ["run", "set", "dimension", "epsilon", "window"]
    pairs = printed_rows.merge(corrected_rows, on=keys, suffixes=("_printed", "_right"), validate="one_to_one")
    if pairs.empty:
        raise NotRun(f"no common runs of {what.variant} and {what.against} of {what.learner} in {experiment}")
    scale = pairs["epsilon"] if what.quantity == "delivered_epsilon" else 1.0
    printed_values = (pairs[f"{column}_printed"] / scale).to_numpy(dtype=float)
    right_values = (pairs[f"{column}_right"] / scale).to_numpy(dtype=float)
    if not (np.isfinite(printed_values).all() and np.isfinite(right_values).all()):
        raise NotRun(f"{column} is not finite for {what.learner} in {experiment}")
    if column == "regret":
        share = float(pairs["regret_printed"].mean() / pairs["trivial_regret_printed"].mean())
        result["of constant"] = formats.significant(share)
    return {
        **result,
        "as printed": _mean_text(printed_values),
        "corrected": _mean_text(right_values),
        "ratio": formats.significant(float(printed_values.mean() / right_values.mean())),
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
