"""The cost of a run, predicted: planted rates are found again, work is counted right, the slice is predicted well."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from checkout import ROOT

from dpregret.core.errors import ConfigError
from dpregret.workflows.config import Job, load_config
from dpregret.workflows.costs import __main__ as command
from dpregret.workflows.costs import model
from dpregret.workflows.costs.taken import taken
from dpregret.workflows.families.base import Counts
from dpregret.workflows.profiles import PROFILES

FULL, LARGE = (load_config(PROFILES / f"{name}.yaml", check=False) for name in ("full", "large"))


@pytest.fixture(scope="module")
def large_jobs() -> pd.DataFrame:
    return model.job_costs(LARGE)


def test_planted_rates_are_found_again() -> None:
    counted = [Counts(10.0**power, 10.0**power * size, 0.0) for power in range(2, 7) for size in (4, 4000)] * 2
    learners = ["slow"] * 10 + ["fast"] * 10
    rates = {"slow": 2e-8, "fast": 1e-9}
    seconds = [
        2.0 + 1e-5 * each.rounds + rates[name] * each.numbers for name, each in zip(learners, counted, strict=True)
    ]
    found = model.fit("online", learners, counted, seconds)
    wanted = {("start", "online", ""): 2.0, ("round", "online", ""): 1e-5}
    assert found == pytest.approx(wanted | {("number", "online", name): rate for name, rate in rates.items()})
    assert min(model.fit("online", learners, counted, seconds[::-1]).values()) >= 0.0


def test_the_work_of_an_online_learner_is_counted() -> None:
    family, counted = model.counts(LARGE, Job("lou_cheung_2020", "horizon", "wdp-cocop-gamma", "corrected"))
    rounds, runs, windows, size = 2**26, 1000, 3, 4  # anytime: one play serves all horizons
    assert (family, counted.rounds, counted.numbers) == ("online", rounds, rounds * runs * windows * size)
    told = model.counts(FULL, Job("lou_cheung_2020", "horizon", "ofw", "plain"))[1]
    assert told.rounds == sum(2**power for power in range(8, 18))
    taken = model.counts(FULL, Job("lou_cheung_2020", "horizon", "wdp-cocop-gamma", "corrected"))[1]
    assert taken == Counts(0.0, 0.0, 0.0)  # its rows are those of the sweep over the window


def test_a_profile_of_size_passes_every_check() -> None:
    """`large` itself is planned, and so checked, in test_snakemake.py."""
    assert load_config(PROFILES / "large-slice.yaml").profile == "large-slice"


def test_large_fits_into_memory_and_every_learner_has_a_rate(large_jobs: pd.DataFrame) -> None:
    assert model.MEMORY_MARGIN * large_jobs["megabytes"].max() < 30 * 1024
    assert set(large_jobs["learner"]) <= {name for part, _, name in model.read() if part == "number"}
    table = command.table(large_jobs, 64)
    assert table["CPU hours"].astype(float).iloc[-1] == pytest.approx(large_jobs["seconds"].sum() / 3600, abs=0.1)
    assert int(table["jobs"].iloc[-1]) == len(large_jobs)


def test_the_slice_is_predicted_within_the_margins_that_a_cluster_is_asked_for() -> None:
    table = command.slice_table()
    assert len(table) >= 10
    factors = np.exp(np.abs(np.log(table["predicted / measured"].astype(float))))
    assert table["job"][factors >= model.TIME_MARGIN].empty
    asked = model.MEMORY_MARGIN * table["predicted MB"].astype(float)
    assert (asked > table["peak MB"].astype(float)).all()


def test_the_page_shows_what_the_committed_rates_predict() -> None:
    text = command.PAGE.read_text(encoding="utf-8")
    assert command.page(text) == text


def test_profiles_ask_by_attempt_and_agree() -> None:
    default, slurm = (
        yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text()) for name in ("default", "slurm")
    )
    assert {**slurm, **default} == slurm
    text = "".join(path.read_text() for path in (ROOT / "workflows" / "rules").glob("*.smk"))
    grouped = {entry.split("=")[0] for entry in slurm["groups"]}
    for rule in {*grouped, *slurm["set-resources"]}:
        assert f"rule {rule}:" in text
    asked = [str(value) for each in slurm["set-resources"].values() for value in each.values()]
    assert all(value.endswith("*attempt") for value in asked)


def test_what_runs_took_is_summed_by_part(tmp_path: Path) -> None:
    for name, seconds in {"a_paper/sweep/one.plain": 2.5, "a_paper/tables": 0.25, "validation": 7.0}.items():
        file = tmp_path / "ci" / "benchmark" / f"{name}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"s\tmax_rss\tcpu_time\n9\t{100 * seconds}\t{seconds}\n")
    found = taken([tmp_path / "ci"]).set_index("part")
    assert list(found["profile"]) == ["ci", "ci"]
    assert list(found.loc["a_paper"])[1:] == [2, 2.8, 2.5, 250.0]
    assert found.loc["validation", "CPU seconds"] == 7.0
    with pytest.raises(ConfigError, match="no job has left a record"):
        taken([tmp_path / "smoke"])
