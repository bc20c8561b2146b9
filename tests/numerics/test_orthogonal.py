"""Decompositions: closed forms, the definition, LAPACK's values, one matrix at a time as all together; complements."""

import numpy as np
import pytest

from dpregret.numerics.arrays import Array
from dpregret.numerics.orthogonal import composed, orthogonal_to, singular, symmetric


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
