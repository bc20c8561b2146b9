"""The worst combination of random unit vectors.

Problem     |sum_i c_i u_i| over all c with |c| <= 1: the largest singular value of the n x k matrix of the u_i, uniform
            on the unit sphere in n dimensions. What is attained is its quantile at 1 - delta among 128 draws.
Algorithm   Vectors are drawn; the largest eigenvalue of the smaller Gram matrix is the square.
Privacy     None: nothing of anybody is released.
Guarantee   Ene, Nguyen & Vladu 2021, Lemma 9: at most 10 (ln((n + k)/delta) + sqrt((1 + k/n) ln((n + k)/delta))) with
            probability at least 1 - delta.
Deviations  -
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statement import Statement
from dpregret.numerics.arrays import Array

DRAWS = 128


class RandomSum(Statement):
    """The singular value; the size is k."""

    card = Card(
        name="random-sum", title="Sum of random directions", paper="Ene, Nguyen & Vladu 2021", reference="Lemma 9",
        variants={"sphere": "directions on the unit sphere"}, private=False,
    )  # fmt: skip

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """A quantile a run."""
        shape = (DRAWS, self.case.size, self.case.dimension)
        found = []
        for generator in generators:
            vectors = generator.standard_normal(shape)
            vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
            gram = vectors @ vectors.swapaxes(1, 2) if shape[1] < shape[2] else vectors.swapaxes(1, 2) @ vectors
            largest = np.sqrt(np.linalg.eigvalsh(gram)[:, -1])
            found.append(float(np.quantile(largest, 1 - self.case.failure)))
        return np.array(found)

    def stated(self) -> float:
        """Lemma 9."""
        count, vectors = self.case.dimension, self.case.size
        log = math.log((count + vectors) / self.case.failure)
        return 10 * (log + math.sqrt((1 + vectors / count) * log))
