"""Online convex optimisation with full information: a learner sees the loss of every round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.core.learner_output import finite
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families import interface
from dpregret.workflows.families.interface import Instance

if TYPE_CHECKING:
    from dpregret.algorithms.geometry import CountedSet
    from dpregret.algorithms.learner import Card, Learner, Record, Setting
    from dpregret.algorithms.privacy import NoisePlan
    from dpregret.datasets.streams import Comparator, Stream
    from dpregret.numerics.arrays import Array

FIRST_RECORDED = 16
"""Every power of two from here on is a checkpoint."""
MEGABYTE = 2**20 / 8
"""Floating-point numbers of a megabyte."""
GROUP_MB = 16
"""Most megabytes of a block of noise, or of losses, of all runs that advance together."""


class OnlineExperiment(interface.ExperimentOnSets):
    """One sweep of online learners.

    ``window`` holds powers of two or the word ``horizon`` (then W = T), ``strong_convexity`` the mu of the synthetic
    losses, or a list of them.
    """

    family: Literal["online"] = "online"
    sweep: Literal["horizon", "dimension", "window", "epsilon", "delta", "strong-convexity", "set", "stream", "none"]
    strong_convexity: interface.OneOrMore[interface.Positive] = 1.0
    window: interface.Windows
    options: dict[str, interface.Plain] = Field(default_factory=dict)

    def mistakes(self) -> Iterator[interface.Mistake]:
        """Windows longer than every horizon."""
        yield from super().mistakes()
        longest = max(self.horizon)
        for position, window in enumerate(self.window):
            if isinstance(window, int) and window > longest:
                message = f"{window} is larger than the largest horizon, {longest} (for W = T write horizon)"
                yield ("window", position), message


@dataclass(frozen=True)
class OnlineCell(interface.Cell):
    """One pass of the loop; mu of the losses."""

    checkpoints: tuple[int, ...]
    strong_convexity: float

    def __str__(self) -> str:
        return f"{super().__str__()}, mu = {self.strong_convexity:g}"

    @property
    def label(self) -> str:
        """The key of the losses of this cell, for their random numbers."""
        return f"data {self.stream} {self.set_name} {self.dimension}"

    def columns(self) -> dict[str, Any]:
        further = {"strong_convexity": self.strong_convexity, "checkpoint": np.array(self.checkpoints)}
        return super().columns() | further


def settings_of(experiment: OnlineExperiment, card: Card, horizon: int) -> list[Setting]:
    """The privacy settings batched in one pass: windows x epsilons x deltas.

    A learner without a window protects the whole sequence.
    """
    from dpregret.algorithms.learner import Setting

    covering = 2 ** max(0, math.ceil(math.log2(horizon)))
    windows = experiment.window if card.windowed and card.private else ("horizon",)
    lengths = [covering if window == "horizon" else window for window in windows]
    return [Setting(length, budget) for length in lengths for budget in interface.budgets_of(experiment, card)]


class Online(interface.Family[OnlineExperiment, OnlineCell, Instance]):
    """Learners of algorithms/online on streams of losses."""

    name = "online"
    experiment = OnlineExperiment
    source = "dpregret.datasets.streams:Stream"
    audit = "dpregret.workflows.audit.online:AuditedOnline"
    anytime = True

    def needs(self, learner_class: type[Any]) -> frozenset[str]:
        """The needs on its card, strong convexity among them unless it is declared to do without."""
        return learner_class.card.all_needs

    def cells(self, experiment: OnlineExperiment, card: Card) -> Iterator[OnlineCell]:
        """Every set, stream, dimension and horizon.

        An anytime learner plays the longest horizon once and is recorded on the way; any other restarts for every
        horizon.
        """
        horizons = [max(experiment.horizon)] if card.anytime else sorted(experiment.horizon)
        for set_name, stream in itertools.product(experiment.sets, experiment.streams):
            combinations = itertools.product(
                experiment.dimensions(set_name), horizons, interface.as_tuple(experiment.strong_convexity)
            )
            for dimension, horizon, curvature in combinations:
                powers = {2**k for k in range(int(math.log2(horizon)) + 1) if 2**k >= FIRST_RECORDED}
                recorded = {length for length in experiment.horizon if length <= horizon} | powers | {horizon}
                yield OnlineCell(stream, set_name, dimension, horizon, tuple(sorted(recorded)), curvature)

    def problem(self, cell: OnlineCell, experiment: OnlineExperiment, draws: interface.Draws) -> Instance:
        """The set and the stream."""
        from dpregret.algorithms.geometry import make_set
        from dpregret.datasets.streams import make_stream

        domain = make_set(cell.set_name, cell.dimension)
        options: dict[str, Any] = experiment.options
        arguments = {"strong_convexity": cell.strong_convexity, "data_dir": draws.data_dir} | options
        return Instance(domain, make_stream(cell.stream, domain, **arguments))

    def learner(
        self, learner_class: type[Any], problem: Instance, cell: OnlineCell, experiment: OnlineExperiment, variant: str
    ) -> Learner:
        """With all settings of the cell, on a set that counts its calls."""
        from dpregret.algorithms.geometry import CountedSet
        from dpregret.algorithms.geometry.set_kinds import SolvedSet
        from dpregret.algorithms.learner import Problem

        stream, set_class = problem.stream, SolvedSet if "solver" in learner_class.card.needs else CountedSet
        constants = stream.lipschitz, stream.strong_convexity, stream.smoothness
        visible = Problem(set_class(problem.domain), cell.horizon, *constants, best_loss=stream.best_loss)
        settings = settings_of(experiment, learner_class.card, cell.horizon)
        return learner_class(visible, settings, experiment.runs, variant)

    def play(self, learner: Learner, problem: Instance, cell: OnlineCell, draws: interface.Draws) -> pd.DataFrame:
        from dpregret.algorithms.learner import Record

        stream, count = problem.stream, len(learner.settings)
        size = runs_a_group(count, draws.runs, cell.dimension, stream.drawn)
        comparator = _comparator(stream, draws, cell, size)
        with interface.unchanged_inputs(set=problem.domain, stream=stream):
            groups = list(_groups(learner, stream, cell, draws, size))
        record, solves = Record.joined([record for _, record in groups]), sum(solves for solves, _ in groups)
        served = cell.horizon * draws.runs * count
        participations = [
            interface.rounds_of_record(stream, cell.horizon, protected) for protected in learner.protected
        ]
        plan, accounts = learner.noise_plan, interface.accounts(learner, summed=True, participations=participations)
        shape, recorded = (count, cell.horizon), np.array(cell.checkpoints) - 1
        displacement = finite("displacement", learner.displacement(cell.horizon), shape, 0.0)[:, recorded]
        of_settings = accounts | {
            "window": [setting.window for setting in learner.settings],
            "bound": finite("bound", learner.bound(cell.horizon), shape, unknown=True)[:, recorded],
            "displacement": displacement / (learner.domain.diameter / 2),
            "noise_scale": np.nan_to_num(accounts["noise_scale"]),
            "violation": record.violation,
        }
        if learner.regularisation is not None:
            of_settings["regularisation"] = learner.regularisation
        if plan is not None and plan.distribution != "laplace":
            of_settings["noise_floor"] = _noise_floor(learner, plan, cell)
        comparators = {"regret_pieces": comparator.pieces, "regret_last": comparator.last}
        no_ridge = {} if "strongly-convex" in stream.traits else {"strong_convexity": np.nan}
        return interface.frame(
            record.losses.shape,
            of_settings,
            **(cell.columns() | no_ridge),
            tight=stream.tight,
            regret=record.losses - comparator.losses.T,
            trivial_regret=(comparator.stay - comparator.losses).T,
            comparator_gap=comparator.gaps.T,
            **{name: record.losses - best.T for name, best in comparators.items() if best is not None},
            noise_norm=record.noise_norms,
            noise_distribution=plan.distribution if plan is not None else "none",
            **interface.costs(cast("CountedSet", learner.domain), record.seconds, served),
            solves=solves / served,
            **({} if math.isnan(learner.most_calls) else {"most_calls": learner.most_calls}),
        )

    def trial(self, experiment: OnlineExperiment) -> OnlineExperiment:
        """The shortest and the longest horizon: what lies between them differs in no kind."""
        ends = {min(experiment.horizon), max(experiment.horizon)}
        return experiment.model_copy(update={"horizon": tuple(sorted(ends))})

    def blame_learner(self, error: BaseException, cell: OnlineCell, experiment: OnlineExperiment) -> KeyPath | None:
        """A window of the experiment."""
        from dpregret.algorithms.privacy.trees import WindowError

        if isinstance(error, WindowError) and error.window in experiment.window:
            return ("window", experiment.window.index(error.window))
        return None


def runs_a_group(settings: int, runs: int, dimension: int, drawn: bool) -> int:
    """How many runs advance together: all, unless a block of their noise or losses is too large to be had cheaply.

    drawn: losses have random parameters. Beyond some ten megabytes an array is new memory each time that it is made,
    which the kernel fills with zeros first: in 10^5 dimensions that takes as long as drawing. Fewer runs share Python's
    price of a round.
    """
    from dpregret.algorithms.privacy import BLOCK as NOISE_BLOCK
    from dpregret.datasets.streams import BLOCK as LOSS_BLOCK

    block = max(NOISE_BLOCK * settings, LOSS_BLOCK * drawn) * dimension / MEGABYTE
    return max(1, min(runs, int(GROUP_MB / block)))


def _groups(
    learner: Learner, stream: Stream, cell: OnlineCell, draws: interface.Draws, size: int
) -> Iterator[tuple[int, Record]]:
    """Play the runs in groups: what a run draws depends on its own generators only, so its rows on no other run.

    Yields what was solved, and the record: learners of all groups would hold as much as one of all runs.
    """
    from dpregret.algorithms.learner import play

    data, noise = draws.generators(cell.label), draws.generators("noise")
    for first in range(0, draws.runs, size):
        group, part = slice(first, first + size), learner
        if size < draws.runs:
            part = type(learner)(learner.problem, learner.settings, len(noise[group]), learner.variant)
        record = play(part, stream.rounds(data[group], cell.horizon), noise[group], cell.checkpoints)
        yield part.solves, record


def _comparator(stream: Stream, draws: interface.Draws, cell: OnlineCell, size: int) -> Comparator:
    """Group by group, where the others' runs are not in a run's last bit."""
    from dpregret.datasets.streams import Comparator

    generators = draws.generators(cell.label)
    groups = range(0, draws.runs, size if stream.apart else draws.runs)
    parts = (generators[first : first + groups.step] for first in groups)
    return Comparator.joined([draws.comparator(Comparator, stream, part, cell.checkpoints) for part in parts])


def _noise_floor(learner: Learner, plan: NoisePlan, cell: OnlineCell) -> Array:
    """Least mean norm of noise of the plan's law that protects the window, (settings, checkpoints).

    Of any Gaussian noise, or of any linear mechanism with norm-Gamma noise.
    """
    from dpregret.algorithms.privacy.toeplitz import norm_floor, pure_norm_floor

    gaussian = plan.distribution == "gaussian"
    floor = norm_floor if gaussian else pure_norm_floor
    floors = []
    for line, setting in zip(plan.releases(), learner.settings, strict=True):
        unit = line.sensitivity / (line.mu() if gaussian else line.epsilon(0.0))
        floors.append([unit * floor(setting.window, rounds, plan.dimension) for rounds in cell.checkpoints])
    return np.array(floors)
