"""DP-FTRL in one pass over fresh records: private prefix sums of gradients, and the average of the points played.

Problem     min over a convex set of F(theta) = E loss(theta; z), met through n fresh records; losses convex and
            L-Lipschitz in l2. They need not be smooth.
Algorithm   Kairouz et al. 2021, Alg. 1, each record a round; the average is the usual step from regret to risk.
            line 1  x_1 = x_0, the center of the set; lambda; a mechanism for the prefixes 1..n-1
            line 2  for t = 1..n: meet a fresh record z_t
            line 3    s_t = sum_{s<=t} grad loss(x_s; z_s)
            line 4    x_{t+1} = Proj(x_0 - (s_t + b_t) / lambda), b_t the mechanism's noise
            line 5  release the average of x_1..x_n
Privacy     Unit: one record; neighbours: it is replaced by another. Its gradient moves by at most 2 L whatever was
            released before, and enters the mechanism once: exact Gaussian DP of the mechanism.
Guarantee   With D0 the reach, the largest distance of the set to x_0 (not its diameter), and V_t = E|b_t|^2, the
            regret against a fixed point is at most lambda D0^2/2 + n L^2/(2 lambda) + L sum_{t<n} sqrt(V_t)/lambda.
            x_t does not depend on z_t, so E F(released) - min F is at most the n-th part of that: of the order of
            sqrt(1/n) + p^(1/4) sqrt(ln n / (mu n)), beside phased SGD's sqrt(1/n) + sqrt(p)/(mu n).
Deviations  lambda minimises the guarantee. root, buffers: b_t and V_t of that mechanism instead of the tree's.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from dpregret.algorithms.erm.erm_learner import OnePassLearner
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import ALTERNATIVES, NoisePlan
from dpregret.numerics.arrays import Array


class OnePassLeader(OnePassLearner):
    """Follows the regularised leader of private sums; `regularisation` is lambda, one a setting."""

    noise_plan: NoisePlan
    card = Card(
        name="one-pass-ftrl",
        title="DP-FTRL (one pass)",
        paper="Kairouz et al. 2021",
        reference="Alg. 1",
        variants={"corrected": "a binary tree, exact noise; lambda that minimises the guarantee", **ALTERNATIVES},
    )

    def prepare(self) -> None:
        super().prepare()
        steep, rounds = self.fresh.lipschitz, self.fresh.samples
        if rounds < 2:
            raise ValueError(f"{self.card.name} needs at least two records")
        self.noise_plan = self.private_sums(self.variant, 2.0 * steep)  # line 1
        spread = self.noise_plan.expected_norm(rounds - 1).sum(axis=1)  # of sqrt(V_t)
        self._drift = 0.5 * rounds * steep**2 + steep * spread
        self._reach = self.domain.max_distance_from(self.domain.center())
        self.regularisation: Array = np.sqrt(2.0 * self._drift) / self._reach

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p). Settings share records and unit noises (common random numbers)."""
        start, weight = self.domain.center(), self.regularisation[:, None, None]
        points = np.tile(start, (len(self.budgets), self.runs, 1))
        gradients, sums = np.zeros_like(points), np.zeros_like(points)
        noises = chain.from_iterable(self.noise_plan.blocks(generators))
        for record, noise in zip(self.one_by_one(), noises, strict=False):  # line 2
            sums += points
            gradients += self.fresh.gradients(points, record)  # line 3
            points = self.domain.project(start - (gradients + noise) / weight)  # line 4
        return sums / self.fresh.samples  # line 5

    def bound(self) -> list[float]:
        """(lambda D0^2/2 + (n L^2/2 + L sum sqrt(V_t)) / lambda) / n."""
        weight = self.regularisation
        total: list[float] = (0.5 * weight * self._reach**2 + self._drift / weight).tolist()
        return [value / self.fresh.samples for value in total]
