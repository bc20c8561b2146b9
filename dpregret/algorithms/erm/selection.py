"""Corners of a polytope as private Frank-Wolfe sees them: their scores, and a step towards one of them."""

from abc import ABC, abstractmethod

import numpy as np

from dpregret.algorithms.geometry import (
    ConstraintSet,
    CountedSet,
    L1Ball,
    Simplex,
    UnsupportedSet,
    VertexPolytope,
)
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product


class Corners(ABC):
    """Corners s_1..s_k of a polytope; count: k; l1_norm: max |s|_1."""

    count: int
    l1_norm: float

    @abstractmethod
    def scores(self, gradient: Array) -> Array:
        """<s, gradient> of every corner, (..., p) -> (..., k)."""

    @abstractmethod
    def step(self, points: Array, chosen: np.ndarray, step: float) -> None:
        """points (runs, p) <- (1 - step) points + step * chosen corner (runs,), in place."""


class AxisCorners(Corners):
    """Corners on the axes: +-radius e_j (signed), or radius e_j."""

    def __init__(self, dimension: int, radius: float, signed: bool):
        self.dimension, self.l1_norm, self.signed = dimension, radius, signed
        self.count = 2 * dimension if signed else dimension

    def scores(self, gradient: Array) -> Array:
        """Radius times (gradient, -gradient), or times the gradient."""
        scores = np.empty((*gradient.shape[:-1], self.count))
        np.multiply(gradient, self.l1_norm, out=scores[..., : self.dimension])
        if self.signed:
            np.negative(scores[..., : self.dimension], out=scores[..., self.dimension :])
        return scores

    def axis(self, chosen: np.ndarray) -> tuple[np.ndarray, Array]:
        """Coordinate j and signed length of the chosen corners, both of the shape of chosen."""
        flipped = chosen >= self.dimension
        return chosen - self.dimension * flipped, np.where(flipped, -self.l1_norm, self.l1_norm)

    def step(self, points: Array, chosen: np.ndarray, step: float) -> None:
        """One coordinate a run moves away from 0."""
        coordinate, length = self.axis(chosen)
        points *= 1.0 - step
        points[np.arange(len(points)), coordinate] += step * length


class ListedCorners(Corners):
    """Corners given one by one, (k, p)."""

    def __init__(self, vertices: Array):
        self.vertices = vertices
        self.count, self.l1_norm = len(vertices), float(np.abs(vertices).sum(axis=1).max())

    def scores(self, gradient: Array) -> Array:
        """One product a corner."""
        scores = product(gradient, self.vertices.T)
        return scores

    def step(self, points: Array, chosen: np.ndarray, step: float) -> None:
        """A convex combination."""
        points *= 1.0 - step
        points += step * self.vertices[chosen]


def corners_of(domain: ConstraintSet) -> Corners:
    """Corners of an l1 ball, a simplex or a polytope given by its vertices.

    Raises UnsupportedSet for every other set: its corners are too many or infinitely many.
    """
    inner = domain.inner if isinstance(domain, CountedSet) else domain
    match inner:
        case L1Ball():
            return AxisCorners(inner.dimension, inner.radius, signed=True)
        case Simplex():
            return AxisCorners(inner.dimension, 1.0, signed=False)
        case VertexPolytope():
            return ListedCorners(inner.vertices)
        case _:
            raise UnsupportedSet(
                f"the set {inner.name!r} has no list of corners; private-fw allows l1-ball, simplex and polytope"
            )
