"""Algorithm 1 on tiny instances: the exact law of what is released, and how much neighbouring losses move it."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tiny_streams import constant, generators, varying

from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.audit.switching import ROUNDS, Events, Restless, law, worst_epsilon


def plan(epsilon: float = 4.0) -> Restless:
    return Restless(2, ROUNDS, 0.0, Budget(epsilon), "pure")


def total(events: Events, losses: np.ndarray) -> float:
    """Loss of the experts in play."""
    ends = [start for start, _ in events[1:]] + [len(losses)]
    pairs = zip(events, ends, strict=True)
    return round(float(sum(losses[start:end, expert].sum() for (start, expert), end in pairs)), 9)


@pytest.mark.parametrize("best", [0.0, 1.2])
def test_plays_have_their_exact_law(best: float) -> None:
    """Losses in general position, so that the total tells which expert was played in which round."""
    losses = np.random.default_rng(2).random((ROUNDS, 2))
    runs, made = 12_000, replace(plan(), best_loss=best)
    wanted: dict[float, float] = defaultdict(float)
    for events, probability in law(made, losses).items():
        wanted[total(events, losses)] += probability
    assert sum(wanted.values()) == pytest.approx(1, abs=1e-12)
    learner = SparseVectorExperts(ExpertProblem(np.ones(2), ROUNDS, best), Budget(4.0), runs, "pure")
    learner.plan = made
    found = learner.play([varying(losses[:, None])], generators(runs, 4)).losses.round(9)
    keys = sorted(wanted)
    assert len(keys) == 2 + 2 * 3 + 2 * 3  # one change of expert in round 1, 2 or 3, or two of them
    counts = np.array([(np.abs(found - key) < 1e-8).sum() for key in keys])
    assert counts.sum() == runs
    assert stats.chisquare(counts, np.array([wanted[key] for key in keys]) * runs).pvalue > 1e-4


def test_no_event_tells_more_than_epsilon() -> None:
    """And the audit is sharp enough to catch noise that is twice too small."""
    made = plan()
    assert made.delivered_epsilon() == pytest.approx(4.0)
    assert worst_epsilon(made) <= 4.0
    assert worst_epsilon(replace(made, budget=Budget(8.0))) > 4.0


def test_a_query_knows_the_losses_before_its_round() -> None:
    """Without noise: L* = 1 is passed by the second loss, and the third round is another expert's."""
    learner = SparseVectorExperts(ExpertProblem(np.ones(2), 9, 1.0), Budget(math.inf), 40, "pure")
    record = learner.play([constant([1.0, 0.0], 9)], generators(40))
    assert set(zip(record.losses, record.draws, strict=True)) == {(0.0, 0.0), (2.0, 1.0)}
