"""The judgement of one line of a claims file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.cells import CAPPED, EARLY, EDGE, FAILED, SATURATED, Cells
from dpregret.paper_figs.judge.vocabulary import INCONCLUSIVE

NAN: Final = float("nan")
STATES: Final = (SATURATED, EARLY, FAILED, CAPPED, EDGE)
"""Why a cell is not fitted."""
POWER: Final = "power"
"""The quantity that the resolution of a fitted claim measures."""
NO_EXPONENT: Final = "none: no exponent was fitted"


@dataclass(frozen=True)
class Judgement:
    """The judgement of one claim. Numbers are NaN where there is none.

    `resolution` is the smallest change of the predicted law, in either direction, that would have been detected,
    `resolution_log` the same in powers of the logarithm; `resolution_of` says what of: `power`, `factor of eps`, or why
    there is none. `interval_over` says over what intervals are: `runs`, or the `sets` that cells are. `late` is the
    slope of response / bound over the half of the cells at the end that the theorem speaks of, `bend` that slope minus
    the one over the other half. `largest_run` is the share of one run in a cell's spread (`fits.largest_run`),
    `log_level` the mean logarithm of the response over the fitted cells (over all, where none is).
    """

    verdict: str
    reason: str
    resolution: float = NAN
    resolution_log: float = NAN
    resolution_of: str = NO_EXPONENT
    fitted: float = NAN
    fitted_low: float = NAN
    fitted_high: float = NAN
    log_aware: float = NAN
    log_aware_low: float = NAN
    log_aware_high: float = NAN
    normalised: float = NAN
    normalised_low: float = NAN
    normalised_high: float = NAN
    end_low: float = NAN
    end_high: float = NAN
    interval_over: str = ""
    late: float = NAN
    late_low: float = NAN
    late_high: float = NAN
    bend: float = NAN
    bend_low: float = NAN
    bend_high: float = NAN
    largest_run: float = NAN
    log_level: float = NAN
    log_level_low: float = NAN
    log_level_high: float = NAN
    local_slopes: str = ""
    per_octave: float = NAN
    increments: str = ""
    delta_aic: float = NAN
    runs: int = 0
    cells_used: str = ""
    cells_excluded: str = ""


def undecided(cells: Cells) -> Judgement:
    """An undecided judgement that says which cells there are."""
    excluded = []
    for state in STATES:
        values = [value for value, mark in zip(cells.values, cells.status, strict=True) if mark == state]
        if values:
            excluded.append(f"{state}: {listed(values)}")
    return Judgement(
        INCONCLUSIVE, "", runs=len(cells.responses),
        cells_used=listed(cells.values[cells.used]), cells_excluded=" | ".join(excluded),
    )  # fmt: skip


def listed(values: Sequence[float] | Array) -> str:
    """Numbers in one cell of a table."""
    rounded = (round(float(value), 9) + 0.0 for value in values)
    return "; ".join(f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}" for value in rounded)
