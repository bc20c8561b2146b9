"""Singular values by Jacobi, side by side: LAPACK's, whatever the neighbours and the scale."""

import numpy as np
import pytest

from dpregret.algorithms.geometry.singular import onto_ball
from dpregret.numerics.jacobi import symmetric


@pytest.mark.parametrize("side", [1, 3, 8])
def test_a_matrix_is_projected_as_it_is_alone_and_as_by_lapack(side: int) -> None:
    """Eleven matrices of very different size, one of them zero and one of rank one."""
    points = np.random.default_rng(side).standard_normal((11, side, side))
    points *= 10.0 ** np.array([0, 1, 2, -200, 150, 0, -1, 0, 1, 0, 0])[:, None, None]
    points[5], points[7] = 0.0, np.outer(points[7, 0], points[8, 0])
    flat = points.reshape(11, -1)
    moved = onto_ball(flat, 0.5)
    left, values, right = np.linalg.svd(points)
    for each in range(11):
        np.testing.assert_array_equal(moved[each : each + 1], onto_ball(flat[each : each + 1], 0.5))
        heights = np.maximum.accumulate((np.cumsum(values[each]) - 0.5) / np.arange(1, side + 1))
        kept = np.maximum(values[each] - heights[-1], 0.0) if values[each].sum() > 0.5 else values[each]
        nearest = (left[each] * kept) @ right[each]
        np.testing.assert_allclose(moved[each], nearest.ravel(), rtol=0, atol=1e-13 + 4e-16 * values[each, 0])


@pytest.mark.parametrize("spread", [1e-6, 1e-9, 1e-12])
def test_values_that_nearly_agree_are_told_apart(spread: float) -> None:
    """Close to a multiple of the identity angles are large while cosines are small."""
    points = np.eye(8) + spread * np.random.default_rng(8).standard_normal((4, 8, 8))
    left, values, right = np.linalg.svd(points)
    nearest = (left * (values - (values.sum(axis=-1, keepdims=True) - 1.0) / 8)[:, None]) @ right
    np.testing.assert_allclose(onto_ball(points.reshape(4, 64), 1.0), nearest.reshape(4, 64), rtol=0, atol=1e-13)
    mirrored = points + points.swapaxes(-1, -2)
    np.testing.assert_allclose(symmetric(mirrored)[0], np.linalg.eigvalsh(mirrored), rtol=1e-13)
