"""Objective perturbation as its authors state it: neighbours are one record apart, not one record replaced.

Problem     argmin of n L(theta) + (Delta/2) |theta|^2 + <b, theta>, generalised linear losses, zeta-Lipschitz and
            lambda-smooth, whose Hessians have rank one; Delta = 2 lambda / eps.
Algorithm   Kifer, Smith & Thakurta 2012, Alg. 1: b has the density e^(-eps |b| / (2 zeta)) up to a factor (gamma),
            or b ~ N(0, zeta^2 (8 ln(2/delta) + 4 eps) / eps^2 I) (gaussian).
            The loss is at most ln(1 + lambda / Delta) = ln(1 + eps / 2), by which the Jacobian of b in theta
            changes, and that of a shift of b by at most zeta: eps / 2, or `planar_epsilon` of eps / sqrt(8 ln(2 /
            delta) + 4 eps) at the stated delta.
Privacy     None: nothing of anybody is released.
Guarantee   Theorem 2: (eps, 0)-DP with gamma noise, (eps, delta)-DP with Gaussian noise.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statements import Statement
from dpregret.algorithms.privacy.planar import planar_epsilon
from dpregret.numerics.arrays import Array


class AddedRecord(Statement):
    """What the minimiser of a perturbed objective loses where one record is added or removed."""

    card = Card(
        name="added-record",
        title="objective perturbation, added",
        paper="Kifer, Smith & Thakurta 2012",
        reference="Theorem 2",
        variants={"gaussian": "(eps, delta)-DP", "gamma": "eps-DP"},
        private=False,
    )

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """An epsilon that is proved."""
        epsilon, delta = self.case.epsilon, self.case.failure
        if self.variant == "gamma":
            noisy = epsilon / 2
        else:
            noisy = planar_epsilon(epsilon / math.sqrt(8 * math.log(2 / delta) + 4 * epsilon), delta)
        return np.full(self.runs, math.log1p(epsilon / 2) + noisy)

    def stated(self) -> float:
        """eps."""
        return self.case.epsilon
