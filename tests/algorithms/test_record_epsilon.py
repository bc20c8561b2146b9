"""The epsilon of a record that is in several rounds, beside that of a round."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dpregret as dp
from dpregret.algorithms.bandits.bandit_learner import BanditProblem
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, learners
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.audit import materialise, whitened_sums
from dpregret.algorithms.privacy.budget import Release, gaussian_delta, gaussian_epsilon, group_epsilon
from dpregret.algorithms.privacy.participation import Schedules, worst_record
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, NoisePlan
from dpregret.algorithms.privacy.selection import Selection
from dpregret.algorithms.privacy.trees import BinaryTree, BlockTrees
from dpregret.datasets.streams import make_stream
from dpregret.workflows.audit.erm import LinearRisk, LinearSample
from dpregret.workflows.families import FAMILIES


@pytest.mark.parametrize("participations", [1, 2, 5])
@pytest.mark.parametrize("mechanism", [NoisePerItem(), BinaryTree(32)], ids=repr)
def test_a_line_of_a_record_is_never_below_its_exact_loss(mechanism: NoisePerItem, participations: int) -> None:
    """Exact where every item has its own noise; trees share nodes, and mu grows up to `participations` times."""
    line = NoisePlan("gaussian", [mechanism], [3.0], 2.0, 4).releases()[0]
    whitened = 2.0 / 3.0 * whitened_sums(materialise(mechanism, 31))
    exact = worst_record(whitened.T @ whitened, Schedules(participations)).mu
    charged = line.of_record(participations).mu()
    assert charged >= exact * (1 - 1e-12)
    if mechanism.apart:
        assert charged == pytest.approx(exact)
    else:
        assert charged == pytest.approx(participations * line.mu())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_line_composes_exactly_where_items_are_apart(delta: float) -> None:
    for distribution, apart, exact in (
        ("gaussian", True, True),
        ("laplace", True, delta == 0),
        ("gamma", False, False),
    ):
        assert Release(distribution, 3.0, 1.0, 1, apart=apart).composes_exactly(delta) is exact  # type: ignore[arg-type]
    assert not Selection("gumbel", 8.0, 1.0, 10).composes_exactly(delta)


def test_pure_lines_and_choices_grow_by_the_rounds() -> None:
    assert Release("laplace", 4.0, 1.0, 3).of_record(5).epsilon(0.0) == pytest.approx(5 * 3 / 4)
    assert Release("laplace", 4.0, 1.0, 3, apart=True).of_record(5).epsilon(0.0) == pytest.approx(5 * 3 / 4)
    choices = Selection("gumbel", 8.0, 1.0, 10)
    assert choices.of_record(3).call_epsilon() == pytest.approx(3 * choices.call_epsilon())
    assert choices.of_record(3).rho() == pytest.approx(9 * choices.rho())


@pytest.mark.parametrize("members", [1, 2, 7])
def test_group_privacy_holds_for_gaussian_noise(members: int) -> None:
    """A group under Gaussian noise loses members * mu: group privacy of its curve may say more, never less."""
    mu, delta = 0.2, 1e-6
    found = group_epsilon(lambda at: gaussian_epsilon(mu, at), members, delta)
    assert found >= gaussian_epsilon(members * mu, delta) * (1 - 1e-9)
    assert gaussian_delta(found, members * mu) <= delta
    if members > 1:  # and it is what the lemma says, at the delta of a member that the search ends with
        single = found / members
        assert gaussian_delta(single, mu) * math.expm1(found) / math.expm1(single) == pytest.approx(delta, rel=1e-6)


def test_group_privacy_at_its_ends() -> None:
    assert group_epsilon(lambda at: 0.5, 4, 0.0) == 2.0
    assert group_epsilon(lambda at: math.inf, 4, 1e-6) == math.inf
    assert group_epsilon(lambda at: 0.0, 4, 1e-6) == 0.0  # all of it is delta
    assert group_epsilon(lambda at: 0.5 if at >= 1e-7 else math.inf, 4, 1e-6) == math.inf


@pytest.mark.parametrize("rounds", [568, 569, 570, 1138, 1139, 5000])
@pytest.mark.parametrize("window", [None, 1, 2, 100, 569, 570, 571])
def test_rounds_of_a_record_are_counted(rounds: int, window: int | None) -> None:
    """Orders of passes chosen to bring one record as often as can be: last in one pass, first in the next."""
    stream = make_stream("ridge-logistic", make_set("ball", 3), pool_size=569)
    worst = 0
    for number in (0, 568):  # the record begins the first pass, or ends it; then each pass turns
        places, at = [], number
        for begin in range(0, rounds, 569):
            places.append(begin + at)
            at = 568 - at
        seen = np.array([place for place in places if place < rounds])
        for first in seen:
            inside = (seen >= first) & (seen < first + (window or rounds))
            worst = max(worst, int(inside.sum()))
    counted = stream.participations(rounds, window)
    assert stream.certain_participations(rounds, window) <= worst <= counted
    if window is None or window <= 2:
        assert counted == worst


def test_a_play_over_several_passes_has_the_epsilon_of_a_record() -> None:
    """569 records, 1500 rounds: three passes, mu grows threefold at most, and never less than by the root of three."""
    given = {"stream": "breast-cancer", "dimension": 30, "epsilon": 2.0, "runs": 2}
    played = dp.play("dp-ftrl", rounds=1500, **given)
    row = played.rows.iloc[-1]
    assert row["participations"] == 3
    assert row["record_epsilon"] == pytest.approx(gaussian_epsilon(3 * row["mu_gdp"], 1e-6))
    assert row["record_least"] == row["delivered_epsilon"]  # a tree: between one round's and group privacy's
    fresh = dp.play("noise-per-gradient", rounds=1500, **given).rows.iloc[-1]
    assert fresh["record_least"] == fresh["record_epsilon"]
    assert fresh["record_least"] == pytest.approx(gaussian_epsilon(3**0.5 * fresh["mu_gdp"], 1e-6))
    assert "record_epsilon" not in dp.play("dp-ftrl", rounds=500, **given).rows


def test_what_never_expires_is_charged_in_all_rounds_whatever_its_window() -> None:
    """569 records and 1500 rounds: a window of 64 touches two passes, and a restart after 64 rounds all three."""
    given = {"stream": "breast-cancer", "dimension": 30, "epsilon": 1.0, "runs": 2, "rounds": 1500, "window": 64}
    expiring, restarted = (dp.play(name, **given) for name in ("wdp-cocop-gaussian", "restarted-ftal"))
    for play, passes in ((expiring, 2), (restarted, 3)):
        row = play.rows.iloc[-1]
        assert row["participations"] == passes
        assert row["record_epsilon"] == pytest.approx(gaussian_epsilon(passes * row["mu_gdp"], 1e-6))
    assert (expiring.protects, restarted.protects) == ("last 64", "all rounds")
    assert "among the last 64" in expiring.guarantee
    assert "among" not in restarted.guarantee
    assert "a record is in 3 rounds" in restarted.guarantee


@pytest.mark.parametrize(
    ("rounds", "square"),
    [
        ((1,), 3),  # its leaf, the node of two and the root
        ((1, 9, 17), 3 * 3),  # blocks apart
        ((1, 2), 1 + 2**2 + 2**2),  # a block's first two share the node of two and the root
        ((4, 5), 1 + 3),  # the last of a block is in its root alone
    ],
)
def test_a_record_of_blocks_never_loses_more_than_it_is_charged(rounds: tuple[int, ...], square: int) -> None:
    """Blocks of four, which are charged for all rounds: exact losses by hand and off the matrix."""
    line = NoisePlan("gaussian", [BlockTrees(4)], [3.0], 2.0, 1).releases()[0]
    whitened = 2.0 / 3.0 * whitened_sums(materialise(BlockTrees(4), 20))
    lost = float(np.linalg.norm(whitened[:, np.array(rounds) - 1].sum(axis=1)))
    assert lost == pytest.approx(2.0 / 3.0 * math.sqrt(square))
    assert lost <= line.of_record(len(rounds)).mu() * (1 + 1e-12)


def test_no_stream_counts_fewer_rounds_than_there_are() -> None:
    stream = make_stream("ridge-logistic", make_set("ball", 2), pool_size=7)
    counts = [stream.participations(rounds) for rounds in range(1, 40)]
    assert counts == [-(-rounds // 7) for rounds in range(1, 40)]
    assert counts == [stream.certain_participations(rounds) for rounds in range(1, 40)]
    assert make_stream("norm-kink", make_set("ball", 2)).participations(10**6) == 1


EVERY = [
    (family, name, variant)
    for family in FAMILIES
    for name, kind in learners(family).items()
    if kind.card.private
    for variant in kind.card.variants
]


def started(family: str, name: str, variant: str, budget: Budget, horizon: int = 4096) -> Any:
    kind: Any = learners(family)[name]
    if family == "online":
        problem: Any = Problem(make_set("ball", 1), horizon, 2.0, 1.0, 1.0, float(horizon))
        return kind(problem, [Setting(16, budget)], 1, variant)
    if family == "experts":
        return kind(ExpertProblem(np.ones(4), horizon, 4.0, gap=0.25), budget, 1, variant)
    if family == "bandits":
        arms = "arms" in kind.card.needs
        problem = BanditProblem(make_set("simplex" if arms else "ball", 3), horizon, 1.0, linear=True, arms=arms)
        return kind(problem, [budget], 1, variant)
    domain, slopes = make_set(kind.natural_set, 4), np.full((6, 4), 0.5)
    risk: Any = LinearRisk(slopes, domain, 0.5 if "strongly-convex" in kind.card.needs else 0.0)
    if "fresh" in kind.reads:
        risk = LinearSample(slopes, 1)
        risk.smoothness = 0.0  # as `pol` needs it
    return kind(ErmProblem(domain, risk), [budget], 1, variant)


@pytest.mark.parametrize(("family", "name", "variant"), EVERY)
def test_what_a_learner_states_of_a_round_it_states_of_a_record(family: str, name: str, variant: str) -> None:
    """Of one round the same; of three rounds more, and finite where that of a round is; so at every delta."""
    learner = started(family, name, variant, Budget(8.0, 1e-6))
    (once,), (record,) = learner.delivered_epsilon(), learner.record_epsilon([3])
    assert learner.record_epsilon([1]) == [once]
    assert once <= record
    assert math.isfinite(record) == math.isfinite(once)
    if not learner.pure:
        assert learner.epsilon_at(1e-6) == [once]
        assert once <= learner.epsilon_at(1e-9)[0]
        assert math.isfinite(learner.epsilon_at(1e-9)[0]) == math.isfinite(once)
        assert once <= learner.epsilon_at(0.0)[0]


def started_or_refused(*of_what: Any) -> Any:
    """The learner, or why there is none."""
    try:
        return started(*of_what)
    except ValueError as refusal:
        return str(refusal)


@pytest.mark.parametrize("epsilon", [8.0, math.inf])
@pytest.mark.parametrize(("family", "name", "variant"), EVERY)
def test_without_delta_a_learner_keeps_its_budget_or_refuses(
    family: str, name: str, variant: str, epsilon: float
) -> None:
    """With delta = 0 it is pure, or says that it needs delta; without privacy it plays, and states its bound."""
    learner = started_or_refused(family, name, variant, Budget(epsilon, 0.0))
    if isinstance(learner, str):
        assert math.isfinite(epsilon)
        assert learner.endswith("needs delta > 0")
        return
    assert variant == "printed" or learner.delivered_epsilon()[0] <= epsilon * (1 + 1e-9)
    bound = learner.bound(4096) if family == "online" else learner.bound()
    assert not (np.array(bound) < 0).any()


@pytest.mark.parametrize("variant", ["tuned", "printed", "still"])
def test_without_delta_the_draws_of_l2p_cost_their_ranges(variant: str) -> None:
    """A decision between two batches draws x and y; the copy that is drawn once costs nothing."""
    learner = started("experts", "l2p", variant, Budget(8.0, 1e-6))
    tuning, copies = learner.tuning, 1 if variant == "still" else 2
    steps = len(range(tuning.batch, 4096, tuning.batch))
    assert learner.epsilon_at(0.0) == pytest.approx([tuning.decision + steps * copies * 2 * tuning.eta])


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_a_record_in_several_phases_loses_no_more_than_in_the_worst(rounds: int) -> None:
    """Phases add squares of their mu: of all ways to put the rounds into phases, the most is the stated one."""
    learner = started("bandits", "private-bandit-doubling", "corrected", Budget(4.0, 1e-6), 336)
    mus = [phase.ledger()[0].mu() for _, phase in learner.phases]
    ways = (way for way in itertools.product(range(rounds + 1), repeat=len(mus)) if sum(way) == rounds)
    most = max(math.hypot(*(count * mu for count, mu in zip(way, mus, strict=True))) for way in ways)
    assert len(mus) == 3
    assert learner.record_epsilon([rounds]) == pytest.approx([gaussian_epsilon(most, 1e-6)])
    assert learner.epsilon_at(1e-9) == pytest.approx([gaussian_epsilon(max(mus), 1e-9)])
    without = started("bandits", "private-bandit-doubling", "corrected", Budget(math.inf), 336)
    assert without.record_epsilon([rounds]) == [math.inf]
