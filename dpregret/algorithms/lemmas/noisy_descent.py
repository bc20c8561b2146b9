"""Online descent on noisy gradients through a noisy mirror map, the losses being linear and always the same.

Problem     Losses f_t(x) = <u, x>, |u| = 1, on the ball of radius sqrt(2), so that max |x|^2 / 2 = 1 = D_omega^2.
Algorithm   Ene, Nguyen & Vladu 2021, Alg. 2: x_t = Proj( -eta sum_{s<t} g_s ) + e_t, eta = 1 / (kappa sqrt(T)),
            E g_s = u, E |g_s|^2 = kappa^2, |e_t| = gamma.
Privacy     None: noise is given, not calibrated.
Guarantee   Lemma 6: regret is O( sqrt(T) kappa D_omega + T kappa gamma ).
Deviations  kappa = 1/epsilon: it is `epsilon` that experiments sweep. Noise is Gaussian and has no drift, so the point
            needs about kappa sqrt(T) rounds to reach the border: the first term is tight.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.lemmas.statement import Statement
from dpregret.numerics.arrays import Array

RADIUS = math.sqrt(2.0)


class NoisyOco(Statement):
    """Regret; the size is T."""

    card = Card(
        name="noisy-oco", title="NoisyOCO", paper="Ene, Nguyen & Vladu 2021", reference="Algorithm 2, Lemma 6",
        variants={"gradients": "noisy gradients, kappa = 1/eps, an exact map"}, private=False,
    )  # fmt: skip

    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """Regret of every run."""
        rounds, dimension, kappa = self.case.size, self.case.dimension, 1 / self.case.epsilon
        if kappa < 1:
            raise ValueError(f"epsilon must be at most 1 for {self.card.name}: kappa^2 >= |u|^2, got {1 / kappa:g}")
        spread, step = math.sqrt((kappa**2 - 1) / dimension), 1 / (kappa * math.sqrt(rounds))
        found = []
        for generator in generators:
            gradients = spread * generator.standard_normal((rounds, dimension))
            gradients[:, 0] += 1.0
            points = np.zeros((rounds, dimension))
            points[1:] = -step * np.cumsum(gradients[:-1], axis=0)
            points *= np.minimum(1.0, RADIUS / np.maximum(np.linalg.norm(points, axis=1), RADIUS))[:, None]
            found.append(float(points[:, 0].sum()) + RADIUS * rounds)
        return np.array(found)
