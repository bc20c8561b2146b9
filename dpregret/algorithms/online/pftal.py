"""Private follow the approximate leader (PFTAL): every loss is protected permanently.

Algorithm   Thakurta & Smith 2013: FTAL on gradient sums from the binary tree mechanism with norm-Gamma noise,
            which is WDP-COCOP with a window that covers the horizon.
Privacy     Unit: one loss; neighbours: it is replaced by another. epsilon-DP for the whole sequence of points. A loss
            lies in log2 T + 1 nodes (T rounded up to a power of two).
Guarantee   See ftal.py; stated: O( d ln^2.5 T / epsilon ) (Lou & Cheung 2020, Table I).
Deviations  printed: reconstructed; budget epsilon / log2 T a node as in Lou & Cheung 2020 (III.A), sensitivity L + mu D
            as in their Theorem 1.
            blocks: as corrected, on a tree a block that is read off by least squares, prefixes 1..T-1.
"""

import math
from dataclasses import replace

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader, gradient_sums, printed_scale
from dpregret.algorithms.privacy import PURE_ALTERNATIVES, WindowTree, horizon_sums


class Pftal(FollowTheApproximateLeader):
    """FTAL with the plain tree mechanism."""

    card = Card(
        name="pftal",
        title="PFTAL",
        paper="Thakurta & Smith 2013",
        reference="as described in Lou & Cheung 2020, III.A",
        variants={
            "corrected": "log2 T + 1 nodes an item, sensitivity 2 L",
            "printed": "reconstructed: log2 T nodes an item, sensitivity L + mu D",
            "blocks": PURE_ALTERNATIVES["blocks"],
        },
        anytime=False,
        same_as="wdp-cocop-gamma, where all rounds are protected",
    )

    def prepare(self) -> None:
        levels = max(1, math.ceil(math.log2(self.horizon)))
        trees = [horizon_sums(self.variant, self.horizon, WindowTree(2**levels))] * len(self.settings)
        self.noise_plan = gradient_sums("gamma", trees, self.problem, self.settings)
        if self.variant == "printed":
            surrogate = self.lipschitz + self.strong_convexity * self.domain.diameter
            scales = [printed_scale("gamma", budget, surrogate, levels) for budget in self.budgets]
            self.noise_plan = replace(self.noise_plan, scales=scales)
