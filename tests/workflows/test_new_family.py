"""A new kind of problem is one module, with its learners and streams beside it: no existing file is touched."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

MINE = ("--config", "profile=mine.yaml")
FAMILY = '''
"""Forecasting: a learner predicts a number a round and pays the squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from dpregret.workflows.families.base import Family
from dpregret.workflows.families.base import Experiment


class ForecastExperiment(Experiment):
    """``family: forecasts``."""

    family: Literal["forecasts"]
    sweep: Literal["horizon", "stream"]


@dataclass(frozen=True)
class Cell:
    """A stream and its length."""

    stream: str
    horizon: int


class Forecasts(Family):
    """Learners of algorithms/forecasts."""

    name = "forecasts"
    experiment = ForecastExperiment
    source = "dpregret.datasets.forecast_streams:ForecastStream"

    def cells(self, experiment, card):
        return (Cell(stream, horizon) for stream in experiment.streams for horizon in experiment.horizon)

    def problem(self, cell, experiment, draws):
        numbers = self.streams[cell.stream](**experiment.options)
        return numbers.sequence(draws.generators(f"forecasts {cell.stream}"), cell.horizon)

    def learner(self, learner_class, problem, cell, experiment, variant):
        return learner_class(cell.horizon, [], experiment.runs, variant)

    def play(self, learner, problem, cell, draws):
        paid = np.square(learner.forecasts(problem) - problem).sum(axis=1)
        best = problem.var(axis=1) * cell.horizon
        frame = pd.DataFrame({"run": np.arange(draws.runs), "regret": paid - best})
        return frame.assign(
            stream=cell.stream, set="line", dimension=1, horizon=cell.horizon, checkpoint=cell.horizon,
            epsilon=np.inf, delta=0.0, delivered_epsilon=np.inf, tight=False,
            trivial_regret=np.square(problem).sum(axis=1) - best,
        )
'''
LEARNERS = '''
"""The mean so far."""

import numpy as np

from dpregret.algorithms.learner import BaseLearner, Card


class RunningMean(BaseLearner):
    """Predicts the mean of what it has seen, at first 0."""

    card = Card(name="running-mean", title="Running mean", paper="folklore", reference="-",
                variants={"plain": "all numbers count alike"}, private=False)

    def forecasts(self, numbers):
        """(runs, rounds), each from the rounds before it."""
        seen = np.cumsum(numbers, axis=1) - numbers
        return seen / np.maximum(np.arange(numbers.shape[1]), 1)
'''
STREAMS = '''
"""Sequences of numbers to be forecast."""

import numpy as np

from dpregret.datasets.base import Source


class ForecastStream(Source):
    """A sequence of numbers."""


class NoisyLevel(ForecastStream):
    """A level plus standard normal noise."""

    name = "noisy-level"

    def __init__(self, level: float = 1.0) -> None:
        self.level = level

    def sequence(self, generators, horizon):
        """(runs, horizon)."""
        return self.level + np.stack([generator.standard_normal(horizon) for generator in generators])
'''
FILES = {
    "workflows/families/forecasts.py": FAMILY,
    "algorithms/forecasts/__init__.py": '\n"""Forecasting."""\n',
    "algorithms/forecasts/mean.py": LEARNERS,
    "datasets/forecast_streams.py": STREAMS,
}
EXPERIMENT = {
    "family": "forecasts", "title": "Forecasting against the horizon", "sweep": "horizon", "streams": ["noisy-level"],
    "horizon": [64, 256, 1024, 4096], "epsilon": [1.0], "delta": 1e-6, "runs": 8, "options": {"level": 2.0},
    "learners": {"running-mean": ["plain"]},
}  # fmt: skip


@pytest.fixture
def extended(checkout: Any) -> Any:
    """A checkout with the files of a new family, none of which was there."""
    for name, content in FILES.items():
        path: Path = checkout.root / name
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(content.lstrip("\n"))
    return checkout


def settings(**changes: Any) -> str:
    papers = {"lou_cheung_2020": {"experiments": {"forecasting": {**EXPERIMENT, **changes}}}}
    return yaml.safe_dump({"profile": "mine", "seed": 7, "papers": papers}, sort_keys=False)


@pytest.mark.workflow
def test_new_family_runs_to_a_table_of_claims(extended: Any) -> None:
    (extended.root / "mine.yaml").write_text(settings())
    results = extended.root / "results" / "mine" / "lou_cheung_2020"
    done = extended.snakemake(str(results.relative_to(extended.root) / "claims.csv"), "--cores", "2", *MINE)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pd.read_parquet(results / "runs" / "forecasting.parquet")
    assert set(rows["status"]) == {"ok"}
    growth = rows.groupby("horizon")["regret"].mean()
    assert (growth > 0).all()  # about ln T, where forecasting zero costs 4 T
    assert growth[4096] < 4 * growth[64]
    assert (rows["regret"] < rows["trivial_regret"]).all()
    assert len(pd.read_csv(results / "claims.csv")) > 0
