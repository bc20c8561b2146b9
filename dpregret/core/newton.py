"""Certified minima where the columns of data are of different sizes, or classes almost apart.

There first-order steps (`core.sets.minimise`) shrink the gap like 1/steps^2. Newton steps do not depend on the scale of
the columns: x goes towards the minimum over the set of the quadratic model at x, as far as the function falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dpregret.core.sets import ConstraintSet, minimise
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product, vecdot

STEPS: Final = 60
INNER_STEPS: Final = 2000
"""Of the model's minimum over the set, where the Newton step leaves the set."""
SLIGHT: Final = 1e-10
ROUNDING: Final = 1e-10
HALVINGS: Final = 70
PATIENCE: Final = 8
"""Steps in which the gap may fail to halve."""


def newton(
    domain: ConstraintSet,
    value: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    hessian: Callable[[Array], Array],
    start: Array,
    goal: float,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Array, float]:
    """A point (d,) of the set and its gap max over v in the set of <gradient f(x), x - v>: at most ``goal``, or the
    best one that was met until ``stop`` says so.

    value, gradient (d,), hessian (d, d): of a smooth convex function, at points (d,) of the set. Each step is one of
    conjugate gradients where that stays in the set, and else of `minimise` on the model; it is halved until the
    function falls (Armijo).
    """
    point = best = domain.project(start)
    best_gap, waited = np.inf, 0
    for _ in range(STEPS):
        slope = gradient(point)
        gap = max(float(vecdot(slope, point - domain.linear_oracle(slope))), 0.0)
        waited = 0 if gap < 0.5 * best_gap else waited + 1
        if gap < best_gap:
            best, best_gap = point, gap
        if gap <= goal or waited > PATIENCE or stop():
            break
        towards = _model_minimum(domain, point, slope, hessian(point), goal)
        descent = float(vecdot(slope, point - towards))
        share, here = 1.0, value(point)
        if 0.0 < descent <= ROUNDING * abs(here):  # values differ by rounding only: near the minimum steps are whole
            point = towards
            continue
        while share > SLIGHT and value(point + share * (towards - point)) > here - 1e-4 * share * descent:
            share *= 0.5
        if share <= SLIGHT or descent <= 0.0:
            break
        point = point + share * (towards - point)
    return best, best_gap


def _model_minimum(domain: ConstraintSet, point: Array, slope: Array, curvature: Array, goal: float) -> Array:
    """argmin over y in the set of <slope, y - x> + (y - x)^T curvature (y - x) / 2."""
    steepest = float(largest_eigenvalue(curvature[None])[0])
    if steepest <= 0.0:
        return domain.linear_oracle(slope)
    curvature = curvature + 1e-13 * steepest * np.eye(len(point))
    free = point - _solved(curvature, slope)
    if np.isfinite(free).all() and domain.violation(free) <= 0.0:
        return free
    if domain.name == "ball":
        return _on_sphere(domain, point, slope, curvature, steepest)

    def model(points: Array) -> Array:
        return slope + product(points - point, curvature)

    options: dict[str, Any] = {"goal": 1e-3 * goal, "max_steps": INNER_STEPS, "certify": False}
    inner, _, _ = minimise(domain, model, domain.project(free)[None], 1.01 * steepest, **options)
    return inner[0]


def _on_sphere(domain: ConstraintSet, point: Array, slope: Array, curvature: Array, steepest: float) -> Array:
    """The same on the border of a ball: (curvature + multiplier I) step = -slope - multiplier (x - center), with the
    multiplier, found by bisection in geometric means, that makes the step end on the border."""
    center, radius = domain.center(), 0.5 * domain.diameter
    offset = point - center

    def ending(multiplier: float) -> Array:
        matrix = curvature + multiplier * np.eye(len(point))
        answer: Array = point - _solved(matrix, slope + multiplier * offset)
        return answer

    low, high = 1e-26 * steepest, 20.0 * (steepest + math.sqrt(vecdot(slope, slope)) / radius)
    for _ in range(HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high)
        distance = ending(middle) - center
        low, high = (middle, high) if vecdot(distance, distance) > radius**2 else (low, middle)
    return domain.project(ending(high))


def _solved(matrix: Array, right: Array) -> Array:
    """The solution of a positive definite system, by conjugate gradients in our own sums."""
    answer, rest = np.zeros_like(right), right.copy()
    direction, square = rest.copy(), float(vecdot(rest, rest))
    begun = square
    for _ in range(10 * len(right)):
        if square <= 1e-28 * begun:
            break
        moved = product(direction[None], matrix)[0]
        curved = float(vecdot(direction, moved))
        if curved <= 0.0:
            break
        answer = answer + square / curved * direction
        rest = rest - square / curved * moved
        square, before = float(vecdot(rest, rest)), square
        direction = rest + square / before * direction
    return answer
