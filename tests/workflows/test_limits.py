"""What no machine can finish is refused in one line, before anything of its size is made."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpregret.core.errors import ConfigError
from dpregret.workflows.plan import checks, limits
from dpregret.workflows.plan.limits import Limits, given_limits
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.profiles import PROFILES

Write = Callable[[Any], Path]
GROWTH = {
    "family": "erm", "title": "x", "sweep": "none", "set": "ball", "risks": ["quadratic-risk"], "samples": [256],
    "epsilon": [1.0], "delta": 1e-6, "runs": 4, "learners": {"noisy-gd": ["corrected"]},
}  # fmt: skip


@pytest.fixture
def nothing_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test where any set, problem or learner is made."""

    def made(*_: object) -> None:
        raise AssertionError("something was made")

    monkeypatch.setattr(checks, "experiment_mistakes", made)
    monkeypatch.setattr(checks, "_refused_set", made)


def experiment(settings: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = settings["papers"]["lou_cheung_2020"]["experiments"]["horizon"]
    return found


LARGE: list[tuple[dict[str, Any], str, str]] = [
    (
        {"runs": 10**12},
        "runs",
        "1,000,000,000,000 is more than the limit runs, 1,000,000 (to lift it: --config limits=runs:",
    ),
    ({"horizon": [2**38, 2**39, 2**40]}, "horizon[0]", "more than the limit rounds, 1,073,741,824"),
    ({"dimension": [10**9]}, "dimension[0]", "1,000,000,000 is more than the limit dimension"),
    ({"horizon": "2^0..2^1000000"}, "horizon", "no number of a setting"),
    ({"horizon": list(range(1, 1102))}, "horizon", "1,101 values is more than the limit values, 1,000"),
    ({"window": [2**k for k in range(40)], "epsilon": list(range(1, 900))}, "", "cells is more than the limit cells"),
    ({"horizon": [2**29, 2**30], "epsilon": list(range(1, 100))}, "", "GB is more than the limit memory_gb"),
    ({"runs": 10**6, "horizon": [2**28], "epsilon": list(range(1, 100))}, "", "CPU hours is more than the limit hours"),
    ({"epsilon": [1e308]}, "epsilon[0]", "limit epsilon"),
    ({"epsilon": [1.0, 5e-324]}, "epsilon[1]", "limit epsilon"),
]


@pytest.mark.parametrize(("changes", "key", "message"), LARGE)
def test_what_is_too_large_is_refused_before_anything_is_made(
    settings: dict[str, Any], write: Write, changes: dict[str, Any], key: str, message: str, nothing_made: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(limits, "machine_gb", lambda: 64.0 if "memory" in message else 1e9)
    experiment(settings).update(changes)
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings))
    where = "papers.lou_cheung_2020.experiments.horizon" + (f".{key}" if key else "")
    assert any(f": {where}: " in line and message in line for line in caught.value.problems)
    assert all("mine.yaml:" in line for line in caught.value.problems)


def test_sizes_outside_of_experiments(settings: dict[str, Any], write: Write, nothing_made: None) -> None:
    settings |= {"audit": {"runs": 10**9}, "validation": {"simulations": 10**9}}
    settings["papers"]["lou_cheung_2020"]["oracle_costs"] = {"ball": [4, 2**30]}
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings))
    keys = [line.split(": ")[1] for line in caught.value.problems]
    assert keys == ["audit.runs", "validation.simulations", "papers.lou_cheung_2020.oracle_costs.ball[1]"]


@pytest.mark.parametrize("growth", [(math.inf, 1.0), (1e308, 4.0), (1.0, 1e308), (1e300, 1e-300)])
def test_dimensions_that_grow_beyond_all_numbers(settings: dict[str, Any], write: Write, growth: Any) -> None:
    grown = {**GROWTH, "dimension_growth": dict(zip(("factor", "power"), growth, strict=True))}
    settings["papers"] = {"talwar_2015": {"experiments": {"x": grown}}}
    with pytest.raises(ConfigError, match=r"mine\.yaml:\d+: papers\.talwar_2015\.experiments\.x\.dimension_growth"):
        load_config(write(settings))


def test_limits_are_lifted_by_the_profile_and_by_the_command(settings: dict[str, Any], write: Write) -> None:
    experiment(settings).update({"runs": 3, "horizon": [16, 32, 64, 128]})
    settings["limits"] = {"runs": 2, "rounds": "2^6"}
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings), check=False)
    assert len(caught.value.problems) == 2
    assert load_config(write(settings), check=False, limits=given_limits("runs:3,rounds:2^7")).limits.rounds == 128
    assert load_config(write(settings), check=False, limits=given_limits("off")).limits.runs == math.inf
    assert given_limits(None) is None
    assert given_limits({"runs": "1e7"}) == Limits(runs=1e7)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("round:4", "--config limits: round: unknown key, .*did you mean 'rounds'"),
        ("rounds:x", "--config limits: rounds: must be a number, not 'x'"),
        ("rounds:-1", "--config limits: rounds: must be greater than 0"),
        ("of", "--config limits: write limits=off or limits=rounds:2"),
    ],
)
def test_limits_that_are_none(option: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        given_limits(option)


@pytest.mark.parametrize("profile", ["full", "ci", "smoke", "large", "large-slice"])
def test_shipped_profiles_are_within_all_limits_of_a_small_machine(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "machine_gb", lambda: 8.0)
    assert load_config(PROFILES / f"{profile}.yaml", check=False).profile == profile


@pytest.mark.parametrize(
    ("raises", "message"),
    [
        (OverflowError("too large"), r"learners\.wdp-cocop-gamma\[0\]: .*OverflowError: too large \(test_limits\.py:"),
        (ZeroDivisionError("by zero"), r"learners\.wdp-cocop-gamma\[0\]: .*ZeroDivisionError"),
        (IndexError("of a user's own learner"), "IndexError: of a user's own learner"),
        (SystemExit(0), "SystemExit: 0"),
        (MemoryError(), r"horizon: making its problems and learners takes more than 1 GB \(limit check_gb\)"),
        (limits.TooMuch(), r"horizon: making its problems and learners takes more than 10 s"),
    ],
)
def test_whatever_making_a_learner_raises_is_a_refusal_with_its_key(
    settings: dict[str, Any], write: Write, raises: BaseException, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learner(*_: object) -> None:
        raise raises

    monkeypatch.setattr(type(checks.FAMILIES["online"]), "learner", learner)
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(write(settings))
    assert all(line.count("\n") == 0 for line in caught.value.problems)


def endless() -> None:
    with limits.guard(Limits(check_seconds=0.05)):
        while True:
            pass


def test_endless_and_greedy_making_is_ended() -> None:
    with pytest.raises(limits.TooMuch):
        endless()
    with pytest.raises(MemoryError), limits.guard(Limits(check_gb=0.25)):
        bytearray(2**29)
    assert len(bytearray(2**29)) == 2**29, "the bound is gone"
