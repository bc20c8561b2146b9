"""Streams in which one point has no loss at all, in any round.

Losses are built around x0 = ``domain.target()`` and are non-negative on the whole space, not only on the set: only
then does |gradient|^2 <= 2 smoothness * value hold, on which small-loss bounds rest (f(x) = x on [0, 1] is
non-negative there and flat, yet its gradient is 1 where its value is 0). Their strong convexity, where they have any,
is not passed to learners: ``strong_convexity`` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from dpregret.core.losses import Loss, Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.base import BLOCK, Comparator, Stream, sphere_blocks
from dpregret.datasets.losses import DirectionSquare, HalfSpace, Quadratic
from dpregret.numerics.arrays import Array


class Realizable(Stream):
    """Base of the streams of this module: x0 has no loss, so it is the comparator, and L* = 0."""

    best_loss = 0.0
    traits = frozenset({"smooth", "best-loss"})

    def __init__(self, domain: ConstraintSet, lipschitz: float, smoothness: float) -> None:
        self.anchor = domain.target()
        super().__init__(domain, strong_convexity=0.0, lipschitz=lipschitz, smoothness=smoothness)


class RealizableQuadratic(Realizable):
    """f_t(x) = (smoothness/2) |x - x0|^2 in every round. No randomness: the generators only count the runs.

    Not tight: noise enters to second order. Lipschitz constant smoothness * reach(x0).
    """

    name = "realizable-quadratic"
    drawn = False

    def __init__(self, domain: ConstraintSet, strong_convexity: float, smoothness: float = 1.0) -> None:
        _positive(smoothness)
        reach = domain.reach(domain.target())
        super().__init__(domain, smoothness * reach, smoothness)
        self.loss: Any = Quadratic(self.anchor, smoothness)

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        yield from repeat([self.loss] * BLOCK)

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        once = float(self.loss.value(self.domain.center()))
        stay = np.tile(once * np.asarray(checkpoints, dtype=np.float64)[:, None], (1, len(generators)))
        return Comparator(np.zeros_like(stay), np.zeros_like(stay), stay)


class Directions(Realizable):
    """Losses `kind(u_t, *fixed)`, u_t uniform on the unit sphere."""

    kind: ClassVar[Any]
    stochastic = True

    @property
    def fixed(self) -> tuple[Any, ...]:
        """The parameters of all losses, after the direction."""
        return (self.anchor,)

    def _losses(self, generators: Sequence[np.random.Generator]) -> Iterator[Sequence[Loss]]:
        for block in sphere_blocks(generators, self.dimension):
            yield Losses(self.kind, [block], self.fixed)

    def _comparator(self, generators: Sequence[np.random.Generator], checkpoints: Sequence[int]) -> Comparator:
        wanted, total, done = np.asarray(checkpoints), np.zeros((1, len(generators))), 0
        sums: list[Array] = []
        for block in sphere_blocks(generators, self.dimension):
            values = self.kind(block, *self.fixed).value(self.domain.center())
            some = np.cumsum(np.concatenate([total, values]), axis=0)  # round after round
            sums.append(some[wanted[(wanted > done) & (wanted <= done + len(block))] - done])
            total, done = some[-1:], done + len(block)
            if done >= wanted[-1]:
                break
        stay = np.concatenate(sums)
        return Comparator(np.zeros_like(stay), np.zeros_like(stay), stay)


class RealizableDirection(Directions):
    """f_t(x) = (smoothness/2) <u_t, x - x0>^2, u_t uniform on the unit sphere. Not tight, as above."""

    name = "realizable-direction"
    title = "realizable directions"
    kind = DirectionSquare
    traits = Realizable.traits | {"quadratic-sums"}

    def __init__(self, domain: ConstraintSet, strong_convexity: float, smoothness: float = 1.0) -> None:
        _positive(smoothness)
        reach = domain.reach(domain.target())
        super().__init__(domain, smoothness * reach, smoothness)

    @property
    def fixed(self) -> tuple[Any, ...]:
        """The anchor and the smoothness."""
        return self.anchor, self.smoothness


class HalfSpaces(Directions):
    """f_t(x) = max(0, <u_t, x - x0>) / 2, u_t uniform on the unit sphere; tight: an error enters to first order.

    Lipschitz constant 1/2, no smoothness.
    """

    name = "half-space"
    title = "half spaces"
    kind = HalfSpace
    traits = frozenset({"best-loss"})
    tight = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float) -> None:
        super().__init__(domain, 0.5, np.inf)


def _positive(smoothness: float) -> None:
    if not (np.isfinite(smoothness) and smoothness > 0):
        raise ValueError(f"smoothness must be positive and finite, got {smoothness}")
