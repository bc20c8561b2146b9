"""Bandit convex optimisation: a learner sees one number a round, the loss of the point that it played."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.core.checks import TOLERANCE, check_violation, finite, numbers
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families.base import Advance, Draws, Family
from dpregret.workflows.families.checks import CheckedSource, accounts, untouched
from dpregret.workflows.families.fields import ExperimentOnSets, Plain

if TYPE_CHECKING:
    from dpregret.algorithms.bandits.base import BanditLearner
    from dpregret.algorithms.geometry import ConstraintSet, CountedSet
    from dpregret.algorithms.learner import Card
    from dpregret.datasets.bandit_streams import BanditStream
    from dpregret.datasets.base import Source
    from dpregret.workflows.audit.neighbours import Audited
    from dpregret.workflows.audit.settings import Special


class BanditExperiment(ExperimentOnSets):
    """One sweep with bandit feedback; ``family: bandits``.

    Settings as in an online experiment, without windows. ``epsilon`` may hold ``.inf``: the same learner without noise,
    on the same random directions.
    """

    family: Literal["bandits"]
    sweep: Literal["horizon", "dimension", "epsilon", "set", "stream", "none"]
    options: dict[str, Plain] = Field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One play: everything but the privacy settings, which are batched; epsilon where the stream is aimed at one."""

    set_name: str
    stream: str
    dimension: int
    horizon: int
    epsilon: float | None = None

    @property
    def label(self) -> str:
        """The key of the losses of this cell, for their random numbers."""
        return f"bandit {self.stream} {self.set_name} {self.dimension}"


@dataclass(frozen=True)
class StreamOnSet:
    """A constraint set and a stream of losses on it; None where its data have not been read."""

    domain: ConstraintSet
    stream: BanditStream | None


class Bandits(Family[BanditExperiment, Cell, StreamOnSet]):
    """Learners of algorithms/bandits on streams of bandit losses."""

    name = "bandits"
    experiment = BanditExperiment

    def source(self) -> type[Source]:
        """Streams of bandit losses."""
        from dpregret.datasets.bandit_streams import BanditStream

        return BanditStream

    def cells(self, experiment: BanditExperiment, card: Card) -> Iterator[Cell]:
        """Every combination; all learners receive the horizon, and a stream that is aimed makes a cell an epsilon."""
        budgets = experiment.epsilon if card.private else (math.inf,)
        for set_name, stream in itertools.product(experiment.sets, experiment.streams):
            aims = budgets if self.streams[stream].aimed else (None,)  # type: ignore[attr-defined]
            for dimension, horizon in itertools.product(experiment.dimensions(set_name), experiment.horizon):
                yield from (Cell(set_name, stream, dimension, horizon, epsilon) for epsilon in aims)

    def problem(self, cell: Cell, experiment: BanditExperiment, draws: Draws) -> StreamOnSet:
        """The set and the stream."""
        from dpregret.algorithms.geometry import make_set
        from dpregret.datasets.bandit_streams import make_bandit_stream
        from dpregret.datasets.base import UnreadDataError

        domain = make_set(cell.set_name, cell.dimension)
        aim = (cell.horizon, math.inf if cell.epsilon is None else cell.epsilon)
        try:
            stream = make_bandit_stream(cell.stream, domain, aim, data_dir=draws.data_dir, **experiment.options)
        except UnreadDataError:
            return StreamOnSet(domain, None)
        return StreamOnSet(domain, stream)

    def learner(
        self, learner_class: type[Any], problem: StreamOnSet, cell: Cell, experiment: BanditExperiment, variant: str
    ) -> BanditLearner:
        """With all privacy budgets of the cell, on a set that counts its calls."""
        from dpregret.algorithms.bandits.base import BanditProblem
        from dpregret.algorithms.geometry import CountedSet
        from dpregret.algorithms.privacy import Budget

        budgets = [Budget(math.inf)]
        if learner_class.card.private:
            asked = experiment.epsilon if cell.epsilon is None else (cell.epsilon,)
            budgets = [Budget(*each) for each in itertools.product(asked, experiment.deltas)]
        lipschitz, traits = 1.0, frozenset[str]()
        if problem.stream is not None:
            lipschitz, traits = problem.stream.lipschitz, problem.stream.traits
        visible = BanditProblem(
            CountedSet(problem.domain), cell.horizon, lipschitz, "linear" in traits, "arms" in traits
        )
        learner: BanditLearner = learner_class(visible, budgets, experiment.runs, variant)
        return learner

    def steps(self, cell: Cell) -> int:
        """Rounds."""
        return cell.horizon

    def play(
        self, learner: BanditLearner, problem: StreamOnSet, cell: Cell, draws: Draws, advance: Advance
    ) -> pd.DataFrame:
        from dpregret.algorithms.bandits.base import Given
        from dpregret.datasets.bandit_streams import BanditComparator

        stream, budgets, plan, ledger = problem.stream, learner.budgets, learner.plan, accounts(learner, summed=True)
        assert stream is not None  # a play has a folder of data
        comparator = draws.comparator(BanditComparator, stream, draws.generators(cell.label), cell.horizon)
        beyond = learner.exploration * math.sqrt(cell.dimension)  # in the units of `violation`, at most
        source = CheckedSource(
            stream.source(draws.generators(cell.label)), cell.horizon, problem.domain, beyond, advance
        )
        given = Given(source, draws.generators("directions"), draws.generators("noise"), source.advance)
        started = process_time()
        with untouched(set=problem.domain, stream=stream):
            record = learner.play(given)
        seconds = process_time() - started - learner.apart
        source.close()
        shape, most = (len(budgets), draws.runs), stream.lipschitz * (problem.domain.diameter + learner.exploration)
        least = -stream.lipschitz * learner.exploration
        slack = 1 + TOLERANCE  # of sums of rounded numbers
        range_of = cell.horizon * slack * np.array([least, most])
        regret = numbers("losses", record.losses, shape, *range_of) - comparator.losses
        check_violation(float(record.violation), problem.domain)
        per_round = cell.horizon * draws.runs * len(budgets)
        setting, run = (index.ravel() for index in np.indices(regret.shape))
        domain = cast("CountedSet", learner.domain)
        return pd.DataFrame(
            {
                "epsilon": np.array([budget.epsilon for budget in budgets])[setting],
                "delta": np.array([0.0 if learner.pure else budget.delta for budget in budgets])[setting],
                "run": run,
                "regret": regret.ravel(),
                "trivial_regret": np.broadcast_to(comparator.stay - comparator.losses, regret.shape).ravel(),
                "comparator_gap": np.broadcast_to(comparator.gaps, regret.shape).ravel(),
                "bound": finite("bound", learner.bound(), (len(budgets),), unknown=True)[setting],
                "displacement": finite("displacement", record.displacement, (len(budgets),), 0.0)[setting],
                "clipped": numbers("share of clipped values", record.clipped, shape, 0.0, 1.0).ravel(),
                "delivered_epsilon": ledger.delivered[setting],
                "noise_scale": ledger.scales[setting],
                "mu_gdp": ledger.mus[setting],
            }
        ).assign(
            set=cell.set_name,
            stream=cell.stream,
            tight=stream.tight,
            dimension=cell.dimension,
            horizon=cell.horizon,
            checkpoint=cell.horizon,
            window=0,
            noise_distribution=plan.distribution if plan is not None else "none",
            noise_norm=0.0,
            violation=record.violation,
            projections=domain.projections.rows / per_round,
            linear_oracles=domain.linear_oracles.rows / per_round,
            local_oracles=0.0,
            solves=0.0,
            seconds=seconds / per_round,
            seconds_projection=domain.projections.seconds / per_round,
            seconds_linear_oracle=domain.linear_oracles.seconds / per_round,
            seconds_local_oracle=0.0,
        )

    def describe(self, cell: Cell) -> str:
        """Stream, set, dimension and horizon, and the epsilon that the stream is aimed at."""
        aim = "" if cell.epsilon is None else f", epsilon = {cell.epsilon:g}"
        return f"on {cell.stream!r}, set {cell.set_name!r}, dimension {cell.dimension}, T = {cell.horizon}{aim}"

    def blame_learner(self, error: BaseException, cell: Cell, experiment: BanditExperiment) -> KeyPath | None:
        """Learners refuse horizons: too short ones, or those that are not squares."""
        return ("horizon", experiment.horizon.index(cell.horizon))

    def neighbours(
        self,
        learner_class: type[Any],
        variant: str,
        epsilon: float,
        delta: float,
        special: Special,
        seed: Sequence[int],
    ) -> Audited:
        """The unit disc; one observed number is replaced."""
        from dpregret.workflows.audit.bandits import AuditedBandit

        return AuditedBandit(learner_class, variant, epsilon, delta, special.rounds or 25, seed)
