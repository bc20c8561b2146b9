"""L2P over regularised multiplicative weights on a ball of any dimension, for losses whose sums are quadratic forms.

Algorithm   lazy_points.py, where x and y are drawn from the whole ball, by hit-and-run.
Privacy     Unit: one loss; neighbours: it is replaced by another. That of lazy_points.py, but only up to the total
            variation between the hit-and-run samples and nu: nothing here bounds it.
Guarantee   For exact samples, lambda = 0 and h = beta L D the expected regret is at most
            L D (d ln(T + 1)/h + h T B/8 + 1): the points x* + (K - x*)/(T + 1) have a share (T + 1)^-d of the
            volume, and each loses at most L D/(T + 1) more than x* in a round. With lambda > 0 none is stated.
Deviations  Differences of losses are not clipped: the constant L is trusted.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card, Loss, Problem, Setting
from dpregret.algorithms.online.hit_and_run import Form, walk
from dpregret.algorithms.online.lazy_points import VARIANTS, LazyPoints
from dpregret.algorithms.online.sampled_switching import form_of
from dpregret.numerics.arrays import Array


class LazySampled(LazyPoints):
    """Algorithm 1 over a ball of any dimension, for losses whose sums are quadratic forms."""

    card = Card(
        name="l2p-sampled",
        title="L2P, hit-and-run",
        paper="Asi et al. 2024",
        reference="Thm 3.12",
        variants=VARIANTS,
        anytime=False,
        needs=frozenset({"smooth", "quadratic-sums"}),
        convex=True,
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        if problem.domain.name != "ball":
            raise ValueError(f"{self.card.name} samples from a ball, not from the set {problem.domain.name!r}")
        super().__init__(problem, settings, runs, variant)
        dimension = problem.domain.dimension
        self.matrix = np.zeros((runs, dimension, dimension))
        self.linear = np.zeros((runs, dimension))

    @property
    def points(self) -> int:
        """(T + 1)^d: one over the share of the volume that the guarantee needs."""
        return int((self.problem.horizon + 1) ** self.problem.domain.dimension)

    def count(self, loss: Loss) -> None:
        """Quadratic forms add up; constants cancel."""
        matrix, linear, _ = form_of(loss, self.card.name)
        self.matrix += matrix / self.unit
        self.linear += linear / self.unit

    def drawn(self, which: int, setting: int, run: int) -> Array:
        """Hit-and-run from the center."""
        weight = 2 * self.regularisers[setting] / self.unit
        matrix = self.matrix[run] + weight * np.eye(len(self.center))
        form = Form(matrix, self.linear[run] + weight * self.center, 0.0)
        return walk(self.own[setting][run], self.domain, form, 1 / self.plans[setting].eta)

    def bound(self, rounds: int) -> Array:
        """L D (d ln(T + 1)/h + h T B/8 + 1), at the horizon; NaN with a regulariser."""
        most = [
            math.nan if regulariser else self.unit * (plan.guarantee(self.horizon, self.points) + 1)
            for plan, regulariser in zip(self.plans, self.regularisers, strict=True)
        ]
        return np.array([[each] * rounds for each in most])
