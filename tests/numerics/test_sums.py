"""Sums and products: the order that is written down, and nothing but rounding away from the exact sum."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpregret.numerics.arrays import sum_rows
from dpregret.numerics.sums import largest_eigenvalue, product, products, vecdot


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


@pytest.mark.parametrize(("rows", "places", "columns"), [(1, 1, 1), (3, 7, 5), (2, 9, 513), (5, 0, 3), (0, 4, 2)])
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


@pytest.mark.parametrize("size", [1, 3, 8])
def test_an_eigenvalue_is_bounded_closely_and_without_its_last_bits(size):
    root = np.random.default_rng(size).standard_normal((4, size, size))
    matrices = root @ root.swapaxes(-1, -2)
    exact, found = np.linalg.eigvalsh(matrices)[:, -1], largest_eigenvalue(matrices)
    assert (found >= exact).all()
    assert (found <= exact * (1 + 2e-7)).all()
    assert np.array_equal(largest_eigenvalue(matrices * (1 + 1e-15)), found)
    assert largest_eigenvalue(np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize(("rows", "terms", "columns"), [(1, 5, 3), (7, 3, 90), (9, 300, 37), (4, 600, 16)])
def test_an_entry_of_a_product_does_not_depend_on_the_others(rows, terms, columns):
    generator = np.random.default_rng(rows)
    left, right = generator.standard_normal((rows, terms)), generator.standard_normal((terms, columns))
    found = product(left, right)
    np.testing.assert_allclose(found, left @ right, rtol=0, atol=1e-12)
    single = np.array([[product(row, column) for column in right.T] for row in left])
    np.testing.assert_array_equal(found, single)
    np.testing.assert_array_equal(products(np.stack([left, -left]), np.stack([right, right])), [found, -found])


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
