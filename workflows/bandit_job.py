"""The rows of one bandit learner over the whole grid of one experiment."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.bandits.base import BanditLearner, BanditProblem
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.bandit_streams import make_bandit_stream
from dpregret.workflows.experiments import BanditExperiment
from dpregret.workflows.registry import DATA_BANDITS
from dpregret.workflows.seeds import generators


@dataclass(frozen=True)
class Cell:
    """One play: everything but the privacy settings, which are batched."""

    set_name: str
    stream: str
    dimension: int
    horizon: int


def cells(experiment: BanditExperiment) -> Iterator[Cell]:
    """Yield every combination; all learners are told the horizon."""
    for set_name, stream in itertools.product(experiment.sets, experiment.streams):
        for dimension, horizon in itertools.product(experiment.dimensions(set_name), experiment.horizon):
            yield Cell(set_name, stream, dimension, horizon)


def bandit_rows(
    seed: int,
    experiment: BanditExperiment,
    kind: type[BanditLearner],
    variant: str,
    data_dir: Path,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    """One row per (cell, setting, run); columns as in docs/architecture.md."""
    budgets = [Budget(math.inf)]
    if kind.card.private:
        budgets = [Budget(epsilon, experiment.delta) for epsilon in experiment.epsilon]
    frames = [
        _cell_rows(seed, experiment, kind, variant, cell, budgets, data_dir, advance) for cell in cells(experiment)
    ]
    return pd.concat(frames, ignore_index=True)


def _cell_rows(
    seed: int,
    experiment: BanditExperiment,
    kind: type[BanditLearner],
    variant: str,
    cell: Cell,
    budgets: list[Budget],
    data_dir: Path,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    runs = experiment.runs
    domain = CountedSet(make_set(cell.set_name, cell.dimension))
    data = {"data_dir": data_dir} if cell.stream in DATA_BANDITS else {}
    stream = make_bandit_stream(cell.stream, domain.inner, **experiment.options, **data)
    label = f"bandit {cell.stream} {cell.set_name} {cell.dimension}"
    comparator = stream.comparator(generators(seed, label, runs), cell.horizon)
    learner = kind(BanditProblem(domain, cell.horizon, stream.lipschitz, stream.linear), budgets, runs, variant)
    started = process_time()
    record = learner.play(
        stream.source(generators(seed, label, runs)),
        generators(seed, "directions", runs),
        generators(seed, "noise", runs),
        advance,
    )
    seconds = process_time() - started
    regret = record.losses - comparator.losses
    if not np.isfinite(regret).all():
        raise FloatingPointError(f"{kind.card.name} ({variant}) reached a loss that is not finite")
    per_round = cell.horizon * runs * len(budgets)
    setting, run = (index.ravel() for index in np.indices(regret.shape))
    plan = getattr(learner, "plan", None)
    ledger = plan.releases() if plan is not None else None
    unknown = np.full(len(budgets), math.nan)
    frame = pd.DataFrame(
        {
            "epsilon": np.array([budget.epsilon for budget in budgets])[setting],
            "delta": np.array([0.0 if learner.pure else budget.delta for budget in budgets])[setting],
            "run": run,
            "regret": regret.ravel(),
            "trivial_regret": np.broadcast_to(comparator.stay - comparator.losses, regret.shape).ravel(),
            "comparator_gap": np.broadcast_to(comparator.gaps, regret.shape).ravel(),
            "bound": np.array(learner.bound())[setting],
            "displacement": record.displacement[setting],
            "clipped": record.clipped.ravel(),
            "delivered_epsilon": np.array(learner.delivered_epsilon())[setting],
            "noise_scale": (np.array(plan.scales) if plan is not None else unknown)[setting],
            "mu_gdp": (np.array([line.mu() for line in ledger]) if ledger else unknown)[setting],
        }
    )
    return frame.assign(
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
