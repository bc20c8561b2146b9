"""Algorithm 2: how the budget is spent on phases, and when a guess is doubled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn import generators
from hypothesis import given
from hypothesis import strategies as st
from tiny_streams import constant, halving

from dpregret.algorithms.experts.adaptive import AdaptiveExperts, _Adaptive
from dpregret.algorithms.experts.base import Block, ExpertProblem, RunOfBlock
from dpregret.algorithms.privacy import Budget

VARIANTS = pytest.mark.parametrize("variant", ["cold", "warm", "restart"])


class Credulous(AdaptiveExperts):
    """Doubles a guess as soon as a noisy loss exceeds it."""

    slack = 0.0


def played(learner: AdaptiveExperts, blocks: list[Block], runs: int) -> list[_Adaptive]:
    players = [_Adaptive(learner, learner.plan, generator) for generator in generators(runs)]
    before = np.zeros(len(learner.sizes))
    for block in blocks:
        for player in players:
            player.play_block(RunOfBlock(block, 0), before)
        before = before + RunOfBlock(block, 0).before(block.rounds)
    return players


@given(st.floats(0.05, 100), st.integers(2, 2**22), st.integers(2, 2**16))
def test_phases_share_the_budget(epsilon: float, horizon: int, experts: int) -> None:
    problem = ExpertProblem(np.array([1.0, experts - 1.0]), horizon)
    made = {name: AdaptiveExperts(problem, Budget(epsilon), 1, name) for name in ("cold", "warm", "restart")}
    for learner in made.values():
        assert learner.delivered_epsilon() == pytest.approx([epsilon])
    cold, warm, restart = (made[name].phases for name in ("cold", "warm", "restart"))
    assert (cold.count, cold.first_guess) == (math.ceil(math.log2(horizon)), 1.0)
    assert 2 * cold.count * cold.epsilon == pytest.approx(epsilon)
    assert 2 * warm.count * warm.epsilon == pytest.approx(epsilon)
    assert 2 * restart.epsilon == pytest.approx(epsilon)
    for phases in (cold, warm):  # the last guess is at least T/2, so a larger L* is within a factor of two
        assert phases.first_guess * 2**phases.count >= horizon
    assert warm.count <= cold.count


def test_constants_at_a_reference() -> None:
    """d = 2^8, T = 2^20, eps = 1 and beta = 0.05, by hand: K = 48 + 72."""
    problem = ExpertProblem(np.array([1.0, 255.0]), 2**20)
    cold = AdaptiveExperts(problem, Budget(1.0), 1, "cold")
    log_term = math.log(2 * 2.0**40 / 0.05)
    assert cold.plan(3.0).threshold == pytest.approx(3 + 40 * (8 * 120 + 16 * log_term))
    assert cold.release_scale == pytest.approx(120 * 40)
    events = 120 * 20 / 0.05
    assert cold.slack == pytest.approx(4 * 120 * 40 * math.log(256 * events) + 120 * 40 * math.log(events))


@VARIANTS
def test_a_correct_guess_stands(variant: str) -> None:
    """L* = 0 is below every guess: no run leaves its first phase, though all of them ask several times."""
    problem, blocks = halving(64, 200_000)
    players = played(AdaptiveExperts(problem, Budget(64.0), 1, variant), blocks, 60)
    assert np.mean([player.draws for player in players]) > 2
    assert [player.phase for player in players] == [1] * 60


def test_without_slack_a_correct_guess_falls() -> None:
    """What the slack is for: the noise of a release alone exceeds the guess 1 nearly every second time."""
    problem, blocks = halving(64, 200_000)
    players = played(Credulous(problem, Budget(64.0), 1, "cold"), blocks, 60)
    assert np.mean([player.phase > 1 for player in players]) > 0.5


@pytest.mark.parametrize("doublings", [1, 5, 10])
def test_doubling_without_noise_is_exact(doublings: int) -> None:
    """All lose 1/2: guess g is left at the first multiple of 1/2 above g, so p doublings take a loss of 2^p - 1 + p/2.

    The loss of the round of a draw counts for the next guess already.
    """
    lost = 2 * (2**doublings - 1) + doublings  # rounds
    for rounds, found in ((lost, doublings - 1), (lost + 1, doublings)):
        learner = AdaptiveExperts(ExpertProblem(np.ones(4), rounds), Budget(math.inf), 1, "cold")
        player = played(learner, [constant([0.5] * 4, rounds)], 1)[0]
        assert (player.draws, player.guess) == (found, 2.0 ** min(found, learner.phases.count - 1))
        assert player.total == rounds / 2


@VARIANTS
def test_only_restart_forgets(variant: str) -> None:
    """What a phase does not see is what was lost before it began, up to the round of the draw that ended the last."""
    problem = ExpertProblem(np.ones(4), 60_000)
    player = played(AdaptiveExperts(problem, Budget(2000.0), 1, variant), [constant([0.5] * 4, 60_000)], 1)[0]
    assert player.phase > 1
    assert ((player.start > 0) == (variant == "restart")).all()


@VARIANTS
def test_the_bound_adds_up_the_phases_up_to_the_true_loss(variant: str) -> None:
    """A correct first guess: that of Algorithm 1. Four times the first guess: three phases."""
    learner = AdaptiveExperts(ExpertProblem(np.ones(4), 2**20, 0.0), Budget(8.0), 1, variant)
    first = learner.phases.first_guess
    assert learner.bound() == [learner.plan(first).bound()]
    more = AdaptiveExperts(ExpertProblem(np.ones(4), 2**20, 4 * first), Budget(8.0), 1, variant)
    assert more.bound() == pytest.approx([sum(more.plan(first * factor).bound() for factor in (1, 2, 4))])
    unknown = AdaptiveExperts(ExpertProblem(np.ones(4), 2**20), Budget(8.0), 1, variant)
    assert math.isnan(unknown.bound()[0])
