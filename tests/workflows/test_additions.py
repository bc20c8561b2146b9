"""A new learner, paper or kind of problem is new files, with no edit of the tree; the tutorial does what it says."""

import math
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from checkout import MINE, ROOT, Checkout, make_checkout, once

from dpregret.paper_figs.judge.result_tables import read_judged
from dpregret.paper_figs.report.page import unpacked

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEPS = dict(re.findall(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", TUTORIAL, flags=re.MULTILINE | re.DOTALL))
"""Path -> content of the code blocks of the tutorial that begin with the comment of a path."""
FAMILY = '''
"""Forecasting: a learner predicts a number a round and pays the squared error."""

from collections import namedtuple
from typing import Literal

import numpy as np
import pandas as pd

from dpregret.workflows.families.interface import Experiment, Family


class ForecastExperiment(Experiment):
    family: Literal["forecasts"]
    sweep: Literal["horizon", "stream"]


Cell = namedtuple("Cell", "stream horizon")


class Forecasts(Family):
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
    card = Card(name="running-mean", title="Running mean", paper="folklore", reference="-",
                variants={"plain": "all numbers count alike"}, private=False)

    def forecasts(self, numbers):
        seen = np.cumsum(numbers, axis=1) - numbers
        return seen / np.maximum(np.arange(numbers.shape[1]), 1)
'''
STREAMS = '''
"""Sequences of numbers to be forecast."""

import numpy as np

from dpregret.datasets.source import Source


class ForecastStream(Source):
    """A sequence of numbers."""


class NoisyLevel(ForecastStream):
    name = "noisy-level"

    def sequence(self, generators, horizon):
        return 2.0 + np.stack([generator.standard_normal(horizon) for generator in generators])
'''
FORECASTING = {
    "family": "forecasts", "title": "Forecasting against the horizon", "sweep": "horizon", "streams": ["noisy-level"],
    "horizon": [64, 256, 1024, 4096], "runs": 8, "epsilon": [math.inf], "delta": 1e-6,
    "learners": {"running-mean": ["plain"]},
}  # fmt: skip
FORECASTS = "results/mine/noisy_descent/runs/forecasting.parquet"
FILES = {
    **{name: content for name, content in STEPS.items() if name != "mine.yaml"},
    "workflows/families/forecasts.py": FAMILY.lstrip(),
    "algorithms/forecasts/__init__.py": '"""Forecasting."""\n',
    "algorithms/forecasts/mean.py": LEARNERS.lstrip(),
    "datasets/forecast_streams.py": STREAMS.lstrip(),
}


def extended(root: Path) -> None:
    """Make a checkout with new files, none of which was there, and play new papers of the full profile."""
    made = make_checkout(root)
    for name, content in FILES.items():
        path = root / name
        assert not path.exists(), f"{name} would be edited"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    profile = yaml.safe_load(STEPS["mine.yaml"])
    profile["papers"] = {"noisy_descent": {"experiments": {"forecasting": FORECASTING}}}
    (root / "mine.yaml").write_text(yaml.safe_dump(profile, sort_keys=False))
    done = made.snakemake("--cores", "2", "noisy_descent", str(Path(FORECASTS).parent), *MINE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return once(tmp_path_factory, "extended", extended)


@pytest.mark.nightly
@pytest.mark.workflow
def test_the_tutorials_learner_gets_its_verdict_and_its_curve(added: Checkout) -> None:
    results = added.root / "results" / "mine" / "noisy_descent"
    lines = read_judged(results).set_index("claim")
    assert lines.loc["descent-T", "verdict"] == "reproduced up to logs"
    bound = "bound.descent.noisy-descent.corrected"
    assert lines.loc[bound, ["kind", "verdict"]].tolist() == ["check", "holds"]
    assert set(lines.loc[["descent-T", bound], "runs"]) == {16}
    value, low, high = lines.loc["descent-T", ["fitted", "fitted_low", "fitted_high"]]
    assert f"| {value:.3f} [{low:.3f}, {high:.3f}] |" in TUTORIAL
    curves = (results / "report.html").read_text().split('id="curve-data">')[1].split("</script>")[0]
    assert "noisy-descent corrected" in unpacked(curves)["noisy_descent"]["experiments"]["descent"]["series"]
    table = pd.read_csv(results / "table_1_all.csv", keep_default_na=False)
    assert list(table["algorithm"]) == ["noisy descent"]
    assert table["T exponent"][0] != "-"


@pytest.mark.nightly
@pytest.mark.workflow
def test_a_new_kind_of_problem_is_played(added: Checkout) -> None:
    rows = pd.read_parquet(added.root / FORECASTS)
    assert set(rows["status"]) == {"ok"}
    growth = rows.groupby("horizon")["regret"].mean()
    assert (growth > 0).all()  # about ln T, where forecasting zero costs 4 T
    assert growth[4096] < 4 * growth[64]
    assert (rows["regret"] < rows["trivial_regret"]).all()
