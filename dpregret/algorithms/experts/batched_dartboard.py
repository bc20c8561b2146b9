"""Batched dartboard: the shrinking dartboard that decides at the end of batches only.

Algorithm   ours, from shrinking_dartboard.py:
            line 1  draw x uniformly; k = 0, C = 0
            line 2  for batches of B rounds: play x in all of them; C = C + their losses, L = those of x
            line 3    with probability (1 - p) exp(-eta L) keep x
            line 4    otherwise, if k < K: draw x with P(x) ~ exp(-eta C(x)); k = k + 1
            `play_by_the_box` is this. The learner is charged with its expected loss instead, that of Hedge on batches,
            which is exact to 1/T.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; (eps, delta)-DP. Released, and
            more than what is played: whether each decision kept, and who was drawn. Up to the end of the batch of the
            changed round all is alike. There one decision sees it, through an L that moves by at most 1: the chance to
            keep moves by at most e^eta; that to draw, 1 - (1 - p) e^(-eta L), moves most at L = 0, by
            1 + (1 - p)(1 - e^-eta)/p. So the larger of both logarithms, purely, whatever B is. All other decisions see
            other rounds and are alike, given what was released before. After it come the draws: each is eta^2/2-zCDP
            (bounded range 2 eta), and there are at most K, whatever the coins say: with k = K the expert stays. The
            coins up to the next draw and that draw are one of K mechanisms in adaptive composition. A pure mechanism
            first, then K eta^2/2-zCDP: their epsilons add up, and delta is that of the second alone.
Guarantee   While the K draws last, x has exactly the law of Hedge on batches: if x ~ P ~ exp(-eta C), then after line 4
            P(y) (1 - p) e^(-eta L(y)) + (1 - (1 - p) Z) P'(y) = P'(y), since P(y) e^(-eta L(y)) = Z P'(y). So the
            expected regret is at most ln(d)/eta + eta T B/8. A decision draws with probability at most
            q = p + (1 - p)(1 - e^(-eta B)), whatever came before; K is the 1 - 1/T^2 quantile of a
            binomial(ceil(T/B), q). Running out is not a loss of privacy and no part of delta: it costs regret, at
            most 1/T in expectation (T/2^52 beyond 2^26 rounds), which `bound` adds.
            Balanced: T^(2/5) ln(d)^(4/5) / eps^(3/5) up to powers of ln(1/delta), for ln(d)^3/eps < T < ln(d)^3/eps^6.
Deviations  (B, p, eta) minimise the guarantee over powers of sqrt(2) and a grid of p.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dpregret.algorithms.experts.base import Block, ExpertProblem, Play
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.experts.shrinking_dartboard import GRID, SMALLEST, decision_price, most_of, running_out
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import zcdp_epsilon
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp


class Tuning(NamedTuple):
    """B, p and eta."""

    batch: int
    keep_away: float
    eta: float

    def most_draws(self, horizon: int) -> int:
        """K: more than this many of ceil(T/B) independent events of probability q have probability below 1/T^2."""
        probability = self.keep_away - (1 - self.keep_away) * math.expm1(-self.eta * self.batch)
        return most_of(-(-horizon // self.batch), min(1.0, probability), running_out(horizon)) + 1

    def price(self, horizon: int, delta: float) -> float:
        """Epsilon of the whole run at delta: one decision and K draws."""
        draws = self.most_draws(horizon) * self.eta**2 / 2
        return decision_price(self.keep_away, self.eta) + zcdp_epsilon(draws, delta)

    def too_dear(self, horizon: int, epsilon: float, delta: float) -> bool:
        """Whether the price is above epsilon; the decision alone mostly decides."""
        return decision_price(self.keep_away, self.eta) > epsilon or self.price(horizon, delta) > epsilon

    def guarantee(self, horizon: int, experts: int) -> float:
        """ln(d)/eta + eta T B/8, without what running out costs."""
        return math.log(experts) / self.eta + self.eta * horizon * self.batch / 8


def play_by_the_box(losses: Array, tuning: Tuning, most: int, generator: np.random.Generator) -> list[int]:
    """The experts that one run plays, round by round; losses (rounds, experts), most: K."""
    batch, keep_away, eta = tuning
    everyone = np.arange(losses.shape[1])
    expert, draws, seen = generator.choice(everyone), 0, np.zeros(len(everyone))  # line 1
    played = []
    for first in range(0, len(losses), batch):  # line 2
        some = losses[first : first + batch]
        played += [int(expert)] * len(some)
        lost = some.sum(axis=0)
        seen = seen + lost
        keep = generator.random() < (1 - keep_away) * exp(-eta * lost[expert])  # line 3
        if not keep and draws < most:
            weights = exp(-eta * (seen - seen.min()))
            expert, draws = generator.choice(everyone, p=weights / weights.sum()), draws + 1  # line 4
    return played


def affordable(
    horizon: int, experts: int, epsilon: float, delta: float, kind: type[Tuning] = Tuning, only: int | None = None
) -> bool:
    """Whether `tuned` finds anything: the price grows with eta, so the smallest one decides."""
    return math.isinf(epsilon) or any(
        not kind(batch, keep_away, SMALLEST * _best(horizon, experts, batch)).too_dear(horizon, epsilon, delta)
        for batch in _batches(horizon, only)
        for keep_away in reversed(GRID)
    )


@lru_cache(maxsize=256)
def tuned(
    horizon: int, experts: int, epsilon: float, delta: float, kind: type[Tuning] = Tuning, only: int | None = None
) -> Tuning | None:
    """The (B, p, eta) of the smallest guarantee that the budget can pay for; None: it pays for no draw at all.

    kind: whose price is paid. only: the B, where it is given; else it is a rounded power of sqrt(2) up to T. p is on 97
    points from 1e-6 to 1. At a given B the guarantee falls with eta up to `best`, and what it is there grows with B; so
    larger B are left out once that is above what was found, and a p whose price is too high at the eta that would beat
    it. Every eighth p first, so that this rules out most others.
    """
    if math.isinf(epsilon):
        return kind(1, 1.0, math.sqrt(8 * math.log(experts) / horizon))
    found, least = None, math.inf
    for batch in _batches(horizon, only):
        best = _best(horizon, experts, batch)
        if kind(batch, 1.0, best).guarantee(horizon, experts) >= least:
            break
        for keep_away in [*GRID[::8], *GRID]:
            needed = _needed(horizon * batch / 8, math.log(experts), least) if found else best * SMALLEST
            eta = _largest_eta(horizon, kind(batch, keep_away, best), needed, epsilon, delta)
            if eta:
                found = kind(batch, keep_away, eta)
                least = found.guarantee(horizon, experts)
    return found


def _best(horizon: int, experts: int, batch: int) -> float:
    """The eta of the smallest guarantee at a given B, whatever it costs."""
    return math.sqrt(8 * math.log(experts) / (horizon * batch))


def _batches(most: int, only: int | None = None) -> list[int]:
    """1, 2, 3, 4, 6, 8, 11, 16, ...: rounded powers of sqrt(2); or the one that is given."""
    if only is not None:
        return [only]
    sizes = dict.fromkeys(round(2 ** (half / 2)) for half in range(2 * most.bit_length()))
    return [size for size in sizes if size <= most]


def _needed(slope: float, log_experts: float, least: float) -> float:
    """The smallest eta with log_experts/eta + slope eta < least; inf where there is none."""
    rest = least**2 - 4 * slope * log_experts
    return math.inf if rest <= 0 else (least - math.sqrt(rest)) / (2 * slope) * (1 + 1e-9)


def _largest_eta(horizon: int, at_best: Tuning, needed: float, epsilon: float, delta: float) -> float:
    """The largest affordable eta from `needed` to `at_best.eta`; 0: none. K jumps, so it is approached from below."""
    best = at_best.eta
    if needed >= best or at_best._replace(eta=needed).too_dear(horizon, epsilon, delta):
        return 0.0
    if not at_best.too_dear(horizon, epsilon, delta):
        return best

    def excess(eta: float) -> float:
        return at_best._replace(eta=eta).price(horizon, delta) - epsilon

    root = float(brentq(excess, needed, best, xtol=1e-12, rtol=1e-9))
    while excess(root) > 0:
        root *= 1 - 1e-6
    return root


class BatchedDartboard(ExactHedge):
    """Decisions are few: T/B, and draws fewer."""

    card = Card(
        name="batched-dartboard",
        title="batched dartboard",
        paper="ours, after Asi et al. 2022",
        reference="shrinking dartboard on batches",
        variants={"zcdp": "draws priced by zCDP"},
        anytime=False,
    )

    def __init__(self, problem: ExpertProblem, budget: Budget, runs: int, variant: str):
        super().__init__(problem, budget, runs, variant)
        if math.isfinite(budget.epsilon) and budget.delta == 0:
            raise ValueError("batched-dartboard needs delta > 0")
        if not affordable(self.horizon, self.experts, budget.epsilon, budget.delta):
            raise ValueError(
                f"batched-dartboard: epsilon = {budget.epsilon:g} leaves no switch in {self.horizon} rounds"
            )

    @cached_property
    def tuning(self) -> Tuning:
        """B, p and eta, found when they are first requested."""
        found = tuned(self.horizon, self.experts, self.budget.epsilon, self.budget.delta)
        assert found is not None, "affordable"
        return found

    @cached_property
    def batch(self) -> int:  # type: ignore[override]  # it can be written too
        """Rounds between decisions."""
        return self.tuning.batch

    @cached_property
    def keep_away(self) -> float:
        """p."""
        return self.tuning.keep_away

    @cached_property
    def eta(self) -> float:  # type: ignore[override]  # it can be written too
        """Learning rate of the weights."""
        return self.tuning.eta

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses; at most so many draws are expected: 1 + p T/B + (1 - p) eta times the losses, and 1 + K."""
        losses = super().play(blocks, generators).losses
        asked = self.keep_away * super().draws + (1 - self.keep_away) * self.eta * losses
        return Play(losses, np.minimum(1 + asked, 1.0 + self.tuning.most_draws(self.horizon)))

    def delivered_epsilon(self) -> list[float]:
        """One decision plus K draws."""
        if math.isinf(self.budget.epsilon):
            return [math.inf]
        return [self.tuning.price(self.horizon, self.budget.delta)]

    def bound(self) -> list[float]:
        """ln(d)/eta + eta T B/8, and what running out costs."""
        return [super().bound()[0] + self.horizon * running_out(self.horizon)]
