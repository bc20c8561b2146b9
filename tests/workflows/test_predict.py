"""The cost of a run, predicted: planted rates are found again, work is counted right, tables are usable."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpregret.workflows import large_page
from dpregret.workflows.config import PROFILES, Config, Job, experiment_jobs, load_config
from dpregret.workflows.growth import Measured, around, cost, curve_rates, factor, fit, fit_all, left_out, read, write
from dpregret.workflows.predict import by_learner, estimate, job_costs, measured_rates, predicted, totals
from dpregret.workflows.work import plays

FULL, LARGE = (load_config(PROFILES / f"{name}.yaml", check=False) for name in ("full", "large"))
GIGABYTES = 16.0


@pytest.fixture(scope="module")
def large_jobs() -> pd.DataFrame:
    return job_costs(LARGE)


def test_planted_rates_are_found_again() -> None:
    generator = np.random.default_rng(5)
    features = [{"rounds": 10**power, "rows": float(rows)} for power in range(2, 7) for rows in (1, 50, 4000)]
    planted = {"rounds": 2e-5, "rows": 3e-3}
    costs = [sum(planted[name] * value for name, value in each.items()) for each in features]
    assert fit(features, costs) == pytest.approx(planted)
    noisy = np.array(costs) * np.exp(0.1 * generator.standard_normal(len(costs)))
    assert fit(features, list(noisy)) == pytest.approx(planted, rel=0.2)


def test_a_rate_is_never_negative() -> None:
    features = [{"rounds": value, "rows": 1.0} for value in (1.0, 2.0, 3.0, 4.0)]
    assert all(rate > 0 for rate in fit(features, [4.0, 3.0, 2.0, 1.0]).values())


def online(runs: int, dimension: int) -> Config:
    """A configuration of one experiment of two learners."""
    settings = FULL.papers["lou_cheung_2020"].experiments["dimension"].model_dump(by_alias=True)
    settings |= {"runs": runs, "dimension": (dimension,), "horizon": (1024, 4096)}
    settings["learners"] = {"wdp-cocop-gamma": ("corrected",), "ftal": ("plain",)}
    papers = {"lou_cheung_2020": {"experiments": {f"runs-{runs}-{dimension}": settings}}}
    return Config.model_validate({"profile": "planted", "seed": 1, "papers": papers})


def planted_job(config: Config, job: Job) -> Measured:
    """A job that takes 10 us a round, 20 ns a coordinate and 5 ns a number drawn, and 2 s besides."""
    counted = plays(config, job)
    rates = {"rounds": 1e-5, "coordinates": 2e-8, "noise numbers": 5e-9}
    loops = [sum(rates.get(name, 0.0) * value for name, value in play.loop.items()) for play in counted]
    return Measured("planted", job, counted, loops, 2.0 + sum(loops), 200.0)


def test_rates_of_jobs_predict_jobs_of_another_size() -> None:
    configs = [online(runs, dimension) for runs in (8, 64, 512) for dimension in (2, 16, 128)]
    jobs = [planted_job(config, job) for config in configs for job in experiment_jobs(config)]
    rates = fit_all(jobs)
    larger = online(1000, 1024)
    for job in experiment_jobs(larger):
        wanted = planted_job(larger, job)
        assert cost(wanted.plays, rates) == pytest.approx((wanted.seconds, 200.0), rel=1e-3)
    table = left_out(jobs)
    assert len(table) == len(jobs)
    assert factor(table["seconds"], table["predicted"]).max() < 1.01


def test_the_work_of_an_online_learner_is_counted() -> None:
    job = Job("lou_cheung_2020", "horizon", "wdp-cocop-gamma", "corrected")
    (play,) = plays(FULL, job)  # anytime: one play serves all horizons
    rounds, runs, windows, size = 131072, 32, 3, 4
    assert play.loop["rounds"] == rounds
    assert play.loop["rows"] == rounds * runs * windows
    assert play.loop["coordinates"] == rounds * runs * windows * size
    assert play.loop["loss numbers"] == 0  # the stream norm-kink draws nothing
    assert play.memory["curves"] == pytest.approx(windows * rounds * 8 / 2**20)
    told = plays(FULL, Job("lou_cheung_2020", "horizon", "ofw", "plain"))
    assert [each.where["horizon"] for each in told] == [2**power for power in range(8, 18)]


@pytest.mark.parametrize("variant", ["corrected", "sampled"])
def test_iterations_are_those_of_the_learner(variant: str) -> None:
    counted = plays(FULL, Job("talwar_2015", "gd-samples", "noisy-sgd", variant))
    few, many = counted[0].iterations, counted[-1].iterations
    assert many == 2**16
    assert few == (55 if variant == "corrected" else 2**16)  # 256 records: of results/talwar_2015


def test_the_features_of_a_job_add_up() -> None:
    counted = plays(FULL, Job("lou_cheung_2020", "horizon", "ofw", "plain"))
    assert around(counted)["curves"] == sum(play.where["horizon"] for play in counted)


def test_curves_are_arrays_of_one_number_a_round() -> None:
    rates = curve_rates(2**10)
    assert all(1 <= sum(each.values()) < 20 for each in rates.values())
    small, large = curve_rates(2**13), curve_rates(2**14)
    for place in small:
        assert sum(large[place].values()) == pytest.approx(sum(small[place].values()), rel=0.1)


def test_rates_are_written_and_read(tmp_path: Path) -> None:
    rates = {("loop", "online", "ftal ball"): {"rounds": 2e-5}, ("error", "erm", "*"): {"ninety": 2.0}}
    write(rates, tmp_path / "growth.csv")
    assert read(tmp_path / "growth.csv") == rates


def test_large_extends_every_experiment_of_the_full_profile() -> None:
    for paper, settings in FULL.papers.items():
        assert list(LARGE.papers[paper].experiments) == list(settings.experiments)
        for name, experiment in settings.experiments.items():
            extended = LARGE.experiment(paper, name)
            assert extended.learners == experiment.learners
            assert extended.streams == experiment.streams
            assert extended.runs >= experiment.runs or max(extended.dimension or ()) > max(experiment.dimension or ())
            assert max(extended.horizon) >= max(experiment.horizon)


@pytest.mark.parametrize("profile", ["large", "large-slice", "growth"])
def test_profiles_of_size_pass_every_check(profile: str) -> None:
    assert load_config(PROFILES / f"{profile}.yaml").profile == profile


def test_rates_of_every_learner_of_the_large_profile_are_measured() -> None:
    rates = measured_rates()
    missing = {play.key for job in experiment_jobs(LARGE) for play in plays(LARGE, job)
               if ("loop", play.kind, play.key) not in rates}  # fmt: skip
    assert missing == set()


def test_every_job_of_the_large_profile_fits_into_memory(large_jobs: pd.DataFrame) -> None:
    asked = {job: predicted(LARGE, *job)[1] for job in experiment_jobs(LARGE)}
    assert max(asked.values()) < GIGABYTES * 1024, max(asked, key=lambda job: asked[job])
    assert (large_jobs["seconds"] > 0).all()


def test_what_a_cluster_is_asked_for_has_a_margin() -> None:
    job = Job("lou_cheung_2020", "horizon", "ftal", "plain")
    (seconds, megabytes), asked = estimate(LARGE, job), predicted(LARGE, *job)
    assert asked[0] > seconds
    assert asked[1] > 1.5 * megabytes


def test_sums_of_the_table(large_jobs: pd.DataFrame) -> None:
    table, sums = by_learner(large_jobs), totals(large_jobs, 64)
    assert table["CPU hours"].sum() == pytest.approx(sums["CPU hours"])
    assert table["jobs"].sum() == sums["jobs"] == len(list(experiment_jobs(LARGE)))
    assert sums["wall hours on 64 cores, at least"] >= max(sums["longest job, hours"], sums["CPU hours"] / 64)


def test_the_slice_was_predicted_within_a_factor_of_three() -> None:
    table = pd.read_csv(large_page.FOLDER / "slice.csv")
    assert len(table) >= 10
    assert np.abs(np.log(table["predicted / measured"])).max() < math.log(3)


def test_the_page_shows_the_committed_tables() -> None:
    text = large_page.PAGE.read_text(encoding="utf-8")
    assert large_page.page(text) == text
