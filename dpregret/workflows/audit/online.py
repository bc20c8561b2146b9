"""Online learners with full information: released are the points x_1..x_T of all rounds, on an interval.

The second audit, at another horizon, is on a disc, where a plan gives the noise: on an interval a learner that adds one
coordinate of it to all, or prices an l1 norm as an l2 one, is right. The losses of the disc lie along no axis.

Neighbours differ in one loss, whose gradient is as far from the other's as losses of this kind allow. The losses
around it pull to both sides in turn, so that points stay inside the interval and reveal as much as possible. The last
loss has no successor, so the protected ones are those of rounds T - W..T - 1, all where nothing is forgotten. T is odd
and no whole number of windows, of which it has more than two. Learners that switch get two switches and
a low threshold, as switchers among experts do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Learner, Loss, Problem, Setting, play
from dpregret.algorithms.online.blocked_descent import PrivateBlockedDescent
from dpregret.algorithms.online.pocp import PocpGiga, PocpIgd
from dpregret.algorithms.online.private_switching import SwitchingLearner
from dpregret.algorithms.privacy import NoisePlan
from dpregret.datasets.losses import DirectionKink, DirectionSquare, Quadratic, RidgeSquared
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit import neighbours
from dpregret.workflows.audit.experts import restless

MU, FLAT = 0.25, 0.05
WINDOW = 8
QUIET = 0.01
"""Of the sensitivity: a move of the noise of one round that leaves most points inside."""
LAST = 3
"""The round that is replaced at W = 1."""
OUTSIDE = 1 + 1e-9
"""Of [-1, 1]: where kinks are, so that the slope at its end is theirs."""
SOME_WINDOWS = 3 * WINDOW - 5
"""Rounds of learners that forget: an item's window ends in another one than it began in, and not where that ends."""


@dataclass(frozen=True)
class Losses:
    """Losses that pull to a side of a direction (d,), their constants on the unit ball, and how far a turn moves a sum.

    turn: in l2.
    """

    make: Callable[[Array, float], Any]
    lipschitz: float
    strong_convexity: float
    smoothness: float
    turn: float


LINE, PLANE = np.ones(1), np.array([0.8, 0.6])
"""Directions of all losses."""
ELSEWHERE = np.array([-0.06, 0.08])
"""In the plane, of the loss that stands for another while noise is followed: across all others, and a tenth as steep,
so that noise along gradients, or for gradients of one size, is not that of the plan."""
LOSSES: Final[Mapping[str, Losses]] = {
    "kink": Losses(lambda along, side: DirectionKink(along, side * along, MU), 1 + 2 * MU, MU, math.inf, 2 + 2 * MU),
    "quadratic": Losses(lambda along, side: Quadratic(side * along, 1.0), 2.0, 1.0, 1.0, 2.0),
    "flat": Losses(lambda along, side: Quadratic(side / FLAT * along, FLAT), 1 + FLAT, FLAT, FLAT, 2.0),
    # its sums are quadratic forms, run by run
    "square": Losses(lambda along, side: DirectionSquare(along[None], side * along, 1.0), 2.0, 0.0, 1.0, 2.0),
    # features beside the label decide: (v, y) = (1, +-1), and (0, 0) between them
    "squared": Losses(lambda along, side: RidgeSquared(abs(side) * along, np.array(side), MU), 2 + MU, MU, 1 + MU, 2.0),
}


class AuditedOnline(neighbours.Audited):
    """A learner that protects the last `window` losses, or all, at its last point."""

    def prepare(self, special: neighbours.Special) -> None:
        windowed = self.learner_class.card.windowed
        self.rounds = special.rounds or (SOME_WINDOWS if windowed else neighbours.ROUNDS)
        window = WINDOW if windowed else self.rounds
        self.losses = LOSSES[special.losses]
        # L* is public; that of switchers is 0, so that points are left and draws depend on the losses
        best = 0.0 if issubclass(self.learner_class, SwitchingLearner) else float(self.rounds)
        constants = self.losses.lipschitz, self.losses.strong_convexity, self.losses.smoothness
        self.problem = Problem(make_set("ball", 1), self.rounds, *constants, best_loss=best)
        self.settings = [Setting(window, self.budget)]
        self.oldest = 1 if self.learner_class.card.permanent else max(1, self.rounds - window)
        self.along = self.elsewhere = LINE
        if self.again and self.make(1).noise_plan is not None:
            self._into_the_plane()

    def _into_the_plane(self) -> None:
        """Unless the learner refuses it."""
        line = self.problem
        self.problem = replace(line, domain=make_set("ball", 2))
        try:
            plan = self.make(1).noise_plan
        except ValueError:
            self.problem = line
        else:  # a learner that sums forms beside responses receives losses of one form
            self.along, self.elsewhere = PLANE, ELSEWHERE if plan is not None and plan.dimension == 2 else PLANE

    def make(self, runs: int) -> Learner:
        learner: Learner = self.learner_class(self.problem, self.settings, runs, self.variant)
        if isinstance(learner, SwitchingLearner):
            learner.plans = [restless(plan) for plan in learner.plans]
        return learner

    def inspect(self, learner: Any) -> None:
        plan = learner.noise_plan
        if plan is not None and not isinstance(learner, PocpIgd):  # whose hidden points move by an unknown amount
            # in the norm of the noise: all losses lie along one direction of length 1
            turn = self.losses.turn * (np.abs(self.along).sum() if plan.distribution == "laplace" else 1.0)
            protected, attained = range(self.oldest, self.rounds), turn / plan.sensitivity
            self.exact = neighbours.exact_epsilon(plan, self.rounds - 1, protected, self.budget, attained)
        self.gaussian = plan is not None and plan.distribution == "gaussian"

    def pairs(self, runs: int) -> Iterator[neighbours.Pair]:
        """The oldest protected loss, the middle one and the last one are replaced; all beside the same transcripts."""
        first = self.transcript(self._sides(), runs, (*self.seed, 0))
        for name, item in self._items().items():
            second = self.transcript(self._sides(item), runs, (*self.seed, item))
            yield neighbours.Pair(f"the {name} loss replaced", first, second)

    def played(self, sides: Array) -> list[Any]:
        """The losses of all rounds."""
        return [self.losses.make(self.along, side) for side in sides]

    def _items(self) -> dict[str, int]:
        return {"oldest": self.oldest, "middle": (self.oldest + self.rounds) // 2, "last": self.rounds - 1}

    def _sides(self, turned: int = 0) -> Array:
        rounds = np.arange(1, self.rounds + 1)
        return np.where((rounds % 2 == 1) != (rounds == turned), 1.0, -1.0)

    def transcript(self, sides: Array, runs: int, seed: Sequence[int]) -> Array:
        points = self._points(self.make(runs), self.played(sides), neighbours.generators(seed, runs)) @ self.along
        return neighbours.along_tree(np.stack([now * point for now, point in enumerate(points) if now], axis=1))

    def _points(self, learner: Learner, losses: Sequence[Any], sources: Sequence[np.random.Generator]) -> Array:
        """Played in all rounds, (rounds, runs, d)."""
        points: list[Array] = []

        def watched() -> Iterator[Loss]:
            for loss in losses:
                points.append(learner.point[0].copy())
                yield loss

        play(learner, watched(), sources, [self.rounds])  # which requests a loss after the round before it
        return np.stack(points)

    def closer(self) -> Iterator[neighbours.Audited]:
        """Pure window privacy that its ledger does not prove is audited at W = 1 too, where the noise is least."""
        if self.learner_class.card.windowed and not self.gaussian and self.accounted > self.claimed and not self.again:
            yield AuditedLast(self.learner_class, self.variant, self.budget, neighbours.Special(), (*self.seed, 1))

    def reached(self) -> float:
        """For hidden points with their own noise: the effect of a move of the noise of one round.

        A loss from before the first step of GIGA moves nothing, and no noise is played there: that step's loss stands
        for it.
        """
        learner = self.make(1)
        plan = learner.noise_plan
        if plan is None:
            return math.nan
        first = int(learner.state(0, 1).first) if isinstance(learner, PocpGiga) else 1
        return neighbours.worst(
            [self._reached(plan, item) for item in sorted({max(item, first) for item in self._items().values()})]
        )

    def _reached(self, plan: NoisePlan, item: int) -> float:
        seed, runs = (*self.seed, 1, item), neighbours.BOTH_SCALES
        hidden = isinstance(self.make(1), PocpIgd)
        losses, dimension, quiet = self.played(self._sides()), len(self.along), plan.sensitivity * QUIET * self.along
        if plan.dimension < dimension:  # some coordinates get no noise of their own
            return 0.0
        before, after = losses[item - 1], self.losses.make(self.elsewhere, self._sides(item)[item - 1])

        def played(noise_plan: NoisePlan, turned: bool) -> Array:
            """Each coordinate of each round is a row."""
            learner = self.make(runs)
            learner.noise_plan = noise_plan
            given = [*losses[: item - 1], after, *losses[item:]] if turned and not hidden else losses
            points = self._points(learner, given, neighbours.watched_generators(seed))
            if hidden and turned:  # where the point is inside, its noise moves it
                inside = np.linalg.norm(points[item], axis=1, keepdims=True) < 1 - neighbours.TELLING
                moved = self.problem.domain.project(points[item] + quiet / item)
                points[item] = np.where(inside, moved, points[item])
            return np.concatenate(np.moveaxis(points, -1, 0))

        def move(points: Array) -> Array:
            shift = np.zeros((self.rounds, runs, plan.dimension))
            if hidden:
                shift[item - 1] = quiet
            else:
                at, first = points[item - 1 :: self.rounds].T[None], _noised_in(self.make(1), item) - 1
                sign = 1 if plan.dimension == dimension else -1  # a quadratic form is summed beside its response
                shift[first:, :, -dimension:] = sign * (after.gradient(at) - before.gradient(at))[0]
            return shift

        return neighbours.share(plan, played, move)


class AuditedLast(AuditedOnline):
    """W = 1: the last protected loss is replaced after losses that push the point to the end of the interval.

    A learner with a linear oracle moves up and, by its regulariser, down again: its second loss has no kink.
    """

    def prepare(self, special: neighbours.Special) -> None:
        super().prepare(special)
        self.rounds, self.oldest = LAST + 1, LAST
        self.problem = replace(self.problem, horizon=self.rounds)
        self.settings = [Setting(1, self.budget)]

    def _items(self) -> dict[str, int]:
        return {"last": LAST}

    def _sides(self, turned: int = 0) -> Array:
        return np.where(np.arange(1, self.rounds + 1) == turned, -OUTSIDE, OUTSIDE)

    def played(self, sides: Array) -> list[Any]:
        losses = super().played(sides)
        if self.learner_class.oracle == "local":
            losses[1] = Quadratic(np.ones(1), MU)
        return losses

    def pairs(self, runs: int) -> Iterator[neighbours.Pair]:
        for pair in super().pairs(runs):
            yield replace(pair, name=f"{pair.name} after losses of one side, W = 1")


def _noised_in(learner: Learner, item: int) -> int:
    """The round whose noise a loss gets: the last of its block, where sums of blocks are noised."""
    if isinstance(learner, PrivateBlockedDescent) and learner.variant == "per-block":
        return -(-item // learner.length) * learner.length
    return item
