"""The fixed point, a baseline.

Algorithm   Release the set's center, whatever the data.
Privacy     Perfect: no record is read.
Guarantee   Excess risk L(center) - min L, at most the Lipschitz constant times the largest distance to the center.
"""

from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner
from dpregret.algorithms.learner import Card
from dpregret.numerics.arrays import Array


class StayAtZero(ErmLearner):
    """Perfectly private, since it reads no data; excess risk L(center) - min L."""

    card = Card(
        name="stay-at-zero",
        title="centre of the set",
        paper="baseline",
        reference="fixed-point baseline",
        variants={"plain": "the set's center: zero, or the mean of the vertices"},
        private=False,
    )
    reads = frozenset()

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """The center for every setting and run; draws nothing."""
        return np.tile(self.domain.center(), (len(self.budgets), self.runs, 1))

    def delivered_epsilon(self) -> list[float]:
        """Zero: nothing is learnt from the data."""
        return [0.0] * len(self.budgets)

    def epsilon_at(self, delta: float) -> list[float]:
        """The same."""
        return self.delivered_epsilon()

    def bound(self) -> list[float]:
        """Lipschitz constant times the largest distance to the center."""
        return [self.risk.lipschitz * self.domain.max_distance_from(self.domain.center())] * len(self.budgets)
