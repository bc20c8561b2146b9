"""Kinks at a place that is looked for: what the search for worse streams (workflows/worst.py) may choose."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.datasets.bandit_streams import Cone
from dpregret.datasets.losses import NormKink
from dpregret.datasets.synthetic import Constant
from dpregret.numerics.arrays import Array


def place(domain: ConstraintSet, share: float, towards: int) -> Array:
    """The point a `share` of the way from the center to the vertex of least cost, (n,); the costs are normal draws."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"option share must lie in [0, 1], got {share}")
    vertex = domain.linear_oracle(np.random.default_rng(towards).standard_normal(domain.dimension))
    return (1 - share) * domain.center() + share * vertex


class PlacedKink(Constant):
    """f(x) = weight h(|x - z|) + (mu/2) |x - z|^2, h Huber's kink of a radius, z by `place`; L is `lipschitz`.

    Not marked as tight: with a large radius it is smooth, and what is not tight proves nothing.
    """

    name = "placed-kink"
    traits = frozenset({"strongly-convex", "smooth"})

    def __init__(
        self,
        domain: ConstraintSet,
        strong_convexity: float,
        share: float = 0.5,
        towards: int = 0,
        radius: float = 1.0,
        lipschitz: float = 4.0,
    ) -> None:
        anchor = place(domain, share, towards)
        weight = lipschitz - strong_convexity * domain.reach(anchor)
        if not (weight > 0 and radius > 0):
            raise ValueError(f"options lipschitz and radius must leave a positive weight, got {lipschitz} and {radius}")
        self.loss = NormKink(anchor, weight, strong_convexity, radius)
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=lipschitz,
            smoothness=strong_convexity + weight / radius,
        )


class PlacedCone(Cone):
    """f_t(x) = |x - z| for bandits, z by `place`. Tight wherever z is: errors enter to first order."""

    name = "placed-cone"
    title = "norm cone, searched for"

    def __init__(self, domain: ConstraintSet, share: float = 0.5, towards: int = 0) -> None:
        super().__init__(domain)
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"option share must lie in [0, 1], got {share}")
        self.share, self.towards = share, towards

    @cached_property
    def anchor(self) -> Array:
        return place(self.domain, self.share, self.towards)
