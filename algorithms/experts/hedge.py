"""Hedge, and the closed form of its expected loss.

Algorithm   Littlestone & Warmuth 1994; Freund & Schapire 1997:
            line 1  C = 0
            line 2  for t = 1..T
            line 3    play x with P(x) ~ exp(-eta C(x))
            line 4    C = C + l_t
            Losses are expectations over the draws, exact: the marginal of every round is known in closed form.
Privacy     None; composition_hedge.py pays for the draws.
Guarantee   Expected regret <= ln(d)/eta + eta T/8; for eta = 1 also (L* + ln d)/(1 - 1/e) - L*.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.experts.base import Block, ExpertLearner, ExpertProblem, Play
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.core.arrays import Array
from dpregret.core.elementary import log, softmax

NUMBERS = 2**20  # of a chunk of marginals


def hedge_losses(blocks: Iterable[Block], sizes: Array, eta: float, batch: int = 1) -> Array:
    """Expected total loss (runs | 1,) of P ~ exp(-eta C), drawn anew every `batch` rounds from the first one on.

    eta = inf plays the experts of smallest loss so far. sizes: (groups,).
    """
    seen = np.zeros((1, len(sizes)))  # line 1
    current = marginals_of(seen, sizes, eta)
    total = np.zeros(1)
    played = 0  # rounds since the last draw, counted from it
    for block in blocks:  # line 2
        starts = np.arange(-played % batch, block.rounds, batch, dtype=np.int64)
        lead = int(starts[0]) if len(starts) else block.rounds
        total = total + (current * _sums(block, np.array([0]), lead)[0]).sum(axis=-1)
        chunk = max(1, NUMBERS // (len(sizes) * block.losses.shape[1]))
        for first in range(0, len(starts), chunk):
            some = starts[first : first + chunk]
            stop = int(starts[first + chunk]) if first + chunk < len(starts) else block.rounds
            pieces = _sums(block, some, stop)
            before = seen + _sums(block, np.array([0]), int(some[0]))[0] + _exclusive(pieces)
            marginals = marginals_of(before, sizes, eta)
            total = total + (marginals * pieces).sum(axis=(0, 2))  # line 3
            current = marginals[-1]
        seen = seen + _sums(block, np.array([0]), block.rounds)[0]  # line 4
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


def marginals_of(seen: Array, sizes: Array, eta: float) -> Array:
    """P(group) proportional to size * exp(-eta * loss so far), over the last axis."""
    if math.isinf(eta):
        best = (seen == seen.min(axis=-1, keepdims=True)) * sizes
        return np.asarray(best / best.sum(axis=-1, keepdims=True))
    return softmax(log(sizes) - eta * seen)


class ExactHedge(ExpertLearner):
    """What learners share whose marginals are those of Hedge: eta, the batch length, and the closed form."""

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
