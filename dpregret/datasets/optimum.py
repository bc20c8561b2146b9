"""Best fixed point of a weighted pool of ridge generalised linear losses, with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpregret.core.minimise import minimise
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product, vecdot


def minimise_pool(
    family: Any,
    features: Array,
    labels: Array,
    weights: Array,
    *,
    strong_convexity: float,
    domain: ConstraintSet,
    start: Array,
    goal: float = 1e-11,
    **options: Any,
) -> tuple[Array, Array, Array]:
    """Minimise sum_i w_i phi(<v_i, x>; y_i) + (mu/2) |x|^2 over the set, for every run at once.

    ``features`` (pool, d), ``labels`` (pool,), ``weights`` (runs, pool) with row sums 1, ``start`` (runs, d); each run
    has its own smoothness mu + bend * lambda_max(sum_i w_i v_i v_i^T). ``goal`` and ``options``: of `minimise`, whose
    error it raises.

    Returns (points (runs, d), values (runs,), relative gaps (runs,)): the duality gap divided by the value.
    """

    def gradient(points: Array) -> Array:
        slopes = family.slope(product(points, features.T), labels)
        slopes *= weights
        result = product(slopes, features)
        result += strong_convexity * points
        return result

    def value(points: Array) -> Array:
        losses = vecdot(weights, family.loss(product(points, features.T), labels))
        result: Array = losses + 0.5 * strong_convexity * vecdot(points, points)
        return result

    smoothness = strong_convexity + family.bend() * _largest_eigenvalues(features, weights)[:, None]
    points, gaps, _ = minimise(domain, gradient, start, smoothness, goal=goal, **options)
    values = value(points)
    return points, values, np.divide(gaps, values, out=np.zeros_like(gaps), where=values > 0.0)


def _largest_eigenvalues(features: Array, weights: Array) -> Array:
    """Largest eigenvalue of sum_i w_i v_i v_i^T for each row of weights, rounded up: (runs,)."""
    return largest_eigenvalue(np.stack([product(features.T * row, features) for row in weights]))
