"""A new paper is one new folder; no file that exists is edited."""

from typing import Any

import pandas as pd
import pytest

EXPERIMENTS = """\
defaults: {set: ball, streams: [norm-kink], window: [1], epsilon: [.inf], delta: 1.0e-6, runs: 4}
experiments:
  descent:
    title: Descent and the leader
    sweep: horizon
    dimension: [2]
    horizon: 2^8..2^13
    learners: {ogd: [plain], ftal: [plain]}
"""
CLAIMS = """\
title: A toy
settings:
  T: {experiment: descent, stream: norm-kink, parameter: horizon}
claims:
  - id: toy-ogd
    says: descent has logarithmic regret
    source: Theorem 1
    at: T
    learner: ogd.plain
    rate: ln T
    from: 256
  - id: toy-ftal
    says: the leader has logarithmic regret
    source: Theorem 2
    at: T
    learner: ftal.plain
    rate: ln T
    from: 256
guarantees:
  toy: {group: corrected, operation: one projection, bound_text: O(ln T)}
tables:
  - caption: A toy.
    reference: {experiment: descent, stream: norm-kink}
    rows:
      - {id: ogd, label: descent, learner: ogd.plain, at: toy}
      - {id: ftal, label: leader, learner: ftal.plain, at: toy}
"""
FILES = {"experiments.yaml": EXPERIMENTS, "claims.yaml": CLAIMS}


@pytest.fixture
def with_toy(checkout: Any) -> Any:
    folder = checkout.root / "workflows" / "papers" / "toy_et_al_2026"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_text(content)
    return checkout


@pytest.mark.workflow
def test_a_new_folder_is_a_paper_of_the_full_profile(with_toy: Any) -> None:
    results = "results/toy_et_al_2026"
    done = with_toy.snakemake("--cores", "2", f"{results}/claims.csv", f"{results}/table_1_all.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    claims = pd.read_csv(with_toy.root / results / "claims.csv").set_index("claim")
    assert list(claims.index) == ["toy-ogd", "toy-ftal"]
    assert set(claims["rate"]) == {"ln T"}
    assert not claims["fitted"].isna().any()
    table = pd.read_csv(with_toy.root / results / "table_1_all.csv", keep_default_na=False)
    assert list(table["algorithm"]) == ["descent", "leader"]
    assert all(text != "-" for text in table["T exponent"])
