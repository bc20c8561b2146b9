"""Algorithms 1 to 3 against brute force, round by round."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from drawn import generators
from tiny_streams import constant, halving

from dpregret.algorithms.experts.adaptive import AdaptiveExperts
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.counters import CounterNoise, TreeCounterExperts
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.expert_streams import make_expert_stream
from dpregret.workflows.audit.experts import FEW_ROUNDS, Restless, worst_epsilon


def test_after_the_budget_of_switches_the_expert_is_frozen() -> None:
    problem = ExpertProblem(np.array([1.0, 1.0]), 4000, 0.0)
    learner = SparseVectorExperts(problem, Budget(5000.0, 1e-6), 4, "practical-zcdp")
    assert learner.plan.switches == 6
    flip = [constant([1.0, 0.0], 100), constant([0.0, 1.0], 200)] * 20
    record = learner.play([*flip[:26]], generators(4))
    assert (record.draws <= 6).all()


@pytest.mark.parametrize("logarithm", [300, 1000])
def test_so_many_experts_that_only_groups_can_hold_them(logarithm: int) -> None:
    """Half of the living die in each phase: a learner that stays switches half as often as there are phases."""
    stream = make_expert_stream("halving", 2**logarithm, 2**27)
    assert stream.experts == 2**logarithm
    problem = ExpertProblem(stream.sizes, stream.horizon, 0.0)
    learner = SparseVectorExperts(problem, Budget(1.0, 1e-6), 8, "zcdp")
    record = learner.play(stream.blocks(generators(8)), generators(8))
    comparator = stream.comparator(generators(8))
    assert comparator.best == pytest.approx(np.zeros(8))
    assert comparator.uniform == pytest.approx(np.full(8, 2.0**27), rel=0.01)
    assert abs(record.draws.mean() / (logarithm / 2) - 1) < 0.15
    assert (record.losses < learner.bound()[0]).all()


@pytest.mark.parametrize("variant", ["pure", "zcdp"])
def test_the_theorem_holds_with_its_probability(variant: str) -> None:
    """Run by run and not in the mean: at most 2 beta of them pass the bound, at most beta use up K."""
    problem, blocks = halving(32, 20_000)
    learner = SparseVectorExperts(problem, Budget(30.0, 1e-6), 1000, variant)
    record = learner.play(blocks, generators(1000))
    assert record.draws.mean() > 1.5
    assert np.quantile(record.losses, 1 - 2 * problem.failure) <= learner.bound()[0]
    assert np.quantile(record.draws, 1 - problem.failure) < learner.plan.switches


def test_a_guess_far_below_the_loss_of_the_best_is_doubled() -> None:
    """All lose T/4 at least: the guesses end within the slack of it, and less is lost than by who was told T/4."""
    stream = make_expert_stream("halving", 256, 2**20, best_loss=2.0**18)
    problem = ExpertProblem(stream.sizes, stream.horizon, stream.best_loss)
    told = SparseVectorExperts(problem, Budget(8.0), 24, "pure").play(stream.blocks(generators(24)), generators(24))
    for variant in ("cold", "warm", "restart"):
        learner = AdaptiveExperts(problem, Budget(8.0), 24, variant)
        found = learner.play(stream.blocks(generators(24)), generators(24))
        assert found.phases is not None
        assert found.phases.mean() > 3
        assert (found.phases <= learner.phases.count).all()
        assert found.losses.mean() - 2**18 < (told.losses.mean() - 2**18) / 2


def test_error_of_a_counter_holds_with_its_probability() -> None:
    problem = ExpertProblem(np.ones(2), 4096, 0.0)
    learner = TreeCounterExperts(problem, Budget(1.0), 1, "single")
    worst = [np.abs(CounterNoise(each, learner.scale).take(4095)).max() for each in generators(200)]
    assert np.mean(np.array(worst) > learner.error) <= problem.failure


def test_no_event_tells_more_than_epsilon() -> None:
    """And the audit is sharp enough to catch noise that is twice too small."""
    made = Restless(2, FEW_ROUNDS, 0.0, Budget(4.0), "pure")
    assert made.delivered_epsilon() == pytest.approx(4.0)
    assert worst_epsilon(made) <= 4.0
    assert worst_epsilon(replace(made, budget=Budget(8.0))) > 4.0


def test_a_query_knows_the_losses_before_its_round() -> None:
    """Without noise: L* = 1 is passed by the second loss, and the third round is another expert's."""
    learner = SparseVectorExperts(ExpertProblem(np.ones(2), 9, 1.0), Budget(math.inf), 40, "pure")
    record = learner.play([constant([1.0, 0.0], 9)], generators(40))
    assert set(zip(record.losses, record.draws, strict=True)) == {(0.0, 0.0), (2.0, 1.0)}
