"""The interface of a risk, empirical or of a population; risks by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import Losses
from dpregret.core.sets import ConstraintSet, minimise
from dpregret.datasets.source import Generators, Source, build
from dpregret.numerics.arrays import Array

STORED, FRESH = "stored", "fresh"
"""Traits of records: all available at once, or met once, one after the other."""

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

    either: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of names: a risk gives one of each, of itself or of its class."""
    strong_convexity: float = 0.0
    hessian_rank: int | None = None

    def __init__(
        self,
        domain: ConstraintSet,
        samples: int,
        runs: int,
        *,
        lipschitz: float,
        smoothness: float,
        curvature: float,
        lipschitz_l1: float | None = None,
    ) -> None:
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        self.domain, self.samples, self.runs = domain, samples, runs
        self.dimension = domain.dimension
        self.lipschitz = lipschitz
        self.lipschitz_l1 = lipschitz if lipschitz_l1 is None else lipschitz_l1
        self.smoothness, self.curvature = smoothness, curvature

    def check_complete(self) -> None:
        """Raise ValueError where neither name of a pair of `either` is given."""
        base = next(kind for kind in type(self).__mro__ if "either" in vars(kind))
        for pair in self.either:
            if not any(name in vars(self) or getattr(type(self), name) is not getattr(base, name) for name in pair):
                raise ValueError(f"{type(self).__name__} has neither {pair[0]} nor {pair[1]}: give one of the two")

    @abstractmethod
    def value(self, points: Array) -> Array:
        """Risk, (..., runs, p) -> (..., runs)."""

    @abstractmethod
    def optimum(self) -> Optimum:
        """Minimum over the set: values (runs,), points (runs, p), absolute duality gaps (runs,), 0 for closed forms.

        Raises FloatingPointError where a gap stays above 1e-8.
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
    either = ("loss", "value"), ("loss", "gradient"), ("record_losses", "record_gradient")
    loss: Any = None
    """The risk as a loss of the points (dpregret.core.losses), for compiled loops; None where these ask `gradient`."""

    def record_losses(self, records: NDArray[np.int64]) -> Losses | None:
        """Losses of single records (rounds, runs), for compiled loops; None where these ask `record_gradient`."""
        return None

    def value(self, points: Array) -> Array:
        return self.loss.value(points)

    def gradient(self, points: Array) -> Array:
        """(Sub)gradient of the risk, of the shape of points; 0 is taken for a kinked part at its kink."""
        return self.loss.gradient(points)

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        """(Sub)gradients of single records' losses: points (runs, p), record numbers (runs,) -> (runs, p)."""
        losses = self.record_losses(records[None])
        if losses is None:
            raise NotImplementedError(f"{type(self).__name__} has neither record_losses nor record_gradient")
        return losses[0].gradient(points)

    def _certified(self, smoothness: Array, start: Array) -> Optimum:
        """By `minimise`; smoothness (rows,): one row a run, or one where all runs share their data. start (p,)."""
        rows = len(smoothness)
        points, gaps, _ = minimise(self.domain, self.gradient, np.tile(start, (rows, 1)), smoothness[:, None])
        values, points, gaps = (
            np.repeat(array, self.runs // rows, axis=0) for array in (self.value(points), points, gaps)
        )
        return values, points, gaps


def largest_l1_norm(domain: ConstraintSet) -> float:
    """max over the set of |theta|_1: exact for l1 balls, simplices and listed vertices, else sqrt(p) max |theta|_2."""
    vertices = getattr(domain, "vertices", None)
    if vertices is not None:
        return float(np.abs(vertices).sum(axis=1).max())
    radius = domain.max_distance_from(np.zeros(domain.dimension))
    return radius if domain.name in {"l1-ball", "simplex"} else float(np.sqrt(domain.dimension)) * radius


def make_risk(
    name: str,
    domain: ConstraintSet,
    samples: int,
    generators: Generators,
    *,
    data_dir: str | Path | None = None,
    **options: Any,
) -> Any:
    """Build the risk of ``samples`` records a run on a constraint set: an `EmpiricalRisk` or a `PopulationRisk`.

    A run's data depend on its own generator only. ``data_dir`` is the folder of prepared data, for risks that read
    some. Options are the parameters of the risk's class after the first three.

    Raises ValueError for an unknown name or option, a missing option, values that the risk cannot serve, or a class
    without losses; `base.UnreadDataError` where all fits but data are needed and `data_dir` was not given.
    """
    risk: RiskSource = build("risk", RiskSource, name, (domain, samples, generators), options, data_dir)
    risk.check_complete()
    return risk
