"""Mirror descent whose gradient oracle is noisy: no privacy, the noise is prescribed.

Problem     As in mirror_descent.py, on a symmetric set C = Q with the potential of its geometry.
Algorithm   Talwar, Thakurta & Zhang 2015, Corollary 3.6: the loop of Alg. 1, see mirror_descent.py, with b_t of mean 0
            and covariance Sigma.
Privacy     None: Sigma is not calibrated to anything.
Guarantee   max Psi / (eta T) + eta (L^2 R^2 + lambda_max(Sigma) (G^2 + R^2)) / a: that of mirror_descent.py, since
            E |b|_{Q*}^2 is at most that of N(0, lambda_max I). With the corollary's eta it is
            2 sqrt(max Psi (L^2 R^2 + lambda_max (G^2 + R^2)) / (a T)); the sqrt(T) that the corollary prints under its
            root does not belong there.
Deviations  T = n, a step a record; lambda_max(Sigma) = (SPREAD L)^2. isotropic: Sigma = lambda_max I. fading: the j-th
            coordinate has the variance lambda_max / j, of which the bound sees the largest only.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dpregret.algorithms.erm.mirror_descent import MirrorDescent, Normals
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, Release


class NoisyOracle(MirrorDescent):
    """Potential of the set's geometry; Gaussian noise of a prescribed covariance."""

    SPREAD: ClassVar[float] = 2.0
    potential_name, natural_set, gaussian = None, "l1-ball", False
    card = Card(
        name="noisy-oracle",
        title="mirror descent (noisy oracle)",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Cor. 3.6",
        variants={
            "isotropic": "noise of covariance 4 L^2 I",
            "fading": "noise of the same largest variance, falling like 1/j over the coordinates",
        },
        private=False,
    )

    def uncapped(self, budget: Budget) -> float:
        """n."""
        return float(self.risk.samples)

    def noise(self, budget: Budget, iterations: int) -> float:
        """sqrt(lambda_max)."""
        return self.SPREAD * self.risk.lipschitz

    def _units(self, generators: Sequence[np.random.Generator]) -> Normals:
        coordinates = np.arange(1.0, self.domain.dimension + 1)
        fading = 1.0 / np.sqrt(coordinates) if self.variant == "fading" else 1.0
        return Normals(generators, self.domain.dimension, fading)

    def uncapped_iterations(self) -> list[float]:
        """No formula prescribes a number."""
        return [math.nan] * len(self.budgets)

    def ledger(self) -> list[Release]:
        """Empty."""
        return []
