"""FTAL that starts anew: block by block it is FTAL, and one tree a block protects for ever."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader
from dpregret.algorithms.online.restarted_leader import RestartedLeader
from dpregret.algorithms.privacy import Budget, WindowTree
from dpregret.algorithms.privacy.audit import item_mu, materialise
from dpregret.algorithms.privacy.trees import BlockTrees
from dpregret.datasets.streams import make_stream

BLOCK, ROUNDS = 8, 27


def told(rounds: int = ROUNDS) -> Problem:
    return Problem(make_set("ball", 3), rounds, 2.0, 0.5)


def test_without_noise_every_block_is_ftal() -> None:
    stream = make_stream("random-kink", make_set("ball", 3), strong_convexity=0.5)
    losses = list(stream.rounds([np.random.default_rng(1)], ROUNDS))
    learner = RestartedLeader(told(), [Setting(BLOCK, Budget(math.inf))], 1, "corrected")
    found = play(learner, losses, [np.random.default_rng(2)], range(1, ROUNDS + 1)).losses[0, 0]
    plain, total = [], 0.0
    for first in range(0, ROUNDS, BLOCK):
        part = losses[first : first + BLOCK]
        fresh = FollowTheApproximateLeader(told(), [Setting(BLOCK, Budget(math.inf))], 1, "plain")
        curve = play(fresh, part, [np.random.default_rng(2)], range(1, len(part) + 1)).losses[0, 0]
        plain += [*(total + curve)]
        total = plain[-1]
    np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_the_bound_is_that_of_ftal_block_by_block() -> None:
    budget = Budget(math.inf)
    once = FollowTheApproximateLeader(told(), [Setting(BLOCK, budget)], 1, "plain").bound(BLOCK)[0]
    found = RestartedLeader(told(), [Setting(BLOCK, budget)], 1, "corrected").bound(ROUNDS)[0]
    whole, rest = divmod(ROUNDS, BLOCK)
    assert found[-1] == pytest.approx(whole * once[-1] + once[rest - 1])


@pytest.mark.parametrize("window", [1, 2, 8, 64, 128])
def test_an_item_costs_the_nodes_of_its_own_block_for_ever(window: int) -> None:
    rounds, mechanism = 200, BlockTrees(window)
    losses = item_mu(mechanism, rounds)
    assert losses.max() == pytest.approx(math.sqrt(mechanism.nodes_per_item))
    noise = materialise(mechanism, rounds)
    np.testing.assert_allclose(np.square(noise).sum(axis=1), mechanism.noisy_nodes(rounds))
    begun = np.concatenate([np.zeros((1, noise.shape[1])), noise])[np.arange(rounds) // window * window]
    np.testing.assert_allclose(np.square(noise - begun).sum(axis=1), mechanism.nodes_since_block(rounds))
    tree = materialise(WindowTree(window), window)
    size = min(window, rounds)
    np.testing.assert_allclose((noise @ noise.T)[:size, :size], (tree @ tree.T)[:size, :size])
