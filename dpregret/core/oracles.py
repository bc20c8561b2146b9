"""The functions of a loss, a set and a learner that compiled rounds call: functions chosen by class, and the order of
inner products.

Points, gradients and noise are (d, runs), runs innermost; numbers of runs are (runs,). `scratch` is (9, runs) at
least: rows 0 to 7 belong to `inner`, row 8 to whoever calls it. Results go into the arrays that are handed over.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numba import objmode

from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, generic, inlined, specialised

slope_at = generic("slope_at")
"""slope_at(loss, x, gradient, value, scratch): f(x) and a subgradient there, 0 for the non-smooth part at its kink."""
value_at = generic("value_at")
"""value_at(loss, x, value, scratch): f(x), for who sees no slope: bandits."""
arm_at = generic("arm_at")
"""arm_at(loss, arm, r): f of run r at the vertex e_arm of the simplex."""
prox_at = generic("prox_at")
"""prox_at(loss, x, step, scratch): move x to argmin step f(y) + |y - x|^2 / 2, over the whole space."""
project = generic("project")
"""project(domain, x, scratch): move x to the nearest point of the set."""
vertex = generic("vertex")
"""vertex(domain, cost, x, scratch): write a point of the set of least <cost, x>, an extreme one."""
corner = generic("corner")
"""corner(domain, cost, out, whole, real): write a vertex of the set of least <cost, out>, (d,) each. Of equal costs the
coordinate, edge or item listed first is the smaller one. whole, real: scratch, 1 + d integers and 1 + d numbers."""
local_step = generic("local_step")
"""local_step(domain, weights, radius, length, cost, x, scratch): one step of that length, in the weights (k, runs),
towards the answer of the local linear oracle; x becomes the point that they stand for."""
point_of = generic("point_of")
"""point_of(potential, state, x, scratch): write the points that states (k, runs) of mirror descent stand for."""
mirror_step = generic("mirror_step")
"""mirror_step(potential, state, gradient, scratch): move states to argmin <g, u> + Bregman distance; gradients times
step lengths, (d, runs), are lost."""
step = generic("step")
"""step(learner, loss, domain, t, x, gradient, noise, scratch): the learner's round t; x becomes the next point."""

LANES = 8
SCRATCH = LANES + 1


@inlined
def inner(a: Array, b: Array | None, total: Array, scratch: Array) -> None:
    """total (runs,) = <a, b>, (d, runs) each: eight partial sums in the order of `numerics.sums.dot`.

    Without b the sums of a.
    """
    d, runs = a.shape
    whole = d // LANES * LANES
    if whole:
        for k in range(LANES):
            for r in range(runs):
                scratch[k, r] = 0.0
        for k in range(whole):
            for r in range(runs):
                scratch[k % LANES, r] += a[k, r] if b is None else a[k, r] * b[k, r]
        for r in range(runs):
            total[r] = ((scratch[0, r] + scratch[4, r]) + (scratch[2, r] + scratch[6, r])) + (
                (scratch[1, r] + scratch[5, r]) + (scratch[3, r] + scratch[7, r])
            )
    else:  # the loops above for nothing take longer than what is left
        for r in range(runs):
            total[r] = 0.0
    for k in range(whole, d):
        for r in range(runs):
            total[r] += a[k, r] if b is None else a[k, r] * b[k, r]


def by_corners(domain, cost, x, scratch):
    """The `vertex` of a set that has a `corner`: column by column."""
    d = x.shape[0]
    column, out, whole, real = np.empty(d), np.empty(d), np.empty(1 + d, np.int64), np.empty(1 + d)
    for r in range(x.shape[1]):
        for k in range(d):
            column[k] = cost[k, r]
        corner(domain, column, out, whole, real)
        for k in range(d):
            x[k, r] = out[k]


class ByMethods(NamedTuple):
    """A loss or a set without compiled loops: a round calls the methods of the Python object of that number."""

    number: int


class _Objects:
    """The objects whose methods are called: a class, since compiled code that names a dictionary is not cached."""

    by_number: ClassVar[WeakValueDictionary[int, Any]] = WeakValueDictionary()


def by_methods(thing: Any) -> ByMethods:
    """The number of a Python object, valid as long as the object is referenced."""
    _Objects.by_number[id(thing)] = thing
    return ByMethods(id(thing))


def projected(domain: Any, points: Array) -> Array:
    """`project` of whole batches (..., d), for a set whose data have it."""
    return _served(_project, domain, points)


def vertices(domain: Any, costs: Array) -> Array:
    """`vertex` of the same."""
    return _served(_vertex, domain, costs)


def _served(oracle: Any, domain: Any, rows: Array) -> Array:
    """Answers to rows (..., d), found in columns."""
    points = without_gaps(np.asarray(rows, dtype=np.float64))
    answers = np.empty(points.shape)  # without gaps: sums of NumPy follow the layout
    specialised(oracle, type(domain))(domain, *(array.reshape(-1, array.shape[-1]) for array in (points, answers)))
    return answers


@compiled
def _turn(rows: Array, columns: Array) -> None:
    """columns (m, n) = rows (n, m), eight columns at a time: as many lines of memory fit into the first cache."""
    n, m = rows.shape
    for first in range(0, m, LANES):
        for i in range(n):
            for k in range(first, min(first + LANES, m)):
                columns[k, i] = rows[i, k]


def moved(domain: Any, weights: Array, radius: float | Array, costs: Array) -> Array:
    """Weights (..., k) after a `local_step` of length one each, for a set whose data have it; costs (..., d)."""
    lead = np.broadcast_shapes(weights.shape[:-1], costs.shape[:-1], np.shape(radius))
    rows, further = (np.broadcast_to(part, (*lead, part.shape[-1])) for part in (weights, costs))
    moved = np.array(rows, dtype=np.float64).reshape(-1, rows.shape[-1], 1)
    radii = np.array(np.broadcast_to(radius, lead), dtype=np.float64).reshape(-1)
    columns = np.array(further, dtype=np.float64).reshape(-1, further.shape[-1], 1)
    specialised(_local_steps, type(domain))(domain, moved, radii, columns, np.empty_like(columns[0]))
    return moved.reshape(rows.shape)


def _local_steps(domain, weights, radii, costs, x):
    scratch = np.empty((SCRATCH, 1))
    for row in range(len(radii)):
        local_step(domain, weights[row], radii[row], 1.0, costs[row], x, scratch)


def _project(domain, points, answers):
    runs, d = points.shape
    x = np.empty((d, runs))
    _turn(points, x)
    project(domain, x, np.empty((SCRATCH, runs)))
    _turn(x, answers)


def _vertex(domain, costs, answers):
    runs, d = costs.shape
    cost, x = np.empty((d, runs)), np.empty((d, runs))
    _turn(costs, cost)
    vertex(domain, cost, x, np.empty((SCRATCH, runs)))
    _turn(x, answers)


def _call(number: int, oracle: str, points: Array, *further: Any) -> Array:
    """The answer of a method of the object, for columns of points."""
    answer: Array = getattr(_Objects.by_number[number], oracle)(np.ascontiguousarray(points.T)[None], *further)[0]
    return answer.T


def _call_value(number: int, x: Array, value: Array) -> None:
    """f at columns, by the loss of that number."""
    value[...] = _Objects.by_number[number].value(np.ascontiguousarray(x.T)[None])[0]


def _call_slope(number: int, x: Array, gradient: Array, value: Array) -> None:
    """f and its subgradient at columns, by the loss of that number."""
    values, slopes = _Objects.by_number[number].value_and_gradient(np.ascontiguousarray(x.T)[None])
    value[...], gradient[...] = values[0], slopes[0].T


def _call_local_oracle(number: int, weights: Array, radius: float, length: float, cost: Array, x: Array) -> None:
    """One step of the local oracle of that number, for columns."""
    oracle, rows = _Objects.by_number[number], np.ascontiguousarray(weights.T)[None]
    rows += length * (oracle.answer(rows, radius, np.ascontiguousarray(cost.T)[None]) - rows)
    weights[...], x[...] = rows[0].T, oracle.point(rows)[0].T


@project.add
def _project_by_methods(domain: ByMethods, x, scratch):
    number = domain.number
    with objmode():
        x[...] = _call(number, "project", x)


@vertex.add
def _vertex_by_methods(domain: ByMethods, cost, x, scratch):
    number = domain.number
    with objmode():
        x[...] = _call(number, "linear_oracle", cost)


@slope_at.add
def _slope_at_by_methods(loss: ByMethods, x, gradient, value, scratch):
    number = loss.number
    with objmode():
        _call_slope(number, x, gradient, value)


@value_at.add
def _value_at_by_methods(loss: ByMethods, x, value, scratch):
    number = loss.number
    with objmode():
        _call_value(number, x, value)


@prox_at.add
def _prox_at_by_methods(loss: ByMethods, x, step, scratch):
    number = loss.number
    with objmode():
        x[...] = _call(number, "prox", x, step)


@local_step.add
def _local_step_by_methods(oracle: ByMethods, weights, radius, length, cost, x, scratch):
    number = oracle.number
    with objmode():
        _call_local_oracle(number, weights, radius, length, cost, x)
