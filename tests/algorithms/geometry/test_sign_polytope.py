"""Polytopes of many corners in few dimensions."""

import numpy as np
import pytest

from dpregret.algorithms.geometry import gaussian_width, make_potential, make_set


@pytest.mark.parametrize(("dimension", "corners"), [(3, 8), (5, 2), (7, 30), (33, 500)])
def test_corners_are_different_signs_of_length_one_with_their_opposites(dimension: int, corners: int) -> None:
    vertices = make_set("sign-polytope", dimension, corners=corners).vertices
    assert vertices.shape == (corners, dimension)
    np.testing.assert_allclose(np.abs(vertices), 1 / np.sqrt(dimension), rtol=1e-15)
    assert len(np.unique(vertices, axis=0)) == corners
    assert {row.tobytes() for row in -vertices} == {row.tobytes() for row in vertices}


def test_fewer_corners_are_among_more() -> None:
    few, many = (make_set("sign-polytope", 9, corners=k).vertices for k in (22, 100))
    assert {row.tobytes() for row in few} <= {row.tobytes() for row in many}


def test_all_corners_are_those_of_a_cube() -> None:
    cube = make_set("sign-polytope", 4, corners=16)
    width, error = gaussian_width(cube, np.random.default_rng(1))
    assert abs(width - 4 * np.sqrt(2 / np.pi) / 2) < 5 * error


def test_its_own_symmetric_hull_measures_the_entropy() -> None:
    potential = make_potential(make_set("sign-polytope", 6, corners=20))
    assert potential.name == "entropy"
    assert potential.maximum == pytest.approx(np.log(20))
    assert len(potential.body.vertices) == 20
    assert potential.body.diameter == pytest.approx(2.0)


@pytest.mark.parametrize("far", [3.0, 281.0, 2000.0])
def test_far_points_above_vertices_that_tie_are_projected_right(far):
    """At one of these nonnegative least squares stops early, and says nothing."""
    polytope = make_set("sign-polytope", 5, corners=14)
    points = far * np.eye(5)
    nearest = polytope.project(points)
    gap = ((points - nearest) @ polytope.vertices.T).max(axis=-1) - np.vecdot(points - nearest, nearest)
    assert gap.max() <= 1e-14 * far**2
