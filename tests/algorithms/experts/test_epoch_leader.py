"""Epoch leader: its law, the price of a choice, its bound for independent losses, and what it loses elsewhere."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from drawn import generators
from scipy import stats
from tiny_streams import constant, varying

from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.expert_streams import make_expert_stream


def on_stream(name: str, experts: int, horizon: int, epsilon: float, runs: int) -> tuple[np.ndarray, float]:
    """Regret of every run, and the bound."""
    stream = make_expert_stream(name, experts, horizon)
    problem = ExpertProblem(stream.sizes, horizon, gap=stream.gap)
    learner = EpochLeader(problem, Budget(epsilon), runs, "pure")
    losses = learner.play(stream.epochs(generators(runs)), []).losses
    return losses - stream.comparator(generators(runs)).best, learner.bound()[0]


@pytest.mark.parametrize("horizon", [1, 2, 7, 21])
def test_an_epoch_is_played_by_the_law_of_the_one_before(horizon: int) -> None:
    sizes, table = np.array([1.0, 3.0, 2.0]), np.random.default_rng(horizon).random((horizon, 2, 3))
    learner = EpochLeader(ExpertProblem(sizes, horizon), Budget(1.6), 2, "pure")
    total, start = np.zeros(2), 1
    while start <= horizon:
        before, now = table[start // 2 - 1 : start - 1], table[start - 1 : 2 * start - 1]
        weights = sizes * np.exp(-0.8 * before.sum(axis=0)) if start > 1 else np.tile(sizes, (2, 1))
        total += (weights * now.sum(axis=0)).sum(axis=1) / weights.sum(axis=1)
        start *= 2
    found = learner.play([varying(table[:1]), varying(table[1:5]), varying(table[5:])], [])
    assert found.losses == pytest.approx(total, rel=1e-12)
    assert (found.draws == horizon.bit_length()).all()


def test_a_choice_is_the_noisy_minimum_and_costs_epsilon() -> None:
    """Gumbel(2/eps): all pairs of losses in {0, 1} of the changed round, on sums that come close to the worst case."""
    epsilon, sums = 1.2, np.array([9.0, 0.0, 0.4])
    learner = EpochLeader(ExpertProblem(np.ones(3), 8), Budget(epsilon), 1, "pure")
    noise = np.random.default_rng(1).gumbel(scale=2 / epsilon, size=(20_000, 3))
    counts = np.bincount((sums - noise).argmin(axis=1), minlength=3)
    assert stats.chisquare(counts, 20_000 * learner.law(sums)).pvalue > 1e-4
    laws = [learner.law(sums + each) for each in itertools.product([0.0, 1.0], repeat=3)]
    ratios = np.array([np.log(one / other) for one in laws for other in laws])
    assert 0.99 * epsilon < ratios.max() <= epsilon
    assert np.ptp(ratios, axis=1).max() <= epsilon * (1 + 1e-12)  # the range, hence eps^2/8-zCDP
    (line,) = learner.ledger()
    assert (line.call_epsilon(), line.rho()) == pytest.approx((epsilon, epsilon**2 / 8))


@pytest.mark.parametrize("name", ["gap", "gap-hard"])
@pytest.mark.parametrize("experts", [2, 37])
def test_the_bound_holds_for_independent_losses(name: str, experts: int) -> None:
    for horizon, epsilon in itertools.product((1, 50, 3000, 2**17), (0.05, 2.0, math.inf)):
        regret, bound = on_stream(name, experts, horizon, epsilon, 16)
        assert regret.mean() <= bound <= horizon


def test_bounds_with_a_gap_end_and_without_grow_like_the_root() -> None:
    def bound(horizon: int, gap: float) -> float:
        return EpochLeader(ExpertProblem(np.ones(64), horizon, gap=gap), Budget(0.5), 1, "pure").bound()[0]

    assert bound(2**40, 0.25) == pytest.approx(bound(2**30, 0.25), rel=1e-9)
    assert bound(2**40, 0.0) == pytest.approx(2**5 * bound(2**30, 0.0), rel=0.05)


def test_where_the_leader_of_every_epoch_loses_the_next_regret_is_linear() -> None:
    """2T/3, less than nothing for privacy; nobody declared a law, so there is no bound."""
    for horizon in (2**9 - 1, 2**16 - 1):
        regret, bound = on_stream("leader-swap", 10, horizon, math.inf, 2)
        assert regret == pytest.approx(np.full(2, 2 * horizon / 3), rel=0.01)
        assert math.isnan(bound)


def test_a_block_may_hold_many_epochs() -> None:
    learner = EpochLeader(ExpertProblem(np.array([1.0, 1.0]), 2**40 - 1), Budget(0.3), 1, "pure")
    assert 0.5 < learner.play([constant([1.0, 0.0], 2**40 - 1)], []).losses[0] < 40
