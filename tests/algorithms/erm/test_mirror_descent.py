"""Noisy mirror descent: steps, constants, noise, guarantees."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from tiny_risks import Linear, NormKink, Quadratic, generators, make

from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.erm.noisy_descent import (
    NoisyExponentiatedGradient,
    NoisyGradientDescent,
    NoisyGrouped,
    NoisyNuclear,
    NoisyQNorm,
)
from dpregret.algorithms.erm.strongly_convex_descent import NoisyStronglyConvexDescent
from dpregret.algorithms.geometry import ConstraintSet, gaussian_width, make_set
from dpregret.algorithms.privacy import Budget, gaussian_delta, gaussian_mu
from dpregret.numerics.arrays import Array

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


# ---- the algorithm, step by step, with the minimisation left to scipy


@dataclass(frozen=True)
class Reference:
    """Psi in variables w, the map w -> theta as a matrix, constraints on w."""

    potential: Callable[[Array], float]
    image: Array
    start: Array
    constraints: list[object]
    bounds: tuple[float, float]

    def slope(self, point: Array) -> Array:
        height = 1e-6
        shifts = height * np.eye(len(point))
        return np.array(
            [(self.potential(point + shift) - self.potential(point - shift)) / (2 * height) for shift in shifts]
        )

    def step(self, point: Array, scaled: Array) -> Array:
        cost = self.image.T @ scaled - self.slope(point)
        middle = 0.9 * point + 0.1 * self.start
        found = minimize(
            lambda w: float(cost @ w) + self.potential(w),
            middle,
            method="SLSQP",
            constraints=self.constraints,
            bounds=[self.bounds] * len(point),
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        return np.asarray(found.x)


def entropy(weights: Array) -> float:
    return float(np.sum(weights * np.log(np.maximum(weights, 1e-300))))


def nuclear(point: Array) -> Array:
    return np.linalg.svd(point.reshape(2, 2), compute_uv=False)


def references() -> dict[str, tuple[type[MirrorDescent], ConstraintSet, Reference]]:
    blocks, power = 3, 1 + 1 / math.log(3)
    q = math.log(9) / (math.log(9) - 1)
    spectral = 1 / (2 * math.log(4))
    factor = 4 * math.sqrt(math.e) * math.log(4) / (2**spectral * (1 + spectral))
    within = NonlinearConstraint(lambda x: float(x @ x), -np.inf, 1.0)
    simplex = [LinearConstraint(np.ones((1, 4)), 1.0, 1.0)]
    free, positive = (-np.inf, np.inf), (1e-12, 1.0)
    return {
        "gd": (
            NoisyGradientDescent,
            make_set("ball", 3),
            Reference(lambda x: 0.5 * float(x @ x), np.eye(3), np.zeros(3), [within], free),
        ),
        "eg": (
            NoisyExponentiatedGradient,
            make_set("simplex", 4),
            Reference(entropy, np.eye(4), np.full(4, 0.25), simplex, positive),
        ),
        "eg-signed": (
            NoisyExponentiatedGradient,
            make_set("l1-ball", 2),
            Reference(entropy, np.hstack([np.eye(2), -np.eye(2)]), np.full(4, 0.25), simplex, positive),
        ),
        "q-norm": (
            NoisyQNorm,
            make_set("l1-ball", 9),
            Reference(
                lambda x: float(np.sum(np.abs(x) ** q) ** (2 / q)) / (2 * (q - 1)), np.eye(9), np.zeros(9), [], free
            ),
        ),
        "grouped": (
            NoisyGrouped,
            make_set("grouped-l1", 6, block_size=2),
            Reference(
                lambda x: (
                    math.e * math.log(blocks) / power * float(np.sum(np.linalg.norm(x.reshape(3, 2), axis=1) ** power))
                ),
                np.eye(6),
                np.zeros(6),
                [],
                free,
            ),
        ),
        "nuclear": (
            NoisyNuclear,
            make_set("nuclear", 4),
            Reference(lambda x: factor * float(np.sum(nuclear(x) ** (1 + spectral))), np.eye(4), np.zeros(4), [], free),
        ),
    }


@pytest.mark.parametrize("name", list(references()))
def test_three_rounds_equal_scipys_minimisation_of_the_bregman_objective(name: str) -> None:
    learner_type, domain, reference = references()[name]
    risk = NormKink(domain.target(), 60)
    learner = make(learner_type, domain, risk, [BUDGET], cap=3)
    plan = learner.plans[0]
    drawn = generators(1)[0].standard_normal((3, domain.dimension))
    weights, points = reference.start, []
    for now in range(3):
        points.append(reference.image @ weights)
        noisy = risk.gradient(points[-1]) + plan.noise * drawn[now]
        weights = reference.step(weights, plan.steps[now] * noisy)
    expected = np.mean(points, axis=0)
    assert np.linalg.norm(expected - points[0]) > 0.02
    assert np.allclose(learner.fit(generators(1))[0, 0], expected, atol=2e-5)


# ---- constants


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


# ---- guarantees


@everywhere
def test_without_noise_the_rate_of_the_theorem(learner: type[MirrorDescent], domain: ConstraintSet) -> None:
    risk, rounds = NormKink(domain.target(), 100), 300
    built = make(learner, domain, risk, [FREE], cap=rounds)
    radius, potential = built.potential.body.reach(np.zeros(domain.dimension)), built.potential
    assert built.bound() == pytest.approx(
        [2 * radius * math.sqrt(potential.maximum / (potential.modulus * rounds))], rel=1e-9
    )
    point = built.fit(generators(1))
    assert domain.violation(point).max() <= 1e-9
    assert risk.value(point)[0, 0] <= built.bound()[0]


@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_without_noise_the_rate_of_the_strongly_convex_theorem(variant: str) -> None:
    domain, rounds = make_set("ball", 5), 300
    risk = strong_risk(domain)
    built = make(NoisyStronglyConvexDescent, domain, risk, [FREE], variant, cap=rounds)
    excess = risk.value(built.fit(generators(1)))[0, 0] - risk.value(domain.project(risk.mean))[0]
    steps = 1.0 / np.arange(1, rounds + 1) if variant == "corrected" else 2.0 / np.arange(2, rounds + 2)
    assert built.bound() == pytest.approx([2.0 * steps.sum() / rounds])
    assert excess <= built.bound()[0]


# ---- privacy


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
