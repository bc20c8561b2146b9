"""Synthetic streams whose comparator has a closed form.

All are built around x0 = ``domain.target()``, a point of the set away from where learners start; R(x0) is the largest
distance of the set from x0. On a smooth stream
with an interior optimum the noise of a private learner enters the regret to second order;
only a kink at the comparator shows the logarithm of the theorems. Hence the kink families are marked tight.

On a realizable stream x0 has no loss in any round, so it is the comparator and L* = 0, and losses are non-negative on
the whole space, not only on the set: only then does |gradient|^2 <= 2 smoothness * value hold, on which small-loss
bounds rest (f(x) = x on [0, 1] is non-negative there and flat, yet its gradient is 1 where its value is 0). Their
strong convexity, where they have any, is not passed to learners: ``strong_convexity`` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from dpregret.core.losses import Loss, Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.losses import DirectionKink, DirectionSquare, HalfSpace, NormKink, Quadratic
from dpregret.datasets.source import Generators, positive
from dpregret.datasets.streams import BLOCK, Comparator, Stream, prefix_sums, sphere_blocks
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

DRIFT_CENTERS = 8


class _QuadraticStream(Stream):
    """f_t(x) = (mu/2) |x - x0 - o_t|^2 with offsets |o_t| = spread.

    Lipschitz constant mu (R(x0) + spread): exact where the set's farthest point from x0 can be opposite to an
    offset, as on a ball; an upper bound otherwise.
    """

    def __init__(self, domain: ConstraintSet, strong_convexity: float, spread: float) -> None:
        positive(spread=spread)
        self.anchor = domain.target()
        self.spread = spread
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=strong_convexity * (domain.max_distance_from(self.anchor) + spread),
            smoothness=strong_convexity,
        )

    def _from_offset_sums(self, sums: Array, checkpoints: Sequence[int]) -> Comparator:
        """Closed form from the sums of the offsets, (checkpoints, runs, d): the minimiser projects their mean."""
        rounds = np.asarray(checkpoints, dtype=np.float64)[:, None]
        best = self.domain.project(self.anchor + sums / rounds[..., None])

        def cumulative(points: Array) -> Array:
            shift = points - self.anchor
            squares = rounds * (vecdot(shift, shift) + self.spread**2) - 2.0 * vecdot(shift, sums)
            return 0.5 * self.strong_convexity * squares

        losses = cumulative(best)
        return Comparator(losses, np.zeros_like(losses), cumulative(self.domain.center()))


class SmoothQuadratic(_QuadraticStream):
    """f_t(x) = (mu/2) |x - a_t|^2, a_t = x0 + spread u_t, u_t uniform on the unit sphere."""

    name = "smooth-quadratic"
    title = "moving quadratics"
    stochastic = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, spread: float = 0.5) -> None:
        super().__init__(domain, strong_convexity, spread)

    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        for block in sphere_blocks(generators, self.dimension, self.spread):
            block += self.anchor
            yield Losses(Quadratic, [block], [self.strong_convexity])

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        blocks = sphere_blocks(generators, self.dimension, self.spread)
        return self._from_offset_sums(prefix_sums(blocks, checkpoints), checkpoints)


class Drift(_QuadraticStream):
    """f_t(x) = (mu/2) |x - a_t|^2 whose center visits 8 points x0 + spread u_k in turn, period / 8 rounds each.

    The directions u_k are drawn once per run. The period (in rounds) does not depend on the horizon; give
    ``period=horizon`` for an adversary that changes its mind eight times.
    """

    name = "drift"
    drawn = False

    def __init__(self, domain: ConstraintSet, strong_convexity: float, spread: float = 0.5, period: int = 2048) -> None:
        if period < DRIFT_CENTERS or period % DRIFT_CENTERS:
            raise ValueError(f"period must be a positive multiple of {DRIFT_CENTERS}, got {period}")
        self.segment = period // DRIFT_CENTERS
        super().__init__(domain, strong_convexity, spread)

    def _offsets(self, generators: Generators) -> Array:
        """The offsets of the centers, (8, runs, d)."""
        return next(sphere_blocks(generators, self.dimension, self.spread))[:DRIFT_CENTERS]

    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        centers = self.anchor + self._offsets(generators)
        cycle: list[Any] = [Quadratic(center, self.strong_convexity) for center in centers]
        while True:
            for loss in cycle:
                yield [loss] * self.segment

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        cycles, rest = np.divmod(np.asarray(checkpoints), self.segment * DRIFT_CENTERS)
        started = self.segment * np.arange(DRIFT_CENTERS)
        visits = cycles[:, None] * self.segment + np.clip(rest[:, None] - started, 0, self.segment)
        sums = (visits.astype(np.float64)[:, :, None, None] * self._offsets(generators)).sum(axis=1)
        return self._from_offset_sums(sums, checkpoints)


class Directions(Stream):
    """Losses `kind(u_t, *fixed)` that x0 does not have, u_t uniform on the unit sphere: x0 is the comparator."""

    stochastic = True
    kind: ClassVar[Any]
    fixed: tuple[Any, ...]
    """The parameters of all losses, after the direction."""

    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        for block in sphere_blocks(generators, self.dimension):
            yield Losses(self.kind, [block], self.fixed)

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        ends, total, done = np.asarray(checkpoints), np.zeros((1, len(generators))), 0
        sums: list[Array] = []
        for block in sphere_blocks(generators, self.dimension):
            values = self.kind(block, *self.fixed).value(self.domain.center())
            cumulative = np.cumsum(np.concatenate([total, values]), axis=0)  # round after round
            sums.append(cumulative[ends[(ends > done) & (ends <= done + len(block))] - done])
            total, done = cumulative[-1:], done + len(block)
            if done >= ends[-1]:
                break
        return Comparator.without_loss(np.concatenate(sums))


class RandomKink(Directions):
    """f_t(x) = |<u_t, x - x0>| + (mu/2) |x - x0|^2, u_t uniform on the unit sphere; tight.

    x0 lies in the set and every loss is 0 there, so it is the comparator. Lipschitz constant 1 + mu R(x0).
    """

    name = "random-kink"
    title = "random kinks"
    kind = DirectionKink
    traits = frozenset({"strongly-convex"})
    tight = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float) -> None:
        self.fixed = domain.target(), strong_convexity
        lipschitz = 1.0 + strong_convexity * domain.max_distance_from(domain.target())
        super().__init__(domain, strong_convexity=strong_convexity, lipschitz=lipschitz, smoothness=np.inf)

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        shift = self.domain.center() - self.domain.target()
        blocks = sphere_blocks(generators, self.dimension)
        stay = prefix_sums((np.abs(vecdot(block, shift)) for block in blocks), checkpoints)
        stay += 0.5 * self.strong_convexity * vecdot(shift, shift) * np.asarray(checkpoints)[:, None]
        return Comparator.without_loss(stay)


class RealizableDirection(Directions):
    """f_t(x) = (smoothness/2) <u_t, x - x0>^2, u_t uniform on the unit sphere.

    Realizable and not tight: noise enters to second order. Lipschitz constant smoothness * R(x0).
    """

    name = "realizable-direction"
    title = "realizable directions"
    kind = DirectionSquare
    traits = frozenset({"smooth", "best-loss", "quadratic-sums"})
    best_loss = 0.0

    def __init__(self, domain: ConstraintSet, strong_convexity: float, smoothness: float = 1.0) -> None:
        positive(smoothness=smoothness)
        self.fixed = domain.target(), smoothness
        lipschitz = smoothness * domain.max_distance_from(domain.target())
        super().__init__(domain, strong_convexity=0.0, lipschitz=lipschitz, smoothness=smoothness)


class HalfSpaces(Directions):
    """f_t(x) = max(0, <u_t, x - x0>) / 2, u_t uniform on the unit sphere; realizable.

    Tight: an error enters to first order. Lipschitz constant 1/2, no smoothness.
    """

    name = "half-space"
    title = "half spaces"
    kind = HalfSpace
    traits = frozenset({"best-loss"})
    tight = True
    best_loss = 0.0

    def __init__(self, domain: ConstraintSet, strong_convexity: float) -> None:
        self.fixed = (domain.target(),)
        super().__init__(domain, strong_convexity=0.0, lipschitz=0.5, smoothness=np.inf)


class Constant(Stream):
    """The same loss in every round, 0 at the comparator. No randomness: the generators only count the runs."""

    drawn = False
    loss: Any

    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        return repeat([self.loss] * BLOCK)

    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        once = self.loss.value(self.domain.center())
        stay = np.multiply.outer(np.asarray(checkpoints, dtype=np.float64), np.full(len(generators), once))
        return Comparator.without_loss(stay)


class FixedNormKink(Constant):
    """f_t(x) = weight |x - x0|_2 + (mu/2) |x - x0|^2 in every round, the steepest kink there is; tight.

    It acts like an adaptive adversary that aligns each loss with the learner's error. The comparator is x0, with
    loss 0. Lipschitz constant weight + mu R(x0); the option ``lipschitz`` gives it instead of the weight, so that
    mu can be swept alone.
    """

    name = "norm-kink"
    traits = frozenset({"strongly-convex"})
    tight = True
    radius: ClassVar[float] = 0.0

    def __init__(
        self, domain: ConstraintSet, strong_convexity: float, weight: float = 1.0, lipschitz: float | None = None
    ) -> None:
        anchor = domain.target()
        bend = strong_convexity * domain.max_distance_from(anchor)
        if lipschitz is not None:
            if lipschitz <= bend:
                raise ValueError(f"option lipschitz must be above mu R(x0) = {bend:g}, got {lipschitz}")
            weight = lipschitz - bend
        positive(weight=weight)
        self.loss = NormKink(anchor, weight, strong_convexity, self.radius)
        smoothness = strong_convexity + weight / self.radius if self.radius else np.inf
        super().__init__(domain, strong_convexity=strong_convexity, lipschitz=weight + bend, smoothness=smoothness)


class HuberKink(FixedNormKink):
    """The norm kink made smooth within a fixed radius, 0.002: for learners that need smooth losses.

    Tight while learners stay farther than the radius from the comparator: there every slope is that of the kink.
    """

    name = "huber-kink"
    title = "smoothed norm kink"
    traits = frozenset({"smooth", "strongly-convex"})
    radius = 0.002


class RealizableQuadratic(Constant):
    """f_t(x) = (smoothness/2) |x - x0|^2 in every round; realizable.

    Not tight: noise enters to second order. Lipschitz constant smoothness * R(x0).
    """

    name = "realizable-quadratic"
    traits = frozenset({"smooth", "best-loss"})
    best_loss = 0.0

    def __init__(self, domain: ConstraintSet, strong_convexity: float, smoothness: float = 1.0) -> None:
        positive(smoothness=smoothness)
        self.loss = Quadratic(domain.target(), smoothness)
        lipschitz = smoothness * domain.max_distance_from(domain.target())
        super().__init__(domain, strong_convexity=0.0, lipschitz=lipschitz, smoothness=smoothness)
