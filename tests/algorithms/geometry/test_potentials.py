"""Potentials by their formulas: Bregman steps against first-order optimality, moduli, the regret of mirror descent."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from potential_steps import points_of, stepped

from dpregret.algorithms.geometry import ConstraintSet, Potential, make_potential, make_set
from dpregret.numerics.elementary import softmax

SETTINGS = settings(database=None, max_examples=60)
SEEDS = st.integers(0, 2**32 - 1)
SPREADS = st.sampled_from([0.0, 0.1, 1.0, 5.0])
STEPS = st.sampled_from([0.01, 0.3, 1.0])
VERTICES = np.random.default_rng(11).normal(size=(6, 3))
RADIUS = 1.7
BOX = make_set("box", 3, lower=-0.5, upper=1.0)


def l1(point):
    return np.abs(point).sum()


def lengths(point, size):
    return np.linalg.norm(point.reshape(-1, size), axis=-1)


def singular_values(point):
    side = int(np.sqrt(point.size))
    return np.linalg.svd(point.reshape(side, side), compute_uv=False)


def entropy(weight_count):
    return lambda weights: np.sum(weights * np.log(weight_count * weights))


def q_norm(exponent):
    return lambda point: np.sum(np.abs(point) ** exponent) ** (2 / exponent) / (2 * (exponent - 1))


def grouped(block_count, size):
    log = np.log(block_count)
    exponent, inverse_xi = (1 + 1 / log, np.e * log) if block_count > 2 else (2.0, float(block_count))
    return lambda point: inverse_xi / exponent * np.sum(lengths(point, size) ** exponent)


def spectral(side):
    exponent = 1 / (2 * np.log(2 * side))
    constant = 4 * np.sqrt(np.e) * np.log(2 * side) / (2**exponent * (1 + exponent))
    return lambda point: constant * np.sum(singular_values(point) ** (1 + exponent))


@dataclass(frozen=True)
class Example:
    """A potential, and its value at weights or at a point over the radius, written down again."""

    potential: Potential
    domain: ConstraintSet
    formula: Callable
    radius: float = 1.0
    lift_gradient: Callable = np.asarray

    @classmethod
    def made(cls, domain, formula, name=None, **options):
        return cls(make_potential(domain, name), domain, formula, **options)

    def value(self, variables):
        return self.formula(variables / self.radius)

    def gradient(self, variables):
        """Central differences, Richardson extrapolated."""
        units = np.eye(variables.size)
        first, second = (
            np.array([self.value(variables + h * unit) - self.value(variables - h * unit) for unit in units]) / (2 * h)
            for h in (1e-4, 2e-4)
        )
        return (4 * first - second) / 3


def on_l1_ball(dimension):
    dual = max(2.0, np.log(dimension))
    ball = make_set("l1-ball", dimension, radius=RADIUS)
    return Example.made(ball, q_norm(dual / (dual - 1)), "q-norm", radius=RADIUS)


def on_blocks(count):
    ball = make_set("grouped-l1", 2 * count, block_size=2, radius=RADIUS)
    return Example.made(ball, grouped(count, 2), radius=RADIUS)


EXAMPLES = {
    "euclidean": lambda: Example.made(BOX, lambda point: 0.5 * np.sum((point - BOX.center()) ** 2)),
    "simplex-entropy": lambda: Example.made(make_set("simplex", 4), entropy(4)),
    "signed-entropy": lambda: Example.made(
        make_set("l1-ball", 3, radius=0.7),
        entropy(6),
        lift_gradient=lambda gradient: 0.7 * np.concatenate([gradient, -gradient]),
    ),
    "vertex-entropy": lambda: Example.made(
        make_set("polytope", 3, vertices=VERTICES), entropy(6), lift_gradient=lambda gradient: VERTICES @ gradient
    ),
    "q-norm": lambda: on_l1_ball(4),
    "q-norm-in-12": lambda: on_l1_ball(12),
    "one-block": lambda: on_blocks(1),
    "two-blocks": lambda: on_blocks(2),
    "four-blocks": lambda: on_blocks(4),
    "spectral": lambda: Example.made(make_set("nuclear", 9, radius=RADIUS), spectral(3), radius=RADIUS),
}


@pytest.fixture(scope="module", params=list(EXAMPLES))
def example(request):
    return EXAMPLES[request.param]()


def walk(potential, generator, rows, scale=1.0):
    """States (rows, k) reached from the start by steps against random gradients, some to the boundary."""
    states = np.tile(potential.start, (rows, 1))
    for _ in range(2):
        sizes = scale * generator.choice([0.1, 1.0, 3.0], size=(rows, 1))
        states = stepped(potential, states, sizes * generator.normal(size=(rows, potential.body.dimension)))
    return states


def variables(potential, states):
    """What the formulas are written in: weights, or points."""
    return softmax(states) if potential.name == "entropy" else points_of(potential, states)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "spectral"])  # whose states stand below
def test_step_meets_first_order_optimality(name, generator):
    """<g + grad Psi(new) - grad Psi(old), v - new> >= 0 for all v of the set: proves a minimiser."""
    example = EXAMPLES[name]()
    potential = example.potential
    for state in walk(potential, generator, 8, scale=0.3):
        gradient = generator.normal(size=potential.body.dimension)
        old, moved = (variables(potential, each) for each in (state, stepped(potential, state, gradient)))
        if potential.name == "entropy":
            # The minimiser is interior: the gradient of the Lagrangian is constant over the weights.
            assert np.ptp(example.lift_gradient(gradient) + np.log(moved / old)) <= 1e-12
            continue
        residual = gradient + exact_gradient(example, moved) - exact_gradient(example, old)
        gap = residual @ (example.domain.linear_oracle(residual) - moved)
        assert gap >= -1e-12 * (1 + np.abs(gradient).max())
        assert example.domain.violation(moved) <= 1e-14


def dual_of(potential):
    """q, of a power of the q-norm."""
    return potential.data.dual / (potential.data.dual - 1.0)


def exact_gradient(example, point):
    """Of the potentials whose states are points, in closed form."""
    potential, unit = example.potential, point / example.radius
    if potential.name == "euclidean":
        return point - BOX.center()
    if potential.name == "q-norm":
        q = dual_of(potential)
        norm = np.sum(np.abs(unit) ** q) ** (1 / q)
        return norm ** (2 - q) * np.sign(unit) * np.abs(unit) ** (q - 1) / ((q - 1) * example.radius)
    sizes = np.repeat(lengths(unit, 2), 2)
    q = potential.data.exponent
    return potential.maximum * q / example.radius * np.where(sizes > 0, sizes, 1.0) ** (q - 2) * unit


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "entropy" not in name and name != "spectral"])
def test_closed_gradients_are_those_of_the_formula(name, generator):
    example = EXAMPLES[name]()
    inner = 0.05 + points_of(example.potential, walk(example.potential, generator, 1))[0]
    np.testing.assert_allclose(exact_gradient(example, inner), example.gradient(inner), rtol=0, atol=1e-6)


def test_start_is_the_minimiser_and_maximum_is_attained_or_a_bound(example, generator):
    potential = example.potential
    assert example.value(np.maximum(variables(potential, potential.start), 0.0)) == pytest.approx(0.0, abs=1e-15)
    reached = variables(potential, walk(potential, generator, 500, scale=3.0))
    values = [example.value(np.where(each == 0.0, 1e-300, each)) for each in reached]
    assert min(values) >= -1e-15
    assert max(values) <= potential.maximum * (1 + 1e-12)
    extreme = variables(potential, stepped(potential, potential.start, -1e4 * np.eye(potential.body.dimension)[0]))
    assert example.value(np.where(extreme == 0.0, 1e-300, extreme)) >= 0.3 * potential.maximum


@pytest.mark.parametrize("side", [1, 2, 3, 6])
def test_spectral_step_meets_first_order_optimality(side, generator):
    """With the gradient c (1 + q) U sigma^q V^T, which the state holds."""
    ball = make_set("nuclear", side**2, radius=RADIUS)
    potential = make_potential(ball)
    log = np.log(2 * side)
    slope = 4 * np.sqrt(np.e) * log / 2 ** (1 / (2 * log))
    states = walk(potential, generator, 40, scale=slope / 4)
    gradients = slope / 3 * generator.normal(size=(*states.shape[:-1], side**2))
    moved = stepped(potential, states, gradients)
    residual = gradients + slope / RADIUS * (moved - states)[..., : side**2]
    gaps = np.vecdot(residual, points_of(potential, moved) - ball.linear_oracle(residual))
    assert gaps.max() <= 1e-12 * slope
    assert ball.violation(points_of(potential, moved)).max() <= 1e-13


def test_spectral_state_is_the_gradient_of_the_value(generator):
    """A short step from the start, against a gradient with singular values far from zero."""
    example = EXAMPLES["spectral"]()
    potential = example.potential
    slope = potential.maximum * (1 + 1 / (2 * np.log(6)))
    state = stepped(
        potential, potential.start, -slope / RADIUS * (0.75 * np.eye(3).ravel() + 0.02 * generator.normal(size=9))
    )
    point = points_of(potential, state)
    assert singular_values(point).min() > 0.1
    np.testing.assert_allclose(slope / RADIUS * state[:9], example.gradient(point), rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e6, 1e100])
def test_tiny_and_huge_gradients_stay_in_the_set(example, size, generator):
    potential = example.potential
    dimension = potential.body.dimension
    moved = stepped(potential, walk(potential, generator, 4), size * generator.normal(size=(4, dimension)))
    assert np.isfinite(moved).all()
    assert example.domain.violation(points_of(potential, moved)).max() <= 1e-13
    if size == 1e6 and potential.name not in ("euclidean", "grouped"):
        # So long a step ends close to the extreme point that the gradient asks for, and comes back.
        for sign in (3.0, -3.0):
            moved = stepped(potential, moved, np.tile(sign * size * np.eye(dimension)[0], (4, 1)))
        assert np.isfinite(moved).all()


def second_difference(value, point, shift):
    """value(x + h) + value(x - h) - 2 value(x), at least modulus |h|^2 for a strongly convex function."""
    return value(point + shift) + value(point - shift) - 2.0 * value(point)


def pair(generator, norm, size, spread, step):
    """A center and a shift with center +- shift in the unit ball of the norm; sizes flat or spread by e^spread."""
    point, shift = generator.choice([-1.0, 1.0], size=(2, size)) * np.exp(spread * generator.normal(size=(2, size)))
    return point / norm(point) * (1.0 - 0.5 * step), shift / norm(shift) * 0.5 * step


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, dimension=st.sampled_from([2, 5, 8, 30, 200]))
def test_q_norm_potential_has_modulus_one_in_its_norm(seed, spread, step, dimension):
    potential = make_potential(make_set("l1-ball", dimension), "q-norm")
    point, shift = pair(np.random.default_rng(seed), l1, dimension, spread, step)
    gain = second_difference(q_norm(dual_of(potential)), point, shift)
    own_norm = np.sum(np.abs(shift) ** dual_of(potential)) ** (1 / dual_of(potential))
    rounding = 1e-13 * potential.maximum
    assert gain >= own_norm**2 - rounding
    assert gain >= potential.modulus * l1(shift) ** 2 - rounding


@pytest.mark.parametrize("dimension", [2, 8, 30, 200])
def test_moduli_of_the_q_norm_are_attained_and_the_printed_factor_halves_them(dimension):
    """At a flat point against a balanced shift: 1 / (4 (q - 1)) as printed has modulus 1/2 in l_q, not 1."""
    potential = make_potential(make_set("l1-ball", dimension), "q-norm")
    q, value = dual_of(potential), q_norm(dual_of(potential))
    point = np.full(dimension, 0.9 / dimension)
    shift = 1e-3 / dimension * np.repeat([1.0, -1.0], dimension // 2)
    own_norm = np.sum(np.abs(shift) ** q) ** (1 / q)
    assert second_difference(value, point, shift) == pytest.approx(own_norm**2, rel=1e-3)
    assert own_norm**2 == pytest.approx(potential.modulus * l1(shift) ** 2, rel=1e-3)
    half = second_difference(lambda each: value(each) / 2, point, shift)
    assert half == pytest.approx(0.5 * own_norm**2, rel=1e-3)


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, block_count=st.sampled_from([1, 2, 3, 10, 64]))
def test_grouped_potential_has_modulus_one(seed, spread, step, block_count):
    ball = make_set("grouped-l1", 3 * block_count, block_size=3)
    point, shift = pair(np.random.default_rng(seed), ball.norm, ball.dimension, spread, step)
    potential = make_potential(ball)
    gain = second_difference(grouped(block_count, 3), point, shift)
    assert gain >= potential.modulus * ball.norm(shift) ** 2 - 1e-13 * potential.maximum


@pytest.mark.parametrize("block_count", [1, 2, 3, 10, 64])
def test_modulus_of_the_grouped_potential_is_attained(block_count):
    """At equal blocks, shifts along the blocks that are equally long."""
    ball = make_set("grouped-l1", 3 * block_count, block_size=3)
    point = np.tile([0.999 / block_count, 0.0, 0.0], block_count)
    gain = second_difference(grouped(block_count, 3), point, 1e-3 * point)
    assert gain == pytest.approx(make_potential(ball).modulus * ball.norm(1e-3 * point) ** 2, rel=2e-3)


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
    potential = make_potential(ball)
    gain = second_difference(spectral(side), point, shift)
    assert gain >= potential.modulus * ball.norm(shift) ** 2 - 1e-12 * potential.maximum


@pytest.mark.parametrize("side", [4, 8, 32, 64])
def test_modulus_of_the_spectral_potential_is_attained_and_the_printed_factor_falls_below_one(side):
    """At a multiple of the identity: 4 sqrt(e ln 2m) as printed has modulus 2 / sqrt(ln 2m)."""
    point = 0.99 / side * np.eye(side).ravel()
    shift = 1e-2 / side * np.diag(np.repeat([1.0, -1.0], side // 2)).ravel()
    gain = second_difference(spectral(side), point, shift) / singular_values(shift).sum() ** 2
    assert gain == pytest.approx(2.0, rel=0.02)
    printed = gain / np.sqrt(np.log(2 * side))
    assert (printed < 1) == (side >= 28)


@SETTINGS
@given(seed=SEEDS, spread=SPREADS, step=STEPS, count=st.sampled_from([2, 5, 40]))
def test_entropy_has_modulus_one_in_l1(seed, spread, step, count):
    """Pinsker's inequality, through the Bregman divergence of two weight vectors."""
    generator = np.random.default_rng(seed)
    first, second = np.exp(spread * generator.normal(size=(2, count)))
    first /= first.sum()
    second = (1.0 - step) * first + step * second / second.sum()
    value, modulus = entropy(count), make_potential(make_set("simplex", count)).modulus
    divergence = value(second) - value(first) - np.log(first) @ (second - first)
    assert divergence >= 0.5 * modulus * l1(second - first) ** 2 - 1e-13


def test_modulus_of_the_entropy_is_attained():
    shift = np.array([1e-3, -1e-3])
    gain = second_difference(entropy(2), np.array([0.5, 0.5]), shift)
    assert gain == pytest.approx(make_potential(make_set("simplex", 2)).modulus * l1(shift) ** 2, rel=1e-5)
