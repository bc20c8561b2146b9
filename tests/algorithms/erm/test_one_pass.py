"""Learners that meet every record once: boxes against plain loops, sensitivity, bounds, the numbers of a prototype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.one_pass_ftrl import OnePassLeader
from dpregret.algorithms.erm.phased_sgd import PhasedSgd
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.privacy import Budget, gaussian_mu, prefix_sums, unit_noise
from dpregret.datasets.risks import make_risk
from dpregret.workflows.families.erm import facing

BUDGETS = [Budget(math.inf), Budget(8.0, 1e-6), Budget(0.5, 1e-6)]
RUNS, SAMPLES = 2, 37
LEARNERS = [(PhasedSgd, "corrected"), (OnePassLeader, "root"), (OnePassLeader, "corrected")]


def _made(kind: Any, variant: str, risk: str, place: str = "ball", dimension: int = 5, **sizes: Any) -> Any:
    sizes = {"samples": SAMPLES, "runs": RUNS, **sizes}
    domain, runs, samples = make_set(place, dimension), sizes.pop("runs"), sizes.pop("samples")
    made = facing(make_risk(risk, domain, samples, generators(runs, 1), **sizes), BUDGETS)
    return kind(ErmProblem(CountedSet(domain), made), BUDGETS, runs, variant)


def test_phased_sgd_line_by_line() -> None:
    """Phases of 18, 9, 4, 2 and 1 of 37 records, one run and setting at a time."""
    learner = _made(PhasedSgd, "corrected", "quadratic-population", beta=2.0)
    records, noises = learner.fresh.stream().take(SAMPLES), unit_noise("gaussian", generators(RUNS, 2), 5, 5)
    released = learner.fit(generators(RUNS, 2))
    for place, (budget, eta) in enumerate(zip(BUDGETS, learner.steps, strict=True)):
        for run in range(RUNS):
            point, begun = learner.domain.center(), 0
            for phase, length in enumerate([18, 9, 4, 2, 1], 1):
                step, total = eta / 4**phase, np.zeros(5)
                for record in records[0, run, begun : begun + length]:
                    total += point
                    point = learner.domain.project(point - step * 2.0 * (point - record))
                begun += length
                noise = 2 * learner.fresh.lipschitz * step / gaussian_mu(budget) * noises[phase - 1, run]
                point = learner.domain.project(total / length + noise)
            assert released[place, run] == pytest.approx(point, abs=1e-12)


def test_ftrl_line_by_line() -> None:
    learner = _made(OnePassLeader, "root", "quadratic-population")
    records, released = learner.fresh.stream().take(SAMPLES), learner.fit(generators(RUNS, 2))
    noise = next(learner.noise_plan.blocks(generators(RUNS, 2)))
    for place, weight in enumerate(learner.regularisation):
        for run in range(RUNS):
            point, gradients, played = learner.domain.center(), np.zeros(5), []
            for record, own in zip(records[0, run], noise[:, place, run], strict=False):
                played.append(point)
                gradients = gradients + point - record
                point = learner.domain.project(learner.domain.center() - (gradients + own) / weight)
            assert released[place, run] == pytest.approx(np.mean(played, axis=0), abs=1e-12)


def test_the_guarantee_of_phased_sgd_is_the_one_of_its_box() -> None:
    """n a power of two: 4 D0^2 / (eta n) + eta L^2 (1/6 + 16 p / (mu^2 n)) and what is smaller by n; eta is best."""
    learner = _made(PhasedSgd, "corrected", "linear-population", samples=2**14, dimension=16)
    for budget, bound, eta, line in zip(BUDGETS, learner.bound(), learner.steps, learner.ledger(), strict=True):
        mu, n = gaussian_mu(budget), 2.0**14
        assert bound == pytest.approx(4 * math.sqrt(1 / (6 * n) + 16 * 16 / (mu * n) ** 2), rel=2e-3)
        assert bound <= 1.64 / math.sqrt(n) + 16 * 4 / (mu * n)
        assert line.mu() == pytest.approx(mu)
        start, drift = learner._guarantee(1 / mu)
        assert all(start / other + drift * other >= bound for other in (0.9 * eta, 1.1 * eta))
    assert learner.delivered_epsilon() == pytest.approx([math.inf, 8.0, 0.5])
    smooth = _made(PhasedSgd, "corrected", "quadratic-population", samples=16, beta=50.0)
    assert smooth.steps.max() <= 8 / 50


def test_the_guarantee_of_ftrl_is_a_regret_over_n() -> None:
    learner = _made(OnePassLeader, "root", "linear-population", samples=101)
    root = np.sqrt(learner.noise_plan.mechanisms[0].noisy_nodes(100) * 5)  # sqrt(V_t) of unit noise
    for place, scale in enumerate(learner.noise_plan.scales):
        drift = 101 / 2 + scale * root.sum()
        assert learner.bound()[place] == pytest.approx(math.sqrt(2 * drift) / 101)
    assert isinstance(learner.noise_plan.mechanisms[0], prefix_sums.PrefixSums)
