"""Losses of one round as learners see them, batched over settings and runs.

A loss is a NamedTuple: first the fields that each run has for itself (`PerRun`), then what all runs share. Its text is
written once, as plain loops over (d, runs): `slope_at`, `prox_at` where there is a closed form, `value_at` for learners
that see no slope (dpregret.core.oracles). Decorated with `loss` it also answers whole NumPy batches, by the same text.
"""

import math
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpregret.core.oracles import SCRATCH, prox_at, slope_at, value_at
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined, specialised


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


PerRun = Annotated[Array, "a vector of each run"]
"""A field of a loss: (..., d) where losses are made, normally (runs, d) or (d,); (d, runs) in its text."""
PerRunNumber = Annotated[Array, "a number of each run"]
"""A field of a loss: (...,) where losses are made, normally (runs,) or (); (1, runs) in its text."""


TILE = 4096  # numbers of points that are evaluated together: they stay in the processor's caches


def loss(kind: type[Any]) -> Any:
    """Let a NamedTuple that has a `slope_at` or a `value_at` answer the methods of a `Loss` that these can.

    per_run: names of the fields that each run has for itself, which come first. vectors: which of these are vectors.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    per_run = [name for name in kind._fields if hints[name] in (PerRun, PerRunNumber)]
    if per_run != list(kind._fields[: len(per_run)]):
        raise TypeError(f"{kind.__name__}: fields of each run come first")
    kind.per_run, kind.vectors = tuple(per_run), tuple(hints[name] == PerRun for name in per_run)
    for method in (value, value_and_gradient, gradient, prox):
        setattr(kind, method.__name__, method)
    return kind


def value(self: Any, points: Array) -> Array:
    """f at the points."""
    if type(self) not in value_at.kinds:
        return value_and_gradient(self, points)[0]
    shape, tiles = _tiles(self, points)
    values = np.empty(math.prod(shape))
    for part, served, x, scratch in tiles:
        specialised(_value, type(self))(served, x, values[part], scratch)
    return values.reshape(shape)


def gradient(self: Any, points: Array) -> Array:
    """A subgradient at the points."""
    return value_and_gradient(self, points)[1]


def value_and_gradient(self: Any, points: Array) -> tuple[Array, Array]:
    """f and a subgradient at the points."""
    shape, tiles = _tiles(self, points)
    values, slopes = np.empty(math.prod(shape)), np.empty((math.prod(shape), points.shape[-1]))
    for part, served, x, scratch in tiles:
        slope = np.empty_like(x)
        specialised(_slope, type(self))(served, x, slope, values[part], scratch)
        slopes[part] = slope.T
    return values.reshape(shape), slopes.reshape(*shape, points.shape[-1])


def prox(self: Any, points: Array, step: float) -> Array:
    """argmin over R^d of step * f(x) + |x - point|^2 / 2."""
    shape, tiles = _tiles(self, points)
    moved = np.empty((math.prod(shape), points.shape[-1]))
    for part, served, x, scratch in tiles:
        specialised(_prox, type(self))(served, x, float(step), scratch)
        moved[part] = x.T
    return moved.reshape(*shape, points.shape[-1])


def _tiles(self: Any, points: Array) -> tuple[tuple[int, ...], Iterator[tuple[slice, Any, Array, Array]]]:
    """The shape (...,) that points and the loss broadcast to; of some points at a time: where they are among all, the
    loss and copies of the points in columns, and scratch."""
    vectors = zip(map(np.asarray, self), self.vectors, strict=False)
    arrays = [points, *(array if vector else array[..., None] for array, vector in vectors)]
    shape = np.broadcast(*(array[..., 0] for array in arrays)).shape
    rows = [_spread(array, shape).reshape(-1, array.shape[-1]) for array in arrays]
    shared = [_shared(number) for number in self[len(self.per_run) :]]

    def tiles() -> Iterator[tuple[slice, Any, Array, Array]]:
        size = max(1, TILE // points.shape[-1])
        for first in range(0, len(rows[0]), size):
            part = slice(first, first + size)
            x, *fields = (row[part].T.astype(np.float64, order="C") for row in rows)
            yield part, type(self)(*fields, *shared), x, np.empty((SCRATCH, x.shape[1]))

    return shape, tiles()


def _spread(array: Array, shape: tuple[int, ...]) -> Array:
    """(*shape, d): `numpy.broadcast_to`, which takes four times as long for a round of few points."""
    if array.shape[:-1] == shape:
        return array
    copy = np.empty((*shape, array.shape[-1]))
    copy[...] = array
    return copy


def _shared(value: Any) -> Any:
    """What all runs share, in the types of compiled rounds."""
    if type(value) is float:
        return value
    return np.ascontiguousarray(value, dtype=np.float64) if np.ndim(value) else float(value)


def _value(loss, x, values, scratch):
    value_at(loss, x, values, scratch)


def _slope(loss, x, slopes, values, scratch):
    slope_at(loss, x, slopes, values, scratch)


def _prox(loss, x, step, scratch):
    prox_at(loss, x, step, scratch)


NO_ROWS = (np.zeros((1, 1, 1)),)


def as_columns(
    kind: type[Any], rows: Sequence[Array], shared: Sequence[Any], runs: int
) -> tuple[Any, tuple[Array, ...], tuple[Array, ...]]:
    """(loss, buffers, rows): a loss of `runs` columns, the arrays in it that rounds are written into, and these rounds.

    rows: one (rounds or 1, runs or 1, d or 1) for each field of a run.
    """
    buffers = tuple(np.zeros((row.shape[2], runs)) for row in rows)
    return kind(*buffers, *map(_shared, shared)), buffers or (np.zeros((1, runs)),), tuple(rows) or NO_ROWS


@inlined
def copy_round(rows, buffers, now, first):
    """Write round `now` of the runs from `first` on to what a loss holds; after the last run comes the first again."""
    for field in range(len(rows)):
        row, into = rows[field], buffers[field]
        t, run = now if row.shape[0] > 1 else 0, first % row.shape[1]
        for r in range(into.shape[1]):
            for k in range(into.shape[0]):
                into[k, r] = row[t, run, k]
            run = run + 1 if run + 1 < row.shape[1] else 0


@inlined
def lay_out_rounds(rows, buffers, now, rounds, runs):
    """Write the `rounds` rounds from `now` on to what a loss holds: all runs of the first one, then of the next."""
    for field in range(len(rows)):
        row, into = rows[field], buffers[field]
        for later in range(rounds):
            t = now + later if row.shape[0] > 1 else 0
            for r in range(runs):
                run = r if row.shape[1] > 1 else 0
                for k in range(into.shape[0]):
                    into[k, later * runs + r] = row[t, run, k]


def in_columns(loss: Any, runs: NDArray[np.int64]) -> Any:
    """A loss, or a sum of some, as its text defines it: the fields of each run laid out for columns of these runs."""

    def laid(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(in_columns(term, runs) for term in value)
        if name not in getattr(loss, "per_run", ()):
            return _shared(value)
        vector = loss.vectors[loss.per_run.index(name)]
        rows = np.atleast_2d(value) if vector else np.atleast_1d(value)[:, None]
        return np.ascontiguousarray(rows[runs % len(rows)].T, dtype=np.float64)

    return type(loss)(*map(laid, loss._fields, loss))


class Losses(Sequence[Loss]):
    """Losses of consecutive rounds, `kind(*per_run[t], *shared)` in round t, each made when it is requested.

    per_run: arrays (rounds, ...), or of one round if all are alike, one for each field of a run. shared: the
    others, the same in all rounds.
    """

    __slots__ = ("kind", "per_run", "rounds", "shared")

    def __init__(self, kind: type[Any], per_run: Sequence[Array], shared: Sequence[Any], rounds: int | None = None):
        self.kind, self.per_run, self.shared = kind, tuple(per_run), tuple(shared)
        self.rounds = len(self.per_run[0]) if rounds is None else rounds

    @classmethod
    def alike(cls, loss: Any, rounds: int) -> "Losses":
        """One loss in all rounds."""
        per_run = [np.asarray(array)[None] for array in loss[: len(loss.per_run)]]
        return cls(type(loss), per_run, loss[len(per_run) :], rounds)

    def __len__(self) -> int:
        return self.rounds

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            per_run = [array[index] if len(array) == self.rounds else array for array in self.per_run]
            return Losses(self.kind, per_run, self.shared, len(range(self.rounds)[index]))
        now = range(self.rounds)[index]
        return self.kind(*(array[now if len(array) > 1 else 0] for array in self.per_run), *self.shared)

    def value(self, points: Array) -> Array:
        """Losses (..., runs, rounds) of points (..., runs, rounds, d), or (..., runs, 1, d): one in all rounds."""
        values = value(self._of_runs(), points)
        return np.broadcast_to(values, (*values.shape[:-1], self.rounds))

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """The same, and subgradients (..., runs, rounds, d)."""
        values, slopes = value_and_gradient(self._of_runs(), points)
        shape = *values.shape[:-1], self.rounds
        return np.broadcast_to(values, shape), np.broadcast_to(slopes, (*shape, slopes.shape[-1]))

    def _of_runs(self) -> Any:
        """One loss whose parameters are (runs, rounds, ...)."""
        count, whole = len(self.per_run), self.whole()
        return self.kind(*(array.swapaxes(0, 1) for array in whole[:count]), *whole[count:])

    def whole(self) -> Any:
        """One loss whose parameters are (rounds, runs, ...)."""
        laid = zip(self.laid(), self.kind.vectors, strict=True)
        return self.kind(*(array if vector else array[..., 0] for array, vector in laid), *self.shared)

    def laid(self) -> tuple[Array, ...]:
        """Their fields of each run as `as_columns` takes them."""
        arrays = []
        for array, vector in zip(self.per_run, self.kind.vectors, strict=True):
            wide = array if vector else array[..., None]
            arrays.append(np.ascontiguousarray(wide if wide.ndim == 3 else wide[:, None], dtype=np.float64))
        return tuple(arrays)


class Rounds(Iterator[Loss]):
    """Losses one by one, or several at a time.

    blocks: some rounds each. horizon: how many rounds in all, None for all that there are.
    """

    def __init__(self, blocks: Iterable[Sequence[Loss]], horizon: int | None = None):
        self._blocks, self._remaining = iter(blocks), horizon
        self._block: Sequence[Loss] = ()
        self._done = 0

    def __next__(self) -> Loss:
        losses = self.take(1)
        if not losses:
            raise StopIteration
        return losses[0]

    def take(self, count: int) -> Sequence[Loss]:
        """Some of the next losses: `count` or fewer, part of one block; none at the end."""
        count = count if self._remaining is None else min(count, self._remaining)
        if self._done == len(self._block) and count:
            self._block, self._done = next(self._blocks, ()), 0
        part = self._block[self._done : self._done + count]
        self._done += len(part)
        if self._remaining is not None:
            self._remaining -= len(part)
        return part


def in_rounds(losses: Iterable[Loss]) -> Rounds:
    """Losses as `Rounds`: a list is one block; of others no more are requested than are taken."""
    if isinstance(losses, Rounds):
        return losses
    return Rounds([losses] if isinstance(losses, list | Losses) else ([loss] for loss in losses))


def together(losses: Sequence[Loss]) -> Losses | None:
    """The same losses for compiled rounds; None where they are of several kinds, or of one that has no such text."""
    if isinstance(losses, Losses):
        return losses if losses.kind in slope_at.kinds else None
    first: Any = losses[0]
    if type(first) not in slope_at.kinds or not hasattr(first, "per_run"):
        return None
    if len(set(map(id, losses))) == 1:
        return Losses.alike(first, len(losses))
    count, shapes = len(first.per_run), [np.shape(array) for array in first]
    rows: list[Any] = list(losses)
    for loss in rows:
        if type(loss) is not type(first) or [np.shape(field) for field in loss] != shapes:
            return None
        if any(mine is not its and np.any(mine != its) for mine, its in zip(loss[count:], first[count:], strict=True)):
            return None
    return Losses(type(first), [np.stack([loss[field] for loss in rows]) for field in range(count)], first[count:])


class LossBatch(Protocol):
    """Losses of consecutive rounds that a bandit may request at points, of all runs.

    They are `Losses` of a kind that has a `value_at`, for compiled rounds, or anything that answers `value`.
    """

    @property
    def rounds(self) -> int:
        """Number of rounds."""

    def value(self, points: Array) -> Array:
        """Losses (settings, runs, rounds) of points (settings, runs, rounds, n)."""


class LossSource(Protocol):
    """Where a bandit requests the next rounds: successive calls continue where the last one ended."""

    def __call__(self, rounds: int) -> LossBatch:
        """The next `rounds` losses."""
