"""Batches of runs until a precision is reached: the same runs as ever, where they are needed."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpregret.core.errors import ConfigError
from dpregret.paper_figs.stopping import batches, caution, enough
from dpregret.workflows import job
from dpregret.workflows.config import Config, Job, load_config
from dpregret.workflows.costs import model
from dpregret.workflows.families.fields import Precision

Write = Callable[[Any], Path]
TOGETHER = ["projections", "linear_oracles", "local_oracles", "solves", "violation", "displacement"]
"""Means, or the largest, of the runs of a batch."""
TIMES = ["seconds", "seconds_projection", "seconds_linear_oracle", "seconds_local_oracle"]
COMMON: dict[str, Any] = {"title": "Small", "sweep": "horizon", "delta": 1e-6, "horizon": [32, 70, 128, 300]}
CASES: dict[str, dict[str, Any]] = {
    "online": {
        "paper": "lou_cheung_2020", "noisy": ("wdp-cocop-gaussian", "corrected"), "quiet": ("ftal", "plain"),
        "experiment": {"family": "online", "set": "ball", "streams": ["norm-kink"], "dimension": [3],
                       "window": [4, "horizon"], "epsilon": [2.0]},
    },
    "bandits": {
        "paper": "ene_et_al_2021", "noisy": ("private-bandit-gaussian", "corrected"), "quiet": ("fkm", "plain"),
        "experiment": {"family": "bandits", "set": "ball", "streams": ["cone"], "dimension": [2],
                       "horizon": [256, 400, 1024, 2025], "epsilon": [math.inf, 0.5]},
    },
    "experts": {
        "paper": "asi_et_al_2023", "noisy": ("sparse-vector", "pure"), "quiet": ("hedge", "unit"),
        "experiment": {"family": "experts", "streams": ["halving"], "experts": [8], "epsilon": [4.0]},
    },
    "erm": {
        "paper": "talwar_2015", "noisy": ("noisy-gd", "corrected"), "quiet": ("stay-at-zero", "plain"),
        "experiment": {"family": "erm", "sweep": "samples", "set": "ball", "risks": ["norm-kink-risk"],
                       "dimension": [4], "samples": [64, 100, 128, 256], "epsilon": [1.0, 4.0]},
    },
}  # fmt: skip


def settings(family: str, runs: Any, **changes: Any) -> dict[str, Any]:
    case = CASES[family]
    experiment = COMMON | case["experiment"] | {"runs": runs} | changes
    experiment["learners"] = {name: [variant] for name, variant in (case["noisy"], case["quiet"])}
    if family == "erm":
        del experiment["horizon"]
    return {"profile": "mine", "seed": 7, "papers": {case["paper"]: {"experiments": {"small": experiment}}}}


def played(config: Config, family: str, which: str, out: Path) -> pd.DataFrame:
    learner, variant = CASES[family][which]
    job.run_job(config, CASES[family]["paper"], "small", learner, variant, out, out.parent)
    rows = pd.read_parquet(out)
    assert (rows["status"] == "ok").all(), rows["status"].iloc[0]
    return rows.drop(columns=[*TIMES, "config_hash"], errors="ignore")


def largest_error(rows: pd.DataFrame) -> float:
    """Of the regret at the ends of plays, and at all horizons where one play serves them, found another way."""
    served = rows["checkpoint"].isin(COMMON["horizon"]) & rows["anytime"]
    ends = rows.loc[served | (rows["checkpoint"] == rows["horizon"])]
    keys = ["dimension", "horizon", "checkpoint", *(name for name in ("window", "epsilon") if name in ends)]
    found = [group["regret"].to_numpy() for _, group in ends.groupby(keys)]
    return max(float(each.std(ddof=1) / np.sqrt(len(each)) / abs(each.mean())) for each in found)


@pytest.mark.parametrize("family", CASES)
def test_runs_are_those_of_a_fixed_number_and_no_more_than_needed(family: str, write: Write, tmp_path: Path) -> None:
    """5 runs are too few for the noisy learner, 20 enough; the quiet one has equal or nearly equal runs."""
    fixed = load_config(write(settings(family, 23)))
    many = played(fixed, family, "noisy", tmp_path / "many.parquet")
    few = played(load_config(write(settings(family, 5))), family, "noisy", tmp_path / "few.parquet")
    at = {runs: largest_error(many.loc[many["run"] < runs]) for runs in (5, 10, 20, 23)}
    error = (min(at[5], at[10]) + at[20]) / 2
    assert at[20] < error < min(at[5], at[10]), at
    config = load_config(write(settings(family, {"least": 5, "most": 23, "error": error})))
    rows = played(config, family, "noisy", tmp_path / "rows.parquet")
    assert sorted(rows["run"].unique()) == list(range(20))
    pd.testing.assert_frame_equal(rows.iloc[: len(few)], few, check_exact=True)
    key = ["horizon", *(name for name in ("window", "epsilon") if name in rows), "run", "checkpoint"]
    own, theirs = (
        each.loc[each["run"] < 20].drop(columns=TOGETHER, errors="ignore").sort_values(key) for each in (rows, many)
    )
    pd.testing.assert_frame_equal(own.reset_index(drop=True), theirs.reset_index(drop=True), check_exact=True)
    quiet = played(config, family, "quiet", tmp_path / "quiet.parquet")
    assert quiet["run"].nunique() == (5 if largest_error(quiet.loc[quiet["run"] < 5]) <= error else 20)
    if family != "bandits":
        assert quiet["run"].nunique() == 5
    strict = load_config(write(settings(family, {"least": 5, "most": 23, "error": 1e-9})))
    assert played(strict, family, "noisy", tmp_path / "strict.parquet")["run"].nunique() == 23


@pytest.mark.parametrize("family", CASES)
def test_a_kill_between_batches_leaves_nothing_and_the_same_command_gives_the_same_rows(
    family: str, write: Write, tmp_path: Path
) -> None:
    config = load_config(write(settings(family, {"least": 4, "most": 9, "error": 1e-9})))
    whole = played(config, family, "noisy", tmp_path / "whole.parquet")
    learner, variant = CASES[family]["noisy"]

    def killed() -> None:
        plain, played_so_far = job._rows, []

        def dies(*arguments: Any) -> pd.DataFrame:
            played_so_far.append(plain(*arguments))
            if len(played_so_far) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return played_so_far[-1]

        job._rows = dies
        job.run_job(config, CASES[family]["paper"], "small", learner, variant, tmp_path / "cut.parquet", tmp_path)

    process = multiprocessing.get_context("fork").Process(target=killed)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "cut.parquet").exists()
    again = played(config, family, "noisy", tmp_path / "cut.parquet")
    pd.testing.assert_frame_equal(again, whole, check_exact=True)
    assert again["run"].nunique() == 9


@pytest.mark.parametrize(
    ("runs", "key", "fragments"),
    [
        ({"least": 1, "most": 8, "error": 0.1}, "runs.least", ("at least 2", "not 1")),
        ({"least": 8, "most": 4, "error": 0.1}, "runs.most", ("at least 'least', which is 8", "not 4")),
        ({"least": 8, "most": 16, "error": 0}, "runs.error", ("greater than 0", "not 0")),
        ({"least": 8, "most": 16, "error": 1}, "runs.error", ("less than 1", "not 1")),
        ({"least": 8, "most": 16}, "runs.error", ("missing",)),
        ({"least": 8, "most": 16, "eror": 0.1, "error": 0.1}, "runs.eror", ("did you mean 'error'",)),
        ({"least": 8, "most": 16, "error": 0.1, "of": "slope"}, "runs.of", ("'log_slope'", "not 'slope'")),
        ({"least": 8, "most": 16, "error": 0.1, "of": "overhead"}, "runs.of", ("'overhead'", "regret", "log_slope")),
        ({"least": 8, "most": 16, "error": 0.1, "of": "log_slope"}, "runs.of", ("8 times another one",)),
        ("many", "runs", ("whole number", "'many'")),
        ([8, 16], "runs", ("whole number", "[8, 16]")),
    ],
)
def test_a_mistake_is_one_line(write: Write, runs: Any, key: str, fragments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings("online", runs, horizon=[30, 70, 100, 120])))
    (line,) = caught.value.problems
    place, named, message = line.split(": ", 2)
    assert named == f"papers.lou_cheung_2020.experiments.small.{key}"
    assert int(place.rpartition(":")[2]) > 0
    assert all(fragment in message for fragment in fragments), message


def test_what_privacy_adds_needs_a_play_without_noise(write: Write) -> None:
    runs = {"least": 4, "most": 8, "error": 0.1, "of": "overhead"}
    with pytest.raises(ConfigError, match=r"runs\.of: what privacy adds needs \.inf"):
        load_config(write(settings("bandits", runs, epsilon=[1.0, 2.0])))
    assert load_config(write(settings("bandits", runs)))


def test_a_profile_above_replaces_a_precision_as_a_whole(write: Write, tmp_path: Path) -> None:
    write(settings("online", {"least": 4, "most": "2^5", "error": 0.1}))
    for runs, wanted in ((3, 3), ({"least": 2, "most": 8, "error": 0.5}, Precision(least=2, most=8, error=0.5))):
        above = tmp_path / "above.yaml"
        above.write_text(f"profile: above\nextends: ./mine.yaml\ndefaults: {{runs: {runs}}}\n")
        assert load_config(above).experiment("lou_cheung_2020", "small").runs == wanted
    below = load_config(tmp_path / "mine.yaml")
    experiment = below.experiment("lou_cheung_2020", "small")
    assert experiment.runs == Precision(least=4, most=32, error=0.1)
    assert Config.model_validate_json(below.to_json()) == below
    assert below.hash("small") != load_config(above).hash("small")


@pytest.mark.parametrize(
    ("of", "wanted"), [("regret", 4), ("log_slope", 12)]
)  # regret is nearly equal in all runs, its slope is not
def test_the_response_that_steers(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str, wanted: int
) -> None:
    def rows(settings: Any, learner_class: Any, variant: str, draws: Any, title: str) -> pd.DataFrame:
        runs = np.arange(draws.first, draws.first + draws.runs)
        at = pd.MultiIndex.from_product([runs - draws.first, [16, 128]], names=["run", "checkpoint"]).to_frame(
            index=False
        )
        drift = np.random.default_rng(0).normal(size=100)[at["run"] + draws.first]
        return at.assign(horizon=128, epsilon=2.0, regret=100 + np.where(at["checkpoint"] == 128, drift, 0.5 * drift))

    monkeypatch.setattr(job, "_rows", rows)
    config = load_config(write(settings("online", {"least": 4, "most": 12, "error": 0.05, "of": of})))
    learner, variant = CASES["online"]["noisy"]
    job.run_job(config, "lou_cheung_2020", "small", learner, variant, tmp_path / "rows.parquet", tmp_path)
    assert pd.read_parquet(tmp_path / "rows.parquet")["run"].nunique() == wanted


def test_overhead_steers_run_by_run(write: Write, tmp_path: Path) -> None:
    """Regret varies with the directions, what noise adds to it much less or much more: pairs are what counts."""
    found = {}
    for of in ("regret", "overhead"):
        runs = {"least": 4, "most": 16, "error": 0.1, "of": of}
        rows = played(load_config(write(settings("bandits", runs, epsilon=[math.inf, 64.0]))), "bandits", "noisy",
                      tmp_path / "rows.parquet")  # fmt: skip
        found[of] = rows["run"].nunique()
    assert found["overhead"] > found["regret"]


def test_batches_double_and_end_at_the_most() -> None:
    assert list(batches(8, 128)) == [range(8), range(8, 16), range(16, 32), range(32, 64), range(64, 128)]
    assert list(batches(5, 23)) == [range(5), range(5, 10), range(10, 20), range(20, 23)]
    assert list(batches(7, 7)) == [range(7)]
    means, spreads = np.array([2.0, -1.0, 0.0]), np.array([0.3, 0.2, 0.0])
    assert enough(means, spreads, 20, 0.05)  # 0.2 / sqrt(20) = 0.045, and 2.093 / 1.96 times that is 0.0478
    assert not enough(means, spreads, 18, 0.05)
    assert not enough(means, spreads + 1e-300, 20, 0.05)
    assert [round(caution(runs), 2) for runs in (8, 16, 128)] == [1.21, 1.09, 1.01]


def test_predictions_count_what_is_likely_and_guards_the_most(write: Write) -> None:
    precise = load_config(write(settings("online", {"least": 8, "most": 128, "error": 0.1})))
    one = Job("lou_cheung_2020", "small", *CASES["online"]["noisy"])
    counted = {runs: model.counts(precise, one, runs)[1] for runs in (8, 32, None)}
    assert [counted[runs].numbers / counted[8].numbers for runs in (32, None)] == [4, 16]
    assert [counted[runs].rounds / counted[8].rounds for runs in (32, None)] == [3, 5]  # plays, each shared by its runs
    fixed = load_config(write(settings("online", 64)))
    assert counted[None].memory_mb == model.counts(fixed, one)[1].memory_mb
    assert model.estimate(precise, one) < model.estimate(precise, one, most=True)
