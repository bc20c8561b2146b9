"""Potentials of mirror descent: strongly convex functions on a constraint set, with their Bregman step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.base import ConstraintSet
from dpregret.algorithms.geometry.counted import CountedSet
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.polytope import VertexPolytope
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.core.kernels import SetKernel, kernel_of
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import log, softmax
from dpregret.numerics.sums import product, vecdot

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.potential_kernels import PotentialRule


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

    @abstractmethod
    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """States of argmin_{u in C} <g, u> + Psi(u) - Psi(x) - <grad Psi(x), u - x>.

        States (..., k) of the points x and step size times gradients g (..., d) share, or broadcast to, their
        leading axes (Talwar, Thakurta & Zhang 2015, Alg. 1, line 4, with the gradient of Psi at the old point).
        """

    def point(self, states: Array) -> Array:
        """Points (..., d) of states (..., k)."""
        return states

    @property
    def rule(self) -> PotentialRule | None:
        """The step as numbers, for compiled loops; None where it has no loop."""
        return None


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

    @property
    def rule(self) -> PotentialRule | None:
        """Set and its constants; who uses it counts the projections."""
        from dpregret.algorithms.geometry.potential_kernels import PotentialRule

        inner = self._set.inner if type(self._set) is CountedSet else self._set
        kernel: SetKernel | None = kernel_of(inner)
        return None if kernel is None else PotentialRule(kernel.code, kernel.numbers(inner))


class EntropyPotential(Potential):
    """sum_i w_i ln(k w_i) over weights w of k vertices: exponentiated gradient; modulus 1 in |w|_1, maximum ln k.

    The state is the logarithms of the weights up to one constant: no weight is lost to rounding for ever. A difference
    of weights has an image of no larger gauge in the body, the symmetric hull of the vertices, and the dual norm of a
    lifted gradient is its largest value on the body.
    """

    name = "entropy"
    modulus = 1.0

    def __init__(self, weight_count: int):
        self.weight_count = weight_count
        self.maximum = float(np.log(weight_count))

    @abstractmethod
    def scores(self, gradients: Array) -> Array:
        """<g, v_i> of all vertices, (..., d) -> (..., k)."""

    def start(self) -> Array:
        """Equal weights (k,)."""
        return np.zeros(self.weight_count)

    def lift(self, weights: Array) -> Array:
        """States of weights (..., k)."""
        states: Array = log(weights)
        return states

    def point(self, states: Array) -> Array:
        """The weights, where they are the point."""
        return softmax(states)

    def value(self, states: Array) -> Array:
        """sum_i w_i ln(k w_i), 0 ln 0 = 0."""
        from scipy.special import xlogy

        weights = softmax(states)
        total: Array = xlogy(weights, weights * self.weight_count).sum(axis=-1)
        return total

    def step(self, states: Array, scaled_gradients: Array) -> Array:
        """Weights in proportion to w_i exp(-<g, v_i>)."""
        moved: Array = states - self.scores(scaled_gradients)
        return moved


class SimplexEntropy(EntropyPotential):
    """Entropy on the simplex, whose points are their own weights; modulus 1 in l1, maximum ln d."""

    def __init__(self, simplex: Simplex):
        super().__init__(simplex.dimension)
        self.body = L1Ball(simplex.dimension)

    def scores(self, gradients: Array) -> Array:
        """The gradient."""
        return gradients

    @property
    def rule(self) -> PotentialRule:
        """No numbers."""
        from dpregret.algorithms.geometry.potential_kernels import ENTROPY, PotentialRule

        return PotentialRule(ENTROPY, np.zeros(0))


class SignedEntropy(EntropyPotential):
    """Entropy of 2 d weights on the vertices +R e_j, -R e_j of the l1 ball: EG+-; maximum ln(2 d)."""

    def __init__(self, ball: L1Ball):
        super().__init__(2 * ball.dimension)
        self.body = ball
        self._ball = ball

    def scores(self, gradients: Array) -> Array:
        """R g, then -R g."""
        scaled = self._ball.radius * gradients
        return np.concatenate([scaled, -scaled], axis=-1)

    def point(self, states: Array) -> Array:
        """R (w_plus - w_minus)."""
        plus, minus = np.split(softmax(states), 2, axis=-1)
        image: Array = self._ball.radius * (plus - minus)
        return image

    @property
    def rule(self) -> PotentialRule:
        """The radius."""
        from dpregret.algorithms.geometry.potential_kernels import SIGNED_ENTROPY, PotentialRule

        return PotentialRule(SIGNED_ENTROPY, np.array([self._ball.radius]))


class VertexEntropy(EntropyPotential):
    """Entropy of weights on the k vertices of a polytope; maximum ln k."""

    def __init__(self, polytope: VertexPolytope):
        super().__init__(len(polytope.vertices))
        both = np.unique(np.vstack([polytope.vertices, -polytope.vertices]), axis=0)
        self.body = VertexPolytope(polytope.dimension, vertices=both)
        self._vertices = polytope.vertices

    def scores(self, gradients: Array) -> Array:
        """<g, v_i>."""
        products = product(gradients, self._vertices.T)
        return products

    def point(self, states: Array) -> Array:
        """Sum of w_i v_i."""
        image = product(softmax(states), self._vertices)
        return image
