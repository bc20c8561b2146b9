"""The privacy cost of a replaced item in a tree of sums of T vectors.

Problem     epsilon at delta, exact, where two streams of T items, T a power of two, differ in one, |item| <= 1.
Algorithm   The loss is computed from the number of nodes.
Privacy     None: nothing of anybody is released.
Guarantee   Ene, Nguyen & Vladu 2021, Theorem 4: it is at most epsilon for Laplace noise of scale log T / epsilon, and
            for Gaussian noise of scale log T log(log T / delta) / epsilon.
Deviations  Logarithms are to the base 2, which is the larger noise. An item is a leaf, and in log2 T sums above it; two
            items of norm 1 are up to 2 apart.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statement import Statement
from dpregret.algorithms.privacy import gaussian_epsilon
from dpregret.numerics.arrays import Array

APART = 2.0


class TreePrivacy(Statement):
    """The loss of the whole tree; the size is T."""

    card = Card(
        name="tree-privacy", title="Privacy of the tree", paper="Ene, Nguyen & Vladu 2021", reference="Theorem 4",
        variants={"laplace": "coordinate-wise Laplace, l1 norm", "gaussian": "Gaussian, l2 norm"}, private=False,
    )  # fmt: skip

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """log2 T + 1 nodes that move by 2."""
        depth, epsilon, delta = math.log2(self.case.size), self.case.epsilon, self.case.failure
        if self.variant == "laplace":
            return self.everywhere(APART * (depth + 1) * epsilon / depth)
        scale = depth * math.log2(depth / delta) / epsilon
        return self.everywhere(gaussian_epsilon(APART * math.sqrt(depth + 1) / scale, delta))

    def stated(self) -> float:
        """Epsilon."""
        return self.case.epsilon
