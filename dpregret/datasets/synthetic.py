"""Synthetic streams whose comparator has a closed form.

All are built around x0 = ``domain.target()``, a point of the set away from where learners start. On a smooth stream
with an interior optimum the noise of a private learner enters the regret to second order, so its regret saturates;
only a kink at the comparator shows the logarithm of the theorems. Hence the two kink families are marked tight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from dpregret.core.losses import Loss, Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.base import BLOCK, Comparator, Stream, prefix_sums, sphere_blocks
from dpregret.datasets.losses import DirectionKink, NormKink, Quadratic
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

DRIFT_CENTERS = 8


def _positive(**options: float) -> None:
    for name, value in options.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} must be positive and finite, got {value}")


class _QuadraticStream(Stream):
    """f_t(x) = (mu/2) |x - x0 - o_t|^2 with offsets |o_t| = spread.

    Lipschitz constant mu (reach(x0) + spread): exact where the set's farthest point from x0 can be opposite to an
    offset, as on a ball; an upper bound otherwise.
    """

    def __init__(self, domain: ConstraintSet, strong_convexity: float, spread: float) -> None:
        _positive(spread=spread)
        self.anchor = domain.target()
        self.spread = spread
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=strong_convexity * (domain.reach(self.anchor) + spread),
            smoothness=strong_convexity,
        )

    def _from_offset_sums(self, sums: Array, checkpoints: Sequence[int]) -> Comparator:
        """Closed form from the sums of the offsets, (checkpoints, runs, d): the minimiser projects their mean."""
        rounds = np.asarray(checkpoints, dtype=np.float64)[:, None]
        best = self.domain.project(self.anchor + sums / rounds[..., None])

        def cumulative(points: Array) -> Array:
            shift = points - self.anchor
            squares = rounds * (vecdot(shift, shift) + self.spread**2) - 2.0 * vecdot(shift, sums)
            total: Array = 0.5 * self.strong_convexity * squares
            return total

        losses = cumulative(best)
        return Comparator(losses, np.zeros_like(losses), cumulative(self.domain.center()))


class SmoothQuadratic(_QuadraticStream):
    """f_t(x) = (mu/2) |x - a_t|^2, a_t = x0 + spread u_t, u_t uniform on the unit sphere."""

    name = "smooth-quadratic"
    title = "moving quadratics"
    stochastic = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, spread: float = 0.5) -> None:
        super().__init__(domain, strong_convexity, spread)

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        for block in sphere_blocks(generators, self.dimension, self.spread):
            block += self.anchor
            yield Losses(Quadratic, [block], [self.strong_convexity])

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
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
        self.period = period
        super().__init__(domain, strong_convexity, spread)

    def _offsets(self, generators: Sequence[np.random.Generator]) -> Array:
        """The offsets of the centers, (8, runs, d)."""
        return next(sphere_blocks(generators, self.dimension, self.spread))[:DRIFT_CENTERS]

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        segment = self.period // DRIFT_CENTERS
        cycle: list[Any] = [
            Quadratic(self.anchor + offset, self.strong_convexity) for offset in self._offsets(generators)
        ]
        while True:
            for loss in cycle:
                yield [loss] * segment

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        segment = self.period // DRIFT_CENTERS
        cycles, rest = np.divmod(np.asarray(checkpoints), self.period)
        started = segment * np.arange(DRIFT_CENTERS)
        visits = cycles[:, None] * segment + np.clip(rest[:, None] - started, 0, segment)
        sums = (visits.astype(np.float64)[:, :, None, None] * self._offsets(generators)).sum(axis=1)
        return self._from_offset_sums(sums, checkpoints)


class RandomKink(Stream):
    """f_t(x) = |<u_t, x - x0>| + (mu/2) |x - x0|^2, u_t uniform on the unit sphere; tight.

    x0 lies in the set and every loss is 0 there, so it is the comparator. Lipschitz constant 1 + mu reach(x0).
    """

    name = "random-kink"
    title = "random kinks"
    stochastic = True
    traits = frozenset({"strongly-convex"})
    tight = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float) -> None:
        self.anchor = domain.target()
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=1.0 + strong_convexity * domain.reach(self.anchor),
            smoothness=np.inf,
        )

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        for block in sphere_blocks(generators, self.dimension):
            yield Losses(DirectionKink, [block], [self.anchor, self.strong_convexity])

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        shift = self.domain.center() - self.anchor
        blocks = sphere_blocks(generators, self.dimension)
        stay = prefix_sums((np.abs(vecdot(block, shift)) for block in blocks), checkpoints)
        stay += 0.5 * self.strong_convexity * vecdot(shift, shift) * np.asarray(checkpoints)[:, None]
        return Comparator(np.zeros_like(stay), np.zeros_like(stay), stay)


class FixedNormKink(Stream):
    """f_t(x) = weight |x - x0|_2 + (mu/2) |x - x0|^2 in every round, the steepest kink there is; tight.

    It acts like an adaptive adversary that aligns each loss with the learner's error. The comparator is x0, with
    loss 0. Lipschitz constant weight + mu reach(x0); the option ``lipschitz`` gives it in place of the weight, so that
    mu can be swept alone. No randomness: the generators only count the runs.
    """

    name = "norm-kink"
    drawn = False
    traits = frozenset({"strongly-convex"})
    tight = True
    radius: ClassVar[float] = 0.0

    def __init__(
        self, domain: ConstraintSet, strong_convexity: float, weight: float = 1.0, lipschitz: float | None = None
    ) -> None:
        anchor = domain.target()
        bend = strong_convexity * domain.reach(anchor)
        if lipschitz is not None:
            if lipschitz <= bend:
                raise ValueError(f"option lipschitz must be above mu reach(x0) = {bend:g}, got {lipschitz}")
            weight = lipschitz - bend
        _positive(weight=weight)
        self.loss: Any = NormKink(anchor, weight, strong_convexity, self.radius)
        super().__init__(
            domain,
            strong_convexity=strong_convexity,
            lipschitz=weight + bend,
            smoothness=strong_convexity + weight / self.radius if self.radius else np.inf,
        )

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        return repeat([self.loss] * BLOCK)

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        once = self.loss.value(self.domain.center())
        stay = np.multiply.outer(np.asarray(checkpoints, dtype=np.float64), np.full(len(generators), once))
        return Comparator(np.zeros_like(stay), np.zeros_like(stay), stay)


class HuberKink(FixedNormKink):
    """The norm kink made smooth within a fixed radius, 0.002: for learners that need smooth losses.

    Tight as long as learners stay farther than the radius from the comparator: there every slope is that of the kink.
    """

    name = "huber-kink"
    title = "smoothed norm kink"
    traits = frozenset({"smooth", "strongly-convex"})
    radius = 0.002
