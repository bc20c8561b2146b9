"""Batched dartboard: its price by brute force, its tuning, and what it guarantees beside its neighbours."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats
from tuners import check_that_nothing_better_is_affordable

from dpregret.algorithms.experts.shrinking_dartboard import Tuning
from dpregret.workflows.audit.neighbours import table_epsilon

Transcript = tuple[tuple[int, ...], tuple[bool, ...]]


def transcripts(losses: np.ndarray, tuning: Tuning, most: int) -> Mapping[Transcript, float]:
    """Law of the experts of all batches, and of which decisions drew."""
    batch, keep_away, eta = tuning
    sums = np.add.reduceat(losses, np.arange(0, len(losses), batch), axis=0)
    laws: dict[Transcript, float] = {((x,), ()): 1 / losses.shape[1] for x in range(losses.shape[1])}
    for now in range(len(sums) - 1):
        weights = np.exp(-eta * sums[: now + 1].sum(axis=0))
        after: dict[Transcript, float] = defaultdict(float)
        for (played, drew), chance in laws.items():
            last = played[-1]
            keep = 1.0 if sum(drew) == most else (1 - keep_away) * math.exp(-eta * sums[now, last])
            after[(*played, last), (*drew, False)] += chance * keep
            for expert, weight in enumerate(weights / weights.sum()):
                after[(*played, expert), (*drew, True)] += chance * (1 - keep) * float(weight)
        laws = after
    return laws


@pytest.mark.parametrize(("keep_away", "eta", "most"), [(0.05, 0.3, 1), (0.3, 0.7, 2), (0.97, 0.4, 3)])
def test_a_changed_round_costs_one_decision_and_the_draws(keep_away: float, eta: float, most: int) -> None:
    """All neighbours with losses 0 and 1 in the changed round, on four batches of two: purely, and at a delta."""
    tuning, base = Tuning(2, keep_away, eta), np.array([[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 2 + [[0.0, 0.0]] * 3)
    pure, approximate = 0.0, 0.0
    for place, first, second in itertools.product((0, 1, 2), *[list(itertools.product((0.0, 1.0), repeat=2))] * 2):
        laws = []
        for changed in (first, second):
            losses = base.copy()
            losses[place] = changed
            laws.append(transcripts(losses, tuning, most))
        one, other = (np.array([law[each] for each in laws[0] if laws[0][each] > 0]) for law in laws)
        assert one.sum() == pytest.approx(1)
        pure = max(pure, float(np.abs(np.log(one / other)).max()))
        approximate = max(approximate, table_epsilon(one, other, 1e-3))
    assert max(eta, tuning.decision / 2) < pure <= tuning.decision + 2 * eta * most
    rho = most * eta**2 / 2
    assert approximate <= tuning.decision + rho + 2 * math.sqrt(rho * math.log(1e3))


@pytest.mark.parametrize("horizon", [10, 333, 2**14])
def test_running_out_of_draws_is_rare(horizon: int) -> None:
    """However long a batch is and whatever was lost in it: more than K draws have probability 1/T^2 at most."""
    for batch, eta in itertools.product((1, 7, 64), (0.001, 0.2)):
        tuning = Tuning(batch, 0.05, eta)
        worst = 1 - (1 - 0.05) * math.exp(-eta * batch)
        decisions, most = math.ceil(horizon / batch), tuning.most_draws(horizon)
        assert stats.binom.sf(most, decisions, worst) <= horizon**-2.0
        assert most < 3 or stats.binom.sf(most - 2, decisions, worst) > horizon**-2.0


@pytest.mark.parametrize(("horizon", "epsilon"), [(300, 0.5), (5000, 0.1), (2**12, 3.0)])
def test_the_tuner_skips_only_what_cannot_win(horizon: int, epsilon: float) -> None:
    check_that_nothing_better_is_affordable(Tuning, horizon, epsilon, 25)
