"""All learners of experts keep their contract; Algorithms 1 to 3 and the epoch leader against brute force."""

import itertools
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from drawn import generators
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tiny_streams import constant, expanded, halving, varying

from dpregret.algorithms.experts.adaptive import AdaptiveExperts, _Adaptive
from dpregret.algorithms.experts.counters import CHUNK, CounterNoise, TreeCounterExperts, first_above
from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.experts.expert_learner import Block, ExpertProblem, Play, RunOfBlock
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.trees import BinaryTree
from dpregret.datasets.expert_streams import make_expert_stream
from dpregret.workflows.audit.experts import FEW_ROUNDS, Restless, worst_epsilon


def test_after_the_budget_of_switches_the_expert_is_frozen() -> None:
    problem = ExpertProblem(np.array([1.0, 1.0]), 4000, 0.0)
    learner = SparseVectorExperts(problem, Budget(5000.0, 1e-6), 4, "practical-zcdp")
    assert learner.plan.switches == 6
    flip = [constant([1.0, 0.0], 100), constant([0.0, 1.0], 200)] * 20
    record = learner.play([*flip[:26]], generators(4))
    assert (record.draws <= 6).all()


@pytest.mark.parametrize("logarithm", [300, 1000])
def test_so_many_experts_that_only_groups_can_hold_them(logarithm: int) -> None:
    """Half of the living die in each phase: a learner that stays switches half as often as there are phases."""
    stream = make_expert_stream("halving", 2**logarithm, 2**27)
    assert stream.experts == 2**logarithm
    problem = ExpertProblem(stream.sizes, stream.horizon, 0.0)
    learner = SparseVectorExperts(problem, Budget(1.0, 1e-6), 8, "zcdp")
    record = learner.play(stream.blocks(generators(8)), generators(8))
    comparator = stream.comparator(generators(8))
    assert comparator.best == pytest.approx(np.zeros(8))
    assert comparator.uniform == pytest.approx(np.full(8, 2.0**27), rel=0.01)
    assert abs(record.draws.mean() / (logarithm / 2) - 1) < 0.15
    assert (record.losses < learner.bound()[0]).all()


@pytest.mark.parametrize("variant", ["pure", "zcdp"])
def test_the_theorem_holds_with_its_probability(variant: str) -> None:
    """Run by run and not in the mean: at most 2 beta of them pass the bound, at most beta use up K."""
    problem, blocks = halving(32, 20_000)
    learner = SparseVectorExperts(problem, Budget(30.0, 1e-6), 1000, variant)
    record = learner.play(blocks, generators(1000))
    assert record.draws.mean() > 1.5
    assert np.quantile(record.losses, 1 - 2 * problem.failure) <= learner.bound()[0]
    assert np.quantile(record.draws, 1 - problem.failure) < learner.plan.switches


def test_a_guess_far_below_the_loss_of_the_best_is_doubled() -> None:
    """All lose T/4 at least: the guesses end within the slack of it, and less is lost than by who was told T/4."""
    stream = make_expert_stream("halving", 256, 2**20, best_loss=2.0**18)
    problem = ExpertProblem(stream.sizes, stream.horizon, stream.best_loss)
    told = SparseVectorExperts(problem, Budget(8.0), 24, "pure").play(stream.blocks(generators(24)), generators(24))
    for variant in ("cold", "warm", "restart"):
        learner = AdaptiveExperts(problem, Budget(8.0), 24, variant)
        found = learner.play(stream.blocks(generators(24)), generators(24))
        assert found.phases is not None
        assert found.phases.mean() > 3
        assert (found.phases <= learner.phases.count).all()
        assert found.losses.mean() - 2**18 < (told.losses.mean() - 2**18) / 2


def test_no_event_tells_more_than_epsilon() -> None:
    """And the audit is sharp enough to catch noise that is twice too small."""
    made = Restless(2, FEW_ROUNDS, 0.0, Budget(4.0), "pure")
    assert made.delivered_epsilon() == pytest.approx(4.0)
    assert worst_epsilon(made) <= 4.0
    assert worst_epsilon(replace(made, budget=Budget(8.0))) > 4.0


VARIANTS = pytest.mark.parametrize("variant", ["cold", "warm", "restart"])


def played(learner: AdaptiveExperts, blocks: list[Block], runs: int) -> list[_Adaptive]:
    players = [_Adaptive(learner, learner.plan, generator) for generator in generators(runs)]
    before = np.zeros(len(learner.sizes))
    for block in blocks:
        for player in players:
            player.play_block(RunOfBlock(block, 0), before)
        before = before + RunOfBlock(block, 0).before(block.rounds)
    return players


@given(st.floats(0.05, 100), st.integers(2, 2**22), st.integers(2, 2**16))
def test_phases_share_the_budget(epsilon: float, horizon: int, experts: int) -> None:
    problem = ExpertProblem(np.array([1.0, experts - 1.0]), horizon)
    made = {name: AdaptiveExperts(problem, Budget(epsilon), 1, name) for name in ("cold", "warm", "restart")}
    for learner in made.values():
        assert learner.delivered_epsilon() == pytest.approx([epsilon])
    cold, warm, restart = (made[name].phases for name in ("cold", "warm", "restart"))
    assert (cold.count, cold.first_guess) == (math.ceil(math.log2(horizon)), 1.0)
    assert 2 * cold.count * cold.epsilon == pytest.approx(epsilon)
    assert 2 * warm.count * warm.epsilon == pytest.approx(epsilon)
    assert 2 * restart.epsilon == pytest.approx(epsilon)
    for phases in (cold, warm):  # the last guess is at least T/2, so a larger L* is within a factor of two
        assert phases.first_guess * 2**phases.count >= horizon
    assert warm.count <= cold.count


@VARIANTS
def test_a_correct_guess_stands(variant: str) -> None:
    """L* = 0 is below every guess: no run leaves its first phase, though all of them ask several times."""
    problem, blocks = halving(64, 200_000)
    players = played(AdaptiveExperts(problem, Budget(64.0), 1, variant), blocks, 60)
    assert np.mean([player.draws for player in players]) > 2
    assert [player.phase for player in players] == [1] * 60


@pytest.mark.parametrize("doublings", [1, 5, 10])
def test_doubling_without_noise_is_exact(doublings: int) -> None:
    """All lose 1/2: guess g is left at the first multiple of 1/2 above g, so p doublings take a loss of 2^p - 1 + p/2.

    The loss of the round of a draw counts for the next guess already.
    """
    lost = 2 * (2**doublings - 1) + doublings  # rounds
    for rounds, found in ((lost, doublings - 1), (lost + 1, doublings)):
        learner = AdaptiveExperts(ExpertProblem(np.ones(4), rounds), Budget(math.inf), 1, "cold")
        player = played(learner, [constant([0.5] * 4, rounds)], 1)[0]
        assert (player.draws, player.guess) == (found, 2.0 ** min(found, learner.phases.count - 1))
        assert player.total == rounds / 2


@VARIANTS
def test_only_restart_forgets(variant: str) -> None:
    """What a phase does not see is what was lost before it began, up to the round of the draw that ended the last."""
    problem = ExpertProblem(np.ones(4), 60_000)
    player = played(AdaptiveExperts(problem, Budget(2000.0), 1, variant), [constant([0.5] * 4, 60_000)], 1)[0]
    assert player.phase > 1
    assert ((player.start > 0) == (variant == "restart")).all()


@VARIANTS
def test_the_bound_adds_up_the_phases_up_to_the_true_loss(variant: str) -> None:
    """A correct first guess: that of Algorithm 1. Four times the first guess: three phases."""
    learner = AdaptiveExperts(ExpertProblem(np.ones(4), 2**20, 0.0), Budget(8.0), 1, variant)
    first = learner.phases.first_guess
    assert learner.bound() == [learner.plan(first).bound()]
    more = AdaptiveExperts(ExpertProblem(np.ones(4), 2**20, 4 * first), Budget(8.0), 1, variant)
    assert more.bound() == pytest.approx([sum(more.plan(first * factor).bound() for factor in (1, 2, 4))])
    unknown = AdaptiveExperts(ExpertProblem(np.ones(4), 2**20), Budget(8.0), 1, variant)
    assert math.isnan(unknown.bound()[0])


class Numbered:
    """In place of random numbers, whole ones that are kept: sums are exact."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.source = np.random.default_rng(8)

    def laplace(self, scale: float, size: int) -> np.ndarray:
        drawn = self.source.integers(-(2**30), 2**30, size)
        self.given += drawn.tolist()
        return drawn.astype(float)


def nodes_of(prefix: int) -> list[int]:
    """Last items of the nodes that cover 1..prefix."""
    ends = []
    while prefix:
        ends.append(prefix)
        prefix &= prefix - 1
    return ends


def test_every_prefix_is_the_sum_of_its_nodes() -> None:
    """One noise a node, used whenever the node is: over nine chunks, so that carries reach the fourth level.

    In how many nodes an item lies is in privacy/test_mechanisms.py.
    """
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 100), Budget(1.0), 1, "single")
    assert learner.levels == BinaryTree(100).nodes_per_item == 7
    numbered = Numbered()
    noise = CounterNoise(cast(Any, numbered), 1.0).take(9 * CHUNK)
    for prefix in range(1, len(noise) + 1):
        assert noise[prefix - 1] == sum(numbered.given[end - 1] for end in nodes_of(prefix))


@pytest.mark.parametrize("limit", [5.0, CHUNK - 1.0, CHUNK + 0.0, 2.5 * CHUNK])
def test_without_noise_it_leaves_when_the_count_exceeds_the_threshold(limit: float) -> None:
    """The count of round t holds t losses, so floor(limit) + 1 are suffered; then the better expert is drawn."""
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 4 * CHUNK), Budget(math.inf), 20, "single")
    learner.threshold = limit
    record = learner.play([constant([1.0, 0.0], 4 * CHUNK)], generators(20))
    assert set(zip(record.losses, record.draws, strict=True)) == {(0.0, 0.0), (math.floor(limit) + 1.0, 1.0)}


def test_the_last_expert_stays() -> None:
    """All lose 1 a round: with 2 experts there are three draws, whatever is lost later."""
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 500), Budget(math.inf), 5, "single")
    record = learner.play([constant([1.0, 1.0], 500)], generators(5))
    assert learner.most_draws == 3
    assert (record.draws == 3).all()
    assert (record.losses == 500).all()


def test_compiled_counts_are_numpys() -> None:
    draw = np.random.default_rng(5)
    for unasked, losses in ((0, draw.random(50)), (1, draw.random(50)), (1, draw.random(1))):
        counts = 3.0 + np.concatenate([[0.0], np.cumsum(np.broadcast_to(losses, 50))])
        noise = draw.laplace(scale=4.0, size=50 - unasked)
        for threshold in (5.0, 15.0, 1e9):
            above = np.flatnonzero(counts[unasked:-1] + noise > threshold)
            wanted = int(above[0]) + unasked if len(above) else -1
            place, count = first_above(3.0, losses, 50, unasked, noise, threshold)
            assert (place, count) == (wanted, pytest.approx(counts[wanted], rel=1e-12))


def on_stream(name: str, experts: int, horizon: int, epsilon: float, runs: int) -> tuple[np.ndarray, float]:
    """Regret of every run, and the bound."""
    stream = make_expert_stream(name, experts, horizon)
    problem = ExpertProblem(stream.sizes, horizon, gap=stream.gap)
    learner = EpochLeader(problem, Budget(epsilon), runs, "pure")
    losses = learner.play(stream.epochs(generators(runs)), []).losses
    return losses - stream.comparator(generators(runs)).best, learner.bound()[0]


@pytest.mark.parametrize("horizon", [1, 2, 7, 21])
def test_an_epoch_is_played_by_the_law_of_the_one_before(horizon: int) -> None:
    sizes, table = np.array([1.0, 3.0, 2.0]), np.random.default_rng(horizon).random((horizon, 2, 3))
    learner = EpochLeader(ExpertProblem(sizes, horizon), Budget(1.6), 2, "pure")
    total, start = np.zeros(2), 1
    while start <= horizon:
        before, now = table[start // 2 - 1 : start - 1], table[start - 1 : 2 * start - 1]
        weights = sizes * np.exp(-0.8 * before.sum(axis=0)) if start > 1 else np.tile(sizes, (2, 1))
        total += (weights * now.sum(axis=0)).sum(axis=1) / weights.sum(axis=1)
        start *= 2
    found = learner.play([varying(table[:1]), varying(table[1:5]), varying(table[5:])], [])
    assert found.losses == pytest.approx(total, rel=1e-12)
    assert (found.draws == horizon.bit_length()).all()


def test_a_choice_is_the_noisy_minimum_and_costs_epsilon() -> None:
    """Gumbel(2/eps): all pairs of losses in {0, 1} of the changed round, on sums that come close to the worst case."""
    epsilon, sums = 1.2, np.array([9.0, 0.0, 0.4])
    learner = EpochLeader(ExpertProblem(np.ones(3), 8), Budget(epsilon), 1, "pure")
    noise = np.random.default_rng(1).gumbel(scale=2 / epsilon, size=(20_000, 3))
    counts = np.bincount((sums - noise).argmin(axis=1), minlength=3)
    assert stats.chisquare(counts, 20_000 * learner.law(sums)).pvalue > 1e-4
    laws = [learner.law(sums + each) for each in itertools.product([0.0, 1.0], repeat=3)]
    ratios = np.array([np.log(one / other) for one in laws for other in laws])
    assert 0.99 * epsilon < ratios.max() <= epsilon
    assert np.ptp(ratios, axis=1).max() <= epsilon * (1 + 1e-12)  # the range, hence eps^2/8-zCDP
    (line,) = learner.ledger()
    assert (line.call_epsilon(), line.rho()) == pytest.approx((epsilon, epsilon**2 / 8))


@pytest.mark.parametrize("name", ["gap", "gap-hard"])
@pytest.mark.parametrize("experts", [2, 37])
def test_the_bound_holds_for_independent_losses(name: str, experts: int) -> None:
    for horizon, epsilon in itertools.product((1, 50, 3000, 2**17), (0.05, 2.0, math.inf)):
        regret, bound = on_stream(name, experts, horizon, epsilon, 16)
        assert regret.mean() <= bound <= horizon


def test_bounds_with_a_gap_end_and_without_grow_like_the_root() -> None:
    def bound(horizon: int, gap: float) -> float:
        return EpochLeader(ExpertProblem(np.ones(64), horizon, gap=gap), Budget(0.5), 1, "pure").bound()[0]

    assert bound(2**40, 0.25) == pytest.approx(bound(2**30, 0.25), rel=1e-9)
    assert bound(2**40, 0.0) == pytest.approx(2**5 * bound(2**30, 0.0), rel=0.05)


def test_where_the_leader_of_every_epoch_loses_the_next_regret_is_linear() -> None:
    """2T/3, less than nothing for privacy; nobody declared a law, so there is no bound."""
    for horizon in (2**9 - 1, 2**16 - 1):
        regret, bound = on_stream("leader-swap", 10, horizon, math.inf, 2)
        assert regret == pytest.approx(np.full(2, 2 * horizon / 3), rel=0.01)
        assert math.isnan(bound)


def test_a_block_may_hold_many_epochs() -> None:
    learner = EpochLeader(ExpertProblem(np.array([1.0, 1.0]), 2**40 - 1), Budget(0.3), 1, "pure")
    assert 0.5 < learner.play([constant([1.0, 0.0], 2**40 - 1)], []).losses[0] < 40


EVERY = [(name, variant) for name, kind in learners("experts").items() for variant in kind.card.variants]
CASES = pytest.mark.parametrize(("name", "variant"), EVERY)


def begun(name: str, variant: str, problem: ExpertProblem, runs: int, epsilon: float = math.inf) -> Any:
    kind = learners("experts")[name]
    return kind(problem, Budget(epsilon if kind.card.private else math.inf, 1e-6), runs, variant)


@CASES
def test_contract(name: str, variant: str) -> None:
    """Losses between nothing and everything; the budget is kept.

    The same losses round by round are the same play, up to rounding (a halt within rounding of its limit aside).
    """
    problem, blocks = halving(8, 300)

    def play(runs: int, losses: list[Block]) -> tuple[Any, Play]:
        learner = begun(name, variant, problem, runs, 4.0)
        return learner, learner.play(losses, generators(runs))

    learner, record = play(3, blocks)
    assert record.losses.shape == record.draws.shape == (3,)
    assert (record.losses >= 0).all()
    assert (record.losses <= 300).all()
    assert learner.exact == (np.ptp(record.losses) == 0 and not np.isnan(record.draws).any())
    assert record.losses == pytest.approx(play(3, expanded(blocks))[1].losses, rel=1e-9, abs=1e-9)
    (delivered,) = learner.delivered_epsilon()
    assert (delivered > 0) if learner.card.private else math.isinf(delivered)
    assert not learner.card.private or delivered <= 4.0 * (1 + 1e-6) or variant == "printed"  # whose constants may fail


@CASES
def test_without_privacy_and_after_many_rounds_the_perfect_expert_is_found(name: str, variant: str) -> None:
    """eps = inf is the same code without noise: little is lost beyond what the learner's own constants allow.

    Whose guarantee is for independent losses meets them: the best of four always wins.
    """
    problem, blocks = halving(4, 40_000)
    if learners("experts")[name].stochastic_only:
        problem, blocks = ExpertProblem(np.ones(4), 40_000, gap=1.0), [constant([1.0, 1.0, 1.0, 0.0], 40_000)]
    regret = begun(name, variant, problem, 2).play(blocks, generators(2)).losses
    assert (regret <= 400).all(), regret  # sqrt(T ln(d)/2) = 166, sqrt(2 T ln d) = 333


@CASES
def test_regret_stays_below_the_explicit_bound(name: str, variant: str) -> None:
    problem, blocks = halving(64, 20_000)
    learner = begun(name, variant, problem, 8, 2.0)
    (bound,) = learner.bound()
    assert math.isnan(bound) or learner.play(blocks, generators(8)).losses.mean() <= bound


def test_unknown_variants_and_bad_problems_are_refused() -> None:
    sizes = np.array([2.0, 2.0])
    for name, variant, message in (
        ("hedge", "fast", "hedge has no variant 'fast': allowed are"),
        ("sparse-vector", "pure", "sparse-vector needs a bound on the loss of the best expert"),
        ("hedge", "small-loss", "hedge small-loss needs a bound"),
    ):
        with pytest.raises(ValueError, match=message):
            begun(name, variant, ExpertProblem(sizes, 10), 1, 1.0)
    for bad, message in (
        ((np.array([1.0]), 10), "at least 2 experts are needed, got 1"),
        ((sizes, 0), "horizon must be at least 1"),
        ((sizes, 10, 11.0), "best_loss must lie between 0 and the horizon 10, got 11"),
        ((np.array([2.0, 0.0]), 10), "every group needs at least one expert"),
        ((sizes, 10, None, 0.05, 1.5), "gap must lie between 0 and 1, got 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            ExpertProblem(*bad)
