"""Calibrations never deliver more than what was asked for, conversions never state less: 60 digits are the truth."""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from dpregret.algorithms.bandits.bandit_learner import BanditProblem
from dpregret.algorithms.erm.erm_learner import ErmProblem, OnePassLearner
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import BaseLearner, Problem, Setting, learners
from dpregret.algorithms.privacy import (
    Budget,
    NoiseDistribution,
    Release,
    calibrate,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)
from dpregret.algorithms.privacy.budget import (
    binomial_delta,
    binomial_epsilon,
    largest_call_epsilon,
    largest_within,
    optimal_delta,
    optimal_epsilon,
    smallest_epsilon,
)
from dpregret.algorithms.privacy.planar import planar_delta, planar_epsilon, planar_shift
from dpregret.algorithms.privacy.selection import (
    RANGES,
    Selection,
    calibrate_selection,
    largest_choice_epsilon,
    largest_rho,
    zcdp_epsilon,
)
from dpregret.datasets.risks import make_risk

EPSILONS = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 8.0, 100.0, 1e4, 1e9]
DELTAS = [5e-324, 1e-300, 1e-100, 1e-16, 1e-6, 1e-2, 0.3, 0.5, 0.7, 1 - 1e-6, 1 - 2.0**-53]
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
mp: Any = mpmath.mp


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(60):
        yield


def true_gaussian(epsilon: float, mu: float) -> tuple[Any, Any]:
    """delta and 1 - delta of mu-GDP at epsilon (Balle & Wang 2018, Theorem 8)."""
    e, m = mp.mpf(epsilon), mp.mpf(mu)
    with mpmath.workdps(60 + 2 * int(abs(mp.log10(m)))):
        high, low = (mp.erfc(-z / mp.sqrt(2)) / 2 for z in (m / 2 - e / m, -m / 2 - e / m))
        delta = high - mp.exp(e) * low
        return +delta, 1 - delta


def true_calls(call: float, calls: int, epsilon: float) -> Any:
    """delta at epsilon of randomised responses, outcome by outcome."""
    c, e = mp.mpf(call), mp.mpf(epsilon)
    yes = 1 / (1 + mp.exp(-c))
    terms = []
    for count in range(calls + 1):
        loss = (2 * count - calls) * c
        if loss > e:
            terms.append(mp.binomial(calls, count) * yes**count * (1 - yes) ** (calls - count) * -mp.expm1(e - loss))
    return mp.fsum(terms)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_gaussian_noise_delivers_at_most_the_budget(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(Budget(epsilon, delta))
    true, rest = true_gaussian(epsilon, mu)
    assert true <= mp.mpf(delta)
    assert rest >= 1 - mp.mpf(delta)
    assert gaussian_epsilon(mu, delta) <= epsilon
    if 1e-15 <= delta <= 0.999:  # and no more noise than that: what a millionth less would deliver is too much
        assert true_gaussian(epsilon, mu * (1 + 1e-6))[0] > mp.mpf(delta)
    for nodes, sensitivity in ((1, 2.0), (7, 0.3), (21, 1e-5)):
        scale = calibrate("gaussian", Budget(epsilon, delta), sensitivity, nodes)
        exact = mp.sqrt(nodes) * mp.mpf(sensitivity) / mp.mpf(scale)
        assert true_gaussian(epsilon, exact)[0] <= mp.mpf(delta)
        assert Release("gaussian", scale, sensitivity, nodes).epsilon(delta) <= epsilon


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.2, 1.0, 7.0, 44.0, 1e4])
@pytest.mark.parametrize("delta", DELTAS)
def test_gaussian_epsilon_is_not_below_the_truth(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert true_gaussian(epsilon, mu)[0] <= mp.mpf(delta)
    if epsilon > 0 and 1e-15 <= delta <= 0.999:
        assert true_gaussian(epsilon * (1 - 1e-6), mu)[0] > mp.mpf(delta)
        assert mp.mpf(gaussian_delta(epsilon, mu)) == pytest.approx(true_gaussian(epsilon, mu)[0], rel=1e-9)


@pytest.mark.parametrize("distribution", ["laplace", "gamma"])
def test_pure_noise_delivers_at_most_the_budget(distribution: Any) -> None:
    generator = np.random.default_rng(4)
    for _ in range(2000):
        epsilon, sensitivity = 10 ** generator.uniform((-12, -9), (9, 9))
        nodes = int(generator.integers(1, 60))
        scale = calibrate(distribution, Budget(epsilon), sensitivity, nodes)
        assert Release(distribution, scale, sensitivity, nodes).epsilon(0.0) <= epsilon
        assert scale == pytest.approx(sensitivity * nodes / epsilon)


@pytest.mark.parametrize("calls", [1, 2, 9, 40])
@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_calls_deliver_at_most_the_budget(epsilon: float, delta: float, calls: int) -> None:
    call = largest_call_epsilon(epsilon, delta, calls)
    assert true_calls(call, calls, epsilon) <= mp.mpf(delta)
    assert call >= epsilon / calls * (1 - 1e-15)
    assert optimal_epsilon(call, calls, delta) <= epsilon
    if 1e-9 <= delta <= 0.5 and 1e-3 <= epsilon <= 100:
        assert true_calls(call * (1 + 1e-4), calls, epsilon) > mp.mpf(delta)


@pytest.mark.parametrize("calls", [1, 9, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [*GRID, *((epsilon, 0.0) for epsilon in EPSILONS)])
def test_choices_deliver_at_most_the_budget(epsilon: float, delta: float, calls: int) -> None:
    for distribution in RANGES:
        scale = calibrate_selection(distribution, Budget(epsilon, delta), 0.7, calls)
        assert Selection(distribution, scale, 0.7, calls).epsilon(delta) <= epsilon
        eta = largest_choice_epsilon(distribution, Budget(epsilon, delta), calls) / 2
        assert Selection(distribution, 1 / eta, 1.0, calls).epsilon(delta) <= epsilon


def true_zcdp(rho: float, delta: float) -> Any:
    """The minimum over orders, by a fine search."""
    r, log = mp.mpf(rho), -mp.log(mp.mpf(delta))

    def at(exponent: Any) -> Any:
        excess = mp.exp(exponent)
        return (1 + excess) * r + (log - mp.log1p(excess)) / excess - mp.log1p(1 / excess)

    low, high = (mp.log(log / r) / 2 + side for side in (-3, 3))
    for _ in range(90):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if at(first) < at(second) else (first, high)
    return max(mp.mpf(0), at(low))


@pytest.mark.parametrize(("epsilon", "delta"), GRID[::3])
def test_concentrated_noise_delivers_at_most_the_budget(epsilon: float, delta: float) -> None:
    rho = largest_rho(Budget(epsilon, delta))
    assert true_zcdp(rho, delta) <= mp.mpf(epsilon)
    assert zcdp_epsilon(rho, delta) <= epsilon
    if 1e-100 <= delta <= 0.3:
        assert true_zcdp(rho * (1 + 1e-4), delta) > mp.mpf(epsilon)


def true_planar(epsilon: float, shift: float) -> Any:
    e, u = mp.mpf(epsilon), mp.mpf(shift)
    with mpmath.workdps(60 + 2 * int(abs(mp.log10(u)))):
        least = max(mp.mpf(0), e / u - u / 2)
        tail = mp.erfc((least + u) / mp.sqrt(2)) / 2
        lost = mp.exp(e - (least + u) ** 2 / 2) - mp.exp(e) * u * mp.sqrt(2 * mp.pi) * tail
        return mp.exp(-(least**2) / 2) - lost


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_planar_noise_delivers_at_most_the_budget(epsilon: float, delta: float) -> None:
    shift = planar_shift(epsilon, delta)
    assert true_planar(epsilon, shift) <= mp.mpf(delta)
    assert planar_epsilon(shift, delta) <= epsilon
    if 1e-300 <= delta <= 0.99:
        assert mp.mpf(planar_delta(epsilon, shift)) == pytest.approx(true_planar(epsilon, shift), rel=1e-9)
        assert true_planar(epsilon, shift * (1 + 1e-6)) > mp.mpf(delta)


def test_conversions_are_closed_at_both_ends() -> None:
    """delta = 0 is what no Gaussian noise, no zCDP delivers; delta = 1 costs nothing."""
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert Release("gaussian", 1.0, 1.0, 1).epsilon(0.0) == math.inf
    assert zcdp_epsilon(0.1, 0.0) == math.inf
    assert zcdp_epsilon(0.0, 0.0) == gaussian_epsilon(0.0, 0.0) == planar_epsilon(0.0, 0.0) == 0.0
    assert planar_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(1.0, 1.0) == zcdp_epsilon(0.1, 1.0) == planar_epsilon(1.0, 1.0) == 0.0
    assert optimal_epsilon(0.5, 4, 0.0) == 2.0
    assert optimal_epsilon(0.5, 4, 1.0) == 0.0
    assert Selection("gumbel", 4.0, 1.0, 3).epsilon(0.0) == pytest.approx(1.5)
    assert Selection("gumbel", 4.0, 1.0, 3).epsilon(1.0) == 0.0
    assert binomial_epsilon(3, 0.5, 0.2, 0.0) == pytest.approx(3 * math.log(2.5))
    assert binomial_epsilon(3, 0.2, 0.5, 0.0) == pytest.approx(3 * math.log(2.5))
    assert binomial_epsilon(3, 0.5, 0.2, 1.0) == 0.0
    assert binomial_epsilon(3, 0.5, 0.0, 0.0) == binomial_epsilon(3, 0.5, 1.0, 0.0) == math.inf
    assert binomial_epsilon(1, 0.1, 0.0, 0.2) == 0.0
    assert binomial_epsilon(1, 0.3, 0.0, 0.2) == math.inf  # a yes tells the two apart with probability 0.3


EXTREME = [5e-324, 1e-300, 1e-160, 1e-9, 1.0, 1e9, 1e160, 1.7e308, math.inf]
EXTREME_DELTAS = [0.0, 5e-324, 1e-100, 0.3, 1 - 2.0**-53]


@pytest.mark.parametrize("size", EXTREME)
@pytest.mark.parametrize("delta", [*EXTREME_DELTAS, 1.0])
def test_conversions_answer_whatever_the_arguments(size: float, delta: float) -> None:
    """A number that is at least 0, or inf; never an error of arithmetic, nor a search without end."""
    answers = [gaussian_epsilon(size, delta), zcdp_epsilon(size, delta), planar_epsilon(size, delta)]
    for calls in (1, 1000, 10**12):
        answers += [optimal_epsilon(size, calls, delta), Selection("laplace", size, 1e300, calls).epsilon(delta)]
        answers += [binomial_epsilon(calls, p, 0.1, delta) for p in (0.0, 5e-324, 0.1 * (1 + 2.0**-52), 1 - 2.0**-53)]
    for distribution, nodes, sensitivity in itertools.product(
        ("gaussian", "laplace"), (1, 1e300), (1e-300, 1.0, 1e300)
    ):
        answers.append(Release(distribution, size, sensitivity, nodes).of_record(9).epsilon(delta))  # type: ignore[arg-type]
    for other in EXTREME[::2]:
        answers += [gaussian_delta(size, other), planar_delta(size, other), optimal_delta(other, 9, size)]
        answers += [binomial_delta(9, 5e-324, 0.1, other), optimal_delta(other, 10**12, size)]
    assert all(answer >= 0 for answer in answers)
    assert math.isinf(gaussian_epsilon(math.inf, 0.5))


@pytest.mark.parametrize("epsilon", [5e-324, 1e-160, 1e160, math.inf])
@pytest.mark.parametrize("delta", EXTREME_DELTAS)
def test_calibrations_keep_extreme_budgets_or_refuse(epsilon: float, delta: float) -> None:
    budget, sizes = Budget(epsilon, delta), (1e-300, 1e300)
    if delta > 0:
        assert gaussian_epsilon(gaussian_mu(budget), delta) <= epsilon
        assert zcdp_epsilon(largest_rho(budget), delta) <= epsilon
        assert planar_epsilon(planar_shift(epsilon, delta), delta) <= epsilon
    laws: list[NoiseDistribution] = ["laplace", *(["gaussian"] if delta > 0 else [])]
    lines = []
    for calls, sensitivity in itertools.product((1, 1000), sizes):
        assert optimal_epsilon(largest_call_epsilon(epsilon, delta, calls), calls, delta) <= epsilon
        with refused_or_made():
            scale = calibrate_selection("gumbel", budget, sensitivity, calls)
            lines.append(Selection("gumbel", scale, sensitivity, calls))
    for law, nodes, sensitivity in itertools.product(laws, (1, 1e300), sizes):
        with refused_or_made():
            lines.append(Release(law, calibrate(law, budget, sensitivity, nodes), sensitivity, nodes))
    assert all(line.epsilon(delta) <= epsilon for line in lines)


@contextmanager
def refused_or_made() -> Iterator[None]:
    try:
        yield
    except ValueError as refusal:
        if "no floating-point scale" not in str(refusal):
            raise


@pytest.mark.parametrize(("call", "calls", "delta"), [(1e-300, 40, 1e-300), (1e-160, 9, 5e-324), (1e-200, 40, 1e-203)])
def test_tiny_calls_are_priced_from_above(call: float, calls: int, delta: float) -> None:
    epsilon = optimal_epsilon(call, calls, delta)
    assert 0 <= epsilon <= calls * call * (1 + 1e-15)
    with mpmath.workdps(400):
        assert true_calls(call, calls, epsilon) <= mp.mpf(delta)


@pytest.mark.parametrize("root", [1e-200, 1e-12, 0.3, 1.0, 1e9, 1e200])
def test_searches_end_on_the_safe_side(root: float) -> None:
    for power in (0.5, 1.0, 3.0):
        if abs(power * math.log10(root)) < 300:
            allowed = root**power
            found = largest_within(lambda parameter: parameter**power, allowed)  # noqa: B023
            assert found**power <= allowed
            assert found == pytest.approx(root, rel=1e-12)
    found = smallest_epsilon(lambda epsilon: 1 / (1 + epsilon / root), 0.25)
    assert 1 / (1 + found / root) <= 0.25
    assert found == pytest.approx(3 * root, rel=1e-12)


# Learners


def built(family: str, name: str, variant: str, budget: Budget) -> Any:
    """A learner on a small problem."""
    kind = learners(family)[name]
    if family == "experts":
        return kind(ExpertProblem(np.ones(8), 4096, 4.0, gap=0.25), budget, 1, variant)
    if family == "erm":
        risk, place, dimension = next(where for need, where in ERM.items() if need in served(kind))
        domain = make_set(place, dimension)
        return kind(ErmProblem(domain, _risk(risk, place, dimension)), [budget], 1, variant)
    if family == "bandits":
        arms = "arms" in kind.card.needs
        domain = make_set("simplex", 3) if arms else make_set("ball", 2)
        return kind(BanditProblem(domain, 1024, 1.0, linear=True, arms=arms), [budget], 1, variant)
    problem = Problem(make_set("ball", 2), 256, 1.0, 1.0, 2.0, 4.0)
    return kind(problem, [Setting(32 if kind.card.windowed else 256, budget)], 1, variant)


ERM = {
    "potential:grouped": ("quadratic-risk", "grouped-l1", 4),
    "potential:spectral": ("quadratic-risk", "nuclear", 4),
    "potential:entropy": ("quadratic-risk", "l1-ball", 4),
    "potential:q-norm": ("quadratic-risk", "l1-ball", 4),
    "offline": ("quadratic-population", "ball", 4),
    "one pass, corners": ("lasso-population", "l1-ball", 4),
    "one pass": ("lasso-population", "ball", 4),
    "rank-one": ("logistic-risk", "ball", 4),
    "vertices": ("quadratic-risk", "l1-ball", 4),
    "": ("quadratic-risk", "ball", 4),
}
"""The first need that a learner has -> its risk, set and dimension."""


def served(kind: Any) -> set[str]:
    """The keys of `ERM` that a learner may have."""
    needs = {*kind.card.needs, ""}
    if issubclass(kind, OnePassLearner):
        needs |= {"one pass", *(["one pass, corners"] if "vertices" in needs else [])}
    return needs | {"offline"} if kind.card.name == "pol" else needs


@cache
def _risk(risk: str, place: str, dimension: int) -> Any:
    return make_risk(risk, make_set(place, dimension), 64, [np.random.default_rng(3)])


AS_PRINTED = ("printed", "paper", "reconstructed", "kst")
"""What variants are called whose noise is a formula of a text, which may keep no budget."""
SLOW = ("sampled",)
"""Variants whose accountant takes seconds a budget, which has tests of its own."""
CALIBRATED_BY_US = [
    (family, name, variant)
    for family in ("experts", "online", "bandits", "erm")
    for name, kind in sorted(learners(family).items())
    if kind.card.private
    for variant in kind.card.variants
    if not variant.startswith((*AS_PRINTED, *SLOW))
]


SHARED = {("experts", "batched-dartboard", "zcdp"), ("online", "l2p-sampled", "tuned")}
"""Their code is that of batched-dartboard.pure with shrinking-dartboard.zcdp, and of l2p-net.tuned: nightly."""


@pytest.mark.parametrize(
    ("family", "name", "variant"),
    [pytest.param(*each, marks=pytest.mark.nightly if each in SHARED else ()) for each in CALIBRATED_BY_US],
)
def test_a_learner_delivers_at_most_the_budget_or_refuses(family: str, name: str, variant: str) -> None:
    """To the last bit, from 1e-12 to 1e9; a refusal is a ValueError."""
    kept = 0
    grid = itertools.product((1e-12, 1e-6, 1.0, 100.0, 1e9), (0.0, 1e-300, 1e-6, 0.5))
    for epsilon, delta in grid:
        try:
            learner = built(family, name, variant, Budget(epsilon, delta))
            delivered = learner.delivered_epsilon()[0]
        except ValueError:
            continue
        assert delivered <= epsilon, (epsilon, delta)
        lines = learner.ledger() if type(learner).delivered_epsilon is BaseLearner.delivered_epsilon else ()
        for line in lines:
            if isinstance(line, Release) and line.distribution == "gaussian" and line.nodes > 0:
                mu = mp.sqrt(mp.mpf(line.nodes)) * mp.mpf(line.sensitivity) / mp.mpf(line.scale)
                assert true_gaussian(epsilon, mu)[0] <= mp.mpf(delta), (epsilon, delta)
        kept += 1
    assert kept


@pytest.mark.parametrize("epsilon", [1e-9, 0.37, 3.0, 1e6])
def test_pure_budgets_are_not_passed_by_the_last_bit(epsilon: float) -> None:
    """Where a scale is a reciprocal, or a unit scale times a range."""
    for rounds in (16, 37, 49, 100, 144):
        hedge = learners("experts")["hedge-composition"](ExpertProblem(np.ones(5), rounds), Budget(epsilon), 1, "pure")
        assert hedge.delivered_epsilon()[0] <= epsilon
    for rounds in (16, 49, 100, 144):
        problem = BanditProblem(make_set("ball", 2), rounds, 1.0)
        bandit = learners("bandits")["noisy-value-bandit"](problem, [Budget(epsilon)], 1, "corrected")
        assert bandit.delivered_epsilon()[0] <= epsilon
