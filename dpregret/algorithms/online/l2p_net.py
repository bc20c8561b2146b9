"""L2P over regularised multiplicative weights on a net, for convex losses on sets of dimension 1 to 3.

Algorithm   lazy_points.py, where x and y are points of a net that covers the set within r.
Privacy     Unit: one loss; neighbours: it is replaced by another. That of lazy_points.py; differences of losses are
            clipped to [-1/2, 1/2], so it needs no trust in L.
Guarantee   The expected regret is at most L D (ln(1/w)/h + h T B/8) + r L T: h = beta L D, w the smallest weight in
            nu_1.
Deviations  Theorem 3.12 is about the whole set; the net has radius D/(4 T^(1/2)), or `FINEST`.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card, Loss, Problem, Setting
from dpregret.algorithms.online.lazy_points import VARIANTS, LazyPoints
from dpregret.algorithms.online.net_switching import FINEST, NetSums, check_net, covering
from dpregret.algorithms.privacy.selection import draw_group
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp


class LazyNet(LazyPoints):
    """Algorithm 1 over a net, for sets of dimension 1 to 3."""

    card = Card(
        name="l2p-net",
        title="L2P on a net",
        paper="Asi et al. 2024",
        reference="Thm 3.12",
        variants=VARIANTS,
        anytime=False,
        convex=True,
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        dimension, diameter = problem.domain.dimension, problem.domain.diameter
        if dimension not in FINEST:
            raise ValueError(f"{self.card.name} needs dimension 1, 2 or 3, got {dimension}: use l2p-sampled")
        self.radius = diameter * max(FINEST[dimension], 0.25 / math.sqrt(problem.horizon))
        self.net = covering(problem.domain, self.radius)
        check_net(self.card.name, self.net, runs)
        super().__init__(problem, settings, runs, variant)
        away = np.square(self.net - self.center).sum(axis=1)
        self.sizes = [
            exp(-plan.eta / self.unit * regulariser * away)
            for plan, regulariser in zip(self.plans, self.regularisers, strict=True)
        ]
        self.sums = NetSums(self.net, runs, self.unit, -0.5, self.center)
        self.chosen = np.zeros((2, len(settings), runs), dtype=np.int64)

    @property
    def points(self) -> int:
        """Points of the net."""
        return len(self.net)

    def count(self, loss: Loss) -> None:
        """Losses of all points of the net, once for all settings."""
        self.sums.add(loss)

    def drawn(self, which: int, setting: int, run: int) -> Array:
        """The exponential mechanism over the net."""
        scores = np.ascontiguousarray(self.sums.total[:, run])
        found = draw_group(self.own[setting][run], self.sizes[setting], scores, 1 / self.plans[setting].eta)
        self.chosen[which, setting, run] = found
        return self.net[found]

    def bound(self, rounds: int) -> Array:
        """L D (ln(1/w)/h + h T B/8) + r L T, at the horizon."""
        most = []
        for plan, sizes in zip(self.plans, self.sizes, strict=True):
            prior = math.log(float(sizes.sum() / sizes.min()))
            most.append(self.unit * (prior / plan.eta + plan.eta * self.horizon * plan.batch / 8))
        return np.array([[each + self.radius * self.lipschitz * self.horizon] * rounds for each in most])
