"""A constraint set that counts and times its oracles."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dpregret.core.sets import ConstraintSet, LocalOracle
from dpregret.numerics.arrays import Array

if TYPE_CHECKING:
    from dpregret.algorithms.geometry.reference import ReferenceProjection
    from dpregret.core.sets import Oracle


@dataclass
class Tally:
    """Use of one oracle."""

    calls: int = 0
    rows: int = 0
    """Vectors served: the product of the leading axes, summed over calls."""
    seconds: float = 0.0
    """CPU seconds of this process."""

    def serve(self, oracle: Callable[..., Array], *arguments: Any) -> Array:
        """Call the oracle, count the vectors (..., k) that it returns and the CPU time that it takes."""
        start = time.process_time()
        answer = oracle(*arguments)
        self.seconds += time.process_time() - start
        self.calls += 1
        self.rows += answer.size // answer.shape[-1]
        return answer

    def add(self, rows: int, seconds: float) -> None:
        """Count what a compiled loop served in one go; its seconds are those of the whole loop."""
        self.calls += 1
        self.rows += rows
        self.seconds += seconds


def _of_inner(name: str) -> Any:
    """The attribute of the inner set with this name."""
    return property(attrgetter(f"inner.{name}"))


class CountedSet(ConstraintSet):
    """Proxy of a set with a tally each for `project`, `linear_oracle`, the local oracle's `answer`, gauge, separation.

    Every other attribute is that of the set inside. What an oracle calls within itself is not counted again.
    """

    def __init__(self, inner: ConstraintSet):
        self.inner = inner
        self.projections = Tally()
        self.linear_oracles = Tally()
        self.local_oracles = Tally()
        self.gauges = Tally()
        self.separations = Tally()

    def calls(self) -> dict[str, int]:
        """Vectors served, by columns of a run; gauge and separation oracle where they were called."""
        return {f"{name}s": tally.rows for name, tally in self._named().items()}

    def seconds(self) -> dict[str, float]:
        """CPU seconds of the same."""
        return {f"seconds_{name}": tally.seconds for name, tally in self._named().items()}

    def _named(self) -> dict[str, Tally]:
        always = ("projection", "linear_oracle", "local_oracle")
        tallies: dict[str, Tally] = {name: getattr(self, f"{name}s") for name in (*always, "gauge", "separation")}
        return {name: tally for name, tally in tallies.items() if name in always or tally.rows}

    def linear_oracle(self, cost: Array) -> Array:
        """Counted: the linear oracle of the set inside."""
        return self.linear_oracles.serve(self.inner.linear_oracle, cost)

    def project(self, points: Array) -> Array:
        """Counted: the projection of the set inside."""
        return self.projections.serve(self.inner.project, points)

    def local_oracle(self) -> LocalOracle:
        """The local oracle of the set inside, its `answer` counted. Raises UnsupportedSet where it does."""
        oracle = copy.copy(self.inner.local_oracle())
        vars(oracle)["answer"] = partial(self.local_oracles.serve, oracle.answer)
        return oracle

    def gauge(self) -> Oracle:
        """The gauge of the set inside, counted. Raises UnsupportedSet where it does."""
        return partial(self.gauges.serve, self.inner.gauge())

    def separation(self) -> Oracle:
        """The separation oracle of the set inside, counted. Raises UnsupportedSet where it does."""
        return partial(self.separations.serve, self.inner.separation())

    title = _of_inner("title")
    closed_form_projection = _of_inner("closed_form_projection")
    reference_limit = _of_inner("reference_limit")
    reference_tolerance = _of_inner("reference_tolerance")
    center = _of_inner("center")
    target = _of_inner("target")
    reach = _of_inner("reach")
    violation = _of_inner("violation")
    cvxpy_constraints = _of_inner("cvxpy_constraints")
    equalities = _of_inner("equalities")
    hull_basis = _of_inner("hull_basis")
    inner_radius = _of_inner("inner_radius")
    along_hull = _of_inner("along_hull")

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "inner":  # not there yet while unpickling: no endless recursion
            raise AttributeError(attribute)
        return getattr(self.inner, attribute)


class SolvedSet(CountedSet):
    """The same with every projection by the general solver: what a method pays that has no closed form."""

    @cached_property
    def _solver(self) -> ReferenceProjection:
        from dpregret.algorithms.geometry.reference import ReferenceProjection

        return ReferenceProjection(self.inner)

    def project(self, points: Array) -> Array:
        """Counted: the reference projection of the set inside, row by row."""
        return self.projections.serve(self._solver.project, points)


ORACLES = {"project", "linear_oracle", "local_oracle"}


def data_of(domain: ConstraintSet) -> Any:
    """A set, counted or not, as compiled loops know it; None where a class has changed an oracle below its `data`."""
    inner = domain.inner if type(domain) is CountedSet else domain
    for kind in type(inner).__mro__:
        if "data" in vars(kind):
            return inner.data
        if ORACLES & vars(kind).keys():
            return None
    return None
