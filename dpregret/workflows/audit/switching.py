"""The exact law of Algorithm 1 of Asi et al. 2023 on a few rounds: what no sampling can show so sharply.

Privacy must depend neither on the threshold nor on how often it is passed, so the smallest instances are the sharpest:
a threshold that every loss may pass, and few switches, each of which costs much.
"""

from __future__ import annotations

import itertools
from dataclasses import fields
from functools import cache

import numpy as np
from scipy import stats

from dpregret.algorithms.privacy import smallest_epsilon
from dpregret.algorithms.privacy.switching import Switching
from dpregret.numerics.arrays import Array

ROUNDS = 4
Events = tuple[tuple[int, int], ...]  # (round of a draw, expert drawn); the first is the uniform one of round 0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


class Restless(Switching):
    """Two switches, and a threshold below the loss of one round."""

    threshold = 0.8
    switches = 2


def restless(switching: Switching) -> Restless:
    """The same budget and accounting, spent on two switches with a low threshold."""
    return Restless(**{each.name: getattr(switching, each.name) for each in fields(switching)})


@cache
def halting(epsilon: float, threshold: float, queries: tuple[float, ...]) -> tuple[float, ...]:
    """P(first, second, ..., no query halts): Gauss rules between the kinks of the Laplace laws."""
    scale = 2 / epsilon
    kinks = [0.0, *(query - threshold for query in queries)]
    ends = np.unique([*kinks, *np.linspace(-40 * scale, 40 * scale, 41)])
    half = np.diff(ends)[:, None] / 2
    noise = (ends[:-1, None] + half * (1 + NODES)).ravel()
    alive = stats.laplace.pdf(noise, scale=scale) * (half * WEIGHTS).ravel()
    found = []
    for query in queries:
        above = stats.laplace.sf(threshold + noise - query, scale=2 * scale)
        found.append(float((alive * above).sum()))
        alive = alive * (1 - above)
    return (*found, float(alive.sum()))


def law(made: Switching, losses: Array) -> dict[Events, float]:
    """Probability of every sequence of draws, losses (rounds, experts): Algorithm 1 as it is written."""
    found: dict[Events, float] = {}

    def go_on(events: Events, probability: float) -> None:
        start, expert = events[-1]
        if len(events) > made.switches:
            found[events] = probability
            return
        asked = range(start + (len(events) > 1), len(losses))  # a test that opens in a round is first asked in the next
        queries = tuple(float(losses[start:now, expert].sum()) for now in asked)
        *halts, never = halting(made.threshold_epsilon, made.threshold, queries)
        found[events] = probability * never
        for now, chance in zip(asked, halts, strict=True):
            weights = np.exp(-made.eta * np.maximum(losses[:now].sum(axis=0), made.best_loss) / 2)
            for drawn, weight in enumerate(weights / weights.sum()):
                go_on((*events, (now, drawn)), probability * chance * float(weight))

    for expert in range(losses.shape[1]):
        go_on(((0, expert),), 1 / losses.shape[1])
    return found


def worst_epsilon(made: Switching, delta: float = 0.0) -> float:
    """Largest epsilon at delta over all neighbouring losses in {0, 1} of `ROUNDS` rounds and two experts.

    Draws that change nothing count as seen. delta = 0: the largest log ratio of an event.
    """
    tables = np.array(list(itertools.product([0.0, 1.0], repeat=2 * ROUNDS)))
    laws = [law(made, table.reshape(ROUNDS, 2)) for table in tables]
    found = np.array([[each[events] for events in laws[0]] for each in laws])
    worst = 0.0
    for index in range(ROUNDS):
        kept = np.delete(tables, [2 * index, 2 * index + 1], axis=1)
        _, group = np.unique(kept, axis=0, return_inverse=True)
        for number in range(4 ** (ROUNDS - 1)):
            same = found[group.ravel() == number]
            if delta == 0:
                worst = max(worst, float(np.ptp(np.log(same), axis=0).max()))
                continue
            for one, other in itertools.permutations(same, 2):
                if np.maximum(one - np.exp(worst) * other, 0).sum() > delta:
                    worst = table_epsilon(one, other, delta)
    return worst


def table_epsilon(one: Array, other: Array, delta: float) -> float:
    """Smallest epsilon at delta between two laws on the same events, in both directions; pure for delta = 0."""
    possible = np.maximum(one, other) > 0
    first, second = one[possible], other[possible]
    if delta == 0:
        with np.errstate(divide="ignore"):
            return float(np.abs(np.log(first) - np.log(second)).max())

    def excess(epsilon: float) -> float:
        factor = np.exp(epsilon)
        return float(max(np.maximum(p - factor * q, 0).sum() for p, q in ((first, second), (second, first))))

    return smallest_epsilon(excess, delta)
