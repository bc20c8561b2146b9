"""Prediction with expert advice: a learner plays one of d experts and sees the losses of all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.core.checks import TOLERANCE, finite, numbers
from dpregret.core.yaml_source import KeyPath
from dpregret.paper_figs.judge.runs import OPTIONS
from dpregret.workflows.families.base import Advance, Draws, Family
from dpregret.workflows.families.checks import accounts, untouched
from dpregret.workflows.families.fields import Experiment, Losses, Mistake, Option, Sizes

START = 500  # rounds that starting a play is worth

if TYPE_CHECKING:
    from dpregret.algorithms.experts.base import ExpertLearner, ExpertProblem
    from dpregret.algorithms.learner import Card
    from dpregret.datasets.base import Source
    from dpregret.datasets.expert_streams import ExpertStream
    from dpregret.workflows.audit.neighbours import Audited
    from dpregret.workflows.audit.settings import Special


class ExpertExperiment(Experiment):
    """One sweep with expert advice; ``family: experts``.

    ``experts`` numbers of experts, ``streams`` names of expert streams, ``best_loss`` public bounds on the loss of the
    best expert (left out: what the stream declares, if anything); an option of the stream may be a list, then each of
    its values makes a cell.
    """

    family: Literal["experts"]
    sets: ClassVar[tuple[str, ...]] = ("experts",)
    sweep: Literal["horizon", "experts", "dimension", "epsilon", "delta", "best-loss", "option", "stream", "none"]
    dimension: Sizes = Field(alias="experts")
    best_loss: Losses | None = None
    options: dict[str, Option] = Field(default_factory=dict)

    def mistakes(self) -> Iterator[Mistake]:
        """Options that vary but do not identify rows."""
        yield from super().mistakes()
        for name, values in self.options.items():
            if isinstance(values, tuple) and name not in OPTIONS:
                yield ("options", name), f"may not be a list: options that may are {', '.join(OPTIONS)}"


@dataclass(frozen=True)
class Cell:
    """One play: a stream, its size and length, what is known of it, and the privacy budget."""

    stream: str
    experts: int
    horizon: int
    best_loss: float | None
    epsilon: float
    delta: float
    options: tuple[tuple[str, Any], ...]

    @property
    def label(self) -> str:
        """The key of the losses of this cell, for their random numbers."""
        return f"experts {self.stream} {self.experts} {self.shape}"

    @property
    def shape(self) -> dict[str, Any]:
        """Options that make other losses: clipping keeps them, except for those out of range."""
        return {name: value for name, value in self.options if name != "clip"}


@dataclass(frozen=True)
class StreamOfExperts:
    """The input of learners, and the stream itself; None where its data have not been read."""

    visible: ExpertProblem
    stream: ExpertStream | None


class Experts(Family[ExpertExperiment, Cell, StreamOfExperts]):
    """Learners of algorithms/experts on streams of expert losses."""

    name = "experts"
    experiment = ExpertExperiment

    def source(self) -> type[Source]:
        """Streams of expert losses."""
        from dpregret.datasets.expert_streams import ExpertStream

        return ExpertStream

    def cells(self, experiment: ExpertExperiment, card: Card) -> Iterator[Cell]:
        """Every combination; a learner without privacy has epsilon = inf and delta = 0 only."""
        for stream, experts, horizon, best_loss, epsilon, delta in itertools.product(
            experiment.streams,
            experiment.dimension,
            experiment.horizon,
            experiment.best_loss or (None,),
            experiment.epsilon if card.private else (math.inf,),
            experiment.deltas if card.private else (0.0,),
        ):
            for options in itertools.product(*experiment.choices()):
                yield Cell(stream, experts, horizon, best_loss, epsilon, delta, options)

    def problem(self, cell: Cell, experiment: ExpertExperiment, draws: Draws) -> StreamOfExperts:
        """The stream; without its data, as many experts in groups of one."""
        from dpregret.algorithms.experts.base import ExpertProblem
        from dpregret.datasets.base import UnreadDataError
        from dpregret.datasets.expert_streams import make_expert_stream

        try:
            stream = make_expert_stream(
                cell.stream,
                cell.experts,
                cell.horizon,
                epsilon=cell.epsilon,
                best_loss=cell.best_loss,
                data_dir=draws.data_dir,
                **dict(cell.options),
            )
        except UnreadDataError:
            return StreamOfExperts(ExpertProblem(np.ones(cell.experts), cell.horizon, cell.best_loss), None)
        return StreamOfExperts(ExpertProblem(stream.sizes, cell.horizon, stream.best_loss, gap=stream.gap), stream)

    def learner(
        self,
        learner_class: type[Any],
        problem: StreamOfExperts,
        cell: Cell,
        experiment: ExpertExperiment,
        variant: str,
    ) -> ExpertLearner:
        """With the budget of the cell."""
        from dpregret.algorithms.privacy import Budget

        budget = Budget(cell.epsilon, cell.delta)
        learner: ExpertLearner = learner_class(problem.visible, budget, experiment.runs, variant)
        return learner

    def play(
        self, learner: ExpertLearner, problem: StreamOfExperts, cell: Cell, draws: Draws, advance: Advance
    ) -> pd.DataFrame:
        from dpregret.datasets.expert_streams import ExpertComparator

        stream, runs, (budget,) = problem.stream, draws.runs, learner.budgets
        assert stream is not None  # a play has a folder of data
        comparator = draws.comparator(ExpertComparator, stream, draws.generators(cell.label))
        started = process_time()
        with untouched(stream=stream):
            rounds = stream.epochs if learner.by_epochs else stream.blocks
            play = learner.play(rounds(draws.generators(cell.label)), draws.generators("noise"))
        seconds = process_time() - started
        most = cell.horizon * (1 + TOLERANCE)  # losses lie in [0, 1]; sums are rounded
        regret = numbers("losses", play.losses, (runs,), -TOLERANCE * most, most) - comparator.best
        advance(1)
        (bound,), ledger = finite("bound", learner.bound(), (1,), unknown=True), accounts(learner)
        return pd.DataFrame(
            {
                "run": np.arange(runs),
                "regret": regret,
                "trivial_regret": comparator.uniform - comparator.best,
                "draws": finite("draws", play.draws, (runs,), 0.0, unknown=True),
            }
            | ({} if play.phases is None else {"phases": finite("phases", play.phases, (runs,), 0.0)})
        ).assign(
            set="experts",
            stream=cell.stream,
            tight=stream.tight,
            dimension=cell.experts if cell.experts < 2**53 else float(cell.experts),
            horizon=cell.horizon,
            checkpoint=cell.horizon,
            epsilon=cell.epsilon,
            delta=0.0 if learner.pure else budget.delta,
            best_loss=math.nan if stream.best_loss is None else stream.best_loss,
            bound=bound,
            lower_bound=stream.lower_bound if learner.pure else math.nan,
            delivered_epsilon=ledger.delivered[0],
            seconds=seconds / (cell.horizon * runs),
            **cell.shape,
        )

    def describe(self, cell: Cell) -> str:
        """Stream, size, length and epsilon."""
        return f"on {cell.stream!r}, {cell.experts} experts, T = {cell.horizon}, epsilon = {cell.epsilon:g}"

    def blame(self, error: BaseException, cell: Cell, experiment: ExpertExperiment) -> KeyPath | None:
        """A refusal begins with the name of the argument that it is about."""
        if "epsilon" in str(error) and cell.epsilon not in experiment.epsilon:
            return None  # only a learner without privacy plays there
        first = str(error).partition(" ")[0].rstrip(":")
        keys: dict[str, KeyPath] = {
            "experts": ("experts", experiment.dimension.index(cell.experts)),
            "best_loss": ("best_loss",),
            "horizon": ("horizon",),
        }
        return keys.get(first, ("options",))

    def neighbours(
        self,
        learner_class: type[Any],
        variant: str,
        epsilon: float,
        delta: float,
        special: Special,
        seed: Sequence[int],
    ) -> Audited:
        """Two experts; the losses of one round change sides."""
        from dpregret.workflows.audit.experts import AuditedExperts
        from dpregret.workflows.audit.settings import ROUNDS

        return AuditedExperts(learner_class, variant, epsilon, delta, special.rounds or ROUNDS, seed)
