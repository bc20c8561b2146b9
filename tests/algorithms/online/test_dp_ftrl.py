"""DP-FTRL: updates by brute force, its regularisations, its bounds; gradient descent with the small-loss step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.dp_ftrl import SmoothLeader
from dpregret.algorithms.online.dp_ftrl_lipschitz import LipschitzLeader
from dpregret.algorithms.online.small_loss_descent import SmallLossDescent
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import Stream, make_stream

HORIZON = 512


def problem_on(stream: str, dimension: int = 4, horizon: int = HORIZON) -> tuple[Problem, Stream]:
    domain = make_set("ball", dimension)
    losses = make_stream(stream, domain)
    best = getattr(losses, "best_loss", None)
    return Problem(domain, horizon, losses.lipschitz, losses.strong_convexity, losses.smoothness, best), losses


def setting(epsilon: float) -> Setting:
    return Setting(HORIZON, Budget(epsilon, 1e-6))


def test_every_point_minimises_the_regularised_noisy_sum() -> None:
    problem, losses = problem_on("realizable-direction")
    learner = SmoothLeader(problem, [setting(2.0), setting(8.0)], 3, "corrected")
    assert learner.noise_plan is not None
    noise = next(learner.noise_plan.blocks(generators(3)))
    total = np.zeros((2, 3, 4))
    for now, loss in enumerate(losses.rounds(generators(3, 1), 20)):
        gradient = loss.gradient(learner.point)
        total += gradient
        learner.observe(loss, gradient, noise[now])
        slope = total + noise[now] + learner.regularisation[:, None, None] * (learner.point - learner.domain.center())
        # first-order optimality on the ball: no direction into the set descends
        best = learner.domain.linear_oracle(slope)
        assert (np.vecdot(slope, best - learner.point) >= -1e-9).all()


def test_the_corrected_regularisation_minimises_the_proven_bound() -> None:
    problem, _ = problem_on("realizable-direction")
    bounds = {
        variant: float(SmoothLeader(problem, [setting(1.0)], 1, variant).bound(HORIZON)[0, -1])
        for variant in ("corrected", "lambda-half", "lambda-double", "lambda-fourfold")
    }
    assert min(bounds, key=lambda name: bounds[name]) == "corrected"
    learner = SmoothLeader(problem, [setting(1.0)], 1, "corrected")
    variance = float(learner.variances(HORIZON).sum())
    assert learner.regularisation[0] == pytest.approx(np.cbrt(8 * variance / 4))
    assert bounds["corrected"] == pytest.approx(
        4 * learner.regularisation[0] + 4 * variance / learner.regularisation[0] ** 2
    )


def test_printed_constants() -> None:
    problem, _ = problem_on("realizable-direction")
    steep = problem.lipschitz / 2
    wanted = 32 + np.cbrt(steep**2 * HORIZON * 4 * math.log(HORIZON) * math.log(1e6) / 64)
    for variant in ("printed", "printed-lambda"):
        assert SmoothLeader(problem, [setting(8.0)], 1, variant).regularisation[0] == pytest.approx(wanted)
    printed = SmoothLeader(problem, [setting(8.0)], 1, "printed")
    assert printed.delivered_epsilon()[0] > 2 * 8.0  # noise for a loss set to zero, and a loose formula
    assert SmoothLeader(problem, [setting(8.0)], 1, "printed-lambda").delivered_epsilon()[0] == pytest.approx(8.0)


@pytest.mark.parametrize("variant", ["corrected", "corrected-reduced", "lambda-double", "root", "buffers"])
@pytest.mark.parametrize("stream", ["realizable-direction", "realizable-quadratic"])
def test_regret_stays_below_the_bound(stream: str, variant: str) -> None:
    problem, losses = problem_on(stream)
    learner = SmoothLeader(problem, [setting(1.0), setting(16.0)], 8, variant)
    record = play(learner, losses.rounds(generators(8), HORIZON), generators(8, 1), [HORIZON])
    assert (record.losses[..., 0].mean(axis=1) <= learner.bound(HORIZON)[:, -1]).all()


@pytest.mark.parametrize("variant", ["corrected", "root", "buffers"])
def test_lipschitz_regularisation_and_its_bound(variant: str) -> None:
    problem, losses = problem_on("half-space")
    learner = LipschitzLeader(problem, [setting(4.0)], 16, variant)
    record = play(learner, losses.rounds(generators(16), HORIZON), generators(16, 1), [64, HORIZON])
    assert (record.losses.mean(axis=1) <= learner.bound(HORIZON)[:, [63, HORIZON - 1]]).all()
    root = np.sqrt(learner.variances(HORIZON)).sum()
    best = math.sqrt(HORIZON * problem.lipschitz**2 + 2 * problem.lipschitz * root) / 2
    assert learner.regularisation[0] == pytest.approx(best)


def test_small_loss_descent_stops_losing() -> None:
    problem, losses = problem_on("realizable-direction")
    learner = SmallLossDescent(problem, [setting(math.inf)], 8, "plain")
    assert learner.eta == pytest.approx(1 / 2)
    record = play(learner, losses.rounds(generators(8), HORIZON), generators(8, 1), [128, HORIZON])
    assert (record.losses <= learner.bound(HORIZON)[0, 0]).all()
    assert learner.bound(HORIZON)[0, 0] == pytest.approx(2 * 4)
    assert record.losses[..., 1] == pytest.approx(record.losses[..., 0], rel=1e-6)
