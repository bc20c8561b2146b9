"""Exponents and their intervals. Pure numerics: arrays in, estimates out.

A power law `response = c * value^a * law(value)` is fitted to the means over runs by least squares in
logarithms. The raw exponent, the log-aware exponent and the bound-normalised slope are the same linear
functional of the logarithm of the means; they differ by a known constant, so one bootstrap serves all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpregret.numerics.arrays import Array

MINIMUM_CELLS = 4
"""Fewer cells than this give no exponent."""
LEVEL = 0.95
REPLICATES = 2000
RESAMPLING_SEED = 20_200
ROUNDING = 1e-9
"""Relative deviations of runs below this are rounding."""
UNRESOLVED_SHARE = 0.005
"""Largest share of bootstrap replicates that may have a mean response <= 0 in some cell."""
IN_CACHE = 64
"""Data sets that are resampled together: their replicates stay in the processor's cache."""
RARE = 0.8
"""A sweep is ruled by rare runs where one run makes more than this share of a cell's spread."""


class NoExponent(ValueError):  # noqa: N818 - an answer, not a fault
    """There is no exponent to report; the message says why."""


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    def shifted(self, offset: float) -> Estimate:
        """Return the estimate moved by a known constant."""
        return Estimate(self.value + offset, self.low + offset, self.high + offset)

    def signed(self, sign: int) -> Estimate:
        """Return the estimate of the number, or of the opposite one where `sign` is negative."""
        return self if sign > 0 else Estimate(-self.value, -self.high, -self.low)

    def widened(self, half: float) -> Estimate:
        """Return the estimate with an interval of at least `half` to both sides."""
        return Estimate(self.value, min(self.low, self.value - half), max(self.high, self.value + half))

    def columns(self, name: str) -> dict[str, Any]:
        """Return the columns of a table that hold the estimate."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


UNKNOWN = Estimate(float("nan"), float("nan"), float("nan"))
"""An estimate that does not exist."""


@dataclass(frozen=True)
class PowerFit:
    """Fit of one sweep: exponents of the response, local slopes and the leave-one-end-point-out range.

    `raw` is the slope of log(response) on the coordinate; `log_aware` the same with the law's logarithmic
    factor divided out; `normalised` with the whole law divided out (zero is a perfect match). `local` has one
    slope of log(response / law) for each pair of neighbouring cells; `end_low` and `end_high` enclose the
    normalised slopes found without the first, and without the last cell; `lower` and `upper` are the normalised slopes
    of the two halves of the cells, which share the middle one of an odd number, and `bend` is their difference (NaN
    where a half has one coordinate); `largest_run` as the function; `exact`: runs do not differ, so that the intervals
    of the slopes of the whole sweep are those of the scatter of the cells about their line. `samples` is one more than
    the degrees of freedom of those intervals: the runs, or cells - 1 where the scatter is the wider of the two.
    """

    raw: Estimate
    log_aware: Estimate
    normalised: Estimate
    local: tuple[float, ...]
    end_low: float
    end_high: float
    lower: Estimate
    upper: Estimate
    bend: Estimate
    largest_run: float
    exact: bool
    samples: int


@lru_cache(maxsize=64)
def resampling_counts(runs: int, replicates: int = REPLICATES) -> Array:
    """How often each run enters each bootstrap replicate: shape (replicates, runs), rows sum to `runs`."""
    if runs < 2:
        raise NoExponent(f"{runs} run: an interval needs at least two")
    generator = np.random.default_rng(RESAMPLING_SEED)
    return generator.multinomial(runs, np.full(runs, 1 / runs), size=replicates).astype(np.float64)


def slope_weights(coordinate: Array) -> Array:
    """Weights w with w @ y = least-squares slope of y on `coordinate` (both of shape (cells,))."""
    centred = coordinate - coordinate.mean()
    return np.asarray(centred / (centred @ centred), dtype=np.float64)


def slope_intervals(
    responses: Array, coordinate: Array, log_law: Array | None = None, replicates: int = REPLICATES
) -> tuple[Array, Array, Array]:
    """Slope of log(mean response) - `log_law` on `coordinate`, with its 95 % interval: see `bootstrap_intervals`."""
    weights = slope_weights(coordinate)
    shift = 0.0 if log_law is None else float(log_law @ weights)
    value, low, high = bootstrap_intervals(responses, weights[None], replicates)[0]
    return value - shift, low - shift, high - shift


def bootstrap_intervals(
    responses: Array, weights: Array, replicates: int = REPLICATES
) -> list[tuple[Array, Array, Array]]:
    """`weights` @ log(mean response) with its 95 % interval, value, low, high, for each of some weights.

    `responses` has shape (..., runs, cells), `weights` (functionals, cells); leading axes are independent data sets. A
    bootstrap replicate takes whole runs, the same ones in all cells, because runs share random numbers across a sweep;
    the same replicates serve all functionals. The interval is value +- t(runs - 1) * sqrt(runs / (runs - 1)) * standard
    deviation of the replicates: the factor undoes the bootstrap's small-sample bias, and plain percentile intervals
    cover too rarely at 16 to 32 runs. Where rare runs rule (`largest_run` above `RARE`) it is long enough for an event
    that some cells have not seen. Raises NoExponent when a mean, or more than `UNRESOLVED_SHARE` of the replicates, is
    not positive.
    """
    *lead, runs, cells = responses.shape
    means = responses.mean(axis=-2)
    if not (means > 0).all():
        raise NoExponent("the mean response is not positive in some cell")
    quantile, intervals = t_quantile(runs), []
    for row, error in zip(weights, _errors(responses.reshape(-1, runs, cells), weights, replicates), strict=True):
        value, half = np.log(means) @ row, quantile * error.reshape(lead)
        intervals.append((value, value - half, value + half))
    return intervals


def _errors(responses: Array, weights: Array, replicates: int) -> Array:
    """Standard errors (functionals, data sets) without the bias of few runs; responses (data sets, runs, cells)."""
    runs, unresolved = responses.shape[1], 0
    counts = resampling_counts(runs, replicates)
    errors = np.empty((len(weights), len(responses)))
    for first in range(0, len(responses), IN_CACHE):
        chunk = slice(first, first + IN_CACHE)
        resampled = counts @ responses[chunk]  # (data sets, replicates, cells)
        resampled /= runs
        resolved = None if resampled.min() > 0 else (resampled > 0).all(axis=-1)
        if resolved is not None:
            unresolved += int((~resolved).sum())
            resampled[~resolved] = np.nan
        logs = np.log(resampled, out=resampled)
        spread = np.std if resolved is None else np.nanstd
        error = np.stack([spread(logs @ row, axis=-1) for row in weights]) * np.sqrt(runs / (runs - 1))
        errors[:, chunk] = np.maximum(error, _rare_errors(responses[chunk], weights))
    if unresolved > UNRESOLVED_SHARE * len(responses) * replicates:
        raise NoExponent("the response is not resolved from zero in some cell: more runs are needed")
    return errors


def largest_run(responses: Array) -> Array:
    """Largest share of one run in the spread of a cell, (...,); `responses` (..., runs, cells), means positive."""
    return np.asarray(_shares(_spread(responses)).max(axis=-1), dtype=np.float64)


def _spread(responses: Array) -> Array:
    """The share of each run in the spread of each cell, like `responses`: its squared relative deviation from the
    cell's mean, without the run's own level in all cells, which moves no slope."""
    relative = responses / responses.mean(axis=-2, keepdims=True) - 1
    return np.asarray((relative - relative.mean(axis=-1, keepdims=True)) ** 2, dtype=np.float64)


def _shares(spread: Array) -> Array:
    """The largest share of one run in the spread of each cell, (..., cells).

    Of 16 normal runs the largest has 0.2 to 0.5, at most 15/16 is possible. A share near that means that
    an event occurred once; cells without the event carry no information on its size.
    """
    total: Array = spread.sum(axis=-2)
    return np.divide(spread.max(axis=-2), total, out=np.zeros_like(total), where=total > ROUNDING**2)


def _rare_errors(responses: Array, weights: Array) -> Array:
    """Least standard errors of `weights` @ log(mean), (functionals, data sets): zero, and more where rare runs rule.

    k of the C cells have seen the event once, which moved log(mean) by at most `jump`. From a uniform prior (k + 1) / C
    events are expected in a cell, and their number has that variance: jump^2 |weights|^2 (k + 1) / C in all.
    """
    spread = _spread(responses)
    seen = _shares(spread) > RARE
    if not seen.any():
        return np.zeros((len(weights), len(responses)))
    largest = spread.argmax(axis=-2)
    runs = responses.shape[-2]
    total = responses.sum(axis=-2)
    others = total - np.take_along_axis(responses, largest[..., None, :], axis=-2)[..., 0, :]
    ratio = total / runs / np.maximum(others / (runs - 1), ROUNDING * total)
    jump = np.where(seen, np.abs(np.log(ratio)), 0.0).max(axis=-1)
    expected = (seen.sum(axis=-1) + 1) / seen.shape[-1]
    return np.stack([jump * np.sqrt(row @ row * expected) for row in weights])


def level(responses: Array) -> Estimate:
    """Mean over cells of log(mean response), responses (runs, cells), with its 95 % interval; raises NoExponent."""
    cells = responses.shape[-1]
    return _estimates(responses, np.full((1, cells), 1 / cells))[0]


def _estimates(responses: Array, weights: Array) -> list[Estimate]:
    """`bootstrap_intervals` of one data set."""
    return [Estimate(*map(float, interval)) for interval in bootstrap_intervals(responses, weights)]


def fit_power(
    responses: Array, coordinate: Array, log_factor: Array, power: float, scattered: bool = False
) -> PowerFit:
    """Fit one sweep. `responses` (runs, cells), `coordinate` = log(parameter) (cells,).

    `log_factor` (cells,) is the logarithm of what the law has besides the power: law = value^power *
    exp(log_factor). Cells of equal coordinate have no local slope between them. `scattered`: cells are different sets
    or data, so that intervals are at least those of their scatter about the line, as they are where runs do not differ.
    Raises NoExponent for fewer than
    four cells or a response that is not positive.
    """
    cells = len(coordinate)
    if cells < MINIMUM_CELLS:
        raise NoExponent(f"{cells} usable cells, {MINIMUM_CELLS} needed")
    halves = _bends(coordinate)
    raw, *parts = _estimates(responses, np.stack([slope_weights(coordinate), *halves]))
    law = log_factor + power * coordinate
    ratio = np.log(responses.mean(axis=0)) - law
    exact = bool((np.ptp(responses, axis=0) <= ROUNDING * responses.mean(axis=0)).all())
    samples, half = len(responses), scatter(ratio, coordinate) if scattered or exact else 0.0
    if half > (raw.high - raw.low) / 2:
        raw, samples = raw.widened(half), cells - 1
    log_aware = raw.shifted(-float(log_factor @ slope_weights(coordinate)))
    lower, upper, bend = (
        (part.shifted(-float(law @ row)) for part, row in zip(parts, halves, strict=True)) if halves else (UNKNOWN,) * 3
    )
    ends = [float(ratio[subset] @ slope_weights(coordinate[subset])) for subset in (slice(1, None), slice(None, -1))]
    local = tuple(float(slope) for slope in local_slopes(ratio, coordinate)[1])
    normalised, largest = log_aware.shifted(-power), float(largest_run(responses))
    halved = lower, upper, bend
    return PowerFit(raw, log_aware, normalised, local, min(ends), max(ends), *halved, largest, exact, samples)


def _bends(coordinate: Array) -> list[Array]:
    """Weights of the slopes over the lower and the upper half of the cells, and of their difference; none where a half
    has no extent."""
    order = np.argsort(coordinate, kind="stable")
    size = (len(order) + 1) // 2
    halves = []
    for half in (order[:size], order[-size:]):
        if np.ptp(coordinate[half]) == 0:
            return []
        weights = np.zeros(len(coordinate))
        weights[half] = slope_weights(coordinate[half])
        halves.append(weights)
    return [*halves, halves[1] - halves[0]]


def second_term(responses: Array, coordinate: Array, log_law: Array, step: float, scattered: bool = False) -> Estimate:
    """The share of a second term, `step` powers beside the law, in the response of the cell of largest coordinate.

    mean response = law (c + c' exp(step coordinate)) is fitted by least squares of relative deviations, with c and c'
    not negative: with two columns that is the fit of free coefficients, its share cut to [0, 1]. The interval is that
    of the free fit, by `bootstrap_intervals` along the gradient of the share, cut likewise: its upper end is the
    largest share that these cells do not exclude. Arguments as of `fit_power`. Raises NoExponent as it does.
    """
    means, cells = responses.mean(axis=0), len(coordinate)
    if cells < MINIMUM_CELLS or not (means > 0).all():
        raise NoExponent("a second term needs four cells with positive mean")
    level = np.log(means) - log_law
    growth = np.exp(step * (coordinate - coordinate.max()))  # 1 in the last cell
    columns = np.stack([np.ones(cells), growth], axis=1) / np.exp(level - level.mean())[:, None]
    solved = np.linalg.pinv(columns)
    first, second = solved.sum(axis=1)  # of relative responses, which are 1
    total = first + second
    if not total > 0:
        raise NoExponent("these cells follow no two such terms")
    share, gradient = second / total, (first * solved[1] - second * solved[0]) / total**2
    ((_, low, high),) = _estimates(responses, gradient[None])
    half = (high - low) / 2
    if scattered:
        residual = 1 - columns @ np.array([first, second])
        error = np.sqrt(residual @ residual / (cells - 2) * (gradient @ gradient))
        half = max(half, float(t_quantile(cells - 1) * error))
    return Estimate(*(float(np.clip(end, 0.0, 1.0)) for end in (share, share - half, share + half)))


def scatter(ratio: Array, coordinate: Array) -> float:
    """Half the t interval of the slope of `ratio` (cells,) from the scatter of the cells about their line."""
    centred = coordinate - coordinate.mean()
    residual = ratio - ratio.mean() - centred * float(ratio @ slope_weights(coordinate))
    freedom = len(ratio) - 2
    error = np.sqrt(residual @ residual / freedom / (centred @ centred))
    from scipy import special  # late: printing a table needs no quantile

    return float(special.stdtrit(freedom, 0.5 + LEVEL / 2) * error)


def local_slopes(ratio: Array, coordinate: Array) -> tuple[Array, Array]:
    """Middles of neighbouring different coordinates (sorted), and the slopes of `ratio` between them."""
    steps = np.diff(coordinate)
    distinct = steps > 0
    return ((coordinate[1:] + coordinate[:-1]) / 2)[distinct], np.diff(ratio)[distinct] / steps[distinct]


def compare_log_law(horizons: Array, means: Array) -> tuple[float, Array, float]:
    """Compare c + s ln T with c T^a on mean regrets (cells,) by relative least squares: s ln 2 (regret per octave), the
    increments (R(T_i+1) - R(T_i)) / log2(T_i+1 / T_i), constant for a ln T law, and AIC(power law) - AIC(ln T law).

    Both models have two parameters, so the difference of their AIC is cells * ln(RSS_power / RSS_log): positive favours
    ln T. Raises NoExponent for fewer than four cells or a mean that is not positive.
    """
    if len(means) < MINIMUM_CELLS or not (means > 0).all():
        raise NoExponent("the comparison of laws needs four cells with positive mean")
    logs = np.log(horizons)
    design = np.stack([np.ones_like(logs), logs], axis=1) / means[:, None]
    (constant, slope), *_ = np.linalg.lstsq(design, np.ones_like(means), rcond=None)
    residual_log = float((((constant + slope * logs) / means - 1) ** 2).sum())

    def miss(parameters: Array) -> Array:
        return np.asarray(np.exp(parameters[0] + parameters[1] * logs) / means - 1, dtype=np.float64)

    from scipy import optimize  # late: printing a table fits nothing

    start = np.polynomial.polynomial.polyfit(logs, np.log(means), 1)
    residual_power = float((optimize.least_squares(miss, start).fun ** 2).sum())
    tiny = 1e-18 * len(means)  # an exact fit would otherwise give an infinite criterion
    delta = len(means) * float(np.log((residual_power + tiny) / (residual_log + tiny)))
    increments = np.diff(means) / np.diff(np.log2(horizons))
    return float(slope * np.log(2)), increments, delta


def t_quantile(runs: Array | float, comparisons: int = 1) -> Array:
    """Half a t interval over `runs` samples in standard errors, level as in `mean_interval`."""
    from scipy import special

    return np.asarray(special.stdtrit(runs - 1, 1 - (1 - LEVEL) / (2 * comparisons)), dtype=np.float64)


def half_width(spread: Array, runs: Array | int, comparisons: int = 1) -> Array:
    """Half the t interval of a mean over `runs` samples of standard deviation `spread`, level as in `mean_interval`."""
    return np.asarray(t_quantile(runs, comparisons) * spread / np.sqrt(runs))


def mean_interval(samples: Array, comparisons: int = 1) -> Estimate:
    """Mean of `samples` (runs,) with its t interval, at level 95 % jointly for `comparisons` intervals."""
    runs = len(samples)
    if runs < 2:
        raise NoExponent(f"{runs} run: an interval needs at least two")
    half = float(half_width(samples.std(ddof=1), runs, comparisons))
    return Estimate(float(samples.mean()), float(samples.mean()) - half, float(samples.mean()) + half)
