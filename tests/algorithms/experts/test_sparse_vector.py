"""Algorithm 1 on tiny instances: the exact law of what is released, and how much neighbouring losses move it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats
from tiny_streams import constant, generators, varying

from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.switching import Switching

ROUNDS = 4
Events = tuple[tuple[int, int], ...]  # (round of a draw, expert drawn); the first is the uniform one of round 0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


class Restless(Switching):
    """A threshold so low and switches so few that each costs much: privacy must not depend on the former."""

    threshold = 0.8
    switches = 2


def plan(epsilon: float = 4.0) -> Restless:
    return Restless(2, ROUNDS, 0.0, Budget(epsilon), "pure")


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


def law(made: Switching, losses: np.ndarray) -> dict[Events, float]:
    """Probability of every sequence of draws, losses (rounds, experts): Alg. 1 as it is written."""
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


def total(events: Events, losses: np.ndarray) -> float:
    """Loss of the experts in play."""
    ends = [start for start, _ in events[1:]] + [len(losses)]
    pairs = zip(events, ends, strict=True)
    return round(float(sum(losses[start:end, expert].sum() for (start, expert), end in pairs)), 9)


@pytest.mark.parametrize("best", [0.0, 1.2])
def test_plays_have_their_exact_law(best: float) -> None:
    """Losses in general position, so that the total tells which expert was played in which round."""
    losses = np.random.default_rng(2).random((ROUNDS, 2))
    runs, made = 12_000, replace(plan(), best_loss=best)
    wanted: dict[float, float] = defaultdict(float)
    for events, probability in law(made, losses).items():
        wanted[total(events, losses)] += probability
    assert sum(wanted.values()) == pytest.approx(1, abs=1e-12)
    learner = SparseVectorExperts(ExpertProblem(np.ones(2), ROUNDS, best), Budget(4.0), runs, "pure")
    learner.plan = made
    found = learner.play([varying(losses[:, None])], generators(runs, 4)).losses.round(9)
    keys = sorted(wanted)
    assert len(keys) == 2 + 2 * 3 + 2 * 3  # one change of expert in round 1, 2 or 3, or two of them
    counts = np.array([(np.abs(found - key) < 1e-8).sum() for key in keys])
    assert counts.sum() == runs
    assert stats.chisquare(counts, np.array([wanted[key] for key in keys]) * runs).pvalue > 1e-4


def worst_ratio(made: Switching) -> float:
    """Largest log ratio of an event over all neighbouring losses in {0, 1}; draws that change nothing count as seen."""
    tables = np.array(list(itertools.product([0.0, 1.0], repeat=2 * ROUNDS)))
    laws = [law(made, table.reshape(ROUNDS, 2)) for table in tables]
    logs = np.log(np.array([[each[events] for events in laws[0]] for each in laws]))
    worst = 0.0
    for place in range(ROUNDS):
        kept = np.delete(tables, [2 * place, 2 * place + 1], axis=1)
        _, group = np.unique(kept, axis=0, return_inverse=True)
        for number in range(4 ** (ROUNDS - 1)):
            worst = max(worst, float(np.ptp(logs[group.ravel() == number], axis=0).max()))
    return worst


def test_no_event_tells_more_than_epsilon() -> None:
    """And the audit is sharp enough to catch noise that is twice too small."""
    made = plan()
    assert made.delivered_epsilon() == pytest.approx(4.0)
    assert worst_ratio(made) <= 4.0
    assert worst_ratio(replace(made, budget=Budget(8.0))) > 4.0


def test_a_query_knows_the_losses_before_its_round() -> None:
    """Without noise: L* = 1 is passed by the second loss, and the third round is another expert's."""
    learner = SparseVectorExperts(ExpertProblem(np.ones(2), 9, 1.0), Budget(math.inf), 40, "pure")
    record = learner.play([constant([1.0, 0.0], 9)], generators(40))
    assert set(zip(record.losses, record.draws, strict=True)) == {(0.0, 0.0), (2.0, 1.0)}
