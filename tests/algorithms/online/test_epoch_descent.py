"""Doubling epochs of phased SGD: against a plain version, noise, sensitivity of an average, guarantee."""

import math

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.epoch_descent import EpochDescent
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.datasets.losses import Quadratic


def made(rounds, epsilon, dimension=2, runs=1, lipschitz=2.0, smoothness=0.5):
    problem = Problem(make_set("ball", dimension), rounds, lipschitz, 0.0, smoothness)
    return EpochDescent(problem, [Setting(rounds, Budget(epsilon, 1e-6))], runs, "gaussian")


def quadratics(rounds, dimension=2):
    centers = np.random.default_rng(1).normal(size=(rounds, dimension))
    return [Quadratic(center[None], 0.5) for center in centers]


def clip(point):
    return point / max(1.0, float(np.linalg.norm(point)))


def optimised(losses, eta):
    """Phased SGD without noise, line by line."""
    point, first = np.zeros(2), 0
    for phase in range(1, len(losses).bit_length()):
        count, total = len(losses) >> phase, np.zeros(2)
        for loss in losses[first : first + count]:
            total += point
            point = clip(point - eta / 4**phase * loss.gradient(point[None])[0])
        point, first = clip(total / count), first + count
    return point


def test_plays_are_those_of_algorithm_2():
    """Without noise, in 21 rounds: the point of an epoch is made of all losses of the epoch before."""
    rounds = 21
    losses, learner = quadratics(rounds), made(rounds, math.inf)
    learner.begin(generators(1, 2))
    played = []
    for now, loss in enumerate(losses, 1):
        played.append(learner.point[0, 0].copy())
        learner.round = now
        learner.observe(loss, np.zeros(()), None)
    for now in range(1, rounds + 1):
        begun = 1 << (now.bit_length() - 1)
        before = losses[begun // 2 - 1 : begun - 1] if begun > 1 else []
        eta = float(learner.best_steps(len(before))[0]) if before else 0.0
        assert played[now - 1] == pytest.approx(optimised(before, eta), abs=1e-12)


def test_the_noise_of_an_epoch():
    """Flat losses: the released point is the center, moved by the noises of all phases."""
    runs, learner = 4000, made(15, 40.0, runs=4000, lipschitz=0.3)
    flat = Quadratic(np.zeros((1, 2)), 0.0)
    learner.begin(generators(runs, 3))
    for now in range(1, 16):
        learner.round = now
        learner.observe(flat, np.zeros(()), None)
    steps = learner.best_steps(8)[0] * 0.25 ** np.arange(1, 4)
    scale = 2 * 0.3 * math.sqrt(float((steps**2).sum())) / gaussian_mu(Budget(40.0, 1e-6))
    assert scale < 0.2
    assert learner.point[0].std() == pytest.approx(scale, rel=0.03)
    assert learner.delivered_epsilon()[0] == pytest.approx(40.0, rel=1e-6)


@pytest.mark.parametrize("changed", [0, 1, 3, 5])
def test_one_loss_moves_an_average_by_no_more_than_the_noise_is_made_for(changed):
    """Gradients of norm L that point apart, in a phase of four losses of an epoch of eight."""
    averages = []
    for side in (-1.0, 1.0):
        learner = made(32, math.inf, lipschitz=1.0, smoothness=1e-9)
        learner.begin(generators(1, 2))
        learner.open_epoch(8)
        losses = [Quadratic(np.array([[3.0 if now != changed else 3.0 * side, 0.0]]), 1 / 4) for now in range(8)]
        found = []
        for loss in losses:
            before = learner.phase
            if learner.phase < 3:
                learner._meet(loss)
            if learner.phase > before:
                found.append(learner.walker[0, 0].copy())
        averages.append(found)
    phase = [0, 0, 0, 0, 1, 1][changed]
    moved = np.linalg.norm(averages[0][phase] - averages[1][phase])
    allowed = 2 * 1.0 * float(learner.best_steps(8)[0]) * 0.25 ** (phase + 1)
    assert moved <= allowed
    assert (moved > 0) == (changed not in (3, 5))  # the last step of a phase comes after its average


def test_mean_regret_is_below_the_guarantee():
    runs, rounds = 64, 300
    centers = np.random.default_rng(4).normal(size=(rounds, runs, 2))
    centers /= np.linalg.norm(centers, axis=-1, keepdims=True)
    losses = [Quadratic(center * 0.5 + np.array([0.4, 0.0]), 1.0) for center in centers]
    learner = made(rounds, 2.0, runs=runs, smoothness=1.0)
    record = play(learner, losses, generators(runs, 5), [rounds])
    best = centers.mean(axis=0) * 0.5 + np.array([0.4, 0.0])
    least = sum(loss.value(best[None]) for loss in losses)
    regret = float(record.losses.mean() - least.mean())
    assert 0 < regret < learner.bound(rounds)[0, -1]
    assert (np.diff(learner.bound(rounds)[0]) > 0).all()
