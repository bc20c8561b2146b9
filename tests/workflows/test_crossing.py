"""Where noise on every gradient and the window tree change places: the curve against bounds, and against plays."""

import numpy as np
import pytest

from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.algorithms.privacy.trees import WindowTree
from dpregret.datasets.streams import make_stream
from dpregret.paper_figs.judge.cells import mean_root
from dpregret.workflows.mechanisms import bound_map


@pytest.mark.parametrize("window", [1, 2, 8, 64])
def test_the_mean_root_of_noisy_nodes_is_that_of_the_tree(window: int) -> None:
    later = WindowTree(window).noisy_nodes(3 * window)[window:]
    assert mean_root(np.array([float(window)]))[0] == pytest.approx(np.sqrt(later).mean(), rel=1e-12)


@pytest.mark.parametrize(("window", "dimension"), [(1, 3), (4, 7), (16, 33)])
def test_the_coefficients_are_the_slopes_of_the_bounds(window: int, dimension: int) -> None:
    """Between T = 2^15 and 2^17 both bounds grow by their coefficient times ln 4."""
    domain = make_set("ball", dimension)
    stream = make_stream(bound_map.STREAM, domain)
    unit, bend = stream.lipschitz**2 / stream.strong_convexity, domain.diameter / stream.lipschitz
    size = 2 * np.sqrt(dimension) / gaussian_mu(Budget(8.0, bound_map.DELTA))
    cost = np.sqrt(np.log2(window) + 1) * mean_root(np.array([float(window)]))[0]
    before, after = (np.array(bound_map.totals(dimension, window, horizon, 8.0)) for horizon in (2**15, 2**17))
    slopes = (after - before) / np.log(4)
    assert slopes == pytest.approx([unit * (1 + bend + size * cost), unit * (1 + size**2)], rel=2e-3)
    meeting = bound_map.meeting(window, bend)
    assert 1 + bend + 2 * meeting * cost == pytest.approx(1 + (2 * meeting) ** 2, rel=1e-12)
    assert (slopes[1] < slopes[0]) == (size / 2 < meeting)


def test_the_largest_dimension_is_the_last_on_its_side() -> None:
    most = bound_map.largest_dimension(16, 2**10, 8.0)
    tree, free = bound_map.totals(most, 16, 2**10, 8.0)
    assert free < tree
    tree, free = bound_map.totals(most + 1, 16, 2**10, 8.0)
    assert free >= tree


@pytest.mark.parametrize(("dimension", "winner"), [(2, "noise-per-gradient"), (40, "wdp-cocop-gaussian")])
def test_on_either_side_of_the_curve_the_other_learner_wins(dimension: int, winner: str) -> None:
    """W = 16, eps = 8: the curve is at d = 12; regret from T = 2^9 to 2^12 on the norm kink."""
    domain = make_set("ball", dimension)
    stream = make_stream(bound_map.STREAM, domain)
    found = {}
    for name in ("noise-per-gradient", "wdp-cocop-gaussian"):
        told = Problem(CountedSet(domain), 2**12, stream.lipschitz, stream.strong_convexity, stream.smoothness)
        learner = learners("online")[name](told, [Setting(16, Budget(8.0, bound_map.DELTA))], 8, "corrected")
        streams = [[np.random.default_rng([seed, run]) for run in range(8)] for seed in (1, 2)]
        losses = play(learner, stream.rounds(streams[0], 2**12), streams[1], [2**9, 2**12]).losses[0]
        found[name] = float((losses[:, 1] - losses[:, 0]).mean())
    assert min(found, key=found.__getitem__) == winner
