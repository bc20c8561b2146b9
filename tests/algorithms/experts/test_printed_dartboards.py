"""Dartboards with the parameters of Asi et al., COLT 2023: formulas, laws, prices, and where Theorem 2 fails."""

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tiny_streams import halving, varying

from dpregret.algorithms.experts.batched_dartboard import BatchedDartboard
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.experts.shrinking_dartboard import AsPrinted, ShrinkingDartboard
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.audit.neighbours import table_epsilon

PRINTED = [(ShrinkingDartboard, "printed"), (ShrinkingDartboard, "printed-pure")]
BATCHED = [(BatchedDartboard, "printed"), (BatchedDartboard, "balanced")]
Law = dict[tuple[tuple[int, ...], tuple[bool, ...]], float]


def made(kind: type[Any], variant: str, horizon: int, epsilon: float = 1.0, experts: int = 1024) -> Any:
    return kind(ExpertProblem(np.array([float(experts)]), horizon), Budget(epsilon, 1e-6), 1, variant)


def law_of_the_box(losses: np.ndarray, batch: int, p: float, step: float, budget: float) -> Law:
    """Experts of all batches and which decisions drew, as the paper writes it: (1 - eta)^mean, k from 1 up to K."""
    means = [losses[first : first + batch].sum(axis=0) / batch for first in range(0, len(losses), batch)]
    weights, count = np.ones(losses.shape[1]), losses.shape[1]
    laws: Law = {((x,), ()): 1 / count for x in range(count)}
    for mean in means[:-1]:
        before, weights = weights, weights * (1 - step) ** mean
        after: Law = defaultdict(float)
        for (played, drew), chance in laws.items():
            x = played[-1]
            keep = (1 - p) * weights[x] / before[x] if 1 + sum(drew) < budget else 1.0
            after[(*played, x), (*drew, False)] += chance * keep
            for other, share in enumerate(weights / weights.sum()):
                after[(*played, other), (*drew, True)] += chance * (1 - keep) * float(share)
        laws = {key: chance for key, chance in after.items() if chance > 0}
    return laws


@pytest.mark.parametrize(("horizon", "epsilon", "experts"), [(2**10, 1.0, 1024), (999, 0.3, 7), (2**20, 0.05, 2)])
def test_parameters_are_those_of_the_corollaries(horizon: int, epsilon: float, experts: int) -> None:
    log, log_d = math.log(1e6), math.log(experts)
    third = made(ShrinkingDartboard, "printed", horizon, epsilon, experts).tuning
    assert third.keep_away == pytest.approx((horizon * log) ** (-1 / 3))
    least = min(epsilon / 2, log ** (1 / 3) * math.sqrt(log_d) / horizon ** (1 / 6))
    assert third.step == pytest.approx(third.keep_away * least / 20)
    fourth = made(ShrinkingDartboard, "printed-pure", horizon, epsilon, experts).tuning
    assert (fourth.keep_away, fourth.step) == pytest.approx((horizon**-0.5, horizon**-0.5 * epsilon / 20))
    for variant, power in (("printed", 3 / 5), ("balanced", 6 / 5)):
        tuning = made(BatchedDartboard, variant, horizon, epsilon, experts).tuning
        size = log ** (2 / 5) * log_d ** (3 / 5) / (horizon ** (1 / 5) * epsilon**power)
        assert tuning.batch == max(1, round(size))
        assert tuning.keep_away == pytest.approx((tuning.batch / (horizon * log)) ** (1 / 3))
        assert tuning.step == pytest.approx(tuning.batch * tuning.keep_away * epsilon / 40)
        assert tuning.most_draws(horizon) < 4 * horizon * tuning.keep_away / tuning.batch


def test_the_printed_formulas_at_hand() -> None:
    """Theorems 2 and 5 at round numbers."""
    one = AsPrinted.of(1, 0.1, 0.01)
    assert one.stated_epsilon(100, math.exp(-4)) == pytest.approx(0.5 + 0.1 + 0.2 * math.sqrt(40))
    assert one.stated_epsilon(100, 0.0) == pytest.approx(0.1 + 1.6)
    assert one.guarantee(100, 8) == pytest.approx(1 + 100 * math.log(8) + 200 * math.exp(-10 / 3))
    four = AsPrinted.of(4, 0.1, 0.01)
    assert four.stated_epsilon(100, math.exp(-3)) == pytest.approx(0.125 + 0.1 / 64 + 0.05 * math.sqrt(90))
    assert four.guarantee(100, 8) == pytest.approx(1 + 400 * math.log(8) + 200 * math.exp(-10 / 12))
    assert math.isnan(four.stated_epsilon(100, 0.0))
    assert math.isnan(AsPrinted.of(1, 0.1, 0.2).guarantee(100, 8))


@pytest.mark.parametrize("horizon", [2**12, 2**16, 2**20])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_what_is_stated_and_what_is_spent(horizon: int, epsilon: float) -> None:
    """Corollaries 3 and 4 follow from Theorem 2; Corollary 6 from Theorem 5 without its 12, as in its proof."""
    for kind, variant in PRINTED + BATCHED:
        learner = made(kind, variant, horizon, epsilon)
        stated, spent = learner.tuning.stated_epsilon(horizon, learner.delta), learner.delivered_epsilon()[0]
        batched = learner.tuning.batch > 1
        assert stated <= (1.9 if batched else 1.0) * epsilon
        assert (stated > epsilon) == batched
        assert spent < (0.5 if learner.pure else 0.1) * epsilon
        assert spent < stated


@pytest.mark.parametrize(
    ("batch", "p", "step", "budget"), [(1, 0.2, 0.15, 9.0), (2, 0.3, 0.2, 2.4), (2, 0.1, 0.4, 3.0)]
)
def test_the_ledger_holds_for_the_law_of_the_box(batch: int, p: float, step: float, budget: float) -> None:
    """All neighbours with losses 0 and 1 in the changed round: purely, and at a delta."""
    tuning, base = AsPrinted.of(batch, p, step), np.array([[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 2 + [[0.0, 0.0]])
    draws = math.ceil(budget) - 1
    pure, approximate = 0.0, 0.0
    for position, one, other in itertools.product((0, 1), *[list(itertools.product((0.0, 1.0), repeat=2))] * 2):
        tables = [base.copy(), base.copy()]
        tables[0][position], tables[1][position] = one, other
        first, second = (law_of_the_box(losses, batch, p, step, budget) for losses in tables)
        ratios = np.array([[first[each], second[each]] for each in first])
        assert ratios.sum(axis=0) == pytest.approx([1, 1])
        pure = max(pure, float(np.abs(np.log(ratios[:, 0] / ratios[:, 1])).max()))
        approximate = max(approximate, table_epsilon(ratios[:, 0], ratios[:, 1], 1e-3))
    assert tuning.decision < pure <= tuning.decision + 2 * tuning.eta * draws
    rho = draws * tuning.eta**2 / 2
    assert approximate <= tuning.decision + rho + 2 * math.sqrt(rho * math.log(1e3))


@pytest.mark.parametrize(("batch", "budget"), [(1, 99.0), (2, 99.0), (1, 3.0)])
def test_expected_losses_are_those_of_the_box(batch: int, budget: float) -> None:
    """Exact while the draws last, and off by the rounds times the probability that they do not."""
    losses = np.random.default_rng(2).random((7, 3))
    tuning = AsPrinted.of(batch, 0.2, 0.4)
    laws = law_of_the_box(losses, batch, 0.2, 0.4, budget)
    wanted = sum(
        chance * losses[np.arange(7), np.repeat(played, batch)[:7]].sum() for (played, _), chance in laws.items()
    )
    learner = made(BatchedDartboard, "zcdp", 7, 50.0, 3)
    learner.sizes = np.ones(3)
    learner.tuning = tuning
    found = float(learner.play([varying(losses[:, None])], []).losses[0])
    run_out = sum(chance for (_, drew), chance in laws.items() if 1 + sum(drew) >= budget)
    assert found == pytest.approx(wanted, abs=1e-12 + 7 * run_out)
    assert (run_out > 0.01) == (budget == 3.0)


def test_theorem_2_needs_eta_below_p() -> None:
    """All experts lose for half of the rounds, so draws run out; then one of two loses nothing."""
    horizon, step = 2**20, math.sqrt(math.log(2) / 2**20)
    p = 2.0**-14
    switch = p + (1 - p) * step
    budget = 4 * horizon * p
    out = stats.binom.sf(budget - 2, horizon // 2 - 1, switch)  # K - 1 draws within the first half
    assert out > 1 - 1e-6
    regret = out * (horizon // 2) / 2
    stated = step * horizon + math.log(2) / step + 2 * horizon * math.exp(-horizon * p / 3)
    assert max(p, step) < 0.5
    assert stated < 1800 < 2**17 < regret / 0.99


@pytest.mark.parametrize(("kind", "variant"), PRINTED + BATCHED)
def test_mean_regret_is_below_the_printed_bound(kind: type[Any], variant: str) -> None:
    problem, blocks = halving(16, 2**14)
    learner = kind(problem, Budget(1.0, 1e-6), 1, variant)
    assert 0 < learner.play(blocks, []).losses[0] < learner.bound()[0]  # the best expert loses nothing


def test_what_the_corollaries_do_not_cover_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"epsilon = 0\.001 needs batches of 4\.26e\+03 rounds, more than the horizon 999"
    ):
        made(BatchedDartboard, "balanced", 999, 0.001, 7)
    with pytest.raises(ValueError, match=r"the paper needs p < 1/2 and eta < 1/2, not p = 0\.707"):
        made(ShrinkingDartboard, "printed-pure", 2)
    with pytest.raises(ValueError, match="shrinking-dartboard needs delta > 0"):
        ShrinkingDartboard(ExpertProblem(np.ones(3), 40), Budget(1.0), 1, "printed")


@pytest.mark.parametrize("horizon", [2**12, 2**18])
def test_pure_batches_gain_a_root_of_epsilon(horizon: int) -> None:
    """With B near sqrt(ln d)/eps the guarantee grows like eps^-1/2, without batches like 1/eps."""
    bounds = {
        kind: [made(kind, "pure", horizon, epsilon).bound()[0] for epsilon in (0.25, 1.0)]
        for kind in (ShrinkingDartboard, BatchedDartboard)
    }
    assert bounds[ShrinkingDartboard][0] / bounds[ShrinkingDartboard][1] == pytest.approx(4, rel=0.1)
    assert bounds[BatchedDartboard][0] / bounds[BatchedDartboard][1] == pytest.approx(2, rel=0.15)
    assert made(BatchedDartboard, "pure", horizon, 0.25).delivered_epsilon()[0] <= 0.25
