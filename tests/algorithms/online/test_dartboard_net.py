"""The dartboard on a net: the law of its point, the parameters of Corollary 3, and what it refuses."""

import math

import numpy as np
import pytest
from drawn import generators
from scipy import stats

from dpregret.algorithms.experts.shrinking_dartboard import Tuning, corollary_3
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.dartboard_net import DartboardNet
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream


def made(rounds, runs, variant="tuned", epsilon=4.0, dimension=1, delta=1e-6):
    domain = make_set("ball", dimension)
    losses = make_stream("half-space", domain)
    problem = Problem(domain, rounds, losses.lipschitz, losses.strong_convexity, losses.smoothness)
    return DartboardNet(problem, [Setting(rounds, Budget(epsilon, delta))], runs, variant), losses


@pytest.mark.parametrize(("batch", "most"), [(1, 99), (2, 99), (2, 0)])
def test_the_point_has_the_law_of_hedge(batch, most):
    """After six rounds, the same losses in every run: chi-square against the exponential weights of all batches."""
    runs, rounds = 5_000, 7
    learner, losses = made(rounds, runs)
    learner.plans, learner.most = [Tuning(batch, 0.2, 0.7)], np.array([most])
    learner.begin(generators(runs, 5))
    seen, one = np.zeros(len(learner.sums.net)), [np.random.default_rng(3)] * runs
    for now, loss in enumerate(losses.rounds(one[:1], rounds), 1):
        learner.round = now
        learner.observe(loss, np.zeros(()), None)
        if now <= 6:
            base = loss.value(learner.center)
            shifted = (loss.value(learner.sums.net[:, None]) - base) / learner.unit
            seen += np.clip(shifted, -0.5, 0.5).ravel() if most else 0.0
    wanted = np.exp(-0.7 * seen)
    chosen = np.abs(learner.point[0] - learner.sums.net[:, 0]).argmin(axis=1)
    found = np.bincount(chosen, minlength=len(wanted))
    assert stats.chisquare(found, wanted / wanted.sum() * runs).pvalue > 1e-4
    assert learner.draws.max() <= min(most, 6 // batch)
    assert (learner.draws < 6 // batch).mean() > 0.1  # some kept theirs


def test_printed_parameters_are_those_of_corollary_3():
    learner, _ = made(2**12, 2, "printed", 1.0)
    points = len(learner.sums.net)
    assert learner.plans == [corollary_3(2**12, points, 1.0, 1e-6)]
    assert points >= 2**11
    radius = learner.sums.radius * learner.lipschitz * 2**12
    assert learner.bound(3)[0] == pytest.approx(learner.unit * learner.plans[0].guarantee(2**12, points) + radius)
    assert learner.delivered_epsilon()[0] < 0.1
    assert made(64, 2, "tuned", math.inf)[0].delivered_epsilon() == [math.inf]


def test_budgets_that_pay_for_nothing_are_refused():
    with pytest.raises(ValueError, match="dartboard-net needs delta > 0"):
        made(64, 2, "printed", 1.0, delta=0.0)
    with pytest.raises(ValueError, match="leaves no switch in 64 rounds"):
        made(64, 2, "tuned", 1e-8)
    with pytest.raises(ValueError, match="needs dimension 1, 2 or 3, got 4: use l2p-sampled"):
        made(64, 2, "printed", 1.0, dimension=4)
