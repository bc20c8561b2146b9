"""noisySFW and noisySMD at p = 2: noise by the paper's formulas, boxes against naive ones, the loss of the second."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from drawn import generators
from scipy.stats import binom, kstest, norm

from dpregret.algorithms.erm import noisy_batch_descent
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.noisy_batch_descent import NoisyBatchDescent
from dpregret.algorithms.erm.noisy_batch_frank_wolfe import NoisyBatchFrankWolfe
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget, gaussian_epsilon, smallest_epsilon
from dpregret.datasets.risks import make_risk
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit import exact_losses
from dpregret.workflows.audit.erm import LinearSample

DELTA, RUNS = 1e-6, 2
LOG = math.log(1 / DELTA)


def frank_wolfe(variant: str, samples: int, epsilon: float = 8.0) -> NoisyBatchFrankWolfe:
    domain = make_set("ball", 3)
    risk = make_risk("quadratic-population", domain, samples, generators(RUNS, 5))
    return NoisyBatchFrankWolfe(ErmProblem(domain, risk), [Budget(epsilon, DELTA)], RUNS, variant)


def test_printed_noise_of_batches_is_that_of_lines_4_and_8() -> None:
    n, made = 64, frank_wolfe("printed", 64)
    eta, steep, smooth, wide = math.log(n) / 16, made.risk.lipschitz, made.risk.smoothness, 2.0
    assert (made.batches.first, made.batches.later, made.batches.steps) == (32, 4, 8)
    early, late = made.scales[0]
    assert early**2 == pytest.approx(32 * steep**2 * LOG / (n**2 * 8**2))
    assert late**2 == pytest.approx(32 * (smooth * wide * eta) ** 2 * LOG / (n * 8**2))
    assert made.delivered_epsilon() == pytest.approx([gaussian_epsilon(8 / math.sqrt(2 * LOG), DELTA)])
    assert frank_wolfe("corrected", 64).delivered_epsilon() == pytest.approx([8.0])


@pytest.mark.parametrize("samples", [2, 3, 37, 64])
def test_a_pass_of_batches_is_the_box(samples: int) -> None:
    made = frank_wolfe("printed", samples, math.inf)
    records, released = made.fresh.stream().take(samples)[0], made.fit(generators(RUNS, 9))[0]
    first, later, eta = samples // 2, max(1, int(math.sqrt(samples) / 2)), math.log(samples) / (2 * math.sqrt(samples))
    for run in range(RUNS):
        stream = iter(records[run])

        def mean(point: Array, batch: list[Array]) -> Array:
            return point - np.mean(batch, axis=0)

        def moved(point: Array, slope: Array) -> Array:
            return (1 - eta) * point - eta * slope / np.linalg.norm(slope)

        before = np.zeros(3)
        slope = mean(before, [*itertools.islice(stream, first)])
        point = moved(before, slope)
        for _ in range(math.isqrt(samples)):
            batch = [*itertools.islice(stream, later)]
            slope = slope + mean(point, batch) - mean(before, batch)
            before, point = point, moved(point, slope)
        np.testing.assert_allclose(released[run], point, atol=1e-12)


def test_every_batch_has_noise_of_its_own() -> None:
    """Losses are zero: the gradients that the oracle receives are noise, and what the steps add is independent."""
    runs, samples, domain = 400, 37, make_set("ball", 4)
    problem = ErmProblem(domain, LinearSample(np.zeros((samples, 4)), runs))  # type: ignore[arg-type]
    made, asked = NoisyBatchFrankWolfe(problem, [Budget(2.0, DELTA)], runs, "corrected"), []

    def oracle(gradient: Array) -> Array:
        asked.append(gradient[0])
        return np.zeros_like(gradient)

    made.domain = type("Asked", (), {"linear_oracle": staticmethod(oracle), "center": domain.center, "dimension": 4})()  # type: ignore[assignment]
    made.fit(generators(runs, 9))
    noise = np.diff(np.array(asked), axis=0, prepend=0)
    noise[0] /= made.scales[0, 0]
    noise[1:] /= made.scales[0, 1]
    assert noise.shape == (7, runs, 4)
    assert kstest(noise.ravel(), norm.cdf).pvalue > 1e-9
    apart = np.corrcoef(noise.swapaxes(0, 1).reshape(runs, -1).T) - np.eye(28)
    assert np.abs(apart).max() < 6 / math.sqrt(runs)


def descent(variant: str, samples: int, epsilon: float = 1.0) -> NoisyBatchDescent:
    domain = make_set("ball", 2)
    risk: Any = make_risk("norm-kink-risk", domain, samples, generators(RUNS, 5))
    return NoisyBatchDescent(ErmProblem(domain, risk), [Budget(epsilon, DELTA)], RUNS, variant)


def test_printed_descent_is_that_of_theorem_10() -> None:
    made = descent("printed", 200)
    (plan,), steep = made.plans, made.risk.lipschitz
    assert plan.iterations == int(200**2 / (16 * 2 * LOG)) == 90
    assert plan.noise**2 == pytest.approx(8 * steep**2 * LOG / 200**2)
    assert plan.steps == pytest.approx(np.full(90, 2 / steep * math.sqrt(1 / 180)))
    assert noisy_batch_descent.printed_batch(made.budgets[0], 200, 90) == int(200 * math.sqrt(1 / 360)) == 10
    corrected = descent("corrected", 200)
    assert corrected.iterations() == [90]
    assert corrected.delivered_epsilon() == pytest.approx([1.0])


def test_descent_on_batches_is_the_box() -> None:
    made = descent("printed", 200)
    (plan,), domain = made.plans, made.domain
    released = made.fit(generators(RUNS, 9))[0]
    draws, points = generators(RUNS, 9), np.zeros((RUNS, 2))
    played = []
    for now in range(plan.iterations):
        if now % 64 == 0:
            blocks = [(each.integers(200, size=(64, 10)), each.standard_normal((64, 2))) for each in draws]
        played.append(points)
        slopes = np.zeros((RUNS, 2))
        for record in range(10):
            slopes += made.risk.record_gradient(points, np.array([block[0][now % 64, record] for block in blocks])) / 10
        noise = plan.noise * np.array([block[1][now % 64] for block in blocks])
        points = domain.project(points - 2 / made.risk.lipschitz * math.sqrt(1 / 180) * (slopes + noise))
    np.testing.assert_allclose(released, np.mean(played, axis=0), atol=1e-12)


def test_large_budgets_end_in_steps_along_full_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """T is capped, so that m grows with eps, up to all records; without privacy it is the limit."""
    monkeypatch.setattr(NoisyBatchDescent, "MAX_ITERATIONS", 70)
    batches = [
        noisy_batch_descent.printed_batch(Budget(eps, DELTA), 200, 70) for eps in (1, 70, 279, 280, 1e9, math.inf)
    ]
    assert batches == [11, 100, 199, 200, 200, 200]
    made = descent("printed", 200, math.inf)
    point, total, domain = np.zeros((1, RUNS, 2)), np.zeros((1, RUNS, 2)), made.domain
    for _ in range(70):
        total += point
        slopes = [made.risk.record_gradient(point[0], np.full(RUNS, record)) for record in range(200)]
        point = domain.project(point - 2 / made.risk.lipschitz * math.sqrt(1 / 140) * np.mean(slopes, axis=0))
    np.testing.assert_allclose(made.fit(generators(RUNS, 9)), total / 70, atol=1e-12)
    np.testing.assert_allclose(descent("printed", 200, 1e12).fit(generators(RUNS, 9)), total / 70, atol=1e-9)


def test_the_law_of_weighted_draws_is_that_of_all_counts() -> None:
    batch, chance, steps = 2, 0.3, 4
    brute = np.zeros(1 + batch * 6)
    for counts in itertools.product(range(batch + 1), repeat=steps - 1):
        total = sum(weight * count for weight, count in enumerate(counts, start=1))
        brute[total] += math.prod(binom.pmf(counts, batch, chance))
    np.testing.assert_allclose(exact_losses.drawn_law(batch, chance, steps), brute, atol=1e-15)


def test_half_lines_tell_what_one_batch_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    """T = 2: one batch, two mixtures of normal laws; their densities by quadrature."""
    monkeypatch.setattr(exact_losses, "STEPS", 2)
    budget, samples = Budget(1.0, DELTA), math.ceil(math.sqrt(64 * LOG))
    batch = noisy_batch_descent.printed_batch(budget, samples, 2)
    counts, deviation = np.arange(batch + 1), noisy_batch_descent.batch_deviation(budget, samples, 1.0)
    shares = binom.pmf(counts, batch, 1 / samples)

    grid = np.linspace(-2, 4, 20001)
    dense, other = (norm.pdf(grid[:, None], sign * counts / batch, deviation) @ shares for sign in (1, -1))

    def delta_at(epsilon: float) -> float:
        return float(np.trapezoid(np.maximum(0.0, dense - math.exp(epsilon) * other), grid))

    exact, found = smallest_epsilon(delta_at, DELTA), exact_losses.batch_epsilon(budget)
    assert 0.97 * exact < found <= exact * (1 + 1e-6)


def test_more_steps_lose_more() -> None:
    """The printed noise does not grow with T: the loss does, like sqrt(T)."""
    with pytest.MonkeyPatch.context() as patch:
        lost = []
        for steps in (25, 100):
            patch.setattr(exact_losses, "STEPS", steps)
            lost.append(exact_losses.batch_epsilon(Budget(1.0, DELTA)))
    assert 1.5 < lost[1] / lost[0] < 3
    assert descent("printed", 200).ledger()[0].epsilon(DELTA) > lost[1]
