"""Tiny plays have the same bytes here as on a processor with 256-bit vector units.

Of the families whose rounds call NumPy, BLAS and the C library; compiled rounds stand in tests/core/test_compiled.py.
`make processors` holds the whole ci profile against four processors.
"""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from plays import rows_of

from dpregret.workflows.plan.config import experiment_jobs
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.run import processors

PROFILE = """
profile: bytes
extends: full
only: listed
allow_few_cells: true
validation: null
defaults: {runs: 2}
papers:
  talwar_2015:
    experiments:
      hetero-samples: {dimension: [16], samples: [256], learners: {private-fw: [balanced]}}
  asi_et_al_2023:
    experiments:
      leader-horizon: {experts: [8], horizon: [64], learners: {private-ftrl: [gaussian]}}
  ene_et_al_2021:
    experiments:
      bandit-rounds: {horizon: [4096], epsilon: [4.0], learners: {thakurta-smith-gaussian: [corrected]}}
"""


def play(profile: Path, out: Path) -> None:
    config = load_config(profile, check=False)
    out.mkdir()
    for job in experiment_jobs(config):
        rows_of(config, *job).to_parquet(out / f"{job.paper}.parquet")


@pytest.mark.skipif(not {"AVX2", "FMA3"} <= processors.supported(), reason="this processor cannot play a Haswell")
def test_plays_are_the_same_on_two_processors(tmp_path: Path) -> None:
    profile, own, haswell = tmp_path / "bytes.yaml", tmp_path / "own", tmp_path / "haswell"
    profile.write_text(PROFILE)
    play(profile, own)
    words = [sys.executable, __file__, str(profile), str(haswell)]
    beside = {"PYTHONPATH": str(Path(__file__).parent)}  # `make test` keeps a script's folder off the path
    subprocess.run(words, env={**processors.environment("haswell"), **beside}, check=True)
    assert len(list(own.iterdir())) == 3
    for file in own.iterdir():
        first, other = pd.read_parquet(file), pd.read_parquet(haswell / file.name)
        assert processors.differences(first, other) == {}, file.name


def test_a_difference_is_told_by_its_column() -> None:
    first = pd.DataFrame({"regret": [1.0, 2.0], "name": ["a", "b"], "seconds_play": [1.0, 2.0]})
    other = pd.DataFrame({"regret": [1.0, 4.0], "name": ["a", "c"], "seconds_play": [3.0, 4.0]})
    assert processors.differences(first, first.copy()) == {}
    assert processors.differences(first, other) == {"regret": 0.5, "name": float("inf")}


if __name__ == "__main__":
    play(*map(Path, sys.argv[1:]))
