"""How much of the plan's noise reaches what is played.

What is released of sums is a function of (sum + noise). So a loss that moves the sum by v from its round on, and noise
that is v larger from that round on, lead to the same points: the learner cannot tell them apart. Both are played with
the same draws. A learner that adds half of its noise answers the second move half as much as the first: 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpregret.algorithms.privacy import NoisePlan
from dpregret.algorithms.privacy.prefix_sums import BLOCK
from dpregret.numerics.arrays import Array

RUNS = 64
FEWEST = 8
"""Runs that must carry information in a round."""
TELLING = 1e-6
"""A smaller move of a point, as a share of the largest one, carries no information."""
QUIET = 0.1
"""Scale of small noise, in units of the sensitivity: that of the plan may drive all points to the boundary."""
NOTHING = np.zeros((0, 1, 1))


@dataclass(frozen=True)
class Moved(NoisePlan):
    """A plan whose draws are `factor` times as large, and then moved by `shift`, (rounds, runs, d)."""

    factor: float = 1.0
    shift: Array = field(default_factory=lambda: NOTHING)

    @classmethod
    def of(cls, plan: NoisePlan, factor: float, shift: Array = NOTHING) -> Moved:
        """The plan of a learner with one setting."""
        return cls(plan.distribution, plan.mechanisms, plan.scales, plan.sensitivity, plan.dimension, factor, shift)

    def correlated(self, generators: Sequence[np.random.Generator], rounds: int = BLOCK) -> Iterator[list[Array]]:
        """The blocks before they are scaled."""
        first = 0
        for (units,) in super().correlated(generators, rounds):
            moved, part = self.factor * units, self.shift[first : first + rounds]
            moved[: len(part)] += part / self.scales[0]
            first += rounds
            yield [moved]


def share(plan: NoisePlan, play: Callable[[NoisePlan, bool], Array], move: Callable[[Array], Array]) -> float:
    """Of the plan's noise: the worst over rounds of the median over runs; NaN where no round carries information.

    Once with the noise of the plan and once with small noise. play: (plan, whether the loss is turned) -> what is
    played, (rounds, runs). move: what the turned loss moves, (rounds, runs, d), given what is played without.
    """
    if not plan.scales[0] > 0:
        return math.nan
    found = [math.nan]
    for factor in (1.0, QUIET * plan.sensitivity / plan.scales[0]):
        quiet = Moved.of(plan, factor)
        still = play(quiet, False)
        turned, moved = play(quiet, True) - still, play(Moved.of(plan, factor, move(still)), False) - still
        telling = np.abs(turned) > TELLING * max(np.abs(turned).max(), TELLING)
        for now in np.flatnonzero(telling.sum(axis=1) >= FEWEST):
            each = telling[now]
            found.append(float(np.median(moved[now, each] / turned[now, each])))
    return worst(found)


def worst(shares: Sequence[float]) -> float:
    """The one that is farthest from 1; NaN where there is none."""
    told = [each for each in shares if not math.isnan(each)]
    return max(told, key=lambda each: abs(each - 1), default=math.nan)
