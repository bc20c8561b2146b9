"""Gaussian width E max_{x in C} <g, x>, g standard normal, of every constraint set."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.box import Box
from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.polytope import VertexPolytope
from dpregret.algorithms.geometry.set_kinds import CountedSet
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array

CHUNK_ENTRIES = 1 << 18
"""Random numbers held at a time."""


def gaussian_width(
    constraint_set: ConstraintSet, generator: np.random.Generator | None = None, *, samples: int = 2000
) -> tuple[float, float]:
    """Gaussian width of the set and its standard error.

    To rounding, with standard error 0, for balls, l1 balls, grouped l1 balls, simplices and boxes (quadrature or
    closed form). For all other sets the mean over `samples` >= 2 calls of the linear oracle, by default with a
    generator of fixed seed, in chunks of bounded memory.
    """
    match constraint_set:
        case CountedSet():
            return gaussian_width(constraint_set.inner, generator, samples=samples)
        case Ball():
            return constraint_set.radius * mean_largest_norm(constraint_set.dimension, 1), 0.0
        case L1Ball():
            return constraint_set.radius * mean_largest_norm(1, constraint_set.dimension), 0.0
        case GroupedL1Ball():
            largest = mean_largest_norm(constraint_set.block_size, constraint_set.block_count)
            return constraint_set.radius * largest, 0.0
        case Simplex():
            return mean_largest_normal(constraint_set.dimension), 0.0
        case Box():
            side = constraint_set.upper - constraint_set.lower
            return side * constraint_set.dimension / float(np.sqrt(2.0 * np.pi)), 0.0
        case _:
            generator = np.random.default_rng(0) if generator is None else generator
            return _sampled(constraint_set, generator, samples)


def mean_largest_norm(block_size: int, block_count: int) -> float:
    """E max_{j <= N} |g_j|_2 for independent standard normal g_j in R^k: int_0^inf 1 - F(x)^N dx, F that of chi_k."""
    from scipy.special import gammaincc

    def survival(size: float) -> float:
        tail = float(gammaincc(0.5 * block_size, 0.5 * size * size))
        return -math.expm1(block_count * math.log1p(-tail)) if tail < 1.0 else 1.0

    return _integral(survival, np.sqrt(block_size), block_count)


def mean_largest_normal(count: int) -> float:
    """E max of `count` independent standard normals: int_0^inf 1 - Phi(x)^p - Phi(-x)^p dx."""
    from scipy.special import log_ndtr

    def difference(size: float) -> float:
        return -math.expm1(count * log_ndtr(size)) - math.exp(count * log_ndtr(-size))

    return _integral(difference, 0.0, count)


def _integral(integrand: Callable[[float], float], bulk: float, count: int) -> float:
    """int_0^inf of a function that falls from 1 to 0 around b = bulk + sqrt(2 ln count), width about 1."""
    from scipy.integrate import quad

    middle = float(bulk + math.sqrt(2.0 * math.log(count)))
    edges = [0.0, *sorted({max(middle - 8.0, 0.0), middle, middle + 10.0} - {0.0})]
    pieces = itertools.pairwise(edges)
    return sum(float(quad(integrand, *piece, epsabs=1e-13, epsrel=1e-13, limit=200)[0]) for piece in pieces)


def _sampled(constraint_set: ConstraintSet, generator: np.random.Generator, samples: int) -> tuple[float, float]:
    if samples < 2:
        raise ValueError(f"a sampled Gaussian width needs samples >= 2, not {samples}")
    scores = len(constraint_set.vertices) if isinstance(constraint_set, VertexPolytope) else 1
    rows = max(1, CHUNK_ENTRIES // max(constraint_set.dimension, scores))
    maxima: list[Array] = []
    for start in range(0, samples, rows):
        directions = generator.normal(size=(min(rows, samples - start), constraint_set.dimension))
        maxima.append(np.vecdot(directions, constraint_set.linear_oracle(-directions)))
    values = np.concatenate(maxima)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(samples))
