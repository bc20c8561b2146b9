"""Prediction with expert advice: a learner plays one of d experts and sees the losses of all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from dpregret.core.learner_output import TOLERANCE, finite, numbers
from dpregret.core.yaml_source import KeyPath
from dpregret.paper_figs.judge.runs import OPTIONS
from dpregret.workflows.families import interface
from dpregret.workflows.families.interface import Instance

if TYPE_CHECKING:
    from dpregret.algorithms.experts.expert_learner import ExpertLearner
    from dpregret.algorithms.learner import Card


class ExpertExperiment(interface.Experiment):
    """One sweep with expert advice; ``family: experts``.

    ``experts`` numbers of experts, ``streams`` names of expert streams, ``best_loss`` public bounds on the loss of the
    best expert (left out: what the stream declares, if anything); an option of the stream may be a list, then each of
    its values makes a cell.
    """

    family: Literal["experts"]
    sets: ClassVar[tuple[str, ...]] = ("experts",)
    sweep: Literal["horizon", "experts", "dimension", "epsilon", "delta", "best-loss", "option", "stream", "none"]
    dimension: interface.Sizes = Field(alias="experts")
    best_loss: interface.Losses | None = None
    options: dict[str, interface.OneOrMore[interface.Plain]] = Field(default_factory=dict)

    def mistakes(self) -> Iterator[interface.Mistake]:
        """Options that vary but do not identify rows."""
        yield from super().mistakes()
        for name, values in self.options.items():
            if isinstance(values, tuple) and name not in OPTIONS:
                yield ("options", name), f"may not be a list: options that may are {', '.join(OPTIONS)}"


@dataclass(frozen=True)
class ExpertCell(interface.Cell):
    """One play: a stream, its size and length, what is known of it, and the privacy budget. dimension: experts."""

    best_loss: float | None
    epsilon: float
    delta: float
    options: interface.Options

    def __str__(self) -> str:
        return f"{self.stream!r}, {self.dimension} experts, T = {self.horizon}, epsilon = {self.epsilon:g}"

    @property
    def label(self) -> str:
        """The key of the losses of this cell, for their random numbers."""
        return f"experts {self.stream} {self.dimension} {self.shape}"

    @property
    def shape(self) -> dict[str, Any]:
        """Options that make other losses: clipping keeps them, except for those out of range."""
        return {name: value for name, value in self.options if name != "clip"}

    def columns(self) -> dict[str, Any]:
        size = self.dimension if self.dimension < 2**53 else float(self.dimension)
        return super().columns() | {"dimension": size} | self.shape


class Experts(interface.Family[ExpertExperiment, ExpertCell, Instance]):
    """Learners of algorithms/experts on streams of expert losses."""

    name = "experts"
    experiment = ExpertExperiment
    source = "dpregret.datasets.expert_streams:ExpertStream"
    audit = "dpregret.workflows.audit.experts:AuditedExperts"

    def cells(self, experiment: ExpertExperiment, card: Card) -> Iterator[ExpertCell]:
        """Every combination; a learner without privacy has epsilon = inf and delta = 0 only."""
        for stream, experts, horizon, best_loss, budget, options in itertools.product(
            experiment.streams,
            experiment.dimension,
            experiment.horizon,
            experiment.best_loss or (None,),
            interface.budgets_of(experiment, card),
            interface.choices_of(experiment.options),
        ):
            yield ExpertCell(stream, "experts", experts, horizon, best_loss, budget.epsilon, budget.delta, options)

    def problem(self, cell: ExpertCell, experiment: ExpertExperiment, draws: interface.Draws) -> Instance:
        """The stream, on no set."""
        from dpregret.datasets.expert_streams import make_expert_stream

        stream = make_expert_stream(
            cell.stream,
            cell.dimension,
            cell.horizon,
            epsilon=cell.epsilon,
            best_loss=cell.best_loss,
            data_dir=draws.data_dir,
            **dict(cell.options),
        )
        return Instance(None, stream)

    def learner(
        self, learner_class: type[Any], problem: Instance, cell: ExpertCell, experiment: ExpertExperiment, variant: str
    ) -> ExpertLearner:
        """With the budget of the cell."""
        from dpregret.algorithms.experts.expert_learner import ExpertProblem
        from dpregret.algorithms.privacy import Budget

        stream = problem.stream
        visible = ExpertProblem(stream.sizes, cell.horizon, stream.best_loss, gap=stream.gap)
        budget = Budget(cell.epsilon, cell.delta)
        return learner_class(visible, budget, experiment.runs, variant)

    def play(self, learner: ExpertLearner, problem: Instance, cell: ExpertCell, draws: interface.Draws) -> pd.DataFrame:
        from dpregret.datasets.expert_streams import ExpertComparator

        stream, runs = problem.stream, (draws.runs,)
        comparator = draws.comparator(ExpertComparator, stream, draws.generators(cell.label))
        started = process_time()
        with interface.unchanged_inputs(stream=stream):
            rounds = stream.epochs if learner.by_epochs else stream.blocks
            play = learner.play(rounds(draws.generators(cell.label)), draws.generators("noise"))
        seconds = process_time() - started
        largest = cell.horizon * (1 + TOLERANCE)  # losses lie in [0, 1]; sums are rounded
        losses = numbers("losses", play.losses, runs, -TOLERANCE * largest, largest)
        phases = {} if play.phases is None else {"phases": finite("phases", play.phases, runs, 0.0)}
        accounts = interface.accounts(learner, participations=[interface.rounds_of_record(stream, cell.horizon)])
        of_records = {name: accounts[name][0] for name in interface.OF_RECORDS if name in accounts}
        return interface.frame(
            (1, draws.runs),
            {"bound": finite("bound", learner.bound(), (1,), unknown=True)},
            **cell.columns(),
            tight=stream.tight,
            epsilon=cell.epsilon,
            delta=0.0 if learner.pure else cell.delta,
            regret=losses - comparator.best,
            trivial_regret=comparator.uniform - comparator.best,
            draws=finite("draws", play.draws, runs, 0.0, unknown=True),
            **phases,
            best_loss=math.nan if stream.best_loss is None else stream.best_loss,
            lower_bound=stream.lower_bound if learner.pure else math.nan,
            delivered_epsilon=accounts["delivered_epsilon"][0],
            **of_records,
            seconds=seconds / (cell.horizon * draws.runs),
        )

    def key_of_error(self, error: BaseException, cell: ExpertCell, experiment: ExpertExperiment) -> KeyPath | None:
        """A refusal begins with the name of the argument that it is about."""
        if "epsilon" in str(error) and cell.epsilon not in experiment.epsilon:
            return None  # only a learner without privacy plays there
        first = str(error).partition(" ")[0].rstrip(":")
        keys: dict[str, KeyPath] = {
            "experts": ("experts", experiment.dimension.index(cell.dimension)),
            "best_loss": ("best_loss",),
            "horizon": ("horizon",),
        }
        return keys.get(first, ("options",))
