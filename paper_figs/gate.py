"""The CI gate: do fitted exponents still agree with a committed reference?

An exponent may move from its reference by at most q * sqrt(2) * s, where s is the standard error of the
reference and q the t quantile that spreads the stated false-alarm rate of one whole comparison evenly over its
exponents. sqrt(2) allows for a change that draws other random numbers; with unchanged random numbers the two
fits agree to rounding, so the true false-alarm rate is far below the stated one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from dpregret.core.arrays import Array
from dpregret.paper_figs import fits
from dpregret.paper_figs.formats import read_csv
from dpregret.paper_figs.lines import FILES, read_lines
from dpregret.paper_figs.planted import own_and_common

FALSE_ALARM = 0.01
DRIFT = 0.15
SLACK = 2e-5
"""Absolute slack for exponents without noise, written with six significant digits."""


class GateError(ValueError):
    """Two claims files that cannot be compared."""


def allowed_drift(reference: pd.DataFrame, false_alarm: float = FALSE_ALARM) -> pd.Series[float]:
    """Largest tolerated change of each exponent of `reference` (columns fitted, fitted_low, fitted_high, runs)."""
    half = (reference["fitted_high"] - reference["fitted_low"]) / 2
    freedom = reference["runs"].astype(float) - 1
    error = half / stats.t.ppf(0.5 + fits.LEVEL / 2, freedom)
    quantile = _quantile(np.asarray(freedom, dtype=np.float64), false_alarm, len(reference))
    allowed = np.sqrt(2.0) * error.to_numpy(dtype=np.float64) * quantile + SLACK
    return pd.Series(allowed, index=reference.index)


def compare(current: pd.DataFrame, reference: pd.DataFrame, false_alarm: float = FALSE_ALARM) -> pd.DataFrame:
    """One row per reference exponent: claim, reference, current, change, allowed, status (ok, moved, missing).

    Raises GateError when the reference holds no exponent or a claim changed what it measures or stands twice.
    """
    kept = reference.loc[reference["fitted"].notna()].reset_index(drop=True)
    if kept.empty:
        raise GateError("the reference holds no fitted exponent")
    same = ["claim", "learner", "variant", "experiment", "stream", "parameter", "response"]
    for frame in (kept, current):
        if frame["claim"].duplicated().any():
            raise GateError(f"claim {frame.loc[frame['claim'].duplicated(), 'claim'].iloc[0]!r} stands twice")
    both = kept.merge(current, on="claim", how="left", suffixes=("", "_now"))
    for column in same[1:]:
        changed = both[f"{column}_now"].notna() & (both[f"{column}_now"] != both[column])
        if changed.any():
            raise GateError(f"claim {both.loc[changed, 'claim'].iloc[0]!r} has another {column} than the reference")
    change = both["fitted_now"] - both["fitted"]
    allowed = allowed_drift(kept, false_alarm)
    status = np.where(change.isna(), "missing", np.where(change.abs() > allowed, "moved", "ok"))
    return pd.DataFrame({
        "claim": both["claim"], "reference": both["fitted"], "current": both["fitted_now"],
        "change": change, "allowed": allowed, "status": status,
    })  # fmt: skip


@dataclass(frozen=True)
class GateOdds:
    """Share of comparisons that fail without drift, and share that notice a drift of one exponent."""

    false_alarm: float
    power: float


def simulate_gate(
    runs: int = 16, cells: int = 8, exponents: int = 40, spread: float = 0.3, common: float = 0.0,
    drift: float = DRIFT, false_alarm: float = FALSE_ALARM, simulations: int = 400, seed: int = 7,
) -> GateOdds:  # fmt: skip
    """Simulate the gate on planted power laws with T = 2^8, 2^9, ... (`cells` cells, `exponents` claims).

    A run's response is log-normal with standard deviation `spread` of its logarithm; half of that variance is
    shared by all cells of the run. `common` is the share of the variance that reference and current runs have
    in common: 0 is the worst case (other random numbers), 1 the same random numbers. Power is for a drift of
    one exponent, the others staying put.
    """
    generator = np.random.default_rng(seed)
    axis = np.log(2.0) * np.arange(8, 8 + cells)
    shape = (simulations, exponents, runs)

    def noise() -> Array:
        return own_and_common(generator, (*shape, cells))

    def fit(own: Array) -> tuple[Array, Array, Array]:
        total = np.sqrt(common) * kept + np.sqrt(1 - common) * own
        return fits.slope_intervals(np.exp(0.5 * axis + spread * np.sqrt(0.5) * total), axis, replicates=200)

    kept = noise()
    value, low, high = fit(noise())
    now, _, _ = fit(noise())
    error = (high - low) / 2 / stats.t.ppf(0.5 + fits.LEVEL / 2, runs - 1)
    allowed = np.sqrt(2.0) * error * _quantile(np.array([runs - 1.0]), false_alarm, exponents) + SLACK
    alarms = (np.abs(now - value) > allowed).any(axis=-1)
    noticed = np.abs(now[:, 0] - value[:, 0] + drift) > allowed[:, 0]
    return GateOdds(float(alarms.mean()), float(noticed.mean()))


def _quantile(freedom: Array, false_alarm: float, exponents: int) -> Array:
    return np.asarray(stats.t.ppf(1 - false_alarm / (2 * exponents), freedom), dtype=np.float64)


def read(path: Path) -> pd.DataFrame:
    """Lines with exponents: claims.csv with the checks.csv beside it, the folder of both, or any one table."""
    if path.is_dir() or path.name == FILES["claim"]:
        return read_lines(path if path.is_dir() else path.parent)
    return read_csv(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the lines of two folders; exit code 1 when an exponent moved, 2 when they cannot be compared."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.gate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("compare", help="fail when an exponent left its reference")
    check.add_argument("current", type=Path)
    check.add_argument("reference", type=Path)
    check.add_argument("--false-alarm", type=float, default=FALSE_ALARM)
    options = parser.parse_args(arguments)
    try:
        found = compare(read(options.current), read(options.reference), options.false_alarm)
    except (GateError, OSError) as fault:
        print(f"gate: {fault}", file=sys.stderr)
        return 2
    print(found.to_string(index=False, float_format="%.4f"))
    failed = found.loc[found["status"] != "ok", "claim"]
    print(f"{len(found) - len(failed)} of {len(found)} exponents agree with the reference")
    if len(failed):
        print(f"gate: moved or missing: {', '.join(failed)}", file=sys.stderr)
    return int(len(failed) > 0)


if __name__ == "__main__":
    sys.exit(main())
