"""Checks of a learner and of its play, before a row is written. All raise LearnerFault."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpregret.core.checks import LearnerFault, check_inside, finite, numbers

if TYPE_CHECKING:
    from dpregret.algorithms.learner import BaseLearner, Spent
    from dpregret.core.losses import LossBatch, LossSource
    from dpregret.numerics.arrays import Array

LARGEST_HELD = 2**16  # numbers of an array whose content is compared before and after a play
ROUNDING = 1e-9


class Accounts(NamedTuple):
    """The ledger of a learner: its lines (one a setting, or none), delivered epsilons, scales and mu, (settings,)."""

    lines: list[Spent]
    delivered: Array
    scales: Array
    mus: Array


def accounts(learner: BaseLearner, summed: bool = False) -> Accounts:
    """The privacy that a learner states; NaN for scales and mu where it has no ledger.

    summed: what is released are sums with noise, so that it costs at least what the lines say (sampling of records,
    which makes a release cheaper, is not known there).
    """
    settings = len(learner.budgets)
    lines = list(learner.ledger())
    if len(lines) not in (0, settings):
        raise LearnerFault(f"ledger: {len(lines)} lines, expected one a setting, {settings}")
    unknown, plan = np.full(settings, math.nan), getattr(learner, "noise_plan", None)
    scales = finite("noise scale", [line.scale for line in lines], (settings,), 0.0) if lines else unknown
    if lines and plan is not None and list(plan.scales) != scales.tolist():
        raise LearnerFault(f"its ledger says noise of scale {scales.tolist()}, but it draws {list(plan.scales)}")
    parameters = [line.mu() if hasattr(line, "mu") else math.nan for line in lines]
    mus = numbers("mu", parameters, (settings,), 0.0, unknown=True) if lines else unknown
    delivered = numbers("delivered epsilon", learner.delivered_epsilon(), (settings,), 0.0)
    if summed and lines:
        for said, line, budget in zip(delivered, lines, learner.budgets, strict=True):
            least = line.epsilon(budget.delta)
            if not said >= least * (1 - ROUNDING):
                raise LearnerFault(f"delivered epsilon: {said:.6g}, but its ledger says at least {least:.6g}")
    return Accounts(lines, delivered, scales, mus)


@contextmanager
def untouched(**given: Any) -> Iterator[None]:
    """Raise LearnerFault where numbers or small arrays of what a learner was given are others after its play."""
    before = {name: _content(item) for name, item in given.items()}
    yield
    for name, item in given.items():
        now = _content(item)
        changed = [key for key, value in before[name].items() if now.get(key) != value]
        if changed:
            raise LearnerFault(f"it changed {changed[0]!r} of the {name} that it was given")


def _content(item: Any) -> Mapping[str, Any]:
    """Attributes of an object that are numbers, words or arrays, as values that can be compared."""
    found: dict[str, Any] = {}
    for name, value in getattr(item, "__dict__", {}).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            part = value if value.size <= LARGEST_HELD else value.reshape(-1)[:LARGEST_HELD]
            found[name] = value.shape, part.tobytes()
        elif isinstance(value, (bool, int, float, str)):
            found[name] = repr(value)
    return found


class CheckedSource:
    """Where a bandit requests losses: counts its rounds, and looks at points now and then.

    domain, beyond: the set, and by how much points may leave it. Losses that have a
    text are played in compiled code, whose learners are looked at where they report.
    """

    def __init__(self, source: LossSource, horizon: int, domain: Any, beyond: float, advance: Callable[[int], None]):
        self.source, self.horizon, self.domain, self.beyond, self.report = source, horizon, domain, beyond, advance
        self.asked = self.done = self.looked = 0

    def __call__(self, rounds: int) -> CheckedBatch:
        """The next rounds."""
        self.asked += rounds
        if self.asked > self.horizon:
            raise LearnerFault(f"it asked for {self.asked} rounds of {self.horizon}")
        return CheckedBatch(self, self.source(rounds))

    def advance(self, rounds: int) -> None:
        """Rounds that the learner says it has played, no more than there are."""
        self.done += rounds
        if not 0 <= rounds <= self.done <= self.horizon:
            raise LearnerFault(f"it told of {self.done} rounds played, of {self.horizon}")
        self.report(rounds)

    def look(self, points: Array) -> None:
        """Check the first round of a batch, in the calls 1, 2, 4, ... and every 64th."""
        self.looked += 1
        if self.looked & (self.looked - 1) and self.looked % 64:
            return
        if not isinstance(points, np.ndarray) or points.dtype != np.float64:
            raise LearnerFault("points: expected an array of float64")
        if points.ndim < 3 or points.shape[-1] != self.domain.dimension:
            raise LearnerFault(
                f"points: of shape {points.shape}, expected (..., runs, rounds, {self.domain.dimension})"
            )
        check_inside(points[..., :1, :], self.domain, self.beyond)

    def close(self) -> None:
        """Raise LearnerFault where the learner has left rounds out."""
        if self.asked != self.horizon:
            raise LearnerFault(f"it played {self.asked} rounds of {self.horizon}")


class CheckedBatch:
    """Losses of consecutive rounds; what compiled rounds need of them is there where it is in the batch."""

    def __init__(self, source: CheckedSource, batch: LossBatch):
        self.source, self.batch, self.rounds = source, batch, batch.rounds

    def value(self, points: Array) -> Array:
        """Losses of the points, which are looked at."""
        self.source.look(points)
        return self.batch.value(points)

    def __getattr__(self, name: str) -> Any:
        if name == "batch":
            raise AttributeError(name)
        return getattr(self.batch, name)
