"""A tiny play of every family has the same bytes here as on a processor with 256-bit vector units."""

import os
from pathlib import Path

import pandas as pd
import pytest

from dpregret.workflows import processors

PROFILE = """
profile: bytes
extends: full
only: listed
allow_few_cells: true
validation: null
defaults: {runs: 2}
papers:
  lou_cheung_2020:
    experiments:
      logistic: {horizon: [40], dimension: [3], window: [8], epsilon: [8.0], learners: {ftal: [plain]}}
  talwar_2015:
    experiments:
      hetero-samples: {dimension: [16], samples: [256], learners: {private-fw: [balanced]}}
      width-simplex: {dimension: [16], samples: [256], learners: {noisy-eg: [corrected]}}
  asi_et_al_2023:
    experiments:
      leader-horizon: {experts: [8], horizon: [64], learners: {private-ftrl: [gaussian]}}
  ene_et_al_2021:
    experiments:
      bandit-rounds: {horizon: [4096], epsilon: [4.0], learners: {thakurta-smith-gaussian: [corrected]}}
"""


@pytest.mark.skipif(not {"AVX2", "FMA3"} <= processors.supported(), reason="this processor cannot play a Haswell")
def test_one_play_of_every_family_is_the_same_on_two_processors(tmp_path: Path) -> None:
    profile = tmp_path / "bytes.yaml"
    profile.write_text(PROFILE)
    as_haswell = processors.play(profile, tmp_path / "haswell", processors.environment("haswell"), judged=False)
    own = processors.play(profile, tmp_path / "own", os.environ, judged=False)
    assert len(own) == 5
    for name, table in own.items():
        assert (table["status"] == "ok").all(), name
        assert processors.differences(table, as_haswell[name]) == {}, name


def test_a_difference_is_told_by_its_column() -> None:
    first = pd.DataFrame({"regret": [1.0, 2.0], "name": ["a", "b"], "seconds_play": [1.0, 2.0]})
    other = pd.DataFrame({"regret": [1.0, 4.0], "name": ["a", "c"], "seconds_play": [3.0, 4.0]})
    assert processors.differences(first, first.copy()) == {}
    assert processors.differences(first, other) == {"regret": 0.5, "name": float("inf")}
