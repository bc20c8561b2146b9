"""Losses of one round as learners see them, batched over settings and runs."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpregret.core.arrays import Array


class Loss(Protocol):
    """One convex loss f per run; points have shape (..., d), normally (settings, runs, d)."""

    def value(self, points: Array) -> Array:
        """f at the points, shape (...,)."""

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """f and a (sub)gradient at the points, shapes (...,) and (..., d)."""

    def gradient(self, points: Array) -> Array:
        """A (sub)gradient at the points, shape (..., d); 0 is taken for the non-smooth part at its kink."""

    def prox(self, points: Array, step: float) -> Array:
        """argmin over R^d of step * f(x) + |x - point|^2 / 2, shape (..., d)."""


CONE, AFFINE, ENTRY = range(3)


class LossRule(NamedTuple):
    """Losses of consecutive rounds as numbers, so that a compiled loop can play them; entries broadcast.

    Round t of run r has the entry e = entries[r, t], entries (runs, rounds). kind: CONE, offset_e |x - cost_e|; AFFINE,
    <cost_e, x> + offset_e; ENTRY, |x_e - offset_e|. costs (entries, n), offsets (entries,).
    """

    kind: int
    entries: NDArray[np.int64]
    costs: Array
    offsets: Array


KINK, SQUARE = range(2)


class RiskRule(NamedTuple):
    """The gradient of an empirical risk as numbers, so that a compiled loop can follow it.

    kind: KINK, sum of share (x - atom) / |x - atom|; SQUARE, sum of share (x - atom). shares (atoms,), atoms (atoms,
    runs, p): axes of length 1 broadcast.
    """

    kind: int
    shares: Array
    atoms: Array


class LossBatch(Protocol):
    """Losses of consecutive rounds that a bandit may ask for at points, of all runs.

    May have a `rule`, a `LossRule` that says the same.
    """

    @property
    def rounds(self) -> int:
        """Number of rounds."""

    def value(self, points: Array) -> Array:
        """Losses (..., runs, rounds) of points (..., runs, rounds, n), or (..., runs, 1, n): one in all rounds."""


class LossSource(Protocol):
    """Where a bandit asks for the next rounds: successive calls continue where the last one ended."""

    def __call__(self, rounds: int) -> LossBatch:
        """The next `rounds` losses."""
