"""Private choice of the smallest score: report noisy min, its noise and its price.

Among k scores, each of which moves by at most s = `sensitivity` when one record is replaced, the candidate of the
smallest noisy score is released. A call is 2 s / b - DP, b = `scale`, for both laws, since two scores may move apart.
The range of its privacy loss, the difference between the largest and the smallest over the candidates, is bounded too,
and a call whose range is R is R^2 / 8 - zCDP (Cesar & Rogers 2021).

  laplace  Laplace(b) noise (Bhaskar et al. 2010): a range of at most 2.46 s / b, 0.757 (s / b)^2 - zCDP. This is ours;
           docs/proofs/noisy_min_range.md has the proof. The pure price alone gives 2 (s / b)^2.
  gumbel   Gumbel(b) noise: the exponential mechanism, P(candidate) proportional to exp(-score / b). Its range is
           2 s / b, so it is s^2 / (2 b^2) - zCDP.

The exponential mechanism has two conventions in the literature, a factor of two apart. For scores of sensitivity 1,
  P ~ exp(-eta score / 2)  is eta-DP and eta^2/8-zCDP (Asi et al. 2023; McSherry & Talwar 2007): scale 2/eta here,
  P ~ exp(-eta score)      is 2 eta-DP and eta^2/2-zCDP (what Hedge plays): scale 1/eta here.

Calls compose adaptively: by adding rho, or by optimal composition of pure calls (budget.py), whichever proves
more. At few calls that is the second. These are upper bounds on the loss; nothing here says that they are attained.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from dpregret.algorithms.privacy.budget import (
    SPACING,
    TINY,
    Budget,
    largest_call_epsilon,
    largest_within,
    optimal_epsilon,
)
from dpregret.algorithms.privacy.noise import Joint
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.elementary import log_of
from dpregret.numerics.intrinsics import next_half
from dpregret.numerics.random import Addresses, addresses, exponential_rows

SelectionNoise = Literal["laplace", "gumbel"]
HALF = 32  # bits of half a word

RANGES: Final[Mapping[SelectionNoise, float]] = {"laplace": 2.46, "gumbel": 2.0}
"""Bound of the range of the privacy loss of one call, in units of sensitivity / scale."""


@dataclass(frozen=True)
class Selection:
    """One line of the privacy ledger: `calls` choices among scores of this sensitivity; scale 0 means no noise."""

    distribution: SelectionNoise
    scale: float
    sensitivity: float
    calls: int

    def of_record(self, participations: int) -> "Selection":
        """The line of a record that is that many items: a score moves by up to that many times as much."""
        return replace(self, sensitivity=participations * self.sensitivity)

    def composes_exactly(self, delta: float) -> bool:
        """Never: nothing here says that a bound is attained."""
        return False

    def call_epsilon(self) -> float:
        """Pure epsilon of one call, 2 sensitivity / scale."""
        return math.inf if self.scale == 0 else 2 * self.sensitivity / self.scale

    def rho(self) -> float:
        """zCDP parameter of all calls together, an eighth of the square of the range each."""
        range_of_loss = RANGES[self.distribution] / 2 * self.call_epsilon()
        return self.calls * range_of_loss**2 / 8 if range_of_loss < 1e150 else math.inf

    def epsilon(self, delta: float) -> float:
        """Smaller of what optimal and zCDP composition prove at delta; 0 calls cost nothing."""
        if self.calls == 0:
            return 0.0
        if self.scale == 0:
            return math.inf
        return min(optimal_epsilon(self.call_epsilon(), self.calls, delta), zcdp_epsilon(self.rho(), delta))


def largest_choice_epsilon(distribution: SelectionNoise, budget: Budget, calls: int) -> float:
    """The largest pure epsilon of a call with which the ledger of all calls meets the budget; inf for epsilon = inf.

    The larger of what optimal composition and zCDP allow, less some last bits, which a scale of noise may lose.
    """
    if math.isinf(budget.epsilon):
        return math.inf
    largest = largest_call_epsilon(budget.epsilon, budget.delta, calls)
    if budget.delta > 0:
        largest = max(largest, 2 / RANGES[distribution] * math.sqrt(8 * largest_rho(budget) / calls))
    return largest * (1 - 4 * SPACING)


def calibrate_selection(distribution: SelectionNoise, budget: Budget, sensitivity: float, calls: int) -> float:
    """Smallest scale with which the ledger of all calls meets the budget; epsilon = inf gives 0.

    Raises ValueError where no floating-point number is that scale.
    """
    largest = largest_choice_epsilon(distribution, budget, calls)
    scale = 2 * sensitivity / largest if largest > 0 else math.inf
    if math.isinf(scale) or (scale <= TINY and sensitivity > 0 and largest < math.inf):
        raise ValueError(f"no floating-point scale of noise serves epsilon {budget.epsilon:.3g} at {sensitivity:.3g}")
    return scale


def zcdp_epsilon(rho: float, delta: float) -> float:
    """min over alpha > 1 of alpha rho + ( ln(1/delta) - ln alpha ) / (alpha - 1) + ln(1 - 1/alpha), at least 0.

    Canonne, Kamath & Steinke 2020 (The discrete Gaussian), conversion of Renyi privacy of order alpha; never worse than
    rho + 2 sqrt(rho ln(1/delta)) (Bun & Steinke 2016, Proposition 1.3). inf at delta = 0. Rounded up.
    """
    if rho == 0 or delta >= 1:
        return 0.0
    if math.isinf(rho) or delta == 0:
        return math.inf
    logarithm = -math.log(delta)

    def at(log_order: float) -> float:  # log_order = ln(alpha - 1): every order proves its epsilon
        excess = math.exp(log_order)
        parts = rho, excess * rho, logarithm / excess, -math.log1p(excess) / excess, -math.log1p(1 / excess)
        return math.fsum(parts) + 8 * SPACING * sum(map(abs, parts))

    from scipy.optimize import minimize_scalar  # late: most of what imports this file searches nothing

    ratio = logarithm / rho
    within = 0 < ratio < math.inf
    # best order of the simpler conversion
    simple = 0.5 * (math.log(ratio) if within else math.log(logarithm) - math.log(rho))
    best = minimize_scalar(at, bounds=(simple - 3, simple + 3), method="bounded", options={"xatol": 1e-10})
    return max(0.0, min(float(best.fun), at(simple)))


@lru_cache
def largest_rho(budget: Budget) -> float:
    """The largest rho whose `zcdp_epsilon` at the budget's delta is its epsilon, from below; inf for epsilon = inf.

    Raises ValueError when delta = 0, which zCDP never implies.
    """
    if math.isinf(budget.epsilon):
        return math.inf
    if budget.delta == 0:
        raise ValueError("zCDP composition needs delta > 0")
    return largest_within(lambda rho: zcdp_epsilon(rho, budget.delta), budget.epsilon) * (1 - 64 * SPACING)


def selection_noise(
    distribution: SelectionNoise, generators: Sequence[np.random.Generator], rounds: int, candidates: int
) -> Array:
    """Independent unit noises to be added to scores whose minimum is sought, (rounds, runs, candidates).

    laplace: Laplace(1). gumbel: minus a Gumbel(0, 1), i.e. ln of a unit exponential, since a minimum is sought.
    generators: one per run, or a `Joint` one.
    """
    draws = np.empty((len(generators), rounds, candidates))
    if distribution == "gumbel":
        _fill_gumbels(addresses(generators), draws)
    elif isinstance(generators, Joint):
        _fill_laplaces(addresses(generators[:1]), draws.reshape(1, -1, candidates))
    else:
        _fill_laplaces(addresses(generators), draws)
    return draws.swapaxes(0, 1)


@compiled
def _fill_gumbels(generators: Addresses, out: Array) -> None:
    """out (runs, rounds, candidates): ln of unit exponentials, row by row, so that no second block is in memory."""
    runs, rounds, candidates = out.shape
    spent = np.empty((1, candidates))
    for run in range(runs):
        for now in range(rounds):
            exponential_rows(generators[run], spent, False)
            for candidate in range(candidates):
                out[run, now, candidate] = log_of(spent[0, candidate])


@compiled
def _fill_laplaces(generators: Addresses, out: Array) -> None:
    """out (runs, rounds, candidates): a run's unit exponentials, row by row, then a random sign for each of them.

    Signs are the bits of `bytes` of the generator: minus where a bit is set, the highest one of a byte first.
    """
    for run in range(len(out)):
        exponential_rows(generators[run], out[run], False)
        sizes = out[run].ravel()
        for first in range(0, len(sizes), HALF):
            bits = next_half(generators[run])
            for index in range(min(HALF, len(sizes) - first)):
                sizes[first + index] *= 1.0 - 2.0 * np.int32((bits >> np.uint32(index ^ 7)) & np.uint32(1))


def draw_group(generator: np.random.Generator, sizes: Array, scores: Array, scale: float) -> int:
    """One draw of the exponential mechanism among candidates in groups of equal score: the group of the drawn one.

    P(group) proportional to size * exp(-score / scale), by Gumbel noise on the logarithms; scale 0 is a uniform choice
    among the candidates of smallest score. sizes, scores: (groups,).
    """
    return int(_best_group(sizes, scores, scale, generator.standard_exponential(len(sizes))))


@compiled
def _best_group(sizes: Array, scores: Array, scale: float, spent: Array) -> int:
    """The first group of largest ln size - score / scale - ln spent; scale 0: among those of smallest score.

    sizes, scores, spent: (groups,); spent: unit exponential variates, whose - ln are Gumbel noise.
    """
    smallest = scores[0]
    for group in range(1, len(scores)):
        smallest = min(smallest, scores[group])
    chosen, best = 0, -np.inf
    for group in range(len(sizes)):
        behind = scores[group] - smallest
        if scale == 0.0 and behind > 0.0:
            continue
        logit = log_of(sizes[group]) - (behind / scale if scale != 0.0 else 0.0) - log_of(spent[group])
        if logit > best:
            chosen, best = group, logit
    return chosen
