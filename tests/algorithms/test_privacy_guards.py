"""Guards on which a privacy proof rests, where they bind; settings beside others; mechanisms in place of the tree."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.bandits.bandit_learner import BanditProblem
from dpregret.algorithms.erm import polytope_frank_wolfe
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.phased_sgd import PhasedSgd
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Problem, Setting, learners
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, Budget, NoisePerItem
from dpregret.algorithms.privacy.audit import item_mu, item_pure_loss
from dpregret.algorithms.privacy.budget import gaussian_mu
from dpregret.algorithms.privacy.selection import selection_noise
from dpregret.algorithms.privacy.toeplitz import Root
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems, best_radices
from dpregret.datasets.losses import NormKink
from dpregret.datasets.risk_population import Pass

CLEAN = Setting(64, Budget(math.inf, 1e-6))


# Steps of at most 2 / beta move no two points apart


class Kinks:
    """Huber's smooth form of |x - a|: L = 1 and beta = 1/radius; records a, (1, runs, n, d)."""

    lipschitz = lipschitz_l1 = 1.0
    strong_convexity, hessian_rank = 0.0, None

    def __init__(self, samples: int, dimension: int, radius: float):
        self.samples, self.dimension, self.radius = samples, dimension, radius
        self.smoothness = self.smoothness_l1 = 1.0 / radius

    def stream(self) -> Any:
        """No pass is made here."""
        raise AssertionError

    def losses(self, records: np.ndarray) -> None:
        """None: loops ask `gradients`."""

    def gradients(self, points: np.ndarray, records: np.ndarray) -> np.ndarray:
        return NormKink(records, 1.0, 0.0, self.radius).gradient(points)


@pytest.mark.parametrize("radius", [0.1, 0.01])
def test_the_cap_on_the_steps_of_phased_sgd_holds_its_sensitivity(radius: float) -> None:
    """Losses so smooth that the cap binds: a replaced record moves a phase by 2 L eta at most."""
    domain, budget, length = make_set("ball", 2), Budget(math.inf), 12
    learner = PhasedSgd(ErmProblem(CountedSet(domain), Kinks(2 * length, 2, radius)), [budget], 1, "corrected")  # type: ignore[arg-type]
    start, drift = learner._guarantee(0.0)
    assert math.sqrt(start / drift) > 8 * radius  # else nothing is tested here
    assert learner.steps.tolist() == [8 * radius]

    def moved(step: float) -> float:
        """Largest move of the average, in units of 2 L eta."""
        random, worst = np.random.default_rng(5), 0.0
        for place in range(200):
            records = random.normal(size=(2, length, 2)) * random.choice([0.01, 0.1, 0.3])
            kept = np.arange(length) != place % length
            records[1, kept] = records[0, kept]
            passes = [Pass(lambda count, own=each: own[None, None, :count], length) for each in records]
            sums = [learner._phase(each, length, np.array([step]), np.zeros((1, 1, 2))) for each in passes]
            worst = max(worst, float(np.linalg.norm(sums[0] - sums[1])) / length)
        return worst / (2 * step)

    assert 0.2 < moved(0.25 * learner.steps[0]) <= 1 + 1e-9


@pytest.mark.parametrize(("name", "mu", "reach"), [("pocp-igd", 0.05, 0.7), ("pocp-giga", 0.5, 0.3)])
def test_hidden_points_of_pocp_hold_their_sensitivity(name: str, mu: float, reach: float) -> None:
    """Kinks of far more curvature than mu: points differ by 2 L / (mu (t + t0)); explicit ones not without t0."""
    weight, radius, rounds = 1.0, 0.05, 80
    anchors = np.random.default_rng(4).uniform(-reach, reach, size=(rounds, 2))

    def worst(smoothness: float) -> float:
        problem = Problem(make_set("ball", 2), rounds, weight + 2 * mu, mu, smoothness)
        found, delay = 0.0, math.ceil(smoothness / mu) - 1 if name == "pocp-giga" else 0
        for changed in (1, 10, 60):
            one, other = (learners("online")[name](problem, [CLEAN], 1, "corrected") for _ in range(2))
            for now, anchor in enumerate(anchors, 1):
                for learner, centre in ((one, anchor), (other, -anchor if now == changed else anchor)):
                    loss = NormKink(centre, weight, mu, radius)
                    learner.round = now
                    learner.observe(loss, loss.gradient(learner.point), None)
                if now >= changed:
                    hidden = [each.compiled.state_field("hidden") for each in (one, other)]
                    promised = 2 * problem.lipschitz / (mu * (now + delay))
                    found = max(found, float(np.linalg.norm(hidden[0] - hidden[1])) / promised)
        return found

    assert worst(mu + weight / radius) <= 1 + 1e-9
    assert worst(mu) > 0.5  # the promise of losses that bend by mu only, on losses that bend by more


# Budgets without delta


EXPERTS = [
    (name, variant)
    for name, kind in sorted(learners("experts").items())
    if kind.card.private
    for variant in kind.card.variants
]


@pytest.mark.parametrize(("name", "variant"), EXPERTS)
def test_an_expert_learner_keeps_its_claim_without_delta_or_refuses(name: str, variant: str) -> None:
    problem = ExpertProblem(np.ones(8), 4096, 4.0, gap=0.25)
    kind = learners("experts")[name]
    try:
        learner = kind(problem, Budget(1.0, 0.0), 1, variant)
        delivered = learner.delivered_epsilon()[0]
    except ValueError:
        return
    assert delivered <= 1 + 1e-9


# Noise beyond the first block of draws


@pytest.mark.parametrize("distribution", ["laplace", "gumbel"])
def test_selection_noise_of_frank_wolfe_beyond_one_block(distribution: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of seven draws: 40 rounds get the generators' blocks in turn, and no draw serves twice."""
    monkeypatch.setattr(polytope_frank_wolfe, "BLOCK_DRAWS", 7 * 16)
    units = polytope_frank_wolfe.score_noise(distribution, generators(2, 9), 40, 16)
    found, drawn = np.array([*itertools.islice(units, 40)]), generators(2, 9)
    wanted = np.concatenate([selection_noise(distribution, drawn, 7, 16) for _ in range(6)])
    np.testing.assert_array_equal(found, wanted[:40])
    assert len(np.unique(found)) == found.size


PURE_WINDOWED = ["wdp-cocol-gamma", "wdp-cocop-gamma", "wdp-scofw-gamma"]
PURE_SEQUENCES = {
    "pftal": "blocks", "private-bandit-laplace": "blocks", "private-ftpl": "laplace-blocks",
    "private-ftrl": "laplace-blocks", "thakurta-smith-laplace": "blocks", "tree-counters": "blocks",
}  # fmt: skip
WINDOWED = ["wdp-cocol-gaussian", "wdp-cocop-gaussian", "wdp-scofw-gaussian"]
BUDGET = Budget(4.0, 1e-6)


def online(name: str, variant: str, horizon: int, window: int, budget: Budget = BUDGET, runs: int = 1, size: int = 3):
    problem = Problem(make_set("ball", size), horizon, 2.0, 1.0, 1.0, best_loss=1.0)
    return learners("online")[name](problem, [Setting(window, budget)], runs, variant)


def made(name: str, variant: str, horizon: int, window: int = 8) -> Any:
    """A learner of any family; its noise plan."""
    if name in learners("online"):
        learner: Any = online(name, variant, horizon, window)
        return learner, learner.noise_plan
    if name in learners("experts"):
        learner = learners("experts")[name](ExpertProblem(np.ones(3), horizon), BUDGET, 1, variant)  # type: ignore[arg-type]
    else:
        problem = BanditProblem(make_set("ball", 2), horizon, 1.0)
        learner = learners("bandits")[name](problem, [BUDGET], 1, variant)
    return learner, learner.plan


@pytest.mark.parametrize("window", [1, 8, 9, 100])
@pytest.mark.parametrize("name", PURE_WINDOWED)
def test_pure_windows_are_protected_with_their_mechanism(name: str, window: int) -> None:
    """Charged for its nodes, whatever the window; one noise an item where no tree helps."""
    made_of = {variant: made(name, variant, 50, window)[1] for variant in PURE_ALTERNATIVES}
    assert made_of["items"].mechanisms == [WindowItems(window)]
    radices = best_radices(window)
    assert made_of["blocks"].mechanisms == [WindowBlocks(window, radices) if radices else WindowItems(window)]
    for plan in made_of.values():
        (line,) = plan.releases()
        assert line.epsilon(0.0) == pytest.approx(BUDGET.epsilon, rel=1e-12)
        assert plan.scales[0] == pytest.approx(plan.mechanisms[0].nodes_per_item * plan.sensitivity / BUDGET.epsilon)


@pytest.mark.parametrize(
    ("name", "horizon"),
    [
        (name, horizon)
        for name in PURE_SEQUENCES
        for horizon in (2, 81, 400)
        if horizon >= 81 or name not in learners("bandits")
    ],
)
def test_pure_sequences_are_protected_to_the_end(name: str, horizon: int) -> None:
    """Nothing expires before the last prefix that is looked at; no item costs more than it is charged."""
    if name == "tree-counters":
        learner = learners("experts")[name](ExpertProblem(np.ones(3), horizon), BUDGET, 1, "blocks")  # type: ignore[arg-type]
        mechanism, nodes, released = learner.sums, learner.levels, horizon - 1  # type: ignore[attr-defined]
        assert learner.levels / learner.scale == pytest.approx(BUDGET.epsilon / 2)  # type: ignore[attr-defined]
    else:
        learner, plan = made(name, PURE_SEQUENCES[name], horizon)
        mechanism, nodes = plan.mechanisms[0], plan.releases()[0].nodes
        released = learner.batches - learner.lag - 1 if name in learners("bandits") else horizon - 1
    assert nodes == mechanism.nodes_per_item
    if 1 < released <= 80:
        assert item_pure_loss(mechanism, released).max() <= nodes * (1 + 1e-9)
    if released > 0:
        assert getattr(mechanism, "window", released) >= released


def test_a_lag_costs_nothing() -> None:
    """Of 9 batches the sums of 1..7 are looked at: the point of batch 9 is made from them."""
    learner, plan = made("private-bandit-gaussian", "root", 81)
    assert (learner.batches, learner.lag) == (9, 1)
    assert plan.mechanisms == [Root(8)]
    assert plan.mechanisms[0].protected == 7


@pytest.mark.parametrize("variant", ALTERNATIVES)
@pytest.mark.parametrize("horizon", [1, 2, 64, 77])
def test_the_ledger_is_the_exact_loss_of_what_is_released(variant: str, horizon: int) -> None:
    """Prefixes 1..T-1, any T; in a window W with T = 3 W - 4, the oldest item that is protected at the end."""
    for name in ("dp-ftrl-lipschitz", "private-ftrl"):
        plan = made(name, variant, horizon)[1]
        (line,) = plan.releases()
        assert line.epsilon(BUDGET.delta) == pytest.approx(BUDGET.epsilon, rel=1e-9)
        if horizon > 1:
            exact = item_mu(plan.mechanisms[0], horizon - 1).max() * plan.sensitivity / plan.scales[0]
            assert exact == pytest.approx(gaussian_mu(BUDGET), rel=1e-9)
    window = (horizon + 4) // 3
    for name in WINDOWED:
        plan = made(name, variant, horizon, window)[1]
        items = item_mu(plan.mechanisms[0], horizon)[max(0, horizon - window) :]
        assert (items * plan.sensitivity / plan.scales[0]).max() <= gaussian_mu(BUDGET) * (1 + 1e-9)
        if window <= horizon:
            assert items[0] * plan.sensitivity / plan.scales[0] == pytest.approx(gaussian_mu(BUDGET), rel=1e-9)


def test_constants_are_those_of_the_mechanisms_own_noise() -> None:
    """WDP-COCOL's N; lambda of DP-FTRL, in both forms: the minimiser of their own bound."""
    for variant in ("practical", *ALTERNATIVES):
        learner, plan = made("wdp-cocol-gaussian", variant, 64, 16)
        assert learner._terms().noise[0, 0] == pytest.approx(plan.expected_norm(4000).max(), rel=1e-12)
    horizon = 777
    for name in ("dp-ftrl", "dp-ftrl-lipschitz"):
        found = []
        for variant in ("corrected", *ALTERNATIVES):
            learner, plan = made(name, variant, horizon)
            chosen = learner.regularisation.copy()
            bounds = {}
            for factor in (0.98, 1.0, 1.02):
                learner.regularisation = factor * chosen
                bounds[factor] = learner.bound(horizon)[0, -1]
            assert min(bounds, key=lambda factor: bounds[factor]) == 1.0
            found.append((chosen[0], bounds[1.0]))
        (_, tree), (_, root), (_, buffers) = found
        assert tree / root > 1.3
        assert root < buffers < 1.01 * root
        assert len({each for each, _ in found}) == 3


def test_laplace_noise_of_gradients_is_priced_in_l1() -> None:
    """A gradient that moves by 2 L in l2 moves by up to 2 L sqrt(d) in l1."""
    setting = Setting(8, Budget(2.0))
    for dimension in (1, 4):
        problem = Problem(make_set("ball", dimension), 8, 3.0, 1.0)
        laplace = gradient_sums("laplace", [NoisePerItem()], problem, [setting])
        assert gradient_sums("gamma", [NoisePerItem()], problem, [setting]).sensitivity == 6.0
        assert laplace.sensitivity == pytest.approx(6.0 * math.sqrt(dimension))
        assert laplace.scales[0] == pytest.approx(3.0 * math.sqrt(dimension))
        assert laplace.releases()[0].epsilon(0.0) == pytest.approx(2.0)
