"""From the JSON of pytest-benchmark to three tables: what things cost beside their noise, how cost grows, and peers.

A benchmark leaves rows in `extra_info["rows"]`, each with the name of its table; times that pytest-benchmark took
itself are not used, since they mix the contestants of a ratio.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.core import boundary
from dpregret.paper_figs.text import formats

HORIZON_EXPONENT: Final = (0.95, 1.05)
"""Time must grow like T, this closely."""
OVERHEAD: Final = 20.0
"""Microseconds that a round may cost whatever its size."""
RATIOS: Final = ("group", "what", "condition", "ratio", "median", "target", "reached", "microseconds")
GROWTH: Final = (
    "learner", "family", "parameter", "condition", "exponent", "low", "high", "reached", "overhead",
    "overhead_reached",
)  # fmt: skip
PEERS: Final = ("peer", "version", "what", "ours", "theirs", "ratio", "remark")
EXPECTED: Final = (
    "textbook loop", "numba", "river", "copt", "tensorflow-privacy", "jax_privacy", "OpenDP", "diffprivlib",
)  # fmt: skip
CAPTIONS: Final = {
    "ratios": "What work costs beside the bare cost of the random numbers that it draws: CPU seconds of both in turn "
    "inside one process, best over best, and the median over the laps. Oracles: beside as many normal vectors. "
    "Microseconds: of a round and run, a call, or a vector. Targets are upper limits.",
    "growth": "CPU time ~ parameter^exponent, least squares over doublings with its 95 % interval (scatter about the "
    f"line). Horizon: reached within {HORIZON_EXPONENT[0]:g} to {HORIZON_EXPONENT[1]:g}. Overhead: microseconds of a "
    f"round of one run in the smallest dimension, at most {OVERHEAD:g} wanted (of the whole, for learners without "
    "rounds).",
    "peers": "Ours and others in turn inside one process, CPU time of all threads; ratio: theirs over ours, so above 1 "
    "ours is faster.",
}
YES: Final = {True: "yes", False: "no", None: formats.DASH}


class SpeedError(ValueError):
    """The file is no output of the benchmarks."""


def rows_of(report: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All rows that the benchmarks left, by table; raises SpeedError where there are none."""
    found: dict[str, list[dict[str, Any]]] = {}
    for benchmark in report.get("benchmarks", []):
        for row in benchmark.get("extra_info", {}).get("rows", []):
            found.setdefault(row["table"], []).append({name: row[name] for name in row if name != "table"})
    if not found:
        raise SpeedError("no benchmark left a row")
    return found


def machine_line(report: Mapping[str, Any]) -> str:
    """Processor, cores, load when the benchmarks began, versions; nothing that names the machine."""
    info = report.get("machine_info", {})
    cpu = info.get("cpu", {})
    return (
        f"Measured on {cpu.get('brand_raw', 'an unknown processor')}, {info.get('usable_cores', '?')} cores in use by "
        f"others too (load {info.get('load', '?')}), Python {info.get('python_version', '?')}, NumPy "
        f"{info.get('numpy', '?')}."
    )


def ratios(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row a contest; reached: ratio at most target, empty without a target."""
    frame = pd.DataFrame(rows).astype(dict.fromkeys(("ratio", "median", "target", "microseconds"), float))
    frame["reached"] = [
        None if math.isnan(target) else bool(ratio <= target)
        for ratio, target in zip(frame["ratio"], frame["target"], strict=True)
    ]
    return frame[list(RATIOS)]


def growth(sweeps: Sequence[Mapping[str, Any]], overheads: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row a learner and parameter, beside its overhead; learners without a sweep have one row all the same."""
    fixed = pd.DataFrame(overheads)[["learner", "family", "rounds", "microseconds"]]
    fixed = fixed.rename(columns={"microseconds": "overhead"})
    columns = ["learner", "family", "parameter", "condition", "exponent", "low", "high"]
    frame = fixed.merge(pd.DataFrame(sweeps, columns=columns), how="left", on=["learner", "family"])
    low, high = HORIZON_EXPONENT
    frame["reached"] = [
        bool(low <= exponent <= high) if parameter == "T" and not math.isnan(exponent) else None
        for parameter, exponent in zip(frame["parameter"], frame["exponent"], strict=True)
    ]
    frame["overhead_reached"] = [
        bool(each <= OVERHEAD) if rounds > 1 else None
        for each, rounds in zip(frame["overhead"], frame["rounds"], strict=True)
    ]
    return frame[list(GROWTH)]


def peers(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row a comparison, and one for every peer that was not there."""
    missing = [name for name in EXPECTED if name not in {row["peer"] for row in rows}]
    absent = [{"peer": name, "remark": "not installed where this was measured"} for name in missing]
    frame = pd.DataFrame([*rows, *absent], columns=list(PEERS))
    return frame.astype(dict.fromkeys(("ours", "theirs", "ratio"), float))


def text(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as a reader wants them: three digits, words for truth, a dash for nothing."""

    def cell(value: object) -> str:
        if value is None or isinstance(value, bool | np.bool_):
            return YES[None if value is None else bool(value)]
        if isinstance(value, float):
            return formats.significant(value)
        return str(value) or formats.DASH

    return frame.astype(object).map(cell)


def write_tables(report: Mapping[str, Any], out: Path) -> list[Path]:
    """Write {ratios,growth,peers}.{csv,md}; a table without rows is not written."""
    found = rows_of(report)
    tables = {}
    if "ratios" in found:
        tables["ratios"] = ratios(found["ratios"])
    if "overhead" in found:
        tables["growth"] = growth(found.get("growth", []), found["overhead"])
    if "peers" in found:
        tables["peers"] = peers(found["peers"])
    written = []
    for name, frame in tables.items():
        csv, page = out / f"{name}.csv", out / f"{name}.md"
        formats.write_csv(frame, csv)
        page.write_text(
            f"{CAPTIONS[name]}\n\n{machine_line(report)}\n\n{formats.markdown(text(frame))}", encoding="utf-8"
        )
        written += [csv, page]
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables of a benchmark report."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.tables.speed", description=__doc__)
    parser.add_argument("report", type=Path, help="what pytest --benchmark-json wrote")
    parser.add_argument("out", type=Path, help="folder of the tables")
    options = parser.parse_args(arguments)
    try:
        written = write_tables(json.loads(options.report.read_text(encoding="utf-8")), options.out)
    except (SpeedError, OSError, json.JSONDecodeError) as fault:
        print(f"speed: {fault}", file=sys.stderr)
        return 2
    print("\n".join(map(str, written)))
    return 0


if __name__ == "__main__":
    boundary.end(main)
