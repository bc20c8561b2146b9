"""Hedge, and what becomes of it when its draws are paid for by composition.

Algorithm   Play x_t with P(x) ~ exp(-eta C(x)), C the losses so far (Littlestone & Warmuth 1994; Freund & Schapire
            1997).
            composition: draw afresh in every round. batched: draw once for b rounds, on the losses before them.
Privacy     Replace the losses of one round; a score moves by at most 1. In this convention of the exponential
            mechanism a draw is 2 eta-DP and, having bounded range, eta^2/2-zCDP (Cesar & Rogers 2021). T/b draws see
            the loss.
Guarantee   Expected regret <= ln(d)/eta + eta T b/8, first draw uniform; for eta = 1 and T b = T also
            (L* + ln d)/(1 - 1/e) - L*.
Deviations  Private Hedge by composition stands for the rate sqrt(T) ln(d)/eps that is quoted for Jain & Thakurta 2014;
            their algorithm is another one. Batch length: sqrt(4 ln(d) / (3 rho)) with zCDP, (16 T ln(d) / eps^2)^(1/3)
            pure, which minimise the bound.

Losses are expectations over the draws, exact: the marginal of every round is known in closed form.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from dpregret.algorithms.experts.base import Block, ExpertLearner, ExpertProblem, Play
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import Selection, largest_rho
from dpregret.core.arrays import Array

NUMBERS = 2**20  # of a chunk of marginals


def hedge_losses(blocks: Iterable[Block], sizes: Array, eta: float, batch: int = 1) -> Array:
    """Expected total loss (runs | 1,) of P ~ exp(-eta C), drawn anew every `batch` rounds from the first one on.

    eta = inf plays the experts of smallest loss so far. sizes: (groups,).
    """
    seen = np.zeros((1, len(sizes)))
    current = _marginals(seen, sizes, eta)
    total = np.zeros(1)
    played = 0  # rounds since the last draw, counted from it
    for block in blocks:
        starts = np.arange(-played % batch, block.rounds, batch, dtype=np.int64)
        lead = int(starts[0]) if len(starts) else block.rounds
        total = total + (current * _sums(block, np.array([0]), lead)[0]).sum(axis=-1)
        chunk = max(1, NUMBERS // (len(sizes) * block.losses.shape[1]))
        for first in range(0, len(starts), chunk):
            some = starts[first : first + chunk]
            stop = int(starts[first + chunk]) if first + chunk < len(starts) else block.rounds
            pieces = _sums(block, some, stop)
            before = seen + _sums(block, np.array([0]), int(some[0]))[0] + _exclusive(pieces)
            marginals = _marginals(before, sizes, eta)
            total = total + (marginals * pieces).sum(axis=(0, 2))
            current = marginals[-1]
        seen = seen + _sums(block, np.array([0]), block.rounds)[0]
        played += block.rounds
    return np.asarray(total)


def _sums(block: Block, starts: NDArray[np.int64], stop: int) -> Array:
    """Losses summed from each start to the next one, and from the last to `stop`: (starts, runs | 1, groups)."""
    lengths = np.diff(np.append(starts, stop))
    if len(block.losses) == 1:
        return np.asarray(lengths[:, None, None] * block.losses)
    if stop == 0:
        return np.zeros((1, *block.losses.shape[1:]))
    return np.asarray(np.add.reduceat(block.losses[:stop], starts, axis=0))


def _exclusive(pieces: Array) -> Array:
    """Sums of all pieces before each."""
    before = np.zeros_like(pieces)
    np.cumsum(pieces[:-1], axis=0, out=before[1:])
    return before


def _marginals(seen: Array, sizes: Array, eta: float) -> Array:
    """P(group) proportional to size * exp(-eta * loss so far), over the last axis."""
    if math.isinf(eta):
        best = (seen == seen.min(axis=-1, keepdims=True)) * sizes
        return np.asarray(best / best.sum(axis=-1, keepdims=True))
    return np.asarray(softmax(np.log(sizes) - eta * seen, axis=-1))


class ExactHedge(ExpertLearner):
    """What the learners of this module share: eta, the batch length, and the closed form."""

    exact = True
    eta: float
    batch: int = 1

    @property
    def draws(self) -> int:
        """Number of draws, the uniform first one included."""
        return math.ceil(self.horizon / self.batch)

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses; the generators are not used."""
        losses = np.broadcast_to(hedge_losses(blocks, self.sizes, self.eta, self.batch), (self.runs,))
        return Play(losses, np.full(self.runs, float(self.draws)))

    def bound(self) -> list[float]:
        """ln(d)/eta + eta T b/8."""
        return [math.log(self.experts) / self.eta + self.eta * self.horizon * self.batch / 8]


class Hedge(ExactHedge):
    """Without privacy."""

    card = Card(
        name="hedge",
        title="Hedge",
        paper="Freund & Schapire 1997",
        reference="Section 2",
        variants={
            "unit": "eta = 1, for realizable losses",
            "small-loss": "eta = ln(1 + sqrt(2 ln(d) / L*)), L* known",
            "horizon": "eta = sqrt(8 ln(d) / T)",
        },
        private=False,
        anytime=False,
    )

    def __init__(self, problem: ExpertProblem, budget: Budget, runs: int, variant: str):
        super().__init__(problem, budget, runs, variant)
        if variant == "small-loss" and problem.best_loss is None:
            raise ValueError("hedge small-loss must be told a bound on the loss of the best expert: give best_loss")
        log_experts = math.log(self.experts)
        if variant == "unit":
            self.eta = 1.0
        elif variant == "horizon":
            self.eta = math.sqrt(8 * log_experts / self.horizon)
        else:
            best = problem.best_loss or 0.0
            self.eta = math.log1p(math.sqrt(2 * log_experts / best)) if best else math.inf

    def bound(self) -> list[float]:
        """(eta L* + ln d) / (1 - e^-eta) - L*, or ln(d)/eta + eta T/8 for the one tuned to T."""
        if self.variant == "horizon":
            return super().bound()
        best = self.problem.best_loss
        if best is None:
            return [math.nan]
        if math.isinf(self.eta):  # L* = 0: the harmonic sum of ever fewer experts without loss
            return [math.log(self.experts) + 1]
        return [(self.eta * best + math.log(self.experts)) / -math.expm1(-self.eta) - best]


class CompositionHedge(ExactHedge):
    """A fresh draw in every round."""

    card = Card(
        name="hedge-composition",
        title="private Hedge by composition (rate of Jain & Thakurta 2014)",
        paper="folklore",
        reference="composition of T draws",
        variants={"zcdp": "eta = sqrt(2 rho/T)", "pure": "eta = eps/(2T)"},
        anytime=False,
    )

    def __init__(self, problem: ExpertProblem, budget: Budget, runs: int, variant: str):
        super().__init__(problem, budget, runs, variant)
        self.batch = self._batch()
        if self.batch > self.horizon:
            raise ValueError(
                f"{self.card.name}: epsilon = {budget.epsilon:g} leaves no switch in {self.horizon} rounds, "
                f"the best batch has {self.batch}"
            )
        best = math.sqrt(8 * math.log(self.experts) / (self.horizon * self.batch))  # no privacy needs more
        if variant == "pure":
            self.eta = min(best, budget.epsilon / (2 * self.draws))
        else:
            self.eta = min(best, math.sqrt(2 * largest_rho(budget) / self.draws))

    @property
    def pure(self) -> bool:
        """Whether draws compose purely."""
        return self.variant == "pure"

    def _batch(self) -> int:
        return 1

    def delivered_epsilon(self) -> list[float]:
        """All draws, as the ledger of selections prices them."""
        ledger = Selection("gumbel", 1 / self.eta, 1.0, self.draws)
        return [ledger.epsilon(0.0 if self.pure else self.budget.delta)]


class BatchedHedge(CompositionHedge):
    """One draw a batch."""

    card = Card(
        name="hedge-batched",
        title="private Hedge on batches",
        paper="folklore",
        reference="composition of T/b draws",
        variants={"zcdp": "eta = sqrt(2 rho b/T)", "pure": "eta = eps b/(2T)"},
        anytime=False,
    )

    def _batch(self) -> int:
        log_experts = math.log(self.experts)
        if math.isinf(self.budget.epsilon):
            return 1
        if self.variant == "pure":
            return max(1, round(float(np.cbrt(16 * self.horizon * log_experts / self.budget.epsilon**2))))
        return max(1, round(math.sqrt(4 * log_experts / (3 * largest_rho(self.budget)))))
