"""ApolySFW: its noise by the paper's formulas, its box against a naive one, and what a replaced record moves."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.one_sample_frank_wolfe import OneSampleFrankWolfe, Plan
from dpregret.algorithms.erm.polytope_frank_wolfe import score_noise
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import zcdp_epsilon
from dpregret.datasets.risks import make_risk
from dpregret.numerics.arrays import Array

BUDGET = Budget(8.0, 1e-6)


def learner(
    variant: str, samples: int, place: str = "l1-ball", dimension: int = 3, epsilon: float = 8.0
) -> OneSampleFrankWolfe:
    domain = make_set(place, dimension)
    options = {"noise": 0.0} if place == "simplex" else {}
    risk = make_risk("lasso-population", domain, samples, generators(2, 5), **options)
    return OneSampleFrankWolfe(ErmProblem(domain, risk), [Budget(epsilon, 1e-6)], 2, variant)


@pytest.mark.parametrize("place", ["l1-ball", "simplex"])
def test_printed_noise_is_that_of_lines_5_and_12(place: str) -> None:
    made = learner("printed", 37, place)
    n, corners, wide = 37, {"l1-ball": 6, "simplex": 3}[place], 2.0
    eta = math.log(n / math.log(corners)) / n
    (plan,), steep = made.plans, made.risk.lipschitz_l1
    assert (plan.first, plan.steps) == (18, 18)
    assert plan.eta == pytest.approx(eta)
    log = math.log(1e6)
    assert plan.scales[0] == pytest.approx(4 * steep * wide * math.sqrt(log) / (8 * math.sqrt(n)))
    for t in (1, 7, 18):
        moved = max((1 - eta) ** t * 2 * steep * wide / n, 2 * eta * (wide**2 + steep * wide))
        assert plan.scales[t] == pytest.approx(2 * moved * math.sqrt(n * log) / 8)


def naive(made: OneSampleFrankWolfe, plan: Plan, records: Array) -> Array:
    """The box without noise, one run, one record (x, y) a row."""

    def slope(point: Array, record: Array) -> Array:
        return (record[:-1] @ point - record[-1]) * record[:-1]

    corners = np.concatenate([np.eye(3), -np.eye(3)])
    before = np.zeros(3)
    gradient = np.mean([slope(before, record) for record in records[: plan.first]], axis=0)
    point = (1 - plan.eta) * before + plan.eta * corners[np.argmin(corners @ gradient)]
    for record in records[plan.first : plan.first + plan.steps]:
        change = slope(point, record) - slope(before, record)
        gradient = (1 - plan.eta) * (gradient + change) + plan.eta * slope(point, record)
        before, point = point, (1 - plan.eta) * point + plan.eta * corners[np.argmin(corners @ gradient)]
    return point


@pytest.mark.parametrize("variant", ["printed", "corrected", "tuned"])
def test_the_pass_is_the_box(variant: str) -> None:
    made = learner(variant, 40, epsilon=math.inf)
    records = made.fresh.stream().take(40)[0]
    released = made.fit(generators(2, 9))[0]
    for run in range(2):
        np.testing.assert_allclose(released[run], naive(made, made.plans[0], records[run]), atol=1e-12)


@pytest.mark.parametrize("variant", ["printed", "corrected", "tuned"])
def test_the_worst_record_attains_the_ledger(variant: str) -> None:
    made = learner(variant, 11, dimension=2)
    made.steep, made.smooth = 1.0, 0.0  # linear losses: what d_t moves does not depend on the points
    made.plans = [{"printed": made._printed, "corrected": made._corrected, "tuned": made._tuned}[variant](BUDGET)]
    (plan,) = made.plans
    spent = []
    for replaced in range(plan.first + plan.steps):
        moved = 2.0 / plan.first if replaced < plan.first else 0.0
        total = (moved / plan.scales[0]) ** 2
        for t in range(1, plan.steps + 1):
            moved = (1 - plan.eta) * moved + (2 * plan.eta if replaced == plan.first + t - 1 else 0.0)
            total += (moved / plan.scales[t]) ** 2
        spent.append(total)
    assert max(spent) == pytest.approx(made._squares(plan))


@pytest.mark.parametrize(("variant", "chance"), [("printed", lambda x: (0.5 + x / 4) * math.exp(-x)),
                                                  ("corrected", lambda x: 1 / (1 + math.exp(x)))])  # fmt: skip
def test_a_choice_has_the_law_of_its_noise(variant: str, chance: Callable[[float], float]) -> None:
    runs, times, domain = 200, 100, make_set("l1-ball", 1)
    risk = make_risk("lasso-population", domain, 40, generators(runs, 5), sparsity=1)
    made = OneSampleFrankWolfe(ErmProblem(domain, risk), [BUDGET], runs, variant)
    (plan,), noise, worse = made.plans, score_noise(made.distribution, generators(runs, 9), times, 2), 0
    for _ in range(times):
        point = np.zeros((runs, 1))
        made._move(point, np.full((runs, 1), 0.4 * plan.scales[1]), plan, 1, noise)
        worse += int((point > 0).sum())  # the corner of the larger score
    assert abs(worse / (runs * times) - chance(0.8)) < 5 * math.sqrt(0.25 / (runs * times))


@pytest.mark.parametrize("place", ["l1-ball", "simplex"])
def test_budgets_are_used_up_but_for_the_printed_noise(place: str) -> None:
    for variant in ("corrected", "tuned"):
        assert learner(variant, 500, place).delivered_epsilon() == pytest.approx([8.0], rel=1e-6)
    made = learner("printed", 500, place)
    (delivered,) = made.delivered_epsilon()
    assert delivered < 1.0
    # of the record of step 1 with all moves as large as its first: far more than it can move
    (plan,) = made.plans
    ratio = made.radius * made._late(plan.eta) / plan.scales[1]
    assert delivered < zcdp_epsilon(2.46**2 / 8 * plan.steps * ratio**2, 1e-6)


def test_tuning_lowers_the_guarantee() -> None:
    (tuned,), (corrected,), (printed,) = (learner(each, 2000).bound() for each in ("tuned", "corrected", "printed"))
    assert tuned < corrected < printed


def test_a_single_record_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 records"):
        learner("printed", 1)
