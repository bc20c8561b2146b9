"""Closed forms of the Hedge family against simulation and against each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from drawn import generators
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import softmax
from tiny_streams import TinyBlock, constant, halving, varying

from dpregret.algorithms.experts import batched_dartboard
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.composition_hedge import BatchedHedge, CompositionHedge
from dpregret.algorithms.experts.hedge import hedge_losses
from dpregret.algorithms.experts.private_leader import PrivateFtpl, PrivateFtrl, PrivateLeader
from dpregret.algorithms.experts.shrinking_dartboard import (
    GRID,
    SMALLEST,
    EveryRound,
    ShrinkingDartboard,
    affordable,
    best_eta,
    largest_eta,
    most_of,
    tuned,
)
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import Selection, zcdp_epsilon


def by_hand(losses: np.ndarray, sizes: np.ndarray, eta: float, batch: int) -> float:
    """Expected loss of one run that draws every `batch` rounds; losses (rounds, groups); eta = inf: the best so far."""
    total, sums = 0.0, np.cumsum(losses, axis=0)
    for now in range(len(losses)):
        begun = now - now % batch
        seen = sums[begun - 1] if begun else np.zeros(len(sizes))
        weights = sizes * (np.exp(-eta * (seen - seen.min())) if math.isfinite(eta) else seen == seen.min())
        total += float(weights @ losses[now] / weights.sum())
    return total


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    eta=st.sampled_from([0.01, 0.5, 3.0, math.inf]),
    batch=st.integers(1, 9),
    cuts=st.lists(st.sampled_from([1, 2, 5, 12, 300]), min_size=1, max_size=5),
    fractions=st.booleans(),
)
def test_expected_losses_by_brute_force(seed: int, eta: float, batch: int, cuts: list[int], fractions: bool) -> None:
    """Compiled blocks, two runs."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 5, size=11).astype(float)
    blocks, rows = [], []
    for place, rounds in enumerate(cuts):
        table = generator.random((1 if place % 2 else rounds, 1 if place < 2 else 2, 11))
        table = table if fractions else np.round(table)
        blocks.append(TinyBlock(table, rounds))
        rows.append(np.broadcast_to(table, (rounds, 2, 11)))
    whole, found = np.concatenate(rows), hedge_losses(blocks, sizes, eta, batch)
    for run in range(len(found)):
        assert found[run] == pytest.approx(by_hand(whole[:, run], sizes, eta, batch), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "variant"), [(k, v) for k in (CompositionHedge, BatchedHedge) for v in ("zcdp", "pure")]
)
def test_composed_draws_spend_the_budget(kind: type[CompositionHedge], variant: str) -> None:
    problem, _ = halving(1024, 2**16)
    learner = kind(problem, Budget(1.0, 1e-6), 1, variant)
    assert learner.delivered_epsilon() == pytest.approx([1.0], rel=1e-6)
    assert learner.draws == math.ceil(2**16 / learner.batch)
    if variant == "pure":
        assert learner.eta == pytest.approx(1 / (2 * learner.draws))
    if kind is BatchedHedge:  # the batch length minimises the bound
        bounds = []
        for batch in (learner.batch // 2, learner.batch, 2 * learner.batch):
            eta = learner.eta * (learner.draws * batch / 2**16) ** (1 if learner.pure else 0.5)
            bounds.append(math.log(1024) / eta + eta * 2**16 * batch / 8)
        assert bounds[1] == min(bounds)


def test_a_budget_that_leaves_no_switch_is_refused() -> None:
    problem, _ = halving(4, 16)
    with pytest.raises(ValueError, match=r"epsilon = 1e-06 leaves no switch in 16 rounds, the best batch has \d+"):
        BatchedHedge(problem, Budget(1e-6), 1, "pure")
    with pytest.raises(ValueError, match="leaves no switch"):
        ShrinkingDartboard(problem, Budget(1e-6, 1e-6), 1, "zcdp")
    with pytest.raises(ValueError, match="shrinking-dartboard needs delta > 0"):
        ShrinkingDartboard(problem, Budget(1.0), 1, "zcdp")


@pytest.mark.parametrize("level", [2.0**-52, 1e-6, 0.25, 1.0])
def test_quantiles_of_binomials_are_those_of_scipy(level: float) -> None:
    for events, probability in itertools.product((1, 2, 7, 1000, 2**20), (0.0, 1e-9, 0.03, 0.5, 0.999, 1.0)):
        assert most_of(events, probability, level) == stats.binom.isf(level, events, probability)


@pytest.mark.parametrize("horizon", [3, 999, 2**16])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 40.0])
def test_the_tuner_skips_only_points_that_cannot_win(horizon: int, epsilon: float) -> None:
    best, found = best_eta(horizon, 100), None
    for keep_away in GRID:
        eta = largest_eta(horizon, EveryRound(1, keep_away, best), best * SMALLEST, epsilon, 1e-6)
        if eta > (found.eta if found else 0.0):
            found = EveryRound(1, keep_away, eta)
    assert tuned(horizon, 100, epsilon, 1e-6) == found


@pytest.mark.parametrize("horizon", [3, 999])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-6, 1e-5, 1e-3])
def test_a_budget_is_refused_where_tuning_finds_nothing(horizon: int, epsilon: float) -> None:
    asked = horizon, 100, epsilon, 1e-6
    assert affordable(*asked, EveryRound, 1) == (tuned(*asked) is not None)
    assert affordable(*asked) == (batched_dartboard.tuned(*asked) is not None)


@pytest.mark.parametrize(("eta", "keep_away"), [(0.05, 0.1), (0.7, 0.9), (3.0, 0.5), (2.0, 0.999)])
def test_a_decision_costs_the_larger_of_keeping_and_drawing(eta: float, keep_away: float) -> None:
    """Keeping is dearer where draws are frequent anyway."""
    keeps = [(1 - keep_away) * math.exp(-eta * loss) for loss in np.linspace(0, 1, 11)]
    worst = max(abs(math.log(one / other)) for one in keeps for other in keeps)
    worst = max(worst, max(abs(math.log((1 - one) / (1 - other))) for one in keeps for other in keeps))
    tuning = EveryRound(1, keep_away, eta)
    later = Selection("gumbel", 1 / eta, 1.0, tuning.most_draws(100))
    assert tuning.price(100, 1e-6) - zcdp_epsilon(later.rho(), 1e-6) == pytest.approx(worst)


def test_expected_draws_of_a_dartboard() -> None:
    """Losses 0 and 1: one, and in each round the chance of not keeping, by the marginals of Hedge."""
    table = (np.random.default_rng(3).random((40, 3)) < 0.4).astype(float)
    learner = ShrinkingDartboard(ExpertProblem(np.ones(3), 40), Budget(20.0, 1e-6), 2, "zcdp")
    learner.tuning = EveryRound(1, 0.2, 0.6)
    before = np.cumsum(table, axis=0) - table
    weights = np.exp(-0.6 * before)
    marginals = weights / weights.sum(axis=1, keepdims=True)
    wanted = 1 + sum(1 - 0.8 * float(own @ np.exp(-0.6 * loss)) for own, loss in zip(marginals, table, strict=True))
    found = learner.play([varying(table[:, None])], generators(2)).draws
    assert found == pytest.approx([wanted, wanted])
    assert wanted < learner.tuning.most_draws(40)


@pytest.mark.parametrize("learner_class", [PrivateFtrl, PrivateFtpl])
def test_leaders_play_on_their_noisy_sums(learner_class: type[PrivateLeader]) -> None:
    """On the same draws, round by round: 200 rounds of three runs, some alike, in groups."""
    table = np.random.default_rng(3).random((130, 3, 4))
    blocks, problem = [varying(table), constant([0.2, 0.0, 1.0, 0.9], 70)], ExpertProblem(np.array([2.0, 1, 3, 1]), 200)
    for variant in learner_class.card.variants:
        learner = learner_class(problem, Budget(50.0, 1e-6), 3, variant)
        plain = np.zeros(3)
        for losses, sums in learner.noisy_sums(blocks, generators(3)):
            law = np.eye(7)[sums.argmin(axis=-1)]
            if learner_class is PrivateFtrl:
                law = softmax(-learner.sharpness * sums, axis=-1)
            plain += (law * losses).sum(axis=(0, 2))
        assert learner.play(blocks, generators(3)).losses == pytest.approx(plain, rel=1e-12)
