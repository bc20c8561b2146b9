"""The cost of one call of each oracle: linear and local oracle, gauge, projection in closed form and by a solver."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from dpregret.algorithms.geometry import ConstraintSet, UnsupportedSet, make_set
from dpregret.algorithms.geometry.reference import ReferenceProjection

ROWS = 32  # vectors a batched call
REPEATS, SECONDS = 5, 0.004  # best of REPEATS, each at least this long


def measure_costs(oracle_costs: Mapping[str, Sequence[int]]) -> pd.DataFrame:
    """Time every oracle of some sets, each with the dimensions that are given.

    Columns: set, dimension, operation ('projection', 'linear oracle', 'local oracle', 'gauge', 'projection (solver)'),
    seconds (CPU seconds a vector, best of several, warm), calls (calls timed), rows (vectors a call; the solver takes
    one), steepness (1 + R/r, by which a gauge in place of the projection may multiply regret; NaN without a gauge). A
    separation oracle by the gauge costs what the gauge does.
    """
    rows = [
        {"set": name, "dimension": dimension, "operation": operation, **_cost(serve, points), "steepness": steepness}
        for name, dimensions in oracle_costs.items()
        for dimension in dimensions
        for domain in [make_set(name, dimension)]
        for steepness in [_steepness(domain)]
        for operation, serve, points in _operations(domain)
    ]
    return pd.DataFrame(rows)


Oracle = Callable[[np.ndarray], object]


def _operations(domain: ConstraintSet) -> list[tuple[str, Oracle, np.ndarray]]:
    """(operation, oracle, its argument); arguments are typical: a spread-out vector of the size of the set."""
    generator = np.random.default_rng(domain.dimension)
    vectors = generator.standard_normal((ROWS, domain.dimension))
    points = domain.center() + domain.diameter * vectors / np.sqrt(domain.dimension)
    operations: list[tuple[str, Oracle, np.ndarray]] = [("linear oracle", domain.linear_oracle, vectors)]
    with contextlib.suppress(UnsupportedSet):
        local = domain.local_oracle()
        weights = local.lift(np.tile(domain.center(), (ROWS, 1)))
        operations.append(("local oracle", lambda cost: local.answer(weights, domain.diameter / 10, cost), vectors))
    if not np.isnan(_steepness(domain)):
        operations.append(("gauge", domain.gauge(), domain.along_hull(points - domain.center())))
    if domain.closed_form_projection:
        operations.append(("projection", domain.project, points))
    if domain.dimension <= domain.reference_limit:
        operations.append(("projection (solver)", ReferenceProjection(domain).project, points[:1]))
    return operations


def _steepness(domain: ConstraintSet) -> float:
    """1 + R/r; NaN where the set has no gauge."""
    try:
        domain.gauge()
        return 1 + domain.max_distance_from(domain.center()) / domain.inner_radius()
    except UnsupportedSet:
        return float("nan")


def _cost(serve: Oracle, points: np.ndarray) -> dict[str, float]:
    serve(points)
    calls, best = 1, np.inf
    for _ in range(REPEATS):
        done, started = 0, time.process_time()
        while (spent := time.process_time() - started) < SECONDS:
            serve(points)
            done += 1
        calls, best = calls + done, min(best, spent / done)
    return {"seconds": best / len(points), "calls": calls, "rows": len(points)}
