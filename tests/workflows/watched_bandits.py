"""Bandits of `NoisyLeader` whose batches are looked at: estimates, sums with noise, points."""

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.bandits.noisy_leader import play_rounds, rounds_together
from dpregret.core.oracles import step
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import specialised


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
def _(learner: Watched, loss, domain, batch, x, estimate, noise, s):
    here, now = x.copy(), int(batch) - 1
    learner.estimates[now] = estimate
    step(learner.inner, loss, domain, batch, x, estimate, noise, s)  # noise becomes the sum that is used
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


def around(learner: Any, losses: Any, point: Array, sphere: Array) -> tuple[Array, Array, Array]:
    """One batch around points (settings, runs, d), by directions (runs, rounds, n).

    Losses (settings, runs), estimates (settings, runs, n), clipped values (settings, runs).
    """
    (settings, runs, d), (rounds, n) = point.shape, sphere.shape[1:]
    seen, x = watched(learner, still=True, batches=1), point.reshape(-1, d).T.copy()
    told, domain = (
        learner.laid_out(losses, runs * rounds_together(runs, rounds)),
        learner.domain.data or learner.domain.inner.data,
    )
    loops = specialised(play_rounds, Watched, type(seen.inner), type(seen.solver), type(told[0]), type(domain))
    sums, noise = np.zeros((2, settings * runs)), np.zeros((1, settings, runs, n))
    loops(
        seen,
        told[0],
        domain,
        *told[1:],
        learner.trials(),
        sphere,
        noise,
        learner.units(rounds),
        rounds,
        rounds,
        0,
        x,
        np.zeros((n, settings * runs)),
        np.zeros((1, settings, runs, d)),
        sums,
    )
    del learner.state
    played, clipped = sums.reshape(2, settings, runs)
    return played, seen.estimates[0].T.reshape(settings, runs, n), clipped
