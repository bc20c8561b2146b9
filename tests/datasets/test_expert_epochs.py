"""Streams told in epochs: their sums are those of their rounds, and rounds are independent draws."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from dpregret.algorithms.experts.epoch_leader import lengths
from dpregret.datasets import expert_streams
from dpregret.datasets.expert_streams import Gap, epoch_lengths, make_expert_stream


def _generators(runs: int) -> list[np.random.Generator]:
    return [np.random.default_rng([5, run]) for run in range(runs)]


def _rounds(stream: expert_streams.ExpertStream, runs: int) -> np.ndarray:
    """(rounds, runs, experts)."""
    return np.concatenate([block.losses for block in stream.blocks(_generators(runs))])


def _pieces(table: np.ndarray, horizon: int) -> Iterator[np.ndarray]:
    starts = np.cumsum([0, *epoch_lengths(horizon)])
    yield from (table[first:last] for first, last in itertools.pairwise(starts))


@pytest.mark.parametrize("horizon", [1, 2, 31, 32, 100])
def test_epochs_are_the_sums_of_the_rounds(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(epoch_lengths(horizon)) == horizon
    assert epoch_lengths(horizon) == lengths(horizon)  # as learners count
    stream = make_expert_stream("gap", 5, horizon)
    table, told = _rounds(stream, 3), list(stream.epochs(_generators(3)))
    assert set(np.unique(table)) <= {0.0, 1.0}
    for piece, block in zip(_pieces(table, horizon), told, strict=True):
        assert len(piece) == block.rounds
        assert block.rounds * block.losses[0] == pytest.approx(piece.sum(axis=0), rel=1e-14)
    monkeypatch.setattr(expert_streams, "ROUNDS", 3)
    assert np.array_equal(_rounds(stream, 3), table)


def test_rounds_are_independent_draws_of_one_law() -> None:
    """All joint outcomes of two experts in rounds 2 and 3, one epoch, and in rounds 4 and 7, the ends of another."""
    table = _rounds(make_expert_stream("gap", 2, 7, gap=0.4), 20_000).astype(int)
    chances = {0: 0.3, 1: 0.7}  # of a loss, by expert
    for first, last in ((1, 2), (3, 6), (0, 6)):
        seen = Counter(map(tuple, np.concatenate([table[first], table[last]], axis=1).tolist()))
        cells = list(itertools.product((0, 1), repeat=4))
        expected = [
            20_000
            * float(
                np.prod([chances[place % 2] if lost else 1 - chances[place % 2] for place, lost in enumerate(cell)])
            )
            for cell in cells
        ]
        assert stats.chisquare([seen[cell] for cell in cells], expected).pvalue > 1e-4


def test_the_hard_gap_shrinks_and_the_leader_of_an_epoch_loses_the_next() -> None:
    hard = make_expert_stream("gap-hard", 64, 10_000)
    assert isinstance(hard, Gap)
    assert hard.gap == pytest.approx(4 * np.sqrt(np.log(64) / 10_000))
    assert hard.means[1:] - hard.means[0] == pytest.approx(np.full(63, hard.gap))
    swap = make_expert_stream("leader-swap", 7, 1000)
    assert swap.sizes.tolist() == [4.0, 3.0]
    leaders = [block.losses[0, 0].argmin() for block in swap.blocks([])]
    assert all(one != other for one, other in itertools.pairwise(leaders))
    with pytest.raises(ValueError, match=r"gap must lie in \[0, 1\], got 1.5"):
        make_expert_stream("gap", 8, 8, gap=1.5)
