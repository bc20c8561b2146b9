"""Points of a set that stay for long, or for whole batches as with L2P and the dartboard on a net: what they share."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from dpregret.algorithms.experts.batched_dartboard import tuned
from dpregret.algorithms.experts.shrinking_dartboard import Tuning, affordable
from dpregret.algorithms.learner import Learner, Setting
from dpregret.numerics.arrays import Array

Plan = TypeVar("Plan", bound=Tuning)


TOGETHER = 64
"""Rounds whose losses are evaluated, or counted, together."""


class StayingPoints(Learner):
    """Base of learners whose points move rarely, run by run."""

    moved = 0
    """The round after which a run last moved."""

    @property
    def fixed_rounds(self) -> int:
        """As many as since a run last moved."""
        return max(1, min(TOGETHER, self.round - self.moved))

    def go(self, setting: int, run: int, point: Array) -> None:
        """One run moves to a point, (d,)."""
        self.point, self.moved = self.point.copy(), self.round
        self.point[setting, run] = point


class KeptPoints(StayingPoints):
    """Base of both: one tuning (B, p, eta) a setting, whose ledger prices the decisions and the draws at delta > 0."""

    plans: Sequence[Tuning]

    def prepare(self) -> None:
        self.unit, self.center = self.lipschitz * self.domain.diameter, self.domain.center()
        for setting in self.settings:
            if setting.budget.delta == 0 and math.isfinite(setting.budget.epsilon):
                raise ValueError(f"{self.card.name} needs delta > 0")

    def tuned(self, setting: Setting, points: int, kind: type[Plan]) -> Plan:
        """The tuning of the smallest guarantee for so many experts. Raises ValueError where none is affordable."""
        epsilon, delta = setting.budget.epsilon, setting.budget.delta
        inputs: tuple[int, int, float, float, Any] = (self.horizon, points, epsilon, delta, kind)
        if not affordable(*inputs):
            raise ValueError(f"{self.card.name}: epsilon = {epsilon:g} leaves no switch in {self.horizon} rounds")
        plan = tuned(*inputs)
        assert isinstance(plan, kind), "affordable"
        return plan

    @property
    def pure(self) -> bool:
        """Never: draws are priced at delta."""
        return False

    def delivered_epsilon(self) -> list[float]:
        """Of the decisions and the draws, whichever way the parameters were chosen."""
        return [self.epsilon_at(setting.budget.delta)[number] for number, setting in enumerate(self.settings)]

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta > 0."""
        return [
            math.inf if math.isinf(setting.budget.epsilon) else plan.price(self.horizon, delta)
            for plan, setting in zip(self.plans, self.settings, strict=True)
        ]


def clipped(value: Array, base: Array, unit: float) -> Array:
    """(f - f(c)) / unit, clipped to [-1/2, 1/2]."""
    return np.clip((value - base) / unit, -0.5, 0.5)
