"""The rules of verdicts: checks, explicit bounds near and far, privacy where the claim says."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge.verdicts import judge
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim


def root(checkpoints: np.ndarray, value: float) -> np.ndarray:
    return np.sqrt(checkpoints)


CHECK = "the stream dictates it"


def test_checks_hold_when_they_match_and_fail_on_either_side() -> None:
    runs = Sweep(root).frame()
    assert judge(runs, make_claim(check=CHECK)).verdict == "holds"
    assert judge(runs.assign(tight=False), make_claim(check=CHECK)).verdict == "holds"
    assert judge(runs, make_claim(check=CHECK, rate="T^0.75")).verdict == "fails"
    assert judge(runs, make_claim(check=CHECK, rate="T^0.25")).verdict == "fails"
    assert judge(runs, make_claim(check=CHECK, **{"from": 2**13})).verdict == "inconclusive"
    assert judge(runs, make_claim(check=CHECK, experiment="window")).verdict == "not run"
    private = make_claim(check=CHECK, type="private", rate=None)
    assert judge(runs, private).verdict == "holds"
    more = Sweep(root, delivered=1.5).frame()
    assert judge(more, private).verdict == "fails"
    assert judge(more, private.model_copy(update={"accounting": "upper"})).verdict == "fails"  # it is about the ledger


def steeper(bound: float, **changes: object) -> tuple[str, str]:
    """A claim of T^0.3 beside regret of T^0.5 under a bound of `bound` T^0.3; the interval has no length."""
    changes = {"spread": 0.0, **changes}
    runs = Sweep(root, bound=lambda checkpoints, value: bound * checkpoints**0.3, **changes).frame()  # type: ignore[arg-type]
    found = judge(runs, make_claim(rate="T^0.3"))
    return found.verdict, found.reason.split("; ", 1)[1]


def test_a_steeper_slope_is_a_violation_only_at_the_bound() -> None:
    """T^0.5 meets c T^0.3 at T = c^5: 2^15 is the last cell."""
    last = 2.0**15
    assert steeper(7.9) == ("violated", "the explicit bound is crossed at 32768")
    assert steeper(7.9, spread=0.3, runs=3)[0] == "violated"  # the interval of the last mean holds the bound
    assert steeper(1.99 * last**0.2) == ("violated", "at up to 0.5 of the explicit bound")
    assert steeper(2.01 * last**0.2) == ("steeper, bound holds", "at most 0.5 of the explicit bound")
    assert steeper(2.0**10)[0] == "steeper, bound holds"
    assert steeper(np.nan) == ("steeper", "there is no explicit bound to compare with")


def test_an_overhead_is_held_against_the_bound_of_all_regret() -> None:
    """The overhead grows faster than claimed; crossed is the bound when the whole regret is above it."""
    quiet = {"spread": 0.0, "settings": {"window": 16, "epsilon": np.inf}}
    private = Sweep(lambda t, v: 10 * t**0.25 + 0.01 * t**0.5, spread=0.0)
    clean = Sweep(lambda t, v: 10 * t**0.25, learner="ftal", variant="plain", **quiet)  # type: ignore[arg-type]
    runs = pd.concat([private.frame(), clean.frame()], ignore_index=True)
    claim = make_claim(response="overhead", counterpart="ftal", rate="T^0.25")
    far = judge(runs.assign(bound=20 * runs["checkpoint"] ** 0.25), claim)
    assert far.verdict == "steeper, bound holds"
    near = judge(runs.assign(bound=10.01 * runs["checkpoint"] ** 0.25), claim)
    assert near.verdict == "violated"
    assert "crossed at" in near.reason


def test_growth_towards_small_epsilon_is_growth() -> None:
    runs = Sweep(lambda checkpoints, value: value**-1.0 * np.log(checkpoints), experiment="epsilon", spread=0.0,
                 bound=lambda checkpoints, value: 64 * value**-0.5 * np.log(checkpoints),
                 parameter="epsilon", values=(0.5, 1, 2, 4, 8)).frame()  # fmt: skip
    found = judge(runs, make_claim(parameter="epsilon", experiment="epsilon", rate="eps^-0.5"))
    assert found.verdict == "steeper, bound holds"
    assert "at most 0.022 of the explicit bound" in found.reason


def test_privacy_is_judged_where_the_claim_says() -> None:
    tight = Sweep(root, settings={"epsilon": 1.0}, delivered=1 / 8).frame()
    loose = Sweep(root, settings={"epsilon": 4.0}, delivered=1.0).frame()
    runs = pd.concat([tight, loose], ignore_index=True)
    claim = make_claim(type="private", rate=None, parameter="epsilon")
    assert judge(runs, claim).verdict == "violated"
    assert judge(runs, make_claim(type="private", rate=None, where={"epsilon": 1.0})).verdict == "reproduced"
    assert judge(runs, make_claim(type="private", rate=None, where={"epsilon": 4.0})).verdict == "violated"
