"""Bandits: released are the points around which the learner plays, and the directions that it tries.

That is more than the played points: it is what the proofs of privacy give away (of K arms: the noisy means of batches).
Neighbours differ in one observed number: its smallest or its largest admissible value (what is beyond is clipped). It
enters along the direction of its own round, so the audit uses all later points along that direction.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from dpregret.algorithms.bandits.bandit_learner import BanditLearner, BanditProblem, Directions, Given
from dpregret.algorithms.bandits.batched_arms import BatchedArms
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit
from dpregret.algorithms.bandits.noisy_leader import NoisyLeader
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Joint, NoisePlan
from dpregret.core.losses import Losses, LossSource
from dpregret.datasets.bandit_streams import affine
from dpregret.datasets.source import Generators
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit import neighbours

EXTREME = 1e6
PIECE = 2000
"""Runs that are played together, so that what they hold stays in the processor's cache."""
TELLING = np.unique([*range(16), *(2**k - 1 for k in range(12))])
"""Sums that the audit uses: the first sixteen, then those of a single tree node."""


class Numbers:
    """Losses that do not depend on the point, one number a round; played points are recorded."""

    def __init__(self, numbers: Array) -> None:
        self.rest, self.batch = numbers, numbers[:0]
        self.played: list[Array] = []

    def __call__(self, rounds: int) -> Numbers:
        """The next rounds: these losses are their own batch."""
        self.batch, self.rest = self.rest[:rounds], self.rest[rounds:]
        return self

    @property
    def rounds(self) -> int:
        """Of the batch."""
        return len(self.batch)

    def value(self, points: Array) -> Array:
        """(settings, runs, rounds)."""
        self.played.append(points[0])
        return np.broadcast_to(self.batch, points.shape[:-1])


class AuditedBandit(neighbours.Audited):
    """One learner on the unit disc, or with two arms; the first number is replaced."""

    usual_rounds = 25

    def make(self, runs: int) -> BanditLearner:
        arms = "arms" in self.learner_class.card.needs
        problem = BanditProblem(make_set("simplex" if arms else "ball", 2), self.rounds, 1.0, linear=True, arms=arms)
        return self.learner_class(problem, [self.budget], runs, self.variant)

    def inspect(self, learner: Any) -> None:
        self.gaussian = isinstance(learner, NoisyLeader) and learner.distribution == "gaussian"
        if isinstance(learner, NoisyLeader) and any(learner.plan.scales):
            sums = learner.batches - 1 - learner.lag
            self.exact = neighbours.exact_epsilon(learner.plan, sums, range(1, sums + 1), self.budget)
        elif learner.pure:
            self.exact = self.accounted  # every number is released once, with Laplace noise

    def pairs(self, runs: int) -> Iterator[neighbours.Pair]:
        """Three surroundings of the first number: smallest, middle and largest admissible ones."""
        for number, (name, around) in enumerate({"small": -EXTREME, "middle": 1.0, "large": EXTREME}.items()):
            inputs = [self._numbers(value, around) for value in (-EXTREME, EXTREME)]
            yield self.pair(number, f"the first number replaced among {name} ones", inputs, runs)

    def _numbers(self, first: float, others: float) -> Array:
        return np.array([first] + [others] * (self.rounds - 1))

    def reached(self) -> float:
        """For leaders: the points of all rounds along the first direction."""
        learner = self.make(1)
        if not isinstance(learner, NoisyLeader) or not any(learner.plan.scales):
            return math.nan
        labels = (*self.seed, 2, 0), (*self.seed, 3)
        first: list[Array] = []

        def played(noise_plan: NoisePlan, turned: bool) -> Array:
            copy: Any = self.make(neighbours.BOTH_SCALES)
            copy.plan, drawn = noise_plan, directions_of(copy)
            numbers = self._numbers(EXTREME if turned else -EXTREME, 1.0)
            points = points_of(copy, numbers, *map(neighbours.watched_generators, labels))
            tried = np.concatenate(drawn, axis=1)
            first[:] = [tried[:, 0]]
            return np.asarray(np.einsum("rtn,rn->tr", points, tried[:, 0] @ copy.basis.T))

        def move(_: Array) -> Array:
            return np.broadcast_to(learner.leaf_sensitivity() * first[0], (learner.batches, *first[0].shape))

        return neighbours.share(learner.plan, played, move)

    def transcript(self, numbers: Array, runs: int, seed: Sequence[int]) -> Array:
        """Transcripts of pieces of the runs, each by its own generators."""
        pieces = [
            self._some(numbers, min(PIECE, runs - first), (*seed, first), (*self.seed, 2, first))
            for first in range(0, runs, PIECE)
        ]
        return np.concatenate(pieces)

    def _some(self, numbers: Array, runs: int, seed: Sequence[int], directions: Sequence[int]) -> Array:
        """directions: the same seed in all inputs."""
        learner = self.make(runs)
        public, noise = (neighbours.generators(label, runs) for label in (directions, seed))
        if isinstance(learner, BatchedArms):
            return estimates(learner, numbers, public, noise)
        drawn = directions_of(learner) if isinstance(learner, NoisyLeader) else []
        points = points_of(learner, numbers, public, noise)
        if isinstance(learner, NoisyLeader):
            begun, tried = slice(None, None, learner.batch), np.concatenate(drawn, axis=1)
            points, sphere = around(learner, points[:, begun], tried[:, begun])
            first = sphere[:, 0]
        else:
            first = points[:, 0] / np.linalg.norm(points[:, 0], axis=1, keepdims=True)
        later = points[:, 1:]
        return neighbours.along_tree(np.einsum("rtn,rn->rt", later[:, TELLING[later.shape[1] > TELLING]], first))


class Kept:
    """Directions that are kept as they are drawn."""

    def __init__(self, sphere: Directions, tried: list[Array]):
        self.sphere, self.tried = sphere, tried

    def take(self, rounds: int) -> Array:
        """Those of the next rounds, (runs, rounds, n)."""
        self.tried.append(self.sphere.take(rounds))
        return self.tried[-1]


def directions_of(learner: NoisyLeader) -> list[Array]:
    """The points that the learner will try from now on, piece by piece, (runs, rounds, n); the list fills while it
    plays."""
    tried: list[Array] = []
    # a learner that held itself would keep its arrays until cycles are looked for, which jobs seldom do: gigabytes
    make_directions = partial(type(learner).directions, weakref.proxy(learner))
    vars(learner)["directions"] = lambda *of_what: Kept(make_directions(*of_what), tried)
    return tried


def around(learner: NoisyLeader, played: Array, tried: Array) -> tuple[Array, Array]:
    """The points around which was played, and the directions, (runs, rounds, 2).

    played: points (runs, rounds, 2). tried: their directions in the hull, (runs, rounds, n).
    """
    sphere = tried @ learner.basis.T
    return played - learner.zetas[0] * sphere, sphere


def by_text(numbers: Array, dimension: int) -> LossSource:
    """Losses that do not depend on the point, one number a round, for compiled rounds."""
    remaining, blind = iter(range(len(numbers))), np.zeros((len(numbers), dimension))

    def following(rounds: int) -> Losses:
        return affine(np.array([list(islice(remaining, rounds))]), blind, numbers, rounds)

    return following


def points_of(learner: BanditLearner, numbers: Array, directions: Generators, noise: Generators) -> Array:
    """The points that are played, (runs, rounds, 2)."""
    if isinstance(learner, PrivateLinearBandit):
        points: list[Array] = []
        learner.ahead = 1
        watched = lambda rounds: points.append(learner.played[0].copy())  # noqa: E731
        learner.play(Given(by_text(numbers, 2), directions, noise, watched))
        return np.stack(points, axis=1)
    source = Numbers(numbers)
    learner.play(Given(source, directions, noise))
    return np.concatenate(source.played, axis=1)


def estimates(learner: BatchedArms, numbers: Array, coins: Joint, noise: Joint) -> Array:
    """The noisy means of all batches but the last, (runs, batches - 1): what S gains, without its weight 1/p."""
    sums: list[Array] = []
    chances: list[Array] = []

    def watched(rounds: int) -> None:
        sums.append(learner.sums[0].sum(axis=-1))
        chances.append(learner.chances[0].copy())

    learner.ahead = 1
    learner.play(Given(by_text(numbers, 2), coins, noise, watched))
    ends = slice(int(learner.lengths[0]) - 1, len(numbers) - 1, int(learner.lengths[0]))
    gained = np.diff(np.stack(sums, axis=1)[:, ends], axis=1, prepend=0.0)
    return gained * np.stack(chances, axis=1)[:, ends]
