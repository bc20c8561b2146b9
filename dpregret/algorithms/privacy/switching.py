"""Private switching: the sparse vector says when to leave a candidate, the exponential mechanism where to go.

Mechanism   Asi et al. 2023, Alg. 1. In every round a threshold test asks whether the loss that the current candidate
            gathered since it was drawn is large; if so, a new one is drawn with P ~ exp(-eta max(C, L*) / 2), C the
            losses since the start. At most K switches.
Privacy     Replace the losses of one round. Threshold tests of different intervals see different rounds, so together
            they cost the budget of one; a loss enters all later draws, so these compose K times. The loss L* of the
            best candidate is public: taken from the data it would leak.
Constants   B = ln(2 T^2 / beta), K = 6 ceil(log2 d) + ceil(24 ln(1/beta)); the logarithm has base 2, for the potential
            starts at d and halves in every epoch. A switch must prove a loss of 4/eta, so the threshold is
            L* + 4/eta + accuracy, with the accuracy 8 B / e of the sparse vector at its budget e.

The threshold test tells which query is the first above a threshold (the sparse vector technique; class `Watch`):

  Algorithm   Dwork & Roth 2014, AboveThreshold: the threshold gets Laplace(2/eps) noise once, every query
              fresh Laplace(4/eps) noise; the first query whose noisy value reaches the noisy threshold ends it.
  Privacy     eps-DP for any number of queries, chosen adaptively, each of which moves by at most 1 when one item is
              replaced. The computed law cuts off what is below 5e-27, see FAR: read pure as delta = 1e-14.
  Guarantee   Dwork & Roth 2014, Thm 3.24: see `accuracy`.

Given the noisy threshold, a query halts with a probability that is known in closed form, independently of all others.
So the halting round is the first at which the cumulated -ln(1 - probability) reaches one exponential variate: two
random numbers an instance, whatever the number of queries, and the same law as drawing noise for each of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.privacy.budget import SPACING, Budget
from dpregret.algorithms.privacy.selection import Selection, largest_choice_epsilon
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp_of, log_of

FAR = 60.0  # in units of the noise: further below the threshold a query halts with less than 5e-27
LOST = 38.0  # subtracting less than e^-LOST of a number changes no bit of it
CHUNK = 64  # rounds whose chances are computed side by side


@dataclass(frozen=True)
class AboveThreshold:
    """The mechanism for queries of sensitivity 1; epsilon = inf halts at the first query above the threshold."""

    epsilon: float
    threshold: float

    def rates(self, gaps: Array) -> Array:
        """-ln(1 - P(halt)) of queries that are `gaps` below the noisy threshold (negative: above it)."""
        if math.isinf(self.epsilon):
            return np.where(gaps < 0, np.inf, 0.0)
        scaled = np.asarray(gaps) * (self.epsilon / 4)
        below = -np.log1p(-0.5 * np.exp(-np.maximum(scaled, 0.0)))
        above = math.log(2) - np.minimum(scaled, 0.0)
        return np.where(scaled >= 0, below, above)


def accuracy(epsilon: float, queries: float, failure: float) -> float:
    """8 ( ln n + ln(2/beta) ) / eps, Dwork & Roth 2014, Thm 3.24.

    With probability 1 - failure, none of n queries before the halt exceeds threshold + accuracy, and the one that
    halts is at least threshold - accuracy.
    """
    return 0.0 if math.isinf(epsilon) else 8 * (math.log(queries) + math.log(2 / failure)) / epsilon


class Watch:
    """One instance of the mechanism a run; all runs step together, or each walks alone.

    generators: one a run. levels: noisy thresholds, (runs,).
    """

    def __init__(self, mechanism: AboveThreshold, generators: Sequence[np.random.Generator]):
        self.mechanism, self.generators = mechanism, generators
        self.levels, self.rest = np.empty(len(generators)), np.empty(len(generators))
        for run in range(len(generators)):
            self.open(run)

    def open(self, run: int) -> None:
        """Begin a fresh instance for one run."""
        generator = self.generators[run]
        noise = 0.0 if math.isinf(self.mechanism.epsilon) else generator.laplace(scale=2 / self.mechanism.epsilon)
        self.levels[run] = self.mechanism.threshold + noise
        self.rest[run] = generator.standard_exponential()

    def step(self, queries: Array) -> NDArray[np.bool_]:
        """Ask one query a run, (runs,); return which halt."""
        _answer(self.mechanism.epsilon, self.levels, self.rest, queries)
        return self.rest <= 0

    def walk(self, run: int, query: float, losses: Array, rounds: int) -> int | None:
        """Ask a query in each of some rounds; the first that halts, None if none does.

        The query starts at `query` and grows by each round's loss, losses >= 0: (rounds,), or (1,) where all are alike.
        """
        level, rest = self.levels[run], self.rest[run]
        halt, self.rest[run] = _walk(self.mechanism.epsilon, level, rest, query, without_gaps(losses), rounds)
        return None if halt < 0 else halt


@compiled
def _rate(epsilon: float, gap: float) -> float:
    """`AboveThreshold.rates` of one query."""
    if np.isinf(epsilon):
        return math.inf if gap < 0 else 0.0
    scaled = gap * (epsilon / 4)
    return -math.log1p(-0.5 * math.exp(-scaled)) if scaled >= 0 else math.log(2.0) - scaled


@inlined
def _rate_at(scaled: float) -> float:
    """The same at a finite epsilon, of gap * epsilon / 4; several can go side by side."""
    halved = -0.5 * exp_of(-max(scaled, 0.0))
    rest = 1.0 + halved
    lost = 1.0 if rest == 1.0 else halved / (rest - 1.0)  # what rounding took from 1 + halved
    return -min(scaled, 0.0) - (halved if rest == 1.0 else log_of(rest) * lost)


@compiled
def _answer(epsilon: float, levels: Array, rest: Array, queries: Array) -> None:
    """One query a run, (runs,): subtract its rate from the rest of the exponential variate."""
    for run in range(len(levels)):
        rest[run] -= _rate(epsilon, levels[run] - queries[run])


@compiled
def _stay(epsilon: float, level: float, rest: float, query: float, rounds: int) -> tuple[int, float]:
    """`_walk` for the same query in all rounds, in closed form: the halting round is geometric."""
    rate = _rate(epsilon, level - query)
    if rate * rounds >= rest:
        return int(min(rounds, max(1.0, np.ceil(rest / rate)))) - 1, rest  # rounding may lead past the end
    return -1, rest - rate * rounds


@compiled
def _walk(epsilon: float, level: float, rest: float, query: float, losses: Array, rounds: int) -> tuple[int, float]:
    """The first of `rounds` rounds in which a query halts (-1: none), and the rest of the exponential variate.

    The query of a round is `query` plus the losses (non-negative; one number: the same in all rounds) of those before
    it. Queries that are FAR below the threshold are passed over: all of 2^40 would halt with less than 1e-14;
    so are those that rounding would lose.
    """
    constant = len(losses) == 1
    if constant and losses[0] == 0.0:
        return _stay(epsilon, level, rest, query, rounds)
    sharp = np.isinf(epsilon)
    near = level if sharp else level - min(FAR, LOST - math.log(rest)) * 4 / epsilon
    gathered, now = 0.0, 0
    if constant:
        now = int(min(max((near - query) / losses[0] - 1, 0.0), rounds))
        gathered = now * losses[0]
    rates = np.empty(CHUNK)
    while now < rounds:
        if query + gathered <= near:
            gathered += losses[0] if constant else losses[now]
            now += 1
            continue
        if sharp:
            return now, -np.inf
        count = min(CHUNK, rounds - now)
        if constant:
            for k in range(count):
                rates[k] = _rate_at((level - (query + (gathered + k * losses[0]))) * (epsilon / 4))
            gathered += count * losses[0]
        else:
            for k in range(count):
                rates[k] = level - (query + gathered)
                gathered += losses[now + k]
            for k in range(count):
                rates[k] = _rate_at(rates[k] * (epsilon / 4))
        for k in range(count):
            rest -= rates[k]
            if rest <= 0:
                return now + k, rest
        now += count
    return -1, rest


@dataclass(frozen=True)
class Calibration:
    """How a budget is spent. draws: share of epsilon for the exponential mechanism; accounting: of its draws."""

    text: str
    accounting: Literal["pure", "advanced", "zcdp"]
    draws: float = 0.5
    printed_threshold: bool = False
    starved: bool = False
    practical: bool = False


CALIBRATIONS: Mapping[str, Calibration] = {
    "printed-pure": Calibration(
        "eta = eps/(2K), threshold with 8 B/eps as printed; pure up to 1e-14", "pure", printed_threshold=True
    ),
    "printed-approximate": Calibration(
        "eta = eps/(4 sqrt(2 K ln(1/delta))), threshold with 8 B/eps as printed", "advanced", printed_threshold=True
    ),
    "pure": Calibration("eta = eps/(2K), threshold with 16 B/eps; pure up to 1e-14", "pure"),
    "approximate": Calibration("eta = eps/(4 sqrt(2 K ln(1/delta))), threshold with 16 B/eps", "advanced"),
    "zcdp": Calibration("eta = sqrt(8 rho/K) by zCDP (more for few K), threshold with 16 B/eps", "zcdp"),
    "starved-pure": Calibration(
        "a tenth of eps for the draws, beta = 1/2, pure up to 1e-14", "pure", 0.1, starved=True
    ),
    "starved-zcdp": Calibration("a tenth of eps for the draws, beta = 1/2, zCDP", "zcdp", 0.1, starved=True),
    "practical-zcdp": Calibration("tuned: K = 2 log2 d + 4 and 2/eta, zCDP", "zcdp", practical=True),
}
"""Variant -> calibration. The starved ones change constants only, so that the power of ln d shows on small d."""


@dataclass(frozen=True)
class Switching:
    """Constants of Algorithm 1 for d candidates, T rounds and a public L*.

    variant: a key of `CALIBRATIONS`. Raises ValueError where delta = 0 cannot pay for the variant.
    """

    candidates: int
    horizon: int
    best_loss: float
    budget: Budget
    variant: str
    failure: float = 0.05

    def __post_init__(self) -> None:
        private = math.isfinite(self.budget.epsilon)
        if private and self.budget.delta == 0 and self.calibration.accounting != "pure":
            raise ValueError(f"variant {self.variant} needs delta > 0")

    @property
    def calibration(self) -> Calibration:
        """How this variant spends the budget."""
        return CALIBRATIONS[self.variant]

    @property
    def beta(self) -> float:
        """Probability with which the guarantee may fail (twice)."""
        return 0.5 if self.calibration.starved else self.failure

    @cached_property
    def switches(self) -> int:
        """K."""
        halvings = math.ceil(math.log2(self.candidates))
        if self.calibration.practical:
            return 2 * halvings + 4
        return 6 * halvings + (0 if self.calibration.starved else math.ceil(24 * math.log(1 / self.beta)))

    @property
    def threshold_epsilon(self) -> float:
        """Budget of the threshold tests."""
        return (1 - self.calibration.draws) * self.budget.epsilon

    @cached_property
    def eta(self) -> float:
        """Parameter of the exponential mechanism; inf without privacy."""
        epsilon = self.calibration.draws * self.budget.epsilon
        if math.isinf(epsilon):
            return math.inf
        if self.calibration.accounting == "pure":
            return epsilon / self.switches * (1 - 8 * SPACING)
        exact = largest_choice_epsilon("gumbel", Budget(epsilon, self.budget.delta), self.switches)
        if self.calibration.accounting != "advanced":
            return exact
        advanced = epsilon / (2 * math.sqrt(2 * self.switches * self.budget.log_over_delta()))
        return advanced if self.calibration.printed_threshold else min(advanced, exact)  # it fails for a large epsilon

    @property
    def draw_scale(self) -> float:
        """2 / eta, the scale of the Gumbel noise."""
        return 2 / self.eta

    @cached_property
    def accuracy(self) -> float:
        """8 B / e at the budget e of the threshold tests, for T queries and failure beta / T."""
        return accuracy(self.threshold_epsilon, self.horizon, self.beta / self.horizon)

    @cached_property
    def threshold(self) -> float:
        """L* + 4/eta + accuracy; printed: with 8 B / eps; practical: 2/eta."""
        slack = accuracy(self.budget.epsilon, self.horizon, self.beta / self.horizon)
        margin = (2 if self.calibration.practical else 4) / self.eta
        return self.best_loss + margin + (slack if self.calibration.printed_threshold else self.accuracy)

    def test(self) -> AboveThreshold:
        """The threshold test of one interval."""
        return AboveThreshold(self.threshold_epsilon, self.threshold)

    def delivered_epsilon(self) -> float:
        """Threshold tests plus K draws, priced by the ledger of selections at the budget's delta."""
        return self.epsilon_at(0.0 if self.calibration.accounting == "pure" else self.budget.delta)

    def epsilon_at(self, delta: float) -> float:
        """The same at any delta."""
        return self.threshold_epsilon + Selection("gumbel", self.draw_scale, 1.0, self.switches).epsilon(delta)

    def bound(self) -> float:
        """(K + 1) ( L* + 4/eta + 2 accuracy + 1 ) on the total loss, with probability 1 - 2 beta.

        K switches leave K + 1 intervals; in each the query may pass the threshold by the accuracy, and lags one loss
        behind. NaN for printed and practical thresholds, which do not prove that a switch cost 4/eta, and for starved
        ones: with beta = 1/2 and K without its second term the probability may be nothing at all.
        """
        if self.calibration.printed_threshold or self.calibration.practical or self.calibration.starved:
            return math.nan
        return (self.switches + 1) * (self.threshold + self.accuracy + 1)
