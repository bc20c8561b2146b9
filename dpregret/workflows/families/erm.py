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

from dpregret.core.checks import check_inside, check_shape, finite
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families.base import Advance, Draws, Family
from dpregret.workflows.families.checks import accounts, untouched
from dpregret.workflows.families.fields import (
    Dimensions,
    ExperimentOnSets,
    Integers,
    Mistake,
    Option,
    Positive,
    Settings,
    Words,
)

if TYPE_CHECKING:
    from dpregret.algorithms.erm.base import ErmLearner
    from dpregret.algorithms.geometry import ConstraintSet, CountedSet
    from dpregret.algorithms.learner import Card
    from dpregret.algorithms.privacy import Budget
    from dpregret.datasets.base import Source
    from dpregret.datasets.risks import RiskSource
    from dpregret.numerics.arrays import Array
    from dpregret.workflows.audit.neighbours import Audited
    from dpregret.workflows.audit.settings import Special

LARGEST = 1000  # no dimension has more bits
LARGEST_DIMENSION = 2**17  # points of all runs must fit into memory
ENOUGH = 2**20  # records of a costly risk, to see whether it can be made
FEW = 4096  # records of a costly risk whose constants are all that is wanted


class Growth(Settings):
    """A dimension that grows with the number of records: round(factor * n^power)."""

    factor: Positive
    power: Annotated[float, Field(gt=0, le=4)]

    def dimension(self, samples: int) -> int:
        """Return the dimension for n records, at least 2."""
        size: float = min(self.factor * float(samples) ** self.power, 2.0**LARGEST)
        return max(2, round(size))


class ErmExperiment(ExperimentOnSets):
    """One sweep of empirical risk minimisation; ``family: erm``.

    ``samples`` numbers of records, ``risks`` names of risks, ``dimension`` as in an online experiment or, instead,
    ``dimension_growth``; an option of the risk, or of the set (``set_options``), may be a list, then each of its values
    makes a cell.
    """

    family: Literal["erm"]
    sweep: Literal["samples", "dimension", "epsilon", "delta", "width", "option", "risk", "none"]
    streams: Words = Field(alias="risks")
    dimension: Dimensions | None = None  # type: ignore[assignment]
    dimension_growth: Growth | None = None
    horizon: Integers = Field(alias="samples")
    options: dict[str, Option] = Field(default_factory=dict)
    set_options: dict[str, Option] = Field(default_factory=dict)

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

    def set_choices(self) -> Iterator[tuple[tuple[str, Any], ...]]:
        """Every combination of the set's options."""
        lists = [[(name, value) for value in _listed(values)] for name, values in self.set_options.items()]
        yield from itertools.product(*lists)

    def places(self) -> Iterator[tuple[KeyPath, str, int]]:
        if self.dimension_growth is None:
            yield from super().places()
            return
        for name, samples in itertools.product(self.sets, self.horizon):
            yield ("dimension_growth",), name, self.dimension_growth.dimension(samples)

    def mistakes(self) -> Iterator[Mistake]:
        """Points that memory cannot hold."""
        known = [*super().mistakes()]
        yield from known
        if not known:
            largest = max(dimension for _, _, dimension in self.places())
            if largest > LARGEST_DIMENSION:
                yield ("dimension",), f"{largest} is more than {LARGEST_DIMENSION}"


@dataclass(frozen=True)
class Cell:
    """One data set a run: everything but the privacy settings, which are batched."""

    set_name: str
    risk: str
    dimension: int
    samples: int
    options: tuple[tuple[str, Any], ...]
    set_options: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        """The key of the data of this cell, for its random numbers."""
        return f"records {self.risk} {self.set_name} {self.dimension} {self.samples} {dict(self.options)}"


@dataclass(frozen=True)
class RiskOnSet:
    """A constraint set and a risk on it."""

    domain: ConstraintSet
    risk: RiskSource


class Erm(Family[ErmExperiment, Cell, RiskOnSet]):
    """Learners of algorithms/erm on empirical risks, or on those of a population."""

    name = "erm"
    experiment = ErmExperiment
    seed_word = "risks"  # the family's name when the first audits were drawn

    def source(self) -> type[Source]:
        """Risks."""
        from dpregret.datasets.risks import RiskSource

        return RiskSource

    def needs(self, learner_class: type[Any]) -> frozenset[str]:
        """Those on its card, and which records it reads."""
        needs: frozenset[str] = super().needs(learner_class) | learner_class.reads
        return needs

    def cells(self, experiment: ErmExperiment, card: Card) -> Iterator[Cell]:
        """Every combination of set, risk, number of records, dimension and option."""
        for set_name, risk, samples in itertools.product(experiment.sets, experiment.streams, experiment.horizon):
            for dimension in experiment.dimensions(set_name, samples):
                for options, of_set in itertools.product(
                    itertools.product(*experiment.choices()), experiment.set_choices()
                ):
                    yield Cell(set_name, risk, dimension, samples, options, of_set)

    def problem(self, cell: Cell, experiment: ErmExperiment, draws: Draws) -> RiskOnSet:
        """The set, and the risk of one data set a run, or of a population."""
        from dpregret.algorithms.geometry import make_set
        from dpregret.datasets.risks import make_risk

        domain = make_set(cell.set_name, cell.dimension, **dict(cell.set_options))
        records = draws.generators(cell.label)
        risk = make_risk(cell.risk, domain, cell.samples, records, data_dir=draws.data_dir, **dict(cell.options))
        return RiskOnSet(domain, risk)

    def learner(
        self, learner_class: type[Any], problem: RiskOnSet, cell: Cell, experiment: ErmExperiment, variant: str
    ) -> ErmLearner:
        """With all privacy budgets, on a set that counts its calls."""
        from dpregret.algorithms.erm.base import ErmProblem
        from dpregret.algorithms.geometry import CountedSet
        from dpregret.algorithms.privacy import Budget

        budgets = [Budget(math.inf)]
        if learner_class.card.private:
            budgets = [Budget(*each) for each in itertools.product(experiment.epsilon, experiment.deltas)]
        visible = ErmProblem(CountedSet(problem.domain), facing(problem.risk, budgets))
        learner: ErmLearner = learner_class(visible, budgets, experiment.runs, variant)
        return learner

    def play(self, learner: ErmLearner, problem: RiskOnSet, cell: Cell, draws: Draws, advance: Advance) -> pd.DataFrame:
        budgets, runs = learner.budgets, draws.runs
        risk = facing(problem.risk, budgets)
        domain = cast("CountedSet", learner.domain)
        optimum, _, gaps = risk.optimum()
        started = process_time()
        with untouched(set=problem.domain, risk=problem.risk):
            points = learner.fit(draws.generators("noise"))
        per_run = runs * len(budgets)
        seconds = (process_time() - started - learner.apart) / per_run
        check_shape(points, (len(budgets), runs, cell.dimension))
        points = points.copy()  # whatever the learner does with its own
        violation = float(check_inside(points, problem.domain).max())
        excess = risk.value(points) - optimum
        if not np.isfinite(excess).all():
            raise FloatingPointError(f"{learner.card.name} ({learner.variant}) reached a risk that is not finite")
        trivial = risk.value(np.tile(domain.center(), (runs, 1))) - optimum
        width, width_error = _width(cell.set_name, cell.dimension, cell.set_options)
        setting, run = (index.ravel() for index in np.indices(excess.shape))
        advance(1)
        return pd.DataFrame(
            {
                "epsilon": np.array([budget.epsilon for budget in budgets])[setting],
                "delta": np.array([budget.delta for budget in budgets])[setting],
                "run": run,
                "regret": excess.ravel(),
                "trivial_regret": np.broadcast_to(trivial, excess.shape).ravel(),
                "comparator_gap": np.broadcast_to(gaps, excess.shape).ravel(),
                "bound": _bounds(learner, risk)[setting],
                "iterations": finite("iterations", learner.iterations(), (len(budgets),), 0.0)[setting],
                **{name: values[setting] for name, values in _ledger(learner).items()},
            }
        ).assign(
            set=cell.set_name,
            stream=cell.risk,
            tight=risk.tight,
            dimension=cell.dimension,
            horizon=cell.samples,
            checkpoint=cell.samples,
            window=0,
            displacement=0.0,
            noise_norm=0.0,
            width=width,
            width_error=width_error,
            violation=violation,
            projections=domain.projections.rows / per_run,
            linear_oracles=domain.linear_oracles.rows / per_run,
            local_oracles=domain.local_oracles.rows / per_run,
            solves=0.0,
            seconds=seconds,
            seconds_projection=domain.projections.seconds / per_run,
            seconds_linear_oracle=domain.linear_oracles.seconds / per_run,
            seconds_local_oracle=domain.local_oracles.seconds / per_run,
            **dict(cell.options),
            **dict(cell.set_options),
        )

    def trial(self, experiment: ErmExperiment) -> ErmExperiment:
        """The smallest problem of every set and risk, with one data set, at the smallest epsilon."""
        samples = min(experiment.horizon)
        if any(getattr(self.streams[name], "costly", False) for name in experiment.streams):
            samples = min(samples, ENOUGH)
        options, of_set = (
            {name: _listed(value)[0] for name, value in named.items()}
            for named in (experiment.options, experiment.set_options)
        )
        smallest: dict[str, Any] = {"horizon": (samples,), "epsilon": (min(experiment.epsilon),), "runs": 1}
        if experiment.dimension is not None:
            smallest["dimension"] = {name: (min(experiment.dimensions(name)),) for name in experiment.sets}
        return experiment.model_copy(update={**smallest, "options": options, "set_options": of_set})

    def blame(self, error: BaseException, cell: Cell, experiment: ErmExperiment) -> KeyPath | None:
        """Options of the set, where it refuses them."""
        if any(f"{name} of the set" in str(error) for name, _ in cell.set_options) or "option of the set" in str(error):
            return ("set_options",)
        return super().blame(error, cell, experiment)

    def describe(self, cell: Cell) -> str:
        """Risk, set, dimension and number of records."""
        return f"on {cell.risk!r}, set {cell.set_name!r}, dimension {cell.dimension}, n = {cell.samples}"

    def doubt(self, learner: ErmLearner) -> str | None:
        """A formula that requires less than one iteration."""
        wanted = learner.uncapped_iterations()[0]
        return f"n is too small, the number of iterations would be {wanted:.2g} < 1" if wanted < 1 else None

    def neighbours(
        self,
        learner_class: type[Any],
        variant: str,
        epsilon: float,
        delta: float,
        special: Special,
        seed: Sequence[int],
    ) -> Audited:
        """Twenty records, or 37 fresh ones; one turns."""
        from dpregret.algorithms.erm.base import OnePassLearner
        from dpregret.workflows.audit.erm import AuditedRisk
        from dpregret.workflows.audit.one_pass import AuditedPopulation

        if issubclass(learner_class, OnePassLearner):
            return AuditedPopulation(learner_class, variant, epsilon, delta, seed)
        return AuditedRisk(learner_class, variant, epsilon, delta, seed)


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

    return risk.facing([gaussian_mu(each) for each in budgets]) if isinstance(risk, PopulationRisk) else risk


def _ledger(learner: ErmLearner) -> dict[str, Array]:
    """Columns that only learners with a ledger of releases, or with a cap on their iterations, can fill."""
    from dpregret.algorithms.privacy import Release

    (lines, delivered, scales, _), settings = accounts(learner), len(learner.budgets)
    gaussian = [line for line in lines if isinstance(line, Release) and line.distribution == "gaussian"]
    capped = np.array(learner.uncapped_iterations()) >= np.array(learner.iterations()) + 1  # T itself is rounded
    unknown = np.full(settings, math.nan)
    return {
        "delivered_epsilon": delivered,
        "noise_distribution": np.array([line.distribution for line in lines] or ["none"] * settings),
        "noise_scale": scales,
        "mu_gdp": np.array([line.mu() if line.nodes else 0.0 for line in gaussian])
        if lines and len(gaussian) == len(lines)
        else unknown,
        "capped": capped & learner.card.private,
    }


@cache
def _width(set_name: str, dimension: int, options: tuple[tuple[str, Any], ...]) -> tuple[float, float]:
    from dpregret.algorithms.geometry import gaussian_width, make_set

    return gaussian_width(make_set(set_name, dimension, **dict(options)), np.random.default_rng(dimension))


def _listed(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)
