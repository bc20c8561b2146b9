"""POL: its steps against a solver, the sensitivity of its average by search, its guarantee, its printed noise."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.private_offline_learning import GAMMA, PrivateOfflineLearning
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.datasets.risks import make_risk
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.exact_losses import CHANGED, RECORDS, Signs, offline, offline_epsilon

BUDGET, FREE = Budget(1.0, 1e-6), Budget(math.inf, 1e-6)


class Given:
    """Losses <z, x>, or (b/2) |x - z|^2, of given records (n, p), one run."""

    def __init__(self, records: Array, bend: float = 0.0):
        self.records, self.samples, self.remaining = records, len(records), len(records)
        self.smoothness = self.strong_convexity = self.bend = bend
        self.lipschitz = 1.0 + 2 * bend

    def stream(self) -> Any:
        return Given(self.records, self.bend)

    def take(self, count: int) -> Array:
        first, self.remaining = self.samples - self.remaining, self.remaining - count
        return self.records[None, None, first : first + count]

    def gradients(self, points: Array, records: Array) -> Array:
        return self.bend * (points - records) if self.bend else np.broadcast_to(records, points.shape)


def made(risk: Any, dimension: int, variant: str = "corrected", budget: Budget = FREE) -> PrivateOfflineLearning:
    return PrivateOfflineLearning(ErmProblem(make_set("ball", dimension), risk), [budget], 1, variant)


def average(learner: PrivateOfflineLearning, alpha: float) -> Array:
    learner.tunings = [learner.tunings[0]._replace(alpha=alpha, noise=0.0)]
    return learner.fit([np.random.default_rng(0)])[0, 0]


@pytest.mark.parametrize("bend", [0.0, 0.7])
def test_steps_minimise_the_box(bend: float) -> None:
    records = np.random.default_rng(2).normal(size=(7, 2))
    alpha, point = 0.4, np.zeros(2)
    points = [point]
    for t, record in enumerate(records[:-1], 1):

        def objective(x: Array, t: int = t, record: Array = record, start: Array = point) -> float:
            loss = bend / 2 * np.sum((x - record) ** 2) if bend else record @ x
            return float(np.sum((x - start) ** 2) / 2 + (loss + alpha / 2 * x @ x) / (alpha * t))

        inside = {"type": "ineq", "fun": lambda x: 1 - x @ x}
        point = minimize(objective, np.zeros(2), constraints=[inside], tol=1e-12).x
        points.append(point)
    assert average(made(Given(records, bend), 2), alpha) == pytest.approx(np.mean(points, axis=0), abs=1e-5)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 20.0])
def test_average_moves_by_no_more_than_its_sensitivity(alpha: float) -> None:
    random, worst, n = np.random.default_rng(4), 0.0, 40
    records = random.choice([-1.0, 1.0], size=(n, 1)) * random.choice([1.0, 0.1], size=(n, 1))
    for place in range(n - 1):
        sides = []
        for side in (1.0, -1.0):
            records[place] = side
            sides.append(average(made(Given(records.copy()), 1), alpha))
        worst = max(worst, float(np.linalg.norm(sides[0] - sides[1])))
    stated = made(Given(records), 1).sensitivity(alpha)
    assert worst <= stated * (1 + 1e-12)
    if alpha == 20:
        assert worst == pytest.approx(stated)  # the first record, where points stay inside
    printed = 2 * (1 + alpha) * math.log(n) / n  # eq. (37), without 1/alpha
    assert (worst > printed) == (alpha < 1)


def test_printed_noise_and_alpha_are_those_of_the_box() -> None:
    n, d, epsilon, delta = 5000, 9, 0.3, 1e-5
    learner = made(Given(np.zeros((n, d))), d, "printed", Budget(epsilon, delta))
    (alpha, noise), error = learner.tunings[0], learner.stated_error(Budget(epsilon, delta))
    assert alpha == pytest.approx(error)  # r = 1
    size = 2 * math.sqrt(2) * (1 + alpha) * math.log(n) / (n * epsilon)
    assert noise == pytest.approx(size * math.sqrt(math.log(1 / delta) + epsilon))
    first = math.sqrt(d) * (1 + error) * math.sqrt(math.log(1 / GAMMA) * math.log(1 / delta)) / (error * epsilon)
    second = (1 + error) ** 2 * math.log(n) * math.log(math.log(n) / GAMMA) / error**2
    assert max(first, second) == pytest.approx(n)


def test_corrected_tuning_is_the_best_on_a_grid_and_keeps_its_budget() -> None:
    learner = made(Given(np.zeros((3000, 4))), 4, budget=BUDGET)
    assert learner.delivered_epsilon() == pytest.approx([BUDGET.epsilon])
    for alpha in np.geomspace(1e-3, 10, 200):
        noise = learner.sensitivity(alpha) / gaussian_mu(BUDGET)
        assert learner.bound()[0] <= learner._guarantee(type(learner.tunings[0])(alpha, noise)) * (1 + 1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.7])
def test_every_term_of_the_guarantee_is_there_alone(alpha: float) -> None:
    """In the unit ball: the penalty, regret of gradient descent on penalised losses, the length of the noise."""
    n, d, noise = 3000, 4, 0.3
    learner = made(Given(np.zeros((n, d))), d, budget=BUDGET)
    steps = sum((1 + alpha) ** 2 / (2 * alpha * t) for t in range(1, n + 1)) / n
    quiet = learner._guarantee(type(learner.tunings[0])(alpha, 0.0))
    assert quiet == pytest.approx(alpha / 2 + alpha / (2 * n) + steps, rel=0.1)
    assert quiet >= alpha / 2 + alpha / (2 * n) + steps
    lengths = np.linalg.norm(noise * np.random.default_rng(1).standard_normal((20_000, d)), axis=1)
    loud = learner._guarantee(type(learner.tunings[0])(alpha, noise))
    assert 1.0 <= (loud - quiet) / lengths.mean() <= 1.1


def test_mean_excess_is_within_the_guarantee() -> None:
    domain, seeds = make_set("ball", 4), [np.random.default_rng(np.random.SeedSequence(run)) for run in range(32)]
    risk = make_risk("linear-population", domain, 500, seeds, strength=3.0).facing([gaussian_mu(BUDGET)])  # type: ignore[attr-defined]
    learner = PrivateOfflineLearning(ErmProblem(domain, risk), [BUDGET], 32, "corrected")
    excess = risk.value(learner.fit([np.random.default_rng(run) for run in range(32)])) + risk.lengths
    assert 0 < excess.mean() <= learner.bound()[0]


def test_theorem_5_is_refuted_by_a_pair_that_the_ledger_covers() -> None:
    found = offline()
    assert found.refutes
    signs = np.where(np.arange(RECORDS) % 2, -1.0, 1.0)
    assert CHANGED < RECORDS
    (spent,) = made(Signs(signs), 1, "printed", BUDGET).delivered_epsilon()
    assert 1 < offline_epsilon(BUDGET) == found.attained <= spent


def test_other_losses_are_refused() -> None:
    class Logistic(Given):
        def __init__(self) -> None:
            super().__init__(np.zeros((5, 1)))
            self.smoothness = 0.25

    with pytest.raises(ValueError, match=r"pol needs losses that are linear or \(b/2\) \|theta - z\|\^2"):
        made(Logistic(), 1)
    with pytest.raises(ValueError, match="at least two records"):
        made(Given(np.zeros((1, 1))), 1)
