"""Output perturbation: one exact minimisation, noise on the minimiser.

Problem     min over a convex set of a D-strongly convex risk; losses L-Lipschitz in l2 and smooth.
Algorithm   Chaudhuri, Monteleoni & Sarwate 2011, Alg. 1, in our own lines:
            line 1  the minimiser over the set
            line 2  release it plus noise, projected onto the set
Privacy     Unit: one record; neighbours: it is replaced by another. The minimiser moves by at most 2 L / (n D); D must
            hold for every data set. Exact Gaussian DP, or pure epsilon-DP with norm-Gamma noise. The exact minimiser
            is assumed; what its certified gap of TOLERANCE leaves is not in the ledger.
Guarantee   L E|z|, z the noise.
Deviations  Ours are the exact calibration and the projection.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner
from dpregret.algorithms.erm.objective_perturbation import TOLERANCE, scaled_noise
from dpregret.algorithms.erm.projected_gradient import minimum_of
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import NoiseDistribution, Release, calibrate
from dpregret.numerics.arrays import Array


class OutputPerturbation(ErmLearner):
    """Minimiser of a strongly convex risk, plus noise, projected onto the set."""

    card = Card(
        name="output-perturbation",
        title="output perturbation",
        paper="Chaudhuri, Monteleoni & Sarwate 2011",
        reference="Alg. 1",
        variants={"corrected": "Gaussian noise, exact Gaussian DP", "gamma": "norm-Gamma noise, pure epsilon-DP"},
        needs=frozenset({"strongly-convex", "smooth"}),
    )

    def prepare(self) -> None:
        risk = self.risk
        self.distribution: NoiseDistribution = "gamma" if self.variant == "gamma" else "gaussian"
        self.gaussian = self.distribution == "gaussian"
        sensitivity = 2.0 * risk.lipschitz / (risk.samples * risk.strong_convexity)
        scales = [calibrate(self.distribution, budget, sensitivity, 1) for budget in self.budgets]
        self._ledger = [Release(self.distribution, scale, sensitivity, 1) for scale in scales]

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        center = self.domain.center()
        start = np.tile(center, (self.runs, 1))
        minimum = minimum_of(self.problem, self.risk.gradient, start, TOLERANCE)[0]  # line 1
        noise = scaled_noise(self.distribution, [release.scale for release in self._ledger], generators, len(center))
        return self.domain.project(minimum + noise)  # line 2

    @property
    def pure(self) -> bool:
        """Norm-Gamma noise."""
        return self.distribution == "gamma"

    def ledger(self) -> list[Release]:
        return self._ledger

    def bound(self) -> list[float]:
        """L E|z|, at most L s sqrt(p) for Gaussian noise, L s p for norm-Gamma noise."""
        size = self.domain.dimension if self.distribution == "gamma" else math.sqrt(self.domain.dimension)
        return [self.risk.lipschitz * release.scale * size + TOLERANCE for release in self._ledger]
