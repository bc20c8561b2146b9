"""The speed gate's statistics on made-up times, and what it refuses. Nothing here is timed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from checkout import ROOT

from dpregret.workflows.bench import __main__ as command
from dpregret.workflows.bench.verdicts import ALLOWED, judge
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.config import experiment_jobs
from dpregret.workflows.plan.load import load_config


def made_up(seed: int, factor: float, noise: float, blocks: int = 9) -> list[list[float]]:
    """Times of base, base and head, whose machine changes its pace from block to block."""
    generator = np.random.default_rng(seed)
    pace = np.exp(0.3 * generator.standard_normal(blocks))
    jitter = np.exp(noise * generator.standard_normal((3, blocks)))
    return (0.4 * pace * jitter * np.array([[1.0], [1.0], [factor]])).tolist()


@pytest.mark.parametrize(("factor", "word"), [(1.0, "same"), (1.2, "slower"), (0.8, "faster"), (2.0, "slower")])
@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_told_from_the_pace_of_the_machine(factor: float, word: str, seed: int) -> None:
    verdict = judge(*made_up(seed, factor, 0.01))
    assert verdict.word == word
    assert verdict.ratio == pytest.approx(factor, rel=0.03)


def test_equal_code_is_seldom_accused() -> None:
    for noise in (0.02, 0.1, 0.3):
        words = [judge(*made_up(seed, 1.0, noise)).word for seed in range(400)]
        assert words.count("slower") <= 8  # 2 %
        assert words.count("faster") <= 8


def test_the_band_grows_with_noise_and_with_the_offset_of_processes() -> None:
    quiet, loud = (judge(*made_up(3, 1.0, noise)) for noise in (0.0, 0.2))
    assert quiet.band == pytest.approx(np.exp(ALLOWED))
    assert quiet.ratio == pytest.approx(1.0)
    assert loud.band > 1.15
    base, again, head = made_up(4, 1.12, 0.0)
    assert judge(base, again, head).word == "slower"
    slow_process = judge(base, [1.1 * each for each in again], head)
    assert slow_process.band == pytest.approx(1.1 * np.exp(ALLOWED))
    assert slow_process.ratio == pytest.approx(1.12 / np.sqrt(1.1))
    assert slow_process.word == "same"


@pytest.mark.parametrize("times", [[[1.0, 1.0]] * 3, [[1.0, 1.0, 0.0]] * 3])
def test_too_few_blocks_and_impossible_times_are_refused(times: list[list[float]]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        judge(*times)


@pytest.mark.parametrize("name", ["no-such-commit", "--help-me", "0" * 40])
def test_an_unknown_commit_is_refused_in_one_line(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpregret.workflows.bench", "--", name],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert repr(name) in done.stderr


def test_plays_are_of_every_family_and_read_no_data() -> None:
    config = load_config(command.HERE / "plays.yaml")
    jobs = list(experiment_jobs(config))
    experiments = [config.experiment(job.paper, job.experiment) for job in jobs]
    assert {each.family for each in experiments} == {name for name, each in FAMILIES.items() if each.compared}
    assert all(FAMILIES[each.family].streams[name].data is None for each in experiments for name in each.streams)
