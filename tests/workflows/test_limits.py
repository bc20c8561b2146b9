"""What no machine can finish is refused before anything of its size is made; learners that raise are refused too."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plays import small

from dpregret.core.errors import ConfigError
from dpregret.workflows.plan import checks, config
from dpregret.workflows.plan.config import Limits, given_limits
from dpregret.workflows.plan.load import load_config

Write = Callable[[Any], Path]
WHERE = "papers.lou_cheung_2020.experiments.small"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"runs": 10**12}, ".runs"),
        ({"horizon": [2**38, 2**39, 2**40]}, ".horizon[0]"),
        ({"dimension": [10**9]}, ".dimension[0]"),
        ({"horizon": list(range(1, 1102))}, ".horizon"),
        ({"window": [2**k for k in range(40)], "epsilon": list(range(1, 900))}, ""),  # cells
        ({"horizon": [2**29, 2**30], "epsilon": list(range(1, 100))}, ""),  # gigabytes
        ({"runs": 10**6, "horizon": [2**28], "epsilon": list(range(1, 100))}, ""),  # hours
    ],
)
def test_what_is_too_large_is_refused_before_anything_is_made(
    write: Write, changes: dict[str, Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> None:
        raise AssertionError("something was made")

    monkeypatch.setattr(checks, "experiment_mistakes", made)
    monkeypatch.setattr(checks, "_refused_set", made)
    monkeypatch.setattr(config, "machine_gb", lambda: 64.0)
    path = write(small("online", **changes))
    with pytest.raises(ConfigError) as refusal:
        load_config(path)
    assert any(line.startswith(f"{path}:") and f": {WHERE}{key}: " in line for line in refusal.value.problems)


@pytest.mark.parametrize("growth", [(math.inf, 1.0), (1e308, 4.0), (1.0, 1e308), (1e300, 1e-300)])
def test_dimensions_that_grow_beyond_all_numbers_are_refused(write: Write, growth: tuple[float, float]) -> None:
    factor, power = growth
    grown = small("erm", dimension=None, samples=[256], dimension_growth={"factor": factor, "power": power})
    with pytest.raises(ConfigError, match=r"experiments\.small\.dimension_growth"):
        load_config(write(grown | {"allow_few_cells": True}))


def test_limits_are_lifted_by_the_profile_and_by_the_command(write: Write) -> None:
    settings = small("online") | {"limits": {"runs": 2, "rounds": "2^6"}}
    with pytest.raises(ConfigError) as refusal:
        load_config(write(settings), check=False)
    assert len(refusal.value.problems) == 2
    assert load_config(write(settings), check=False, limits=given_limits("runs:3,rounds:2^7")).limits.rounds == 128
    assert load_config(write(settings), check=False, limits=given_limits("off")).limits.runs == math.inf
    assert given_limits(None) is None
    assert given_limits({"runs": "1e7"}) == Limits(runs=1e7)


@pytest.mark.parametrize(
    ("raises", "key"),
    [(OverflowError("too large"), ".learners.wdp-cocop-gamma[0]"), (SystemExit(0), ".learners.wdp-cocop-gamma[0]"),
     (MemoryError(), ""), (checks.TooMuch(), "")],
)  # fmt: skip
def test_whatever_making_a_learner_raises_is_a_refusal_with_its_key(
    write: Write, raises: BaseException, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learner(*_: object) -> None:
        raise raises

    monkeypatch.setattr(type(checks.FAMILIES["online"]), "learner", learner)
    with pytest.raises(ConfigError) as refusal:
        load_config(write(small("online")))
    assert all("\n" not in line for line in refusal.value.problems)
    assert any(f": {WHERE}{key}" in line for line in refusal.value.problems)


def endless() -> None:
    with checks.guard(Limits(check_seconds=0.05)):
        while True:
            pass


def test_endless_and_greedy_making_is_ended() -> None:
    with pytest.raises(checks.TooMuch):
        endless()
    with pytest.raises(MemoryError), checks.guard(Limits(check_gb=0.25)):
        bytearray(2**29)
    assert len(bytearray(2**29)) == 2**29, "the bound is gone"
