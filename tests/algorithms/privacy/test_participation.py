"""Records in several rounds against brute force over all schedules and signs."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from dpregret.algorithms.privacy import participation
from dpregret.algorithms.privacy.audit import materialise, whitened_sums
from dpregret.algorithms.privacy.participation import (
    Schedules,
    WorstRecord,
    _of_exact_gaps,
    _of_free_gaps,
    reached,
    worst_record,
)
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, PrefixSums
from dpregret.algorithms.privacy.toeplitz import BufferedToeplitz, Root
from dpregret.algorithms.privacy.trees import BinaryTree
from dpregret.numerics.arrays import Array


def every_schedule(rounds: int, schedules: Schedules) -> Iterator[tuple[int, ...]]:
    for count in range(1, schedules.participations + 1):
        for chosen in itertools.combinations(range(rounds), count):
            gaps = np.diff(chosen)
            if (gaps == schedules.separation if schedules.exact_gaps else gaps >= schedules.separation).all():
                yield chosen


def by_signs(gram: Array, rounds: tuple[int, ...]) -> float:
    part = gram[np.ix_(rounds, rounds)]
    every = itertools.product((-1.0, 1.0), repeat=len(rounds))
    return max(float(np.array(signs) @ part @ np.array(signs)) for signs in every)


def random_gram(generator: np.random.Generator, rounds: int) -> Array:
    """Of noise with signs, or of a few hardly noised rounds, or one that is banded."""
    noise = np.tril(generator.standard_normal((rounds, rounds))) + np.diag(generator.exponential(1.0, rounds))
    kind = generator.integers(3)
    if kind == 1:
        noise = np.tril(np.ones((rounds, rounds))) * np.where(generator.random(rounds) < 0.2, 0.5, 20.0)
    if kind == 2:
        noise = np.linalg.inv(np.triu(np.tril(np.abs(noise)), -1) + np.eye(rounds))
    whitened = whitened_sums(noise)
    product: Array = whitened.T @ whitened
    return product


def by_vectors(gram: Array, rounds: tuple[int, ...], generator: np.random.Generator) -> float:
    """A large sum of G_ij <v_i, v_j> over unit vectors in R^3, each turned to the pull of the others in turn."""
    part, vectors = gram[np.ix_(rounds, rounds)], generator.standard_normal((len(rounds), 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for _ in range(10):
        for now in range(len(rounds)):
            pull = part[now] @ vectors - part[now, now] * vectors[now]
            if (length := np.linalg.norm(pull)) > 0:
                vectors[now] = pull / length
    return float(np.sum(part * (vectors @ vectors.T)))


@pytest.mark.parametrize("seed", range(40))
def test_no_record_of_any_schedule_is_above_the_bound(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rounds, participations, separation = (int(generator.integers(1, most)) for most in (15, 8, 6))
    gram, schedules = random_gram(generator, rounds), Schedules(participations, separation, bool(seed % 2))
    found, every = worst_record(gram, schedules), list(every_schedule(rounds, schedules))
    most = max(np.abs(gram[np.ix_(kept, kept)]).sum() for kept in every)
    search = _of_exact_gaps if schedules.exact_gaps else _of_free_gaps
    assert search(np.abs(gram), schedules)[1] == pytest.approx(most, rel=1e-9)
    assert found.bound**2 <= most * (1 + 1e-9)
    assert max(by_vectors(gram, kept, generator) for kept in every[-40:]) <= found.bound**2 * (1 + 1e-9)
    named = tuple(round - 1 for round in found.rounds)
    assert named in every
    assert found.mu**2 == pytest.approx(by_signs(gram, named))
    truth = max(by_signs(gram, kept) for kept in every)
    assert found.mu**2 <= truth * (1 + 1e-9)
    assert truth <= found.bound**2 * (1 + 1e-9)


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_search_that_is_cut_off_has_a_bound_still(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpregret.algorithms.privacy.participation.NODES", nodes)
    for seed in range(20):
        gram = random_gram(np.random.default_rng(seed), 12)
        found, schedules = worst_record(gram, Schedules(4, 2)), Schedules(4, 2)
        most = max(np.abs(gram[np.ix_(kept, kept)]).sum() for kept in every_schedule(12, schedules))
        assert most <= found.bound**2 * (1 + 1e-9)


@pytest.mark.parametrize(("seed", "participations", "separation"), [(5, 3, 3), (334, 4, 2), (387, 5, 1)])
def test_a_search_that_is_cut_off_at_a_poorer_record_bounds_the_best(
    seed: int, participations: int, separation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first record that is met is not the best one here: what is known of the others is the bound."""
    monkeypatch.setattr("dpregret.algorithms.privacy.participation.NODES", 1)
    gram, schedules = random_gram(np.random.default_rng(seed), 12), Schedules(participations, separation)
    (first, *_), bound = _of_free_gaps(np.abs(gram), schedules)
    sums = {kept: np.abs(gram[np.ix_(kept, kept)]).sum() for kept in every_schedule(12, schedules)}
    assert sums[first] < max(sums.values()) * (1 - 1e-3)
    assert max(sums.values()) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_more_freedom_never_costs_less(seed: int) -> None:
    """More participations, smaller gaps, gaps of at least instead of exactly, a longer horizon."""
    generator = np.random.default_rng(seed)
    gram = random_gram(generator, 14)
    for exact_gaps in (False, True):
        by_count = [worst_record(gram, Schedules(count, 3, exact_gaps)).bound for count in range(1, 9)]
        assert (np.diff(by_count) >= -1e-12).all()
        by_horizon = [worst_record(gram[:end, :end], Schedules(3, 2, exact_gaps)).bound for end in range(1, 15)]
        assert (np.diff(by_horizon) >= -1e-12).all()
    by_gap = [worst_record(gram, Schedules(4, gap)).bound for gap in range(1, 15)]
    assert (np.diff(by_gap) <= 1e-12).all()
    for gap in range(1, 15):
        free, exactly = (worst_record(gram, Schedules(4, gap, exact_gaps)) for exact_gaps in (False, True))
        assert exactly.bound <= free.bound * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", [Root(96), BinaryTree(96), BufferedToeplitz(96), NoisePerItem()], ids=repr)
def test_mechanisms_of_the_field_are_exact(mechanism: PrefixSums) -> None:
    """G >= 0 there, and the search ends; decreasing Toeplitz columns lose most at the smallest gaps from round 1."""
    whitened = whitened_sums(materialise(mechanism, 96))
    gram = whitened.T @ whitened
    found = worst_record(gram, Schedules(5, 7))
    assert found.exact
    assert found.mu >= math.sqrt(gram[np.ix_(range(0, 35, 7), range(0, 35, 7))].sum()) * (1 - 1e-12)
    if isinstance(mechanism, Root | BufferedToeplitz):
        assert found.rounds == (1, 8, 15, 22, 29)
    if isinstance(mechanism, NoisePerItem):
        assert found.mu == pytest.approx(math.sqrt(5))


def test_noise_of_random_signs_is_bounded_by_its_eigenvalues() -> None:
    """Correlations of 48 rounds that cancel: the sum of |G_ij| is far above what a record reaches."""
    generator = np.random.default_rng(1)
    columns = generator.standard_normal((48, 48)) / 7
    gram, schedules = columns.T @ columns, Schedules(20, 2)
    found, sums = worst_record(gram, schedules), _of_free_gaps(np.abs(gram), schedules)[1]
    assert found.bound < 0.95 * math.sqrt(sums)
    assert found.bound < 1.15 * found.mu
    named = tuple(round - 1 for round in found.rounds)
    for old, new in itertools.product(range(len(named)), range(48)):
        other = tuple(sorted({*named[:old], *named[old + 1 :], new}))
        if len(other) == len(named) and (np.diff(other) >= 2).all():
            assert reached(gram, other) <= found.mu**2 * (1 + 1e-3), "no exchange of one round loses more"


def test_signs_of_many_rounds_are_reached() -> None:
    """A record of sixteen rounds whose signs fit together: G = x x^T for x of any signs."""
    x = np.random.default_rng(2).standard_normal(16)
    assert reached(np.outer(x, x), tuple(range(16))) == pytest.approx(np.abs(x).sum() ** 2)


@pytest.mark.parametrize("seed", range(10))
def test_the_sign_is_turned_that_gains_most_until_none_gains(seed: int) -> None:
    """From equal signs, the sum is computed anew for each sign that might be turned."""
    gram, signs = random_gram(np.random.default_rng(3 * seed), 14), np.ones(14)
    turned = np.where(np.eye(14, dtype=bool), -1.0, 1.0)
    while True:
        sums = np.einsum("ni,ij,nj->n", signs * turned, gram, signs * turned)
        if sums.max() <= signs @ gram @ signs * (1 + 1e-12):
            break
        signs = signs * turned[sums.argmax()]
    found = participation._by_flips(gram, np.ones(14))
    assert found @ gram @ found == pytest.approx(signs @ gram @ signs, rel=1e-9)
    assert reached(gram, tuple(range(14))) >= signs @ gram @ signs * (1 - 1e-9)


def test_an_orthogonal_mechanism_with_loud_and_quiet_rounds() -> None:
    """The squares of three rounds, one a gap: a sum that a hand adds up."""
    gram = np.diag([1.0, 4.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 16.0])
    assert worst_record(gram, Schedules(3, 3)) == WorstRecord((2, 5, 9), math.sqrt(29), math.sqrt(29))
    assert worst_record(gram, Schedules(2, 3)).mu == pytest.approx(5.0)
    assert worst_record(gram, Schedules(3, 4, exact_gaps=True)) == WorstRecord((1, 5, 9), math.sqrt(26), math.sqrt(26))


@pytest.mark.parametrize("given", [(0, 1), (1, 0)])
def test_numbers_below_one_are_refused(given: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Schedules(*given)
