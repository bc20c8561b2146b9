"""Objective and output perturbation: their privacy, their noise, their bounds."""

import itertools
import math
from functools import partial
from typing import Any

import cvxpy
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm
from tiny_risks import Huber, Linear, Logistic, Quadratic, TinyRisk, generators, logistic_data, make

from dpregret.algorithms.erm import projected_gradient
from dpregret.algorithms.erm.objective_perturbation import ObjectivePerturbation
from dpregret.algorithms.erm.output_perturbation import OutputPerturbation
from dpregret.algorithms.erm.projected_gradient import ProjectedGradient
from dpregret.algorithms.erm.pure_objective_perturbation import Chaudhuri
from dpregret.algorithms.geometry import ConstraintSet, gaussian_width, make_set
from dpregret.algorithms.privacy import Budget, gaussian_delta, gaussian_epsilon, unit_noise
from dpregret.algorithms.privacy.planar import planar_delta, planar_epsilon, planar_shift
from dpregret.core.sets import minimise
from dpregret.numerics.arrays import Array

BUDGET = Budget(1.0, 1e-6)
FREE = Budget(math.inf)
SETS = [make_set("ball", 4), make_set("l1-ball", 4, radius=2.0), make_set("simplex", 4), make_set("box", 4)]
on_sets = pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)


def quadratic(domain: ConstraintSet, runs: int = 1, samples: int = 300) -> Quadratic:
    inner = domain.project(0.3 * np.random.default_rng(5).normal(size=(runs, samples, domain.dimension)))
    return Quadratic(inner, domain.diameter)


def gap(domain: ConstraintSet, gradient: Array, points: Array) -> Array:
    return np.vecdot(gradient, points - domain.linear_oracle(gradient))


# ---- the privacy profile of a shift that depends on the noise


@pytest.mark.parametrize("shift", [0.05, 0.4, 1.5])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 1.0, 3.0])
def test_planar_profile_is_its_integral(epsilon: float, shift: float) -> None:
    def integrand(radius: float) -> float:
        loss = shift * radius + shift**2 / 2
        return max(0.0, -math.expm1(epsilon - loss)) * radius * math.exp(-(radius**2) / 2)

    least = max(0.0, epsilon / shift - shift / 2)
    expected = quad(integrand, least, least + 12, epsabs=1e-14)[0]
    assert planar_delta(epsilon, shift) == pytest.approx(expected, abs=1e-11)
    if epsilon >= 0:
        assert planar_delta(epsilon, shift) >= gaussian_delta(epsilon, shift) - 1e-15


@pytest.mark.parametrize("delta", [1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("epsilon", [0.05, 0.6, 6.0])
def test_planar_inverses_and_the_tail_condition(epsilon: float, delta: float) -> None:
    shift = planar_shift(epsilon, delta)
    assert planar_epsilon(shift, delta) == pytest.approx(epsilon, rel=1e-8)
    tail = math.sqrt(2 * math.log(1 / delta))  # P(chi_2 > tail) = delta: enough, and more than needed
    assert shift >= math.sqrt(tail**2 + 2 * epsilon) - tail
    assert planar_epsilon(1e-9, 0.1) == 0.0


# ---- objective perturbation


@on_sets
@pytest.mark.parametrize(
    ("kind", "variant"),
    [*((ObjectivePerturbation, variant) for variant in ObjectivePerturbation.card.variants), (Chaudhuri, "plain")],
)
def test_released_point_minimises_the_perturbed_objective(kind: Any, variant: str, domain: ConstraintSet) -> None:
    risk = logistic_data(2, 50, 4)
    budgets = [Budget(0.5, 1e-5), Budget(4.0, 1e-5)]
    built = make(kind, domain, risk, budgets, variant, runs=2)
    points = built.fit(generators(2))
    noise = unit_noise("gamma" if kind is Chaudhuri else "gaussian", generators(2), 1, 4)[0]
    center = domain.center()
    assert domain.violation(points).max() <= 1e-10
    for setting, budget in enumerate(budgets):
        assert kind is Chaudhuri or built.ridges[setting] == pytest.approx(2 * 0.25 / (50 * budget.epsilon))
        ridge, scale = built.ridges[setting], built.ledger()[setting].scale
        slope = risk.gradient(points[setting]) + ridge * (points[setting] - center) + scale * noise
        assert (gap(domain, slope, points[setting]) <= 1e-8).all()


def test_noise_scales_in_units_of_the_gradient() -> None:
    domain, risk = make_set("ball", 4), logistic_data(1, 50, 4)
    unit = {
        variant: 50 * make(ObjectivePerturbation, domain, risk, [BUDGET], variant).ledger()[0].scale
        for variant in ("printed", "kst", "corrected")
    }
    assert unit["printed"] == pytest.approx(math.sqrt(2 * math.log(1e6)))
    assert unit["kst"] == pytest.approx(math.sqrt(8 * math.log(2e6) + 4))
    assert unit["corrected"] == pytest.approx(2 / planar_shift(1 - math.log(1.5), 1e-6))
    assert 13.7 < unit["corrected"] < 17.9  # between exact Gaussian DP of a fixed shift and the tail condition


def test_delivered_epsilon_of_objective_perturbation() -> None:
    domain, risk = make_set("ball", 4), logistic_data(1, 50, 4)
    budgets = [Budget(0.1, 1e-8), BUDGET, Budget(8.0, 1e-4)]
    assert make(ObjectivePerturbation, domain, risk, budgets).delivered_epsilon() == pytest.approx([0.1, 1.0, 8.0])
    printed = make(ObjectivePerturbation, domain, risk, [BUDGET], "printed")
    shift = printed.ledger()[0].mu()
    assert gaussian_epsilon(shift, 1e-6) == pytest.approx(1.67, abs=0.005)  # of linear losses
    assert printed.delivered_epsilon() == pytest.approx([math.log(1.5) + planar_epsilon(shift, 1e-6)])
    assert printed.delivered_epsilon()[0] > 2
    linear = make(ObjectivePerturbation, domain, Linear(np.eye(4)[0], 50), [BUDGET])
    assert linear.delivered_epsilon() == pytest.approx([1.0])
    assert linear.ledger()[0].scale < 2 / 50 / planar_shift(1 - math.log(1.5), 1e-6)  # no Jacobian to pay for


class Line:
    """The law of the released point in one dimension, interior density and mass at both ends of [-R, R]."""

    def __init__(self, risk: TinyRisk, ridge: float, distribution: Any):
        self.risk, self.ridge, self.distribution = risk, ridge, distribution

    def slope(self, points: Array) -> Array:
        """The value -b of the noise that makes a point optimal."""
        return self.risk.gradient(points[:, None])[:, 0] + self.ridge * points

    def density(self, points: Array) -> Array:
        height = 1e-6
        curvature = (self.slope(points + height) - self.slope(points - height)) / (2 * height)
        return self.distribution.pdf(-self.slope(points)) * curvature

    def ends(self, radius: float) -> tuple[float, float]:
        low, high = self.slope(np.array([-radius, radius]))
        return self.distribution.sf(-low), self.distribution.cdf(-high)


def hockey_stick(one: Line, other: Line, epsilon: float, radius: float, kinks: list[float]) -> float:
    """sup over events of P(event) - e^epsilon Q(event)."""
    pieces = np.unique(np.r_[-radius, np.clip(kinks, -radius, radius), radius])
    total = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one.ends(radius), other.ends(radius), strict=True))
    for low, high in itertools.pairwise(pieces):
        grid = np.linspace(low, high, 20001)
        middle = (grid[1:] + grid[:-1]) / 2
        above = np.maximum(one.density(middle) - math.exp(epsilon) * other.density(middle), 0)
        total += float(above.sum() * (grid[1] - grid[0]))
    return total


NEIGHBOURS = [  # centers of Huber losses; the first record is replaced
    ([-60.0, 0.5, -0.5, 60.0], [60.0, 0.5, -0.5, 60.0]),
    ([0.0, 0.5, -0.5, 0.0], [60.0, 0.5, -0.5, 0.0]),
    ([-1.0, 30.0, -30.0, 2.0], [1.5, 30.0, -30.0, 2.0]),
    ([0.0, 60.0, -60.0, 60.0], [-60.0, 60.0, -60.0, 60.0]),
]


def lines(variant: str, budget: Budget, radius: float, centers: list[float]) -> Line:
    risk = Huber(np.array([centers]))
    built = make(ObjectivePerturbation, make_set("ball", 1, radius=radius), risk, [budget], variant)
    distribution = norm(scale=built.ledger()[0].scale)
    return Line(risk, built.ridges[0], distribution)


def worst(variant: str, budget: Budget, radius: float) -> float:
    found = []
    for pair in NEIGHBOURS:
        kinks = [center + side for centers in pair for center in centers for side in (-1.0, 1.0)]
        for one, other in (pair, pair[::-1]):
            laws = [lines(variant, budget, radius, centers) for centers in (one, other)]
            found.append(hockey_stick(*laws, budget.epsilon, radius, kinks))
    return max(found)


@pytest.mark.parametrize("budget", [Budget(0.5, 1e-3), BUDGET, Budget(3.0, 1e-4)], ids=str)
def test_corrected_noise_is_private_on_the_line_and_printed_noise_is_not(budget: Budget) -> None:
    assert max(worst("corrected", budget, radius) for radius in (1.0, 50.0)) <= budget.delta
    assert worst("printed", budget, 50.0) > 2 * budget.delta


@on_sets
def test_bound_of_objective_perturbation_is_its_formula(domain: ConstraintSet) -> None:
    """Whether it covers the excess is in test_risk_contract.py."""
    built = make(ObjectivePerturbation, domain, logistic_data(1, 200, 4), [BUDGET])
    width, reach = gaussian_width(domain)[0], domain.max_distance_from(domain.center())
    scale = built.ledger()[0].scale
    assert built.bound()[0] == pytest.approx(scale * width + 0.5 * 2 * 0.25 / 200 * reach**2, abs=1e-9)


def test_strongly_convex_bound_takes_over_when_it_is_smaller() -> None:
    class Ridge(Logistic):
        strong_convexity = 0.2

    domain = make_set("ball", 4)
    risk = Ridge(logistic_data(1, 20000, 4).features)
    built = make(ObjectivePerturbation, domain, risk, [BUDGET])
    scale, ridge = built.ledger()[0].scale, built.ridges[0]
    assert built.bound() == pytest.approx([(2 * scale + ridge) ** 2 / 0.4], abs=1e-9)


# ---- pure objective perturbation


def test_chaudhuri_pays_for_noise_and_jacobian() -> None:
    samples = 100
    risk, domain = logistic_data(1, samples, 4), make_set("ball", 4, radius=2.0)
    budgets = [Budget(0.1), Budget(1.0), Budget(10.0)]
    built = make(Chaudhuri, domain, risk, budgets, "plain")
    assert built.delivered_epsilon() == pytest.approx([0.1, 1.0, 10.0])
    for budget, ridge, line in zip(budgets, built.ridges, built.ledger(), strict=True):
        ratio = 0.25 / (samples * ridge)
        left = budget.epsilon - math.log(1 + 2 * ratio + ratio**2)
        assert left == pytest.approx(budget.epsilon / 2)
        assert line.scale == pytest.approx(2 / (samples * left))


@pytest.mark.parametrize("radius", [1.0, 50.0])
@pytest.mark.parametrize("budget", [Budget(0.5), Budget(2.0)], ids=str)
def test_chaudhuri_is_private_on_the_line(budget: Budget, radius: float) -> None:
    grid = np.linspace(-radius, radius, 20001)[1:-1] + 1e-5
    for pair in NEIGHBOURS:
        logs = []
        for centers in pair:
            risk = Huber(np.array([centers]))
            built = make(Chaudhuri, make_set("ball", 1, radius=radius), risk, [budget], "plain")
            distribution = laplace(scale=built.ledger()[0].scale)  # norm-Gamma noise in one dimension
            line = Line(risk, built.ridges[0], distribution)
            logs.append(np.log(np.r_[line.density(grid), line.ends(radius)]))
        assert np.abs(logs[0] - logs[1]).max() <= budget.epsilon + 1e-6


# ---- output perturbation


@on_sets
def test_minimisers_of_neighbours_are_as_close_as_the_ledger_says(domain: ConstraintSet) -> None:
    risk = quadratic(domain, runs=8, samples=10)
    replaced = risk.records.copy()
    replaced[:, 0] = domain.linear_oracle(replaced[:, 0])
    moved = domain.project(risk.mean) - domain.project(Quadratic(replaced, 1.0).mean)
    built = make(OutputPerturbation, domain, risk, [BUDGET], runs=8)
    assert built.ledger()[0].sensitivity == pytest.approx(2 * domain.diameter / 10)
    assert np.linalg.norm(moved, axis=-1).max() <= built.ledger()[0].sensitivity


@on_sets
@pytest.mark.parametrize("variant", ["corrected", "gamma"])
def test_output_perturbation(domain: ConstraintSet, variant: str) -> None:
    """Whether the bound covers the excess is in test_risk_contract.py."""
    risk = quadratic(domain, runs=16)
    budgets = [Budget(0.3, 1e-5), BUDGET, Budget(40.0, 1e-6), FREE]
    built = make(OutputPerturbation, domain, risk, budgets, variant, runs=16)
    assert built.delivered_epsilon() == pytest.approx([0.3, 1.0, 40.0, math.inf])
    points = built.fit(generators(16))
    distribution = "gamma" if variant == "gamma" else "gaussian"
    least = domain.project(risk.mean)
    noise = unit_noise(distribution, generators(16), 1, 4)[0]
    for setting, line in enumerate(built.ledger()):
        assert np.allclose(points[setting], domain.project(least + line.scale * noise), atol=1e-4)


@on_sets
def test_minimum_agrees_with_a_conic_solver(domain: ConstraintSet) -> None:
    risk = logistic_data(2, 30, 4)
    point = make(ProjectedGradient, domain, risk, [FREE], "plain", runs=2).fit(generators(2))[0]
    assert domain.violation(point).max() <= 1e-10
    for run in range(2):
        variable = cvxpy.Variable(4)
        value = cvxpy.sum(cvxpy.logistic(-risk.features[run] @ variable)) / 30
        solved = cvxpy.Problem(cvxpy.Minimize(value), domain.cvxpy_constraints(variable)).solve()
        assert risk.value(point)[run] == pytest.approx(solved, abs=2e-8)


def test_badly_conditioned_minima_are_certified_too() -> None:
    domain = make_set("ball", 6, radius=3.0)
    curvatures = np.logspace(-5, 0, 6)

    def gradient(points: Array) -> Array:
        return curvatures * (points - 1.0)

    points, gaps, _ = minimise(domain, gradient, np.zeros((1, 6)), 1.0, goal=1e-10, allowed=1e-10)
    assert gaps.max() <= 1e-10
    slope = gradient(points)
    assert np.vecdot(slope, points - domain.linear_oracle(slope)) == pytest.approx(gaps)
    assert np.allclose(points, domain.project(points), atol=1e-12)


def test_a_minimum_that_cannot_be_certified_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected_gradient, "minimise", partial(minimise, max_steps=8))
    risk = logistic_data(1, 30, 4)
    with pytest.raises(FloatingPointError, match="no certified minimum"):
        make(ProjectedGradient, make_set("ball", 4, radius=50.0), risk, [FREE], "plain").fit(generators(1))
