"""Private switching between the points of a set: what its two learners share.

Algorithm   Asi et al. 2023, Section 4.1: Algorithm 1 with the points of the set as experts. The text of the box is
            lost: the lines below are reconstructed, as in dpregret.algorithms.experts.sparse_vector.
            line 1  draw x with density exp(-eta max(0, L*) / 2), that is uniformly
            line 2  open a threshold test
            line 3  for t = 1..T
            line 4    if fewer than K draws were spent and the test halts at the loss of x since it was drawn:
            line 5      draw x with density exp(-eta max(C(x), L*) / 2), C the losses so far
            line 6      open a new test; the loss of the new x begins at 0
            line 7    play x; add the loss to C and to what x has lost
            `observe` ends a round and calls the test of the next one: lines 7, 4, 6, 5.
Privacy     Unit: one loss; neighbours: it is replaced by another. Losses are divided by L D, the largest value of an
            L-Lipschitz loss that vanishes somewhere on the set, and clipped to [0, 1]; then that of
            dpregret.algorithms.privacy.switching. Pure up to delta = 1e-14 (above_threshold.py).
Guarantee   Asi et al. 2023, Thm 3: L D times that of Algorithm 1; see the learners.
Deviations  The division by L D is missing in print.
"""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Learner, Loss, Problem, Setting
from dpregret.algorithms.privacy import keyed_generators
from dpregret.algorithms.privacy.above_threshold import Watch
from dpregret.algorithms.privacy.switching import Switching
from dpregret.numerics.arrays import Array


class SwitchingLearner(Learner):
    """Base of both learners: tests and switches, one plan a setting."""

    plans: list[Switching]

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.runs = runs
        self.unit = problem.lipschitz * problem.domain.diameter
        self.queries = np.zeros((len(settings), runs))
        self.switches = np.zeros((len(settings), runs), dtype=np.int64)

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Every setting draws from generators of its own."""
        self.own = generators_by_setting(generators, self.settings)
        self.watches = [Watch(plan.test(), own) for plan, own in zip(self.plans, self.own, strict=True)]  # line 2
        for setting, run in np.ndindex(self.queries.shape):
            self.move(setting, run)  # line 1

    @property
    def pure(self) -> bool:
        """Whether the draws compose purely."""
        return self.variant == "pure"

    def delivered_epsilon(self) -> list[float]:
        """Of the tests and the draws."""
        return [plan.delivered_epsilon() for plan in self.plans]

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:  # line 3
        """Count the loss, call the tests of the next round, and move where they halt."""
        self.queries += self.count(loss)  # line 7
        for setting, watch in enumerate(self.watches):
            halted = watch.step(self.queries[setting])  # line 4
            if not halted.any():
                continue
            halted &= self.switches[setting] < self.plans[setting].switches
            for run in np.flatnonzero(halted):
                self.queries[setting, run] = 0.0  # line 6
                self.switches[setting, run] += 1
                watch.open(int(run))
                self.move(setting, int(run))  # line 5

    @abstractmethod
    def count(self, loss: Loss) -> Array:
        """Add a loss to the sums of all points; the scaled losses of the points in play, (settings, runs)."""

    @abstractmethod
    def move(self, setting: int, run: int) -> None:
        """Draw a new point from the sums so far."""


def generators_by_setting(
    generators: Sequence[np.random.Generator], settings: Sequence[Setting]
) -> list[list[np.random.Generator]]:
    """Generators of each setting, one a run, keyed by its epsilon."""
    keys = [int(np.float64(setting.budget.epsilon).view(np.uint64)) for setting in settings]
    return [keyed_generators(generators, key) for key in keys]
