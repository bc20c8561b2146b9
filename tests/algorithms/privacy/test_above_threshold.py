"""The sparse vector: exact halting laws, both ways of asking, accuracy."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from drawn import generators
from scipy import integrate, stats

from dpregret.algorithms.privacy.above_threshold import AboveThreshold, Watch, accuracy


def halting_law(mechanism: AboveThreshold, queries: list[float]) -> np.ndarray:
    """P(halt at 0), P(halt at 1), ..., P(never), by integrating over the noise of the threshold."""
    epsilon = mechanism.epsilon

    def above(gap: float) -> float:
        """P(Laplace noise of a query > gap)."""
        tail = 0.5 * math.exp(-abs(gap) * epsilon / 4)
        return tail if gap > 0 else 1.0 - tail

    def at(noise: float, position: int) -> float:
        gaps = [mechanism.threshold + noise - query for query in queries]
        halts = above(gaps[position]) if position < len(queries) else 1.0
        return math.prod(above(-gap) for gap in gaps[:position]) * halts * math.exp(-abs(noise) * epsilon / 2)

    reach = 60 / epsilon
    integrals = [
        integrate.quad(at, -reach, reach, args=(position,), points=[0], limit=400)[0]
        for position in range(len(queries) + 1)
    ]
    return epsilon / 4 * np.array(integrals)


def path(watch: Watch, run: int, queries: np.ndarray) -> int | None:
    """Ask successive queries of one run; the position of the first that halts, None if none does."""
    spent = np.cumsum(watch.mechanism.rates(watch.levels[run] - queries))
    first = int(np.searchsorted(spent, watch.left[run]))
    if first < len(spent):
        return first
    watch.left[run] -= spent[-1] if len(spent) else 0.0
    return None


@pytest.mark.parametrize("queries", [[0.0, 1.0, 3.0, 2.0], [5.0, 0.0]])
def test_halting_rounds_have_the_law_of_the_mechanism(queries: list[float]) -> None:
    mechanism, runs = AboveThreshold(2.0, 3.0), 10_000
    distribution = halting_law(mechanism, queries)
    assert distribution.sum() == pytest.approx(1, abs=1e-6)
    watch = Watch(mechanism, generators(1) * runs)  # one generator, drawn from in turn
    found = [path(watch, run, np.array(queries)) for run in range(runs)]
    counts = np.bincount([len(queries) if place is None else place for place in found], minlength=len(distribution))
    assert stats.chisquare(counts, distribution / distribution.sum() * runs).pvalue > 1e-4


def test_privacy_loss_of_the_halting_round_is_at_most_epsilon() -> None:
    """Neighbours: every query moves by at most 1, in the worst directions."""
    mechanism = AboveThreshold(1.5, 2.0)
    base = np.array([1.0, 0.0, 2.5])
    for sign in np.array([[1, 1, 1], [-1, -1, -1], [-1, -1, 1], [1, 0, -1]]):
        ratio = np.log(halting_law(mechanism, list(base)) / halting_law(mechanism, list(base + sign)))
        assert np.abs(ratio).max() <= mechanism.epsilon + 1e-6


def test_all_ways_of_asking_agree() -> None:
    """Same random numbers: one path, pieces of it, a constant query in closed form, and round by round."""
    mechanism, runs, rounds = AboveThreshold(0.5, 10.0), 64, 400
    queries = np.linspace(0, 12, rounds)
    whole = [path(Watch(mechanism, [each]), 0, queries) for each in generators(runs)]
    watch = Watch(mechanism, generators(runs))
    stepped: list[int | None] = [None] * runs
    for position, query in enumerate(queries):
        for run in np.flatnonzero(watch.step(np.full(runs, query))):
            stepped[run] = position if stepped[run] is None else stepped[run]
    assert whole == stepped
    for run, each in enumerate(generators(runs)):
        pieces = Watch(mechanism, [each])
        first = path(pieces, 0, queries[:150])
        second = path(pieces, 0, queries[150:]) if first is None else None
        assert whole[run] == (first if first is not None else None if second is None else 150 + second)
    for each, again in zip(generators(runs, 1), generators(runs, 1), strict=True):
        watch = Watch(mechanism, [each])
        early = watch.constant(0, -5.0, 10)  # what was spent is remembered
        late = watch.constant(0, -5.0, rounds - 10) if early is None else None
        closed = early if late is None else 10 + late
        assert closed == path(Watch(mechanism, [again]), 0, np.full(rounds, -5.0))


@pytest.mark.parametrize("epsilon", [0.03, 0.5, 40.0, math.inf])
@pytest.mark.parametrize("rounds", [1, 2, 999])
def test_the_compiled_walk_is_the_path(epsilon: float, rounds: int) -> None:
    """Losses of any size, alike or not, none among them: the same round, and as much left of the variate."""
    mechanism, halted = AboveThreshold(epsilon, 50.0), 0
    for number, each in enumerate(generators(60)):
        losses = np.random.default_rng(number).random(rounds if number % 2 else 1) * (number % 3)
        whole = np.broadcast_to(losses, rounds)
        queries = 3.0 + np.concatenate([[0.0], np.cumsum(whole)[:-1]])
        plain, compiled = Watch(mechanism, [copy.deepcopy(each)]), Watch(mechanism, [each])
        found = path(plain, 0, queries)
        assert compiled.walk(0, 3.0, losses, rounds) == found
        halted += found is not None
        if found is None:
            assert compiled.left[0] == pytest.approx(plain.left[0], rel=1e-12, abs=1e-12)
    assert rounds < 999 or halted > 10


def test_accuracy_holds_with_its_probability() -> None:
    epsilon, threshold, rounds, failure, runs = 1.0, 50.0, 256, 0.1, 400
    slack = accuracy(epsilon, rounds, failure)
    assert slack == pytest.approx(8 * (math.log(rounds) + math.log(2 / failure)))
    low = Watch(AboveThreshold(epsilon, threshold), generators(runs))
    early = [low.constant(run, threshold - slack, rounds) is not None for run in range(runs)]
    high = Watch(AboveThreshold(epsilon, threshold), generators(runs, 1))
    late = [high.constant(run, threshold + slack, rounds) != 0 for run in range(runs)]
    assert np.mean(early) <= failure
    assert np.mean(late) <= failure


def test_without_privacy_the_first_query_above_halts() -> None:
    watch = Watch(AboveThreshold(math.inf, 3.0), generators(1))
    assert path(watch, 0, np.array([0.0, 3.0, 3.5, 9.0])) == 2
    watch.open(0)
    assert watch.constant(0, 3.0, 1000) is None
    assert watch.constant(0, 3.1, 1000) == 0
    assert accuracy(math.inf, 10, 0.1) == 0


def test_levels_are_the_threshold_and_its_noise() -> None:
    watch = Watch(AboveThreshold(0.5, 10.0), generators(4000))
    assert stats.kstest(watch.levels, stats.laplace(10.0, 4.0).cdf).pvalue > 1e-4
    assert np.array_equal(Watch(AboveThreshold(math.inf, 10.0), generators(2)).levels, [10.0, 10.0])


@pytest.mark.parametrize("gap", [-30.0, -1.0, 0.0, 0.5, 30.0])
def test_rates_are_those_of_laplace_noise(gap: float) -> None:
    rate = float(AboveThreshold(2.0, 0.0).rates(np.array(gap)))
    assert rate == pytest.approx(-stats.laplace(scale=2.0).logcdf(gap), rel=1e-12)
