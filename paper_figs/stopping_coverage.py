"""Do intervals still hold the truth where the runs themselves have said how many there should be? Simulated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
import pandas as pd

from dpregret.core.arrays import Array
from dpregret.paper_figs import fits
from dpregret.paper_figs.planted import own_and_common
from dpregret.paper_figs.stopping import NDArrayBool, batches, caution, precise

Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]
"""Generator, shape (simulations, runs, cells) -> factors of mean 1; the last cell is the noisiest."""
POWER, CELLS, MOST = 0.5, 5, 128
REPLICATES = 300
BATCH = 250
"""Data sets whose intervals are found together."""
CAPTION: Final = (
    f"A law T^0.5 in {CELLS} cells, runs added until a precision is reached ({MOST} at most): mean number of runs, and "
    "how often a 95 % interval holds the truth, of the exponent and of the mean of one cell (the noisiest). Beside it "
    "the same without the t quantile in the rule, and with as many runs, fixed beforehand."
)


def log_normal(spread: float, last: float = 1.0) -> Noise:
    """Half of the variance common to a run's cells; the last cell `last` times as wide."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        wide = spread * np.append(np.ones(shape[-1] - 1), last)
        noise = own_and_common(generator, shape)
        return np.asarray(np.exp(wide * np.sqrt(0.5) * noise - wide**2 / 2), dtype=np.float64)

    return draw


def pareto(spread: float, power: float = 2.5) -> Noise:
    """1 - spread + spread times a Pareto number of mean 1, whose variance is finite and third moment is not."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return 1 - spread + spread * (1 + generator.pareto(power, size=shape)) * (power - 1) / power

    return draw


def rare(probability: float) -> Noise:
    """Half of the mean comes from events of this probability, the rest from a quiet normal number."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        happens = generator.random(shape) < probability
        return 0.5 + 0.02 * generator.normal(size=shape) + happens * 0.5 / probability

    return draw


RAREST: Final = "an event of 1 in 50 runs"
NOISES: Final[Mapping[str, Noise]] = MappingProxyType(
    {
        "log-normal 0.05": log_normal(0.05),
        "log-normal 0.2": log_normal(0.2),
        "log-normal 0.05, one cell 0.2": log_normal(0.05, 4.0),
        "Pareto 2.5": pareto(0.2),
        "an event of 1 in 10 runs": rare(0.1),
        RAREST: rare(0.02),
    }
)
"""Numbers behind log-normal noise are standard deviations of the logarithm."""


def stopping(simulations: int, seed: int = 1) -> pd.DataFrame:
    """One row a noise, least number of runs and precision; columns as `CAPTION` says."""
    found: list[dict[str, object]] = []
    rows = [*itertools.product(NOISES, (8, 16), (0.01, 0.02, 0.05)), (RAREST, 64, 0.02), (RAREST, 64, 0.05)]
    for name, least, error in rows:
        noise = NOISES[name]
        generator = np.random.default_rng([seed, len(found)])
        axis = np.log(2.0) * np.arange(CELLS)
        responses = np.exp(POWER * axis) * noise(generator, (simulations, MOST, CELLS))
        known = moments(responses, least)
        cautious, plain = (stop(known, error, careful) for careful in (True, False))
        fixed = np.full(simulations, max(least, round(float(cautious.mean()))))
        held = {"": holds(responses, cautious, axis)}
        for kind, runs in ((", fixed", fixed), (", no t", plain)):
            other = cautious != runs
            held[kind] = held[""].copy()
            held[kind][:, other] = holds(responses[other], runs[other], axis)
        shares = {kind: each.mean(axis=1) for kind, each in held.items()}
        found.append(
            {
                "noise": name, "least": least, "error": error, "simulations": simulations,
                "runs": float(cautious.mean()),
                **{f"exponent{kind}": float(exponent) for kind, (exponent, _) in shares.items()},
                **{f"mean{kind}": float(mean) for kind, (_, mean) in shares.items()},
            }
        )  # fmt: skip
    return pd.DataFrame(found)


Known = Sequence[tuple[int, Array, Array]]
"""Numbers of runs at which one may stop; means and standard deviations (simulations, cells) of so many."""


def moments(responses: Array, least: int) -> Known:
    """What the rule looks at, of responses (simulations, runs, cells)."""
    counts = [batch.stop for batch in batches(least, responses.shape[1])]
    return [(done, responses[:, :done].mean(axis=1), responses[:, :done].std(axis=1, ddof=1)) for done in counts]


def stop(known: Known, error: float, careful: bool = True) -> np.ndarray:
    """Number of runs of each simulation, (simulations,); careful False: without the t quantile."""
    most, means, _ = known[-1]
    runs = np.full(len(means), most)
    for done, means, spreads in reversed(known[:-1]):
        runs[precise(means, spreads / (1.0 if careful else caution(done)), done, error).all(axis=-1)] = done
    return runs


def holds(responses: Array, runs: np.ndarray, axis: Array) -> NDArrayBool:
    """Whether the intervals of the exponent, and of the last cell's mean, hold the truth: (2, simulations)."""
    found = np.zeros((2, len(runs)), dtype=np.bool_)
    for number in np.unique(runs):
        alike = np.flatnonzero(runs == number)
        for own in np.array_split(alike, -(-len(alike) // BATCH)):
            taken = responses[own, :number]
            _, low, high = fits.slope_intervals(taken, axis, replicates=REPLICATES)
            found[0, own] = (low <= POWER) & (high >= POWER)
            last = taken[..., -1] / np.exp(POWER * axis[-1])
            reach = fits.half_width(last.std(axis=1, ddof=1), number)
            found[1, own] = np.abs(last.mean(axis=1) - 1) <= reach
    return found
