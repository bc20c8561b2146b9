"""Frank-Wolfe: steps and trees by brute force, the law of a choice, what printed steps leave, budgets, bounds."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from drawn import generators
from tiny_risks import Bowls

from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.frank_wolfe import FrankWolfe
from dpregret.algorithms.erm.general_frank_wolfe import GeneralFrankWolfe
from dpregret.algorithms.erm.polytope_frank_wolfe import CornerFrankWolfe
from dpregret.algorithms.erm.variance_reduced_frank_wolfe import (
    Tree,
    VarianceReducedFrankWolfe,
    records_of,
    shared_out,
)
from dpregret.algorithms.geometry import gaussian_width, make_set
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.algorithms.privacy.budget import binomial_epsilon
from dpregret.algorithms.privacy.selection import Selection, largest_rho
from dpregret.datasets.risks import make_risk

PRIVATE, CLEAN = Budget(1.0, 1e-6), Budget(math.inf, 1e-6)
CORNER = list(CornerFrankWolfe.card.variants)


def problem(risk="lasso-easy", set_name="l1-ball", dimension=8, samples=512, runs=2, **options):
    domain = make_set(set_name, dimension)
    return ErmProblem(domain, make_risk(risk, domain, samples, generators(runs, 3), **options))


@pytest.fixture
def rounds(monkeypatch):
    """Cap all learners' rounds."""

    def cap(count):
        for kind in (FrankWolfe, CornerFrankWolfe):
            monkeypatch.setattr(kind, "MAX_ITERATIONS", count)

    return cap


@pytest.mark.parametrize("set_name", ["l1-ball", "simplex", "polytope"])
def test_plain_steps_by_brute_force(set_name, rounds):
    rounds(12)
    case = problem(set_name=set_name, dimension=8)
    domain, risk = case.domain, case.risk
    if set_name == "l1-ball":
        vertices = np.vstack([np.eye(8), -np.eye(8)])
    else:
        vertices = np.eye(8) if set_name == "simplex" else domain.vertices
    released = FrankWolfe(case, [CLEAN], 2, "plain").fit(generators(2, 11))[0]
    private = CornerFrankWolfe(case, [CLEAN], 2, "corrected").fit(generators(2, 11))[0]
    for run in range(2):
        theta = domain.center()
        for t in range(1, 12):
            gradient = risk.gradient(np.tile(theta, (2, 1)))[run]
            best = min(vertices, key=lambda vertex, gradient=gradient: float(vertex @ gradient))
            theta = theta + 2 / (t + 2) * (best - theta)
        np.testing.assert_allclose(released[run], theta, atol=1e-13)
        np.testing.assert_allclose(private[run], theta, atol=1e-12)


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_what_a_linear_risk_keeps_of_its_initial_gap(count, rounds):
    rounds(count)
    case = problem("collapse", dimension=3, active=8)
    value, _, _ = case.risk.optimum()

    def left(variant):
        case.risk.curvature = 1.0  # of a linear risk it is 0 and T would be too
        learner = CornerFrankWolfe(case, [CLEAN], 2, variant)
        assert learner.iterations() == [count]
        start = case.risk.value(np.tile(case.domain.center(), (2, 1))) - value
        return (case.risk.value(learner.fit(generators(2, 11))[0]) - value) / start

    np.testing.assert_allclose(left("printed"), (1 - 1 / (count + 2)) ** (count - 1), rtol=1e-9)
    np.testing.assert_allclose(left("corrected"), 2 / (count * (count + 1)), rtol=1e-6)
    printed = {10: 0.4570, 100: 0.3771, 1000: 0.3688}[count]
    assert left("printed")[0] == pytest.approx(printed, abs=1e-4)


@pytest.mark.parametrize("variant", ["corrected", "printed"])
@pytest.mark.parametrize(("risk", "dimension", "samples"), [("lasso-easy", 9, 700), ("fingerprint", 40, 1024)])
@pytest.mark.parametrize("set_name", ["l1-ball", "simplex"])
def test_gram_columns_keep_the_gradient(variant, risk, dimension, samples, set_name):
    case = problem(risk, set_name, dimension, samples)
    assert callable(case.risk.gram_columns)
    budgets = [PRIVATE, Budget(8.0, 1e-6)]
    fast = CornerFrankWolfe(case, budgets, 2, variant).fit(generators(2, 11))
    case.risk.gram_columns = None  # gradients are computed anew
    full = CornerFrankWolfe(case, budgets, 2, variant).fit(generators(2, 11))
    np.testing.assert_allclose(fast, full, atol=1e-9)


def test_iterations_and_scales_of_the_lasso():
    """p = 64, n = 2^16, eps = 1, delta = 1e-6: Gamma = 4, L1 = 2, |C|_1 = 1."""
    case = problem("hetero-consensus", dimension=64, samples=2**16)
    make = {variant: CornerFrankWolfe(case, [PRIVATE], 2, variant) for variant in CORNER}
    for variant in ("printed", "corrected", "gumbel"):
        assert make[variant].uncapped_iterations()[0] == pytest.approx(2 ** (34 / 3))
        assert make[variant].iterations() == [2581]
    printed = 2 * math.sqrt(8 * 2581 * math.log(1e6)) / 2**16
    assert make["printed"].scales == make["gumbel"].scales == pytest.approx([printed])
    assert printed == pytest.approx(0.0163, abs=1e-4)
    exact = 4 / 2**16 * math.sqrt(2580 / (2 * largest_rho(PRIVATE)))
    assert exact < make["gumbel"].scales[0]
    assert make["corrected"].scales[0] == pytest.approx(1.23 * exact)  # half the range, 2.46, against 1 for Gumbel
    total = make["balanced"].uncapped_iterations()[0]
    single = 4 / 2**16 / math.sqrt(2 * largest_rho(PRIVATE))
    assert 8 / total == pytest.approx(single * math.sqrt(total) * math.log(128))


def test_what_each_variant_delivers():
    budgets = [PRIVATE, Budget(0.25, 1e-8), Budget(4.0, 1e-5), CLEAN]
    case = problem("hetero-consensus", dimension=64, samples=2**16)
    delivered = {
        variant: np.array(CornerFrankWolfe(case, budgets, 2, variant).delivered_epsilon()) for variant in CORNER
    }
    wanted = np.array([budget.epsilon for budget in budgets[:3]])
    assert delivered["printed"][:3] / wanted == pytest.approx([1.064, 1.030, 1.216], abs=2e-3)
    assert (delivered["gumbel"][:3] < wanted).all()
    for variant in ("corrected", "balanced"):
        np.testing.assert_allclose(delivered[variant][:3], wanted, rtol=1e-6)
    assert all(values[3] == math.inf for values in delivered.values())


def test_gumbel_noise_keeps_its_claim_at_every_epsilon():
    """Beyond eps = 5.5 the printed scale is too small for Gumbel noise too, by the ledger and on linear losses."""
    case = problem("hetero-consensus", dimension=64, samples=2**16)
    budgets = [Budget(epsilon, 1e-6) for epsilon in (1.0, 4.0, 16.0, 64.0)]
    learner, printed = (CornerFrankWolfe(case, budgets, 2, variant) for variant in ("gumbel", "printed"))
    assert np.array(learner.scales[:2]) == pytest.approx(printed.scales[:2])
    assert np.array(learner.delivered_epsilon()) == pytest.approx([0.853, 3.843, 16.0, 64.0], abs=1e-3)
    for scale, rounds, least in zip(printed.scales[2:], printed.iterations()[2:], (18.2, 100), strict=True):
        line = Selection("gumbel", scale, learner.sensitivity, rounds - 1)
        chosen = 1 / (1 + math.exp(2 * learner.sensitivity / scale))  # of a pair, where one score is 2 higher
        level = binomial_epsilon(rounds - 1, 0.5, chosen, 1e-6)
        assert least < level < line.epsilon(1e-6)


def test_general_calibration_and_the_missing_square(rounds):
    """The printed variance has L2 where privacy needs L2^2: safe up to L2 = 8 ln^2(n/delta) (mu/eps)^2 = 238 only."""
    domain = make_set("ball", 3)
    risk = make_risk("quadratic-risk", domain, 10_000, generators(2, 11))
    risk.curvature = 1e9  # T at its cap, so that T and T - 1 are close
    delivered = {}
    for lipschitz in (1.0, 236.0, 241.0):
        risk.lipschitz = lipschitz
        for variant in ("printed", "corrected"):
            learner = GeneralFrankWolfe(ErmProblem(domain, risk), [PRIVATE], 2, variant)
            assert learner.iterations() == [4096]
            delivered[variant, lipschitz] = learner.delivered_epsilon()[0]
            if variant == "corrected":
                sigma = 2 * lipschitz / 10_000 * math.sqrt(4095) / gaussian_mu(PRIVATE)
                assert learner.scales == pytest.approx([sigma])
    assert 8 * math.log(1e10) ** 2 * gaussian_mu(PRIVATE) ** 2 == pytest.approx(237.6, abs=0.5)
    assert delivered["printed", 1.0] < 0.2
    assert delivered["printed", 236.0] < 1.0 < delivered["printed", 241.0]
    assert [delivered["corrected", each] for each in (1.0, 236.0, 241.0)] == pytest.approx([1.0] * 3)
    width, _ = gaussian_width(domain)
    risk.curvature, risk.lipschitz = 4.0, 2.0
    learner = GeneralFrankWolfe(ErmProblem(domain, risk), [PRIVATE], 2, "corrected")
    assert learner.uncapped_iterations()[0] == pytest.approx((4 * 10_000 / (2 * width)) ** (2 / 3))


def test_scores_move_by_at_most_the_sensitivity_and_may():
    """Every replacement among records with entries +-1, at every corner: brute force in p = 2."""
    case = problem("hetero-consensus", dimension=2, samples=4)
    learner = CornerFrankWolfe(case, [PRIVATE], 2, "corrected")
    corners = [np.array(corner, dtype=float) for corner in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    records = [(np.array(x), y) for *x, y in itertools.product((-1.0, 0.5, 1.0), repeat=3)]
    moves = [
        abs(((one[0] @ theta - one[1]) * one[0] - (two[0] @ theta - two[1]) * two[0]) @ corner) / 4
        for one, two in itertools.product(records, repeat=2)
        for theta in corners
        for corner in corners
    ]
    assert max(moves) == pytest.approx(learner.sensitivity) == 1.0


VARIANTS = list(VarianceReducedFrankWolfe.card.variants)
BUDGET = Budget(4.0, 1e-6)
DIMENSION = 3


def made(risk: Any, variant: str = "balanced", budget: Budget = BUDGET, runs: int = 2) -> VarianceReducedFrankWolfe:
    problem = ErmProblem(make_set("l1-ball", DIMENSION), risk)
    return VarianceReducedFrankWolfe(problem, [budget], runs, variant)


class Plainly:
    """The trees by recursion: every vertex by itself, records counted by hand."""

    def __init__(self, risk: Bowls, trees: tuple[Tree, ...]):
        self.risk, self.read, self.point = risk, 0, np.zeros((risk.records.shape[1], DIMENSION))
        for tree in trees:
            self.tree, self.leaf = tree, 0
            self.vertex(0, self.mean(self.point, tree.sizes[0]), self.point)

    def mean(self, point: np.ndarray, count: int, origin: np.ndarray | None = None) -> np.ndarray:
        first, self.read = self.read, self.read + count
        found = self.risk.mean_gradient(point, first, self.read)
        return found if origin is None else found - self.risk.mean_gradient(origin, first, self.read)

    def vertex(self, depth: int, value: np.ndarray, at: np.ndarray) -> None:
        if depth == self.tree.depth:
            corner = np.zeros_like(self.point)
            for run, slope in enumerate(value):
                place = int(np.abs(slope).argmax())
                corner[run, place] = -np.sign(slope[place])
            step = 2 / (2**depth + self.leaf)
            self.point, self.leaf = (1 - step) * self.point + step * corner, self.leaf + 1
            return
        self.vertex(depth + 1, value, at)
        here = self.point
        self.vertex(depth + 1, value + self.mean(here, self.tree.sizes[depth + 1], at), here)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("samples", [2, 7, 37, 1001])
def test_points_are_those_of_the_recursion_and_every_record_is_read_once(variant: str, samples: int) -> None:
    risk = Bowls(samples, DIMENSION, 2)
    learner = made(risk, variant, CLEAN)
    released = learner.fit(generators(2, 3))[0]
    (plan,) = learner.plans
    plain = Plainly(risk, plan)
    assert released == pytest.approx(plain.point, abs=1e-12)
    assert [each.remaining for each in risk.passes] == [0]
    assert plain.read == sum(records_of(tree.sizes) for tree in plan) == samples
    assert learner.iterations() == [2 ** (len(plan) + 1) - 2]


@pytest.mark.parametrize("samples", [1, 2, 3, 6, 50, 51, 4097])
@pytest.mark.parametrize(("growth", "decay"), [(0.0, 1.0), (1.0, 1.5)])
def test_records_are_shared_out_to_the_last(samples: int, growth: float, decay: float) -> None:
    for last in range(1, 8):
        sizes = shared_out(samples, last, growth, decay)
        if sizes is None:
            assert samples < sum(2**t for t in range(1, last + 1))
            continue
        vertices = [[1, *(2 ** (j - 1) for j in range(1, t + 1))] for t in range(1, last + 1)]
        assert sum(a * b for each, of in zip(sizes, vertices, strict=True) for a, b in zip(each, of, strict=True)) == (
            samples
        )
        assert all(min(each) >= 1 and list(each) == sorted(each, reverse=True) for each in sizes)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_record_moves_few_scores_and_no_further_than_it_is_priced(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record replaced in turn, all choices held: what moves, where, by how much; over many worst-case choices."""
    samples, corners = 37, np.concatenate([np.eye(DIMENSION), -np.eye(DIMENSION)])
    learner = made(Bowls(samples, DIMENSION, 1), variant, runs=1)
    plan = tuple(learner._tree(sizes, BUDGET) for sizes in shared_out(samples, 3, 1.0, 1.0) or ())
    monkeypatch.setattr(learner, "plans", [plan])
    leaves = sum(tree.calls[0] for tree in plan)
    seen: list[np.ndarray] = []
    forced = iter(np.empty(0))

    def remember(gradient: np.ndarray, scale: float, noise: Any) -> np.ndarray:
        seen.append(corners @ gradient[0])
        return np.array([next(forced)], dtype=np.int64)

    monkeypatch.setattr(learner.corners, "least", remember)

    def told(place: int, side: float, bend: float, choices: Any) -> np.ndarray:
        nonlocal forced
        risk = Bowls(samples, DIMENSION, 1)
        risk.records[0, 0, place] = [side, 0, 0, bend]
        learner.fresh, forced = risk, iter(choices)
        seen.clear()
        learner.fit(generators(1, 1))
        return np.array(seen)

    ends = np.cumsum([records_of(tree.sizes) for tree in plan])
    farthest = {(tree.depth, depth): 0.0 for tree in plan for depth in range(tree.depth + 1)}
    generator = np.random.default_rng(8)
    for place in range(samples):
        tree = plan[int(np.searchsorted(ends, place, side="right"))]
        calls: set[int] = set()
        for choices in [np.arange(leaves) // 2 % 2 * DIMENSION, generator.integers(len(corners), size=leaves)]:
            low, high = told(place, 1.0, 0.5, choices), told(place, -1.0, 0.0, choices)
            moved = np.abs(low - high).max(axis=1)
            (where,) = np.nonzero(moved > 1e-12)
            calls.add(len(where))
            assert where[-1] - where[0] + 1 == len(where) or not len(where)
            depth = next((d for d, call in enumerate(tree.calls) if call == len(where)), None)
            if depth is not None:
                assert moved.max() <= tree.moves[depth] * (1 + 1e-12)
                farthest[tree.depth, depth] = max(farthest[tree.depth, depth], moved.max() / tree.moves[depth])
        assert max(calls) in tree.calls
    assert all(share > 0.65 for (_, depth), share in farthest.items() if depth == 0), "slopes of 1, L = 1.5"
    assert all(share > 0.1 for share in farthest.values())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("samples", [2, 37, 1001, 20_000])
def test_every_vertex_keeps_the_budget(variant: str, samples: int) -> None:
    learner = made(Bowls(samples, DIMENSION, 1), variant, runs=1)
    delta = 0.0 if learner.pure else BUDGET.delta
    spent = [
        Selection("gumbel", tree.scale, move, call).epsilon(delta)
        for tree in learner.plans[0]
        for move, call in zip(tree.moves, tree.calls, strict=True)
    ]
    assert max(spent) == pytest.approx(4.0, rel=1e-9)
    assert learner.delivered_epsilon() == [max(spent)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_guarantee_is_its_recursion(variant: str) -> None:
    """h <- (1 - 2/k) h + (2/k) e + (2/k)^2 G/2, leaf by leaf, errors of vertices along the path."""
    learner = made(Bowls(500, DIMENSION, 1), variant, runs=1)
    height, log = math.inf, math.log(2 * DIMENSION)
    for tree in learner.plans[0]:
        kept = [1 - 2 / (2**tree.depth + leaf) for leaf in range(2**tree.depth)]
        for leaf in range(2**tree.depth):
            k = 2**tree.depth + leaf
            variance = learner.steep**2 / tree.sizes[0]
            for depth in range(1, tree.depth + 1):
                width = 2 ** (tree.depth - depth)
                if leaf // width % 2:
                    start = leaf // width * width
                    apart = 2 * (1 - math.prod(kept[start - width : start]))
                    variance += (learner.smooth * apart) ** 2 / tree.sizes[depth]
            error = tree.scale * log + 2 * math.sqrt(2 * variance * log)
            left = 0.0 if k == 2 else (1 - 2 / k) * height
            height = left + 2 / k * error + (2 / k) ** 2 * 4 * learner.smooth / 2
    assert learner.bound() == [pytest.approx(height, rel=1e-9)]
