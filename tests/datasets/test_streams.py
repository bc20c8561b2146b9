"""Streams: whose data depend on what, constants, laws of the draws; comparators against conic solvers."""

import tracemalloc
from collections import deque
from itertools import product
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from drawn import generators
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from dpregret.algorithms.geometry import Ball, make_set
from dpregret.core.losses import Loss
from dpregret.datasets import pool_streams, streams, synthetic
from dpregret.datasets.bandit_streams import BanditStream, make_bandit_stream
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import (
    DirectionKink,
    DirectionSquare,
    HalfSpace,
    NormKink,
    Quadratic,
    RidgeLogistic,
    RidgeSquared,
)
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.source import sources
from dpregret.datasets.streams import Stream, make_stream
from dpregret.workflows.run.contracts import stream_faults

SYNTHETIC = ["smooth-quadratic", "random-kink", "norm-kink", "huber-kink", "drift", "ridge-logistic"]
SYNTHETIC += ["lasso"]
REALIZABLE = ["realizable-quadratic", "realizable-direction", "half-space"]
SMALL = {
    "ridge-logistic": {"pool_size": 12},
    "lasso": {"pool_size": 12},
    "drift": {"period": 16},
}


def _stream(name: str, set_name: str = "ball", dimension: int = 4, mu: float = 1.0) -> Stream:
    return make_stream(name, make_set(set_name, dimension), strong_convexity=mu, **SMALL.get(name, {}))


def _evaluate(losses: list[Loss], points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients of a list of losses: they determine the data of every family."""
    pairs = [loss.value_and_gradient(points) for loss in losses]
    return np.stack([value for value, _ in pairs]), np.stack([gradient for _, gradient in pairs])


@pytest.mark.parametrize("name", [*SYNTHETIC, *REALIZABLE])
def test_data_of_a_run_depend_on_its_generator_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the other runs, the horizon or the size of blocks."""
    stream = _stream(name)
    points = np.random.default_rng(1).standard_normal((1, 3, 4))
    together = _evaluate(list(stream.rounds(generators((4, 9, 2), 17), 300)), points)
    for place, run in enumerate([4, 9, 2]):
        alone = _evaluate(list(stream.rounds(generators([run], 17), 123)), points[:, place : place + 1])
        for batch, single in zip(together, alone, strict=True):
            np.testing.assert_array_equal(batch[:123, :, place], single[:, :, 0])
    for module in (streams, pool_streams, synthetic):
        monkeypatch.setattr(module, "BLOCK", 9)
    for reference, other in zip(
        together, _evaluate(list(stream.rounds(generators((4, 9, 2), 17), 300)), points), strict=True
    ):
        np.testing.assert_array_equal(reference, other)


@pytest.mark.parametrize("name", ["random-kink", "drift", "lasso"])
def test_memory_does_not_grow_with_the_horizon(name: str) -> None:
    stream = _stream(name, dimension=8)

    def peak(horizon: int) -> int:
        tracemalloc.start()
        deque(stream.rounds(generators(2, 17), horizon), maxlen=0)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(512)  # kernels are compiled now
    assert peak(4096) <= 1.1 * peak(512)


@pytest.mark.parametrize(
    ("name", "set_name", "dimension", "mu"),
    [  # a third of them daily: each stream on each set once, and each stream at each pair of dimension and mu
        pytest.param(name, set_name, *pair, marks=() if (row + column) % 3 == place else pytest.mark.nightly)
        for row, name in enumerate([*SYNTHETIC, *REALIZABLE])
        for column, set_name in enumerate(["ball", "l1-ball", "simplex", "box"])
        for place, pair in enumerate([(2, 5.0), (4, 0.3), (6, 0.01)])
    ],
)
def test_constants_hold_on_the_set(name: str, set_name: str, dimension: int, mu: float) -> None:
    """Lipschitz, smoothness and strong convexity, and what else a stream promises."""
    stream = _stream(name, set_name, dimension, mu)
    assert list(stream_faults(stream, stream.domain)) == []


@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_lipschitz_constants_are_attained_on_the_ball(mu: float) -> None:
    """Against the worst admissible loss at the worst point -e_1 the bound is an equality (x0 = e_1 / 2)."""
    domain = make_set("ball", 3)
    first = np.array([1.0, 0.0, 0.0])
    worst: dict[str, Loss] = {
        "smooth-quadratic": Quadratic(domain.target() + 0.5 * first, mu),
        "random-kink": DirectionKink(first, domain.target(), mu),
        "ridge-logistic": RidgeLogistic(first, np.array(1.0), mu),
        "lasso": RidgeSquared(first, np.array(1.0), mu),
    }
    for name, loss in worst.items():
        stated = _stream(name, "ball", 3, mu).lipschitz
        assert np.linalg.norm(loss.gradient(-first)) == pytest.approx(stated, rel=1e-14)
    assert _stream("norm-kink", "ball", 3, mu).lipschitz == pytest.approx(1.0 + 1.5 * mu, rel=1e-14)
    for name in ("norm-kink", "huber-kink"):
        assert make_stream(name, domain, strong_convexity=mu, lipschitz=2.0).lipschitz == pytest.approx(2.0, rel=1e-14)


@pytest.mark.parametrize("name", REALIZABLE)
def test_one_point_has_no_loss_and_small_losses_have_small_gradients(name: str) -> None:
    domain = make_set("ball", 3)
    stream = make_stream(name, domain)
    assert (stream.strong_convexity, stream.best_loss) == (0.0, 0.0)
    points = np.random.default_rng(0).standard_normal((50, 3, 3)) * 3  # in the set and far outside
    for loss in stream.rounds(generators(3, 17), 30):
        assert loss.value(np.tile(domain.target(), (3, 1))) == pytest.approx(np.zeros(3))
        values, gradients = loss.value_and_gradient(points)
        assert (values >= 0).all()
        if np.isfinite(stream.smoothness):
            assert (np.vecdot(gradients, gradients) <= 2 * stream.smoothness * values * (1 + 1e-9)).all()


def test_directions_are_uniform_on_the_sphere() -> None:
    dimension, rounds = 5, 20000
    losses = _stream("random-kink", dimension=dimension).rounds(generators(1, 17), rounds)
    directions = np.stack([loss.direction[0] for loss in losses if isinstance(loss, DirectionKink)])
    np.testing.assert_allclose((directions**2).sum(axis=1), 1.0, rtol=1e-14)
    # Coordinates have variance 1/d, products of two have standard deviation at most sqrt(3)/d.
    assert np.abs(directions.mean(axis=0)).max() < 5 / np.sqrt(dimension * rounds)
    covariance = directions.T @ directions / rounds
    assert np.abs(covariance - np.eye(dimension) / dimension).max() < 5 * np.sqrt(3 / rounds) / dimension


def test_drift_visits_eight_centers_for_an_eighth_of_the_period_each() -> None:
    losses = list(_stream("drift").rounds(generators(2, 17), 60))  # period 16: two rounds each
    centers = np.stack([loss.center for loss in losses if isinstance(loss, Quadratic)])
    assert centers.shape == (60, 2, 4)
    moves = np.abs(np.diff(centers, axis=0)).max(axis=(1, 2)) > 0
    np.testing.assert_array_equal(np.flatnonzero(moves), np.arange(1, 59, 2))
    np.testing.assert_array_equal(centers[16:32], centers[:16])
    assert len(np.unique(centers[:16, 0], axis=0)) == 8
    np.testing.assert_allclose(np.linalg.norm(centers - make_set("ball", 4).target(), axis=-1), 0.5, rtol=1e-13)


def test_every_pass_shows_each_example_once_in_an_order_of_its_own() -> None:
    stream = _stream("lasso")
    losses = list(stream.rounds(generators(2, 17), 36))
    labels = np.stack([loss.labels for loss in losses if isinstance(loss, RidgeSquared)])
    assert isinstance(stream, pool_streams.PoolStream)
    for first in (0, 12, 24):
        for run in (0, 1):
            np.testing.assert_array_equal(np.sort(labels[first : first + 12, run]), np.sort(stream.labels))
    assert (labels[:12, 0] != labels[:12, 1]).any()
    assert (labels[:12, 0] != labels[12:24, 0]).any()


def test_logistic_labels_follow_the_model() -> None:
    domain = make_set("ball", 4)
    stream = make_stream("ridge-logistic", domain, pool_size=20000, signal=6.0)
    assert isinstance(stream, pool_streams.PoolStream)
    chance = expit(6.0 * stream.features[:, 0])  # the ball's target lies on the first axis
    positive = stream.labels == 1.0
    for weight in (np.ones(20000), stream.features[:, 0], stream.features[:, 1]):
        score = (weight * (positive - chance)).sum() / np.sqrt((weight**2 * chance * (1 - chance)).sum())
        assert abs(score) < 4
    np.testing.assert_allclose((stream.features**2).sum(axis=1), 1.0, rtol=1e-13)


def test_lasso_labels_come_from_a_sparse_truth() -> None:
    stream = make_stream("lasso", make_set("l1-ball", 16), pool_size=3000, sparsity=3, noise=0.01)
    assert isinstance(stream, pool_streams.PoolStream)
    assert np.abs(stream.labels).max() <= 1.0
    inside = np.abs(stream.labels) < 1.0
    truth, *_ = np.linalg.lstsq(stream.features[inside], stream.labels[inside])
    large = np.abs(truth) > 0.1
    assert large.sum() == 3
    np.testing.assert_allclose(np.abs(truth[large]), 2.0 / 3.0, atol=0.02)
    np.testing.assert_allclose(truth[~large], 0.0, atol=0.02)


def test_a_clipped_stream_shows_no_gradient_longer_than_declared() -> None:
    domain, points = make_set("ball", 4), np.random.default_rng(3).standard_normal((1, 2, 4))
    stream = make_stream("norm-kink", domain, clip=True)
    values, slopes = _evaluate(list(_stream("norm-kink").rounds(generators(2, 17), 20)), points)
    lengths = np.linalg.norm(slopes, axis=-1)
    for lipschitz in (0.25, lengths.max()):  # a promise that the losses break, and one that they keep
        stream.lipschitz = float(lipschitz)
        clipped = list(stream.rounds(generators(2, 17), 20))
        same, shown = _evaluate(clipped, points)
        np.testing.assert_array_equal(same, values)
        np.testing.assert_allclose(shown, slopes * np.minimum(1.0, lipschitz / lengths)[..., None], rtol=1e-12)
        assert np.linalg.norm(shown, axis=-1).max() <= lipschitz * (1 + 1e-12)
    np.testing.assert_array_equal(shown, slopes)
    with pytest.raises(ValueError, match="clip"):
        clipped[0].prox(points, 1.0)


SETS = ["ball", "l1-ball", "simplex", "box"]
CLOSED = ["smooth-quadratic", "drift", "random-kink", "norm-kink", "half-space"]
CLOSED += ["realizable-quadratic", "realizable-direction"]
CHECKPOINTS = [1, 3, 10, 17]


def _conic(loss: Any, run: int, point: cp.Variable) -> cp.Expression:
    """The loss of one run."""
    if isinstance(loss, RidgeLogistic | RidgeSquared):
        score, label = loss.features[run] @ point, loss.labels[run]
        own = cp.logistic(-label * score) if isinstance(loss, RidgeLogistic) else 0.5 * cp.square(score - label)
        return own + 0.5 * loss.strong_convexity * cp.sum_squares(point)
    if isinstance(loss, Quadratic):
        center = np.broadcast_to(loss.center, (2, point.size))[run]
        return 0.5 * loss.strong_convexity * cp.sum_squares(point - center)
    offset = point - loss.anchor
    if isinstance(loss, NormKink):
        return loss.weight * cp.norm(offset) + 0.5 * loss.strong_convexity * cp.sum_squares(offset)
    along = loss.direction[run] @ offset
    if isinstance(loss, HalfSpace):
        return 0.5 * cp.pos(along)
    if isinstance(loss, DirectionSquare):
        return 0.5 * loss.smoothness * cp.square(along)
    return cp.abs(along) + 0.5 * loss.strong_convexity * cp.sum_squares(offset)


@pytest.mark.parametrize(
    ("name", "set_name"), [*product(CLOSED, [*SETS, "flow"]), *product(["ridge-logistic", "lasso"], SETS)]
)
def test_comparator_equals_a_conic_solver(name: str, set_name: str) -> None:
    dimension = 12 if set_name == "flow" else 3
    stream = _stream(name, set_name, dimension, 0.05 if name == "ridge-logistic" else 0.3)
    found = stream.comparator(generators(2, 23), CHECKPOINTS)
    losses = list(stream.rounds(generators(2, 23), CHECKPOINTS[-1]))
    assert found.losses.shape == found.gaps.shape == found.stay.shape == (4, 2)
    assert ((found.gaps >= 0) & (found.gaps <= (0 if name in CLOSED else 1e-8))).all()
    stay = np.cumsum([loss.value(np.tile(stream.domain.center(), (2, 1))) for loss in losses], axis=0)
    np.testing.assert_allclose(found.stay, stay[np.array(CHECKPOINTS) - 1], rtol=1e-12)
    point = cp.Variable(dimension)
    within = stream.domain.cvxpy_constraints(point)
    for row, run in ((0, 1), (2, 0), (3, 1)):
        total = cp.sum([_conic(loss, run, point) for loss in losses[: CHECKPOINTS[row]]])
        problem = cp.Problem(cp.Minimize(total), within)
        problem.solve(solver="CLARABEL")
        assert found.losses[row, run] == pytest.approx(problem.value, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", [*CLOSED, "ridge-logistic", "lasso"])
def test_comparator_does_not_depend_on_other_checkpoints_or_runs(name: str) -> None:
    stream = _stream(name, "l1-ball", 5, 0.05)
    checkpoints = [2, 12, 31, 300, 1100]  # the pool has 12 examples, the block 256 rounds
    together = stream.comparator(generators(3, 23), checkpoints)
    for row, checkpoint in enumerate(checkpoints):
        alone = stream.comparator(generators(3, 23)[2:], [checkpoint])
        np.testing.assert_allclose(alone.losses[0, 0], together.losses[row, 2], rtol=2e-8)
        np.testing.assert_allclose(alone.stay[0, 0], together.stay[row, 2], rtol=1e-12)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    family=st.sampled_from([RidgeLogistic, RidgeSquared]),
    set_name=st.sampled_from(SETS),
    steps=st.integers(0, 12),
    mu=st.sampled_from([0.003, 0.1, 2.0]),
)
def test_the_gap_certifies_the_value(seed: int, family: Any, set_name: str, steps: int, mu: float) -> None:
    """Stopped early, the reported gap still bounds the distance to the optimum."""
    rng = np.random.default_rng(seed)
    domain = make_set(set_name, 4)
    features = rng.standard_normal((20, 4))
    features /= np.linalg.norm(features, axis=1).max()
    labels = rng.choice([-1.0, 1.0], size=20)
    weights = rng.dirichlet(np.full(20, 0.2), size=3)

    stream, start = PoolStream(domain, mu, Examples(features, labels), family), np.tile(domain.center(), (3, 1))
    points, best, _ = stream.minimum(weights, start)
    _, early, gaps = stream.minimum(weights, start, max_steps=steps, allowed=np.inf)
    slack = 1e-9 * early
    assert (early >= best - slack).all()
    assert (early - best <= gaps * early + slack).all()
    assert domain.violation(points).max() <= 1e-12


def test_an_uncertified_comparator_raises_with_its_numbers() -> None:
    stream = PoolStream(_Stuck(2), 1e-6, Examples(np.eye(2), np.ones(2)), RidgeSquared)
    with pytest.raises(FloatingPointError, match=r"gap 1\.0e\+00, .* after 2 steps; at most 1e-08 is wanted"):
        stream.minimum(np.array([[1.0, 0.0]]), np.zeros((1, 2)), max_steps=2)


class _Stuck(Ball):
    """A ball whose projection is broken: it always answers the center."""

    def project(self, points: np.ndarray) -> np.ndarray:
        return np.zeros_like(points)


# Bandit losses: ranges, Lipschitz constants, independence of how a horizon is cut, comparators


HOMES = {
    "placed-cone": ("permutahedron", 4),
    "cone": ("ball", 3), "linear": ("hypersimplex", 6), "random-linear": ("ball", 4), "shortest-path": ("flow", 12),
    "ranking": ("permutahedron", 5), "top-k": ("coverage", 6), "network": ("spanning-trees", 6),
    "polarisation": ("spectrahedron", 9), "completion": ("nuclear", 9), "digits-completion": ("nuclear", 64),
    "arms": ("simplex", 4), "hard-arms": ("simplex", 3),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(sources(BanditStream)))
def stream(request: pytest.FixtureRequest, data_dir: Path) -> BanditStream:
    return make_bandit_stream(request.param, make_set(*HOMES[request.param]), (100, 0.3), data_dir=data_dir)


def test_losses_are_at_least_zero_on_the_set_and_vanish_somewhere(stream: BanditStream) -> None:
    generator = np.random.default_rng(0)
    size = stream.domain.dimension
    points = stream.domain.project(stream.domain.center() + 3 * generator.standard_normal((40, 1, 1, size)))
    vertices = stream.domain.linear_oracle(generator.standard_normal((40, 1, 1, size)))
    batch = stream.source(generators(3, 6))(50)
    for inside in (points, vertices):
        values = batch.value(inside)
        assert values.min() >= -1e-9
        assert values.max() <= stream.lipschitz * stream.domain.diameter + 1e-9


def test_lipschitz_constant_holds_and_is_nearly_reached(stream: BanditStream) -> None:
    generator = np.random.default_rng(1)
    basis = stream.domain.hull_basis()
    size = stream.domain.dimension
    points = stream.domain.center() + generator.standard_normal((150, 1, 1, size))
    steps = 1e-4 * generator.standard_normal((150, 1, 1, basis.shape[1])) @ basis.T
    batch = stream.source(generators(3, 6))(30)
    change = np.abs(batch.value(points + steps) - batch.value(points))
    rate = change / np.linalg.norm(steps, axis=-1)
    assert rate.max() <= stream.lipschitz * (1 + 1e-6)
    assert rate.max() >= 0.2 * stream.lipschitz


def test_how_the_horizon_is_cut_decides_nothing(stream: BanditStream) -> None:
    point = stream.domain.target()[None, None]
    whole = stream.source(generators(3, 6))(100).value(point)
    cut = stream.source(generators(3, 6))
    pieces = [cut(rounds).value(point) for rounds in (1, 7, 64, 28)]
    assert np.array_equal(
        np.concatenate([np.broadcast_to(p, (*whole.shape[:-1], p.shape[-1])) for p in pieces], -1), whole
    )
    few = stream.source(generators(2, 6))(100).value(point)
    assert np.array_equal(np.broadcast_to(whole, (3, 100))[:2], np.broadcast_to(few, (2, 100)))


def test_comparator_is_the_best_point_and_stay_that_of_the_center(stream: BanditStream) -> None:
    horizon = 120
    found = stream.comparator(generators(3, 6), horizon)
    batch = stream.source(generators(3, 6))(horizon)
    center = np.broadcast_to(batch.value(stream.domain.center()[None, None]).sum(axis=-1), 3)
    assert found.stay == pytest.approx(center)
    assert not found.gaps.any()
    generator = np.random.default_rng(2)
    tried = stream.domain.linear_oracle(generator.standard_normal((60, 1, 1, stream.domain.dimension)))
    mixed = 0.5 * (tried + stream.domain.target())
    for points in (tried, mixed):
        assert (batch.value(points).sum(axis=-1) >= found.losses - 1e-9).all()
    assert (found.losses <= found.stay).all()


def test_who_sees_one_arm_sees_coins() -> None:
    """An arm loses with its own probability; the best one, drawn by each run, never more than others."""
    size, rounds, runs = 4, 500, 40
    stream = make_bandit_stream("arms", make_set("simplex", size), gap=0.2)
    costs = stream.source(generators(runs, 6))(rounds).value(np.eye(size)[:, None, None])  # (arms, runs, rounds)
    means = np.sort(costs.mean(axis=-1), axis=0)
    error = np.sqrt(0.25 / rounds / runs)
    assert abs(means[0].mean() - 0.3) < 5 * error
    assert (np.abs(means[1:].mean(axis=1) - 0.5) < 5 * error).all()
    assert len(set(costs.sum(axis=-1).argmin(axis=0))) == size
    assert (costs.min(axis=0).sum(axis=-1) == stream.comparator(generators(runs, 6), rounds).losses).all()
