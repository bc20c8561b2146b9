"""Online convex optimisation with full information: a learner sees the loss of every round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.core.checks import finite
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families.base import MEGABYTE, Advance, Draws, Family, HasTraits
from dpregret.workflows.families.checks import accounts, untouched
from dpregret.workflows.families.fields import (
    ExperimentOnSets,
    Mistake,
    Plain,
    Positives,
    Windows,
)

if TYPE_CHECKING:
    from dpregret.algorithms.geometry import ConstraintSet, CountedSet
    from dpregret.algorithms.learner import Learner, Record, Setting
    from dpregret.algorithms.privacy import NoisePlan
    from dpregret.datasets.base import Source
    from dpregret.datasets.streams import Comparator, Stream
    from dpregret.numerics.arrays import Array
    from dpregret.workflows.audit.neighbours import Audited
    from dpregret.workflows.audit.settings import Special

FIRST_RECORDED = 16
"""Every power of two from here on is a checkpoint."""
GROUP_MB = 16
"""Most megabytes of a block of noise, or of losses, of all runs that advance together."""


class OnlineExperiment(ExperimentOnSets):
    """One sweep of online learners.

    ``window`` holds powers of two or the word ``horizon`` (then W = T), ``strong_convexity`` the mu of the synthetic
    losses, or a list of them.
    """

    family: Literal["online"] = "online"
    sweep: Literal["horizon", "dimension", "window", "epsilon", "delta", "strong-convexity", "set", "stream", "none"]
    strong_convexity: Positives = 1.0
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
    strong_convexity: float


@dataclass(frozen=True)
class OnlineProblem:
    """A constraint set and a stream of losses on it."""

    domain: ConstraintSet
    stream: Stream


def settings_of(experiment: OnlineExperiment, card: HasTraits, horizon: int) -> list[Setting]:
    """The privacy settings batched in one pass; see `pairs_of`."""
    from dpregret.algorithms.learner import Setting
    from dpregret.algorithms.privacy import Budget

    pairs, deltas = pairs_of(experiment, card, horizon), experiment.deltas if card.private else (0.0,)
    return [Setting(window, Budget(epsilon, delta)) for window, epsilon in pairs for delta in deltas]


def pairs_of(experiment: OnlineExperiment, card: HasTraits, horizon: int) -> list[tuple[int, float]]:
    """Windows x epsilons, or less where the learner has no use for them.

    A learner without a window protects the whole sequence, one without privacy has epsilon = inf.
    """
    covering = 2 ** max(0, math.ceil(math.log2(horizon)))
    if not card.private:
        return [(covering, math.inf)]
    windows = experiment.window if card.windowed else ("horizon",)
    lengths = [covering if window == "horizon" else window for window in windows]
    return [(window, epsilon) for window in lengths for epsilon in experiment.epsilon]


class Online(Family[OnlineExperiment, Cell, OnlineProblem]):
    """Learners of algorithms/online on streams of losses."""

    name = "online"
    experiment = OnlineExperiment
    anytime = True

    def source(self) -> type[Source]:
        """Streams of losses."""
        from dpregret.datasets.streams import Stream

        return Stream

    def cells(self, experiment: OnlineExperiment, card: HasTraits) -> Iterator[Cell]:
        """Every set, stream, dimension and horizon.

        An anytime learner plays the longest horizon once and is recorded on the way; any other restarts for every
        horizon.
        """
        horizons = [max(experiment.horizon)] if card.anytime else sorted(experiment.horizon)
        convexity = experiment.strong_convexity
        curvatures = convexity if isinstance(convexity, tuple) else (convexity,)
        for set_name, stream in itertools.product(experiment.sets, experiment.streams):
            places = itertools.product(experiment.dimensions(set_name), horizons, curvatures)
            for dimension, horizon, curvature in places:
                powers = {2**k for k in range(int(math.log2(horizon)) + 1) if 2**k >= FIRST_RECORDED}
                recorded = {each for each in experiment.horizon if each <= horizon} | powers | {horizon}
                yield Cell(set_name, stream, dimension, horizon, tuple(sorted(recorded)), curvature)

    def problem(self, cell: Cell, experiment: OnlineExperiment, draws: Draws) -> OnlineProblem:
        """The set and the stream; one for all horizons."""
        options = tuple(sorted(experiment.options.items()))
        return _problem(cell.set_name, cell.dimension, cell.stream, cell.strong_convexity, options, draws.data_dir)

    def learner(
        self, learner_class: type[Any], problem: OnlineProblem, cell: Cell, experiment: OnlineExperiment, variant: str
    ) -> Learner:
        """With all settings of the cell, on a set that counts its calls."""
        from dpregret.algorithms.geometry import CountedSet
        from dpregret.algorithms.geometry.counted import SolvedSet
        from dpregret.algorithms.learner import Problem

        card, stream = learner_class.card, problem.stream
        counted = SolvedSet if "solver" in card.needs else CountedSet
        visible = Problem(
            counted(problem.domain), cell.horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness,
            best_loss=stream.best_loss,
        )  # fmt: skip
        settings = settings_of(experiment, card, cell.horizon)
        learner: Learner = learner_class(visible, settings, experiment.runs, variant)
        return learner

    def steps(self, cell: Cell) -> int:
        """Rounds."""
        return cell.horizon

    def play(
        self, learner: Learner, problem: OnlineProblem, cell: Cell, draws: Draws, advance: Advance
    ) -> pd.DataFrame:
        from dpregret.algorithms.learner import Record

        stream, many = problem.stream, len(learner.settings)
        size = runs_a_group(many, draws.runs, cell.dimension, stream.drawn)
        comparator = _comparator(stream, draws, cell, size)
        with untouched(set=problem.domain, stream=stream):
            played = list(_groups(learner, stream, cell, draws, size, advance))
        record = Record.joined([record for _, record in played])
        domain, solves = cast("CountedSet", learner.domain), sum(solves for solves, _ in played)
        per_round = cell.horizon * draws.runs * many
        return _tidy(learner, cell, record, comparator).assign(
            noise_norm=record.noise_norms.ravel(),
            stream=cell.stream,
            tight=stream.tight,
            violation=np.repeat(record.violation, draws.runs * len(cell.checkpoints)),
            seconds=record.seconds / per_round,
            **{name: rows / per_round for name, rows in domain.calls().items()},
            solves=solves / per_round,
            **{name: seconds / per_round for name, seconds in domain.seconds().items()},
            **({} if math.isnan(learner.most_calls) else {"most_calls": learner.most_calls}),
        )

    def trial(self, experiment: OnlineExperiment) -> OnlineExperiment:
        """The shortest and the longest horizon: what lies between them differs in no kind."""
        ends = {min(experiment.horizon), max(experiment.horizon)}
        return experiment.model_copy(update={"horizon": tuple(sorted(ends))})

    def describe(self, cell: Cell) -> str:
        """Stream, set, dimension and horizon."""
        place = f"on {cell.stream!r}, set {cell.set_name!r}, dimension {cell.dimension}"
        return f"{place}, T = {cell.horizon}, mu = {cell.strong_convexity:g}"

    def blame_learner(self, error: BaseException, cell: Cell, experiment: OnlineExperiment) -> KeyPath | None:
        """A window of the experiment."""
        from dpregret.algorithms.privacy.trees import WindowError

        if isinstance(error, WindowError) and error.window in experiment.window:
            return ("window", experiment.window.index(error.window))
        return None

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
        from dpregret.workflows.audit.online import SOME_WINDOWS, WINDOW, AuditedOnline
        from dpregret.workflows.audit.settings import ROUNDS

        windowed = learner_class.card.windowed
        rounds = special.rounds or (SOME_WINDOWS if windowed else ROUNDS)
        window = WINDOW if windowed else rounds
        return AuditedOnline(learner_class, variant, epsilon, delta, special.losses, rounds, window, seed)


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


def _data(cell: Cell) -> str:
    """The purpose that the generators of a cell's losses are keyed by."""
    return f"data {cell.stream} {cell.set_name} {cell.dimension}"


def _groups(
    learner: Learner, stream: Stream, cell: Cell, draws: Draws, size: int, advance: Advance
) -> Iterator[tuple[int, Record]]:
    """Play the runs in groups: what a run draws depends on its own generators only, so its rows on no other run.

    Yields what was solved, and the record: learners of all groups would hold as much as one of all runs.
    """
    from dpregret.algorithms.learner import play

    runs = draws.runs
    data, noise = draws.generators(_data(cell)), draws.generators("noise")
    for first in range(0, runs, size):
        own = slice(first, first + size)
        part = learner
        if size < runs:
            part = type(learner)(learner.problem, learner.settings, len(noise[own]), learner.variant)
        share = _Share(advance, len(noise[own]) / runs)
        record = play(part, stream.rounds(data[own], cell.horizon), noise[own], cell.checkpoints, share)
        yield part.solves, record


class _Share:
    """Tells of the rounds of some runs the share that they are of all runs' rounds."""

    def __init__(self, advance: Advance, share: float):
        self.advance, self.share, self.waiting = advance, share, 0.0

    def __call__(self, rounds: int) -> None:
        whole, self.waiting = divmod(self.waiting + rounds * self.share, 1)
        self.advance(int(whole))


def _comparator(stream: Stream, draws: Draws, cell: Cell, size: int) -> Comparator:
    """Group by group, where the others' runs are not in a run's last bit."""
    from dpregret.datasets.streams import Comparator

    generators = draws.generators(_data(cell))
    groups = range(0, draws.runs, size if stream.apart else draws.runs)
    parts = (generators[first : first + groups.step] for first in groups)
    return Comparator.joined([draws.comparator(Comparator, stream, part, cell.checkpoints) for part in parts])


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
    losses, at = record.losses, np.array(cell.checkpoints) - 1
    plan, ledger = learner.noise_plan, accounts(learner, summed=True)
    curve = settings, _ = len(losses), cell.horizon
    displacement = finite("displacement", learner.displacement(cell.horizon), curve, 0.0)

    def spread(values: Array | list[float]) -> Array:
        """(settings, checkpoints) or (settings,) -> one value per row."""
        table = np.asarray(values, dtype=float)
        table = table[:, None, None] if table.ndim == 1 else table[:, None, :]
        return np.broadcast_to(table, losses.shape).ravel()

    tuning = {} if learner.regularisation is None else {"regularisation": spread(learner.regularisation)}
    if plan is not None and plan.distribution != "laplace":
        tuning["noise_floor"] = spread(_noise_floor(learner, plan, cell))
    others = {"regret_pieces": comparator.pieces, "regret_last": comparator.last}
    tuning |= {name: (losses - each.T).ravel() for name, each in others.items() if each is not None}
    setting, run, checkpoint = (index.ravel() for index in np.indices(losses.shape))
    return pd.DataFrame(
        {
            "set": cell.set_name,
            "horizon": cell.horizon,
            "dimension": cell.dimension,
            "strong_convexity": cell.strong_convexity,
            "window": np.array([each.window for each in learner.settings])[setting],
            "epsilon": spread([budget.epsilon for budget in learner.budgets]),
            "delta": spread([0.0 if learner.pure else budget.delta for budget in learner.budgets]),
            "run": run,
            "checkpoint": np.array(cell.checkpoints)[checkpoint],
            "regret": (losses - comparator.losses.T).ravel(),
            "trivial_regret": np.broadcast_to((comparator.stay - comparator.losses).T, losses.shape).ravel(),
            "bound": spread(finite("bound", learner.bound(cell.horizon), curve, unknown=True)[:, at]),
            "displacement": spread(displacement[:, at] / (learner.domain.diameter / 2)),
            "comparator_gap": np.broadcast_to(comparator.gaps.T, losses.shape).ravel(),
            "noise_scale": spread(ledger.scales if ledger.lines else [0.0] * settings),
            "noise_distribution": plan.distribution if plan is not None else "none",
            "delivered_epsilon": spread(ledger.delivered),
            "mu_gdp": spread(ledger.mus),
            **tuning,
        }
    )


def _noise_floor(learner: Learner, plan: NoisePlan, cell: Cell) -> Array:
    """Least mean norm of noise of the plan's law that protects the window, (settings, checkpoints).

    Of any Gaussian noise, or of any linear mechanism with norm-Gamma noise.
    """
    from dpregret.algorithms.privacy.window_bound import norm_floor, pure_norm_floor

    windows = [setting.window for setting in learner.settings]
    gaussian = plan.distribution == "gaussian"
    floor = norm_floor if gaussian else pure_norm_floor
    units = [line.sensitivity / (line.mu() if gaussian else line.epsilon(0.0)) for line in plan.releases()]
    floors = [
        [unit * floor(window, rounds, plan.dimension) for rounds in cell.checkpoints]
        for unit, window in zip(units, windows, strict=True)
    ]
    return np.array(floors)
