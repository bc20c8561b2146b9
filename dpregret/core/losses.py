"""Losses of one round as learners see them, batched over settings and runs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, overload

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


class Series(Sequence[Loss]):
    """Losses of consecutive rounds, `kind(*rows[t], *fixed)` in round t, none of which is made before it is asked for.

    rows: arrays (rounds, ...), the first of the attributes of a loss. fixed: the others, the same in all rounds.
    """

    __slots__ = ("fixed", "kind", "rows")

    def __init__(self, kind: type[Any], rows: Sequence[Array], fixed: Sequence[Any]):
        self.kind, self.rows, self.fixed = kind, tuple(rows), tuple(fixed)

    def __len__(self) -> int:
        return len(self.rows[0])

    @overload
    def __getitem__(self, place: int) -> Loss: ...

    @overload
    def __getitem__(self, place: slice) -> "Series": ...

    def __getitem__(self, place: int | slice) -> "Loss | Series":
        rows = [each[place] for each in self.rows]
        if isinstance(place, slice):
            return Series(self.kind, rows, self.fixed)
        loss: Loss = self.kind(*rows, *self.fixed)
        return loss


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
        """The next `count` losses, fewer only at the end; a part of one block where they lie in one."""
        parts: list[Sequence[Loss]] = []
        wanted = count if self._left is None else min(count, self._left)
        if self._left is not None:
            self._left -= wanted
        while wanted:
            if self._done == len(self._held):
                self._held, self._done = next(self._blocks, ()), 0
                if not self._held:
                    break
            part = self._held[self._done : self._done + wanted]
            parts.append(part)
            self._done += len(part)
            wanted -= len(part)
        return parts[0] if len(parts) == 1 else [each for part in parts for each in part]


def one_by_one(losses: Iterable[Loss]) -> Rounds:
    """Losses that come one by one, of which no more are asked for than are taken."""
    return Rounds([each] for each in losses)


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
