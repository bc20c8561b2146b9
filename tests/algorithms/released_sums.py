"""What learners release that meet fresh records once: noisy sums of gradients that are known, or averages of points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from released import BUDGET, DIMENSION, ROUNDS, RUNS, Array, Released, Steered, silent

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.one_pass_ftrl import OnePassLeader
from dpregret.algorithms.erm.online_to_batch import OnlineToBatch
from dpregret.algorithms.erm.phased_sgd import PhasedSgd
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy.audit import materialise
from dpregret.workflows.audit.erm import DIMENSION as SLOPE_DIMENSION
from dpregret.workflows.audit.erm import FRESH_SAMPLES, LinearSample
from dpregret.workflows.families.base import generators


class Silence:
    """Records without a gradient."""

    samples, lipschitz, smoothness, left = ROUNDS, 2.0, 0.5, ROUNDS
    dimension = DIMENSION

    def stream(self) -> Silence:
        return self

    def take(self, count: int) -> Any:
        return np.zeros((1, 1, count, DIMENSION))

    def gradients(self, points: Any, records: Any) -> Any:
        return np.zeros_like(points)


def online_to_batch(kind: Any, variant: str) -> Released:
    """Charges of rounds 1..n-1 are noise alone, in units of the items."""
    domain = make_set("ball", DIMENSION)
    learner = kind(ErmProblem(domain, Silence()), [BUDGET], RUNS, variant)  # type: ignore[arg-type]
    online, charged = learner.learner(), []
    observe = online.observe

    def observed(loss: Any, gradient: Any, noise: Any) -> None:
        charged.append(loss.slope[0] * learner.units[0])
        observe(loss, gradient, noise)

    online.observe = observed
    learner.learner = lambda: online
    learner.fit(generators(7, "noise", RUNS))
    plan = learner.noise_plan
    law = plan.scales[0] * materialise(plan.mechanisms[0], ROUNDS - 1)
    return Released(np.array(charged), law, plan.releases()[0], np.tri(ROUNDS - 1))


class Unbounded(Steered):
    """A set that keeps what is projected, and where every point stays."""

    def project(self, asked: Array) -> Array:
        self.asked.append(asked.copy())
        return asked


def asked_of(
    kind: Any, variant: str, domain: Steered, places: Sequence[int] = (), side: float = 0.0, noisy: bool = False
) -> tuple[Any, Array]:
    """The learner and what it projects, (times, runs, d), where records have no gradient, those at `places` one of
    length L.
    """
    slopes = np.zeros((FRESH_SAMPLES, SLOPE_DIMENSION))
    slopes[list(places), 0] = side * LinearSample.lipschitz
    runs = RUNS if noisy else 1
    learner = kind(ErmProblem(make_set("ball", SLOPE_DIMENSION), LinearSample(slopes, runs)), [BUDGET], runs, variant)
    learner.domain = domain
    if not noisy and learner.noise_plan is not None:
        learner.noise_plan = silent(learner.noise_plan)
    elif not noisy:
        learner.scales = np.zeros(1)
    learner.fit(generators(7, "noise", runs))
    return learner, np.array(domain.asked)[:, 0]


def one_pass_leader(kind: Any, variant: str) -> Released:
    """Sums of rounds 1..n-1. The steepest first record is turned round: what moves by that is the declared unit."""
    sides = [asked_of(kind, variant, Steered(SLOPE_DIMENSION), [0], side)[1] for side in (1.0, -1.0)]
    learner, asked = asked_of(kind, variant, Steered(SLOPE_DIMENSION), noisy=True)
    assert len(asked) == FRESH_SAMPLES
    line, plan = learner.ledger()[0], learner.noise_plan
    factor = (sides[0] - sides[1])[:-1, 0, 0] / line.sensitivity
    assert (factor != 0).all(), "the first record is in all later sums"
    law = plan.scales[0] * materialise(plan.mechanisms[0], FRESH_SAMPLES - 1)
    return Released(asked[:-1] / factor[:, None, None], law, line, np.tri(FRESH_SAMPLES - 1))


def phased_sgd(kind: Any, variant: str) -> Released:
    """Averages of all phases, in the units of the first one: steps, and so the moves of a record, shrink fourfold.

    A phase's first steepest record is turned round: it moves all points of m after the first one, and the average by
    (m - 1)/m of the declared sensitivity.
    """
    lengths = np.array([FRESH_SAMPLES >> phase for phase in range(1, FRESH_SAMPLES.bit_length())])
    ends = np.cumsum(lengths + 1) - 1  # a step for each record, then the noise
    firsts = (np.cumsum(lengths) - lengths).tolist()
    units = 4.0 ** np.arange(len(lengths))[:, None, None]

    def averages(side: float, noisy: bool) -> tuple[Any, Array]:
        """What each phase moves from where it starts."""
        learner, asked = asked_of(kind, variant, Unbounded(SLOPE_DIMENSION), firsts, side, noisy)
        assert len(asked) == ends[-1] + 1
        return learner, units * np.diff(asked[ends], axis=0, prepend=0)

    moved = (averages(-1.0, False)[1] - averages(1.0, False)[1])[:, 0, 0]
    learner, noise = averages(0.0, True)
    (line,) = learner.ledger()
    np.testing.assert_allclose(moved, line.sensitivity * (1 - 1 / lengths), rtol=1e-9, atol=1e-12)
    return Released(noise, line.scale * np.eye(len(lengths)), line, np.eye(len(lengths)))


ONE_PASS: dict[type, Callable[[Any, str], Released]] = {
    OnlineToBatch: online_to_batch, OnePassLeader: one_pass_leader, PhasedSgd: phased_sgd,
}  # fmt: skip
