"""Noisy mirror descent: steps, constants, noise, guarantees."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from potential_steps import points_of, stepped
from scipy.stats import norm
from tiny_risks import Linear, NormKink, Quadratic, TinyRisk, generators, logistic_data, make

from dpregret.algorithms.erm import mirror_descent
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.erm.noisy_descent import (
    NoisyExponentiatedGradient,
    NoisyGradientDescent,
    NoisyGrouped,
    NoisyMirrorDescent,
    NoisyNuclear,
    NoisyQNorm,
)
from dpregret.algorithms.erm.noisy_oracle import NoisyOracle
from dpregret.algorithms.erm.sgd import CHUNK, NoisySgd, sampled_epsilon
from dpregret.algorithms.erm.strongly_convex_descent import NoisyStronglyConvexDescent
from dpregret.algorithms.geometry import ConstraintSet, CountedSet, gaussian_width, make_potential, make_set
from dpregret.algorithms.geometry.set_kinds import SolvedSet
from dpregret.algorithms.privacy import Budget, gaussian_delta, gaussian_mu
from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import ByMethods, inner, slope_at
from dpregret.datasets.risks import make_risk
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
    radius, width = body.max_distance_from(np.zeros(domain.dimension)), gaussian_width(body)[0]
    assert plan.iterations == int(built.uncapped(BUDGET)) > 500
    assert plan.noise**2 * (width**2 + radius**2) == pytest.approx(radius**2, rel=0.003)
    assert plan.noise == pytest.approx(2 / 3000 * math.sqrt(plan.iterations - 1) / gaussian_mu(BUDGET))
    square = radius**2 + plan.noise**2 * (width**2 + radius**2)
    potential = built.potential
    best = 2 * math.sqrt(potential.maximum * square / (potential.modulus * plan.iterations))
    assert built.bound() == pytest.approx([best])


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


@pytest.mark.parametrize(
    ("special", "set_name", "dimension", "factor"),
    [
        (NoisyNuclear, "nuclear", 16, math.sqrt(math.log(2 * 4))),  # 4 sqrt(e) ln 2m over 4 sqrt(e ln 2m)
        (NoisyExponentiatedGradient, "l1-ball", 20, 1.0),
        (NoisyGrouped, "grouped-l1", 20, 1.0),
        (NoisyGradientDescent, "ball", 5, 1.0),
    ],
)
def test_the_potential_of_a_set_is_printed_alike_for_all_that_use_it(
    special: type[MirrorDescent], set_name: str, dimension: int, factor: float
) -> None:
    domain = make_set(set_name, dimension)
    risk = Linear(np.r_[3.0, np.zeros(dimension - 1)], 5000)
    general, own = (make(kind, domain, risk, [BUDGET], "printed").plans[0] for kind in (NoisyMirrorDescent, special))
    assert (general.noise, general.steps.tolist()) == (own.noise, own.steps.tolist())
    radius = make_potential(domain).body.diameter / 2
    assert general.steps[0] == pytest.approx(factor / (3.0 * radius * math.sqrt(len(general.steps))))


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


def test_bound_is_that_of_the_last_iterate() -> None:
    """Whether it covers the excess is in test_risk_contract.py."""
    domain = make_set("ball", 4)
    built = make(NoisySgd, domain, NormKink(domain.target(), SAMPLES), [BUDGET])
    rounds, square = built.iterations()[0], 1 + 4 * built.plans[0].noise ** 2
    assert built.bound()[0] == pytest.approx(2 * 2 * (2 + math.log(rounds)) * math.sqrt(square / rounds))


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


def test_the_bound_of_the_corollary_is_its_formula() -> None:
    """Whether it covers the excess is in test_risk_contract.py."""
    oracle = oracle_of("isotropic", 45, 1)
    second = 1 + oracle.SPREAD**2 * (gaussian_width(oracle.domain)[0] ** 2 + 1)
    assert oracle.bound()[0] == pytest.approx(2 * math.sqrt(math.log(14) * second / 45))


RUNS = 3


def fitted(
    kind: type[MirrorDescent], variant: str, risk: Any, set_name: str, dimension: int, steps: int = 20
) -> tuple[MirrorDescent, Array]:
    """Settings of different lengths, one of them silent, and what they release; risk: its name, or a function."""
    options = {"vertices": np.eye(dimension) - 0.1} if set_name == "polytope" else {}
    domain = CountedSet(make_set(set_name, dimension, **options))
    generators = [np.random.default_rng([4, run]) for run in range(RUNS)]
    extra = {"sparsity": 1} if risk == "lasso-easy" else {}
    data = risk(domain, generators) if callable(risk) else make_risk(risk, domain, 250, generators, **extra)
    budgets = [Budget(epsilon, 1e-6) for epsilon in (0.5, 8.0, 1e9 if variant == "sampled" else np.inf)]
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": steps, "MAX_SAMPLES": steps})
    learner = short(ErmProblem(domain, data), budgets, RUNS, variant)
    return learner, learner.fit([np.random.default_rng([5, run]) for run in range(RUNS)])


@pytest.mark.parametrize(
    ("kind", "variant", "set_name"),
    [
        (NoisyExponentiatedGradient, "printed", "l1-ball"),
        pytest.param(NoisySgd, "sampled", "box", marks=pytest.mark.nightly),
    ],
)
def test_python_takes_the_steps_that_are_compiled(
    kind: Any, variant: str, set_name: str, compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same points; a Euclidean step is a projection. What the full profile combines is in tests/nightly."""
    learner, found = fitted(kind, variant, "quadratic-risk", set_name, 9)
    with monkeypatch.context() as patch:
        patch.setattr(mirror_descent, "specialised", lambda function, *kinds: function)
        np.testing.assert_array_equal(fitted(kind, variant, "quadratic-risk", set_name, 9)[1], found)
    steps = sum(plan.iterations - (variant == "sampled") for plan in learner.plans)
    assert isinstance(learner.domain, CountedSet)
    assert learner.domain.projections.rows == (steps * RUNS if kind.potential_name == "euclidean" else 0)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize(
    ("kind", "variant", "risk", "set_name"),
    [(NoisyGradientDescent, "corrected", "norm-kink-risk", "ball"), (NoisySgd, "sampled", "norm-kink-risk", "ball"),
     (NoisyExponentiatedGradient, "corrected", "norm-kink-risk", "l1-ball")],
)  # fmt: skip
def test_columns_in_tiles_get_the_bits_of_all_together(
    kind: Any, variant: str, risk: str, set_name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fitted(kind, variant, risk, set_name, 5)[1]
    monkeypatch.setattr(mirror_descent, "FEWEST", most)
    monkeypatch.setattr(mirror_descent, "MOST", most)
    np.testing.assert_array_equal(fitted(kind, variant, risk, set_name, 5)[1], found)


class Bent(NamedTuple):
    """f(x) = sum_k (x_k - a_k)^4 / 4, somebody's own."""

    center: PerRun


loss(Bent)


@slope_at.add
def _(loss: Bent, x, gradient, value, scratch):  # type: ignore[no-untyped-def]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.center[k, r]
            gradient[k, r] *= gradient[k, r] * gradient[k, r]
    inner(gradient, gradient, value, scratch)


class OwnRisk(TinyRisk):
    """A risk with a text, or without."""

    lipschitz, lipschitz_l1, smoothness, curvature = 8.0, 8.0, 12.0, 48.0

    def __init__(self, domain: Any, generators: Any, told: bool):
        super().__init__(domain.dimension, 50)
        self.text = Bent(np.stack([0.3 * generator.standard_normal(self.dimension) for generator in generators]))
        self.loss = self.text if told else None

    def gradient(self, points: Array) -> Array:
        return (points - self.text.center) * ((points - self.text.center) * (points - self.text.center))


@pytest.mark.parametrize("variant", ["corrected", pytest.param("sampled", marks=pytest.mark.nightly)])
def test_a_risk_of_ones_own_is_compiled_or_asked(variant: str, compiled: None) -> None:
    """The text of the risk, and its methods."""
    told, asked = (
        fitted(NoisySgd, variant, lambda domain, made, told=told: OwnRisk(domain, made, told), "l1-ball", 6)[1]
        for told in (True, False)
    )
    np.testing.assert_allclose(told, asked, rtol=0, atol=1e-15)
    assert np.abs(told).max() > 0.0


def test_sets_that_project_otherwise_are_asked() -> None:
    """A ball served by a general solver stays with the solver; so does a set without a text."""
    assert not isinstance(make_potential(make_set("ball", 3), "euclidean").data.domain, ByMethods)
    for domain in (SolvedSet(make_set("ball", 3)), CountedSet(make_set("nuclear", 4))):
        assert isinstance(make_potential(domain, "euclidean").data.domain, ByMethods)
