"""Batched dartboard: the shrinking dartboard that decides at the end of batches only.

Algorithm   Asi, Feldman, Koren & Talwar, COLT 2023, Section 3.1.1: Algorithm 1, the box of shrinking_dartboard.py, on
            the mean losses of batches of B rounds, x played in all rounds of a batch. `eta` here is -ln(1 - eta)/B of
            the paper. The learner is charged with its expected loss, that of Hedge on batches, exact up to T times the
            probability that the draws run out.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; (eps, delta)-DP or eps-DP.
            Released, and more than what is played: whether each decision kept, and who was drawn. Up to the end of the
            batch of the changed round all is alike. There one decision sees it, through an L that moves by at most 1:
            the chance to keep moves by at most e^eta; that to draw, 1 - (1 - p) e^(-eta L), moves most at L = 0, by 1 +
            (1 - p)(1 - e^-eta)/p. So the larger of both logarithms, purely, whatever B is. All other decisions see
            other rounds and are alike, given what was released before. After it come the draws: each is eta^2/2-zCDP
            (bounded range 2 eta), and there are at most K, whatever the coins say: with k = K the expert stays. The
            coins up to the next draw and that draw are one of K mechanisms in adaptive composition. A pure mechanism
            first, then K eta^2/2-zCDP, or 2 eta K: their epsilons add up, and delta is that of the second alone.
Guarantee   While the K draws last, x has exactly the law of Hedge on batches: if x ~ P ~ exp(-eta C), then after line
            14 P(y) (1 - p) e^(-eta L(y)) + (1 - (1 - p) Z) P'(y) = P'(y), since P(y) e^(-eta L(y)) = Z P'(y). So the
            expected regret is at most ln(d)/eta + eta T B/8. A decision draws with probability at most q = p + (1 -
            p)(1 - e^(-eta B)), whatever came before; K is one more than the 1 - 1/T^2 quantile of a
            binomial(ceil(T/B), q). Running out is not a loss of privacy and no part of delta: it costs regret, at most
            1/T in expectation (T/2^52 beyond 2^26 rounds), which `bound` adds.
            Theorem 5 (eta of the paper, K = 4 T p/B): eta T + B ln(d)/eta + 2 T e^(-T p/(3 B)).
            Balanced: T^(2/5) ln(d)^(4/5) / eps^(3/5) up to powers of ln(1/delta), for ln(d)^3/eps < T < ln(d)^3/eps^6.
            Corollary 6 of the paper has eps^(4/5), because its B grows like eps^(-3/5). With B of order eps^(-6/5) its
            own Theorem 5 gives eps^(3/5): `balanced` (proof in docs/asi_et_al_2023_experts.md). Under eps-DP, for which
            the paper has no batches, B of order sqrt(ln d)/eps gives sqrt(T) ln(d)^(3/4) / sqrt(eps).
Deviations  `printed` and `balanced` round B, to at least 1. `zcdp` and `pure` are our price (Theorem 5 states one by
            advanced composition), K as a quantile, and our tuning: (B, p, eta) minimise the guarantee over powers of
            sqrt(2) and a grid of p.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, Play
from dpregret.algorithms.experts.shrinking_dartboard import (
    SMALLEST,
    AsPrinted,
    LazyHedge,
    Tuning,
    batches,
    best_eta,
    grid,
    largest_eta,
    running_out,
)
from dpregret.algorithms.learner import Card


@lru_cache(maxsize=256)
def tuned(
    horizon: int, experts: int, epsilon: float, delta: float, kind: type[Tuning] = Tuning, only: int | None = None
) -> Tuning | None:
    """The (B, p, eta) of the smallest guarantee that the budget can pay for; None: it pays for no draw at all.

    kind: the class whose price is paid. only: a fixed B; else B is a rounded power of sqrt(2) up to T. p is on 97
    points from 1e-6 to 1. At a given B the guarantee falls with eta up to `best`, and its value there grows with B; so
    the search ends at a B where that exceeds the best so far, and skips a p whose price is too high at the eta that
    would beat it. Every eighth p first, so that this rules out most others.
    """
    if math.isinf(epsilon):
        return kind(1, 1.0, best_eta(horizon, experts))
    tuning, least = None, math.inf
    for batch in batches(horizon, only):
        best = best_eta(horizon, experts, batch)
        if kind(batch, 1.0, best).guarantee(horizon, experts) >= least:
            break
        for keep_away in [*grid()[::8], *grid()]:
            needed = _needed(horizon * batch / 8, math.log(experts), least) if tuning else best * SMALLEST
            eta = largest_eta(horizon, kind(batch, keep_away, best), needed, epsilon, delta)
            if eta:
                tuning = kind(batch, keep_away, eta)
                least = tuning.guarantee(horizon, experts)
    return tuning


def _needed(slope: float, log_experts: float, least: float) -> float:
    """The smallest eta with log_experts/eta + slope eta < least; inf where there is none."""
    rest = least**2 - 4 * slope * log_experts
    return math.inf if rest <= 0 else (least - math.sqrt(rest)) / (2 * slope) * (1 + 1e-9)


def corollary_6(horizon: int, experts: int, epsilon: float, delta: float) -> AsPrinted:
    """B = ln^(2/5)(1/delta) ln^(3/5)(d) / (T^(1/5) eps^(3/5)), p = (B/(T ln(1/delta)))^(1/3), eta = B p eps/40."""
    return _of_batch(horizon, experts, epsilon, delta, 0.6)


def balanced(horizon: int, experts: int, epsilon: float, delta: float) -> AsPrinted:
    """The same with eps^(6/5) in B."""
    return _of_batch(horizon, experts, epsilon, delta, 1.2)


def _of_batch(horizon: int, experts: int, epsilon: float, delta: float, power: float) -> AsPrinted:
    logarithm = math.log(1 / delta)
    size = logarithm**0.4 * math.log(experts) ** 0.6 / (horizon**0.2 * epsilon**power)
    batch = max(1, round(min(size, 2.0**53)))
    if batch > horizon:
        raise ValueError(f"epsilon = {epsilon:g} needs batches of {batch:.3g} rounds, more than the horizon {horizon}")
    p = math.cbrt(batch / (horizon * logarithm))
    return AsPrinted.of(batch, p, batch * p * epsilon / 40)


class BatchedDartboard(LazyHedge):
    """Decisions are few: T/B, and draws fewer."""

    card = Card(
        name="batched-dartboard",
        title="batched dartboard",
        paper="Asi et al., COLT 2023",
        reference="Section 3.1.1",
        variants={
            "zcdp": "(B, p, eta) that minimise ln(d)/eta + eta T B/8, draws priced by zCDP",
            "pure": "the same, draws priced purely: eps-DP",
            "printed": "B, p, eta and K of Corollary 6",
            "balanced": "the same with eps^(6/5) in B, which balances Theorem 5",
        },
    )

    @property
    def pure(self) -> bool:
        """Whether draws compose purely."""
        return self.variant == "pure"

    @property
    def stated(self) -> bool:
        """Whether parameters follow from Theorem 5."""
        return self.variant in ("printed", "balanced") and math.isfinite(self.budget.epsilon)

    def prepare(self) -> None:
        super().prepare()
        if self.stated:
            self.tuned()

    def affordable(self) -> bool:
        return self.stated or super().affordable()

    def tuned(self) -> Tuning | None:
        if self.stated:
            return (corollary_6 if self.variant == "printed" else balanced)(*self.tuning_inputs)
        return tuned(*self.tuning_inputs)

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses; at most so many draws are expected: 1 + p T/B + (1 - p) eta times the losses, and 1 + K."""
        losses, (_, keep_away, eta) = super().play(blocks, generators).losses, self.tuning
        requested = keep_away * self.draws + (1 - keep_away) * eta * losses
        return Play(losses, np.minimum(1 + requested, 1.0 + self.tuning.most_draws(self.horizon)))

    def bound(self) -> list[float]:
        """Theorem 5 for its parameters; ln(d)/eta + eta T B/8, and what running out costs, for others."""
        if self.stated:
            return [self.tuning.guarantee(self.horizon, self.experts)]
        return [super().bound()[0] + self.horizon * running_out(self.horizon)]
