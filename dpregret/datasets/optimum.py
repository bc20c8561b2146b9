"""Best fixed point of a weighted pool of ridge generalised linear losses, with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import largest_eigenvalue, product, vecdot

_CHECK_EVERY = 4


def minimise_pool(
    family: Any,
    features: Array,
    labels: Array,
    weights: Array,
    *,
    strong_convexity: float,
    domain: ConstraintSet,
    start: Array,
    goal: float = 1e-10,
    allowed: float = 1e-8,
    max_steps: int = 4000,
) -> tuple[Array, Array, Array]:
    """Minimise sum_i w_i phi(<v_i, x>; y_i) + (mu/2) |x|^2 over the set, for every run at once.

    ``features`` (pool, d), ``labels`` (pool,), ``weights`` (runs, pool) with row sums 1, ``start`` (runs, d).
    Accelerated projected gradient with the constant momentum of strongly convex problems (Nesterov 2018, 2.2.4),
    each run with its own smoothness mu + bend * lambda_max(sum_i w_i v_i v_i^T).

    Returns (points (runs, d), values (runs,), relative gaps (runs,)): the gap is the Frank-Wolfe gap
    max over the set of <gradient, x - v>, which bounds value - minimum, divided by the value.
    Stops when every relative gap is at most ``goal``; raises RuntimeError with the worst gap if after ``max_steps``
    one is above ``allowed``.
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
    condition = np.sqrt(smoothness / strong_convexity)
    momentum = (condition - 1.0) / (condition + 1.0)
    points = ahead = domain.project(start)
    for step in range(max_steps + 1):
        if step % _CHECK_EVERY == 0 or step == max_steps:
            slope = gradient(points)
            gaps = np.maximum(vecdot(slope, points - domain.linear_oracle(slope)), 0.0)
            values = value(points)
            if (gaps <= goal * values).all():
                break
        moved = domain.project(ahead - gradient(ahead) / smoothness)
        ahead = moved + momentum * (moved - points)
        points = moved
    excess = gaps - allowed * values
    if (excess > 0.0).any():
        worst = int(np.argmax(excess))
        raise RuntimeError(
            f"comparator not certified: run {worst} has duality gap {gaps[worst]:.3g} at objective "
            f"{values[worst]:.6g} after {max_steps} steps (relative gap allowed: {allowed:.0e})"
        )
    return points, values, np.divide(gaps, values, out=np.zeros_like(gaps), where=values > 0.0)


def _largest_eigenvalues(features: Array, weights: Array) -> Array:
    """Largest eigenvalue of sum_i w_i v_i v_i^T for each row of weights, rounded up: (runs,)."""
    return largest_eigenvalue(np.stack([product(features.T * row, features) for row in weights]))
