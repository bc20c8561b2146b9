"""Private shrinking dartboard: an expert is left only as often as its weight shrinks.

Algorithm   Asi, Feldman, Koren & Talwar 2022 (after Geulen, Voecking & Winkler 2010), in lines of our own:
            line 1  draw x uniformly; k = 0, C = 0
            line 2  for t = 1..T: play x; C = C + l_t
            line 3    with probability (1 - p) exp(-eta l_t(x)) keep x
            line 4    otherwise, if k < K: draw x with P(x) ~ exp(-eta C(x)); k = k + 1
            `play_by_the_box` is this. The learner is charged with its expected loss instead, that of Hedge, which is
            exact to 1/T.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; (eps, delta)-DP. The loss
            decides once whether to keep or to draw: the chance to keep moves by at most e^eta, that to draw by at most
            1 + (1 - p)(1 - e^-eta)/p; the larger of both logarithms. It enters all later draws, each eta^2/2-zCDP.
Guarantee   While the K draws last, x_t has exactly the law P_t of Hedge, so the expected regret is at most
            ln(d)/eta + eta T/8.
Deviations  The calibration is ours. K is one more than the 1 - 1/T^2 quantile of a binomial(T, p + eta), which
            dominates the number of draws: running out costs at most 1/T in expectation (T/2^52 beyond 2^26 rounds).
            (p, eta) minimise the guarantee on a grid of p.
"""

import bisect
import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc

from dpregret.algorithms.experts.base import Block, ExpertProblem, Play
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import zcdp_epsilon
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp

GRID: tuple[float, ...] = tuple(exp(math.log(10.0) * np.linspace(-6.0, 0.0, 97)).tolist())  # on any processor
"""Values of p that are tried."""
SMALLEST = 1e-6
"""The smallest eta that is tried, over the best one without privacy."""


def play_by_the_box(
    losses: Array, keep_away: float, eta: float, most: int, generator: np.random.Generator
) -> list[int]:
    """The experts that one run plays, round by round; losses (rounds, experts), most: K."""
    everyone = np.arange(losses.shape[1])
    expert, draws, seen = generator.choice(everyone), 0, np.zeros(len(everyone))  # line 1
    played = []
    for loss in losses:  # line 2
        played.append(int(expert))
        seen = seen + loss
        keep = generator.random() < (1 - keep_away) * exp(-eta * loss[expert])  # line 3
        if not keep and draws < most:
            weights = exp(-eta * (seen - seen.min()))
            expert, draws = generator.choice(everyone, p=weights / weights.sum()), draws + 1  # line 4
    return played


def most_draws(horizon: int, keep_away: float, eta: float) -> int:
    """K: more than this many of T independent events of probability p + eta have probability below 1/T^2."""
    probability = min(1.0, keep_away + eta)
    return most_of(horizon, probability, running_out(horizon)) + 1


def running_out(horizon: int) -> float:
    """Probability, at most, that more than K draws are requested: 1/T^2, or the smallest that is requested."""
    return max(1 / horizon**2, 2.0**-52)


def most_of(events: int, probability: float, level: float) -> int:
    """The quantile of a binomial: the least k with P(more than k) <= level; -1 for level 1."""
    return bisect.bisect_left(range(-1, events), True, key=lambda k: bool(bdtrc(k, events, probability) <= level)) - 1


def decision_price(keep_away: float, eta: float) -> float:
    """Epsilon of the one decision that a loss takes part in."""
    return max(eta, math.log1p(-(1 - keep_away) * math.expm1(-eta) / keep_away))


def price(horizon: int, keep_away: float, eta: float, delta: float) -> float:
    """Epsilon of the whole run at delta."""
    draws = most_draws(horizon, keep_away, eta) * eta**2 / 2
    return decision_price(keep_away, eta) + zcdp_epsilon(draws, delta)


def too_dear(horizon: int, keep_away: float, eta: float, epsilon: float, delta: float) -> bool:
    """Whether the price is above epsilon; the decision alone mostly decides."""
    return decision_price(keep_away, eta) > epsilon or price(horizon, keep_away, eta, delta) > epsilon


def affordable(horizon: int, experts: int, epsilon: float, delta: float) -> bool:
    """Whether `tuned` finds an eta above 0: the price grows with eta, so the smallest one decides."""
    smallest = SMALLEST * math.sqrt(8 * math.log(experts) / horizon)
    return math.isinf(epsilon) or any(not too_dear(horizon, p, smallest, epsilon, delta) for p in reversed(GRID))


@lru_cache(maxsize=256)
def tuned(horizon: int, experts: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(p, eta) of the smallest ln(d)/eta + eta T/8 that the budget can pay for; p on 97 points from 1e-6 to 1.

    The guarantee falls with eta up to `best`, so the largest eta wins, among equals the smallest p. The price grows
    with eta: where it is too high at the eta that was found, p has no larger one. Every eighth p first, so that this
    rules out nearly all others.
    """
    best = math.sqrt(8 * math.log(experts) / horizon)
    if math.isinf(epsilon):
        return 1.0, best
    found = (1.0, 0.0)
    for keep_away in [*GRID[::8], *GRID]:
        if found[1] and too_dear(horizon, keep_away, found[1], epsilon, delta):
            continue
        eta = _largest_eta(horizon, keep_away, best, epsilon, delta)
        if eta and (eta, -keep_away) > (found[1], -found[0]):
            found = keep_away, eta
    return found


def _largest_eta(horizon: int, keep_away: float, best: float, epsilon: float, delta: float) -> float:
    """The largest eta up to `best` within the budget; K jumps, so the root is approached from below."""
    if not too_dear(horizon, keep_away, best, epsilon, delta):
        return best
    smallest = best * SMALLEST
    if too_dear(horizon, keep_away, smallest, epsilon, delta):
        return 0.0
    root = brentq(lambda eta: price(horizon, keep_away, eta, delta) - epsilon, smallest, best, xtol=1e-12, rtol=1e-9)
    while price(horizon, keep_away, root, delta) > epsilon:
        root *= 1 - 1e-6
    return float(root)


class ShrinkingDartboard(ExactHedge):
    """Draws are rare: about T (p + eta) of them at most."""

    card = Card(
        name="shrinking-dartboard",
        title="shrinking dartboard",
        paper="Asi et al. 2022",
        reference="our calibration",
        variants={"zcdp": "draws priced by zCDP"},
        anytime=False,
    )

    def __init__(self, problem: ExpertProblem, budget: Budget, runs: int, variant: str):
        super().__init__(problem, budget, runs, variant)
        if math.isfinite(budget.epsilon) and budget.delta == 0:
            raise ValueError("shrinking-dartboard needs delta > 0")
        if not affordable(self.horizon, self.experts, budget.epsilon, budget.delta):
            raise ValueError(
                f"shrinking-dartboard: epsilon = {budget.epsilon:g} leaves no switch in {self.horizon} rounds"
            )

    @cached_property
    def tuning(self) -> tuple[float, float]:
        """(p, eta), found when it is first requested: the check of a configuration has no use for it."""
        return tuned(self.horizon, self.experts, self.budget.epsilon, self.budget.delta)

    @cached_property
    def keep_away(self) -> float:
        """p."""
        return self.tuning[0]

    @cached_property
    def eta(self) -> float:  # type: ignore[override]  # it can be written too
        """Learning rate of the weights."""
        return self.tuning[1]

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses and draws: 1 + T p + (1 - p)(1 - e^-eta) times the expected loss, at most 1 + K.

        Exact for losses 0 and 1; between them 1 - e^-(eta l) is at most eta/(1 - e^-eta) times what is counted.
        """
        losses = super().play(blocks, generators).losses
        most = most_draws(self.horizon, self.keep_away, self.eta)
        caused = -(1 - self.keep_away) * math.expm1(-self.eta) * losses
        return Play(losses, np.minimum(1 + self.horizon * self.keep_away + caused, 1.0 + most))

    def delivered_epsilon(self) -> list[float]:
        """One decision plus K draws."""
        if math.isinf(self.budget.epsilon):
            return [math.inf]
        return [price(self.horizon, self.keep_away, self.eta, self.budget.delta)]
