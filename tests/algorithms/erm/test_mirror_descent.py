"""Noisy mirror descent: steps, constants, noise, guarantees."""

import math

import numpy as np
import pytest
from potential_steps import points_of, stepped
from scipy.stats import norm
from tiny_risks import Linear, NormKink, Quadratic, generators, logistic_data, make

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.erm.noisy_descent import (
    NoisyExponentiatedGradient,
    NoisyGradientDescent,
    NoisyGrouped,
    NoisyNuclear,
    NoisyQNorm,
)
from dpregret.algorithms.erm.noisy_oracle import NoisyOracle
from dpregret.algorithms.erm.sgd import CHUNK, NoisySgd, sampled_epsilon, sampled_multiplier
from dpregret.algorithms.erm.strongly_convex_descent import NoisyStronglyConvexDescent
from dpregret.algorithms.geometry import ConstraintSet, gaussian_width, make_set
from dpregret.algorithms.privacy import Budget, gaussian_delta, gaussian_mu

BUDGET = Budget(1.0, 1e-6)
FREE = Budget(math.inf)
PLACES: list[tuple[type[MirrorDescent], ConstraintSet]] = [
    (NoisyGradientDescent, make_set("ball", 5)),
    (NoisyGradientDescent, make_set("simplex", 4)),
    (NoisyExponentiatedGradient, make_set("simplex", 4)),
    (NoisyExponentiatedGradient, make_set("l1-ball", 5, radius=2.0)),
    (NoisyExponentiatedGradient, make_set("polytope", 3)),
    (NoisyQNorm, make_set("l1-ball", 9, radius=2.0)),
    (NoisyGrouped, make_set("grouped-l1", 6, block_size=2, radius=2.0)),
    (NoisyNuclear, make_set("nuclear", 9)),
]
NAMES = [f"{learner.card.name}-{domain.name}" for learner, domain in PLACES]
everywhere = pytest.mark.parametrize(("learner", "domain"), PLACES, ids=NAMES)


def strong_risk(domain: ConstraintSet, samples: int = 400) -> Quadratic:
    records = domain.project(np.random.default_rng(3).normal(size=(1, samples, domain.dimension)))
    return Quadratic(records, domain.diameter)


@everywhere
def test_three_rounds_are_noisy_steps_of_the_potential(learner: type[MirrorDescent], domain: ConstraintSet) -> None:
    """That a step minimises the Bregman objective is in geometry/test_potentials.py."""
    risk = NormKink(domain.target(), 60)
    built = make(learner, domain, risk, [BUDGET], cap=3)
    (plan,), drawn = built.plans, generators(1)[0].standard_normal((3, domain.dimension))
    state, points = built.potential.start, []
    for now in range(3):
        points.append(points_of(built.potential, state))
        noisy = risk.gradient(points[-1]) + plan.noise * drawn[now]
        state = stepped(built.potential, state, plan.steps[now] * noisy)
    expected = np.mean(points, axis=0)
    assert np.linalg.norm(expected - points[0]) > 0.01
    assert np.allclose(built.fit(generators(1))[0, 0], expected, atol=1e-12)


@everywhere
def test_corrected_plan_balances_noise_and_gradients(learner: type[MirrorDescent], domain: ConstraintSet) -> None:
    risk = NormKink(domain.target(), 3000)
    built = make(learner, domain, risk, [BUDGET], cap=10**9)
    body, (plan,) = built.potential.body, built.plans
    radius, width = body.reach(np.zeros(domain.dimension)), gaussian_width(body)[0]
    assert plan.iterations == int(plan.wanted) > 500
    assert plan.noise**2 * (width**2 + radius**2) == pytest.approx(radius**2, rel=0.003)
    assert plan.noise == pytest.approx(2 / 3000 * math.sqrt(plan.iterations - 1) / gaussian_mu(BUDGET))
    square = radius**2 + plan.noise**2 * (width**2 + radius**2)
    potential = built.potential
    best = 2 * math.sqrt(potential.maximum * square / (potential.modulus * plan.iterations))
    assert built.bound() == pytest.approx([best])


@everywhere
def test_capped_plan_uses_the_noise_of_the_capped_rounds(learner: type[MirrorDescent], domain: ConstraintSet) -> None:
    risk = NormKink(domain.target(), 3000)
    built = make(learner, domain, risk, [BUDGET, FREE], cap=100)
    assert built.iterations() == [100, 100]
    assert built.uncapped_iterations()[0] > 500
    assert built.uncapped_iterations()[1] == math.inf
    assert [plan.noise for plan in built.plans] == pytest.approx([2 / 3000 * math.sqrt(99) / gaussian_mu(BUDGET), 0])
    assert built.delivered_epsilon() == pytest.approx([1.0, math.inf])


def test_printed_plan_is_the_statement() -> None:
    domain, samples, scale = make_set("l1-ball", 20), 5000, 3.0
    risk = Linear(np.r_[scale, np.zeros(19)], samples)
    built = make(NoisyQNorm, domain, risk, [BUDGET], "printed")
    width, log = gaussian_width(domain)[0], math.log(samples / 1e-6)
    rounds = int(samples**2 / (scale**2 * log**2 * (width**2 + 1)))
    (plan,) = built.plans
    assert plan.iterations == rounds
    assert plan.noise**2 == pytest.approx(32 * scale**2 * rounds * math.log(rounds / 1e-6) ** 2 / samples**2)
    assert plan.steps == pytest.approx(np.full(rounds, 2 / (scale * math.sqrt(rounds))))  # a potential of half the size


def test_strongly_convex_plan() -> None:
    domain, (wide, log) = make_set("ball", 5), (400, math.log)
    risk = strong_risk(domain, wide)
    printed = make(NoisyStronglyConvexDescent, domain, risk, [Budget(0.1, 1e-6)], "printed")
    corrected = make(NoisyStronglyConvexDescent, domain, risk, [BUDGET])
    rounds = int((wide * 0.1) ** 2 / (gaussian_width(domain)[0] ** 2 + 1))
    (plan,) = printed.plans
    assert plan.iterations == rounds
    assert plan.noise == pytest.approx(math.sqrt(32 * rounds) * 2 * log(rounds / 1e-6) / (0.1 * wide))
    assert plan.steps == pytest.approx(2 / np.arange(2, rounds + 2))
    assert corrected.plans[0].steps == pytest.approx(1 / np.arange(1, corrected.iterations()[0] + 1))
    for variant in ("corrected", "printed"):
        free = make(NoisyStronglyConvexDescent, domain, risk, [FREE], variant, cap=300)
        assert free.bound() == pytest.approx([2.0 * free.plans[0].steps.sum() / 300])


@pytest.mark.parametrize(("samples", "rounds", "expected"), [(1000, 101, 0.068), (100000, 10001, 0.053)])
def test_printed_noise_delivers_far_less_than_it_could(samples: int, rounds: int, expected: float) -> None:
    domain = make_set("ball", 2)
    built = make(NoisyGradientDescent, domain, NormKink(domain.target(), samples), [BUDGET], "printed", cap=rounds)
    (delivered,), (line,) = built.delivered_epsilon(), built.ledger()
    assert built.iterations() == [rounds]
    shift = 2 / samples * math.sqrt(rounds - 1) / line.scale
    assert gaussian_delta(delivered, shift) == pytest.approx(1e-6)
    assert delivered == pytest.approx(expected, abs=0.0006)


def test_one_round_reads_no_data() -> None:
    domain = make_set("ball", 400)
    built = make(NoisyGradientDescent, domain, NormKink(domain.target(), 10), [Budget(0.1, 1e-6)])
    assert built.iterations() == [1]
    assert built.uncapped_iterations()[0] < 1
    assert built.delivered_epsilon() == [0.0]
    assert not built.fit(generators(1)).any()


BUDGETS = [Budget(0.5, 1e-5), BUDGET, Budget(6.0, 1e-4)]
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


def oracle_of(variant: str, samples: int, runs: int, dimension: int = 7) -> NoisyOracle:
    domain = make_set("l1-ball", dimension)
    return NoisyOracle(ErmProblem(domain, NormKink(domain.target(), samples)), [FREE], runs, variant)


@pytest.mark.parametrize("variant", ["isotropic", "fading"])
def test_variances_fade_over_the_coordinates_from_the_same_largest_one(variant: str) -> None:
    drawn = oracle_of(variant, 50, 40)._units(generators(40))
    noise = np.concatenate([drawn.take(200) for _ in range(20)]).reshape(-1, 7)
    expected = 1 / np.arange(1.0, 8) if variant == "fading" else np.ones(7)
    np.testing.assert_allclose(noise.var(axis=0), expected, rtol=6 * math.sqrt(2 / len(noise)))
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=6 / math.sqrt(len(noise)))


def test_a_step_a_record_and_no_privacy() -> None:
    oracle = oracle_of("isotropic", 137, 2)
    assert oracle.iterations() == [137]
    assert oracle.ledger() == []
    assert oracle.delivered_epsilon() == [math.inf]
    assert not oracle.gaussian


@pytest.mark.parametrize("variant", ["isotropic", "fading"])
@pytest.mark.parametrize("samples", [45, 720])
def test_mean_excess_is_below_the_bound_of_the_corollary(variant: str, samples: int) -> None:
    oracle = oracle_of(variant, samples, 60)
    excess = oracle.risk.value(oracle.fit(generators(60))[0])
    width, _ = gaussian_width(oracle.domain)
    second = 1 + oracle.SPREAD**2 * (width**2 + 1)
    assert oracle.bound()[0] == pytest.approx(2 * math.sqrt(math.log(14) * second / samples))
    assert excess.mean() + 4 * excess.std() / math.sqrt(60) < oracle.bound()[0]
