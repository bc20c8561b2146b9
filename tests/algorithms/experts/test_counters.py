"""Algorithm 3 as we read it: the tree of its counters node by node, its budget, and when it leaves."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from drawn import generators
from hypothesis import given
from hypothesis import strategies as st
from tiny_streams import constant

from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.counters import CHUNK, CounterNoise, TreeCounterExperts, first_above
from dpregret.algorithms.privacy import Budget


class Numbered:
    """In place of random numbers, whole ones that are kept: sums are exact."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.source = np.random.default_rng(8)

    def laplace(self, scale: float, size: int) -> np.ndarray:
        drawn = self.source.integers(-(2**30), 2**30, size)
        self.given += drawn.tolist()
        return drawn.astype(float)


def nodes_of(prefix: int) -> list[int]:
    """Last items of the nodes that cover 1..prefix."""
    ends = []
    while prefix:
        ends.append(prefix)
        prefix &= prefix - 1
    return ends


def test_every_prefix_is_the_sum_of_its_nodes() -> None:
    """One noise a node, used whenever the node is: over nine chunks, so that carries reach the fourth level."""
    numbered = Numbered()
    noise = CounterNoise(cast(Any, numbered), 1.0).take(9 * CHUNK)
    for prefix in range(1, len(noise) + 1):
        assert noise[prefix - 1] == sum(numbered.given[end - 1] for end in nodes_of(prefix))


@pytest.mark.parametrize("horizon", [2, 3, 5, 8, 16, 17, 64, 100])
def test_an_item_lies_in_no_more_nodes_than_are_paid_for(horizon: int) -> None:
    """Prefixes 1..T-1 are asked; the node that ends at t covers its lowest bit's number of items."""
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), horizon), Budget(1.0), 1, "single")
    used = {end for prefix in range(1, horizon) for end in nodes_of(prefix)}
    members = [sum(end - (end & -end) < item <= end for end in used) for item in range(1, horizon)]
    assert max(members) <= learner.levels
    assert max(members) == learner.levels or horizon & (horizon - 1)  # powers of two need all


@given(st.floats(0.01, 100), st.integers(2, 2**22), st.integers(2, 2**18))
def test_half_of_the_budget_each(epsilon: float, horizon: int, experts: int) -> None:
    learner = TreeCounterExperts(ExpertProblem(np.array([1.0, experts - 1.0]), horizon), Budget(epsilon), 1, "single")
    assert learner.delivered_epsilon() == pytest.approx([epsilon])
    assert learner.levels / learner.scale == pytest.approx(epsilon / 2)
    eta = 2 / learner.draw_scale
    assert 3 * math.ceil(math.log2(experts)) * eta == pytest.approx(epsilon / 2)
    assert learner.threshold == pytest.approx(4 / eta + learner.error)


@pytest.mark.parametrize("limit", [5.0, CHUNK - 1.0, CHUNK + 0.0, 2.5 * CHUNK])
def test_without_noise_it_leaves_when_the_count_exceeds_the_threshold(limit: float) -> None:
    """The count of round t holds t losses, so floor(limit) + 1 are suffered; then the better expert is drawn."""
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 4 * CHUNK), Budget(math.inf), 20, "single")
    learner.threshold = limit
    record = learner.play([constant([1.0, 0.0], 4 * CHUNK)], generators(20))
    assert set(zip(record.losses, record.draws, strict=True)) == {(0.0, 0.0), (math.floor(limit) + 1.0, 1.0)}


def test_the_last_expert_stays() -> None:
    """All lose 1 a round: with 2 experts there are three draws, whatever is lost later."""
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 500), Budget(math.inf), 5, "single")
    record = learner.play([constant([1.0, 1.0], 500)], generators(5))
    assert learner.most_draws == 3
    assert (record.draws == 3).all()
    assert (record.losses == 500).all()


def test_compiled_counts_are_numpys() -> None:
    draw = np.random.default_rng(5)
    for unasked, losses in ((0, draw.random(50)), (1, draw.random(50)), (1, draw.random(1))):
        counts = 3.0 + np.concatenate([[0.0], np.cumsum(np.broadcast_to(losses, 50))])
        noise = draw.laplace(scale=4.0, size=50 - unasked)
        for threshold in (5.0, 15.0, 1e9):
            above = np.flatnonzero(counts[unasked:-1] + noise > threshold)
            wanted = int(above[0]) + unasked if len(above) else -1
            place, count = first_above(3.0, losses, 50, unasked, noise, threshold)
            assert (place, count) == (wanted, pytest.approx(counts[wanted], rel=1e-12))
