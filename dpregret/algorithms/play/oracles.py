"""Oracles that compiled rounds ask: whether a set has a text of them, and what one costs."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.geometry import CountedSet
from dpregret.algorithms.geometry.base import data_of
from dpregret.core.oracles import SCRATCH, local_step, project, vertex
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import specialised

PRICED = 0.002  # CPU seconds spent on pricing an oracle


def ask_project(domain, points, weights, repeats):
    """Project points (d, runs), again and again: what it costs within rounds."""
    x, s = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        x[:] = points
        project(domain, x, s)


def ask_vertex(domain, points, weights, repeats):
    """The same of the linear oracle."""
    x, s = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        vertex(domain, points, x, s)


def ask_local(domain, points, weights, repeats):
    """The same of the local oracle, from weights (k, runs) on."""
    x, s = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        held = weights.copy()
        local_step(domain, held, 1.0 / points.shape[0], 0.5, points, x, s)


class Oracle(NamedTuple):
    """An oracle: its function, what prices it, and its tally of a counted set."""

    function: Any
    ask: Callable[..., None]
    tally: str


ORACLES = {
    "project": Oracle(project, ask_project, "projections"),
    "vertex": Oracle(vertex, ask_vertex, "linear_oracles"),
    "local": Oracle(local_step, ask_local, "local_oracles"),
}


def text_of(domain: Any, oracle: str) -> Any:
    """A set, counted or not, as compiled rounds know it; None where it has no text of that oracle."""
    data = data_of(domain.inner if type(domain) is CountedSet else domain)
    return data if type(data) in ORACLES[oracle].function.kinds else None


def price_of(oracle: str, domain: Any, x: Array, weights: Array) -> float:
    """CPU seconds that the oracle takes for one of the points x (d, runs)."""
    serve = specialised(ORACLES[oracle].ask, type(domain))
    repeats, seconds = 1, 0.0
    serve(domain, x, weights, 1)
    while seconds < PRICED:
        repeats *= 4
        started = process_time()
        serve(domain, x, weights, repeats)
        seconds = process_time() - started
    return float(seconds / (repeats * x.shape[1]))
