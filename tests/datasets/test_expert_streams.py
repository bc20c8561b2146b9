"""Streams of expert losses against plain tables of T rounds and d experts, drawn as the definitions say."""

import itertools
import math
import tracemalloc
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import generators
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpregret.algorithms.experts.epoch_leader import lengths
from dpregret.datasets import expert_data, expert_streams
from dpregret.datasets.expert_streams import ExpertStream, Gap, epoch_lengths, make_expert_stream
from dpregret.datasets.source import sources

HALVING = ["halving", "halving-transient", "halving-slow"]
DATA = ["digits-experts", "breast-cancer-experts"]
GAPS = ["gap", "gap-hard"]
SAMPLES = 11


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables in the place of the measured ones."""
    folder = tmp_path_factory.mktemp("tables")
    for seed, name in enumerate(DATA):
        errors = np.random.default_rng(seed).integers(0, 2, size=(SAMPLES, expert_data.EXPERTS), dtype=np.uint8)
        np.savez(folder / f"{name}.npz", errors=errors)
    return folder


def _make(name: str, experts: int, horizon: int, data_dir: Path, **arguments: Any) -> ExpertStream:
    options = {"data_dir": data_dir} if name in DATA else {}
    return make_expert_stream(name, experts, horizon, epsilon=1.0, **options, **arguments)


def _table(stream: ExpertStream, generators: list[np.random.Generator]) -> np.ndarray:
    """The losses of all experts, (T, runs, d)."""
    pieces = []
    for block in stream.blocks(generators):
        assert block.losses.ndim == 3
        assert len(block.losses) in (1, block.rounds)
        assert block.losses.shape[1] in (1, len(generators))
        assert block.losses.min() >= 0
        assert block.losses.max() <= 1
        shape = (block.rounds, len(generators), len(stream.sizes))
        pieces.append(np.repeat(np.broadcast_to(block.losses, shape), stream.sizes.astype(int), axis=2))
    table = np.concatenate(pieces)
    assert table.shape == (stream.horizon, len(generators), stream.experts)
    return table


def _deaths(name: str, experts: int, kill: float) -> Iterator[int]:
    living = experts
    while living > 1:
        dying = min(living - 1, max(1, round(living * kill))) if name == "halving-slow" else living // 2
        yield dying
        living -= dying


def _by_definition(name: str, experts: int, horizon: int, best_loss: float, kill: float) -> np.ndarray:
    """Losses of experts in the order of their deaths, (T, d)."""
    deaths = list(_deaths(name, experts, kill))
    phase = np.minimum(np.arange(horizon) // (horizon // len(deaths)), len(deaths) - 1)[:, None]
    death = np.repeat(np.arange(len(deaths) + 1), [*deaths, 1])
    losing = death == phase if name == "halving-transient" else death <= phase
    return np.clip(losing + best_loss / horizon, 0.0, 1.0)


@given(
    name=st.sampled_from(HALVING),
    logarithm=st.integers(1, 5),
    extra=st.integers(0, 30),
    share=st.sampled_from([None, 0.0, 0.125, 0.7, 1.0]),
    kill=st.sampled_from([0.01, 0.125, 0.3, 0.5, 0.95]),
)
@settings(max_examples=80)
def test_halving_is_its_definition(name: str, logarithm: int, extra: int, share: float | None, kill: float) -> None:
    experts = 2**logarithm
    horizon = len(list(_deaths(name, experts, kill))) + extra
    best_loss = None if share is None else share * horizon
    options = {"kill": kill} if name == "halving-slow" else {}
    stream = make_expert_stream(name, experts, horizon, best_loss=best_loss, **options)
    expected = _by_definition(name, experts, horizon, best_loss or 0.0, kill)
    np.testing.assert_array_equal(_table(stream, generators(1, 23))[:, 0], expected)
    found = stream.comparator(generators(3, 23))
    np.testing.assert_array_equal(found.best, [best_loss or 0.0] * 3)  # the survivor has exactly L*
    np.testing.assert_allclose(found.uniform, [expected.sum(axis=0).mean()] * 3, rtol=1e-13)
    assert stream.best_loss == (best_loss or 0.0)


@given(experts=st.integers(3, 10**6), epsilon=st.floats(0.01, 20.0))
def test_the_lower_bound_is_claimed_exactly_where_its_proof_holds(experts: int, epsilon: float) -> None:
    stream = make_expert_stream("lower-bound", experts, 2000, epsilon=epsilon)
    assert isinstance(stream, expert_streams.LowerBound)
    length = stream.length
    covered = math.log(experts - 1) - length * epsilon  # the proof needs (d - 1) e^(-k eps) > 1
    if math.isnan(stream.lower_bound):
        assert length == 1
        assert covered <= 1e-9
    else:
        assert stream.lower_bound == length / 4
        assert covered > -1e-9
        assert math.log(experts - 1) - (length + 1) * epsilon <= 1e-9
    assert stream.best_loss == 0


@pytest.mark.parametrize(("length", "bound"), [(1, 0.25), (6, 1.5), (7, math.nan), (20, math.nan)])
def test_lower_bound_of_a_given_length(length: int, bound: float) -> None:
    """ln 1023 = 6.93."""
    stream = make_expert_stream("lower-bound", 1024, 20, epsilon=1.0, length=length)
    assert stream.lower_bound == pytest.approx(bound, nan_ok=True)
    table = _table(stream, generators(1, 23))[:, 0]
    assert not table[: 20 - length].any()
    assert (table[20 - length :].sum(axis=1) == 1023).all()
    assert (table.sum(axis=0) == 0).sum() == 1


@pytest.mark.parametrize("name", sources(ExpertStream))
@pytest.mark.parametrize("horizon", [12, 40])
def test_the_comparator_is_that_of_the_table(name: str, horizon: int, data_dir: Path) -> None:
    stream = _make(name, 8, horizon, data_dir)
    total = _table(stream, generators((3, 1, 2), 23)).sum(axis=0)
    found = stream.comparator(generators((3, 1, 2), 23))
    np.testing.assert_array_equal(found.best, total.min(axis=1))
    np.testing.assert_array_equal(found.uniform, total.mean(axis=1))


@pytest.mark.parametrize("name", sources(ExpertStream))
def test_a_run_depends_on_its_own_generator_only(name: str, data_dir: Path) -> None:
    stream = _make(name, 16, 50, data_dir)
    together = _table(stream, generators((4, 9, 2), 23))
    compared = stream.comparator(generators((4, 9, 2), 23))
    for place, run in enumerate([4, 9, 2]):
        np.testing.assert_array_equal(together[:, place], _table(stream, generators([run], 23))[:, 0])
        alone = stream.comparator(generators([run], 23))
        assert (alone.best[0], alone.uniform[0]) == (compared.best[place], compared.uniform[place])
    if name in ("bernoulli", *GAPS) or name in DATA:
        assert (together[:, 0] != together[:, 1]).any()


@pytest.mark.parametrize("name", ["bernoulli", *DATA])
def test_losses_depend_neither_on_the_size_of_blocks_nor_on_the_horizon(
    name: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = _make(name, 4, 100, data_dir)
    reference = _table(stream, generators(2, 23))
    np.testing.assert_array_equal(_table(_make(name, 4, 37, data_dir), generators(2, 23)), reference[:37])
    for rounds, numbers in [(7, 2**22), (4096, 24), (4096, 1)]:
        monkeypatch.setattr(expert_streams, "ROUNDS", rounds)
        monkeypatch.setattr(expert_streams, "NUMBERS", numbers)
        np.testing.assert_array_equal(_table(stream, generators(2, 23)), reference)
        assert all(
            block.losses.size <= max(numbers, 8) and block.rounds <= rounds
            for block in stream.blocks(generators(2, 23))
        )


@pytest.mark.parametrize("name", ["bernoulli", "gap", "turns", "digits-experts"])
def test_memory_does_not_grow_with_the_horizon(name: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert_streams, "NUMBERS", 2**12)

    def peak(horizon: int) -> int:
        stream = _make(name, 16, horizon, data_dir)
        tracemalloc.start()
        deque(stream.blocks(generators(2, 23)), maxlen=0)
        stream.comparator(generators(2, 23))
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(300)  # lazily loaded code
    assert peak(4800) < peak(300) + 2**16  # a table would add 1.1 MiB


@pytest.mark.parametrize("name", DATA)
def test_every_pass_shows_every_sample_once(name: str, data_dir: Path) -> None:
    stream = _make(name, 256, 3 * SAMPLES + 4, data_dir, best_loss=5.0)
    rows = expert_data.load(name, data_dir)
    table = _table(stream, generators(2, 23))
    orders = []
    for run in range(2):
        for first in range(0, 3 * SAMPLES, SAMPLES):
            seen = table[first : first + SAMPLES, run]
            orders.append([int(np.flatnonzero((rows == losses).all(axis=1))[0]) for losses in seen])
    assert [sorted(order) for order in orders] == [list(range(SAMPLES))] * 6
    assert len({tuple(order) for order in orders}) == 6
    assert stream.best_loss == 5
    assert _make(name, 16, 9, data_dir).best_loss is None


def test_a_clipped_stream_stays_in_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    stretched = expert_streams.NestedHalving.blocks

    def blocks(self: ExpertStream, generators: list[np.random.Generator]) -> Iterator[expert_streams.ExpertBlock]:
        for block in stretched(self, generators):  # type: ignore[arg-type]
            yield expert_streams.ExpertBlock(3.0 * block.losses - 1.0, block.rounds)

    monkeypatch.setattr(expert_streams.NestedHalving, "blocks", blocks)
    free, clipped = (make_expert_stream("halving", 8, 32, clip=clip) for clip in (False, True))
    seen = np.concatenate([block.losses for block in free.blocks(generators(1, 23))])
    assert seen.min() < 0
    assert seen.max() > 1
    for rounds in (clipped.blocks, clipped.epochs):
        np.testing.assert_array_equal(
            np.concatenate([block.losses for block in rounds(generators(1, 23))]), np.clip(seen, 0.0, 1.0)
        )
    assert clipped.comparator(generators(1, 23)).best == 0.0
    assert (clipped.sizes == free.sizes).all()


@pytest.mark.parametrize("horizon", [1, 2, 31, 32, 100])
def test_epochs_are_the_sums_of_the_rounds(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(epoch_lengths(horizon)) == horizon
    assert epoch_lengths(horizon) == lengths(horizon)  # as learners count
    stream = make_expert_stream("gap", 5, horizon)
    table, means = _table(stream, generators(3, 23)), list(stream.epochs(generators(3, 23)))
    assert set(np.unique(table)) <= {0.0, 1.0}
    for piece, block in zip(np.split(table, np.cumsum(epoch_lengths(horizon))[:-1]), means, strict=True):
        assert len(piece) == block.rounds
        assert block.rounds * block.losses[0] == pytest.approx(piece.sum(axis=0), rel=1e-14)
    monkeypatch.setattr(expert_streams, "ROUNDS", 3)
    assert np.array_equal(_table(stream, generators(3, 23)), table)


@pytest.mark.parametrize(
    ("name", "experts", "options", "chances"),
    [("gap", 2, {"gap": 0.4}, (0.3, 0.7)), ("bernoulli", 3, {"probability": 0.3}, (0.3, 0.3))],
)
def test_rounds_are_independent_draws_of_one_law(
    name: str, experts: int, options: dict[str, float], chances: tuple[float, float]
) -> None:
    """Joint outcomes of the last two experts in rounds 2 and 3, one epoch, and 4 and 7, the ends of another."""
    runs = 10_000
    table = _table(make_expert_stream(name, experts, 7, **options), generators(runs, 23)).astype(int)
    assert name == "gap" or not table[..., 0].any()
    once = np.kron(*(np.array([1 - chance, chance]) for chance in chances))  # of no loss, and of one
    for first, last in ((1, 2), (3, 6), (0, 6)):
        outcomes = np.concatenate([table[first, :, -2:], table[last, :, -2:]], axis=1) @ [8, 4, 2, 1]
        assert chisquare(np.bincount(outcomes, minlength=16), runs * np.kron(once, once)).pvalue > 1e-4


def test_the_hard_gap_shrinks_and_the_leader_of_an_epoch_loses_the_next() -> None:
    hard = make_expert_stream("gap-hard", 64, 10_000)
    assert isinstance(hard, Gap)
    assert hard.gap == pytest.approx(4 * np.sqrt(np.log(64) / 10_000))
    assert hard.means[1:] - hard.means[0] == pytest.approx(np.full(63, hard.gap))
    swap = make_expert_stream("leader-swap", 7, 1000)
    assert swap.sizes.tolist() == [4.0, 3.0]
    leaders = [block.losses[0, 0].argmin() for block in swap.blocks([])]
    assert all(one != other for one, other in itertools.pairwise(leaders))


def test_turns_alternate_and_epochs_switch_after_equal_blocks() -> None:
    turns = _table(make_expert_stream("turns", 32, 60, epsilon=0.1), generators(1, 23))[:, 0]
    first = np.arange(60)[:, None] // 10 % 2 == 0
    assert (turns[:, :15] == first).all()
    assert (turns[:, 15:30] != first).all()
    table = _table(make_expert_stream("switch-epochs", 4, 2**15, epsilon=1 / 64), generators(2, 23))
    assert (table.reshape(-1, 8, 2, 4) == table[::8, None]).all()  # T/(T eps)^(4/3) = 8 rounds
    assert abs(table[::8].mean() - 0.5) < 4 * 0.5 / math.sqrt(4096 * 8)
