"""The rows of one learner of empirical risk minimisation over the whole grid of one experiment."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.erm.base import ErmLearner, ErmProblem
from dpregret.algorithms.geometry import CountedSet, gaussian_width, make_set
from dpregret.algorithms.privacy import Budget, Release
from dpregret.datasets.risks import make_risk
from dpregret.workflows.experiments import ErmExperiment
from dpregret.workflows.registry import DATA_RISKS
from dpregret.workflows.seeds import generators


@dataclass(frozen=True)
class Cell:
    """One data set a run: everything but the privacy settings, which are batched."""

    set_name: str
    risk: str
    dimension: int
    samples: int
    options: tuple[tuple[str, bool | int | float | str], ...]

    @property
    def label(self) -> str:
        """What tells the data of this cell from others, for its random numbers."""
        return f"records {self.risk} {self.set_name} {self.dimension} {self.samples} {dict(self.options)}"


def cells(experiment: ErmExperiment) -> Iterator[Cell]:
    """Yield every combination of set, risk, number of records, dimension and option."""
    choices = [
        [(name, value) for value in (values if isinstance(values, tuple) else (values,))]
        for name, values in experiment.options.items()
    ]
    for set_name, risk, samples in itertools.product(experiment.sets, experiment.streams, experiment.horizon):
        for dimension in experiment.dimensions(set_name, samples):
            for options in itertools.product(*choices):
                yield Cell(set_name, risk, dimension, samples, options)


def erm_rows(
    seed: int,
    experiment: ErmExperiment,
    kind: type[ErmLearner],
    variant: str,
    data_dir: Path,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    """One row per (cell, setting, run); columns as in docs/architecture.md."""
    budgets = [Budget(math.inf)]
    if kind.card.private:
        budgets = [Budget(epsilon, experiment.delta) for epsilon in experiment.epsilon]
    frames = []
    for cell in cells(experiment):
        frames.append(_cell_rows(seed, experiment.runs, kind, variant, cell, budgets, data_dir))
        advance(1)
    return pd.concat(frames, ignore_index=True)


def _cell_rows(
    seed: int, runs: int, kind: type[ErmLearner], variant: str, cell: Cell, budgets: list[Budget], data_dir: Path
) -> pd.DataFrame:
    domain = CountedSet(make_set(cell.set_name, cell.dimension))
    data = {"data_dir": data_dir} if cell.risk in DATA_RISKS else {}
    records = generators(seed, cell.label, runs)
    risk = make_risk(cell.risk, domain.inner, cell.samples, records, **dict(cell.options), **data)
    optimum, _, gaps = risk.optimum()
    learner = kind(ErmProblem(domain, risk), budgets, runs, variant)
    started = process_time()
    points = learner.fit(generators(seed, "noise", runs))
    seconds = (process_time() - started) / (runs * len(budgets))
    excess = risk.value(points) - optimum
    if not np.isfinite(excess).all():
        raise FloatingPointError(f"{kind.card.name} ({variant}) reached a risk that is not finite")
    trivial = risk.value(np.tile(domain.center(), (runs, 1))) - optimum
    width, width_error = _width(cell.set_name, cell.dimension)
    per_run = runs * len(budgets)
    setting, run = (index.ravel() for index in np.indices(excess.shape))
    frame = pd.DataFrame(
        {
            "epsilon": np.array([budget.epsilon for budget in budgets])[setting],
            "delta": np.array([budget.delta for budget in budgets])[setting],
            "run": run,
            "regret": excess.ravel(),
            "trivial_regret": np.broadcast_to(trivial, excess.shape).ravel(),
            "comparator_gap": np.broadcast_to(gaps, excess.shape).ravel(),
            "bound": np.array(learner.bound())[setting],
            "iterations": np.array(learner.iterations())[setting],
            "delivered_epsilon": np.array(learner.delivered_epsilon())[setting],
            **{name: values[setting] for name, values in _ledger(learner, len(budgets)).items()},
        }
    )
    return frame.assign(
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
        violation=float(domain.violation(points).max()),
        projections=domain.projections.rows / per_run,
        linear_oracles=domain.linear_oracles.rows / per_run,
        local_oracles=0.0,
        solves=0.0,
        seconds=seconds,
        seconds_projection=domain.projections.seconds / per_run,
        seconds_linear_oracle=domain.linear_oracles.seconds / per_run,
        seconds_local_oracle=0.0,
        **dict(cell.options),
    )


def _ledger(learner: ErmLearner, settings: int) -> dict[str, np.ndarray]:
    """Columns that only learners with a ledger of releases, or with a cap on their iterations, can fill."""
    lines = learner.ledger() if hasattr(learner, "ledger") else []
    gaussian = all(isinstance(line, Release) and line.distribution == "gaussian" for line in lines)
    uncapped = learner.uncapped_iterations() if hasattr(learner, "uncapped_iterations") else learner.iterations()
    capped = np.array(uncapped) >= np.array(learner.iterations()) + 1  # T itself is rounded
    unknown = np.full(settings, math.nan)
    return {
        "noise_distribution": np.array([line.distribution for line in lines] or ["none"] * settings),
        "noise_scale": np.array([line.scale for line in lines]) if lines else unknown,
        "mu_gdp": np.array([line.mu() if line.nodes else 0.0 for line in lines]) if lines and gaussian else unknown,
        "capped": capped & learner.card.private,
    }


@cache
def _width(set_name: str, dimension: int) -> tuple[float, float]:
    return gaussian_width(make_set(set_name, dimension), np.random.default_rng(dimension))
