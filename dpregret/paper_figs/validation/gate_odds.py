"""The odds of the gate: how often it fails without need, and how often it notices what moved. Simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.compare.gate import FALSE_ALARM, Row, allowance
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.validation.planted_laws import own_and_common

DRIFT: Final = 0.15
"""A change of an exponent that is to be noticed, ..."""
FACTOR: Final = 2.0
"""... and of a level."""


@dataclass(frozen=True)
class GateOdds:
    """Share of comparisons that fail without a change, and shares that notice that one exponent, or level, moved."""

    false_alarm: float
    power: float
    power_level: float


def simulate_gate(
    runs: int = 16, cells: int = 8, exponents: int = 40, spread: float = 0.3, common: float = 0.0,
    drift: float = DRIFT, false_alarm: float = FALSE_ALARM, simulations: int = 400, seed: int = 7,
) -> GateOdds:  # fmt: skip
    """Simulate the gate on planted power laws with T = 2^8, 2^9, ... (`cells` cells, `exponents` lines).

    A line has an exponent and a level, so twice as many numbers are compared. A run's response is log-normal with
    standard deviation `spread` of its logarithm; half of that variance is shared by all cells of the run. `common` is
    the share of the variance that reference and current runs have in common: 0 is the worst case (other random
    numbers), 1 the same random numbers. Power is for a drift of one exponent, or a level that is `FACTOR` times as
    high, the others staying put.
    """
    generator = np.random.default_rng(seed)
    axis = np.log(2.0) * np.arange(8, 8 + cells)
    shape = (simulations, exponents, runs)

    def noise() -> Array:
        return own_and_common(generator, (*shape, cells))

    def fit(own: Array) -> list[tuple[Array, Array, Array]]:
        total = np.sqrt(common) * kept + np.sqrt(1 - common) * own
        responses = np.exp(0.5 * axis + spread * np.sqrt(0.5) * total)
        return fits.functionals(responses, np.stack([fits.slope_weights(axis), np.full(cells, 1 / cells)]), 200)

    kept = noise()
    before, now = fit(noise()), fit(noise())
    alarms, noticed = np.zeros(simulations, dtype=bool), []
    for old, new, moved in zip(before, now, (drift, np.log(FACTOR)), strict=True):
        row: Row = {"x": old[0], "x_low": old[1], "x_high": old[2], "runs": runs, "largest_run": 0.0}
        allowed = allowance(row, row, "x", false_alarm / (4 * exponents))
        change = new[0] - old[0]
        alarms |= (np.abs(change) > allowed).any(axis=-1)
        noticed.append(float((np.abs(change[:, 0] + moved) > allowed[:, 0]).mean()))
    return GateOdds(float(alarms.mean()), *noticed)
