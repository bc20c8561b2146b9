"""Moduli of strong convexity: the stated ones hold and are attained, the ones printed in the paper are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpregret.algorithms.geometry import make_potential, make_set

SETTINGS = settings(database=None, max_examples=150)
SEEDS = st.integers(0, 2**32 - 1)
SPREADS = st.sampled_from([0.0, 0.1, 1.0, 5.0])
STEPS = st.sampled_from([0.01, 0.3, 1.0])


def second_difference(value, point, shift):
    """value(x + h) + value(x - h) - 2 value(x), at least modulus |h|^2 for a strongly convex function."""
    return value(point + shift) + value(point - shift) - 2.0 * value(point)


def pair(generator, norm, size, spread, step):
    """A center and a shift with center +- shift in the unit ball of the norm; sizes flat or spread by e^spread."""
    point, shift = generator.choice([-1.0, 1.0], size=(2, size)) * np.exp(spread * generator.normal(size=(2, size)))
    shift /= norm(shift)
    point /= norm(point)
    return point * (1.0 - 0.5 * step), shift * 0.5 * step


def l1(point):
    return np.abs(point).sum()


def of_points(potential):
    """Psi of points, or of weights."""
    return lambda points: potential.value(potential.lift(points))


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, dimension=st.sampled_from([2, 5, 8, 30, 200]))
def test_q_norm_potential_has_modulus_one_in_its_norm(seed, spread, step, dimension):
    potential = make_potential(make_set("l1-ball", dimension), "q-norm")
    point, shift = pair(np.random.default_rng(seed), l1, dimension, spread, step)
    gain = second_difference(of_points(potential), point, shift)
    q_norm = np.sum(np.abs(shift) ** potential.exponent) ** (1 / potential.exponent)
    rounding = 1e-13 * potential.maximum
    assert gain >= q_norm**2 - rounding
    assert gain >= potential.modulus * l1(shift) ** 2 - rounding


@pytest.mark.parametrize("dimension", [2, 8, 30, 200])
def test_moduli_of_the_q_norm_are_attained_and_the_printed_factor_halves_them(dimension):
    """At a flat point against a balanced shift: 1 / (4 (q - 1)) as printed has modulus 1/2 in l_q, not 1."""
    potential = make_potential(make_set("l1-ball", dimension), "q-norm")
    q = potential.exponent
    point = np.full(dimension, 0.9 / dimension)
    shift = 1e-3 / dimension * np.repeat([1.0, -1.0], dimension // 2)
    gain = second_difference(of_points(potential), point, shift)
    q_norm = np.sum(np.abs(shift) ** q) ** (1 / q)
    assert gain == pytest.approx(q_norm**2, rel=1e-3)
    assert gain == pytest.approx(potential.modulus * l1(shift) ** 2, rel=1e-3)

    def printed(point):
        return np.sum(np.abs(point) ** q) ** (2 / q) / (4 * (q - 1))

    assert second_difference(printed, point, shift) == pytest.approx(0.5 * q_norm**2, rel=1e-3)


def test_modulus_of_the_q_norm_in_l1_is_at_least_e_to_the_minus_2():
    for dimension in range(1, 3000, 7):
        assert make_potential(make_set("l1-ball", dimension), "q-norm").modulus >= np.exp(-2) * (1 - 1e-12)


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, block_count=st.sampled_from([1, 2, 3, 10, 64]))
def test_grouped_potential_has_modulus_one(seed, spread, step, block_count):
    ball = make_set("grouped-l1", 3 * block_count, block_size=3)
    point, shift = pair(np.random.default_rng(seed), ball.norm, ball.dimension, spread, step)
    potential = make_potential(ball)
    gain = second_difference(potential.value, point, shift)
    assert gain >= potential.modulus * ball.norm(shift) ** 2 - 1e-13 * potential.maximum


@pytest.mark.parametrize("block_count", [1, 2, 3, 10, 64])
def test_modulus_of_the_grouped_potential_is_attained(block_count):
    """At equal blocks, shifts along the blocks that are equally long."""
    ball = make_set("grouped-l1", 3 * block_count, block_size=3)
    point = np.tile([0.999 / block_count, 0.0, 0.0], block_count)
    shift = 1e-3 * point
    gain = second_difference(make_potential(ball).value, point, shift)
    assert gain == pytest.approx(ball.norm(shift) ** 2, rel=2e-3)


def test_maximum_of_the_grouped_potential_is_logarithmic():
    """Printed O(sqrt(ln(p / k))); it is e ln N / (1 + 1 / ln N)."""
    counts = np.array([8, 64, 512, 4096])
    maxima = [make_potential(make_set("grouped-l1", int(count), block_size=1)).maximum for count in counts]
    ratios = maxima / np.log(counts)
    assert np.all((ratios > 0.6 * np.e) & (ratios < np.e))
    assert np.all(np.diff(maxima / np.sqrt(np.log(counts))) > 0.5)


def spectral_value(ball):
    potential = make_potential(ball)
    return of_points(potential)


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, side=st.sampled_from([1, 2, 3, 6]), aligned=st.booleans())
def test_spectral_potential_has_modulus_two(seed, spread, step, side, aligned):
    """For commuting shifts (equal singular bases) and for shifts in general position."""
    generator = np.random.default_rng(seed)
    ball = make_set("nuclear", side**2)
    sizes, changes = pair(generator, l1, side, spread, step)
    left, right, other_left, other_right = np.linalg.qr(generator.normal(size=(4, side, side)))[0]
    if aligned:
        other_left, other_right = left, right
    point, shift = ((left * sizes) @ right).ravel(), ((other_left * changes) @ other_right).ravel()
    gain = second_difference(spectral_value(ball), point, shift)
    potential = make_potential(ball)
    assert gain >= potential.modulus * ball.norm(shift) ** 2 - 1e-12 * potential.maximum


@pytest.mark.parametrize("side", [4, 8, 32, 64])
def test_modulus_of_the_spectral_potential_is_attained_and_the_printed_factor_falls_below_one(side):
    """At a multiple of the identity: 4 sqrt(e ln 2m) as printed has modulus 2 / sqrt(ln 2m)."""
    ball = make_set("nuclear", side**2)
    point = 0.99 / side * np.eye(side).ravel()
    shift = 1e-2 / side * np.diag(np.repeat([1.0, -1.0], side // 2)).ravel()
    gain = second_difference(spectral_value(ball), point, shift) / ball.norm(shift) ** 2
    assert gain == pytest.approx(2.0, rel=0.02)
    printed = gain * np.sqrt(np.log(2 * side)) / np.log(2 * side)
    assert (printed < 1) == (side >= 28)
    if side == 64:
        assert printed == pytest.approx(0.908, abs=0.02)


def test_mean_inequality_behind_the_spectral_modulus():
    """(a - b) / (a^q - b^q) <= (a^(1-q) + b^(1-q)) / (2 q) for 0 < q <= 1/2: off-diagonal shifts cost no less."""
    ratios = 1.0 - np.geomspace(1e-3, 1.0, 4000)
    for power in [0.05, 0.1, 0.2, 0.36, 0.5]:
        quotients = (1.0 - ratios) / (1.0 - ratios**power)
        assert np.all(quotients <= (1.0 + ratios ** (1.0 - power)) / (2.0 * power) * (1.0 + 1e-12))


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, count=st.sampled_from([2, 5, 40]))
def test_entropy_has_modulus_one_in_l1(seed, spread, step, count):
    """Pinsker's inequality, through the Bregman divergence of two weight vectors."""
    generator = np.random.default_rng(seed)
    first, second = np.exp(spread * generator.normal(size=(2, count)))
    first /= first.sum()
    second = (1.0 - step) * first + step * second / second.sum()
    potential = make_potential(make_set("simplex", count))
    slope = np.log(first)
    divergence = np.diff(potential.value(np.log([first, second])))[0] - slope @ (second - first)
    assert divergence >= 0.5 * potential.modulus * l1(second - first) ** 2 - 1e-13


def test_modulus_of_the_entropy_is_attained():
    potential = make_potential(make_set("simplex", 2))
    shift = np.array([1e-3, -1e-3])
    gain = second_difference(of_points(potential), np.array([0.5, 0.5]), shift)
    assert gain == pytest.approx(l1(shift) ** 2, rel=1e-5)


@SETTINGS
@given(seed=SEEDS, count=st.integers(1, 12), dimension=st.integers(1, 6))
def test_curvature_of_least_squares_on_the_l1_ball(seed, count, dimension):
    """Of |X u|^2 / (2 n) with |x|_inf <= 1 it is max |X (a - b)|^2 / n over pairs of vertices, at most 4."""
    generator = np.random.default_rng(seed)
    features = np.clip(2.0 * generator.normal(size=(count, dimension)), -1.0, 1.0)
    vertices = np.vstack([np.eye(dimension), -np.eye(dimension)])
    edges = (vertices[:, None] - vertices).reshape(-1, dimension)
    curvature = np.max(np.sum((edges @ features.T) ** 2, axis=-1)) / count
    assert curvature <= 4.0
    # Gamma = sup 2 / s^2 (f(y) - f(x) - <y - x, grad f(x)>), y = x + s (v - x): here |X (v - x)|^2 / n, convex in x.
    inner = generator.dirichlet(np.ones(2 * dimension), size=50) @ vertices
    shifts = (vertices[:, None] - inner).reshape(-1, dimension)
    assert np.max(np.sum((shifts @ features.T) ** 2, axis=-1)) / count <= curvature + 1e-12
    signs = np.where(features >= 0.0, 1.0, -1.0)
    assert np.max(np.sum((edges @ signs.T) ** 2, axis=-1)) / count == pytest.approx(4.0)
