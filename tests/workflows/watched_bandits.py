"""Bandits of `NoisyLeader` whose batches are looked at: estimates, sums with noise, points."""

from typing import Any, NamedTuple

import numpy as np

from dpregret.core.oracles import step
from dpregret.numerics.arrays import Array


class Watched(NamedTuple):
    """A learner's step, and what it was handed: estimates and sums (batches, n, columns), points (batches, d, columns).

    still: the point never moves.
    """

    inner: Any
    solver: Any
    still: bool
    estimates: Array
    sums: Array
    points: Array


@step.add
def _(learner: Watched, loss, domain, batch, x, estimate, noise, scratch):
    here, now = x.copy(), int(batch) - 1
    learner.estimates[now] = estimate
    step(learner.inner, loss, domain, batch, x, estimate, noise, scratch)  # noise becomes the sum that is used
    learner.sums[now] = noise
    if learner.still:
        x[:] = here
    learner.points[now] = x


def watched(learner: Any, still: bool = False, batches: int | None = None) -> Watched:
    """What watches the learner's next play."""
    inner = learner.state()
    count = -(-learner.horizon // learner.batch) if batches is None else batches
    columns = len(learner.budgets) * learner.runs
    estimates, points = np.zeros((count, learner.hull, columns)), np.zeros((count, learner.domain.dimension, columns))
    found = Watched(inner, inner.solver, still, estimates, estimates.copy(), points)
    learner.state = lambda: found
    return found
