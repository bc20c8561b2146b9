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

from dpregret.algorithms.experts.base import Block, ExpertLearner, ExpertProblem, Play
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import log, softmax


def hedge_losses(blocks: Iterable[Block], sizes: Array, eta: float, batch: int = 1) -> Array:
    """Expected total loss (runs | 1,) of P ~ exp(-eta C), drawn again every `batch` rounds from the first one on.

    eta = inf plays the experts of smallest loss so far. sizes: (groups,).
    """
    from dpregret.algorithms.experts.kernels import hedge_block

    logs, played = log(sizes), 0
    state = [
        np.zeros((1, len(sizes))),
        np.ones((1, len(sizes))),
        np.ones(1),
        np.zeros(1),
    ]  # line 1; alike runs share a row
    for block in blocks:  # line 2
        losses = np.require(block.losses, np.float64, ["C", "W"])  # one kind of array: one compilation
        if losses.shape[1] > len(state[0]):
            state = [np.repeat(each, losses.shape[1], axis=0) for each in state]
        hedge_block(losses, block.rounds, sizes, logs, float(eta), batch, played, *state)  # lines 3, 4
        played += block.rounds
    return state[-1]


def marginals_of(seen: Array, sizes: Array, eta: float) -> Array:
    """P(group) proportional to size * exp(-eta * loss so far), over the last axis."""
    if math.isinf(eta):
        best = (seen == seen.min(axis=-1, keepdims=True)) * sizes
        return np.asarray(best / best.sum(axis=-1, keepdims=True))
    return softmax(log(sizes) - eta * seen)


class ExactHedge(ExpertLearner):
    """Base of learners with the marginals of Hedge: eta, the batch length, and the closed form."""

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
            raise ValueError("hedge small-loss needs a bound on the loss of the best expert: give best_loss")
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
