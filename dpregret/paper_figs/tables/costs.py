"""The cost of a round: operations claimed and counted, and microseconds. The only table with timings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.claims import ClaimsFile, TableRow
from dpregret.paper_figs.judge.labels import labels_of
from dpregret.paper_figs.text import formats

CALLS: Final = {
    "projection": ("projections", "seconds_projection"),
    "linear oracle": ("linear_oracles", "seconds_linear_oracle"),
    "local oracle": ("local_oracles", "seconds_local_oracle"),
}
"""Operation -> columns of calls per round, and of CPU seconds per round and run spent in it."""
FURTHER: Final = {
    "gauge": ("gauges", "seconds_gauge"),
    "separation": ("separations", "seconds_separation"),
}
"""The same of operations that only some papers' learners call: a table has them where one does."""
CAPTION: Final = (
    "Cost per {unit} and run: counted calls and median CPU microseconds over runs. "
    "Plays that were measured on another machine are left out."
)
MEASURED: Final = "runs measured here"


def write_costs(runs: pd.DataFrame, claims: ClaimsFile, out: Path) -> pd.DataFrame:
    """Write costs.csv, costs.md and costs.html into `out`; return the frame."""
    frame = costs_table(runs, claims)
    formats.write_csv(frame, out / "costs.csv")
    (out / "costs.md").write_text(formats.markdown(frame), encoding="utf-8")
    caption = CAPTION.format(unit=labels_of(claims.response).unit)
    (out / "costs.html").write_text(formats.html(frame, "costs", caption), encoding="utf-8")
    return frame


def per_unit(rows: pd.DataFrame, column: str) -> Array:
    """Calls or seconds per round; rows with a number of iterations hold totals, which are divided by them."""
    values = rows[column].to_numpy(dtype=float)
    if "iterations" not in rows.columns:
        return values
    iterations = rows["iterations"].fillna(1).clip(lower=1)
    return np.asarray(values / iterations, dtype=np.float64)


def costs_table(runs: pd.DataFrame, claims: ClaimsFile) -> pd.DataFrame:
    """One row per table row, set and dimension: calls and microseconds per round (or iteration) and per call.

    Rows without timings are left out.
    """
    unit = labels_of(claims.response).unit
    ends = (runs["status"] == "ok") & (runs["checkpoint"] == runs["horizon"])
    timed = runs.loc[runs["seconds"].notna() & ends]
    first = {(row.learner, row.variant): row for row in reversed(claims.rows)}  # a learner stands once
    called = CALLS | {name: columns for name, columns in FURTHER.items() if columns[0] in timed.columns}
    played, none = dict(iter(timed.groupby(["learner", "variant"]))), timed.iloc[:0]
    rows = [record for row in claims.rows if first[row.learner, row.variant] is row
            for record in _row_costs(played.get((row.learner, row.variant), none), row, unit, called)]  # fmt: skip
    titles = ["algorithm", "variant", "set", "dimension", MEASURED, "operation claimed"]
    titles += [f"{operation}s per {unit}" for operation in called] + [f"solves per {unit}", f"us per {unit}"]
    titles += [f"us per {operation}" for operation in called]
    return pd.DataFrame(rows, columns=titles)


def _row_costs(
    rows: pd.DataFrame, row: TableRow, unit: str, called: Mapping[str, tuple[str, str]]
) -> list[dict[str, object]]:
    records = []
    for (shape, dimension), group in rows.groupby(["set", "dimension"], sort=True):
        record: dict[str, object] = {
            "algorithm": row.label, "variant": row.variant, "set": shape,
            "dimension": formats.size(float(str(dimension))),
            MEASURED: len(group), "operation claimed": row.operation,
            f"solves per {unit}": formats.significant(float(per_unit(group, "solves").mean())),
            f"us per {unit}": formats.number(1e6 * float(np.median(per_unit(group, "seconds"))), 1),
        }  # fmt: skip
        for operation, (calls_column, seconds_column) in called.items():
            calls = float(np.nan_to_num(per_unit(group, calls_column)).mean())
            seconds = float(np.median(per_unit(group, seconds_column)))
            record[f"{operation}s per {unit}"] = formats.significant(calls)
            per_call = formats.number(1e6 * seconds / calls, 2) if calls > 0 else formats.DASH
            record[f"us per {operation}"] = per_call
        records.append(record)
    return records
