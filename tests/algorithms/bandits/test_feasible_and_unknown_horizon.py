"""The scaling trick and the doubling trick, and what feasible play is noised for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.bandits.base import BanditProblem, Given
from dpregret.algorithms.bandits.doubling import PrivateBanditDoubling
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian
from dpregret.algorithms.bandits.round_by_round import Fkm, ThakurtaSmithGaussian, ThakurtaSmithLaplace
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.bandit_streams import make_bandit_stream

FREE, PRIVATE = Budget(math.inf), Budget(4.0, 1e-6)


def problem(horizon: int, size: int = 3) -> BanditProblem:
    return BanditProblem(make_set("ball", size), horizon, 1.0)


class Watched:
    """|x - z| in every round; keeps the largest norm of a played point and the number of rounds that were asked for."""

    def __init__(self, size: int) -> None:
        stream = make_bandit_stream("cone", make_set("ball", size))
        self.batches, self.farthest, self.rounds = stream.source(generators(1)), 0.0, 0

    def __call__(self, rounds: int) -> Any:
        self.rounds += rounds
        batch = self.batches(rounds)

        def value(points: np.ndarray) -> np.ndarray:
            self.farthest = max(self.farthest, float(np.linalg.norm(points, axis=-1).max()))
            return batch.value(points)

        return type("Batch", (), {"rounds": rounds, "value": staticmethod(value)})()


def test_scaled_play_stays_in_the_set_and_costs_less_noise() -> None:
    found = {}
    for variant in ("corrected", "scaled"):
        learner, losses = PrivateBanditGaussian(problem(4096), [FREE, PRIVATE], 2, variant), Watched(3)
        record = learner.play(Given(losses, generators(2), generators(2, 1)))
        assert record.clipped.max() == 0.0
        found[variant] = learner, losses.farthest
    (plain, beyond), (scaled, within) = found["corrected"], found["scaled"]
    assert beyond > 1.1
    assert within <= 1 + 1e-12
    assert scaled.plan.scales[1] / plain.plan.scales[1] == pytest.approx(2 / (2 + 2 * plain.zeta))
    assert scaled.delivered_epsilon()[1] == pytest.approx(4.0)
    with pytest.raises(ValueError, match="feasible play needs a longer horizon than 100"):
        PrivateBanditGaussian(problem(100), [FREE], 1, "scaled")


@pytest.mark.parametrize("kind", [ThakurtaSmithGaussian, ThakurtaSmithLaplace, Fkm])
def test_feasible_learners_are_noised_for_losses_between_nil_and_the_diameter(kind: Any) -> None:
    learner = kind(problem(5000), [FREE if kind is Fkm else PRIVATE], 1, next(iter(kind.card.variants)))
    assert (learner.low[0], learner.high[0]) == (0.0, 2.0)
    assert learner.leaf_sensitivity() == pytest.approx(3 / learner.zeta * 2.0)
    losses = Watched(3)
    learner.play(Given(losses, generators(1), generators(1, 1)))
    assert losses.farthest <= 1 + 1e-12


@pytest.mark.parametrize(("horizon", "lengths"), [(16, [16]), (17, [16, 1]), (100, [16, 64, 20]), (336, [16, 64, 256])])
def test_phases_cover_any_horizon(horizon: int, lengths: list[int]) -> None:
    """From the first power of four that is at least n^2 on; the last phase may end early."""
    learner, losses = PrivateBanditDoubling(problem(horizon), [FREE, PRIVATE], 2, "corrected"), Watched(3)
    assert [rounds for rounds, _ in learner.phases] == lengths
    assert [phase.horizon for _, phase in learner.phases] == [16 * 4**place for place in range(len(lengths))]
    told: list[int] = []
    record = learner.play(Given(losses, generators(2), generators(2, 1), told.append))
    assert losses.rounds == horizon == sum(told)
    assert record.losses.shape == (2, 2)
    assert learner.delivered_epsilon() == [math.inf, pytest.approx(4.0)]
    assert learner.bound()[0] <= learner.bound()[1]


def test_a_phase_is_private_bandit() -> None:
    """The same draws, the same losses; a second phase begins at the center with fresh draws."""
    one = PrivateBanditDoubling(problem(64, 2), [PRIVATE], 2, "corrected").play(
        Given(Watched(2), generators(2), generators(2, 1))
    )
    directions, noise = generators(2), generators(2, 1)
    parts = [
        PrivateBanditGaussian(problem(length, 2), [PRIVATE], 2, "corrected").play_some(
            rounds, Given(Watched(2), directions, noise)
        )
        for length, rounds in ((4, 4), (16, 16), (64, 44))
    ]
    np.testing.assert_allclose(one.losses, sum(part.losses for part in parts), rtol=1e-12)
    whole = PrivateBanditGaussian(problem(64, 2), [PRIVATE], 2, "corrected")
    assert whole.bound(44)[0] < whole.bound()[0]
    assert whole.bound(41)[0] == whole.bound(48)[0]  # a batch that is begun counts as whole
