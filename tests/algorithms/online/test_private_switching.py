"""Algorithm 1 over a net and over the ball: coverings, laws of the draws, settings apart."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import cKDTree

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.hit_and_run import GRID, STEPS, Form
from dpregret.algorithms.online.net_switching import FINEST, NetExperts, covering
from dpregret.algorithms.online.sampled_switching import SampledExperts
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream


def generators(runs: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, run]) for run in range(runs)]


@pytest.mark.parametrize(("name", "dimension"), [("ball", 1), ("ball", 2), ("ball", 3), ("box", 2), ("simplex", 3)])
def test_every_point_of_the_set_is_near_the_net(name: str, dimension: int) -> None:
    domain = make_set(name, dimension)
    radius = 0.1
    net = covering(domain, radius)
    assert domain.violation(net).max() < 1e-9
    points = domain.project(2 * np.random.default_rng(1).standard_normal((2000, dimension)))
    assert cKDTree(net).query(points)[0].max() <= radius + 1e-9


def net_learner(dimension: int = 1, horizon: int = 64, epsilon: float = 2.0, runs: int = 3) -> NetExperts:
    domain = make_set("ball", dimension)
    problem = Problem(domain, horizon, 0.5, 0.0, np.inf, 0.0)
    return NetExperts(problem, [Setting(horizon, Budget(epsilon, 1e-6))], runs, "zcdp")


def test_constants_of_the_net() -> None:
    learner = net_learner(2, 10_000)
    assert learner.unit == 1.0  # L D
    assert learner.radius == pytest.approx(2 * FINEST[2])
    assert learner.plans[0].best_loss == pytest.approx(learner.radius * 0.5 * 10_000)
    assert learner.plans[0].candidates == len(learner.net)
    assert learner.delivered_epsilon() == [pytest.approx(2.0)]
    coarse = net_learner(1, 50)
    assert coarse.radius == pytest.approx(2 / 50)


@pytest.mark.parametrize("stream", ["half-space", "realizable-direction", "realizable-quadratic"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_sums_over_the_net_are_those_of_its_losses(stream: str, dimension: int) -> None:
    learner, plain = net_learner(dimension, 40), net_learner(dimension, 40)
    learner.begin(generators(3))
    for loss in make_stream(stream, make_set("ball", dimension)).rounds(generators(3, 1), 5):
        learner.count(loss)
        plain.sums.total += np.clip(loss.value(plain.net[:, None]) / plain.unit, 0.0, 1.0)
    assert np.ptp(plain.sums.total) > 0.1
    np.testing.assert_array_equal(learner.sums.total, plain.sums.total)


def test_unsuitable_sets_are_refused() -> None:
    with pytest.raises(ValueError, match="needs dimension 1, 2 or 3, got 4: use sampled-sparse-vector"):
        net_learner(4)
    with pytest.raises(ValueError, match=r"a net of \d+ points for 100000 runs is more than"):
        net_learner(2, 10_000, runs=100_000)
    problem = Problem(make_set("simplex", 3), 10, 1.0, 0.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="samples from a ball, not from the set 'simplex'"):
        SampledExperts(problem, [Setting(10, Budget(1.0, 1e-6))], 1, "zcdp")


def test_hit_and_run_has_the_law_of_the_exponential_mechanism() -> None:
    """d = 2: shares of the quarters of the disc, against the density summed over a fine grid."""
    runs = 600
    problem = Problem(make_set("ball", 2), 100, 1.0, 0.0, 1.0, 0.0)
    learner = SampledExperts(problem, [Setting(100, Budget(30.0, 1e-6))], runs, "zcdp")
    learner.begin(generators(runs))
    scale = learner.plans[0].draw_scale
    matrix = 3 * scale * np.array([[1.0, 0.3], [0.3, 0.5]])
    center = np.array([0.5, -0.2])
    learner.matrix[:] = matrix
    learner.linear[:] = matrix @ center
    learner.constant[:] = 0.5 * center @ matrix @ center
    for run in range(runs):
        learner.move(0, run)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 801)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= 1]
    scores = 0.5 * np.einsum("ij,jk,ik->i", grid - center, matrix, grid - center)
    density = np.exp(-np.maximum(scores, learner.plans[0].best_loss) / scale)

    def quarter(points: np.ndarray) -> np.ndarray:
        return 2 * (points[:, 0] > 0.3) + (points[:, 1] > -0.1)

    distribution = np.bincount(quarter(grid), weights=density, minlength=4)
    counts = np.bincount(quarter(learner.point[0]), minlength=4)
    assert stats.chisquare(counts, distribution / distribution.sum() * runs).pvalue > 1e-4
    assert np.linalg.norm(learner.point[0], axis=1).max() <= 1 + 1e-9


def walk_plainly(generator, domain, form: Form, scale: float):
    """Hit-and-run as its docstring says, in NumPy."""
    center, radius = domain.center(), domain.diameter / 2
    point = center.copy()
    for _ in range(STEPS * len(center) ** 2):
        direction = generator.standard_normal(len(center))
        direction /= np.linalg.norm(direction)
        offset = point - center
        along = direction @ offset
        reach = math.sqrt(max(0.0, along**2 + radius**2 - offset @ offset))
        places = -along - reach + 2 * reach * GRID
        line = point + places[:, None] * direction
        values = 0.5 * np.einsum("pi,ij,pj->p", line, form.matrix, line) - line @ form.linear + form.constant
        scores = np.maximum(values, form.floor)
        excess = scores - scores.min()
        density = np.exp(-excess / scale) if scale else (excess <= 0) * 1.0
        weight = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        point = point + np.interp(generator.random() * weight[-1], weight, places) * direction
    return point


@pytest.mark.parametrize("epsilon", [30.0, math.inf])
def test_the_compiled_walk_is_the_plain_one(epsilon: float) -> None:
    domain = make_set("ball", 3)
    problem = Problem(domain, 100, 1.0, 0.0, 1.0, 0.0)
    learner = SampledExperts(problem, [Setting(100, Budget(epsilon, 1e-6))], 4, "zcdp")
    learner.begin(generators(4))
    for loss in make_stream("realizable-direction", domain).rounds(generators(4, 1), 50):
        learner.count(loss)
    for run in range(4):
        form = Form(learner.matrix[run], learner.linear[run], learner.constant[run], learner.plans[0].best_loss)
        plain = walk_plainly(copy.deepcopy(learner.own[0][run]), domain, form, learner.plans[0].draw_scale)
        learner.move(0, run)
        assert learner.point[0, run] == pytest.approx(plain, rel=1e-9, abs=1e-9)


def test_without_privacy_the_net_finds_a_point_without_loss() -> None:
    domain = make_set("ball", 1)
    stream = make_stream("half-space", domain)
    problem = Problem(domain, 400, stream.lipschitz, 0.0, np.inf, 0.0)
    learner = NetExperts(problem, [Setting(400, Budget(math.inf)), Setting(400, Budget(50.0, 1e-6))], 4, "pure")
    record = play(learner, stream.rounds(generators(4), 400), generators(4, 1), [400])
    stay = stream.comparator(generators(4), [400]).stay
    assert record.losses[0].mean() < 0.2 * stay.mean()
    assert (learner.switches >= 0).all()
    assert learner.delivered_epsilon()[1] == pytest.approx(50.0)
