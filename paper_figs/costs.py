"""What a round costs: operations claimed and counted, and microseconds. The only table with timings."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.paper_figs import formats
from dpregret.paper_figs.claims import ClaimsFile, TableRow

CALLS: Final = {
    "projection": ("projections", "seconds_projection"),
    "linear oracle": ("linear_oracles", "seconds_linear_oracle"),
    "local oracle": ("local_oracles", "seconds_local_oracle"),
}
"""Operation -> columns of calls per round, and of CPU seconds per round and run spent in it."""
CAPTION: Final = "Cost per round and run: counted calls and median CPU microseconds over runs."


def write_costs(runs: pd.DataFrame, claims: ClaimsFile, out: Path) -> pd.DataFrame:
    """Write costs.csv, costs.md and costs.html into `out`; return the frame."""
    frame = costs_table(runs, claims)
    formats.write_csv(frame, out / "costs.csv")
    (out / "costs.md").write_text(formats.markdown(frame), encoding="utf-8")
    (out / "costs.html").write_text(formats.html(frame, "costs", CAPTION), encoding="utf-8")
    return frame


def costs_table(runs: pd.DataFrame, claims: ClaimsFile) -> pd.DataFrame:
    """One row per table row, set and dimension: calls per round and microseconds per round and per call."""
    rows = [record for row in claims.table.rows for record in _row_costs(runs, row)]
    titles = ["algorithm", "variant", "set", "dimension", "operation claimed"]
    titles += [f"{operation}s per round" for operation in CALLS] + ["solves per round", "us per round"]
    titles += [f"us per {operation}" for operation in CALLS]
    return pd.DataFrame(rows, columns=titles)


def _row_costs(runs: pd.DataFrame, row: TableRow) -> list[dict[str, object]]:
    chosen = (runs["learner"] == row.learner) & (runs["variant"] == row.variant) & (runs["status"] == "ok")
    chosen &= runs["checkpoint"] == runs["horizon"]
    records = []
    for (shape, dimension), group in runs.loc[chosen].groupby(["set", "dimension"], sort=True):
        record: dict[str, object] = {
            "algorithm": row.label, "variant": row.variant, "set": shape, "dimension": dimension,
            "operation claimed": row.operation,
            "solves per round": formats.significant(float(group["solves"].mean())),
            "us per round": formats.number(1e6 * float(group["seconds"].median()), 1),
        }  # fmt: skip
        for operation, (calls_column, seconds_column) in CALLS.items():
            calls, seconds = float(group[calls_column].mean()), float(group[seconds_column].median())
            record[f"{operation}s per round"] = formats.significant(calls)
            per_call = formats.number(1e6 * seconds / calls, 2) if calls > 0 else formats.DASH
            record[f"us per {operation}"] = per_call
        records.append(record)
    return records
