"""Projection by a general convex solver: slow, for every set, to check closed forms and to price projections."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy
import numpy as np

from dpregret.algorithms.geometry.base import ConstraintSet
from dpregret.core.arrays import Array

CLARABEL_TOLERANCES = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
RELAXED = (1.0, 10.0, 100.0)  # a point in ten thousand stops short of the tolerance, by the processor's rounding


class ReferenceProjection:
    """argmin_{x in C} |x - y|_2^2 / (2 s) with s = max(1, max_i |y_i|), by cvxpy, row by row.

    Compiled once: with |x|^2 / (2 s) - <y / s, x> both y / s and 1 / s enter linearly (DPP), and far points
    are no harder than near ones. A row takes about a millisecond. A relative gap g allows |x - x*|_2 up to
    sqrt(2 g s): with CLARABEL at g = 1e-10 the error in a coordinate is about 1e-8, and up to 1e-5 where a
    constraint is tight without a multiplier (points on the boundary). Sums of norms end at g = 1e-8
    (`reference_tolerance` of the set). A point on which CLARABEL stops short of its tolerance is solved again with ten
    and a hundred times that. Options are the solver's own.
    """

    def __init__(self, constraint_set: ConstraintSet, *, solver: str = "CLARABEL", **solver_options: Any):
        self.dimension = constraint_set.dimension
        self._solver = solver
        tolerances = dict.fromkeys(CLARABEL_TOLERANCES, constraint_set.reference_tolerance)
        self._solver_options = (tolerances if solver == "CLARABEL" else {}) | solver_options
        self._variable = cvxpy.Variable(self.dimension)
        self._direction = cvxpy.Parameter(self.dimension)
        self._inverse_scale = cvxpy.Parameter(nonneg=True)
        objective = 0.5 * self._inverse_scale * cvxpy.sum_squares(self._variable) - self._direction @ self._variable
        constraints = constraint_set.cvxpy_constraints(self._variable)
        self._problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)

    def project(self, points: Array) -> Array:
        """Nearest points of the set, (..., d) -> (..., d). Raises RuntimeError where the solver gives up."""
        rows = points.reshape(-1, self.dimension)
        return np.array([self._project_row(row) for row in rows]).reshape(points.shape)

    def _project_row(self, point: Array) -> Array:
        scale = max(1.0, float(np.max(np.abs(point))))
        self._direction.value = point / scale
        self._inverse_scale.value = 1.0 / scale
        for slack in RELAXED:
            self._solve(slack)
            if self._problem.status != cvxpy.OPTIMAL_INACCURATE:
                break
        if self._problem.status != cvxpy.OPTIMAL:
            raise RuntimeError(f"{self._solver} ended with status {self._problem.status!r} on the point {point}")
        solution: Array = self._variable.value
        return solution

    def _solve(self, slack: float) -> None:
        options = {
            name: slack * value if name in CLARABEL_TOLERANCES else value
            for name, value in self._solver_options.items()
        }
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            self._problem.solve(solver=self._solver, **options)
