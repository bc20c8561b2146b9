"""Bandit convex optimisation: a learner sees one number a round, the loss of the point that it played."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.core.learner_output import (
    TOLERANCE,
    LearnerFault,
    check_inside,
    check_shape,
    check_violation,
    finite,
    numbers,
)
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families import interface
from dpregret.workflows.families.interface import Instance

if TYPE_CHECKING:
    from dpregret.algorithms.bandits.bandit_learner import BanditLearner
    from dpregret.algorithms.geometry import ConstraintSet, CountedSet
    from dpregret.algorithms.learner import Card
    from dpregret.core.losses import LossBatch, LossSource
    from dpregret.numerics.arrays import Array


class BanditExperiment(interface.ExperimentOnSets):
    """One sweep with bandit feedback; ``family: bandits``.

    Settings as in an online experiment, without windows. ``epsilon`` may hold ``.inf``: the same learner without noise,
    on the same random directions.
    """

    family: Literal["bandits"]
    sweep: Literal["horizon", "dimension", "epsilon", "set", "stream", "none"]
    options: dict[str, interface.Plain] = Field(default_factory=dict)


@dataclass(frozen=True)
class BanditCell(interface.Cell):
    """One play; epsilon where the stream is aimed at one."""

    epsilon: float | None = None

    def __str__(self) -> str:
        return super().__str__() + ("" if self.epsilon is None else f", epsilon = {self.epsilon:g}")

    @property
    def label(self) -> str:
        """The key of the losses of this cell, for their random numbers."""
        return f"bandit {self.stream} {self.set_name} {self.dimension}"


class Bandits(interface.Family[BanditExperiment, BanditCell, Instance]):
    """Learners of algorithms/bandits on streams of bandit losses."""

    name = "bandits"
    experiment = BanditExperiment
    source = "dpregret.datasets.bandit_streams:BanditStream"
    audit = "dpregret.workflows.audit.bandits:AuditedBandit"

    def cells(self, experiment: BanditExperiment, card: Card) -> Iterator[BanditCell]:
        """Every combination; all learners receive the horizon, and a stream that is aimed makes a cell an epsilon."""
        budgets = experiment.epsilon if card.private else (math.inf,)
        for set_name, stream in itertools.product(experiment.sets, experiment.streams):
            aims = budgets if self.streams[stream].aimed else (None,)  # type: ignore[attr-defined]
            for dimension, horizon in itertools.product(experiment.dimensions(set_name), experiment.horizon):
                yield from (BanditCell(stream, set_name, dimension, horizon, epsilon) for epsilon in aims)

    def problem(self, cell: BanditCell, experiment: BanditExperiment, draws: interface.Draws) -> Instance:
        """The set and the stream."""
        from dpregret.algorithms.geometry import make_set
        from dpregret.datasets.bandit_streams import make_bandit_stream

        domain = make_set(cell.set_name, cell.dimension)
        aim = (cell.horizon, math.inf if cell.epsilon is None else cell.epsilon)
        stream = make_bandit_stream(cell.stream, domain, aim, data_dir=draws.data_dir, **experiment.options)
        return Instance(domain, stream)

    def learner(
        self, learner_class: type[Any], problem: Instance, cell: BanditCell, experiment: BanditExperiment, variant: str
    ) -> BanditLearner:
        """With all privacy budgets of the cell, on a set that counts its calls."""
        from dpregret.algorithms.bandits.bandit_learner import BanditProblem
        from dpregret.algorithms.geometry import CountedSet

        if cell.epsilon is not None:
            experiment = experiment.model_copy(update={"epsilon": (cell.epsilon,)})
        stream = problem.stream
        kinds = ("linear" in stream.traits, "arms" in stream.traits)
        visible = BanditProblem(CountedSet(problem.domain), cell.horizon, stream.lipschitz, *kinds)
        budgets = interface.budgets_of(experiment, learner_class.card)
        return learner_class(visible, budgets, experiment.runs, variant)

    def play(self, learner: BanditLearner, problem: Instance, cell: BanditCell, draws: interface.Draws) -> pd.DataFrame:
        from dpregret.algorithms.bandits.bandit_learner import Given
        from dpregret.datasets.bandit_streams import BanditComparator

        stream, plan = problem.stream, learner.plan
        participations = [interface.rounds_of_record(stream, cell.horizon)] * len(learner.budgets)
        accounts = interface.accounts(learner, summed=True, participations=participations)
        comparator = draws.comparator(BanditComparator, stream, draws.generators(cell.label), cell.horizon)
        beyond = learner.exploration * math.sqrt(cell.dimension)  # in the units of `violation`, at most
        source = CheckedSource(stream.source(draws.generators(cell.label)), cell.horizon, problem.domain, beyond)
        inputs = Given(source, draws.generators("directions"), draws.generators("noise"), source.advance)
        started = process_time()
        with interface.unchanged_inputs(set=problem.domain, stream=stream):
            record = learner.play(inputs)
        seconds = process_time() - started - learner.apart
        source.close()
        shape = settings, runs = len(learner.budgets), draws.runs
        largest = stream.lipschitz * (problem.domain.diameter + learner.exploration)
        smallest = -stream.lipschitz * learner.exploration
        slack = 1 + TOLERANCE  # of sums of rounded numbers
        range_of = cell.horizon * slack * np.array([smallest, largest])
        losses = numbers("losses", record.losses, shape, *range_of)
        check_violation(float(record.violation), problem.domain)
        of_settings = accounts | {
            "bound": finite("bound", learner.bound(), (settings,), unknown=True),
            "displacement": finite("displacement", record.displacement, (settings,), 0.0),
        }
        return interface.frame(
            shape,
            of_settings,
            **cell.columns(),
            tight=stream.tight,
            regret=losses - comparator.losses,
            trivial_regret=comparator.stay - comparator.losses,
            comparator_gap=comparator.gaps,
            clipped=numbers("share of clipped values", record.clipped, shape, 0.0, 1.0),
            noise_distribution=plan.distribution if plan is not None else "none",
            violation=record.violation,
            **interface.costs(cast("CountedSet", learner.domain), seconds, cell.horizon * runs * settings),
            solves=0.0,
        )

    def blame_learner(self, error: BaseException, cell: BanditCell, experiment: BanditExperiment) -> KeyPath | None:
        """Learners refuse horizons: too short ones, or those that are not squares."""
        return ("horizon", experiment.horizon.index(cell.horizon))


class CheckedSource:
    """The source of losses of a bandit: counts its rounds, and checks points now and then.

    domain, beyond: the set, and by how much points may leave it. Losses that have a
    text are played in compiled code, whose learners are checked where they report.
    """

    def __init__(self, source: LossSource, horizon: int, domain: ConstraintSet, beyond: float):
        self.source, self.horizon, self.domain, self.beyond = source, horizon, domain, beyond
        self.requested = self.done = self.checks = 0

    def __call__(self, rounds: int) -> CheckedBatch:
        """The next rounds."""
        self.requested += rounds
        if self.requested > self.horizon:
            raise LearnerFault(f"it asked for {self.requested} rounds of {self.horizon}")
        return CheckedBatch(self, self.source(rounds))

    def advance(self, rounds: int) -> None:
        """Rounds that the learner says it has played, no more than there are."""
        self.done += rounds
        if not 0 <= rounds <= self.done <= self.horizon:
            raise LearnerFault(f"it told of {self.done} rounds played, of {self.horizon}")

    def check(self, points: Array) -> None:
        """Check the first round of a batch, in the calls 1, 2, 4, ... and every 64th."""
        self.checks += 1
        if self.checks & (self.checks - 1) and self.checks % 64:
            return
        check_shape(points, (*np.shape(points)[:-1], self.domain.dimension))
        check_inside(points[..., :1, :], self.domain, self.beyond)

    def close(self) -> None:
        """Raise LearnerFault where the learner has left rounds out."""
        if self.requested != self.horizon:
            raise LearnerFault(f"it played {self.requested} rounds of {self.horizon}")


class CheckedBatch:
    """Losses of consecutive rounds; attributes that compiled rounds need are those of the batch."""

    def __init__(self, source: CheckedSource, batch: LossBatch):
        self.source, self.batch, self.rounds = source, batch, batch.rounds

    def value(self, points: Array) -> Array:
        """Losses of the points, which are checked."""
        self.source.check(points)
        return self.batch.value(points)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch, name)
