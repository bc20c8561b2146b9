"""Noisy choices and tests: their price against brute force, calibration; constants of Algorithm 1.

That choices have the laws of their noise is in test_released_noise.py.
"""

import copy
import itertools
import math

import numpy as np
import pytest
from drawn import generators
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp, softmax

from dpregret.algorithms.privacy import Budget, gaussian_epsilon
from dpregret.algorithms.privacy.noise import Joint
from dpregret.algorithms.privacy.selection import (
    Selection,
    calibrate_selection,
    draw_group,
    largest_rho,
    selection_noise,
    zcdp_epsilon,
)
from dpregret.algorithms.privacy.switching import CALIBRATIONS, AboveThreshold, Switching, Watch, accuracy
from dpregret.workflows.audit.experts import halting

STILL = np.zeros(1)  # losses of an expert that never loses


def worse_of_two(gap):
    """P(the worse of two scores is chosen) under Laplace(1) noise: the tail of a difference of two Laplaces."""
    return 0.5 * math.exp(-gap) * (1 + gap / 2)


def renyi(order, first, second):
    return logsumexp(order * np.log(first) + (1 - order) * np.log(second)) / (order - 1)


def test_two_laplace_scores_lose_twice_their_sensitivity_in_the_tail():
    """Scores 0 and D against +s and D - s: the loss stays below 2 s / b and approaches it as D grows."""
    sensitivity = 0.1
    losses = [
        math.log(worse_of_two(gap - 2 * sensitivity) / worse_of_two(gap)) for gap in (0.5, 2.0, 10.0, 100.0, 600.0)
    ]
    pure = Selection("laplace", 1.0, sensitivity, 1).call_epsilon()
    assert all(before < after < pure for before, after in itertools.pairwise(losses))
    assert losses[-1] > 0.998 * pure > 1.9 * sensitivity


@settings(max_examples=200)
@given(
    st.lists(st.floats(-4, 4), min_size=2, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.floats(0.05, 2.0),
    st.floats(1.01, 40.0),
)
def test_gumbel_choice_is_zcdp_and_pure(scores, moves, sensitivity, order):
    first = np.array(scores)
    second = first + sensitivity * np.array(moves[: len(first)])
    line = Selection("gumbel", 1.0, sensitivity, 1)
    one, two = softmax(-first), softmax(-second)
    assert renyi(order, one, two) <= order * line.rho() * (1 + 1e-9) + 1e-12
    assert np.abs(np.log(one / two)).max() <= line.call_epsilon() + 1e-12


def test_gumbel_rho_is_attained_by_small_moves_of_even_scores():
    sensitivity = 1e-3
    divergence = renyi(1 + 1e-6, softmax([sensitivity, -sensitivity]), softmax([0.0, 0.0]))
    assert divergence == pytest.approx(Selection("gumbel", 1.0, sensitivity, 1).rho(), rel=1e-3)


@pytest.mark.parametrize(("rho", "delta"), [(0.0175, 1e-6), (0.07238, 1e-6), (0.5, 1e-5), (8.0, 1e-9), (1e-6, 1e-3)])
def test_zcdp_conversion(rho, delta):
    """The minimum over orders; between the exact value for Gaussian noise of this rho and the simpler formula."""
    orders = 1 + np.exp(np.linspace(-8, 16, 200_001))
    values = orders * rho + (np.log(1 / delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    epsilon = zcdp_epsilon(rho, delta)
    assert epsilon == pytest.approx(max(0.0, values.min()), rel=1e-6, abs=1e-9)
    assert gaussian_epsilon(math.sqrt(2 * rho), delta) <= epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


@settings(max_examples=60)
@given(st.floats(0.05, 80), st.floats(-10, -2), st.integers(1, 5000), st.floats(1e-4, 10))
def test_calibration_meets_the_budget(epsilon, log_delta, calls, sensitivity):
    """The ledger spends the whole budget, and never more noise than any one accountant asks for."""
    budget = Budget(epsilon, 10.0**log_delta)
    concentrated = sensitivity * math.sqrt(calls / (2 * largest_rho(budget)))
    pure = 2 * sensitivity * calls / epsilon
    for distribution, by_zcdp in (("laplace", 1.23 * concentrated), ("gumbel", concentrated)):
        scale = calibrate_selection(distribution, budget, sensitivity, calls)
        assert scale <= min(by_zcdp, pure) * (1 + 1e-9)
        line = Selection(distribution, scale, sensitivity, calls)
        assert line.epsilon(budget.delta) == pytest.approx(epsilon, rel=1e-6)


def test_ends():
    assert calibrate_selection("gumbel", Budget(math.inf, 1e-6), 1.0, 9) == 0.0
    assert Selection("gumbel", 0.0, 1.0, 9).epsilon(1e-6) == math.inf
    assert Selection("laplace", 0.0, 1.0, 0).epsilon(1e-6) == 0.0
    assert Selection("laplace", 1.0, 0.25, 3).epsilon(0.0) == pytest.approx(1.5)
    assert Selection("laplace", 1e-4, 1.0, 3).epsilon(1e-6) == pytest.approx(6e4)
    assert zcdp_epsilon(0.0, 1e-6) == 0.0
    with pytest.raises(ValueError, match="delta > 0"):
        largest_rho(Budget(1.0))


@pytest.mark.parametrize(("rounds", "candidates"), [(1, 1), (1, 8), (1, 29), (3, 32), (7, 150)])
@pytest.mark.parametrize("joint", [False, True])
def test_laplace_noise_is_signed_exponentials(joint: bool, rounds: int, candidates: int) -> None:
    """Of NumPy's generators, whose bytes decide the signs: the highest bit of the first byte turns the first entry."""
    drawn, plain = generators(2), generators(2)
    noise_of, parts = (Joint(drawn[0], 2), plain[:1]) if joint else (drawn, plain)
    for _ in range(2):  # an odd number of half words leaves one to the next call
        wanted = []
        for generator in parts:
            sizes = generator.standard_exponential((2 // len(parts), rounds, candidates))
            bits = np.unpackbits(np.frombuffer(generator.bytes(-(-sizes.size // 8)), np.uint8), count=sizes.size)
            wanted.append(sizes * (1.0 - 2.0 * bits.reshape(sizes.shape)))
        noise = selection_noise("laplace", noise_of, rounds, candidates)
        np.testing.assert_array_equal(noise.swapaxes(0, 1), np.concatenate(wanted))


def plan(variant: str, experts: int = 1024, epsilon: float = 1.0, horizon: int = 2**17, best: float = 0.0) -> Switching:
    return Switching(experts, horizon, best, Budget(epsilon, 1e-6), variant)


def test_constants_of_the_theorem() -> None:
    """d = 2^10, T = 2^17, eps = 1, beta = 0.05, by hand."""
    pure, printed = plan("pure"), plan("printed-pure")
    assert pure.switches == 6 * 10 + 72
    assert pure.eta == pytest.approx(1 / 264)
    log_term = math.log(2 * 2.0**34 / 0.05)
    assert pure.threshold == pytest.approx(4 * 264 + 16 * log_term)
    assert printed.threshold == pytest.approx(4 * 264 + 8 * log_term)
    assert pure.bound() == pytest.approx(133 * (4 * 264 + 32 * log_term + 1))
    assert math.isnan(printed.bound())
    approximate = plan("approximate")
    assert approximate.eta == pytest.approx(1 / (4 * math.sqrt(2 * 132 * math.log(1e6))))
    assert plan("starved-pure").switches == 60
    assert plan("practical-zcdp").switches == 24


@example(variant="practical-zcdp", experts=2, epsilon=6.0, horizon=2)
@given(
    variant=st.sampled_from(sorted(CALIBRATIONS)),
    experts=st.integers(2, 2**20),
    epsilon=st.floats(0.01, 20),
    horizon=st.integers(2, 2**22),
)
def test_no_variant_spends_more_than_its_budget(variant: str, experts: int, epsilon: float, horizon: int) -> None:
    made = plan(variant, experts, epsilon, horizon)
    assert made.delivered_epsilon() <= epsilon * (1 + 1e-9)
    if CALIBRATIONS[variant].accounting != "advanced":
        assert made.delivered_epsilon() == pytest.approx(epsilon, rel=1e-6)


def test_only_pure_variants_work_without_delta() -> None:
    assert Switching(16, 100, 0.0, Budget(1.0), "pure").delivered_epsilon() == pytest.approx(1)
    for variant in ("approximate", "zcdp", "starved-zcdp"):
        with pytest.raises(ValueError, match=f"variant {variant} needs delta > 0"):
            Switching(16, 100, 0.0, Budget(1.0), variant)


def test_without_privacy_there_is_no_slack() -> None:
    free = Switching(16, 100, 7.0, Budget(math.inf), "pure")
    assert (free.threshold, free.draw_scale, free.accuracy) == (7.0, 0.0, 0.0)


def test_draws_have_exact_probabilities() -> None:
    sizes, scores, eta = np.array([5.0, 1.0, 2.0]), np.array([3.0, 0.0, 1.0]), 0.8
    distribution = sizes * np.exp(-eta * scores / 2)
    draws = [draw_group(np.random.default_rng([5, run]), sizes, scores, 2 / eta) for run in range(8_000)]
    counts = np.bincount(draws, minlength=3)
    assert stats.chisquare(counts, distribution / distribution.sum() * len(draws)).pvalue > 1e-4
    fair = [draw_group(np.random.default_rng([6, run]), sizes, np.array([1.0, 0.0, 0.0]), 0.0) for run in range(3000)]
    assert set(fair) == {1, 2}
    assert np.mean(np.array(fair) == 2) == pytest.approx(2 / 3, abs=0.03)


def test_both_conventions_of_the_exponential_mechanism() -> None:
    """Worst log ratio and its range over all neighbouring scores on a grid, P ~ exp(-score / scale)."""
    eta = 0.7
    for scale, convention in ((2 / eta, 1.0), (1 / eta, 2.0)):
        worst = spread = 0.0
        base = np.zeros(3)
        for shift in itertools.product([0.0, 0.5, 1.0], repeat=3):
            for down in itertools.product([0.0, 0.5, 1.0], repeat=3):
                one = np.exp(-(base + shift) / scale)
                other = np.exp(-(base + down) / scale)
                ratio = np.log(one / one.sum()) - np.log(other / other.sum())
                worst, spread = max(worst, float(np.abs(ratio).max())), max(spread, float(np.ptp(ratio)))
        assert worst <= convention * eta + 1e-12
        assert spread == pytest.approx(convention * eta)  # bounded range: what the zCDP price rests on
        ledger = Selection("gumbel", scale, 1.0, 1)
        assert ledger.epsilon(0.0) == pytest.approx(convention * eta)
        assert ledger.rho() == pytest.approx((convention * eta) ** 2 / 8)


def test_only_what_is_proved_has_a_bound() -> None:
    finite = {variant for variant in CALIBRATIONS if math.isfinite(plan(variant).bound())}
    assert finite == {"pure", "approximate", "zcdp"}


def path(watch: Watch, run: int, queries: np.ndarray) -> int | None:
    """Ask successive queries of one run; the position of the first that halts, None if none does."""
    spent = np.cumsum(watch.mechanism.rates(watch.levels[run] - queries))
    first = int(np.searchsorted(spent, watch.rest[run]))
    if first < len(spent):
        return first
    watch.rest[run] -= spent[-1] if len(spent) else 0.0
    return None


@pytest.mark.parametrize("queries", [[0.0, 1.0, 3.0, 2.0], [5.0, 0.0]])
def test_halting_rounds_have_the_law_of_the_mechanism(queries: list[float]) -> None:
    mechanism, runs = AboveThreshold(2.0, 3.0), 10_000
    distribution = np.array(halting(mechanism.epsilon, mechanism.threshold, tuple(queries)))
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
        one, other = (halting(mechanism.epsilon, mechanism.threshold, tuple(each)) for each in (base, base + sign))
        ratio = np.log(np.array(one) / np.array(other))
        assert np.abs(ratio).max() <= mechanism.epsilon + 1e-6


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
            assert compiled.rest[0] == pytest.approx(plain.rest[0], rel=1e-12, abs=1e-12)
    assert rounds < 999 or halted > 10


def test_accuracy_holds_with_its_probability() -> None:
    epsilon, threshold, rounds, failure, runs = 1.0, 50.0, 256, 0.1, 400
    slack = accuracy(epsilon, rounds, failure)
    assert slack == pytest.approx(8 * (math.log(rounds) + math.log(2 / failure)))
    low = Watch(AboveThreshold(epsilon, threshold), generators(runs))
    early = [low.walk(run, threshold - slack, STILL, rounds) is not None for run in range(runs)]
    high = Watch(AboveThreshold(epsilon, threshold), generators(runs, 1))
    late = [high.walk(run, threshold + slack, STILL, rounds) != 0 for run in range(runs)]
    assert np.mean(early) <= failure
    assert np.mean(late) <= failure


def test_without_privacy_the_first_query_above_halts() -> None:
    watch = Watch(AboveThreshold(math.inf, 3.0), generators(1))
    assert path(watch, 0, np.array([0.0, 3.0, 3.5, 9.0])) == 2
    watch.open(0)
    assert watch.walk(0, 3.0, STILL, 1000) is None
    assert watch.walk(0, 3.1, STILL, 1000) == 0
    assert accuracy(math.inf, 10, 0.1) == 0


def test_levels_are_the_threshold_and_its_noise() -> None:
    watch = Watch(AboveThreshold(0.5, 10.0), generators(4000))
    assert stats.kstest(watch.levels, stats.laplace(10.0, 4.0).cdf).pvalue > 1e-4
    assert np.array_equal(Watch(AboveThreshold(math.inf, 10.0), generators(2)).levels, [10.0, 10.0])


@pytest.mark.parametrize("gap", [-30.0, -1.0, 0.0, 0.5, 30.0])
def test_rates_are_those_of_laplace_noise(gap: float) -> None:
    rate = float(AboveThreshold(2.0, 0.0).rates(np.array(gap)))
    assert rate == pytest.approx(-stats.laplace(scale=2.0).logcdf(gap), rel=1e-12)
