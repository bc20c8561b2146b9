"""Gaussian widths against closed forms, independent formulas and sampling."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi, norm

from dpregret.algorithms.geometry import CountedSet, gaussian_width, make_set
from dpregret.algorithms.geometry.width import mean_largest_norm, mean_largest_normal


def test_small_cases_in_closed_form():
    half_normal = np.sqrt(2 / np.pi)
    assert gaussian_width(make_set("ball", 1, radius=3.0))[0] == pytest.approx(3 * half_normal, rel=1e-12)
    assert gaussian_width(make_set("ball", 2))[0] == pytest.approx(np.sqrt(np.pi / 2), rel=1e-12)
    assert gaussian_width(make_set("ball", 3))[0] == pytest.approx(2 * half_normal, rel=1e-12)
    assert gaussian_width(make_set("l1-ball", 1))[0] == pytest.approx(half_normal, rel=1e-12)
    assert gaussian_width(make_set("l1-ball", 2, radius=0.5))[0] == pytest.approx(1 / np.sqrt(np.pi), rel=1e-12)
    assert gaussian_width(make_set("simplex", 2))[0] == pytest.approx(1 / np.sqrt(np.pi), rel=1e-12)
    assert gaussian_width(make_set("simplex", 3))[0] == pytest.approx(1.5 / np.sqrt(np.pi), rel=1e-12)
    assert gaussian_width(make_set("box", 7, lower=2.0, upper=5.0))[0] == pytest.approx(21 / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("dimension", [1, 2, 17, 1000, 10**6])
def test_the_width_of_the_ball_is_a_ratio_of_gamma_functions(dimension):
    assert gaussian_width(make_set("ball", dimension))[0] == pytest.approx(chi.mean(dimension), rel=1e-9)


@pytest.mark.parametrize(("block_size", "block_count"), [(1, 10), (3, 50), (40, 2), (7, 10**7)])
def test_largest_norm_agrees_with_its_density(block_size, block_count):
    def integrand(size):
        return size * block_count * chi.pdf(size, block_size) * chi.cdf(size, block_size) ** (block_count - 1)

    expected = quad(integrand, 0, 20, points=[3, 5, 7, 9], epsabs=1e-11, limit=500)[0]
    assert mean_largest_norm(block_size, block_count) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("count", [2, 10, 10**4, 10**8])
def test_largest_normal_agrees_with_its_density(count):
    def integrand(size):
        return size * count * norm.pdf(size) * norm.cdf(size) ** (count - 1)

    expected = quad(integrand, -8, 12, points=[0, 2, 4, 6], epsabs=1e-11, limit=500)[0]
    assert mean_largest_normal(count) == pytest.approx(expected, rel=1e-8)


def test_sampled_widths_agree_with_brute_force(any_case, generator):
    """Every set, whatever way its width is computed, against its own support function."""
    value, error = gaussian_width(any_case.constraint_set, np.random.default_rng(1), samples=4000)
    maxima = any_case.support(generator.normal(size=(4000, any_case.constraint_set.dimension)))
    assert abs(value - maxima.mean()) <= 5 * np.hypot(error, maxima.std() / np.sqrt(4000))


def test_printed_width_of_the_grouped_l1_ball_is_wrong_at_one_block():
    """sqrt(k ln(p / k)) is 0 for p = k and too large for many blocks; sqrt(k) + sqrt(2 ln(p / k)) is a bound."""
    for block_size, block_count in [(256, 1), (64, 64), (4, 1024), (16, 4)]:
        width, _ = gaussian_width(make_set("grouped-l1", block_size * block_count, block_size=block_size))
        sharp = np.sqrt(block_size) + np.sqrt(2 * np.log(block_count))
        assert 0.75 * sharp <= width <= sharp
    assert np.sqrt(256 * np.log(1)) == 0 < 15.9 < gaussian_width(make_set("grouped-l1", 256, block_size=256))[0]
    assert np.sqrt(64 * np.log(64)) > 1.6 * gaussian_width(make_set("grouped-l1", 4096, block_size=64))[0]


def test_sampling_is_reproducible_and_takes_a_generator():
    flow = make_set("flow", 12)
    assert gaussian_width(flow) == gaussian_width(flow)
    assert gaussian_width(flow) != gaussian_width(flow, np.random.default_rng(5))
    assert gaussian_width(flow, samples=8000)[1] < 0.6 * gaussian_width(flow, samples=2000)[1]
    with pytest.raises(ValueError, match="samples >= 2, not 1"):
        gaussian_width(flow, samples=1)


def test_a_counted_set_has_the_width_of_the_set_inside_and_counts_nothing():
    counted = CountedSet(make_set("hypersimplex", 12))
    assert gaussian_width(counted) == gaussian_width(counted.inner)
    assert counted.linear_oracles.calls == 0


def test_memory_does_not_grow_with_the_samples():
    polytope, samples = make_set("polytope", 256), 16_000
    gaussian_width(polytope, samples=2)  # what it takes to compile is no memory of samples
    tracemalloc.start()
    gaussian_width(polytope, samples=samples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < samples * 256 * 8 / 3
