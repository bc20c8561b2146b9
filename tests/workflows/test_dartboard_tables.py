"""Exact tables of dartboards: laws against the box, counterexamples against plays, horizons by scans."""

import itertools
import math

import numpy as np
import pytest

from dpregret.algorithms.experts.shrinking_dartboard import AsPrinted, corollary_3, play_by_the_box
from dpregret.workflows.audit.experts import plays_law
from dpregret.workflows.mechanisms import dartboards

NIGHTLY = [pytest.param(batch, 1, marks=pytest.mark.nightly) for batch in (1, 2)]


@pytest.mark.parametrize(("batch", "most"), [(1, 3), (2, 9), *NIGHTLY])  # too few draws for six rounds; enough
def test_the_counted_chain_is_the_box(batch: int, most: int) -> None:
    """Draws until the K-th: the frequency of every sequence of plays of six rounds."""
    losses = np.random.default_rng(1).random((6, 2))
    tuning = AsPrinted.of(batch, 0.3, 0.45)
    law = plays_law(*dartboards.counted_chain(tuning, most, losses))
    assert law.sum() == pytest.approx(1)
    runs, generator = 20_000, np.random.default_rng(2)
    played = [play_by_the_box(losses, tuning, most, generator) for _ in range(runs)]
    numbers = np.array(played) @ 2 ** np.arange(5, -1, -1)
    found = np.bincount(numbers, minlength=64) / runs
    assert np.abs(found - law).max() < 5 * math.sqrt(law.max() / runs)
    assert set(np.flatnonzero(found)) <= set(np.flatnonzero(law))


@pytest.mark.parametrize(("experts", "horizon"), [(1, 5), (2, 3), (3, 2)])
def test_fair_coins_by_enumeration(experts: int, horizon: int) -> None:
    tables = itertools.product((0, 1), repeat=experts * horizon)
    least = [np.reshape(table, (horizon, experts)).sum(axis=0).min() for table in tables]
    assert dartboards.coins_regret(experts, horizon) == pytest.approx(horizon / 2 - float(np.mean(least)))


def test_a_stuck_learner_by_plays() -> None:
    """The lower bound is below the mean regret of plays, and close to it where no good expert comes after the draws."""
    horizon, p, step = 400, 0.01, 0.2
    losses = np.ones((horizon, 2))
    losses[horizon // 2 :, 1] = 0.0
    most = math.ceil(4 * horizon * p) - 1
    generator = np.random.default_rng(3)
    totals = []
    for _ in range(300):
        played = play_by_the_box(losses, AsPrinted.of(1, p, step), most, generator)
        totals.append(losses[np.arange(horizon), played].sum() - horizon / 2)
    bound = dartboards.stuck_regret(horizon, p, step)
    assert 0.9 * horizon / 4 < bound <= horizon / 4
    assert np.mean(totals) == pytest.approx(bound, abs=5 * np.std(totals) / math.sqrt(300) + 0.1 * horizon / 4)


def test_printed_statements_fail_where_the_table_says_so() -> None:
    table = dartboards.counterexamples()
    assert (table["stated"] < table["regret, at least"] / 10).all()


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_the_first_horizon_is_the_first(epsilon: float) -> None:
    bound = dartboards.printed_bound(corollary_3, 16, epsilon)
    first = dartboards.first_below(bound)
    below = [bound(2**power) < 2**power / 2 for power in range(1, 60)]
    assert below.index(True) + 1 == first
    assert all(below[int(first) - 1 :])
    assert dartboards.first_below(lambda horizon: float(horizon)) == math.inf


def test_stated_spent_and_exact_are_in_order() -> None:
    table = dartboards.stated_privacy()
    few = table[table["T"] == dartboards.FEW]
    assert (few["exact loss"] < few["our ledger"]).all()
    assert (table["our ledger"] < table["stated"]).all()
    assert (table["stated"] > table["eps"]).equals((table["statement"] == "Corollary 6") & (table["B"] > 1))
