"""Validate the output of a learner at the API boundary: its type, shape and range, and whether it is a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpregret.numerics.arrays import Array

if TYPE_CHECKING:  # sets import compiled oracles, which reading rows does not need
    from dpregret.core.sets import ConstraintSet

TOLERANCE = 1e-6
"""Largest violation of a set, in its diameters. All honest learners of a full run stay below 1e-12."""
FLOAT = np.dtype(np.float64)
LARGEST = float(np.finfo(np.float64).max)


class LearnerFault(RuntimeError):  # noqa: N818  (a finding about a learner, not a mistake of the program)
    """Output or behaviour of a learner that cannot be right; the message is one line about it."""


class StreamFault(RuntimeError):  # noqa: N818  (as LearnerFault)
    """A stream whose best fixed point cannot be computed as it must be; the message is one line about it."""


def numbers(
    what: str, values: Any, shape: Sequence[int], low: float = -math.inf, high: float = math.inf, unknown: bool = False
) -> Array:
    """A copy of real numbers of exactly this shape within [low, high].

    unknown: NaN is allowed. Raises LearnerFault.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        raise LearnerFault(f"{what}: no array of numbers") from None
    if array.dtype.kind not in "fiu":
        raise LearnerFault(f"{what}: of type {array.dtype}, expected real numbers")
    if array.shape != tuple(shape):
        raise LearnerFault(f"{what}: of shape {array.shape}, expected {tuple(shape)}")
    valid = (array >= low) & (array <= high)
    if unknown:
        valid |= np.isnan(array)
    if not valid.all():
        raise LearnerFault(f"{what}: {array[~valid][0]:.6g}, must be {range_in_words(low, high, unknown)}")
    return array.copy()


def range_in_words(low: float, high: float, unknown: bool = False) -> str:
    """``finite, at least 0, or unknown``; ends of `LARGEST` mean finite, infinite ends mean any number."""
    parts = ["finite"] if high == LARGEST else []
    parts += [f"at least {low:g}"] if low > -LARGEST else []
    parts += [f"at most {high:g}"] if high < LARGEST else []
    return ", ".join([*(parts or ["a number"]), *(["or unknown"] if unknown else [])])


def finite(what: str, values: Any, shape: Sequence[int], low: float | None = None, unknown: bool = False) -> Array:
    """The same, of finite numbers, at least `low`."""
    return numbers(what, values, shape, -LARGEST if low is None else low, LARGEST, unknown)


def check_shape(points: Any, shape: tuple[int, ...]) -> None:
    """Raise LearnerFault unless the points are an array of 64-bit numbers of exactly this shape."""
    if not isinstance(points, np.ndarray):
        raise LearnerFault(f"points: of type {type(points).__name__}, expected an array")
    if points.dtype != FLOAT:
        raise LearnerFault(f"points: of type {points.dtype}, expected {FLOAT}")
    if points.shape != shape:
        raise LearnerFault(f"points: of shape {points.shape}, expected {shape}")


def check_inside(points: Array, domain: ConstraintSet, beyond: float = 0.0) -> Array:
    """The points' violations of the set; raises LearnerFault for numbers that are not finite, and by `check_violation`.

    beyond: distance from the set that the learner may keep by its definition.
    """
    if not np.isfinite(points).all():
        raise LearnerFault("a point is not finite")
    violation = domain.violation(points)
    check_violation(float(violation.max()), domain, beyond)
    return violation


def check_near(points: Array, center: Array, domain: ConstraintSet) -> None:
    """Raise LearnerFault for a point that is not finite or farther from the center than any of the set; cheap."""
    from dpregret.numerics.sums import vecdot  # compiled, and most checks have no points

    offsets = points - center
    farthest = float(np.sqrt(vecdot(offsets, offsets).max()))
    if not farthest <= domain.diameter * (1 + TOLERANCE):
        raise LearnerFault(
            f"a point lies {farthest:.3g} from the center of the set {domain.name!r}, whose diameter is "
            f"{domain.diameter:.3g}"
        )


def check_violation(worst: float, domain: ConstraintSet, beyond: float = 0.0) -> None:
    """Raise LearnerFault where points left the set by more than `TOLERANCE` diameters, and `beyond`."""
    allowed = TOLERANCE * domain.diameter + beyond
    if not 0 <= worst <= allowed:
        raise LearnerFault(
            f"a point violates the set {domain.name!r} by {worst:.3g}, which is {worst / domain.diameter:.3g} of its "
            f"diameter; allowed is {allowed:.3g}"
        )
