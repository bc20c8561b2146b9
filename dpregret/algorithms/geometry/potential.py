"""Potentials of mirror descent: strongly convex functions on a constraint set, with their Bregman step.

What loops know of a potential is a NamedTuple with the texts `point_of` and `mirror_step` (dpregret.core.oracles),
plain loops over states (k, runs). NumPy batches are served by the same texts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.base import data_of
from dpregret.algorithms.geometry.counted import CountedSet
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.polytope import VertexPolytope
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.core.oracles import SCRATCH, asked, column_sums, mirror_step, point_of, project
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined, kinds_of, specialised
from dpregret.numerics.elementary import exp_of, log, softmax
from dpregret.numerics.sums import add_product, vecdot


class Potential(ABC):
    """A function Psi >= 0 on a set C, zero at `start`; every method takes any number of leading batch axes.

    What a learner keeps is a state (..., k), whose image is the point (..., d). A state is the point itself
    unless the potential says otherwise. Potentials of norm balls are those of the unit ball at theta / R, and
    their strong convexity is measured in the norm |theta| / R whose unit ball is the set.
    """

    name: str
    body: ConstraintSet
    """Symmetric body Q whose gauge is the norm of the strong convexity; max_{x in Q} <g, x> is its dual norm."""
    modulus: float
    """Psi(v) >= Psi(u) + <grad Psi(u), v - u> + (modulus / 2) |v - u|_Q^2 on C."""
    maximum: float
    """max Psi over C; at the start Psi is 0 and minimal, so it bounds the Bregman divergence from there."""

    @abstractmethod
    def start(self) -> Array:
        """State (k,) of the minimiser of Psi over C."""

    @abstractmethod
    def value(self, states: Array) -> Array:
        """Psi, (..., k) -> (...,)."""

    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """States of argmin_{u in C} <g, u> + Psi(u) - Psi(x) - <grad Psi(x), u - x>.

        States (..., k) of the points x and step size times gradients g (..., d) share, or broadcast to, their
        leading axes (Talwar, Thakurta & Zhang 2015, Alg. 1, line 4, with the gradient of Psi at the old point).
        """
        lead = np.broadcast_shapes(states.shape[:-1], scaled_gradients.shape[:-1])
        moved, lost = _columns(states, lead), _columns(scaled_gradients, lead)
        specialised(_steps, *kinds_of(self.data))(self.data, moved, lost)
        return _rows(moved, lead)

    def point(self, states: Array) -> Array:
        """Points (..., d) of states (..., k)."""
        columns = _columns(states, states.shape[:-1])
        found = np.empty((self.body.dimension, columns.shape[1]))
        specialised(_points, *kinds_of(self.data))(self.data, columns, found)
        return _rows(found, states.shape[:-1])

    @property
    def data(self) -> Any:
        """The data for compiled loops; None where they ask `step` and `point`, which are then its own."""
        return None


def _columns(rows: Array, lead: tuple[int, ...]) -> Array:
    """Rows (..., k) as columns (k, n), a copy."""
    spread = np.broadcast_to(rows, (*lead, rows.shape[-1]))
    return spread.reshape(-1, rows.shape[-1]).T.astype(np.float64, order="C")


def _rows(columns: Array, lead: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(columns.T).reshape(*lead, len(columns))


def _steps(potential, states, gradients):
    mirror_step(potential, states, gradients, np.empty((SCRATCH, states.shape[1])))


def _points(potential, states, points):
    point_of(potential, states, points, np.empty((SCRATCH, states.shape[1])))


class Euclidean(NamedTuple):
    """Projected steps: states are points."""

    domain: Any


@point_of.add
def _(potential: Euclidean, state, x, s):
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = state[k, r]


@mirror_step.add
def _(potential: Euclidean, state, gradient, s):
    """Project(x - g)."""
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            state[k, r] -= gradient[k, r]
    project(potential.domain, state, s)


class EuclideanPotential(Potential):
    """|x - center|_2^2 / 2: projected gradient descent; modulus 1 in l2, maximum reach(center)^2 / 2."""

    name = "euclidean"
    modulus = 1.0

    def __init__(self, constraint_set: ConstraintSet):
        self._set = constraint_set
        self._center = constraint_set.center()
        self.body = Ball(constraint_set.dimension)
        self.maximum = 0.5 * constraint_set.reach(self._center) ** 2

    def start(self) -> Array:
        """The center of the set (d,)."""
        return self._center.copy()

    def value(self, states: Array) -> Array:
        """|x - center|_2^2 / 2."""
        shifts = states - self._center
        halves: Array = 0.5 * vecdot(shifts, shifts)
        return halves

    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """Project(x - g)."""
        return self._set.project(states - scaled_gradients)

    def point(self, states: Array) -> Array:
        """The states."""
        return states

    @property
    def data(self) -> Euclidean:
        """The set, where it has a projection of its own text, whose user counts the calls; else to be asked."""
        inner = data_of(self._set.inner if type(self._set) is CountedSet else self._set)
        return Euclidean(inner if type(inner) in project.kinds else asked(self._set))


@inlined
def _weigh(state, weights, s):
    """weights = e^(state - its largest), and their sums in s[8]."""
    for r in range(state.shape[1]):
        s[8, r] = state[0, r]
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            s[8, r] = max(state[k, r], s[8, r])
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            weights[k, r] = exp_of(state[k, r] - s[8, r])
    column_sums(weights, s[8], s)


class EntropyPotential(Potential):
    """sum_i w_i ln(k w_i) over weights w of k vertices: exponentiated gradient; modulus 1 in |w|_1, maximum ln k.

    The state is the logarithms of the weights up to one constant: no weight is lost to rounding permanently. A
    difference of weights has an image of no larger gauge in the body, the symmetric hull of the vertices, and the dual
    norm of a lifted gradient is its largest value on the body.
    """

    name = "entropy"
    modulus = 1.0

    def __init__(self, weight_count: int):
        self.weight_count = weight_count
        self.maximum = math.log(weight_count)

    def start(self) -> Array:
        """Equal weights (k,)."""
        return np.zeros(self.weight_count)

    def lift(self, weights: Array) -> Array:
        """States of weights (..., k)."""
        states: Array = log(weights)
        return states

    def value(self, states: Array) -> Array:
        """sum_i w_i ln(k w_i), 0 ln 0 = 0."""
        from scipy.special import xlogy

        weights = softmax(states)
        total: Array = xlogy(weights, weights * self.weight_count).sum(axis=-1)
        return total


class SimplexWeights(NamedTuple):
    """Weights that are the point."""

    total: float


@point_of.add
def _(potential: SimplexWeights, state, x, s):
    _weigh(state, x, s)
    for r in range(x.shape[1]):
        s[8, r] = potential.total / s[8, r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] *= s[8, r]


@mirror_step.add
def _(potential: SimplexWeights, state, gradient, s):
    """Weights in proportion to w_i exp(-g_i)."""
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            state[k, r] -= gradient[k, r]


class SimplexEntropy(EntropyPotential):
    """Entropy on the simplex, whose points are their own weights; modulus 1 in l1, maximum ln d."""

    def __init__(self, simplex: Simplex):
        super().__init__(simplex.dimension)
        self.body = L1Ball(simplex.dimension)

    @property
    def data(self) -> SimplexWeights:
        """Their sum, 1."""
        return SimplexWeights(1.0)


class SignedWeights(NamedTuple):
    """Weights of R e_j, and then of -R e_j."""

    radius: float


@point_of.add
def _(potential: SignedWeights, state, x, s):
    """R (w_plus - w_minus)."""
    d, weights = x.shape[0], np.empty(state.shape)
    _weigh(state, weights, s)
    for r in range(x.shape[1]):
        s[8, r] = potential.radius / s[8, r]
    for k in range(d):
        for r in range(x.shape[1]):
            x[k, r] = s[8, r] * (weights[k, r] - weights[d + k, r])


@mirror_step.add
def _(potential: SignedWeights, state, gradient, s):
    """Weights in proportion to w_plus exp(-R g), w_minus exp(R g)."""
    d = gradient.shape[0]
    for k in range(d):
        for r in range(state.shape[1]):
            score = potential.radius * gradient[k, r]
            state[k, r] -= score
            state[d + k, r] += score


class SignedEntropy(EntropyPotential):
    """Entropy of 2 d weights on the vertices +R e_j, -R e_j of the l1 ball: EG+-; maximum ln(2 d)."""

    def __init__(self, ball: L1Ball):
        super().__init__(2 * ball.dimension)
        self.body = ball
        self._radius = ball.radius

    @property
    def data(self) -> SignedWeights:
        """The radius."""
        return SignedWeights(self._radius)


class VertexWeights(NamedTuple):
    """Weights of vertices (k, d); these, and transposed."""

    vertices: Array
    coordinates: Array


@point_of.add
def _(potential: VertexWeights, state, x, s):
    """Sum of w_i v_i."""
    weights = np.empty(state.shape)
    _weigh(state, weights, s)
    for k in range(state.shape[0]):
        for r in range(x.shape[1]):
            weights[k, r] /= s[8, r]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = 0.0
    add_product(potential.coordinates, weights, x)


@mirror_step.add
def _(potential: VertexWeights, state, gradient, s):
    """Weights in proportion to w_i exp(-<g, v_i>)."""
    scores = np.zeros(state.shape)
    add_product(potential.vertices, gradient, scores)
    for k in range(state.shape[0]):
        for r in range(state.shape[1]):
            state[k, r] -= scores[k, r]


class VertexEntropy(EntropyPotential):
    """Entropy of weights on the k vertices of a polytope; maximum ln k."""

    def __init__(self, polytope: VertexPolytope):
        super().__init__(len(polytope.vertices))
        both = np.unique(np.vstack([polytope.vertices, -polytope.vertices]), axis=0)
        self.body = VertexPolytope(polytope.dimension, vertices=both)
        self._vertices = polytope.vertices

    @property
    def data(self) -> VertexWeights:
        """The vertices."""
        return VertexWeights(np.ascontiguousarray(self._vertices), np.ascontiguousarray(self._vertices.T))
