"""The rows of one online learner over the whole grid of one experiment."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.algorithms.geometry import ConstraintSet, CountedSet, make_set
from dpregret.algorithms.geometry.counted import SolvedSet
from dpregret.algorithms.learner import Card, Learner, Problem, Setting, play
from dpregret.algorithms.privacy import Budget
from dpregret.core.arrays import Array
from dpregret.datasets.streams import Comparator, Stream, make_stream
from dpregret.workflows.experiments import Experiment
from dpregret.workflows.registry import DATA_DIMENSIONS
from dpregret.workflows.seeds import generators

ALWAYS_RECORDED = 16  # every power of two from here on is a checkpoint


@dataclass(frozen=True)
class Cell:
    """One pass of the loop: everything but the privacy settings, which are batched."""

    set_name: str
    stream: str
    dimension: int
    horizon: int
    checkpoints: tuple[int, ...]


def cells(experiment: Experiment, card: Card) -> Iterator[Cell]:
    """Yield the passes that an experiment asks of a learner.

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


def settings_of(experiment: Experiment, card: Card, horizon: int) -> list[Setting]:
    """The privacy settings batched in one pass: windows x epsilons, or less where the learner has no use for them.

    A learner without a window protects the whole sequence, one without privacy has epsilon = inf.
    """
    covering = 2 ** max(0, math.ceil(math.log2(horizon)))
    if not card.private:
        return [Setting(covering, Budget(math.inf))]
    windows = experiment.window if card.windowed else ("horizon",)
    return [
        Setting(covering if window == "horizon" else window, Budget(epsilon, experiment.delta))
        for window in windows
        for epsilon in experiment.epsilon
    ]


def online_rows(
    seed: int,
    experiment: Experiment,
    kind: type[Learner],
    variant: str,
    data_dir: Path,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    """One row per (setting, run, checkpoint); columns as in docs/architecture.md."""
    frames = [
        _play_cell(seed, experiment, kind, variant, cell, data_dir, advance) for cell in cells(experiment, kind.card)
    ]
    return pd.concat(frames, ignore_index=True)


def total_rounds(experiment: Experiment, kind: type[Learner]) -> int:
    """Rounds that all passes of a learner play."""
    return sum(cell.horizon for cell in cells(experiment, kind.card))


def _play_cell(
    seed: int,
    settings: Experiment,
    kind: type[Learner],
    variant: str,
    cell: Cell,
    data_dir: Path,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    counted = SolvedSet if "solver" in kind.card.needs else CountedSet
    domain = counted(make_set(cell.set_name, cell.dimension))
    stream = _stream(cell, domain.inner, settings, data_dir)
    purpose = f"data {cell.stream} {cell.set_name} {cell.dimension}"
    comparator = stream.comparator(generators(seed, purpose, settings.runs), cell.checkpoints)
    problem = Problem(
        domain,
        cell.horizon,
        stream.lipschitz,
        stream.strong_convexity,
        stream.smoothness,
        best_loss=getattr(stream, "best_loss", None),
    )
    batch = settings_of(settings, kind.card, cell.horizon)
    learner = kind(problem, batch, settings.runs, variant)
    record = play(
        learner,
        stream.rounds(generators(seed, purpose, settings.runs), cell.horizon),
        generators(seed, "noise", settings.runs),
        cell.checkpoints,
        advance,
    )
    per_round = cell.horizon * settings.runs * len(batch)
    tuning = {"regularisation": getattr(learner, "regularisation", None)}
    return _tidy(learner, cell, record.losses, comparator, tuning).assign(
        noise_norm=record.noise_norms.ravel(),
        stream=cell.stream,
        tight=stream.tight,
        violation=record.violation,
        seconds=record.seconds / per_round,
        projections=domain.projections.rows / per_round,
        linear_oracles=domain.linear_oracles.rows / per_round,
        local_oracles=domain.local_oracles.rows / per_round,
        solves=getattr(learner, "solves", 0) / per_round,
        seconds_projection=domain.projections.seconds / per_round,
        seconds_linear_oracle=domain.linear_oracles.seconds / per_round,
        seconds_local_oracle=domain.local_oracles.seconds / per_round,
    )


def _stream(cell: Cell, domain: ConstraintSet, settings: Experiment, data_dir: Path) -> Stream:
    read = cell.stream in DATA_DIMENSIONS or "source" in settings.options
    data: dict[str, object] = {"data_dir": data_dir} if read else {}
    return make_stream(cell.stream, domain, strong_convexity=settings.strong_convexity, **settings.options, **data)


def _tidy(
    learner: Learner, cell: Cell, losses: Array, comparator: Comparator, tuning: Mapping[str, Array | None]
) -> pd.DataFrame:
    """Regret and its companions, one row per (setting, run, checkpoint); `tuning`: further values, one a setting."""
    settings = len(losses)
    at = np.array(cell.checkpoints) - 1
    plan = learner.noise_plan
    ledger = plan.releases() if plan is not None else [None] * settings
    displacement = learner.displacement(cell.horizon)[:, at] / (learner.domain.diameter / 2)

    def spread(values: Array | list[float]) -> Array:
        """(settings, checkpoints) or (settings,) -> one value per row."""
        table = np.asarray(values, dtype=float)
        table = table[:, None, None] if table.ndim == 1 else table[:, None, :]
        return np.broadcast_to(table, losses.shape).ravel()

    budgets = [setting.budget for setting in learner.settings]
    setting, run, checkpoint = (index.ravel() for index in np.indices(losses.shape))
    return pd.DataFrame(
        {
            "set": cell.set_name,
            "horizon": cell.horizon,
            "dimension": cell.dimension,
            "window": np.array([each.window for each in learner.settings])[setting],
            "epsilon": spread([budget.epsilon for budget in budgets]),
            "delta": spread([0.0 if learner.pure else budget.delta for budget in budgets]),
            "run": run,
            "checkpoint": np.array(cell.checkpoints)[checkpoint],
            "regret": (losses - comparator.losses.T).ravel(),
            "trivial_regret": np.broadcast_to((comparator.stay - comparator.losses).T, losses.shape).ravel(),
            "bound": spread(learner.bound(cell.horizon)[:, at]),
            "displacement": spread(displacement),
            "comparator_gap": np.broadcast_to(comparator.gaps.T, losses.shape).ravel(),
            "noise_scale": spread(list(plan.scales) if plan is not None else [0.0] * settings),
            "noise_distribution": plan.distribution if plan is not None else "none",
            "delivered_epsilon": spread(learner.delivered_epsilon()),
            "mu_gdp": spread([math.nan if release is None else release.mu() for release in ledger]),
            **{name: spread(values) for name, values in tuning.items() if values is not None},
        }
    )
