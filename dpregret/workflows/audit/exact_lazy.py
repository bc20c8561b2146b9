"""The exact loss of L2P on two experts and a few batches: the law of all plays, y summed over."""

from __future__ import annotations

import math

import numpy as np

from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.l2p import Copied, LazyToPrivate
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.switching import table_epsilon

BATCHES = 14
ON = f"two experts that lose in turn, the losses of round 1 exchanged, {BATCHES} batches"


def attained_epsilon(budget: Budget, keep_away: float | None = None) -> float:
    """Epsilon at delta that Theorem 3.10 of Asi, Koren, Liu & Talwar 2024 loses, with p = eta/eps or another."""
    rounds = BATCHES * max(1, round(1 / budget.epsilon))
    turns = np.where(np.arange(rounds)[:, None] % 2, [0.0, 1.0], [1.0, 0.0])
    changed = turns.copy()
    changed[0] = turns[0, ::-1]
    learner = LazyToPrivate(ExpertProblem(np.ones(2), rounds), budget, 1, "printed")
    if keep_away is not None:
        learner.tuning = Copied(*learner.tuning)._replace(keep_away=keep_away)
    return table_epsilon(plays_law(learner, turns), plays_law(learner, changed), budget.delta)


def plays_law(learner: LazyToPrivate, losses: Array) -> Array:
    """Probability of every sequence of experts, one a batch, (2^batches,)."""
    start, moves, shown = learner.chain(losses)
    plays = shown == np.arange(2)[:, None]  # (experts, states)
    joint: Array = plays * start
    for move in moves[learner.batch - 1 :: learner.batch]:
        joint = (plays * (joint @ move)[:, None]).reshape(-1, len(start))
    total: Array = joint.sum(axis=1)
    assert math.isclose(float(total.sum()), 1.0)
    return total


STATEMENTS = {"l2p.printed": (Budget(1 / 16, 1e-6), attained_epsilon, ON)}
"""At 1/16 the printed eta is 0.026, within the condition eta <= 1/10 of Theorem 3.2."""
