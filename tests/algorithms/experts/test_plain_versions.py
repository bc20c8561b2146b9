"""Lazy learners against plain versions, round by round: their laws, their prices by enumeration, their tuning."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable

import numpy as np
import pytest
from drawn import generators, p_value
from scipy import stats
from tiny_streams import varying

from dpregret.algorithms.experts import sparse_vector
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.batched_dartboard import tuned
from dpregret.algorithms.experts.l2p import Copied, Still
from dpregret.algorithms.experts.shrinking_dartboard import Tuning, play_by_the_box
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.audit.experts import Restless, law
from dpregret.workflows.audit.neighbours import table_epsilon

RUNS = 8000
Transcript = tuple[tuple[int, ...], tuple[bool, ...]]


def in_turn(runs: int, seed: int = 0) -> list[np.random.Generator]:
    """One generator for all runs, which draw from it one after the other: to make thousands costs more than a play."""
    return generators(1, seed) * runs


def random_losses(rounds: int, experts: int, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Losses of groups in general position, and of the single experts."""
    groups = np.random.default_rng(rounds).random((rounds, experts))
    return groups, np.repeat(groups, sizes, axis=1)


@pytest.mark.parametrize(("rounds", "sizes", "best"), [(5, [1, 1, 1], 0.0), (5, [2, 1], 0.7), (4, [1, 3, 1], 0.3)])
def test_sparse_vector_by_the_box_and_by_events(rounds: int, sizes: list[int], best: float) -> None:
    """Both against the exact law of what is released, up to two switches in odd numbers of experts and rounds."""
    groups, losses = random_losses(rounds, len(sizes), sizes)
    made = Restless(len(losses[0]), rounds, best, Budget(16.0), "pure")
    label = np.repeat(np.arange(len(sizes)), sizes)
    sequences: dict[Hashable, float] = defaultdict(float)
    outcomes: dict[Hashable, float] = defaultdict(float)
    for events, chance in law(made, losses).items():
        starts = [start for start, _ in events] + [rounds]
        played = np.repeat([expert for _, expert in events], np.diff(starts))
        sequences[tuple(played.tolist())] += chance
        outcomes[(round(float(groups[np.arange(rounds), label[played]].sum()), 9), len(events) - 1)] += chance
    assert sum(chance for (_, draws), chance in outcomes.items() if draws == 2) > 0.05
    plain = Counter[Hashable](tuple(sparse_vector.play_by_the_box(made, losses, each)) for each in in_turn(RUNS, 1))
    assert p_value(plain, sequences) > 1e-4
    problem = ExpertProblem(np.array(sizes, dtype=float), rounds, best)
    learner = SparseVectorExperts(problem, Budget(16.0), RUNS, "pure")
    learner.plan = made
    record = learner.play([varying(groups[:2, None]), varying(groups[2:, None])], in_turn(RUNS, 2))
    events = Counter[Hashable](zip(record.losses.round(9).tolist(), record.draws.astype(int).tolist(), strict=True))
    assert p_value(events, outcomes) > 1e-4


def transcripts(losses: np.ndarray, tuning: Tuning, most: int) -> dict[Transcript, float]:
    """Law of the experts of all batches, and of which decisions drew, by its recursion."""
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


def dartboard_law(losses: np.ndarray, tuning: Tuning, most: int) -> dict[Hashable, float]:
    """Probability of every sequence of played experts, one a batch."""
    found: dict[Hashable, float] = defaultdict(float)
    for (played, _), chance in transcripts(losses, tuning, most).items():
        found[played] += chance
    return found


@pytest.mark.parametrize(("batch", "most"), [(1, 1), (1, 2), (1, 9), (2, 1), (3, 9)])
def test_dartboards_by_the_box(batch: int, most: int) -> None:
    """Sequences of three experts, a short last batch among them, have their exact law."""
    losses, tuning = np.random.default_rng(4).random((5 if batch == 1 else 7, 3)), Tuning(batch, 0.3, 0.8)
    wanted = dartboard_law(losses, tuning, most)
    plays = [play_by_the_box(losses, tuning, most, each) for each in in_turn(RUNS // 2)]
    assert all(len(set(played[:batch])) == 1 for played in plays)
    assert p_value(Counter(tuple(played[::batch]) for played in plays), wanted) > 1e-4


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


@pytest.mark.parametrize("kind", [Tuning, Copied, Still])
@pytest.mark.parametrize(("horizon", "epsilon"), [(300, 0.5), (5000, 0.1)])
def test_the_tuner_skips_only_what_cannot_win(kind: type[Tuning], horizon: int, epsilon: float) -> None:
    """Against all batches, 13 probabilities of a fake switch and a grid of eta."""
    found = tuned(horizon, 100, epsilon, 1e-6, kind)
    assert found is not None
    assert not found.too_dear(horizon, epsilon, 1e-6)
    least = found.guarantee(horizon, 100)
    for k, p in itertools.product(range(horizon.bit_length()), np.logspace(-6, 0, 13)):
        best = math.sqrt(8 * math.log(100) / (horizon << k))
        tried = [kind(2**k, float(p), best * share) for share in (1.0, 0.5, 0.2, 0.05)]
        better = [each for each in tried if each.guarantee(horizon, 100) < least * (1 - 1e-8)]
        assert all(each.too_dear(horizon, epsilon, 1e-6) for each in better)
