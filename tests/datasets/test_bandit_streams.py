"""Bandit losses: ranges, Lipschitz constants, independence of how a horizon is cut, comparators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.geometry import make_set
from dpregret.datasets.bandit_streams import BanditStream, make_bandit_stream
from dpregret.datasets.base import sources

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
