"""Online Frank-Wolfe with the steps for which its best constant is proved: a non-private baseline.

Algorithm   Weibel, Gaillard, Koolen & Taylor 2025 (arXiv 2506.05855), Section 2, as in PEPit's `online_frank_wolfe`; n
            is the horizon, M the Lipschitz constant:
            v_t = LO(x_t - x_1 + eta G_t), G_t the sum of gradients, then x_{t+1} = x_t + sigma (v_t - x_t), with
            eta = (D/(2 M)) (3/n)^(3/4) and sigma = min(1, sqrt(3/n)).
Privacy     None.
Guarantee   Regret at most (4/3^(3/4)) M D n^(3/4), their Theorem 2.1; after fewer rounds as well, since the losses that
            follow could be constant.
"""

import math
from typing import Any

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.gradient_descent import OnlineFrankWolfe
from dpregret.numerics.arrays import Array


class ExplicitFrankWolfe(OnlineFrankWolfe):
    """One linear oracle a round; uses the horizon."""

    card = Card(
        name="ofw-explicit",
        title="OFW, explicit constants",
        paper="Weibel et al. 2025",
        reference="Theorem 2.1",
        variants={"plain": "eta and sigma of the theorem"},
        private=False,
        anytime=False,
        convex=True,
    )

    def state(self, setting: int, runs: int) -> Any:
        """That of `OnlineFrankWolfe`, with other constants."""
        share = min(1.0, math.sqrt(3 / self.horizon))
        eta = self.domain.diameter / (2 * self.lipschitz) * (3 / self.horizon) ** 0.75
        return super().state(setting, runs)._replace(eta=float(eta), pull=1.0, share=share)

    def bound(self, rounds: int) -> Array:
        """(4/3^(3/4)) M D n^(3/4), n the horizon."""
        worst = 4 / 3**0.75 * self.lipschitz * self.domain.diameter * self.horizon**0.75
        return np.full((len(self.settings), rounds), worst)
