"""Private shrinking dartboard: an expert is dropped only as often as its weight shrinks.

Algorithm   Asi, Feldman, Koren & Talwar, COLT 2023, Alg. 1 (after Geulen, Voecking & Winkler 2010):
            line 1  w_i = 1; P uniform
            line 2  draw x from P
            line 3  k = 1
            line 4  for t = 2..T
            line 5    w_i = w_i (1 - eta)^(l_{t-1}(i)) for all i
            line 6    P = w / (their sum)
            line 7    z = 1 with probability 1 - p
            line 8    if z = 1
            line 9      z = 1 with probability w_x / (w_x before line 5)
            line 10   if z = 1
            line 11     keep x
            line 12   else if k < K
            line 13     k = k + 1
            line 14     draw x from P
            line 15   receive l_t
            line 16   pay l_t(x)
            `play_by_the_box` is this; its `eta` is -ln(1 - eta) of line 5. The learner is charged with its expected
            loss instead, that of Hedge, which is exact up to T times the probability that the K draws run out.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; (eps, delta)-DP, or eps-DP. The
            loss decides once whether to keep or to draw: with weights e^(-eta l) the chance to keep moves by at most
            e^eta, that to draw by at most 1 + (1 - p)(1 - e^-eta)/p; the larger of both logarithms. It enters all later
            draws, each 2 eta-DP and eta^2/2-zCDP. Theorem 2 states 5 eta/p + 100 T p eta^2 + 20 eta sqrt(T p
            ln(1/delta)), or eta/p + 16 T p eta where delta = 0 (`stated_epsilon`).
Guarantee   While the draws last, x_t has exactly the law P_t of Hedge, so the expected regret is at most
            ln(d)/eta + eta T/8. Theorem 2 (eta as in line 5; p < 1/2, eta < 1/2, K = 4 T p):
            eta T + ln(d)/eta + 2 T e^(-T p/3). Its proof needs eta <= p as well.
Deviations  `zcdp` and `pure` are our calibration. K - 1 is one more than the 1 - 1/T^2 quantile of a
            binomial(T, p + eta), which dominates the number of draws: running out costs at most 1/T in expectation
            (T/2^52 beyond 2^26 rounds). (p, eta) minimise the guarantee on a grid of p.
"""

import bisect
import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from dpregret.algorithms.experts.expert_learner import Block, Play
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy.selection import zcdp_epsilon
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp

SMALLEST = 1e-6
"""The smallest eta that is tried, over the best one without privacy."""


@cache
def grid() -> tuple[float, ...]:
    """Values of p that are tried, the same on any processor."""
    return tuple(exp(math.log(10.0) * np.linspace(-6.0, 0.0, 97)).tolist())


class Tuning(NamedTuple):
    """B, p and eta of a learner that decides at the end of every batch whether to draw; the price of its K draws."""

    batch: int
    keep_away: float
    eta: float

    def most_draws(self, horizon: int) -> int:
        """K: more than this many of ceil(T/B) independent events of probability q have probability below 1/T^2."""
        probability = self.keep_away - (1 - self.keep_away) * math.expm1(-self.eta * self.batch)
        return most_of(-(-horizon // self.batch), min(1.0, probability), running_out(horizon)) + 1

    @property
    def decision(self) -> float:
        """Pure epsilon of the one decision that a loss takes part in."""
        return max(self.eta, math.log1p(-(1 - self.keep_away) * math.expm1(-self.eta) / self.keep_away))

    def draws(self, horizon: int, delta: float) -> float:
        """Epsilon at delta of all draws after the changed round; purely where delta is 0."""
        most = self.most_draws(horizon)
        return zcdp_epsilon(most * self.eta**2 / 2, delta) if delta else most * 2 * self.eta

    def price(self, horizon: int, delta: float) -> float:
        """Epsilon of the whole run at delta: the decision and the draws."""
        return self.decision + self.draws(horizon, delta)

    def too_dear(self, horizon: int, epsilon: float, delta: float) -> bool:
        """Whether the price is above epsilon; the decision alone mostly decides."""
        return self.decision > epsilon or self.price(horizon, delta) > epsilon

    def guarantee(self, horizon: int, experts: int) -> float:
        """ln(d)/eta + eta T B/8, without what running out costs."""
        return math.log(experts) / self.eta + self.eta * horizon * self.batch / 8


class EveryRound(Tuning):
    """Batches of one round."""

    def most_draws(self, horizon: int) -> int:
        """K: more than this many of T independent events of probability p + eta have probability below 1/T^2."""
        return most_of(horizon, min(1.0, self.keep_away + self.eta), running_out(horizon)) + 1


class AsPrinted(Tuning):
    """B, p and -ln(1 - eta)/B for the eta of the paper, which has weights (1 - eta)^l and K = 4 T p/B."""

    @classmethod
    def of(cls, batch: int, p: float, step: float) -> "AsPrinted":
        """From the eta of the paper, `step`. Raises ValueError outside of Theorems 2 and 5."""
        if not (p < 0.5 and step < 0.5):
            raise ValueError(f"epsilon: the paper needs p < 1/2 and eta < 1/2, not p = {p:.3g} and eta = {step:.3g}")
        return cls(batch, p, -math.log1p(-step) / batch)

    @property
    def step(self) -> float:
        """The eta of the paper."""
        return -math.expm1(-self.eta * self.batch)

    def most_draws(self, horizon: int) -> int:
        """Draws after the first one: k runs from 1 to K = 4 T p/B."""
        return max(0, math.ceil(4 * horizon * self.keep_away / self.batch) - 1)

    def guarantee(self, horizon: int, experts: int) -> float:
        """Theorems 2 and 5: eta T + B ln(d)/eta + 2 T e^(-T p/(3 B)); NaN for eta > p, which their proof excludes."""
        if self.step > self.keep_away:
            return math.nan
        run_out = 2 * horizon * math.exp(-horizon * self.keep_away / (3 * self.batch))
        return self.step * horizon + self.batch * math.log(experts) / self.step + run_out

    def stated_epsilon(self, horizon: int, delta: float) -> float:
        """Theorem 2 for B = 1, Theorem 5, which states none for delta = 0, otherwise."""
        batch, p, eta = self.batch, self.keep_away, self.step
        if delta == 0:
            return eta / p + 16 * horizon * p * eta if batch == 1 else math.nan
        root = math.sqrt((12 if batch > 1 else 1) * horizon * p / batch * math.log(1 / delta))
        return 5 * eta / (batch * p) + 100 * horizon * p * eta**2 / batch**3 + 20 * eta / batch * root


def corollary_3(horizon: int, experts: int, epsilon: float, delta: float) -> AsPrinted:
    """p = (T ln(1/delta))^(-1/3), eta = p eps_0/20, eps_0 = min(eps/2, ln^(1/3)(1/delta) T^(-1/6) sqrt(ln d))."""
    logarithm = math.log(1 / delta)
    least = min(epsilon / 2, math.cbrt(logarithm) * horizon ** (-1 / 6) * math.sqrt(math.log(experts)))
    p = 1 / math.cbrt(horizon * logarithm)
    return AsPrinted.of(1, p, p * least / 20)


def corollary_4(horizon: int, experts: int, epsilon: float, delta: float) -> AsPrinted:
    """p = 1/sqrt(T), eta = p eps/20; delta = 0."""
    p = 1 / math.sqrt(horizon)
    return AsPrinted.of(1, p, p * epsilon / 20)


def play_by_the_box(losses: Array, tuning: Tuning, most: int, generator: np.random.Generator) -> list[int]:
    """The experts that one run plays, round by round; losses (rounds, experts), most: K - 1.

    With batches the box is played on their mean losses, line 5 with their sums: (1 - eta)^mean is e^(-`eta` sum).
    """
    batch, p, eta = tuning
    everyone = np.arange(losses.shape[1])
    weights = np.ones(len(everyone))  # line 1
    expert = generator.choice(everyone)  # line 2
    k = 1  # line 3
    played = [int(expert)] * min(batch, len(losses))
    for first in range(batch, len(losses), batch):  # line 4
        before, lost = weights, losses[first - batch : first].sum(axis=0)
        weights = before * exp(-eta * lost)  # line 5
        law = weights / weights.sum()  # line 6
        keep = generator.random() < 1 - p  # line 7
        if keep:  # line 8
            keep = generator.random() < weights[expert] / before[expert]  # line 9
        if not keep and k < most + 1:  # lines 10, 11, 12
            k += 1  # line 13
            expert = generator.choice(everyone, p=law)  # line 14
        played += [int(expert)] * min(batch, len(losses) - first)  # lines 15, 16
    return played


def running_out(horizon: int) -> float:
    """Probability, at most, that more than K draws are requested: 1/T^2, or the smallest that is requested."""
    return max(1 / horizon**2, 2.0**-52)


def most_of(events: int, probability: float, level: float) -> int:
    """The quantile of a binomial: the least k with P(more than k) <= level; -1 for level 1."""
    return bisect.bisect_left(range(-1, events), True, key=lambda k: bool(bdtrc(k, events, probability) <= level)) - 1


def best_eta(horizon: int, experts: int, batch: int = 1) -> float:
    """The eta of the smallest guarantee at a given B, whatever it costs."""
    return math.sqrt(8 * math.log(experts) / (horizon * batch))


def largest_eta(horizon: int, at_best: Tuning, needed: float, epsilon: float, delta: float) -> float:
    """The largest affordable eta from `needed` to `at_best.eta`; 0: none. K jumps, so it is approached from below."""
    best = at_best.eta
    if needed >= best or at_best._replace(eta=needed).too_dear(horizon, epsilon, delta):
        return 0.0
    if not at_best.too_dear(horizon, epsilon, delta):
        return best

    def excess(eta: float) -> float:
        return at_best._replace(eta=eta).price(horizon, delta) - epsilon

    from scipy.optimize import brentq  # late: most of what imports this file searches nothing

    root = float(brentq(excess, needed, best, xtol=min(1e-12, 1e-9 * epsilon), rtol=1e-9))
    while excess(root) > 0:
        root *= 1 - 1e-6
    return root


@lru_cache(maxsize=256)
def tuned(horizon: int, experts: int, epsilon: float, delta: float) -> Tuning | None:
    """The (p, eta) of the smallest ln(d)/eta + eta T/8 that the budget can pay for; None: it pays for no draw at all.

    p is on 97 points from 1e-6 to 1. The guarantee falls with eta up to `best`, so the largest eta wins, among equals
    the smallest p. The price grows with eta: where it is too high at the best eta so far, p allows no larger one. Every
    eighth p first, so that this rules out nearly all others.
    """
    best = best_eta(horizon, experts)
    if math.isinf(epsilon):
        return EveryRound(1, 1.0, best)
    tuning = None
    for keep_away in [*grid()[::8], *grid()]:
        if tuning and tuning._replace(keep_away=keep_away).too_dear(horizon, epsilon, delta):
            continue
        eta = largest_eta(horizon, EveryRound(1, keep_away, best), best * SMALLEST, epsilon, delta)
        if eta and (tuning is None or (eta, -keep_away) > (tuning.eta, -tuning.keep_away)):
            tuning = EveryRound(1, keep_away, eta)
    return tuning


def batches(most: int, only: int | None = None) -> list[int]:
    """1, 2, 3, 4, 6, 8, 11, 16, ...: rounded powers of sqrt(2); or `only` alone."""
    if only is not None:
        return [only]
    sizes = dict.fromkeys(round(2 ** (half / 2)) for half in range(2 * most.bit_length()))
    return [size for size in sizes if size <= most]


def affordable(
    horizon: int, experts: int, epsilon: float, delta: float, kind: type[Tuning] = Tuning, only: int | None = None
) -> bool:
    """Whether the budget can pay for any (B, p, eta): the price grows with eta, so the smallest one decides."""
    return math.isinf(epsilon) or any(
        not kind(batch, keep_away, SMALLEST * best_eta(horizon, experts, batch)).too_dear(horizon, epsilon, delta)
        for batch in batches(horizon, only)
        for keep_away in reversed(grid())
    )


class LazyHedge(ExactHedge):
    """Base of learners with the law of Hedge on batches, drawn with the few switches that a tuning pays for."""

    def prepare(self) -> None:
        if math.isfinite(self.budget.epsilon) and self.budget.delta == 0 and not self.pure:
            raise ValueError(f"{self.card.name} needs delta > 0")
        if not self.affordable():
            raise ValueError(
                f"{self.card.name}: epsilon = {self.budget.epsilon:g} leaves no switch in {self.horizon} rounds"
            )

    @property
    def tuning_inputs(self) -> tuple[int, int, float, float]:
        """The leading arguments of `affordable` and `tuned`."""
        return self.horizon, self.experts, self.budget.epsilon, self.delta

    @property
    def delta(self) -> float:
        """The delta of the guarantee."""
        return 0.0 if self.pure else self.budget.delta

    def affordable(self) -> bool:
        """Whether `tuned` finds anything, at a lower price."""
        return affordable(*self.tuning_inputs)

    @abstractmethod
    def tuned(self) -> Tuning | None:
        """B, p and eta; None where nothing is affordable."""

    @cached_property
    def tuning(self) -> Tuning:
        """B, p and eta, computed at the first request: checking a configuration does not need them."""
        tuning = self.tuned()
        assert tuning is not None, "affordable"
        return tuning

    @property
    def batch(self) -> int:  # type: ignore[override]  # others set it
        """Rounds between decisions."""
        return self.tuning.batch

    @property
    def eta(self) -> float:  # type: ignore[override]  # others set it
        """Learning rate of the weights."""
        return self.tuning.eta

    def delivered_epsilon(self) -> list[float]:
        """The decision and the draws."""
        return self.epsilon_at(self.delta)

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta."""
        if math.isinf(self.budget.epsilon):
            return [math.inf]
        return [self.tuning.price(self.horizon, delta)]


class ShrinkingDartboard(LazyHedge):
    """Draws are rare: about T (p + eta) of them at most."""

    card = Card(
        name="shrinking-dartboard",
        title="shrinking dartboard",
        paper="Asi et al., COLT 2023",
        reference="Alg. 1",
        variants={
            "zcdp": "(p, eta) that minimise ln(d)/eta + eta T/8, draws priced by zCDP",
            "pure": "the same, draws priced purely: eps-DP",
            "printed": "p, eta and K of Corollary 3",
            "printed-pure": "p, eta and K of Corollary 4, eps-DP",
        },
    )

    @property
    def pure(self) -> bool:
        """Whether draws compose purely."""
        return self.variant in ("pure", "printed-pure")

    def prepare(self) -> None:
        super().prepare()
        if self.variant.startswith("printed"):
            self.tuned()

    def affordable(self) -> bool:
        return self.variant.startswith("printed") or affordable(*self.tuning_inputs, EveryRound, 1)

    def tuned(self) -> Tuning | None:
        if self.variant.startswith("printed") and math.isfinite(self.budget.epsilon):
            return (corollary_4 if self.pure else corollary_3)(*self.tuning_inputs)
        return tuned(*self.tuning_inputs)

    def bound(self) -> list[float]:
        """The guarantee of the tuning."""
        return [self.tuning.guarantee(self.horizon, self.experts)]

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses and draws: 1 + T p + (1 - p)(1 - e^-eta) times the expected loss, at most 1 + K.

        Exact for losses 0 and 1; between them 1 - e^-(eta l) is at most eta/(1 - e^-eta) times what is counted.
        """
        losses, (_, keep_away, eta) = super().play(blocks, generators).losses, self.tuning
        caused = -(1 - keep_away) * math.expm1(-eta) * losses
        most = self.tuning.most_draws(self.horizon)
        return Play(losses, np.minimum(1 + self.horizon * keep_away + caused, 1.0 + most))
