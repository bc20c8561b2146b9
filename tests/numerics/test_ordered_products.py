"""Products in one order: an entry has the same bits alone, in any block of rows and columns, and in any lane."""

import numpy as np
import pytest

from dpregret.numerics.sums import product, products


@pytest.mark.parametrize(("rows", "terms", "columns"), [(1, 5, 3), (7, 3, 90), (9, 300, 37), (4, 600, 16)])
def test_an_entry_of_a_product_does_not_depend_on_the_others(rows: int, terms: int, columns: int) -> None:
    generator = np.random.default_rng(rows)
    left, right = generator.standard_normal((rows, terms)), generator.standard_normal((terms, columns))
    found = product(left, right)
    np.testing.assert_allclose(found, left @ right, rtol=0, atol=1e-12)
    single = np.array([[product(row, column) for column in right.T] for row in left])
    np.testing.assert_array_equal(found, single)
    np.testing.assert_array_equal(products(np.stack([left, -left]), np.stack([right, right])), [found, -found])
