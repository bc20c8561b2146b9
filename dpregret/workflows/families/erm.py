"""Risk minimisation: a learner sees all records, or each fresh one once, and releases one point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from dpregret.core.learner_output import check_inside, check_shape, finite
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families import interface
from dpregret.workflows.families.interface import Instance

if TYPE_CHECKING:
    from dpregret.algorithms.erm.erm_learner import ErmLearner
    from dpregret.algorithms.geometry import CountedSet
    from dpregret.algorithms.learner import Card
    from dpregret.algorithms.privacy import Budget
    from dpregret.numerics.arrays import Array
    from dpregret.workflows.audit.neighbours import Audited

LARGEST = 1000  # no dimension has more bits
LARGEST_DIMENSION = 2**17  # points of all runs must fit into memory
ENOUGH = 2**20  # records of a costly risk, to see whether it can be made


class Growth(interface.Settings):
    """A dimension that grows with the number of records: round(factor * n^power)."""

    factor: interface.Positive
    power: Annotated[float, Field(gt=0, le=4)]

    def dimension(self, samples: int) -> int:
        """Return the dimension for n records, at least 2."""
        size: float = min(self.factor * float(samples) ** self.power, 2.0**LARGEST)
        return max(2, round(size))


class ErmExperiment(interface.ExperimentOnSets):
    """One sweep of empirical risk minimisation; ``family: erm``.

    ``samples`` numbers of records, ``risks`` names of risks, ``dimension`` as in an online experiment or, instead,
    ``dimension_growth``; an option of the risk, or of the set (``set_options``), may be a list, then each of its values
    makes a cell.
    """

    family: Literal["erm"]
    sweep: Literal["samples", "dimension", "epsilon", "delta", "width", "option", "risk", "none"]
    streams: interface.Words = Field(alias="risks")
    dimension: interface.Dimensions | None = None  # type: ignore[assignment]
    dimension_growth: Growth | None = None
    horizon: interface.Integers = Field(alias="samples")
    options: dict[str, interface.OneOrMore[interface.Plain]] = Field(default_factory=dict)
    set_options: dict[str, interface.OneOrMore[interface.Plain]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_dimension(self) -> ErmExperiment:
        if (self.dimension is None) == (self.dimension_growth is None):
            raise ValueError("give either dimension or dimension_growth")
        return self

    def dimensions(self, set_name: str, samples: int | None = None) -> tuple[int, ...]:
        """Return the dimensions in which a set is used, for a number of records where they grow."""
        if self.dimension_growth is not None:
            return (self.dimension_growth.dimension(samples or max(self.horizon)),)
        return super().dimensions(set_name)

    def all_options(self) -> list[Any]:
        """Those of the risk, and of the set."""
        return [*self.options.values(), *self.set_options.values()]

    def sets_and_dimensions(self) -> Iterator[tuple[KeyPath, str, int]]:
        if self.dimension_growth is None:
            yield from super().sets_and_dimensions()
            return
        for name, samples in itertools.product(self.sets, self.horizon):
            yield ("dimension_growth",), name, self.dimension_growth.dimension(samples)

    def mistakes(self) -> Iterator[interface.Mistake]:
        """Points that memory cannot hold."""
        mistakes = [*super().mistakes()]
        yield from mistakes
        if not mistakes:
            largest = max(dimension for _, _, dimension in self.sets_and_dimensions())
            if largest > LARGEST_DIMENSION:
                yield ("dimension",), f"{largest} is more than {LARGEST_DIMENSION}"


@dataclass(frozen=True)
class ErmCell(interface.Cell):
    """One data set a run; horizon: the number of records."""

    options: interface.Options
    set_options: interface.Options = ()

    def __str__(self) -> str:
        return f"{self.stream!r}, set {self.set_name!r}, dimension {self.dimension}, n = {self.horizon}"

    @property
    def label(self) -> str:
        """The key of the data of this cell, for its random numbers."""
        return f"records {self.stream} {self.set_name} {self.dimension} {self.horizon} {dict(self.options)}"

    def columns(self) -> dict[str, Any]:
        return super().columns() | dict(self.options) | dict(self.set_options)


class Erm(interface.Family[ErmExperiment, ErmCell, Instance]):
    """Learners of algorithms/erm on empirical risks, or on those of a population."""

    name = "erm"
    experiment = ErmExperiment
    source = "dpregret.datasets.risks:RiskSource"
    seed_word = "risks"  # the family's name when the first audits were drawn

    def needs(self, learner_class: type[Any]) -> frozenset[str]:
        """The needs on its card, and the kind of records that it reads."""
        return super().needs(learner_class) | learner_class.reads

    def cells(self, experiment: ErmExperiment, card: Card) -> Iterator[ErmCell]:
        """Every combination of set, risk, number of records, dimension and option."""
        choices = [interface.choices_of(experiment.options), interface.choices_of(experiment.set_options)]
        for set_name, risk, samples in itertools.product(experiment.sets, experiment.streams, experiment.horizon):
            for dimension in experiment.dimensions(set_name, samples):
                for options, set_options in itertools.product(*choices):
                    yield ErmCell(risk, set_name, dimension, samples, options, set_options)

    def problem(self, cell: ErmCell, experiment: ErmExperiment, draws: interface.Draws) -> Instance:
        """The set, and the risk of one data set a run, or of a population."""
        from dpregret.algorithms.geometry import make_set
        from dpregret.datasets.risks import make_risk

        domain = make_set(cell.set_name, cell.dimension, **dict(cell.set_options))
        records, options = draws.generators(cell.label), dict(cell.options)
        return Instance(
            domain, make_risk(cell.stream, domain, cell.horizon, records, data_dir=draws.data_dir, **options)
        )

    def learner(
        self, learner_class: type[Any], problem: Instance, cell: ErmCell, experiment: ErmExperiment, variant: str
    ) -> ErmLearner:
        """With all privacy budgets, on a set that counts its calls."""
        from dpregret.algorithms.erm.erm_learner import ErmProblem
        from dpregret.algorithms.geometry import CountedSet

        budgets = interface.budgets_of(experiment, learner_class.card)
        visible = ErmProblem(CountedSet(problem.domain), facing(problem.stream, budgets))
        return learner_class(visible, budgets, experiment.runs, variant)

    def play(self, learner: ErmLearner, problem: Instance, cell: ErmCell, draws: interface.Draws) -> pd.DataFrame:
        risk, shape = facing(problem.stream, learner.budgets), (len(learner.budgets), draws.runs)
        optimum, _, gaps = risk.optimum()
        started = process_time()
        with interface.unchanged_inputs(set=problem.domain, risk=problem.stream):
            points = learner.fit(draws.generators("noise"))
        seconds = process_time() - started - learner.apart
        check_shape(points, (*shape, cell.dimension))
        points = points.copy()  # whatever the learner does with its own
        violation = float(check_inside(points, problem.domain).max())
        excess = risk.value(points) - optimum
        if not np.isfinite(excess).all():
            raise FloatingPointError(f"{learner.card.name} ({learner.variant}) reached a risk that is not finite")
        center = np.tile(problem.domain.center(), (draws.runs, 1))
        width, width_error = _width(cell.set_name, cell.dimension, cell.set_options)
        iterations = finite("iterations", learner.iterations(), shape[:1], 0.0)
        of_settings = {"bound": _bounds(learner, risk), "iterations": iterations, **_ledger(learner)}
        rows = interface.frame(
            shape,
            of_settings,
            **cell.columns(),
            tight=risk.tight,
            regret=excess,
            trivial_regret=risk.value(center) - optimum,
            comparator_gap=gaps,
            width=width,
            width_error=width_error,
            violation=violation,
            **interface.costs(cast("CountedSet", learner.domain), seconds, math.prod(shape)),
            solves=0.0,
        )
        return rows.drop(columns=["gauges", "seconds_gauge"], errors="ignore")  # costs that other descents have

    def trial(self, experiment: ErmExperiment) -> ErmExperiment:
        """The smallest problem of every set and risk, with one data set, at the smallest epsilon."""
        samples = min(experiment.horizon)
        if any(self.streams[name].costly for name in experiment.streams):
            samples = min(samples, ENOUGH)
        smallest: dict[str, Any] = {"horizon": (samples,), "epsilon": (min(experiment.epsilon),), "runs": 1}
        for field in ("options", "set_options"):
            smallest[field] = {name: interface.as_tuple(value)[0] for name, value in getattr(experiment, field).items()}
        if experiment.dimension is not None:
            smallest["dimension"] = {name: (min(experiment.dimensions(name)),) for name in experiment.sets}
        return experiment.model_copy(update=smallest)

    def key_of_error(self, error: BaseException, cell: ErmCell, experiment: ErmExperiment) -> KeyPath | None:
        """Options of the set, where it refuses them."""
        if any(f"{name} of the set" in str(error) for name, _ in cell.set_options) or "option of the set" in str(error):
            return ("set_options",)
        return super().key_of_error(error, cell, experiment)

    def warning_for(self, learner: ErmLearner) -> str | None:
        """A formula that requires less than one iteration."""
        iterations = learner.uncapped_iterations()[0]
        return f"n is too small, the number of iterations would be {iterations:.2g} < 1" if iterations < 1 else None

    def audited(self, learner_class: type[Any]) -> type[Audited]:
        """Twenty records, or 37 fresh ones; one turns."""
        from dpregret.algorithms.erm.erm_learner import OnePassLearner
        from dpregret.workflows.audit.erm import AuditedPopulation, AuditedRisk

        return AuditedPopulation if issubclass(learner_class, OnePassLearner) else AuditedRisk


def _bounds(learner: ErmLearner, risk: Any) -> Array:
    """One a setting; NaN where a learner bounds the excess of the average loss and is judged by the population's."""
    from dpregret.datasets.risk_population import PopulationRisk

    bounds = finite("bound", learner.bound(), (len(learner.budgets),), unknown=True)
    stored = "stored" in learner.reads and isinstance(risk, PopulationRisk)
    return np.full_like(bounds, math.nan) if stored else bounds


def facing(risk: Any, budgets: Sequence[Budget]) -> Any:
    """The risk that learners with these budgets are put to: a population may be made hard for each of them."""
    from dpregret.algorithms.privacy import gaussian_mu
    from dpregret.datasets.risk_population import PopulationRisk

    return risk.facing([gaussian_mu(budget) for budget in budgets]) if isinstance(risk, PopulationRisk) else risk


def _ledger(learner: ErmLearner) -> dict[str, Any]:
    """Columns that only learners with a ledger of releases, or with a cap on their iterations, can fill."""
    from dpregret.algorithms.privacy import Release

    accounts, lines, settings = interface.accounts(learner), learner.ledger(), len(learner.budgets)
    gaussian = [line for line in lines if isinstance(line, Release) and line.distribution == "gaussian"]
    capped = np.array(learner.uncapped_iterations()) >= np.array(learner.iterations()) + 1  # T itself is rounded
    mus = [line.mu() if line.nodes else 0.0 for line in gaussian]
    return accounts | {
        "noise_distribution": [str(line.distribution) for line in lines] or ["none"] * settings,
        "mu_gdp": mus if len(mus) == settings else [math.nan] * settings,
        "capped": capped & learner.card.private,
    }


@cache
def _width(set_name: str, dimension: int, options: interface.Options) -> tuple[float, float]:
    from dpregret.algorithms.geometry import gaussian_width, make_set

    return gaussian_width(make_set(set_name, dimension, **dict(options)), np.random.default_rng(dimension))
