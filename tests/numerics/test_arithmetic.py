"""Sums and products: the order that is written down, and nothing but rounding away from the exact sum."""

import math
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp, finite_power, log, power_of, softmax
from dpregret.numerics.orthogonal import composed, orthogonal_to, singular, symmetric
from dpregret.numerics.quotients import Divisor, divisor
from dpregret.numerics.random import Coins, addresses, exponential_rows, fill_normals, gamma
from dpregret.numerics.sums import largest_eigenvalue, product, products, sum_rows, vecdot


def defined(first, second):
    """Eight lanes added pairwise, then what is left."""
    products = [x * y for x, y in zip(first.tolist(), second.tolist(), strict=True)]
    whole = len(products) // 8 * 8
    lanes = [0.0] * 8
    for place, each in enumerate(products[:whole]):
        lanes[place % 8] += each
    total = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    for each in products[whole:]:
        total += each
    return total


@pytest.mark.parametrize("length", [0, 1, 3, 7, 8, 9, 16, 29, 128, 1001])
def test_the_order_is_the_one_written_down(length):
    first, second = np.random.default_rng(length).standard_normal((2, length))
    found = float(vecdot(first, second))
    assert found == defined(first, second)
    exact = math.fsum(first * second)
    assert abs(found - exact) <= 1e-14 * (1 + np.abs(first * second).sum())


def test_it_broadcasts_like_numpys():
    generator = np.random.default_rng(2)
    many, one = generator.standard_normal((2, 3, 5, 7)), generator.standard_normal((5, 7))
    assert vecdot(many, one).shape == (2, 3, 5)
    assert np.allclose(vecdot(many, one), np.vecdot(many, one), rtol=1e-13, atol=1e-13)
    assert np.array_equal(vecdot(many, one)[1, 2], vecdot(many[1, 2], one))  # a row does not depend on its batch
    assert np.array_equal(vecdot(many[..., ::2], many[..., ::2]), vecdot(many[..., ::2].copy(), many[..., ::2].copy()))
    few, number = np.array([[[-0.0], [2.0]], [[0.5], [-3.0]]]), np.array([[3.0], [0.1]])  # sums of one product
    assert vecdot(few, number).tolist() == [[0.0, 2.0 * 0.1], [1.5, -3.0 * 0.1]]
    assert not np.signbit(vecdot(few, number)[0, 0])


@pytest.mark.parametrize(
    ("rows", "places", "columns"), [(1, 1, 1), (3, 7, 5), (2, 9, 513), (5, 0, 3), (0, 4, 2), (9, 300, 37)]
)
def test_a_product_adds_place_after_place(rows, places, columns):
    generator = np.random.default_rng(places)
    left, right = generator.standard_normal((rows, places)), generator.standard_normal((places, columns))
    expected = np.zeros((rows, columns))
    for row, column in np.ndindex(rows, columns):
        for x, y in zip(left[row].tolist(), right[:, column].tolist(), strict=True):  # rounded once
            expected[row, column] = float(Fraction(x) * Fraction(y) + Fraction(expected[row, column]))
    assert np.array_equal(product(left, right), expected)
    assert np.array_equal(product(np.asfortranarray(left), right), expected)
    assert np.array_equal(product(np.stack([left, left]), right), [expected, expected])
    assert np.array_equal(product(left, right[:, 0]), expected[:, 0])
    assert np.array_equal(products(np.stack([left, -left]), np.stack([right, right])), [expected, -expected])


@pytest.mark.parametrize("size", [1, 3, 8])
def test_an_eigenvalue_is_bounded_closely_and_without_its_last_bits(size):
    root = np.random.default_rng(size).standard_normal((4, size, size))
    matrices = root @ root.swapaxes(-1, -2)
    exact, found = np.linalg.eigvalsh(matrices)[:, -1], largest_eigenvalue(matrices)
    assert (found >= exact).all()
    assert (found <= exact * (1 + 2e-7)).all()
    assert np.array_equal(largest_eigenvalue(matrices * (1 + 1e-15)), found)
    assert largest_eigenvalue(np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("columns", [1, 2, 7, 33])
@pytest.mark.parametrize("length", [1, 9, 256, 1001])
def test_rows_are_added_one_after_the_other(length, columns):
    rows = np.random.default_rng(length).standard_normal((length, columns))
    expected = np.zeros(columns)
    for row in rows:
        expected = expected + row
    for same in (rows, np.asfortranarray(rows), rows[:, ::-1][:, ::-1], np.repeat(rows, 2, axis=0)[::2]):
        assert np.array_equal(sum_rows(same), expected)
    assert np.array_equal(sum_rows(rows[:, None, :, None])[0, :, 0], expected)


def _drawn(side: int, rank: int) -> Array:
    generator = np.random.default_rng([side, rank])
    return np.matmul(generator.standard_normal((6, side, rank)), generator.standard_normal((6, rank, side)))


@pytest.mark.parametrize(("side", "rank"), [(1, 1), (2, 1), (3, 3), (7, 2), (8, 8), (13, 12)])
def test_factors_are_orthogonal_and_compose_the_matrix(side: int, rank: int) -> None:
    matrices = _drawn(side, rank)
    left, values, right = singular(matrices)
    size = np.abs(values).max()
    np.testing.assert_allclose(composed(left, values, right), matrices, atol=1e-13 * size)
    np.testing.assert_allclose(left.swapaxes(-1, -2) @ left, np.broadcast_to(np.eye(side), left.shape), atol=1e-13)
    np.testing.assert_allclose(values, np.linalg.svd(matrices, compute_uv=False), atol=1e-13 * size)
    mirrored = matrices + matrices.swapaxes(-1, -2)
    own, vectors = symmetric(mirrored)
    np.testing.assert_allclose(composed(vectors, own, vectors.swapaxes(-1, -2)), mirrored, atol=1e-13 * size)
    np.testing.assert_allclose(own, np.linalg.eigvalsh(mirrored), atol=1e-13 * size)


def test_a_tridiagonal_matrix_has_the_values_of_its_closed_form() -> None:
    side = 9
    chain = 2.0 * np.eye(side) - np.eye(side, k=1) - np.eye(side, k=-1)
    wanted = 2.0 - 2.0 * np.cos(np.pi * np.arange(1, side + 1) / (side + 1))
    np.testing.assert_allclose(symmetric(chain)[0], wanted, atol=1e-14)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.eye(3), -2.0 * np.eye(3), np.diag([0.0, 4.0, 0.0])])
def test_equal_values_and_zero_leave_a_diagonal_matrix_as_it_is(matrix: Array) -> None:
    left, values, right = singular(matrix)
    assert (composed(left, values, right) == matrix).all()
    assert (values == np.sort(np.abs(np.diag(matrix)))[::-1]).all()
    assert (right[values == 0.0] == 0.0).all()
    assert (symmetric(matrix)[0] == np.sort(np.diag(matrix))).all()


@pytest.mark.parametrize("side", [3, 6, 17])
def test_neither_the_batch_nor_the_layout_moves_a_bit(side: int) -> None:
    """Nor that some matrices are done before others."""
    matrices = np.concatenate(
        [_drawn(side, side), 3.0 * np.eye(side)[None], np.zeros((1, side, side)), _drawn(side, 2)]
    )
    for decompose in (singular, symmetric):
        together = decompose(np.asfortranarray(matrices + matrices.swapaxes(-1, -2)))
        for number in range(len(matrices)):
            alone = decompose(matrices[number] + matrices[number].T)
            assert all((one == many[number]).all() for one, many in zip(alone, together, strict=True))


def test_what_is_no_number_hides_nowhere() -> None:
    matrices = np.stack([np.eye(3), np.eye(3)])
    matrices[1, 0, 2] = matrices[1, 2, 0] = np.nan
    for values in (symmetric(matrices)[0], np.stack([symmetric(each)[0] for each in matrices])):
        assert (values[0] == 1.0).all()
        assert np.isnan(values[1]).any()


@pytest.mark.parametrize(("count", "dimension"), [(1, 2), (3, 7), (6, 7), (8, 40)])
def test_orthogonal_columns_span_what_rows_leave(count: int, dimension: int) -> None:
    """Rows with leading zeros among them, where the first entry of a mirror decides nothing but its sign."""
    rows = np.random.default_rng(2).standard_normal((count, dimension))
    for given in (rows, np.triu(rows, 1), rows * 1e9, np.ones((1, dimension))):
        basis = orthogonal_to(given)
        assert basis.shape == (dimension, dimension - len(given))
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-14)
        np.testing.assert_allclose(given @ basis, 0.0, atol=1e-14 * np.abs(given).max() * dimension)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_bits_and_state_are_numpys(kind):
    def make():
        return [np.random.Generator(getattr(np.random, kind)(np.random.SeedSequence([3, run]))) for run in range(2)]

    ours, theirs = make(), make()
    where = addresses(ours)
    numbers = np.empty((2, 20_001, 3))
    fill_normals(where, numbers)
    assert np.array_equal(numbers, [each.standard_normal((20_001, 3)) for each in theirs])
    assert np.abs(numbers).max() > 3.6541528853610088  # beyond the last layer, where the tail is drawn
    for generator, rows in zip(where, numbers, strict=True):
        exponential_rows(generator, rows, False)
    assert np.array_equal(numbers, [each.standard_exponential((20_001, 3)) for each in theirs])
    assert numbers.max() > 7.69711747013104972
    for shape in (1.0, 1.25, 2.0, 7.0, 1000.0):
        found = [[gamma(each, shape) for _ in range(5_001)] for each in where]
        assert np.array_equal(found, [each.standard_gamma(shape, 5_001) for each in theirs])
    assert str([each.bit_generator.state for each in ours]) == str([each.bit_generator.state for each in theirs])


def test_other_kinds_of_generators_are_refused():
    class Own(np.random.Generator):
        pass

    with pytest.raises(TypeError):
        addresses([np.random.default_rng(1), Own(np.random.PCG64(1))])


@pytest.mark.parametrize("shape", [(7, 3), (4, 2)])
def test_coins_are_uniform_numbers_below_their_chance(shape: tuple[int, int]) -> None:
    """For every chance the same numbers, and the generators go on from where they should."""
    chances = np.array([0.1, 0.5, 0.9])
    kinds = np.random.PCG64, np.random.Philox, np.random.PCG64
    generators, plain = ([np.random.Generator(kind(each)) for each, kind in enumerate(kinds)] for _ in range(2))
    coins = Coins(generators)
    for _ in range(2):
        found, uniform = coins.draw(chances, 2.0, -1.0, shape), np.stack([each.random(shape) for each in plain])
        np.testing.assert_array_equal(found, np.where(uniform < chances[:, None, None, None], 2.0, -1.0))
    assert [each.random() for each in generators] == [each.random() for each in plain]


SPREAD = np.random.default_rng(3).uniform(-1.0, 1.0, 1001)


def entrywise(function):
    """A function of kernels at every entry of an array."""

    @numba.njit(error_model="numpy")
    def loop(bases, exponent):
        found = np.empty_like(bases)
        for place in np.ndindex(bases.shape):
            found[place] = function(bases[place], exponent)
        return found

    return loop


power, finite_powers = entrywise(power_of), entrywise(finite_power)


def last_bits(found, expected):
    """Differences in units of the expected numbers' last bits."""
    return np.abs(found - np.array(expected)) / np.spacing(np.abs(expected))


@pytest.mark.parametrize("reach", [1e-9, 1.0, 30.0, 700.0])
def test_they_are_the_c_librarys_up_to_two_last_bits(reach):
    values = reach * SPREAD
    bases = np.exp(values)
    assert last_bits(exp(values), [math.exp(each) for each in values]).max() <= 2
    assert last_bits(log(bases), [math.log(each) for each in bases]).max() <= 2
    for exponent in (0.115, 1.37, 8.7, -0.9, 64.0):
        kept = bases[np.abs(values * exponent) < 700]
        assert last_bits(power(kept, exponent), [math.pow(each, exponent) for each in kept]).max() <= 2


def test_numbers_too_small_for_a_full_mantissa():
    values = np.array([5e-324, 1e-310, 2.3e-308])
    assert last_bits(log(values), [math.log(each) for each in values]).max() <= 1
    assert last_bits(power(values, 0.5), [math.sqrt(each) for each in values]).max() <= 1
    assert exp(np.array([-745.0, -740.0])).tolist() == [math.exp(-745.0), math.exp(-740.0)]


def test_the_ends_of_the_line():
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        assert log(np.array([0.0, np.inf, 1.0])).tolist() == [-np.inf, np.inf, 0.0]
        assert exp(np.array([-np.inf, 1e3, np.inf, 0.0])).tolist() == [0.0, np.inf, np.inf, 1.0]
        assert np.isnan(log(np.array([-1.0, np.nan]))).all()
        assert np.isnan([*exp(np.array([np.nan])), *power(np.array([np.nan]), 2.0)]).all()
    assert power(np.array([0.0, 1.0, np.inf]), 0.5).tolist() == [0.0, 1.0, np.inf]
    assert power(np.array([0.0, 1.0, np.inf]), -1.0).tolist() == [np.inf, 1.0, 0.0]
    assert power(np.array([0.0, 3.0, np.inf]), 0.0).tolist() == [1.0, 1.0, 1.0]
    assert power(np.array([2.0]), 1100.0).tolist() == [np.inf]
    assert np.array_equal(softmax(np.array([[-np.inf, 3.0, 3.0]])), [[0.0, 0.5, 0.5]])


@numba.njit(error_model="numpy")
def divided(numbers, value):
    by, found = divisor(value), np.empty_like(numbers)
    for place in range(len(numbers)):
        found[place] = numbers[place] / by
    return found


def test_a_quotient_by_products_has_the_bits_of_a_division():
    generator = np.random.default_rng(5)
    ends = 1.0 + np.spacing(1.0) * np.concatenate([np.arange(40), 2**52 - np.arange(1, 40), 2**51 + np.arange(-20, 20)])
    numbers = np.concatenate([ends, -generator.uniform(1, 2, 2000), [0.0, -0.0, np.inf, -np.inf, np.nan]])
    with np.errstate(invalid="ignore"):
        for value in (*ends, *generator.uniform(1, 2, 500), *10.0 ** generator.uniform(-60, 60, 500)):
            for scale in (1.0, 2.0**100, 2.0**-150):
                assert (numbers * scale / value).tobytes() == divided(numbers * scale, value).tobytes()
    far = 10.0 ** generator.uniform(-305, 300, 10_000)
    assert (np.abs(divided(far, 3.7) - far / 3.7) <= np.spacing(far / 3.7)).all()
    assert [each / Divisor(3.7, 1 / 3.7) for each in far] == (far / 3.7).tolist()  # numbers of NumPy's


@pytest.mark.parametrize("size", [0, 1, 3, 7, 64])
def test_an_element_does_not_depend_on_its_neighbours(size):
    values = 30.0 * SPREAD[: 2 * size]
    for function in (exp, lambda some: log(np.abs(some)), lambda some: power(np.abs(some), 1.37)):
        whole = function(values)
        assert np.array_equal(function(values[::2]), whole[::2])
        assert np.array_equal(function(values.reshape(2, size)), whole.reshape(2, size))


@pytest.mark.parametrize("size", [3, 16, 1001])
@pytest.mark.parametrize("exponent", [0.0, 0.37, 8.7, -1.0])
def test_powers_of_finite_bases_are_powers(size, exponent):
    bases = np.abs(SPREAD[:size]) ** 40
    bases[1] = 0.0
    expected = power(np.where(bases > 0.0, bases, 1.0), exponent) * (bases > 0.0)
    assert np.array_equal(finite_powers(bases, exponent), expected)
    assert np.isnan(finite_powers(np.array([np.nan]), exponent)).all()
