"""Projected gradient descent with the step for small losses.

Algorithm   x_(t+1) = Proj(x_t - eta g_t), eta = 1 / (beta + sqrt(beta^2 + 2 beta L*/D^2)).
Privacy     None.
Guarantee   Srebro, Sridharan & Tewari 2010, with constants: |g|^2 <= 2 beta l for non-negative beta-smooth losses, so
            (1 - eta beta) sum l_t(x_t) <= L* + D^2/(2 eta). With L* = 0: 2 beta D^2, whatever T.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.core.oracles import project, step
from dpregret.numerics.arrays import Array


class ConstantDescent(NamedTuple):
    """Steps of one size."""

    eta: float


@step.add
def _step_constant_descent(learner: ConstantDescent, loss, domain, t, x, gradient, noise, scratch):
    """x_(t+1) = Proj(x_t - eta g_t)."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] -= gradient[k, r] * learner.eta
    project(domain, x, scratch)


class SmallLossDescent(Learner):
    """The non-private baseline of smooth realizable losses."""

    card = Card(
        name="ogd-small-loss",
        title="OGD (small loss)",
        paper="Srebro, Sridharan & Tewari 2010",
        reference="Thm 1, Euclidean",
        variants={"plain": "eta from beta, D and L*"},
        private=False,
        needs=frozenset({"smooth", "best-loss"}),
        convex=True,
    )

    def prepare(self) -> None:
        beta = self.problem.smoothness
        self.best_loss = self.problem.best_loss or 0.0
        self.eta = 1 / (beta + math.sqrt(beta**2 + 2 * beta * self.best_loss / self.domain.diameter**2))

    def state(self, setting: int, runs: int) -> Any:
        """The point is all."""
        return ConstantDescent(self.eta)

    def bound(self, rounds: int) -> Array:
        """(L* + D^2/(2 eta)) / (1 - eta beta) - L*, the same for every number of rounds."""
        factor = 1 - self.eta * self.problem.smoothness
        total = (self.best_loss + self.domain.diameter**2 / (2 * self.eta)) / factor
        return np.full((len(self.settings), rounds), total - self.best_loss)
