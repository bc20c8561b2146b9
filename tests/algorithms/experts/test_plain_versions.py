"""Learners that are not simulated by their box: the plain round-by-round version has the same law."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable

import numpy as np
import pytest
from drawn import generators, p_value
from tiny_streams import varying

from dpregret.algorithms.experts import sparse_vector
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.hedge import hedge_losses
from dpregret.algorithms.experts.shrinking_dartboard import Tuning, play_by_the_box
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.audit.experts import Restless, law

RUNS = 8000


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


def dartboard_law(losses: np.ndarray, keep_away: float, eta: float, most: int, batch: int = 1) -> dict[Hashable, float]:
    """Probability of every sequence of played experts, by its recursion; one number a batch."""
    experts = losses.shape[1]
    sums = np.add.reduceat(losses, np.arange(0, len(losses), batch), axis=0)
    laws: dict[tuple[tuple[int, ...], int], float] = {((x,), 0): 1 / experts for x in range(experts)}
    for now in range(len(sums) - 1):
        weights = np.exp(-eta * sums[: now + 1].sum(axis=0))
        fresh = weights / weights.sum()
        after: dict[tuple[tuple[int, ...], int], float] = defaultdict(float)
        for (played, draws), chance in laws.items():
            keep = (1 - keep_away) * np.exp(-eta * sums[now, played[-1]]) if draws < most else 1.0
            after[((*played, played[-1]), draws)] += chance * float(keep)
            for expert, share in enumerate(fresh):
                after[((*played, expert), draws + 1)] += chance * float((1 - keep) * share)
        laws = after
    found: dict[Hashable, float] = defaultdict(float)
    for (played, _), chance in laws.items():
        found[played] += chance
    return found


@pytest.mark.parametrize(("batch", "most"), [(1, 1), (1, 2), (1, 9), (2, 1), (3, 9)])
def test_dartboards_by_the_box(batch: int, most: int) -> None:
    """Sequences of three experts, a short last batch among them, have their exact law."""
    losses, tuning = np.random.default_rng(4).random((5 if batch == 1 else 7, 3)), Tuning(batch, 0.3, 0.8)
    wanted = dartboard_law(losses, 0.3, 0.8, most, batch)
    plays = [play_by_the_box(losses, tuning, most, each) for each in in_turn(RUNS // 2)]
    assert all(len(set(played[:batch])) == 1 for played in plays)
    assert p_value(Counter(tuple(played[::batch]) for played in plays), wanted) > 1e-4


@pytest.mark.parametrize(("rounds", "experts", "batch"), [(5, 3, 1), (7, 2, 1), (1, 5, 1), (7, 3, 2), (7, 3, 3)])
def test_dartboards_are_charged_with_their_expected_loss(rounds: int, experts: int, batch: int) -> None:
    """While the draws last: exact expectation over all sequences against the closed form of Hedge on batches."""
    losses = np.random.default_rng(rounds).random((rounds, experts))
    sums = np.add.reduceat(losses, np.arange(0, rounds, batch), axis=0)
    expected, without_draws = (
        sum(
            chance * sums[np.arange(len(sums)), list(played)].sum()
            for played, chance in dartboard_law(losses, 0.2, 0.6, most, batch).items()
        )
        for most in (rounds, 0)
    )
    closed = hedge_losses([varying(losses[:, None])], np.ones(experts), 0.6, batch)
    assert closed == pytest.approx(np.array([expected]), rel=1e-12)
    assert without_draws == pytest.approx(float(losses.mean(axis=1).sum()))
