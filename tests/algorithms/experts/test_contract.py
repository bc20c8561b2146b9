"""What every learner of experts must keep, whatever it does inside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawn import generators
from tiny_streams import constant, expanded, halving, varying

from dpregret.algorithms.experts.base import ExpertProblem, Play
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget

EVERY = [(name, variant) for name, kind in learners("experts").items() for variant in kind.card.variants]
CASES = pytest.mark.parametrize(("name", "variant"), EVERY)


def play(name: str, variant: str, runs: int = 3, split: bool = False) -> tuple[Any, Play]:
    problem, blocks = halving(8, 300)
    kind = learners("experts")[name]
    budget = Budget(4.0, 1e-6) if kind.card.private else Budget(math.inf)
    learner = kind(problem, budget, runs, variant)
    return learner, learner.play(expanded(blocks) if split else blocks, generators(runs))


@CASES
def test_contract(name: str, variant: str) -> None:
    """Losses between nothing and everything; a run depends on its own generator only; the budget is kept.

    The same losses round by round are the same play, up to rounding (a halt within rounding of its limit aside).
    """
    learner, record = play(name, variant)
    assert record.losses.shape == record.draws.shape == (3,)
    assert (record.losses >= 0).all()
    assert (record.losses <= 300).all()
    assert learner.exact == (np.ptp(record.losses) == 0 and not np.isnan(record.draws).any())
    assert np.array_equal(record.losses[:2], play(name, variant, runs=2)[1].losses)
    assert record.losses == pytest.approx(play(name, variant, split=True)[1].losses, rel=1e-9, abs=1e-9)
    (delivered,) = learner.delivered_epsilon()
    assert (delivered > 0) if learner.card.private else math.isinf(delivered)
    assert not learner.card.private or delivered <= 4.0 * (1 + 1e-6) or variant == "printed"  # whose constants may fail


@CASES
def test_nobody_foresees_a_coin(name: str, variant: str) -> None:
    """Fair coins, whatever was played: half of the rounds is lost. Who is charged with what it plays after it has seen
    the loss, or draws with it, loses less. Without privacy learners follow the losses most closely.
    """
    rounds, runs = 41, 300
    coins = np.random.default_rng(8).integers(0, 2, (rounds, runs, 2)).astype(float)
    learner = learners("experts")[name](ExpertProblem(np.ones(2), rounds, 1.0), Budget(math.inf), runs, variant)
    totals = learner.play([varying(coins[:17]), varying(coins[17:])], generators(1) * runs).losses  # drawn from in turn
    assert abs(totals.mean() - rounds / 2) < 4.5 * math.sqrt(rounds / 4 / runs)


@CASES
def test_without_privacy_and_after_many_rounds_the_perfect_expert_is_found(name: str, variant: str) -> None:
    """eps = inf is the same code without noise: little is lost beyond what the learner's own constants allow.

    Whose guarantee is for independent losses meets them: the best of four always wins.
    """
    problem, blocks = halving(4, 40_000)
    kind = learners("experts")[name]
    if kind.stochastic_only:
        problem, blocks = ExpertProblem(np.ones(4), 40_000, gap=1.0), [constant([1.0, 1.0, 1.0, 0.0], 40_000)]
    learner = kind(problem, Budget(math.inf), 2, variant)
    regret = learner.play(blocks, generators(2)).losses
    assert (regret <= 400).all(), regret  # sqrt(T ln(d)/2) = 166, sqrt(2 T ln d) = 333


@CASES
def test_regret_stays_below_the_explicit_bound(name: str, variant: str) -> None:
    problem, blocks = halving(64, 20_000)
    kind = learners("experts")[name]
    budget = Budget(2.0, 1e-6) if kind.card.private else Budget(math.inf)
    learner = kind(problem, budget, 8, variant)
    (bound,) = learner.bound()
    assert math.isnan(bound) or learner.play(blocks, generators(8)).losses.mean() <= bound


def test_unknown_variants_and_bad_problems_are_refused() -> None:
    sizes = np.array([2.0, 2.0])
    with pytest.raises(ValueError, match="hedge has no variant 'fast': allowed are"):
        learners("experts")["hedge"](ExpertProblem(sizes, 10, 0.0), Budget(math.inf), 1, "fast")
    with pytest.raises(ValueError, match="sparse-vector needs a bound on the loss of the best expert"):
        learners("experts")["sparse-vector"](ExpertProblem(sizes, 10), Budget(1.0), 1, "pure")
    with pytest.raises(ValueError, match="hedge small-loss needs a bound"):
        learners("experts")["hedge"](ExpertProblem(sizes, 10), Budget(math.inf), 1, "small-loss")
    for bad, message in (
        ((np.array([1.0]), 10), "at least 2 experts are needed, got 1"),
        ((sizes, 0), "horizon must be at least 1"),
        ((sizes, 10, 11.0), "best_loss must lie between 0 and the horizon 10, got 11"),
        ((np.array([2.0, 0.0]), 10), "every group needs at least one expert"),
        ((sizes, 10, None, 0.05, 1.5), "gap must lie between 0 and 1, got 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            ExpertProblem(*bad)
