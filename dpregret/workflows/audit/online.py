"""Online learners with full information: released are the points x_1..x_T of all rounds, on an interval.

Neighbours differ in one loss, whose gradient is as far from the other's as losses of this kind allow. The losses
around it pull to both sides in turn, so that points stay inside the interval and reveal as much as possible. The last
loss has no successor, so the protected ones are those of rounds T - W..T - 1, all where nothing is forgotten. T is odd
and no whole number of windows, of which it has more than two. Learners that switch get two switches and
a low threshold, as switchers among experts do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Learner, Loss, Problem, Setting, play
from dpregret.algorithms.online.blocked_descent import PrivateBlockedDescent
from dpregret.algorithms.online.pocp import PocpIgd
from dpregret.algorithms.online.private_switching import SwitchingLearner
from dpregret.algorithms.privacy import Budget, NoisePlan
from dpregret.datasets.losses import DirectionKink, DirectionSquare, Quadratic, RidgeSquared
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit import reached
from dpregret.workflows.audit.neighbours import Pair, along_tree, exact_epsilon, generators
from dpregret.workflows.audit.switching import restless

MU, FLAT = 0.25, 0.05
WINDOW = 8
QUIET = 0.01
"""Of the sensitivity: a move of the noise of one round that leaves most points inside."""
SOME_WINDOWS = 3 * WINDOW - 5
"""Rounds of learners that forget: an item's window ends in another one than it began in, and not where that ends."""


def _kink(side: float) -> Any:
    return DirectionKink(np.ones(1), np.full(1, side), MU)


def _quadratic(side: float) -> Any:
    return Quadratic(np.full(1, side), 1.0)


def _flat(side: float) -> Any:
    return Quadratic(np.full(1, side / FLAT), FLAT)


def _squared(side: float) -> Any:
    """Features beside the label decide: (v, y) = (1, +-1), and (0, 0) between them."""
    return RidgeSquared(np.full(1, abs(side)), np.array(side), MU)


def _square(side: float) -> Any:
    """Its sums are quadratic forms, run by run."""
    return DirectionSquare(np.ones((1, 1)), np.full(1, side), 1.0)


@dataclass(frozen=True)
class Losses:
    """Losses that pull to a side, their constants on [-1, 1], and how far a turn moves what is summed."""

    make: Callable[[float], Loss]
    lipschitz: float
    strong_convexity: float
    smoothness: float
    turn: float


LOSSES: Mapping[str, Losses] = MappingProxyType(
    {
        "kink": Losses(_kink, 1 + 2 * MU, MU, math.inf, 2 + 2 * MU),
        "quadratic": Losses(_quadratic, 2.0, 1.0, 1.0, 2.0),
        "flat": Losses(_flat, 1 + FLAT, FLAT, FLAT, 2.0),
        "square": Losses(_square, 2.0, 0.0, 1.0, 2.0),
        "squared": Losses(_squared, 2 + MU, MU, 1 + MU, 2.0),
    }
)


class AuditedOnline:
    """A learner that protects the last `window` losses at its last point. Raises what the learner raises."""

    def __init__(
        self, learner_class: type[Learner], variant: str, epsilon: float, delta: float, losses: str, horizon: int,
        window: int, seed: Sequence[int],
    ):  # fmt: skip
        self.learner_class, self.variant, self.seed, self.horizon = learner_class, variant, seed, horizon
        chosen = LOSSES[losses]
        self.make = chosen.make
        # L* is public; that of switchers is 0, so that points are left and draws depend on the losses
        best = 0.0 if issubclass(learner_class, SwitchingLearner) else float(horizon)
        self.problem = Problem(
            make_set("ball", 1), horizon, chosen.lipschitz, chosen.strong_convexity, chosen.smoothness, best_loss=best
        )
        self.settings = [Setting(window, Budget(epsilon, delta))]
        self.oldest = max(1, horizon - window)
        learner = self._learner(1)
        self.claimed, self.delta = epsilon, 0.0 if learner.pure else delta
        self.accounted = learner.delivered_epsilon()[0]
        self.exact = math.nan
        plan = learner.noise_plan
        if plan is not None and not isinstance(learner, PocpIgd):  # whose hidden points move by an unknown amount
            protected, attained = range(self.oldest, horizon), chosen.turn / plan.sensitivity
            self.exact = exact_epsilon(plan, horizon - 1, protected, self.settings[0].budget, attained)
        self.gaussian = learner.noise_plan is not None and learner.noise_plan.distribution == "gaussian"

    def _learner(self, runs: int) -> Learner:
        learner = self.learner_class(self.problem, self.settings, runs, self.variant)
        if isinstance(learner, SwitchingLearner):
            learner.plans = [restless(plan) for plan in learner.plans]
        return learner

    def pairs(self, runs: int) -> Iterator[Pair]:
        """The oldest protected loss, the middle one and the last one are replaced."""
        first = self._transcripts(self._sides(), runs, (*self.seed, 0))
        for name, place in self._places().items():
            turned = self._sides(place)
            yield Pair(f"the {name} loss replaced", first, self._transcripts(turned, runs, (*self.seed, place)))

    def _places(self) -> dict[str, int]:
        return {"oldest": self.oldest, "middle": (self.oldest + self.horizon) // 2, "last": self.horizon - 1}

    def _sides(self, turned: int = 0) -> Array:
        rounds = np.arange(1, self.horizon + 1)
        return np.where((rounds % 2 == 1) != (rounds == turned), 1.0, -1.0)

    def _transcripts(self, sides: Array, runs: int, seed: Sequence[int]) -> Array:
        points = self._points(self._learner(runs), sides, seed)
        return along_tree(np.stack([now * each for now, each in enumerate(points) if now], axis=1))

    def _points(self, learner: Learner, sides: Array, seed: Sequence[int]) -> Array:
        """Played in all rounds, (rounds, runs)."""
        watched = [_Watched(self.make(each)) for each in sides]
        play(learner, watched, generators(seed, learner.runs), [self.horizon])
        return np.stack([each.points[0, :, 0] for each in watched])

    def reached(self) -> float:
        """See reached.py. Of hidden points with noise of their own: what a move of the noise of one round does."""
        plan = self._learner(1).noise_plan
        if plan is None:
            return math.nan
        return reached.worst([self._reached(plan, place) for place in self._places().values()])

    def _reached(self, plan: NoisePlan, place: int) -> float:
        seed, runs = (*self.seed, 1, place), reached.RUNS
        hidden = isinstance(self._learner(1), PocpIgd)
        before, after = (self.make(self._sides(turned)[place - 1]) for turned in (0, place))

        def played(used: NoisePlan, turned: bool) -> Array:
            learner = self._learner(runs)
            learner.noise_plan = used
            points = self._points(learner, self._sides(place * (turned and not hidden)), seed)
            if hidden and turned:  # where the point is inside, its noise moves it
                inside = np.abs(points[place]) < 1 - reached.TELLING
                points[place, inside] = np.minimum(points[place, inside] + plan.sensitivity * QUIET / place, 1.0)
            return points

        def move(points: Array) -> Array:
            shift = np.zeros((self.horizon, runs, plan.dimension))
            if hidden:
                shift[place - 1] = plan.sensitivity * QUIET
            else:
                at, first = points[place - 1][None, :, None], _noised_in(self._learner(1), place) - 1
                sign = 1 if plan.dimension == 1 else -1  # a quadratic form is summed beside its response
                shift[first:, :, -1] = sign * (after.gradient(at) - before.gradient(at))[0, :, 0]
            return shift

        return reached.share(plan, played, move)


def _noised_in(learner: Learner, place: int) -> int:
    """The round whose noise a loss gets: the last of its block, where sums of blocks are noised."""
    if isinstance(learner, PrivateBlockedDescent) and learner.variant == "per-block":
        return -(-place // learner.length) * learner.length
    return place


class _Watched:
    """A loss of one round that remembers where it was evaluated first: at the point played."""

    def __init__(self, loss: Loss):
        self.loss = loss
        self.points = np.empty(0)

    def __getattr__(self, name: str) -> object:
        return getattr(self.loss, name)

    def value(self, points: Array) -> Array:
        """As the loss."""
        return self.loss.value(points)

    def gradient(self, points: Array) -> Array:
        """As the loss."""
        return self.loss.gradient(points)

    def prox(self, points: Array, step: float) -> Array:
        """As the loss."""
        return self.loss.prox(points, step)

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """As the loss; the first points are kept."""
        if not self.points.size:
            self.points = points.copy()
        return self.loss.value_and_gradient(points)
