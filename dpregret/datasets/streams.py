"""The interface of a stream of losses, and the part of a constraint set that it uses; streams by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpregret.core.losses import Loss, Rounds
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.source import Generators, Source, build
from dpregret.numerics.arrays import Array
from dpregret.numerics.random import Normals
from dpregret.numerics.sums import sum_rows, vecdot

BLOCK = 256
"""Rounds drawn from a generator at once; a speed and memory choice that no result depends on."""


@dataclass(frozen=True, slots=True)
class Comparator:
    """The best fixed point in hindsight; every array has shape (checkpoints, runs).

    Streams that drift have two more comparators: points that follow the seasons, and the best one of all rounds.
    """

    losses: Array
    """Minimum over the set of the cumulative loss up to the checkpoint."""
    gaps: Array
    """Certified relative duality gap of ``losses``: 0 for closed forms, at most 1e-8 otherwise."""
    stay: Array
    """Cumulative loss of playing the set's center in every round."""
    pieces: Array | None = None
    """Sum over pieces of the stream up to the checkpoint, each with its own minimum."""
    last: Array | None = None
    """Cumulative loss up to the checkpoint of the point that is best at the last checkpoint."""

    @classmethod
    def joined(cls, parts: Sequence[Comparator]) -> Comparator:
        """Of groups of runs."""
        columns = {field.name: [getattr(part, field.name) for part in parts] for field in fields(cls)}
        joined = {name: np.concatenate(column, axis=1) for name, column in columns.items() if column[0] is not None}
        return cls(**joined)

    @classmethod
    def without_loss(cls, stay: Array) -> Comparator:
        """Of a point whose loss is 0 in every round."""
        return cls(np.zeros_like(stay), np.zeros_like(stay), stay)


@dataclass(frozen=True, slots=True)
class Clipped:
    """The loss f, with the gradient g min(1, L/|g|): no longer than L, the ``lipschitz`` that sensitivities come from.

    Its value stays that of f, so regret is about f. It has no proximal points, whose sensitivity is no matter of g.
    """

    loss: Loss
    lipschitz: float

    def value(self, points: Array) -> Array:
        """f at the points, (...,)."""
        return self.loss.value(points)

    def gradient(self, points: Array) -> Array:
        """The clipped gradient, (..., d)."""
        return self.value_and_gradient(points)[1]

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and the clipped gradient, (...,) and (..., d)."""
        value, slope = self.loss.value_and_gradient(points)
        length = np.sqrt(vecdot(slope, slope))[..., None]
        return value, np.where(length > self.lipschitz, slope * (self.lipschitz / np.maximum(length, 1e-300)), slope)

    def prox(self, points: Array, step: float) -> Array:
        """None: raises ValueError."""
        raise ValueError("the option clip is for learners that take gradients; this one takes proximal points")


class Stream(Source, ABC):
    """A sequence of losses, one generator per run, with its constants on the constraint set.

    ``lipschitz`` bounds |gradient| over the set for every loss the stream admits, ``smoothness`` is inf where the
    loss has a kink. ``best_loss`` is the public bound L* on the total loss of the best point, None where none is
    declared. Traits: ``smooth``, ``strongly-convex`` (learners are informed), ``quadratic`` (squared losses of a linear
    prediction), ``best-loss`` (declared), ``quadratic-sums`` (sums of losses are quadratic forms). ``apart``: a run's
    comparator is the same to the last bit whichever runs are requested with it. ``clip``: learners see gradients
    clipped to ``lipschitz``, so that their epsilon needs no trust in it.
    """

    traits = frozenset({"smooth", "strongly-convex"})
    best_loss: ClassVar[float | None] = None
    apart: ClassVar[bool] = True
    clip: bool = False

    def __init__(self, domain: ConstraintSet, *, strong_convexity: float, lipschitz: float, smoothness: float) -> None:
        self.domain = domain
        self.dimension = domain.dimension
        self.strong_convexity = strong_convexity
        self.lipschitz = lipschitz
        self.smoothness = smoothness

    def rounds(self, generators: Generators, horizon: int) -> Rounds:
        """``horizon`` losses whose parameters have shape (runs, d).

        A run's data depend on its own generator only: not on the other runs, not on the horizon. Memory does not
        grow with the horizon.
        """
        blocks = self._losses(generators)
        if self.clip:
            blocks = ([Clipped(loss, self.lipschitz) for loss in block] for block in blocks)
        return Rounds(blocks, horizon)

    def comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        """Comparator and stay loss after each checkpoint (rounds, strictly increasing).

        Makes its own pass over the data, so it needs fresh generators equal to those of ``rounds``.
        Raises FloatingPointError where the certified gap stays above 1e-8.
        """
        return self._comparator(generators, checkpoints)

    @abstractmethod
    def _losses(self, generators: Generators) -> Iterator[Sequence[Loss]]:
        """Endless losses, some rounds at a time."""

    @abstractmethod
    def _comparator(self, generators: Generators, checkpoints: Sequence[int]) -> Comparator:
        """``comparator``."""


def sphere_blocks(generators: Generators, dimension: int, radius: float = 1.0) -> Iterator[Array]:
    """Endless fresh blocks (BLOCK, runs, d) of vectors uniform on the sphere of the given radius."""
    normals = Normals(generators)
    while True:
        block = normals.draw(BLOCK, dimension)
        block /= (np.sqrt(vecdot(block, block)) / radius)[..., None]
        yield block.swapaxes(0, 1)


def prefix_sums(blocks: Iterator[Array], checkpoints: Sequence[int]) -> Array:
    """Sums over the first axis of endless blocks, up to each checkpoint: (checkpoints, ...)."""
    sums: list[Array] = []
    total = np.zeros(())
    start = 0
    pending = list(checkpoints)
    for block in blocks:
        while pending and pending[0] <= start + len(block):
            sums.append(total + sum_rows(block[: pending.pop(0) - start]))
        if not pending:
            break
        total = total + sum_rows(block)
        start += len(block)
    return np.stack(sums)


def make_stream(
    name: str,
    domain: ConstraintSet,
    *,
    strong_convexity: float = 1.0,
    data_dir: str | Path | None = None,
    clip: bool = False,
    **options: Any,
) -> Stream:
    """Build a stream of losses on a constraint set.

    ``strong_convexity`` is mu > 0 of every loss (for the pool-based streams, the weight of the ridge; the realizable
    ones have none and ignore it). ``data_dir`` is the folder of prepared data, for streams that read some. ``clip``:
    what learners see of a gradient is at most the declared Lipschitz constant long. Options are the parameters of the
    stream's class after the first two.

    Raises ValueError for an unknown name or option, a missing option, a bad value, or a set whose dimension is not
    that of the data; `base.UnreadDataError` where all fits but data are needed and `data_dir` was not given.
    """
    if not (np.isfinite(strong_convexity) and strong_convexity > 0.0):
        raise ValueError(f"strong_convexity must be positive and finite, got {strong_convexity}")
    stream: Stream = build("stream", Stream, name, (domain, strong_convexity), options, data_dir)
    stream.clip = clip
    return stream
