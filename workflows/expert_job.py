"""The rows of one learner of experts over the whole grid of one experiment."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.experts.base import ExpertLearner, ExpertProblem
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.expert_streams import make_expert_stream
from dpregret.workflows.experiments import ExpertExperiment
from dpregret.workflows.registry import DATA_EXPERTS
from dpregret.workflows.seeds import generators


@dataclass(frozen=True)
class Cell:
    """One play: a stream, its size and length, what is known of it, and the privacy budget."""

    stream: str
    experts: int
    horizon: int
    best_loss: float | None
    epsilon: float
    options: tuple[tuple[str, bool | int | float | str], ...]

    @property
    def label(self) -> str:
        """What tells the losses of this cell from others, for their random numbers."""
        return f"experts {self.stream} {self.experts} {dict(self.options)}"


def cells(experiment: ExpertExperiment, private: bool) -> Iterator[Cell]:
    """Yield every combination; a learner without privacy has epsilon = inf only."""
    choices = [
        [(name, value) for value in (values if isinstance(values, tuple) else (values,))]
        for name, values in experiment.options.items()
    ]
    for stream, experts, horizon, best_loss, epsilon in itertools.product(
        experiment.streams,
        experiment.dimension,
        experiment.horizon,
        experiment.best_loss or (None,),
        experiment.epsilon if private else (math.inf,),
    ):
        for options in itertools.product(*choices):
            yield Cell(stream, experts, horizon, best_loss, epsilon, options)


def expert_rows(
    seed: int,
    experiment: ExpertExperiment,
    kind: type[ExpertLearner],
    variant: str,
    data_dir: Path,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    """One row per (cell, run); columns as in docs/architecture.md."""
    frames = []
    for cell in cells(experiment, kind.card.private):
        frames.append(_cell_rows(seed, experiment, kind, variant, cell, data_dir))
        advance(1)
    return pd.concat(frames, ignore_index=True)


def _cell_rows(
    seed: int, experiment: ExpertExperiment, kind: type[ExpertLearner], variant: str, cell: Cell, data_dir: Path
) -> pd.DataFrame:
    runs = experiment.runs
    data = {"data_dir": data_dir} if cell.stream in DATA_EXPERTS else {}
    stream = make_expert_stream(
        cell.stream,
        cell.experts,
        cell.horizon,
        epsilon=cell.epsilon,
        best_loss=cell.best_loss,
        **dict(cell.options),
        **data,
    )
    comparator = stream.comparator(generators(seed, cell.label, runs))
    budget = Budget(cell.epsilon, experiment.delta if kind.card.private else 0.0)
    learner = kind(ExpertProblem(stream.sizes, cell.horizon, stream.best_loss), budget, runs, variant)
    started = process_time()
    play = learner.play(stream.blocks(generators(seed, cell.label, runs)), generators(seed, "noise", runs))
    seconds = process_time() - started
    regret = play.losses - comparator.best
    if not np.isfinite(regret).all():
        raise FloatingPointError(f"{kind.card.name} ({variant}) reached a loss that is not finite")
    frame = pd.DataFrame(
        {
            "run": np.arange(runs),
            "regret": regret,
            "trivial_regret": comparator.uniform - comparator.best,
            "draws": play.draws,
        }
    )
    return frame.assign(
        set="experts",
        stream=cell.stream,
        tight=stream.tight,
        dimension=cell.experts,
        horizon=cell.horizon,
        checkpoint=cell.horizon,
        window=0,
        epsilon=cell.epsilon,
        delta=0.0 if learner.pure else budget.delta,
        best_loss=math.nan if stream.best_loss is None else stream.best_loss,
        bound=learner.bound(),
        lower_bound=stream.lower_bound if learner.pure else math.nan,
        delivered_epsilon=learner.delivered_epsilon(),
        mu_gdp=math.nan,
        noise_distribution="none",
        noise_scale=math.nan,
        noise_norm=0.0,
        displacement=0.0,
        comparator_gap=0.0,
        violation=0.0,
        seconds=seconds / (cell.horizon * runs),
        **dict(cell.options),
    )
