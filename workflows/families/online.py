"""Online convex optimisation with full information: a learner sees the loss of every round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.workflows.families.base import MEGABYTE, Advance, Counts, Draws, Family
from dpregret.workflows.families.fields import ExperimentOnSets, Mistake, Plain, Windows

if TYPE_CHECKING:
    from dpregret.algorithms.geometry import ConstraintSet, CountedSet
    from dpregret.algorithms.learner import Card, Learner, Record, Setting
    from dpregret.algorithms.privacy import NoisePlan
    from dpregret.core.arrays import Array
    from dpregret.datasets.base import Comparator, Source, Stream
    from dpregret.workflows.audits.neighbours import Audited
    from dpregret.workflows.audits.settings import Special

ALWAYS_RECORDED = 16  # every power of two from here on is a checkpoint


class OnlineExperiment(ExperimentOnSets):
    """One sweep of online learners.

    ``window`` holds powers of two or the word ``horizon`` (then W = T), ``strong_convexity`` the mu of the synthetic
    losses.
    """

    family: Literal["online"] = "online"
    sweep: Literal["horizon", "dimension", "window", "epsilon", "set", "stream", "none"]
    strong_convexity: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    window: Windows
    options: dict[str, Plain] = Field(default_factory=dict)

    def mistakes(self) -> Iterator[Mistake]:
        """Windows longer than every horizon."""
        yield from super().mistakes()
        longest = max(self.horizon)
        for position, window in enumerate(self.window):
            if isinstance(window, int) and window > longest:
                yield (
                    ("window", position),
                    f"{window} is larger than the largest horizon, {longest} (for W = T write horizon)",
                )


@dataclass(frozen=True)
class Cell:
    """One pass of the loop: everything but the privacy settings, which are batched."""

    set_name: str
    stream: str
    dimension: int
    horizon: int
    checkpoints: tuple[int, ...]


@dataclass(frozen=True)
class OnlineProblem:
    """A constraint set and a stream of losses on it."""

    domain: ConstraintSet
    stream: Stream


def settings_of(experiment: OnlineExperiment, card: Card, horizon: int) -> list[Setting]:
    """The privacy settings batched in one pass: windows x epsilons, or less where the learner has no use for them.

    A learner without a window protects the whole sequence, one without privacy has epsilon = inf.
    """
    from dpregret.algorithms.learner import Setting
    from dpregret.algorithms.privacy import Budget

    covering = 2 ** max(0, math.ceil(math.log2(horizon)))
    if not card.private:
        return [Setting(covering, Budget(math.inf))]
    windows = experiment.window if card.windowed else ("horizon",)
    return [
        Setting(covering if window == "horizon" else window, Budget(epsilon, experiment.delta))
        for window in windows
        for epsilon in experiment.epsilon
    ]


class Online(Family[OnlineExperiment, Cell, OnlineProblem]):
    """Learners of algorithms/online on streams of losses."""

    name = "online"
    experiment = OnlineExperiment
    anytime = True

    def source(self) -> type[Source]:
        """Streams of losses."""
        from dpregret.datasets.base import Stream

        return Stream

    def cells(self, experiment: OnlineExperiment, card: Card) -> Iterator[Cell]:
        """Every set, stream, dimension and horizon.

        An anytime learner plays the longest horizon once and is recorded on the way; any other starts anew for every
        horizon.
        """
        horizons = [max(experiment.horizon)] if card.anytime else sorted(experiment.horizon)
        for set_name in experiment.sets:
            for stream in experiment.streams:
                for dimension in experiment.dimensions(set_name):
                    for horizon in horizons:
                        powers = {2**k for k in range(int(math.log2(horizon)) + 1) if 2**k >= ALWAYS_RECORDED}
                        recorded = {each for each in experiment.horizon if each <= horizon} | powers | {horizon}
                        yield Cell(set_name, stream, dimension, horizon, tuple(sorted(recorded)))

    def problem(self, cell: Cell, experiment: OnlineExperiment, draws: Draws) -> OnlineProblem:
        """The set and the stream; one for all horizons."""
        options = tuple(sorted(experiment.options.items()))
        return _problem(
            cell.set_name, cell.dimension, cell.stream, experiment.strong_convexity, options, draws.data_dir
        )

    def learner(
        self, learner_class: type[Any], problem: OnlineProblem, cell: Cell, experiment: OnlineExperiment, variant: str
    ) -> Learner:
        """With all settings of the cell, on a set that counts its calls."""
        from dpregret.algorithms.geometry import CountedSet
        from dpregret.algorithms.geometry.counted import SolvedSet
        from dpregret.algorithms.learner import Problem

        card, stream = learner_class.card, problem.stream
        counted = SolvedSet if "solver" in card.needs else CountedSet
        told = Problem(
            counted(problem.domain), cell.horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness,
            best_loss=stream.best_loss,
        )  # fmt: skip
        settings = settings_of(experiment, card, cell.horizon)
        learner: Learner = learner_class(told, settings, experiment.runs, variant)
        return learner

    def steps(self, cell: Cell) -> int:
        """Rounds."""
        return cell.horizon

    def play(
        self, learner: Learner, problem: OnlineProblem, cell: Cell, draws: Draws, advance: Advance
    ) -> pd.DataFrame:
        """One row per (setting, run, checkpoint)."""
        from dpregret.algorithms.learner import play

        stream, purpose = problem.stream, f"data {cell.stream} {cell.set_name} {cell.dimension}"
        comparator = stream.comparator(draws.generators(purpose), cell.checkpoints)
        losses = stream.rounds(draws.generators(purpose), cell.horizon)
        record = play(learner, losses, draws.generators("noise"), cell.checkpoints, advance)
        domain = cast("CountedSet", learner.domain)
        per_round = cell.horizon * draws.runs * len(learner.settings)
        return _tidy(learner, cell, record, comparator).assign(
            noise_norm=record.noise_norms.ravel(),
            stream=cell.stream,
            tight=stream.tight,
            violation=record.violation,
            seconds=record.seconds / per_round,
            projections=domain.projections.rows / per_round,
            linear_oracles=domain.linear_oracles.rows / per_round,
            local_oracles=domain.local_oracles.rows / per_round,
            solves=learner.solves / per_round,
            seconds_projection=domain.projections.seconds / per_round,
            seconds_linear_oracle=domain.linear_oracles.seconds / per_round,
            seconds_local_oracle=domain.local_oracles.seconds / per_round,
        )

    def trial(self, experiment: OnlineExperiment) -> OnlineExperiment:
        """The shortest and the longest horizon: what lies between them differs in no kind."""
        ends = {min(experiment.horizon), max(experiment.horizon)}
        return experiment.model_copy(update={"horizon": tuple(sorted(ends))})

    def describe(self, cell: Cell) -> str:
        """Stream, set, dimension and horizon."""
        return f"on {cell.stream!r}, set {cell.set_name!r}, dimension {cell.dimension}, T = {cell.horizon}"

    def work(self, experiment: OnlineExperiment, learner_class: type[Any], variant: str) -> Counts:
        """A round moves (settings, runs, d) numbers, d times as many where d x d matrices are kept.

        Held are blocks of noise and of losses, and curves of one number a round.
        """
        from dpregret.algorithms.privacy import BLOCK as NOISE_BLOCK
        from dpregret.datasets.base import BLOCK as LOSS_BLOCK

        card, parts = learner_class.card, []
        for cell in self.cells(experiment, card):
            many = len(settings_of(experiment, card, cell.horizon))
            points = many * experiment.runs * cell.dimension
            square = cell.dimension if "quadratic" in card.needs else 1
            losses = LOSS_BLOCK * experiment.runs * cell.dimension * self.streams[cell.stream].drawn
            held = 4 * NOISE_BLOCK * points * card.private + 3 * losses
            held += 4 * (many + 1) * cell.horizon + 60 * many * experiment.runs * len(cell.checkpoints)
            parts.append(Counts(cell.horizon, cell.horizon * points * square, held / MEGABYTE))
        return Counts.total(parts)

    def neighbours(
        self,
        learner_class: type[Any],
        variant: str,
        epsilon: float,
        delta: float,
        special: Special,
        seed: Sequence[int],
    ) -> Audited:
        """Points on an interval; one loss turns."""
        from dpregret.workflows.audits.online import WINDOW, AuditedOnline

        rounds = special.rounds or (WINDOW + 1 if learner_class.card.windowed else 8)
        return AuditedOnline(learner_class, variant, epsilon, delta, special.losses, rounds, WINDOW, seed)


@lru_cache(maxsize=8)
def _problem(
    set_name: str, dimension: int, stream: str, strong_convexity: float, options: tuple[tuple[str, Any], ...],
    data_dir: Path | None,
) -> OnlineProblem:  # fmt: skip
    from dpregret.algorithms.geometry import make_set
    from dpregret.datasets.streams import make_stream

    domain = make_set(set_name, dimension)
    made = make_stream(stream, domain, strong_convexity=strong_convexity, data_dir=data_dir, **dict(options))
    return OnlineProblem(domain, made)


def _tidy(learner: Learner, cell: Cell, record: Record, comparator: Comparator) -> pd.DataFrame:
    """Regret and its companions, one row per (setting, run, checkpoint)."""
    losses = record.losses
    settings = len(losses)
    at = np.array(cell.checkpoints) - 1
    plan, ledger = learner.noise_plan, learner.ledger()
    displacement = learner.displacement(cell.horizon)[:, at] / (learner.domain.diameter / 2)

    def spread(values: Array | list[float]) -> Array:
        """(settings, checkpoints) or (settings,) -> one value per row."""
        table = np.asarray(values, dtype=float)
        table = table[:, None, None] if table.ndim == 1 else table[:, None, :]
        return np.broadcast_to(table, losses.shape).ravel()

    tuning = {} if learner.regularisation is None else {"regularisation": spread(learner.regularisation)}
    if plan is not None and plan.distribution == "gaussian":
        tuning["noise_floor"] = spread(_noise_floor(learner, plan, cell))
    setting, run, checkpoint = (index.ravel() for index in np.indices(losses.shape))
    return pd.DataFrame(
        {
            "set": cell.set_name,
            "horizon": cell.horizon,
            "dimension": cell.dimension,
            "window": np.array([each.window for each in learner.settings])[setting],
            "epsilon": spread([budget.epsilon for budget in learner.budgets]),
            "delta": spread([0.0 if learner.pure else budget.delta for budget in learner.budgets]),
            "run": run,
            "checkpoint": np.array(cell.checkpoints)[checkpoint],
            "regret": (losses - comparator.losses.T).ravel(),
            "trivial_regret": np.broadcast_to((comparator.stay - comparator.losses).T, losses.shape).ravel(),
            "bound": spread(learner.bound(cell.horizon)[:, at]),
            "displacement": spread(displacement),
            "comparator_gap": np.broadcast_to(comparator.gaps.T, losses.shape).ravel(),
            "noise_scale": spread([line.scale for line in ledger] or [0.0] * settings),
            "noise_distribution": plan.distribution if plan is not None else "none",
            "delivered_epsilon": spread(learner.delivered_epsilon()),
            "mu_gdp": spread([line.mu() for line in ledger] or [math.nan] * settings),
            **tuning,
        }
    )


def _noise_floor(learner: Learner, plan: NoisePlan, cell: Cell) -> Array:
    """Least mean norm of Gaussian noise that protects the window, (settings, checkpoints)."""
    from dpregret.algorithms.privacy.window_bound import norm_floor

    windows = [setting.window for setting in learner.settings]
    floors = [
        [line.sensitivity / line.mu() * norm_floor(window, rounds, plan.dimension) for rounds in cell.checkpoints]
        for line, window in zip(plan.releases(), windows, strict=True)
    ]
    return np.array(floors)
