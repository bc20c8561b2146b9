"""Bregman steps against first-order optimality; bounds on the regret of mirror descent."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from dpregret.algorithms.geometry import Potential, make_potential, make_set
from dpregret.numerics.elementary import softmax

VERTICES = np.random.default_rng(11).normal(size=(6, 3))


def singular_values(point):
    return np.linalg.svd(point.reshape(3, 3), compute_uv=False)


@dataclass(frozen=True)
class Example:
    """A potential, and its value and gradient at one state, written down again."""

    potential: Potential
    formula: Callable
    gradient: Callable
    lift_gradient: Callable = np.asarray


def entropy_of(weight_count):
    return lambda weights: np.sum(weights * np.log(weight_count * weights))


def entropy_gradient(weight_count):
    return lambda weights: 1.0 + np.log(weight_count * weights)


def euclidean():
    box = make_set("box", 3, lower=-0.5, upper=1.0)
    potential = make_potential(box)
    center = box.center()
    return Example(
        potential,
        lambda point: 0.5 * np.sum((point - center) ** 2),
        lambda point: point - center,
    )


def simplex_entropy():
    return Example(
        make_potential(make_set("simplex", 4)),
        entropy_of(4),
        entropy_gradient(4),
    )


def signed_entropy():
    return Example(
        make_potential(make_set("l1-ball", 3, radius=0.7)),
        entropy_of(6),
        entropy_gradient(6),
        lambda gradient: 0.7 * np.concatenate([gradient, -gradient]),
    )


def vertex_entropy():
    return Example(
        make_potential(make_set("polytope", 3, vertices=VERTICES)),
        entropy_of(6),
        entropy_gradient(6),
        lambda gradient: VERTICES @ gradient,
    )


def q_norm(dimension):
    ball = make_set("l1-ball", dimension, radius=1.7)
    dual = max(2.0, np.log(dimension))
    q = dual / (dual - 1)

    def gradient(point):
        norm = np.sum(np.abs(point) ** q) ** (1 / q)
        return norm ** (2 - q) * np.sign(point) * np.abs(point) ** (q - 1) / ((q - 1) * 1.7**2)

    return Example(
        make_potential(ball, "q-norm"),
        lambda point: np.sum(np.abs(point / 1.7) ** q) ** (2 / q) / (2 * (q - 1)),
        gradient,
    )


def grouped(block_count):
    ball = make_set("grouped-l1", 2 * block_count, block_size=2, radius=1.7)
    log = np.log(block_count)
    exponent, inverse_xi = (1 + 1 / log, np.e * log) if block_count > 2 else (2.0, float(block_count))

    def gradient(point):
        blocks = point.reshape(-1, 2) / 1.7
        lengths = np.linalg.norm(blocks, axis=-1, keepdims=True)
        factors = np.where(lengths > 0, lengths, 1.0) ** (exponent - 2)
        return (inverse_xi / 1.7 * factors * blocks).ravel()

    return Example(
        make_potential(ball),
        lambda point: inverse_xi / exponent * np.sum(np.linalg.norm(point.reshape(-1, 2) / 1.7, axis=-1) ** exponent),
        gradient,
    )


EXAMPLES = {
    "euclidean": euclidean,
    "simplex-entropy": simplex_entropy,
    "signed-entropy": signed_entropy,
    "vertex-entropy": vertex_entropy,
    "q-norm": lambda: q_norm(4),
    "q-norm-in-12": lambda: q_norm(12),
    "one-block": lambda: grouped(1),
    "two-blocks": lambda: grouped(2),
    "four-blocks": lambda: grouped(4),
}


@pytest.fixture(scope="module", params=list(EXAMPLES))
def example(request):
    return EXAMPLES[request.param]()


def walk(potential, generator, rows, scale=1.0):
    """States (rows, k) reached from the start by steps against random gradients, some to the boundary."""
    states = np.tile(potential.start(), (rows, 1))
    dimension = potential.point(states).shape[-1]
    for _ in range(2):
        sizes = scale * generator.choice([0.1, 1.0, 3.0], size=(rows, 1))
        states = potential.step(states, sizes * generator.normal(size=(rows, dimension)))
    return states


def gradient_of(formula, point):
    """Central differences, Richardson extrapolated."""
    result = np.zeros(point.size)
    for place in range(point.size):
        unit = np.zeros(point.size)
        unit[place] = 1.0
        differences = [(formula(point + h * unit) - formula(point - h * unit)) / (2 * h) for h in (1e-4, 2e-4)]
        result[place] = (4 * differences[0] - differences[1]) / 3
    return result


def variables(potential, states):
    """What the formulas are written in: weights, or points."""
    return softmax(states) if potential.name == "entropy" else potential.point(states)


def test_value_is_the_formula(example, generator):
    states = walk(example.potential, generator, 10)
    found = variables(example.potential, states)
    expected = list(map(example.formula, found))
    np.testing.assert_allclose(example.potential.value(states), expected, rtol=1e-12, atol=1e-15)
    inner = 0.05 + found[0]
    np.testing.assert_allclose(example.gradient(inner), gradient_of(example.formula, inner), rtol=0, atol=1e-6)


def test_step_meets_first_order_optimality(example, generator):
    """<g + grad Psi(new) - grad Psi(old), v - new> >= 0 for all v of the set: proves a minimiser."""
    potential = example.potential
    old_states = walk(potential, generator, 8, scale=0.3)
    dimension = potential.point(old_states).shape[-1]
    for state in old_states:
        gradient = generator.normal(size=dimension)
        old, moved = (variables(potential, each) for each in (state, potential.step(state, gradient)))
        if potential.name == "entropy":
            # The minimiser is interior: the gradient of the Lagrangian is constant over the weights.
            residual = example.lift_gradient(gradient) + np.log(moved / old)
            assert np.ptp(residual) <= 1e-12
            continue
        residual = gradient + example.gradient(moved) - example.gradient(old)
        constraint_set = make_set("box", 3, lower=-0.5, upper=1.0) if potential.name == "euclidean" else potential.body
        assert residual @ (constraint_set.linear_oracle(residual) - moved) >= -1e-12 * (1 + np.abs(gradient).max())
        assert constraint_set.violation(moved) <= 1e-14


def test_start_is_the_minimiser_and_maximum_is_attained_or_a_bound(example, generator):
    potential = example.potential
    assert potential.value(potential.start()) == pytest.approx(0.0, abs=1e-15)
    values = potential.value(walk(potential, generator, 2000, scale=3.0))
    assert values.min() >= -1e-15
    assert values.max() <= potential.maximum * (1 + 1e-12)
    extreme = potential.step(potential.start(), -1e4 * np.eye(potential.point(potential.start()).size)[0])
    assert potential.value(extreme) >= 0.3 * potential.maximum


@pytest.mark.parametrize("name", ["q-norm", "q-norm-in-12", "simplex-entropy", "vertex-entropy"])
def test_a_state_is_lifted_from_what_it_stands_for(name, generator):
    potential = EXAMPLES[name]().potential
    states = walk(potential, generator, 10)
    apart = potential.lift(variables(potential, states)) - states
    assert (np.ptp(apart, axis=-1) if potential.name == "entropy" else np.abs(apart)).max() <= 1e-12


@pytest.mark.parametrize("side", [1, 2, 3, 6])
def test_spectral_step_meets_first_order_optimality(side, generator):
    """With the gradient c (1 + q) U sigma^q V^T, which the state holds."""
    radius = 1.7
    ball = make_set("nuclear", side**2, radius=radius)
    potential = make_potential(ball)
    log = np.log(2 * side)
    slope = 4 * np.sqrt(np.e) * log / 2 ** (1 / (2 * log))
    states = walk(potential, generator, 40, scale=slope / 4)
    gradients = slope / 3 * generator.normal(size=(*states.shape[:-1], side**2))
    moved = potential.step(states, gradients)
    residual = gradients + slope / radius * (moved - states)[..., : side**2]
    gaps = np.vecdot(residual, potential.point(moved) - ball.linear_oracle(residual))
    assert gaps.max() <= 1e-12 * slope
    assert ball.violation(potential.point(moved)).max() <= 1e-13


def test_spectral_state_is_the_gradient_of_the_value(generator):
    ball = make_set("nuclear", 9, radius=1.7)
    potential = make_potential(ball)
    point = ball.project(generator.normal(size=9))

    def formula(point):
        exponent = 1 / (2 * np.log(6))
        constant = 4 * np.sqrt(np.e) * np.log(6) / (2**exponent * (1 + exponent))
        return constant * np.sum(singular_values(point / 1.7) ** (1 + exponent))

    inner = 0.5 * point + 0.1 * np.eye(3).ravel()
    state = potential.lift(inner)
    np.testing.assert_allclose(potential.point(state), inner, rtol=0, atol=1e-14)
    assert potential.value(state) == pytest.approx(formula(inner), rel=1e-12)
    slope = potential.maximum * (1 + 1 / (2 * np.log(6)))
    np.testing.assert_allclose(slope / 1.7 * state[:9], gradient_of(formula, inner), rtol=0, atol=1e-6)


def all_potentials():
    return {
        **{name: build().potential for name, build in EXAMPLES.items()},
        "spectral": make_potential(make_set("nuclear", 9)),
    }


@pytest.mark.parametrize("name", [*EXAMPLES, "spectral"])
def test_batch_and_broadcast_equal_row_by_row_and_leave_the_arguments_alone(name, generator):
    potential = all_potentials()[name]
    states = walk(potential, generator, 6).reshape(2, 3, -1)
    gradients = generator.normal(size=(3, potential.point(states).shape[-1]))
    before = states.copy(), gradients.copy()
    moved = potential.step(states, gradients)
    assert moved.shape == states.shape
    for setting, run in np.ndindex(2, 3):
        single = potential.step(states[setting, run], gradients[run])
        np.testing.assert_allclose(moved[setting, run], single, rtol=0, atol=1e-13)
    np.testing.assert_allclose(potential.value(states)[1, 2], potential.value(states[1, 2]), rtol=1e-13)
    np.testing.assert_array_equal(states, before[0])
    np.testing.assert_array_equal(gradients, before[1])
    assert potential.step(states[0, 0], gradients).shape == (3, states.shape[-1])


@pytest.mark.parametrize("name", [*EXAMPLES, "spectral"])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e6, 1e100])
def test_tiny_and_huge_gradients_stay_in_the_set(name, size, generator):
    potential = all_potentials()[name]
    dimension = potential.point(potential.start()).size
    states = walk(potential, generator, 4)
    moved = potential.step(states, size * generator.normal(size=(4, dimension)))
    assert np.isfinite(moved).all()
    if name != "euclidean":
        assert potential.body.violation(potential.point(moved)).max() <= 1e-13
    if size == 1e6 and name not in ("euclidean", "one-block", "two-blocks", "four-blocks"):
        # So long a step ends close to the extreme point that the gradient asks for, and comes back.
        gradient = size * np.eye(dimension)[0]
        for direction in (gradient, -gradient):
            moved = potential.step(moved, direction * 3)
        assert np.isfinite(moved).all()


@pytest.mark.parametrize("name", [*EXAMPLES, "spectral"])
def test_regret_of_mirror_descent_is_within_its_bound(name, generator):
    """sum <g_t, x_t - u> <= maximum / eta + eta sum |g_t|_Q*^2 / (2 modulus), at random and adversarial gradients."""
    potential = all_potentials()[name]
    rounds, rows = 60, 20
    states = np.tile(potential.start(), (rows, 1))
    dimension = potential.point(states).shape[-1]
    constraint_set = {"euclidean": make_set("box", 3, lower=-0.5, upper=1.0), "simplex-entropy": make_set("simplex", 4)}
    if name == "vertex-entropy":
        constraint_set[name] = make_set("polytope", 3, vertices=VERTICES)
    comparators = constraint_set.get(name, potential.body)
    step_size = np.sqrt(potential.maximum / rounds)
    paid, total, squares = np.zeros(rows), np.zeros((rows, dimension)), np.zeros(rows)
    for round_number in range(rounds):
        gradients = generator.normal(size=(rows, dimension))
        # Half of the rows keep one direction for ten rounds at a time, then turn it round.
        gradients[::2] = np.eye(dimension)[0] * (-1.0) ** (round_number // 10)
        points = potential.point(states)
        paid += np.vecdot(gradients, points)
        total += gradients
        squares += np.vecdot(gradients, potential.body.linear_oracle(-gradients)) ** 2
        states = potential.step(states, step_size * gradients)
    regret = paid - np.vecdot(total, comparators.linear_oracle(total))
    bound = potential.maximum / step_size + step_size * squares / (2 * potential.modulus)
    assert np.all(regret <= bound)
    assert regret.max() >= 0.05 * bound.max()
