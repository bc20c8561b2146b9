import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpregret.algorithms.geometry.powers import keep_powers
from dpregret.algorithms.geometry.roots import increasing_root


@pytest.mark.parametrize("power", [0.2, 1.0, 3.0, 15.0])
def test_roots_of_powers_are_found_to_rounding(power):
    """Concave, linear and convex equations, a batch of roots at once."""
    roots = np.geomspace(1e-6, 1.0, 50).reshape(5, 10)

    def equation(points):
        return points**power - roots**power, power * points ** (power - 1.0)

    found = increasing_root(equation, np.full_like(roots, 1e-7), np.ones_like(roots))
    np.testing.assert_allclose(found, roots, rtol=1e-14 * max(1.0, 1.0 / power))


def test_flat_and_kinked_equations_fall_back_to_bisection():
    roots = np.array([0.1, 0.3, 0.9])

    def equation(points):
        return np.sign(points - roots) * np.sqrt(np.abs(points - roots)), np.zeros(3)

    found = increasing_root(equation, np.zeros(3), np.ones(3))
    np.testing.assert_allclose(found, roots, rtol=1e-14)


def test_a_root_outside_the_bracket_is_the_nearer_end():
    def equation(points):
        return points - np.array([-1.0, 2.0]), np.ones(2)

    found = increasing_root(equation, np.zeros(2), np.ones(2))
    np.testing.assert_allclose(found, [0.0, 1.0], rtol=0, atol=1e-15)


@settings(database=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    exponent=st.sampled_from([1.0, 1.1, 4.0, 10.0, 17.0]),
    size=st.sampled_from([1e-3, 0.3, 1.0, 50.0, 1e8]),
)
def test_kept_powers_meet_the_ball(seed, exponent, size):
    values = size * np.abs(np.random.default_rng(seed).normal(size=(4, 30)))
    kept, work = np.empty_like(values), np.empty((2, 30))
    for row in range(4):
        keep_powers(values[row], exponent, kept[row], work)
    sums = np.sum(kept**exponent, axis=-1)
    inside = np.sum(values**exponent, axis=-1) <= 1.0
    np.testing.assert_allclose(sums[~inside], 1.0, rtol=1e-12)
    np.testing.assert_allclose(kept[inside], values[inside], rtol=0, atol=1e-15 * size)
    # One threshold for all: what was taken away is equal where something is left, and covers the rest.
    taken = values - kept
    for row in range(4):
        assert np.ptp(taken[row][kept[row] > 0.0]) <= 1e-15 * size * 10
        assert np.all(taken[row] <= taken[row].max() * (1 + 1e-12))
