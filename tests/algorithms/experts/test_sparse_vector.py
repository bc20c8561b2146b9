"""Algorithm 1 on tiny instances: the exact law of what is released, and how much neighbouring losses move it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tiny_streams import constant, generators

from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.audit.switching import ROUNDS, Restless, worst_epsilon


def plan(epsilon: float = 4.0) -> Restless:
    return Restless(2, ROUNDS, 0.0, Budget(epsilon), "pure")


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
