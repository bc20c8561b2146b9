"""DP-FTRL for Lipschitz losses, whatever the comparator: what Alg. 4 of Asi et al. 2023 sets out to improve on.

Algorithm   Kairouz et al. 2021, Alg. 1: the round of dp_ftrl.py with lambda = sqrt(T L (L + 2 sqrt(V))) / D, where
            sqrt(V) is the mean of sqrt(V_t), and D the diameter of the set (erm/one_pass_ftrl.py has its reach D0,
            the largest distance to x_0, which is half of it on a ball).
Privacy     Unit: one loss; neighbours: it is replaced by another. As in dp_ftrl.py.
Guarantee   lambda D^2/2 + T L^2/(2 lambda) + L sum_t sqrt(V_t) / lambda: FTRL without noise, and the noise moves x_t by
            |b_t| / lambda, of any mechanism.
Deviations  Exact Gaussian-DP noise; lambda minimises the guarantee. root, buffers: b_t and V of that mechanism.
"""

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.dp_ftrl import FollowTheRegularisedLeader
from dpregret.algorithms.privacy import ALTERNATIVES
from dpregret.numerics.arrays import Array


class LipschitzLeader(FollowTheRegularisedLeader):
    """Regularised for Lipschitz losses, whatever the comparator."""

    card = Card(
        name="dp-ftrl-lipschitz",
        title="DP-FTRL",
        paper="Kairouz et al. 2021",
        reference="Alg. 1",
        variants={
            "corrected": "lambda = sqrt(T L (L + 2 sqrt(V))) / D, exact noise",
            "corrected-reduced": "the same on the variance-reduced tree",
            **ALTERNATIVES,
        },
        anytime=False,
        convex=True,
    )

    def prepare(self) -> None:
        super().prepare()
        spread = np.sqrt(self.variances(self.horizon)).sum(axis=1)
        square = self.horizon * self.lipschitz**2 + 2 * self.lipschitz * spread
        self.regularisation = np.sqrt(square) / self.domain.diameter

    def bound(self, rounds: int) -> Array:
        """lambda D^2/2 + t L^2/(2 lambda) + L sum_t sqrt(V_t) / lambda."""
        spread = np.cumsum(np.sqrt(self.variances(rounds)), axis=1)
        times = np.arange(1.0, rounds + 1)
        regularisation = self.regularisation[:, None]
        descent = (times * self.lipschitz**2 / 2 + self.lipschitz * spread) / regularisation
        return regularisation * self.domain.diameter**2 / 2 + descent
