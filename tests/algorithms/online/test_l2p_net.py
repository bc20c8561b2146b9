"""L2P on a net: the law of its point, its parameters, and what its printed parameters promise."""

import math

import numpy as np
import pytest
from scipy import stats

from dpregret.algorithms.experts.l2p import Copied
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.l2p_net import LazyNet
from dpregret.algorithms.online.l2p_sampled import LazySampled
from dpregret.algorithms.online.lazy_points import printed
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream


def learner(rounds, runs, variant="tuned", epsilon=1.0, dimension=1, stream="half-space"):
    domain = make_set("ball", dimension)
    losses = make_stream(stream, domain)
    problem = Problem(domain, rounds, losses.lipschitz, losses.strong_convexity, losses.smoothness)
    return LazyNet(problem, [Setting(rounds, Budget(epsilon, 1e-6))], runs, variant), losses


def differences(lazy, loss):
    """(f - f(c)) / (L D) at the points of the net, clipped."""
    return np.clip((loss.value(lazy.net[:, None]) - loss.value(lazy.center)) / lazy.unit, -0.5, 0.5)


def test_the_point_has_the_law_of_the_measure():
    """After an odd number of batches, on the same losses in every run, against nu itself: chi-square."""
    runs, rounds = 10_000, 6
    lazy, losses = learner(rounds, runs)
    lazy.plans = [type("Plan", (Copied,), {"spare": 1.5})(2, 0.2, 0.9)]  # decides often, and mostly keeps
    lazy.sizes = [np.exp(-2.0 * np.square(lazy.net - 0.3).sum(axis=1))]
    lazy.begin([np.random.default_rng([5, run]) for run in range(runs)])
    one = [np.random.default_rng(3)] * runs
    for now, loss in enumerate(losses.rounds(one[:1], rounds), 1):
        lazy.round = now
        lazy.observe(loss, np.zeros(()), None)
    scores = lazy.sums.total[:, 0]  # of all rounds; the last decision was after round 4
    lazy_two, losses = learner(rounds, 1)
    seen = np.zeros(len(scores))
    for loss in list(losses.rounds(one[:1], rounds))[:4]:
        seen += differences(lazy_two, loss).ravel()
    wanted = lazy.sizes[0] * np.exp(-0.9 * seen)
    wanted /= wanted.sum()
    found = np.bincount(lazy.chosen[0, 0], minlength=len(wanted))
    assert stats.chisquare(found, wanted * runs).pvalue > 1e-4
    assert (lazy.draws < 3).mean() > 0.1  # some kept theirs at both decisions


@pytest.mark.parametrize(("epsilon", "horizon", "dimension"), [(1 / 64, 2**20, 1), (1.0, 2**10, 2), (0.25, 999, 3)])
def test_printed_parameters(epsilon, horizon, dimension):
    """The theorem's, and p = eta/eps breaks its own condition eta/p <= eps/2."""
    problem = Problem(make_set("ball", dimension), horizon, 0.5, 0.0)
    plan, weight = printed(problem, Setting(1, Budget(epsilon, 1e-6)))
    eta = epsilon ** (2 / 3) / (horizon ** (1 / 3) * math.log(horizon / 1e-6))
    assert plan.batch == max(1, round(1 / (2 * epsilon * math.log(1e6))))
    assert plan.spare * plan.eta == pytest.approx(2 * eta)  # line 5
    assert weight == pytest.approx(0.25 * max(math.sqrt(horizon), math.sqrt(dimension * math.log(horizon)) / eta))
    beta = plan.eta / (0.5 * 2.0)
    assert beta == pytest.approx(eta**2 * weight / (20 * 0.25))
    assert eta / plan.keep_away > epsilon / 2
    assert plan.price(horizon, 1e-6) < epsilon / 2  # by our ledger, on a net


def test_losses_count_relative_to_the_center():
    """Sums of the net from the compiled loop and from plain values, odd sizes; no loss counts more than 1/2."""
    lazy, losses = learner(7, 3, dimension=2)
    lazy.begin([np.random.default_rng([1, run]) for run in range(3)])
    plain = np.zeros_like(lazy.sums.total)
    for loss in losses.rounds([np.random.default_rng([2, run]) for run in range(3)], 7):
        lazy.count(loss)
        plain += differences(lazy, loss)
    assert lazy.sums.total == pytest.approx(plain, abs=1e-12)


def exact_share(lazy, seen, split):
    """Of nu in the part x_1 > split of the disc, by a fine grid; seen: losses before the last decision."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 801)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= 1]
    scores = lazy.regularisers[0] / lazy.unit * np.square(grid).sum(axis=1)
    for loss in seen:
        scores = scores + loss.value(grid[:, None])[:, 0] / lazy.unit
    law = np.exp(lazy.plans[0].eta * (scores.min() - scores))
    return law[grid[:, 0] > split].sum() / law.sum()


@pytest.mark.parametrize("regulariser", [0.0, 3.0])
def test_the_sampled_point_has_the_law_of_the_measure(regulariser):
    """After three batches of two rounds, on a disc, on the same losses in every run."""
    runs, domain = 800, make_set("ball", 2)
    losses = make_stream("realizable-direction", domain)
    problem = Problem(domain, 7, losses.lipschitz, 0.0, losses.smoothness)
    lazy = LazySampled(problem, [Setting(7, Budget(1.0, 1e-6))], runs, "tuned")
    lazy.plans = [type("Plan", (Copied,), {"spare": 0.5})(2, 0.05, 2.5)]  # f varies by at most L D / 2
    lazy.regularisers = [regulariser]
    lazy.begin([np.random.default_rng([5, run]) for run in range(runs)])
    seen = list(losses.rounds([np.random.default_rng(3)], 6))
    for now, loss in enumerate(losses.rounds([np.random.default_rng(3) for _ in range(runs)], 6), 1):
        lazy.round = now
        lazy.observe(loss, np.zeros(()), None)
    split = float(domain.target()[0]) / 2
    wanted = exact_share(lazy, seen, split)
    assert abs(wanted - exact_share(lazy, [], split)) > 0.04
    found = int((lazy.point[0, :, 0] > split).sum())
    assert stats.binomtest(found, runs, wanted).pvalue > 1e-4
    assert (lazy.draws < 4).mean() > 0.1


def test_the_guarantee_counts_the_share_of_the_volume():
    """Points x* + (K - x*)/(T + 1) have the share (T + 1)^-d; d ln(T + 1) stands where experts have ln d."""
    lazy = LazySampled(Problem(make_set("ball", 3), 100, 1.0, 0.0, 1.0), [Setting(100, Budget(math.inf))], 1, "tuned")
    plan = lazy.plans[0]
    wanted = 2.0 * (3 * math.log(101) / plan.eta + plan.eta * 100 * plan.batch / 8 + 1)
    assert lazy.bound(5) == pytest.approx(np.full((1, 5), wanted))
    assert wanted == pytest.approx(2.0 * (math.sqrt(3 * math.log(101) * 100 / 2) + 1))  # without privacy the best eta


@pytest.mark.parametrize(("options", "said"), [({"dimension": 4}, "dimension"), ({"epsilon": 1e-9}, "epsilon")])
def test_refusals(options, said):
    with pytest.raises(ValueError, match=said):
        learner(8, 1, **options)
