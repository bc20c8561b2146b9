"""Noise laws: exact distributions, and runs that do not depend on their neighbours."""

from itertools import islice

import numpy as np
import pytest
from drawn import generators
from scipy import stats

from dpregret.algorithms.privacy import (
    Joint,
    NoiseDistribution,
    NoisePlan,
    WindowTree,
    keyed_generators,
    root_mean_square_norm,
    unit_noise,
)
from dpregret.numerics.sums import vecdot


@pytest.mark.parametrize("dimension", [1, 4, 32])
def test_gamma_radius_and_direction(dimension):
    noise = unit_noise("gamma", generators(20, 7), 500, dimension).reshape(-1, dimension)
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.gamma(dimension).cdf).pvalue > 1e-3
    share = (noise[:, 0] / radius) ** 2  # Beta(1/2, (d - 1)/2) for a uniform direction
    if dimension > 1:
        assert stats.kstest(share, stats.beta(0.5, (dimension - 1) / 2).cdf).pvalue > 1e-3
    else:
        assert stats.kstest(noise[:, 0], stats.laplace.cdf).pvalue > 1e-3


def plain_noise(distribution, generator, rounds, dimension):
    """What one run draws, and in which order, (rounds, dimension)."""
    if distribution == "gaussian":
        return generator.standard_normal((rounds, dimension))
    if distribution == "gamma":
        direction = generator.standard_normal((rounds, dimension))
        radius = generator.standard_gamma(dimension, rounds)
        return direction * (radius / np.sqrt(vecdot(direction, direction)))[:, None]
    return generator.standard_exponential((rounds, dimension)) - generator.standard_exponential((rounds, dimension))


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 29])
@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_compiled_draws_are_those_of_the_definition(distribution, dimension):
    """Bits and the state left behind, over blocks of odd lengths and often enough to meet tails of the ziggurats."""
    compiled, plain = generators(3, 7), generators(3, 7)
    for rounds in (64, 1, 7, 3001):
        drawn = unit_noise(distribution, compiled, rounds, dimension)
        defined = [plain_noise(distribution, each, rounds, dimension) for each in plain]
        assert np.array_equal(drawn, np.stack(defined, axis=1))
    assert [each.bit_generator.state for each in compiled] == [each.bit_generator.state for each in plain]


@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_root_mean_square_norm(distribution):
    noise = unit_noise(distribution, generators(20, 7), 2000, 5)
    assert np.sqrt(np.vecdot(noise, noise).mean()) == pytest.approx(root_mean_square_norm(distribution, 5), rel=0.02)


@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_a_run_is_its_own(distribution):
    few, many = unit_noise(distribution, generators(2, 7), 64, 3), unit_noise(distribution, generators(5, 7), 64, 3)
    assert np.array_equal(few, many[:, :2])
    assert np.array_equal(many[:, 4:], unit_noise(distribution, generators(5, 7)[4:], 64, 3))


@pytest.mark.parametrize("distribution", ["gaussian", "gamma", "laplace"])
def test_a_joint_generator_draws_all_runs_independently(distribution: NoiseDistribution) -> None:
    """Also beyond one draw a round (a window of 16): no two runs share one, and each has the law of its own."""
    runs, dimension = 4001, 3
    plan = NoisePlan(distribution, [WindowTree(16)], [1.0], 1.0, dimension)
    joint = np.concatenate(list(islice(plan.blocks(Joint(np.random.default_rng(5), runs)), 2)))[:, 0]
    separate = np.concatenate(list(islice(plan.blocks([np.random.default_rng([5, run]) for run in range(runs)]), 2)))
    assert joint.shape == (128, runs, dimension)
    squares = np.square(joint).mean(axis=(1, 2)) / np.square(separate[:, 0]).mean(axis=(1, 2))
    assert np.abs(squares - 1).max() < 0.2
    flat = joint.swapaxes(0, 1).reshape(runs, -1)
    together = (flat[:-1] * flat[1:]).mean(axis=0) / np.square(flat).mean(axis=0)
    assert np.abs(together).max() < 0.15
    assert len(np.unique(flat[:, -1])) == runs


def test_a_generator_that_serves_several_runs_is_keyed_once() -> None:
    joint = Joint(np.random.default_rng(3), 5)
    (alone,) = keyed_generators([np.random.default_rng(3)], 9)
    expected = alone.standard_normal(4)
    for shared in (keyed_generators(joint, 9), keyed_generators(list(joint), 9), keyed_generators(joint[:4], 9)):
        assert len({id(each) for each in shared}) == 1
    again = keyed_generators(joint, 9)
    assert np.array_equal([each.standard_normal() for each in again[:4]], expected)
