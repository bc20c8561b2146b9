"""Losses of one round as learners see them, batched over settings and runs.

A loss is a NamedTuple: first the fields that are a run's own (`PerRun`), then what all runs share. Its text is written
once, as plain loops over (d, runs): `slope_at`, `prox_at` where there is a closed form, `value_at` for who sees no
slope (dpregret.core.oracles). Decorated with `loss` it also answers whole NumPy batches, by the same text.
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

    own: names of its fields that are a run's own; they come first. vectors: whether each of these is a vector.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    own = [name for name in kind._fields if hints[name] in (PerRun, PerRunNumber)]
    if own != list(kind._fields[: len(own)]):
        raise TypeError(f"{kind.__name__}: fields of each run come first")
    kind.own, kind.vectors = tuple(own), tuple(hints[name] == PerRun for name in own)
    for method in (value, value_and_gradient, gradient, prox):
        setattr(kind, method.__name__, method)
    return kind


def value(self: Any, points: Array) -> Array:
    """f at the points."""
    if type(self) not in value_at.kinds:
        return value_and_gradient(self, points)[0]
    shape, tiles = _tiles(self, points)
    values = np.empty(math.prod(shape))
    for place, served, x, s in tiles:
        specialised(_value, type(self))(served, x, values[place], s)
    return values.reshape(shape)


def gradient(self: Any, points: Array) -> Array:
    """A subgradient at the points."""
    return value_and_gradient(self, points)[1]


def value_and_gradient(self: Any, points: Array) -> tuple[Array, Array]:
    """f and a subgradient at the points."""
    shape, tiles = _tiles(self, points)
    values, slopes = np.empty(math.prod(shape)), np.empty((math.prod(shape), points.shape[-1]))
    for place, served, x, s in tiles:
        slope = np.empty_like(x)
        specialised(_slope, type(self))(served, x, slope, values[place], s)
        slopes[place] = slope.T
    return values.reshape(shape), slopes.reshape(*shape, points.shape[-1])


def prox(self: Any, points: Array, step: float) -> Array:
    """argmin over R^d of step * f(x) + |x - point|^2 / 2."""
    shape, tiles = _tiles(self, points)
    moved = np.empty((math.prod(shape), points.shape[-1]))
    for place, served, x, s in tiles:
        specialised(_prox, type(self))(served, x, float(step), s)
        moved[place] = x.T
    return moved.reshape(*shape, points.shape[-1])


def _tiles(self: Any, points: Array) -> tuple[tuple[int, ...], Iterator[tuple[slice, Any, Array, Array]]]:
    """The shape (...,) that points and the loss broadcast to; of some points at a time: where they are among all, the
    loss and copies of the points in columns, and scratch."""
    vectors = zip(map(np.asarray, self), self.vectors, strict=False)
    given = [points, *(each if vector else each[..., None] for each, vector in vectors)]
    shape = np.broadcast(*(each[..., 0] for each in given)).shape
    rows = [_spread(each, shape).reshape(-1, each.shape[-1]) for each in given]
    shared = [_shared(each) for each in self[len(self.own) :]]

    def tiles() -> Iterator[tuple[slice, Any, Array, Array]]:
        some = max(1, TILE // points.shape[-1])
        for first in range(0, len(rows[0]), some):
            place = slice(first, first + some)
            x, *fields = (each[place].T.astype(np.float64, order="C") for each in rows)
            yield place, type(self)(*fields, *shared), x, np.empty((SCRATCH, x.shape[1]))

    return shape, tiles()


def _spread(given: Array, shape: tuple[int, ...]) -> Array:
    """(*shape, d): `numpy.broadcast_to`, which takes four times as long for a round of few points."""
    if given.shape[:-1] == shape:
        return given
    found = np.empty((*shape, given.shape[-1]))
    found[...] = given
    return found


def _shared(value: Any) -> Any:
    """What all runs share, in the types of compiled rounds."""
    if type(value) is float:
        return value
    return np.ascontiguousarray(value, dtype=np.float64) if np.ndim(value) else float(value)


def _value(loss, x, values, s):
    value_at(loss, x, values, s)


def _slope(loss, x, slopes, values, s):
    slope_at(loss, x, slopes, values, s)


def _prox(loss, x, step, s):
    prox_at(loss, x, step, s)


NO_ROWS = (np.zeros((1, 1, 1)),)


def laid_out(
    kind: type[Any], rows: Sequence[Array], shared: Sequence[Any], runs: int
) -> tuple[Any, tuple[Array, ...], tuple[Array, ...]]:
    """(loss, held, rows): a loss of `runs` columns, the arrays in it that rounds are laid out in, and what is laid out.

    rows: one (rounds or 1, runs or 1, d or 1) for each field that is a run's own.
    """
    held = tuple(np.zeros((each.shape[2], runs)) for each in rows)
    return kind(*held, *map(_shared, shared)), held or (np.zeros((1, runs)),), tuple(rows) or NO_ROWS


@inlined
def lay_out(rows, held, now, first):
    """Write round `now` of the runs from `first` on to what a loss holds; after the last run comes the first again."""
    for each in range(len(rows)):
        row, into = rows[each], held[each]
        apart, run = now if row.shape[0] > 1 else 0, first % row.shape[1]
        for r in range(into.shape[1]):
            for k in range(into.shape[0]):
                into[k, r] = row[apart, run, k]
            run = run + 1 if run + 1 < row.shape[1] else 0


@inlined
def lay_out_rounds(rows, held, now, rounds, runs):
    """Write the `rounds` rounds from `now` on to what a loss holds: all runs of the first one, then of the next."""
    for each in range(len(rows)):
        row, into = rows[each], held[each]
        for later in range(rounds):
            apart = now + later if row.shape[0] > 1 else 0
            for r in range(runs):
                run = r if row.shape[1] > 1 else 0
                for k in range(into.shape[0]):
                    into[k, later * runs + r] = row[apart, run, k]


def in_columns(one: Any, runs: NDArray[np.int64]) -> Any:
    """A loss, or a sum of some, as its text defines it: what is a run's own laid out for columns of these runs."""

    def laid(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(in_columns(each, runs) for each in value)
        if name not in getattr(one, "own", ()):
            return _shared(value)
        vector = one.vectors[one.own.index(name)]
        rows = np.atleast_2d(value) if vector else np.atleast_1d(value)[:, None]
        return np.ascontiguousarray(rows[runs % len(rows)].T, dtype=np.float64)

    return type(one)(*map(laid, one._fields, one))


class Losses(Sequence[Loss]):
    """Losses of consecutive rounds, `kind(*own[t], *shared)` in round t, none of which is made before it is requested.

    own: arrays (rounds, ...), or of one round if all are alike, one for each field that is a run's own. shared: the
    others, the same in all rounds.
    """

    __slots__ = ("kind", "own", "rounds", "shared")

    def __init__(self, kind: type[Any], own: Sequence[Array], shared: Sequence[Any], rounds: int | None = None):
        self.kind, self.own, self.shared = kind, tuple(own), tuple(shared)
        self.rounds = len(self.own[0]) if rounds is None else rounds

    @classmethod
    def alike(cls, one: Any, rounds: int) -> "Losses":
        """One loss in all rounds."""
        own = [np.asarray(each)[None] for each in one[: len(one.own)]]
        return cls(type(one), own, one[len(own) :], rounds)

    def __len__(self) -> int:
        return self.rounds

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            own = [each[place] if len(each) == self.rounds else each for each in self.own]
            return Losses(self.kind, own, self.shared, len(range(self.rounds)[place]))
        now = range(self.rounds)[place]
        return self.kind(*(each[now if len(each) > 1 else 0] for each in self.own), *self.shared)

    def value(self, points: Array) -> Array:
        """Losses (..., runs, rounds) of points (..., runs, rounds, d), or (..., runs, 1, d): one in all rounds."""
        laid = zip(self.laid(), self.kind.vectors, strict=True)
        own = [(each if vector else each[..., 0]).swapaxes(0, 1) for each, vector in laid]
        found = value(self.kind(*own, *self.shared), points)
        return np.broadcast_to(found, (*found.shape[:-1], self.rounds))

    def laid(self) -> tuple[Array, ...]:
        """Their own fields as `laid_out` takes them."""
        found = []
        for each, vector in zip(self.own, self.kind.vectors, strict=True):
            wide = each if vector else each[..., None]
            found.append(np.ascontiguousarray(wide if wide.ndim == 3 else wide[:, None], dtype=np.float64))
        return tuple(found)


class Rounds(Iterator[Loss]):
    """Losses one by one, or several at a time.

    blocks: some rounds each. horizon: how many rounds in all, None for all that there are.
    """

    def __init__(self, blocks: Iterable[Sequence[Loss]], horizon: int | None = None):
        self._blocks, self._left = iter(blocks), horizon
        self._held: Sequence[Loss] = ()
        self._done = 0

    def __next__(self) -> Loss:
        found = self.take(1)
        if not found:
            raise StopIteration
        return found[0]

    def take(self, count: int) -> Sequence[Loss]:
        """Some of the next losses: `count` or fewer, part of one block; none at the end."""
        count = count if self._left is None else min(count, self._left)
        if self._done == len(self._held) and count:
            self._held, self._done = next(self._blocks, ()), 0
        part = self._held[self._done : self._done + count]
        self._done += len(part)
        if self._left is not None:
            self._left -= len(part)
        return part


def in_rounds(losses: Iterable[Loss]) -> Rounds:
    """Losses as `Rounds`: a list is one block; of others no more are requested than are taken."""
    if isinstance(losses, Rounds):
        return losses
    return Rounds([losses] if isinstance(losses, list | Losses) else ([each] for each in losses))


def together(losses: Sequence[Loss]) -> Losses | None:
    """The same losses for compiled rounds; None where they are of several kinds, or of one that has no such text."""
    if isinstance(losses, Losses):
        return losses if losses.kind in slope_at.kinds else None
    first: Any = losses[0]
    if type(first) not in slope_at.kinds or not hasattr(first, "own"):
        return None
    if all(each is first for each in losses):
        return Losses.alike(first, len(losses))
    count, shapes = len(first.own), [np.shape(each) for each in first]
    rows: list[Any] = list(losses)
    for each in rows:
        if type(each) is not type(first) or [np.shape(field) for field in each] != shapes:
            return None
        if any(mine is not its and np.any(mine != its) for mine, its in zip(each[count:], first[count:], strict=True)):
            return None
    return Losses(type(first), [np.stack([each[field] for each in rows]) for field in range(count)], first[count:])


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
