"""Base of all sets: one sum of coordinates, checks of what they are made of, and their data for compiled loops."""

from __future__ import annotations

import operator
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array


class FixedSum(ConstraintSet):
    """A set whose points have one sum of coordinates, and no other equality."""

    def equalities(self) -> Array:
        """A row of ones."""
        return np.ones((1, self.dimension))

    def along_hull(self, vectors: Array) -> Array:
        """Without their mean."""
        centred: Array = vectors - vectors.mean(axis=-1, keepdims=True)
        return centred


def checked_dimension(name: str, dimension: SupportsIndex, minimum: int = 1) -> int:
    """Return the dimension as an int; raises ValueError, naming what is allowed, where it is too small."""
    try:
        size = operator.index(dimension)
    except TypeError:
        reject_dimension(name, dimension, f"an integer, at least {minimum}")
    if isinstance(dimension, bool) or size < minimum:
        reject_dimension(name, dimension, f"an integer, at least {minimum}; the nearest is {minimum}")
    return size


def reject_dimension(name: str, dimension: object, allowed: str) -> NoReturn:
    """Raise the ValueError of an impossible dimension."""
    raise ValueError(f"dimension {dimension!r} is impossible for the set {name!r}; allowed: {allowed}")


def checked_positive(name: str, option: str, value: float) -> float:
    """Return value as a float; raises ValueError unless it is positive and finite."""
    if not (value > 0 and np.isfinite(value)):
        raise ValueError(f"{option} of the set {name!r} must be positive and finite, not {value!r}")
    return float(value)


def reach_of_binary(linear_oracle_value: float, point: Array) -> float:
    """Reach of a polytope with 0/1 vertices: |v - y|^2 = |y|^2 - <2 y - 1, v> is linear in a vertex v.

    linear_oracle_value is min_v <2 point - 1, v>; a convex function is largest at a vertex, so this is exact.
    """
    return float(np.sqrt(max(float(point @ point) - linear_oracle_value, 0.0)))


ORACLES = {"project", "linear_oracle", "local_oracle"}


def data_of(domain: Any) -> Any:
    """The set as compiled loops know it; None where a class has changed an oracle below the one that says so."""
    for kind in type(domain).__mro__:
        if "data" in vars(kind):
            return domain.data
        if ORACLES & vars(kind).keys():
            return None
    return None
