"""Experiments inside others: found by themselves, and their rows are the bytes that playing them would give."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpregret.core import stamped
from dpregret.paper_figs.runs import empty_row
from dpregret.workflows.config import Config, Job, load_config
from dpregret.workflows.contained import hosts
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.job import run_job
from dpregret.workflows.profiles import PROFILES

PAPER = "lou_cheung_2020"
LEARNERS = {
    "wdp-cocop-gaussian": ["corrected"], "wdp-cocop-gamma": ["corrected", "printed-noise"],
    "wdp-scofw-gamma": ["corrected"], "wdp-cocol-gaussian": ["practical"], "pftal": ["corrected"], "ftal": ["plain"],
}  # fmt: skip
TIMES = ["seconds", "seconds_projection", "seconds_linear_oracle", "seconds_local_oracle"]


@pytest.fixture
def config(settings: dict[str, Any], write: Callable[[Any], Path]) -> Config:
    """A sweep of the horizon inside one of the window, which comes later, has more sets, and other orders."""
    experiments = settings["papers"][PAPER]["experiments"]
    small = {"set": ["simplex"], "horizon": [32, 64, 128], "dimension": [5], "window": [16, 2], "runs": 3}
    experiments["horizon"] |= small | {"streams": ["random-kink", "norm-kink"], "learners": LEARNERS}
    wide = {"sweep": "window", "set": ["ball", "simplex"], "dimension": {"ball": [3], "simplex": [4, 5]}}
    wide |= {"streams": ["norm-kink", "random-kink"], "window": [1, 2, 4, 16, 64], "epsilon": [2.0, 8.0]}
    experiments["window"] = copy.deepcopy(experiments["horizon"]) | wide
    settings["allow_few_cells"] = True
    return load_config(write(settings), check=False)


def job(experiment: str, learner: str, variant: str) -> Job:
    return Job(PAPER, experiment, learner, variant)


def played(config: Config, out: Path, host: Path | None = None, **where: str) -> pd.DataFrame:
    run_job(config, PAPER, output=out, data_dir=out.parent, host=host, **where)
    return pd.read_parquet(out)


@pytest.mark.parametrize(("learner", "variant"), [(name, each) for name, every in LEARNERS.items() for each in every])
def test_rows_are_those_of_playing_byte_by_byte(config: Config, tmp_path: Path, learner: str, variant: str) -> None:
    assert config.hosts[job("horizon", learner, variant)] == job("window", learner, variant)
    own = {"learner": learner, "variant": variant}
    host = tmp_path / "host.parquet"
    larger = played(config, host, experiment="window", **own)
    taken = played(config, tmp_path / "taken.parquet", host, experiment="horizon", **own)
    plain = played(config, tmp_path / "plain.parquet", experiment="horizon", **own)
    assert 0 < len(taken) < len(larger)
    for frame, name in ((taken, "taken"), (plain, "plain")):
        frame.drop(columns=TIMES).to_parquet(tmp_path / f"{name}.parquet", index=False)
    pd.testing.assert_frame_equal(taken.drop(columns=TIMES), plain.drop(columns=TIMES), check_exact=True)
    assert (tmp_path / "taken.parquet").read_bytes() == (tmp_path / "plain.parquet").read_bytes()
    assert list(taken.columns) == list(plain.columns)


def test_only_what_is_inside_has_a_host(config: Config) -> None:
    """Another seed is another configuration; other runs, a further checkpoint or another delta are other plays."""
    inner = config.experiment(PAPER, "horizon")
    for change in ({"runs": 4}, {"horizon": (32, 64, 100, 128)}, {"delta": 1e-5}, {"window": (16, 8)},
                   {"strong_convexity": 0.5}, {"dimension": (5, 6)}, {"options": {"weight": 2.0}}):  # fmt: skip
        experiments = {**config.papers[PAPER].experiments, "horizon": inner.model_copy(update=change)}
        papers = {PAPER: config.papers[PAPER].model_copy(update={"experiments": experiments})}
        found = hosts(config.model_copy(update={"papers": papers}))
        assert not [each for each in found if each.learner.startswith("wdp")], change


def test_of_equal_plays_one_is_host_and_hosts_have_none() -> None:
    found = load_config(PROFILES / "full.yaml", check=False).hosts
    assert len(found) >= 20
    assert not set(found) & set(found.values())
    assert all(inner.experiment != host.experiment and inner[2:] == host[2:] for inner, host in found.items())


def test_a_host_that_crashed_gives_no_rows(config: Config, tmp_path: Path) -> None:
    own, host = {"experiment": "horizon", "learner": "ftal", "variant": "plain"}, tmp_path / "host.parquet"
    stamped.write(empty_row().assign(status="failed: FloatingPointError"), host, stamped.Stamp("", ""))
    found = played(config, tmp_path / "own.parquet", host, **own)
    assert (found["status"] == "ok").all()
    assert len(found) == 2 * 3 * 4  # streams, runs, checkpoints 16..128


def test_calls_that_are_no_whole_numbers_belong_to_all_settings_of_a_play(config: Config, tmp_path: Path) -> None:
    own = {"learner": "wdp-scofw-gamma", "variant": "corrected"}
    rows = played(config, tmp_path / "host.parquet", experiment="window", **own)
    family, inner = FAMILIES["online"], config.experiment(PAPER, "horizon")
    card = family.learners["wdp-scofw-gamma"].card
    assert np.all(rows["linear_oracles"] % 1 == 0)
    assert family.taken(rows, inner, card) is not None
    assert family.taken(rows.assign(linear_oracles=1.5), inner, card) is None


@pytest.mark.parametrize(("error", "few"), [(0.2, True), (0.004, False)])
def test_of_a_host_that_stops_later_as_many_runs_are_taken_as_playing_would_need(
    settings: dict[str, Any], write: Callable[[Any], Path], tmp_path: Path, error: float, few: bool
) -> None:
    """The host has noisier windows; and where it has too few runs, which it cannot have by itself, the job plays."""
    experiments, runs = settings["papers"][PAPER]["experiments"], {"least": 4, "most": 16, "error": error}
    experiments["horizon"] |= {"window": [1], "epsilon": [8.0], "runs": runs}
    experiments["window"] = copy.deepcopy(experiments["horizon"]) | {"sweep": "window", "window": [1, 2, 8, 32]}
    config = load_config(write(settings), check=False)
    own = {"learner": "wdp-cocop-gamma", "variant": "corrected"}
    assert config.hosts[job("horizon", *own.values())] == job("window", *own.values())
    host = tmp_path / "host.parquet"
    larger = played(config, host, experiment="window", **own)
    plain = played(config, tmp_path / "plain.parquet", experiment="horizon", **own)
    taken = played(config, tmp_path / "taken.parquet", host, experiment="horizon", **own)
    pd.testing.assert_frame_equal(taken.drop(columns=TIMES), plain.drop(columns=TIMES), check_exact=True)
    assert taken["run"].nunique() <= larger["run"].nunique()
    assert (taken["run"].nunique() == 4) == few
    stamped.write(larger.loc[larger["run"] < 3], host, stamped.Stamp("", ""))
    again = played(config, tmp_path / "again.parquet", host, experiment="horizon", **own)
    pd.testing.assert_frame_equal(again.drop(columns=TIMES), plain.drop(columns=TIMES), check_exact=True)
