"""Online Frank-Wolfe with explicit constants: its round by hand, its guarantee, and worst cases computed by PEPit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.explicit_frank_wolfe import ExplicitFrankWolfe
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.losses.linear import Linear
from dpregret.numerics.arrays import Array


def regrets(gradients: Array, start: Array) -> tuple[Array, ExplicitFrankWolfe]:
    """Regret (runs,) on linear losses, gradients (rounds, runs, d) of norm at most 1, over the unit ball."""
    rounds, runs, d = gradients.shape
    problem = Problem(make_set("ball", d), rounds, 1.0, 0.0, 0.0)
    learner = ExplicitFrankWolfe(problem, [Setting(1, Budget(math.inf))], runs, "plain")
    learner.point = np.tile(start, (1, runs, 1))
    lost = np.zeros(runs)
    for now, each in enumerate(gradients):
        learner.round = now + 1
        lost += np.einsum("rk,rk->r", each, learner.point[0])
        learner.observe(Linear(each), each[None], None)
    return lost + np.linalg.norm(gradients.sum(axis=0), axis=1), learner


def directions(rounds: int, runs: int, d: int = 2) -> Array:
    drawn = np.random.default_rng(rounds).normal(size=(rounds, runs, d))
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def test_a_round_by_hand() -> None:
    """Six rounds over the ball: the vertex against a direction of length r is -direction / r."""
    gradients, start = directions(6, 1), np.array([0.6, 0.0])
    _, learner = regrets(gradients, start)
    eta, sigma, x, total = 1.0 * (3 / 6) ** 0.75, math.sqrt(3 / 6), start, np.zeros(2)
    for gradient in gradients[:, 0]:
        total = total + gradient
        direction = x - start + eta * total
        x = x - sigma * (direction / np.linalg.norm(direction) + x)
    assert learner.point[0, 0] == pytest.approx(x, rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 3, 10, 200])
def test_regret_stays_below_the_guarantee(rounds: int) -> None:
    """Random directions, one direction, and the gradient that points to where the learner stands."""
    found, learner = regrets(directions(rounds, 50), np.array([1.0, 0.0]))
    alike, _ = regrets(np.tile([1.0, 0.0], (rounds, 1, 1)), np.array([1.0, 0.0]))
    assert max(found.max(), alike.max()) <= learner.bound(rounds)[0, -1]
    assert learner.bound(rounds)[0, 0] == pytest.approx(4 / 3**0.75 * 2 * rounds**0.75)


@pytest.mark.parametrize("rounds", [2, 3, 4])
def test_worst_cases_of_pepit_are_above_every_play(rounds: int) -> None:
    """An outside oracle: the exact worst case over all convex losses and sets of diameter 2, by a semidefinite program.

    Our learner on linear losses over the ball stays below it, and comes near; the guarantee is above it.
    """
    pepit = pytest.importorskip("PEPit.examples.online_learning.online_frank_wolfe")
    worst, guarantee = pepit.wc_online_frank_wolfe(1.0, 2.0, rounds, verbose=-1)
    found, learner = regrets(directions(rounds, 20_000), np.array([1.0, 0.0]))
    assert guarantee == pytest.approx(learner.bound(rounds)[0, -1])
    assert 0.5 * worst < found.max() <= worst * (1 + 1e-5) <= guarantee
