"""How many consensus signs a point of little loss must have.

Problem     Talwar, Thakurta & Zhang 2015, proof of Theorem 5.8: |theta|_1 <= 1, w records with label 1 whose columns
            agree in sign except for a share tau of the p columns, and k = tau w p orthogonal ones with label 0.
Algorithm   Computed in closed form.
Privacy     None: nothing of anybody is released.
Guarantee   Lemma 5.10: where the loss is below 1.1 tau w, theta has the sign of at least 3/4 p consensus columns.
Deviations  The least loss of a point with a share a of the signs, over w: with s and r the l1 norms on those columns
            and on the others of no consensus, which at best all help, it is min (1 - s - r)^2 + tau s^2 / a + r^2
            = tau / (a + 2 tau). What is attained is the loss that the lemma allows over that of a = 3/4.
"""

from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statement import Statement
from dpregret.numerics.arrays import Array

TAU, SHARE, ALLOWED = 0.001, 0.75, 1.1


class Consensus(Statement):
    """1.1 tau w over the least loss with too few signs; the lemma says that it is at most 1."""

    card = Card(
        name="consensus", title="Signs of consensus columns", paper="Talwar, Thakurta & Zhang 2015",
        reference="Lemma 5.10", variants={"printed": "tau = 0.001"}, private=False,
    )  # fmt: skip

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """1.1 (3/4 + 2 tau)."""
        return self.everywhere(ALLOWED * (SHARE + 2 * TAU))

    def stated(self) -> float:
        """1."""
        return 1.0
