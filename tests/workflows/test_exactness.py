"""WDP-COCOP on sums that are released from whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.integer_sums import WholeSums, WholeWindowRoot, WholeWindowTree
from dpregret.datasets.streams import make_stream
from dpregret.workflows.families.base import generators
from dpregret.workflows.mechanisms import exactness


@pytest.mark.parametrize("sums", [WholeWindowTree, WholeWindowRoot])
def test_without_noise_it_is_ftal_but_for_the_grid(sums: type[WholeSums]) -> None:
    silent = type("Silent", (sums,), {"noise": lambda self: np.zeros_like(self.expired)})
    horizon, runs, domain = 200, 3, make_set("ball", 5)
    stream = make_stream("random-kink", domain)
    problem = Problem(domain, horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
    setting = Setting(8, Budget(1.0, 1e-6))
    found = []
    for learner in (
        exactness.WholeLeader(problem, setting, silent, generators(1, "noise", runs)),
        FollowTheApproximateLeader(problem, [setting], runs, "plain"),
    ):
        losses = stream.rounds(generators(1, "data", runs), horizon)
        found.append(play(learner, losses, generators(1, "noise", runs), [50, horizon]).losses)
    assert found[0] == pytest.approx(found[1], rel=0.01)
    assert not np.array_equal(found[0], found[1])


def test_a_row_of_the_table() -> None:
    row = exactness.measure("window tree", 4, 2.0, horizon=64, runs=3)
    assert 1.06 < row["deviation_ratio"] < 1.08  # type: ignore[operator]
    ratio, half = exactness.ratio_of_means(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert (ratio, half) == (2.0, 0.0)
