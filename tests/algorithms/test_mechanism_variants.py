"""Learners with another mechanism in place of the tree: which offer it, that it is played, and what it is worth."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.bandits.base import BanditProblem
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, learners
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, Budget
from dpregret.algorithms.privacy.audit import item_mu, item_pure_loss
from dpregret.algorithms.privacy.budget import gaussian_mu
from dpregret.algorithms.privacy.toeplitz import Root, window_lower_bound
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems, best_radices

PURE_WINDOWED = ["wdp-cocol-gamma", "wdp-cocop-gamma", "wdp-scofw-gamma"]
PURE_SEQUENCES = {
    "pftal": "blocks", "private-bandit-laplace": "blocks", "private-ftpl": "laplace-blocks",
    "private-ftrl": "laplace-blocks", "thakurta-smith-laplace": "blocks", "tree-counters": "blocks",
}  # fmt: skip
WINDOWED = ["wdp-cocol-gaussian", "wdp-cocop-gaussian", "wdp-scofw-gaussian"]
BUDGET = Budget(4.0, 1e-6)


def online(name: str, variant: str, horizon: int, window: int, budget: Budget = BUDGET, runs: int = 1, size: int = 3):
    problem = Problem(make_set("ball", size), horizon, 2.0, 1.0, 1.0, best_loss=1.0)
    return learners("online")[name](problem, [Setting(window, budget)], runs, variant)


def made(name: str, variant: str, horizon: int, window: int = 8) -> Any:
    """A learner of any family; its noise plan."""
    if name in learners("online"):
        learner: Any = online(name, variant, horizon, window)
        return learner, learner.noise_plan
    if name in learners("experts"):
        learner = learners("experts")[name](ExpertProblem(np.ones(3), horizon), BUDGET, 1, variant)  # type: ignore[arg-type]
    else:
        problem = BanditProblem(make_set("ball", 2), horizon, 1.0)
        learner = learners("bandits")[name](problem, [BUDGET], 1, variant)
    return learner, learner.plan


@pytest.mark.parametrize("window", [1, 8, 9, 100])
@pytest.mark.parametrize("name", PURE_WINDOWED)
def test_pure_windows_are_protected_with_their_mechanism(name: str, window: int) -> None:
    """Charged for its nodes, whatever the window; one noise an item where no tree helps."""
    made_of = {variant: made(name, variant, 50, window)[1] for variant in PURE_ALTERNATIVES}
    assert made_of["items"].mechanisms == [WindowItems(window)]
    radices = best_radices(window)
    assert made_of["blocks"].mechanisms == [WindowBlocks(window, radices) if radices else WindowItems(window)]
    for plan in made_of.values():
        (line,) = plan.releases()
        assert line.epsilon(0.0) == pytest.approx(BUDGET.epsilon, rel=1e-12)
        assert plan.scales[0] == pytest.approx(plan.mechanisms[0].nodes_per_item * plan.sensitivity / BUDGET.epsilon)


@pytest.mark.parametrize(
    ("name", "horizon"),
    [(name, horizon) for name in PURE_SEQUENCES for horizon in (2, 81, 400)
     if horizon >= 81 or name not in learners("bandits")],
)  # fmt: skip
def test_pure_sequences_are_protected_to_the_end(name: str, horizon: int) -> None:
    """Nothing expires before the last prefix that is looked at; no item costs more than it is charged."""
    if name == "tree-counters":
        learner = learners("experts")[name](ExpertProblem(np.ones(3), horizon), BUDGET, 1, "blocks")  # type: ignore[arg-type]
        mechanism, nodes, released = learner.sums, learner.levels, horizon - 1  # type: ignore[attr-defined]
        assert learner.levels / learner.scale == pytest.approx(BUDGET.epsilon / 2)  # type: ignore[attr-defined]
    else:
        learner, plan = made(name, PURE_SEQUENCES[name], horizon)
        mechanism, nodes = plan.mechanisms[0], plan.releases()[0].nodes
        released = learner.batches - learner.lag - 1 if name in learners("bandits") else horizon - 1
    assert nodes == mechanism.nodes_per_item
    if 1 < released <= 80:
        assert item_pure_loss(mechanism, released).max() <= nodes * (1 + 1e-9)
    if released > 0:
        assert getattr(mechanism, "window", released) >= released


def test_a_lag_costs_nothing() -> None:
    """Of 9 batches the sums of 1..7 are looked at: the point of batch 9 is made from them."""
    learner, plan = made("private-bandit-gaussian", "root", 81)
    assert (learner.batches, learner.lag) == (9, 1)
    assert plan.mechanisms == [Root(8)]
    assert plan.mechanisms[0].protected == 7


@pytest.mark.parametrize("variant", ALTERNATIVES)
@pytest.mark.parametrize("horizon", [1, 2, 64, 77])
def test_the_ledger_is_the_exact_loss_of_what_is_released(variant: str, horizon: int) -> None:
    """Prefixes 1..T-1, any T; in a window W with T = 3 W - 4, the oldest item that is protected at the end."""
    for name in ("dp-ftrl-lipschitz", "private-ftrl"):
        plan = made(name, variant, horizon)[1]
        (line,) = plan.releases()
        assert line.epsilon(BUDGET.delta) == pytest.approx(BUDGET.epsilon, rel=1e-9)
        if horizon > 1:
            exact = item_mu(plan.mechanisms[0], horizon - 1).max() * plan.sensitivity / plan.scales[0]
            assert exact == pytest.approx(gaussian_mu(BUDGET), rel=1e-9)
    window = (horizon + 4) // 3
    for name in WINDOWED:
        plan = made(name, variant, horizon, window)[1]
        items = item_mu(plan.mechanisms[0], horizon)[max(0, horizon - window) :]
        assert (items * plan.sensitivity / plan.scales[0]).max() <= gaussian_mu(BUDGET) * (1 + 1e-9)
        if window <= horizon:
            assert items[0] * plan.sensitivity / plan.scales[0] == pytest.approx(gaussian_mu(BUDGET), rel=1e-9)


def landau(window: int) -> float:
    roots = itertools.accumulate(((2 * j - 1) / (2 * j) for j in range(1, window)), operator.mul, initial=1.0)
    return math.fsum(root * root for root in roots)


@pytest.mark.parametrize("variant", ALTERNATIVES)
@pytest.mark.parametrize(("window", "rounds"), [(1, 7), (16, 1001), (100, 333)])
def test_no_variant_beats_the_lower_bound(variant: str, window: int, rounds: int) -> None:
    """Over many rounds the root meets it."""
    plan = made("wdp-cocop-gaussian", variant, rounds, window)[1]
    unit = plan.dimension * (plan.sensitivity / gaussian_mu(BUDGET)) ** 2
    mean = np.square(plan.expected_norm(rounds)).mean() / unit
    assert mean >= window_lower_bound(window, rounds) * (1 - 1e-9)
    assert mean <= landau(window) ** 2 * (1.03 if variant == "buffers" else 1 + 1e-9)


def test_constants_are_those_of_the_mechanisms_own_noise() -> None:
    """WDP-COCOL's N; lambda of DP-FTRL, in both forms: the minimiser of their own bound."""
    for variant in ("practical", *ALTERNATIVES):
        learner, plan = made("wdp-cocol-gaussian", variant, 64, 16)
        assert learner._terms().noise[0, 0] == pytest.approx(plan.expected_norm(4000).max(), rel=1e-12)
    horizon = 777
    for name in ("dp-ftrl", "dp-ftrl-lipschitz"):
        found = []
        for variant in ("corrected", *ALTERNATIVES):
            learner, plan = made(name, variant, horizon)
            chosen = learner.regularisation.copy()
            bounds = {}
            for factor in (0.98, 1.0, 1.02):
                learner.regularisation = factor * chosen
                bounds[factor] = learner.bound(horizon)[0, -1]
            assert min(bounds, key=lambda factor: bounds[factor]) == 1.0
            found.append((chosen[0], bounds[1.0]))
        (_, tree), (_, root), (_, buffers) = found
        assert tree / root > 1.3
        assert root < buffers < 1.01 * root
        assert len({each for each, _ in found}) == 3


def test_without_a_horizon_the_whole_sequence_is_protected_at_every_length() -> None:
    """Longer sequences tell more of an item, never more than was promised; the horizon is not looked at."""
    short, long = (made("ftal-endless", "corrected", horizon)[1] for horizon in (10, 1000))
    assert short == long
    spent = [
        item_mu(long.mechanisms[0], rounds).max() * long.sensitivity / long.scales[0] for rounds in (1, 9, 63, 300)
    ]
    assert spent == sorted(spent)
    assert 0.8 * gaussian_mu(BUDGET) < spent[-1] < gaussian_mu(BUDGET)
    assert long.releases()[0].epsilon(BUDGET.delta) == pytest.approx(BUDGET.epsilon)
