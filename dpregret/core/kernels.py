"""How losses, sets and learners name their parts of a compiled round; the loops are in `rounds.py`.

A class that names a kernel says that the kernel does what its plain methods do. A subclass does not inherit it: what it
changes would go unnoticed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.losses import Series

QUADRATIC, DIRECTION_KINK, NORM_KINK, LOGISTIC, SQUARED, DIRECTION_SQUARE, HALF_SPACE = range(7)
BALL, SIMPLEX, L1_BALL, BOX = range(4)
LEADER, DESCENT, REGULARISED, IMPLICIT, EXPLICIT, FRANK_WOLFE, ONLINE_FRANK_WOLFE, LOCAL, RESTARTED = range(9)
PROJECTION, VERTEX, LOCAL_VERTEX = range(3)


@dataclass(frozen=True)
class LossKernel:
    """A loss in rounds.py, and which attributes are its vector (runs, d) or (d,), its anchor, labels and constants."""

    code: int
    vector: str = ""
    anchor: str = ""
    label: str = ""
    constants: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetKernel:
    """A set in rounds.py, and its constants: names of attributes, or numbers."""

    code: int
    constants: tuple[str | float, ...]

    def numbers(self, domain: Any) -> Array:
        """The constants of one set."""
        return np.array([getattr(domain, each) if isinstance(each, str) else each for each in self.constants])


class Packed(NamedTuple):
    """Losses of consecutive rounds: (rounds or 1, runs or 1, d), (d,), (rounds or 1, runs or 1), (3,)."""

    code: int
    vectors: Array
    anchor: Array
    labels: Array
    constants: Array


def kernel_of(thing: Any) -> Any:
    """What the class itself names, None where only a parent does."""
    return vars(type(thing)).get("kernel")


def packed(losses: Sequence[Any], dimension: int) -> Packed | None:
    """The losses as arrays; None where they are of several kinds, of a kind without kernel, or unlike otherwise."""
    if isinstance(losses, Series):
        return _packed_series(losses, dimension)
    first = losses[0]
    kernel: LossKernel | None = kernel_of(first)
    if kernel is None or any(type(each) is not type(first) for each in losses):
        return None
    rows = losses[:1] if all(each is first for each in losses) else losses
    anchor = getattr(first, kernel.anchor) if kernel.anchor else np.zeros(dimension)
    constants = [getattr(first, name) for name in kernel.constants]
    for each in rows[1:]:
        if kernel.anchor and getattr(each, kernel.anchor) is not anchor:
            return None
        if any(getattr(each, name) != value for name, value in zip(kernel.constants, constants, strict=True)):
            return None
    vectors = np.stack([getattr(each, kernel.vector) for each in rows]) if kernel.vector else np.zeros((1, dimension))
    labels = np.stack([getattr(each, kernel.label) for each in rows]) if kernel.label else np.zeros(1)
    return _checked(kernel, vectors, anchor, labels, constants, dimension)


def _packed_series(losses: Series, dimension: int) -> Packed | None:
    """The same of arrays, none of which is copied without need."""
    kernel: LossKernel | None = vars(losses.kind).get("kernel")
    if kernel is None:
        return None
    names = [each.name for each in fields(losses.kind)]
    rows = dict(zip(names, losses.rows, strict=False))
    fixed = dict(zip(names[len(rows) :], losses.fixed, strict=True))
    if any(name in rows for name in (kernel.anchor, *kernel.constants)):
        return None
    vectors = rows[kernel.vector] if kernel.vector in rows else np.zeros((1, dimension))
    labels = rows[kernel.label] if kernel.label in rows else np.zeros(1)
    anchor = fixed[kernel.anchor] if kernel.anchor else np.zeros(dimension)
    return _checked(kernel, vectors, anchor, labels, [fixed[name] for name in kernel.constants], dimension)


def _checked(
    kernel: LossKernel, vectors: Array, anchor: Array, labels: Array, constants: Sequence[float], dimension: int
) -> Packed | None:
    """With all axes, None where they do not fit."""
    vectors = vectors[:, None] if vectors.ndim == 2 else vectors
    labels = labels[:, None] if labels.ndim == 1 else labels
    if anchor.shape != (dimension,) or vectors.ndim != 3 or vectors.shape[-1] != dimension or labels.ndim != 2:
        return None
    padded = np.array([*constants, 0.0, 0.0, 0.0], dtype=np.float64)[:3]
    vectors, anchor, labels = (np.ascontiguousarray(each, dtype=np.float64) for each in (vectors, anchor, labels))
    return Packed(kernel.code, vectors, anchor, labels, padded)
