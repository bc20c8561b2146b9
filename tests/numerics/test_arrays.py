"""Sums whose last bit depends on the numbers alone."""

import numpy as np
import pytest

from dpregret.numerics.arrays import Array, sum_rows


@pytest.mark.parametrize("columns", [1, 2, 7, 33])
@pytest.mark.parametrize("length", [1, 9, 256, 1001])
def test_rows_are_added_one_after_the_other(length: int, columns: int) -> None:
    rows = np.random.default_rng(length).standard_normal((length, columns))
    expected: Array = np.zeros(columns)
    for row in rows:
        expected = expected + row
    for same in (rows, np.asfortranarray(rows), rows[:, ::-1][:, ::-1], np.repeat(rows, 2, axis=0)[::2]):
        assert np.array_equal(sum_rows(same), expected)
    assert np.array_equal(sum_rows(rows[:, None, :, None])[0, :, 0], expected)
