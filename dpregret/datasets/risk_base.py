"""What every risk offers, empirical or of a population, and a certified minimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.base import Source
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

STORED, FRESH = "stored", "fresh"
"""Traits of records: all there at once, or met once, one after the other."""
GOAL, ALLOWED = 1e-12, 1e-8
_CHECK_EVERY = 8

Optimum = tuple[Array, Array, Array]
"""Values (runs,), points (runs, p) and certified absolute duality gaps (runs,)."""


class RiskSource(Source, ABC):
    """An average of losses over records, and its minimum over a constraint set; points (..., runs, p).

    Constants hold for every admissible record, so a private learner may use them: ``lipschitz`` bounds |gradient|_2
    of a record's loss over the set, ``lipschitz_l1`` |gradient|_inf (left out: as ``lipschitz``, which bounds it),
    ``smoothness`` is that of a record's loss in l2 (inf at kinks), ``curvature`` the Frank-Wolfe curvature of the risk
    over the set (Jaggi 2013), ``strong_convexity`` that of the risk, ``hessian_rank`` the largest rank of a record's
    Hessian (None where there is none). ``tight``: the rates of the theorems on risks of its kind really appear.
    """

    costly: ClassVar[bool] = False
    """Many records take long to make, and decide no constant."""

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        runs: int,
        *,
        lipschitz: float,
        lipschitz_l1: float | None = None,
        smoothness: float,
        curvature: float,
        strong_convexity: float = 0.0,
        hessian_rank: int | None = None,
    ) -> None:
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        if runs < 1:
            raise ValueError("a risk needs at least one generator (one per run)")
        self.domain, self.samples, self.runs = domain, samples, runs
        self.dimension = domain.dimension
        self.lipschitz = lipschitz
        self.lipschitz_l1 = lipschitz if lipschitz_l1 is None else lipschitz_l1
        self.smoothness, self.curvature = smoothness, curvature
        self.strong_convexity, self.hessian_rank = strong_convexity, hessian_rank

    @abstractmethod
    def value(self, points: Array) -> Array:
        """Risk, (..., runs, p) -> (..., runs)."""

    @abstractmethod
    def optimum(self) -> Optimum:
        """Minimum over the set: values (runs,), points (runs, p), absolute duality gaps (runs,), 0 for closed forms.

        Raises RuntimeError where a gap stays above 1e-8.
        """

    def _same_for_all(self, point: Array) -> Optimum:
        """The optimum known in closed form, the same for every run."""
        points = np.tile(point, (self.runs, 1))
        return self.value(points), points, np.zeros(self.runs)


class EmpiricalRisk(RiskSource):
    """L(theta) = (1/n) sum_i loss(theta; d_i) over the records of one data set a run, which are all there at once.

    A risk gives its `loss` and its `record_losses`, or the methods that follow from them: `value`, `gradient`,
    `record_gradient`.
    """

    traits = frozenset({STORED})
    loss: Any = None
    """The risk as a loss of the points (dpregret.core.losses), for compiled loops; None where these ask `gradient`."""

    def record_losses(self, records: NDArray[np.int64]) -> Losses | None:
        """Losses of single records (rounds, runs), for compiled loops; None where these ask `record_gradient`."""
        return None

    def value(self, points: Array) -> Array:
        found: Array = self.loss.value(points)
        return found

    def gradient(self, points: Array) -> Array:
        """(Sub)gradient of the risk, of the shape of points; 0 is taken for a kinked part at its kink."""
        slope: Array = self.loss.gradient(points)
        return slope

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """(Sub)gradients of single records' losses: points (runs, p), record numbers (runs,) -> (runs, p)."""
        losses = self.record_losses(records[None])
        if losses is None:
            raise NotImplementedError(f"{type(self).__name__} has neither record_losses nor record_gradient")
        return losses[0].gradient(points)


def largest_l1_norm(domain: ConstraintSet) -> float:
    """max over the set of |theta|_1: exact for l1 balls, simplices and listed vertices, else sqrt(p) max |theta|_2."""
    vertices = getattr(domain, "vertices", None)
    if vertices is not None:
        return float(np.abs(vertices).sum(axis=1).max())
    reach = domain.reach(np.zeros(domain.dimension))
    return reach if domain.name in {"l1-ball", "simplex"} else float(np.sqrt(domain.dimension)) * reach


def minimise(
    value: Callable[[Array], Array],
    gradient: Callable[[Array], Array],
    smoothness: Array,
    domain: ConstraintSet,
    start: Array,
    *,
    max_steps: int = 100_000,
) -> Optimum:
    """Minimise a smooth convex function over the set, every row of ``start`` (rows, p) on its own.

    Accelerated projected gradient (Beck & Teboulle 2009) with gradient restart (O'Donoghue & Candes 2015);
    ``smoothness`` (rows,). The gap max over the set of <gradient, x - v> bounds value - minimum; stops when every gap
    is at most 1e-12 or, where rounding forbids that, when it stopped falling below 1e-8. Raises RuntimeError with the
    worst gap otherwise.
    """
    rate = 1.0 / smoothness[:, None]
    points = ahead = domain.project(start)
    inertia = np.ones(len(points))
    best, gaps, patience = points, np.full(len(points), np.inf), 0
    for step in range(max_steps + 1):
        if step % _CHECK_EVERY == 0:
            slope = gradient(points)
            now = np.maximum(vecdot(slope, points - domain.linear_oracle(slope)), 0.0)
            better = now < gaps
            patience = 0 if (now < 0.5 * gaps).any() else patience + 1
            best = np.where(better[:, None], points, best)
            gaps = np.minimum(now, gaps)
            if (gaps <= GOAL).all() or ((gaps <= ALLOWED).all() and patience > 100):
                break
        moved = domain.project(ahead - rate * gradient(ahead))
        restart = vecdot(ahead - moved, moved - points) > 0.0
        inertia = np.where(restart, 1.0, inertia)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia**2))
        momentum = np.where(restart, 0.0, (inertia - 1.0) / following)
        ahead = moved + momentum[:, None] * (moved - points)
        points, inertia = moved, following
    if (gaps > ALLOWED).any():
        worst = int(np.argmax(gaps))
        raise RuntimeError(f"optimum not certified: run {worst} has duality gap {gaps[worst]:.3g} after {step} steps")
    return value(best), best, gaps
