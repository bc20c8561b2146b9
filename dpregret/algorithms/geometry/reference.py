"""Projection by a general convex solver: slow, for every set, to check closed forms and to price projections."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy
import numpy as np
from scipy.sparse import triu

from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array

CLARABEL_TOLERANCES = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
RELAXED = (1.0, 10.0, 100.0)  # a point in ten thousand stops short of the tolerance, by the processor's rounding


class ReferenceProjection:
    """argmin_{x in C} |x - y|_2^2 / (2 s) with s = max(1, max_i |y_i|), by cvxpy, row by row.

    Compiled once: with |x|^2 / (2 s) - <y / s, x> both y / s and 1 / s enter linearly (DPP), and far points
    are no harder than near ones. A row takes about a millisecond. A relative gap g allows |x - x*|_2 up to
    sqrt(2 g s): with CLARABEL at g = 1e-10 the error in a coordinate is about 1e-8, and up to 1e-5 where a
    constraint is tight without a multiplier (points on the boundary). Sums of norms end at g = 1e-8
    (`reference_tolerance` of the set). A point on which CLARABEL stops short of its tolerance is solved again with ten
    and a hundred times that. Options are its tolerances.

    After the first row only the two parts that change are passed to CLARABEL, without cvxpy: the same numbers, at a
    third of the price.
    """

    def __init__(self, constraint_set: ConstraintSet, **tolerances: float):
        self.dimension = constraint_set.dimension
        self._tolerances = dict.fromkeys(CLARABEL_TOLERANCES, constraint_set.reference_tolerance) | tolerances
        self._variable = cvxpy.Variable(self.dimension)
        self._direction = cvxpy.Parameter(self.dimension)
        self._inverse_scale = cvxpy.Parameter(nonneg=True)
        objective = 0.5 * self._inverse_scale * cvxpy.sum_squares(self._variable) - self._direction @ self._variable
        constraints = constraint_set.cvxpy_constraints(self._variable)
        self._problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
        self._direct: _Direct | None = None

    def project(self, points: Array) -> Array:
        """Nearest points of the set, (..., d) -> (..., d). Raises RuntimeError where the solver gives up."""
        rows = points.reshape(-1, self.dimension)
        return np.array([self._project_row(row) for row in rows]).reshape(points.shape)

    def _project_row(self, point: Array) -> Array:
        scale = max(1.0, float(np.max(np.abs(point))))
        if self._direct is not None:
            direct = self._direct.solve(point / scale, 1.0 / scale)
            if direct is not None:
                return direct
        self._direction.value = point / scale
        self._inverse_scale.value = 1.0 / scale
        for slack in RELAXED:
            self._solve(slack)
            if self._problem.status != cvxpy.OPTIMAL_INACCURATE:
                break
        if self._problem.status != cvxpy.OPTIMAL:
            raise RuntimeError(f"CLARABEL ended with status {self._problem.status!r} on the point {point}")
        solution: Array = self._variable.value
        self._direct = None
        if slack == RELAXED[0]:  # the solver keeps the tolerance of its last row
            self._direct = _Direct.checked(self._problem, self._variable, self._direction, self._inverse_scale)
        return solution

    def _solve(self, slack: float) -> None:
        tolerances = {name: slack * value for name, value in self._tolerances.items()}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            self._problem.solve(solver="CLARABEL", **tolerances)


class _Direct:
    """CLARABEL as cvxpy set it up, with new parameters: its linear cost is -direction, its squares have a factor."""

    def __init__(self, solver: Any, first: int, squares: Any, cost: Array):
        self._solver, self._first, self._squares, self._cost = solver, first, squares, cost
        self._units = squares.data.copy()

    @classmethod
    def checked(cls, problem: Any, variable: Any, direction: Any, inverse_scale: Any) -> _Direct | None:
        """The solver of a problem; None where cvxpy's data differ from those that would be set here."""
        vector, factor = direction.value, inverse_scale.value
        solver = problem._solver_cache.get("CLARABEL")
        if solver is None or not solver.is_data_update_allowed():
            return None
        inverse_scale.value = 1.0
        units, _, _ = problem.get_problem_data("CLARABEL")
        inverse_scale.value = factor
        data, _, _ = problem.get_problem_data("CLARABEL")
        first = data[cvxpy.settings.PARAM_PROB].var_id_to_col[variable.id]
        instance = cls(solver, first, triu(units["P"]).tocsc(), np.zeros(len(data["c"])))
        instance._set(vector, float(factor))
        squares = triu(data["P"]).tocsc().data
        same = np.array_equal(instance._cost, data["c"]) and np.array_equal(instance._squares.data, squares)
        return instance if same else None

    def _set(self, direction: Array, inverse_scale: float) -> None:
        self._cost[self._first : self._first + len(direction)] = -direction
        self._squares.data[:] = self._units * inverse_scale

    def solve(self, direction: Array, inverse_scale: float) -> Array | None:
        """The solution (d,); None where the solver stops short."""
        self._set(direction, inverse_scale)
        self._solver.update(P=self._squares, q=self._cost)
        result = self._solver.solve()
        if str(result.status) != "Solved":
            return None
        return np.array(result.x)[self._first : self._first + len(direction)]
