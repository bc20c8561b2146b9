"""The Hedge family and lazy learners: laws against plain versions, prices by enumeration, errata of papers, tuning."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator

import numpy as np
import pytest
from drawn import generators, p_value
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import softmax
from tiny_streams import constant, halving, varying

from dpregret.algorithms.experts import shrinking_dartboard
from dpregret.algorithms.experts.batched_dartboard import BatchedDartboard, tuned
from dpregret.algorithms.experts.composition_hedge import BatchedHedge, CompositionHedge
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.experts.hedge import Hedge, hedge_losses
from dpregret.algorithms.experts.l2p import DrawnCopy, FrozenCopy, LazyToPrivate, StatedPrice, play_by_the_box, printed
from dpregret.algorithms.experts.private_leader import PrivateFtpl, PrivateFtrl, PrivateLeader
from dpregret.algorithms.experts.shrinking_dartboard import (
    SMALLEST,
    EveryRound,
    ShrinkingDartboard,
    Tuning,
    affordable,
    best_eta,
    grid,
    largest_eta,
    most_of,
)
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget, smallest_epsilon
from dpregret.algorithms.privacy.selection import Selection, zcdp_epsilon
from dpregret.datasets.expert_streams import ExpertBlock
from dpregret.workflows.audit.exact_losses import batches_law
from dpregret.workflows.audit.experts import Restless, law
from dpregret.workflows.audit.neighbours import table_epsilon

KINDS = [DrawnCopy(3, 0.2, 0.4), FrozenCopy(3, 0.2, 0.4), DrawnCopy(2, 0.05, 0.9), FrozenCopy(1, 0.5, 0.3)]


def made(tuning: DrawnCopy, rounds: int, experts: int = 2) -> LazyToPrivate:
    learner = LazyToPrivate(ExpertProblem(np.ones(experts), rounds), Budget(1.0, 1e-6), 1, "tuned")
    learner.tuning = tuning
    return learner


def law_of_transcripts(tuning: DrawnCopy, losses: np.ndarray) -> dict[Hashable, float]:
    """Of x, y and which of them was drawn, batch by batch, by the recursion of the box; two experts."""
    batch, _, eta = tuning
    sums = np.add.reduceat(losses, np.arange(0, len(losses), batch), axis=0)
    laws: dict[Hashable, float] = {((x, y),): 0.25 for x, y in itertools.product((0, 1), repeat=2)}
    for now in range(len(sums) - 1):
        weights = np.exp(-eta * sums[: now + 1].sum(axis=0))
        law, found = weights / weights.sum(), defaultdict[Hashable, float](float)
        for played, chance in laws.items():
            x, y = played[-1][:2]  # type: ignore[index]
            keep = tuning.keep * math.exp(-eta * (sums[now, x] - sums[now, y]))
            xs = [((x, False), keep), *(((new, True), (1 - keep) * law[new]) for new in (0, 1))]
            ys = [((y, False), 1 - tuning.renew), *(((new, True), tuning.renew * law[new]) for new in (0, 1))]
            for ((a, fresh), p), ((b, renewed), q) in itertools.product(xs, ys):
                found[(*played, (a, b, fresh, renewed))] += chance * p * q  # type: ignore[misc]
        laws = dict(found)
    return laws


@pytest.mark.parametrize("tuning", KINDS)
def test_the_coupling_leaves_the_law_of_hedge_on_batches(tuning: DrawnCopy) -> None:
    """x is distributed like a fresh draw after every batch, on losses in general position; y is not."""
    losses = np.random.default_rng(3).random((10, 3))
    learner = made(tuning, 10, 3)
    marginal, moves, shown = learner.chain(losses)
    for now in range(10):
        seen = losses[: now // tuning.batch * tuning.batch].sum(axis=0)
        fresh = np.exp(-tuning.eta * seen) / np.exp(-tuning.eta * seen).sum()
        assert [marginal[shown == x].sum() for x in range(3)] == pytest.approx(fresh.tolist(), abs=1e-12)
        marginal = marginal @ moves[now] if now < 9 else marginal


@pytest.mark.parametrize("tuning", KINDS)
def test_compiled_batches_play_the_chain(tuning: DrawnCopy) -> None:
    """Losses and draws, on groups, in blocks that end inside batches, rounds alike or not."""
    groups, sizes = np.random.default_rng(4).random((11, 2)), np.array([1.0, 2.0])
    groups[5:8] = groups[5]
    losses = np.repeat(groups, [1, 2], axis=1)
    learner = LazyToPrivate(ExpertProblem(sizes, 11), Budget(1.0, 1e-6), 2, "tuned")
    learner.tuning = tuning
    blocks = [varying(groups[:5, None]), constant(groups[5].tolist(), 3), varying(groups[8:, None])]
    record = learner.play(blocks, generators(2))
    assert record.losses == pytest.approx(hedge_losses(blocks, sizes, tuning.eta, tuning.batch)[0], rel=1e-12)
    marginal, moves, shown = made(tuning, 11, 3).chain(losses)
    draws, other = 1.0, np.arange(9) % 3
    for now in range(10):
        if (now + 1) % tuning.batch == 0:
            lost = losses[now + 1 - tuning.batch : now + 1].sum(axis=0)
            draws += 1 - float(marginal @ (tuning.keep * np.exp(-tuning.eta * (lost[shown] - lost[other]))))
        marginal = marginal @ moves[now]
    assert record.draws == pytest.approx(draws, rel=1e-12)


@pytest.mark.parametrize("tuning", KINDS[:2])
def test_the_box_has_the_law_of_the_chain(tuning: DrawnCopy) -> None:
    """Sequences of experts, one a batch, against their exact law: chi-square; and no more draws than it says."""
    losses, runs = np.random.default_rng(6).integers(0, 2, (9, 2)).astype(float), 8000
    (generator,) = generators(1)
    plays = [play_by_the_box(losses, tuning, generator) for _ in range(runs)]
    found = Counter(tuple(played[:: tuning.batch]) for played, _ in plays)
    law = batches_law(made(tuning, 9), losses)
    wanted = dict(zip(itertools.product((0, 1), repeat=3), law, strict=True))
    counts = [[found[each], wanted[each] * runs] for each in wanted]
    assert stats.chisquare(*zip(*counts, strict=True)).pvalue > 1e-4
    drawn = np.array([draws for _, draws in plays])
    assert drawn.mean() <= 1 + 2 * tuning.most_drawn + 4 * drawn.std() / math.sqrt(runs)


PAIRS = list(itertools.product([0.0, 1.0], repeat=2))
BASE = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]] * 2)


def neighbours(base: np.ndarray, places: tuple[int, ...] = (0, 2)) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All losses 0 and 1 in a changed round, of the first batches of two rounds."""
    for place, one, other in itertools.product(places, PAIRS, PAIRS):
        tables = base.copy(), base.copy()
        tables[0][place], tables[1][place] = one, other
        yield tables


def worst(tuning: DrawnCopy, rounds: int, delta: float) -> float:
    """The largest epsilon at delta over `neighbours`, of everything that is released."""
    found = 0.0
    for tables in neighbours(BASE[:rounds]):
        laws = [law_of_transcripts(tuning, losses) for losses in tables]
        assert sum(laws[0].values()) == pytest.approx(1)
        one, other = (np.array([law[each] for each in laws[0]]) for law in laws)
        found = max(found, table_epsilon(one, other, delta))
    return found


@pytest.mark.parametrize(
    ("tuning", "delta"),
    [(DrawnCopy(2, 0.1, 0.2), 1e-2), (FrozenCopy(2, 0.1, 0.2), 1e-5), (DrawnCopy(2, 0.6, 0.5), 1e-5)],
)
def test_the_ledger_covers_every_transcript(tuning: DrawnCopy, delta: float) -> None:
    """Four batches of two rounds, three decisions: exact over all transcripts, and no more than the ledger says."""
    assert 0 < worst(tuning, 8, delta) <= tuning.price(8, delta)
    assert worst(tuning, 4, 0.0) <= tuning.decision + (2 if tuning.renew == 0 else 4) * tuning.eta  # then one draw each
    assert worst(tuning, 4, 0.0) >= tuning.decision


@pytest.mark.parametrize("tuning", KINDS[:3])
def test_the_price_of_a_decision_is_attained(tuning: DrawnCopy) -> None:
    """By the experts of batch 1 and whether x was drawn after it, on two batches of two rounds: no more, no less."""
    tuning, found = tuning._replace(batch=2), 0.0
    for tables in neighbours(BASE[:4]):
        seen: list[dict[Hashable, float]] = [defaultdict(float), defaultdict(float)]
        for side, losses in zip(seen, tables, strict=True):
            for transcript, chance in law_of_transcripts(tuning, losses).items():
                side[transcript[0], transcript[1][2]] += chance  # type: ignore[index]
        found = max(found, max(abs(math.log(seen[0][each] / seen[1][each])) for each in seen[0]))
    assert found == pytest.approx(tuning.decision, rel=1e-12)


@pytest.mark.parametrize("kind", [DrawnCopy, FrozenCopy])
def test_mistakes_are_caught(kind: type[DrawnCopy]) -> None:
    """Draws that nobody pays for; fake switches that are priced, and never made."""
    tuning = kind(2, 0.3, 0.5)
    exact = worst(tuning, 8, 1e-5)
    assert tuning.decision < exact <= tuning.price(8, 1e-5)
    assert worst(FrozenCopy(2, 1e-9, 0.5), 8, 1e-5) > FrozenCopy(2, 0.3, 0.5).price(8, 1e-5)


def test_the_conditions_of_the_theorem_leave_no_p_for_the_printed_parameters() -> None:
    """Theorem 3.2 with B = 1/eps and the printed eta: no p meets its conditions and its epsilon."""
    for horizon, epsilon in itertools.product((2**12, 2**20), (1 / 4, 1 / 16, 1 / 64)):
        tuning = StatedPrice(*printed(horizon, 1024, epsilon))
        for p in np.logspace(-6, 0, 200):
            assert tuning._replace(keep_away=float(p)).too_dear(horizon, epsilon, 1e-6)


def test_what_theorem_3_2_prices_is_private() -> None:
    """Its epsilon is valid, more than ten times over, by our ledger."""
    for horizon, epsilon in itertools.product((2**12, 2**20), (1.0, 1 / 16)):
        found = tuned(horizon, 1024, epsilon, 1e-6, StatedPrice)
        assert isinstance(found, StatedPrice)
        assert found.price(horizon, 1e-6) <= epsilon
        assert DrawnCopy.price(found, horizon, 1e-6) < epsilon / 9


def test_batches_cost_more_than_proposition_3_3_says() -> None:
    """Two experts in turn, two rounds each: T B^2 eta^2 is ever smaller than the difference, as eta -> 0."""
    shares = []
    for eta in (0.1, 0.01, 0.001):
        rounds = 4 * round(1 / eta**2 / 4)
        block = varying(np.tile(np.repeat([[[1.0, 0.0]], [[0.0, 1.0]]], 2, axis=0), (rounds // 4, 1, 1)))
        whole, batched = (hedge_losses([block], np.ones(2), eta, batch)[0] for batch in (1, 2))
        assert batched - rounds / 2 == pytest.approx(rounds / 4 * math.tanh(eta), rel=1e-7)
        assert batched - whole == pytest.approx(eta * rounds / 8, rel=0.01)
        shares.append((batched - whole) / (rounds * 4 * eta**2))
    assert shares == pytest.approx([0.3125, 3.125, 31.25], rel=0.02)


@pytest.mark.parametrize(("horizon", "steps"), [(3, 0), (4, 0), (5, 1), (8, 1), (9, 2), (400, 99)])
def test_draws_follow_every_batch_but_the_last(horizon: int, steps: int) -> None:
    """The price of the draws is that of the batches after the changed one, in each of which x and y may be drawn."""
    tuning, delta = DrawnCopy(4, 0.3, 0.05), 1e-6
    chances = (tuning.most_drawn, tuning.renew)

    def loss(excess: float) -> float:
        grown = math.expm1(excess * (1 + excess) * tuning.eta**2 / 2)
        moments = steps * sum(math.log1p(chance * grown) for chance in chances)
        return (moments + math.log(1 / delta) - math.log(1 + excess)) / excess + math.log(excess / (1 + excess))

    least = min(loss(math.exp(log)) for log in np.linspace(-2, 6.5, 4001)) if steps else 0.0
    assert tuning.draws(horizon, delta) == pytest.approx(max(0.0, least), rel=1e-2)


def test_theorem_3_2_at_hand() -> None:
    """2 eta/p + eta + (3/2) F + sqrt(6 F ln(2T/delta)), F = (T p/B) eta^2 ln(2T/delta): T = 1000, 2T/delta = e^20."""
    fakes = 1000 * 0.5 / 10 * 0.001**2 * 20
    price = StatedPrice(10, 0.5, 0.001).price(1000, 2000 * math.exp(-20))
    assert price == pytest.approx(0.004 + 0.001 + 0.0015 + math.sqrt(6 * 0.001 * 20))
    assert fakes == pytest.approx(0.001)
    for batch, p, eta in ((10, 0.5, 0.2), (10, 0.001, 1e-9), (10, 0.5, 0.0026)):  # eta > 1/10; T p < B; eta B 20 > p
        assert StatedPrice(batch, p, eta).price(1000, 2000 * math.exp(-20)) == 1e9


def test_printed_parameters_of_l2p_at_hand() -> None:
    """T = 4096, d = 32, eps = 1/8: B = 8, eta = (1/8)^(2/3)/16 = 1/64, p = eta/eps = 1/8; eps_0 = 1/8 (ln 32)^(3/4)."""
    tuning = printed(4096, 32, 0.125)
    assert tuning == pytest.approx((8, 0.125, 1 / 64))
    large = printed(4096, 32, 2.0)
    eta = (math.log(32) ** 0.75 / 8) ** (2 / 3) / 16
    assert large == pytest.approx((1, eta / 2, eta))
    assert printed(4096, 32, math.inf) == pytest.approx((1, 0.0, eta))
    assert printed(4096, 32, 1e12) == pytest.approx((1, 0.0, eta))  # the formulas themselves, to their limit


def test_the_copy_has_a_price_where_there_are_many_batches() -> None:
    """At large T the dartboard, which needs no y, guarantees less than a copy drawn once, and that less than L2P."""
    problem, budget = ExpertProblem(np.ones(1024), 2**20), Budget(1 / 16, 1e-6)
    dartboard = BatchedDartboard(problem, budget, 1, "zcdp").bound()[0]
    still, own = (LazyToPrivate(problem, budget, 1, variant).bound()[0] for variant in ("still", "tuned"))
    assert dartboard < 0.92 * still < 0.92 * own


RUNS = 8000
Transcript = tuple[tuple[int, ...], tuple[bool, ...]]


def in_turn(runs: int, seed: int = 0) -> list[np.random.Generator]:
    """One generator for all runs, which draw from it one after the other: to make thousands costs more than a play."""
    return generators(1, seed) * runs


def random_losses(rounds: int, experts: int, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Losses of groups in general position, and of the single experts."""
    groups = np.random.default_rng(rounds).random((rounds, experts))
    return groups, np.repeat(groups, sizes, axis=1)


@pytest.mark.parametrize(("rounds", "sizes", "best"), [(5, [1, 1, 1], 0.0), (5, [2, 1], 0.7), (4, [1, 3, 1], 0.3)])
def test_sparse_vector_has_the_law_of_the_box(rounds: int, sizes: list[int], best: float) -> None:
    """Against the exact law of what is released, up to two switches in odd numbers of experts and rounds."""
    groups, losses = random_losses(rounds, len(sizes), sizes)
    made = Restless(len(losses[0]), rounds, best, Budget(16.0), "pure")
    label = np.repeat(np.arange(len(sizes)), sizes)
    outcomes: dict[Hashable, float] = defaultdict(float)
    for events, chance in law(made, losses).items():
        starts = [start for start, _ in events] + [rounds]
        played = np.repeat([expert for _, expert in events], np.diff(starts))
        outcomes[(round(float(groups[np.arange(rounds), label[played]].sum()), 9), len(events) - 1)] += chance
    assert sum(chance for (_, draws), chance in outcomes.items() if draws == 2) > 0.05
    problem = ExpertProblem(np.array(sizes, dtype=float), rounds, best)
    learner = SparseVectorExperts(problem, Budget(16.0), RUNS, "pure")
    learner.plan = made
    record = learner.play([varying(groups[:2, None]), varying(groups[2:, None])], in_turn(RUNS, 2))
    events = Counter[Hashable](zip(record.losses.round(9).tolist(), record.draws.astype(int).tolist(), strict=True))
    assert p_value(events, outcomes) > 1e-4


def transcripts(losses: np.ndarray, tuning: Tuning, most: int) -> dict[Transcript, float]:
    """Law of the experts of all batches, and of which decisions drew, by its recursion."""
    batch, keep_away, eta = tuning
    sums = np.add.reduceat(losses, np.arange(0, len(losses), batch), axis=0)
    laws: dict[Transcript, float] = {((x,), ()): 1 / losses.shape[1] for x in range(losses.shape[1])}
    for now in range(len(sums) - 1):
        weights = np.exp(-eta * sums[: now + 1].sum(axis=0))
        after: dict[Transcript, float] = defaultdict(float)
        for (played, drew), chance in laws.items():
            last = played[-1]
            keep = 1.0 if sum(drew) == most else (1 - keep_away) * math.exp(-eta * sums[now, last])
            after[(*played, last), (*drew, False)] += chance * keep
            for expert, weight in enumerate(weights / weights.sum()):
                after[(*played, expert), (*drew, True)] += chance * (1 - keep) * float(weight)
        laws = after
    return laws


@pytest.mark.parametrize(("batch", "most"), [(1, 1), (1, 2), (1, 9), (2, 1), (3, 9)])
def test_dartboards_by_the_box(batch: int, most: int) -> None:
    """Sequences of three experts, a short last batch among them, have their exact law."""
    losses, tuning = np.random.default_rng(4).random((5 if batch == 1 else 7, 3)), Tuning(batch, 0.3, 0.8)
    wanted: dict[Hashable, float] = defaultdict(float)
    for (experts, _), chance in transcripts(losses, tuning, most).items():
        wanted[experts] += chance
    plays = [shrinking_dartboard.play_by_the_box(losses, tuning, most, each) for each in in_turn(RUNS // 2)]
    assert all(len(set(played[:batch])) == 1 for played in plays)
    assert p_value(Counter(tuple(played[::batch]) for played in plays), wanted) > 1e-4


@pytest.mark.parametrize(("keep_away", "eta", "most"), [(0.05, 0.3, 1), (0.3, 0.7, 2), (0.97, 0.4, 3)])
def test_a_changed_round_costs_one_decision_and_the_draws(keep_away: float, eta: float, most: int) -> None:
    """All neighbours with losses 0 and 1 in the changed round, on four batches of two: purely, and at a delta."""
    tuning, base = Tuning(2, keep_away, eta), np.array([[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 2 + [[0.0, 0.0]] * 3)
    pure, approximate = 0.0, 0.0
    for tables in neighbours(base, (0, 1, 2)):
        laws = [transcripts(losses, tuning, most) for losses in tables]
        one, other = (np.array([law[each] for each in laws[0] if laws[0][each] > 0]) for law in laws)
        assert one.sum() == pytest.approx(1)
        pure = max(pure, float(np.abs(np.log(one / other)).max()))
        approximate = max(approximate, table_epsilon(one, other, 1e-3))
    assert max(eta, tuning.decision / 2) < pure <= tuning.decision + 2 * eta * most
    rho = most * eta**2 / 2
    assert approximate <= tuning.decision + rho + 2 * math.sqrt(rho * math.log(1e3))


@pytest.mark.parametrize("horizon", [10, 333, 2**14])
def test_running_out_of_draws_is_rare(horizon: int) -> None:
    """However long a batch is and whatever was lost in it: more than K draws have probability 1/T^2 at most."""
    for batch, eta in itertools.product((1, 7, 64), (0.001, 0.2)):
        tuning = Tuning(batch, 0.05, eta)
        worst = 1 - (1 - 0.05) * math.exp(-eta * batch)
        decisions, most = math.ceil(horizon / batch), tuning.most_draws(horizon)
        assert stats.binom.sf(most, decisions, worst) <= horizon**-2.0
        assert most < 3 or stats.binom.sf(most - 2, decisions, worst) > horizon**-2.0


@pytest.mark.parametrize("kind", [Tuning, DrawnCopy, FrozenCopy])
@pytest.mark.parametrize(("horizon", "epsilon"), [(300, 0.5), (5000, 0.1)])
def test_the_tuner_skips_only_what_cannot_win(kind: type[Tuning], horizon: int, epsilon: float) -> None:
    """Against all batches, 13 probabilities of a fake switch and a grid of eta."""
    found = tuned(horizon, 100, epsilon, 1e-6, kind)
    assert found is not None
    assert not found.too_dear(horizon, epsilon, 1e-6)
    least = found.guarantee(horizon, 100)
    for k, p in itertools.product(range(horizon.bit_length()), np.logspace(-6, 0, 13)):
        best = math.sqrt(8 * math.log(100) / (horizon << k))
        tried = [kind(2**k, float(p), best * share) for share in (1.0, 0.5, 0.2, 0.05)]
        better = [each for each in tried if each.guarantee(horizon, 100) < least * (1 - 1e-8)]
        assert all(each.too_dear(horizon, epsilon, 1e-6) for each in better)


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
        blocks.append(ExpertBlock(table, rounds))
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
    for keep_away in grid():
        eta = largest_eta(horizon, EveryRound(1, keep_away, best), best * SMALLEST, epsilon, 1e-6)
        if eta > (found.eta if found else 0.0):
            found = EveryRound(1, keep_away, eta)
    assert shrinking_dartboard.tuned(horizon, 100, epsilon, 1e-6) == found


@pytest.mark.parametrize("horizon", [3, 999])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-6, 1e-5, 1e-3])
def test_a_budget_is_refused_where_tuning_finds_nothing(horizon: int, epsilon: float) -> None:
    asked = horizon, 100, epsilon, 1e-6
    assert affordable(*asked, EveryRound, 1) == (shrinking_dartboard.tuned(*asked) is not None)
    assert affordable(*asked) == (tuned(*asked) is not None)


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


@pytest.mark.parametrize(("experts", "root"), [(8, 3.0), (2, 1.0), (1000, 0.25)])
def test_hedge_of_small_losses_has_the_printed_eta(experts: int, root: float) -> None:
    """By hand: where sqrt(2 ln(d) / L*) is `root`, e^eta is one more. The bound is computed from eta itself."""
    log_experts = math.log(experts)
    best = 2 * log_experts / root**2
    learner = Hedge(ExpertProblem(np.ones(experts), 256, best), Budget(math.inf), 1, "small-loss")
    assert math.exp(learner.eta) == pytest.approx(1 + root)
    assert learner.bound()[0] <= math.sqrt(2 * best * log_experts) + log_experts


@pytest.mark.parametrize(("keep_away", "steps"), [(0.9, 400), (0.6, 2000), (0.95, 5000)])
def test_the_draws_of_the_copy_have_a_price_of_their_own(keep_away: float, steps: int) -> None:
    """x and y are drawn again with their chances, each from a law that the changed round turns by 2 eta."""
    eta, delta = 0.02, 1e-6
    tuning = DrawnCopy(1, keep_away, eta)
    ledger = tuning.draws(steps + 1, delta)

    def exact(chances: list[float]) -> float:
        one = 1 / (1 + math.exp(-eta))  # beside 1/(1 + e^eta): the logarithm of their ratio moves by 2 eta
        law = np.ones(1)
        for chance in chances:
            step = np.array([chance * (1 - one), 1 - chance, chance * one])
            for _ in range(steps):
                law = np.convolve(law, step)
        lost = eta * (np.arange(len(law)) - len(law) // 2)
        return smallest_epsilon(lambda epsilon: float((law * -np.expm1(np.minimum(epsilon - lost, 0))).sum()), delta)

    both = exact([tuning.most_drawn, tuning.renew])
    assert exact([tuning.most_drawn]) < both <= ledger
    alone = type("Alone", (DrawnCopy,), {"renew": 0.0})(*tuning)  # the same chances for x, none for y
    assert alone.draws(steps + 1, delta) < both
