"""Inner products: the order that is written down, and nothing but rounding away from the exact sum."""

import math

import numpy as np
import pytest

from dpregret.core.sums import vecdot


def defined(first, second):
    """Eight lanes added pairwise, then what is left."""
    products = [x * y for x, y in zip(first.tolist(), second.tolist(), strict=True)]
    whole = len(products) // 8 * 8
    lanes = [0.0] * 8
    for place, product in enumerate(products[:whole]):
        lanes[place % 8] += product
    total = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    for product in products[whole:]:
        total += product
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
