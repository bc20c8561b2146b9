"""Noisy SGD: steps, sampling, the accountant's certificate."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from tiny_risks import Linear, NormKink, generators, logistic_data, make

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.sgd import CHUNK, NoisySgd, sampled_epsilon, sampled_multiplier
from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.algorithms.privacy import Budget, gaussian_mu

BUDGET = Budget(1.0, 1e-6)
BUDGETS = [Budget(0.5, 1e-5), BUDGET, Budget(6.0, 1e-4)]
FREE = Budget(math.inf)
SAMPLES = 17  # everywhere, and all n^2 steps: the accountant takes half a second for each new plan, which is kept
SETS = [make_set("ball", 4), make_set("l1-ball", 4), make_set("simplex", 4)]
on_sets = pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)


def sampled(domain: ConstraintSet, risk: object, budgets: list[Budget], runs: int = 1, cap: int = 1 << 16) -> NoisySgd:
    kind = type("Capped", (NoisySgd,), {"MAX_SAMPLES": cap})
    built: NoisySgd = kind(ErmProblem(domain, risk), budgets, runs, "sampled")  # type: ignore[arg-type]
    return built


@on_sets
def test_full_gradients_step_by_step(domain: ConstraintSet) -> None:
    risk = NormKink(domain.target(), 60)
    built = make(NoisySgd, domain, risk, [BUDGET], cap=6)
    scale = 2 / 60 * math.sqrt(5) / gaussian_mu(BUDGET)
    drawn = generators(1)[0].standard_normal((5, 4))
    point = domain.center()
    for now in range(5):
        step = domain.diameter / math.sqrt((now + 1) * (1 + 4 * scale**2))
        point = domain.project(point - step * (risk.gradient(point) + scale * drawn[now]))
    assert np.allclose(built.fit(generators(1))[0, 0], point, atol=1e-12)
    assert built.delivered_epsilon() == pytest.approx([1.0])


@on_sets
def test_sampled_gradients_step_by_step(domain: ConstraintSet) -> None:
    risk = logistic_data(2, SAMPLES, 4)
    built = sampled(domain, risk, [BUDGET, FREE], runs=2)
    points = built.fit(generators(2))
    assert built.iterations() == [SAMPLES**2] * 2
    for setting, plan in enumerate(built.plans):
        for run, generator in enumerate(generators(2)):
            point = domain.center()
            for now in range(SAMPLES**2 - 1):
                if now % CHUNK == 0:
                    records = generator.integers(SAMPLES, size=CHUNK)
                    units = generator.standard_normal((CHUNK, 4))
                feature = risk.features[run, records[now % CHUNK]]
                gradient = -feature / (1 + math.exp(feature @ point))
                step = domain.diameter / math.sqrt((now + 1) * (1 + 4 * plan.noise**2))
                point = domain.project(point - step * (gradient + plan.noise * units[now % CHUNK]))
            assert np.allclose(points[setting, run], point, atol=1e-10)


def test_sampled_rounds_are_the_square_of_the_records() -> None:
    ball = make_set("ball", 4)
    built = sampled(ball, logistic_data(1, SAMPLES, 4), [BUDGET])
    assert built.iterations() == [SAMPLES**2]
    assert built.uncapped_iterations() == [float(SAMPLES**2)]
    assert built.ledger()[0].nodes == SAMPLES**2 - 1
    capped = sampled(ball, logistic_data(1, SAMPLES, 4), [BUDGET], cap=100)
    assert capped.iterations() == [100]
    assert capped.plans[0].noise < built.plans[0].noise


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_accountant_certifies_the_target(budget: Budget) -> None:
    built = sampled(make_set("ball", 4), logistic_data(1, SAMPLES, 4), [budget, FREE])
    delivered = built.delivered_epsilon()
    assert 0.99 * budget.epsilon <= delivered[0] <= budget.epsilon
    assert delivered[1] == math.inf
    assert built.plans[1].noise == 0.0


@pytest.mark.parametrize("multiplier", [0.7, 1.5, 4.0])
@pytest.mark.parametrize("samples", [2, 5])
def test_certificate_covers_one_step_exactly(samples: int, multiplier: float) -> None:
    """The mixture of the records' Gaussians, one center replaced, against the certified epsilon."""
    delta = 1e-3
    epsilon = sampled_epsilon(samples, 1, multiplier, delta)
    grid = np.linspace(-12 * multiplier - 1, 12 * multiplier + 1, 40001)
    for others in (-0.5, 0.0, 0.5):
        rest = (samples - 1) / samples * norm.pdf(grid, others, multiplier)
        densities = [rest + norm.pdf(grid, center, multiplier) / samples for center in (-0.5, 0.5)]
        for one, other in (densities, densities[::-1]):
            mass = np.maximum(one - math.exp(epsilon) * other, 0).sum() * (grid[1] - grid[0])
            assert mass <= delta


def test_sampling_is_cheaper_than_releasing_every_gradient_in_full() -> None:
    samples = 64
    multiplier = sampled_multiplier(samples, samples**2 - 1, BUDGET)
    full = math.sqrt(samples**2 - 1) / gaussian_mu(BUDGET)  # without amplification
    amplified = full / samples  # the central limit of amplification: a record met once in n steps
    assert amplified < multiplier < 0.1 * full
    assert multiplier == pytest.approx(2.2 * amplified, rel=0.1)


def test_bound_is_that_of_the_last_iterate() -> None:
    """Whether it covers the excess is in test_risk_contract.py."""
    domain = make_set("ball", 4)
    built = make(NoisySgd, domain, NormKink(domain.target(), SAMPLES), [BUDGET])
    rounds, square = built.iterations()[0], 1 + 4 * built.plans[0].noise ** 2
    assert built.bound()[0] == pytest.approx(2 * 2 * (2 + math.log(rounds)) * math.sqrt(square / rounds))


def test_without_noise_one_record_is_gradient_descent() -> None:
    domain, risk = make_set("ball", 3), Linear(np.array([0.6, 0.0, 0.8]), 100)
    built = sampled(domain, risk, [FREE], cap=200)
    assert np.allclose(built.fit(generators(1))[0, 0], [-0.6, 0.0, -0.8])
