"""Bandit convex optimisation: the input of a learner, and the record of its play.

In round t a learner plays a point and sees one number, the loss of that point; the sequence of played points is
released. Neighbouring sequences differ in one round's loss, replaced by any other admissible one. Losses are fixed
before the first round (oblivious adversary), convex, Lipschitz, and defined on the set widened by `margin`.

State has shape (settings, runs, n): one setting a privacy budget, all of them on the same random directions (common
random numbers), so that the private learner and its non-private counterpart can be compared run by run.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple, cast

import numpy as np

from dpregret.algorithms.geometry import ConstraintSet
from dpregret.algorithms.learner import BaseLearner
from dpregret.algorithms.privacy import Budget, NoisePlan, Release
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.losses import NO_ROWS, LossBatch, Losses, as_columns
from dpregret.core.losses import LossSource as LossSource
from dpregret.core.oracles import by_methods, value_at
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled

AHEAD = 64  # rounds whose directions are drawn together, where batches are shorter
BLOCK = 256  # rounds whose other random numbers are drawn together: part of the definition of a run's random numbers
TINY = 1e-300  # smallest divisor


@dataclass(frozen=True)
class BanditProblem:
    """The problem that a learner receives before the first round.

    horizon: T. lipschitz: L, of every loss in l2 norm. Losses are non-negative and vanish somewhere on the set, so that
    within a distance zeta of it they lie in [0, L (diameter + zeta)]; observed values are clipped to that range and
    privacy never depends on the losses. linear: every loss is affine. arms: besides, the set is a simplex, and losses
    lie in [0, 1] at its vertices.
    """

    domain: ConstraintSet
    horizon: int
    lipschitz: float
    linear: bool = False
    arms: bool = False


class Given(NamedTuple):
    """The inputs of a play.

    directions, noise: one generator a run each; directions drive perturbations, noise the mechanism. advance: receives
    the number of rounds done since it was last called.
    """

    losses: LossSource
    directions: Sequence[np.random.Generator]
    noise: Sequence[np.random.Generator]
    advance: Callable[[int], None] = lambda rounds: None


@dataclass(frozen=True)
class Record:
    """The record of a play.

    losses: cumulative loss of the played points, (settings, runs). clipped: share of observed values outside the
    declared range, (settings, runs). displacement: mean distance, in radii of the set, by which noise alone moves the
    unconstrained point, (settings,). violation: largest distance-like constraint violation of the points the learner
    holds (perturbations excluded).
    """

    losses: Array
    clipped: Array
    displacement: Array
    violation: float


def are_compiled(losses: LossBatch, oracle: Any = value_at) -> bool:
    """Whether losses are of a kind that compiled rounds evaluate by themselves."""
    return getattr(losses, "kind", None) in oracle.kinds


class OneRound:
    """The losses of one round that have methods only, evaluated by columns: all runs of a setting, or of several."""

    def __init__(self, losses: LossBatch, runs: int):
        self.losses, self.runs = losses, runs

    def value(self, points: Array) -> Array:
        """Losses (1, columns) of points (1, columns, d)."""
        rows = points.reshape(-1, self.runs, 1, points.shape[-1])
        return np.asarray(self.losses.value(rows), dtype=np.float64).reshape(1, -1)


class BanditLearner(BaseLearner):
    """Plays all settings and runs together. Budget(inf) is the non-private counterpart in the same code.

    `plan` is the noise of its prefix sums, where it has some.
    """

    plan: NoisePlan | None = None
    apart: float = 0.0
    """CPU seconds of its play that were not part of the rounds: for compiling, and for the price of an oracle."""
    exploration: float = 0.0
    """Distance from the set at which it requests losses, by its definition."""
    ahead: int = BLOCK
    """Most rounds that `pieces` requests together; no result depends on it."""

    def __init__(self, problem: BanditProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        for need, served in (("linear", problem.linear), ("arms", problem.arms)):
            if need in self.card.needs and not served:
                raise ValueError(f"{self.card.name} needs {need} losses")
        self.problem, self.domain = problem, problem.domain
        self.horizon, self.lipschitz = problem.horizon, problem.lipschitz
        self.ready: set[Any] = set()
        self.prepare()

    @abstractmethod
    def play(self, inputs: Given) -> Record:
        """Play the whole horizon."""

    def pieces(self, inputs: Given) -> Iterator[tuple[int, LossBatch]]:
        """Losses of the next rounds, all within one block, and the number of rounds before them."""
        done, most = 0, 1
        while done < self.horizon:
            losses = inputs.losses(min(most, BLOCK - done % BLOCK, self.horizon - done))
            yield done, losses
            most = self.ahead if are_compiled(losses) else 1
            done += losses.rounds
            inputs.advance(losses.rounds)

    def as_columns(self, losses: LossBatch, columns: int) -> tuple[Any, tuple[Array, ...], tuple[Array, ...]]:
        """Losses as `as_columns` has them for so many columns; those of a single round where they have methods only."""
        if are_compiled(losses):
            known = cast(Losses, losses)
            return as_columns(known.kind, known.laid(), known.shared, columns)
        self.round = OneRound(losses, self.runs)  # kept alive while its number is in use
        return by_methods(self.round), (np.zeros((1, self.runs)),), NO_ROWS

    def compiled_apart(self, loop: Any, *idle: Any) -> Any:
        """The loop, after a call on no rounds that compiles it, whose time is counted apart."""
        if loop not in self.ready:
            started = process_time()
            loop(*idle)
            self.ready.add(loop)
            self.apart += process_time() - started
        return loop

    def bound(self) -> list[float]:
        """Explicit bound on the expected regret of each setting; NaN where none is known."""
        return [math.nan] * len(self.budgets)

    def ledger(self) -> Sequence[Release]:
        """Of all nodes that hold a loss."""
        return self.plan.releases() if self.plan is not None else []


class Directions:
    """Directions uniform on the unit sphere, of `rounds` rounds in all; drawn ahead where batches are short.

    A run draws from its own generator, round by round, so results do not depend on how rounds are cut into pieces.
    """

    def __init__(self, generators: Sequence[np.random.Generator], dimension: int, rounds: int, batch: int):
        self._noise, self.remaining = UnitNoise("gaussian", generators, dimension), rounds
        self.ahead = AHEAD if batch < AHEAD else 0
        self._ahead = np.empty((len(generators), 0, dimension))

    def take(self, rounds: int) -> Array:
        """Those of the next rounds, (runs, rounds, n)."""
        missing = rounds - self._ahead.shape[1]
        if missing > 0:
            fresh = _on_sphere(self._noise(min(max(missing, self.ahead), self.remaining)))
            self.remaining -= fresh.shape[1]
            self._ahead = np.concatenate([self._ahead, fresh], axis=1) if self._ahead.size else fresh
        taken, self._ahead = self._ahead[:, :rounds], self._ahead[:, rounds:]
        return without_gaps(taken)


def unit_sphere(generators: Sequence[np.random.Generator], rounds: int, dimension: int) -> Array:
    """Directions uniform on the unit sphere, (runs, rounds, n); a run draws from its own generator, round by round."""
    return _on_sphere(UnitNoise("gaussian", generators, dimension)(rounds))


def _on_sphere(normals: Array) -> Array:
    """Normals (rounds, runs, n) -> (runs, rounds, n)."""
    sphere = np.ascontiguousarray(normals.swapaxes(0, 1))
    normalise(sphere)
    return sphere


@compiled
def normalise(normals: Array) -> None:
    """Divide the rows of (runs, rounds, n) by their lengths, in place."""
    runs, rounds, dimension = normals.shape
    for run in range(runs):
        for now in range(rounds):
            square = 0.0
            for j in range(dimension):
                square += normals[run, now, j] * normals[run, now, j]
            length = np.sqrt(square)
            for j in range(dimension):
                normals[run, now, j] = normals[run, now, j] / length
