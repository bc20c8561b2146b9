"""Bandit learners: estimates, sensitivity by replaying, instances of the meta-algorithm, bounds; rounds by their boxes.

Boxes are in NumPy, on the same draws as what is compiled.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from drawn import generators
from scipy import stats
from slow_loops import LONG, slow_at_first
from watched_bandits import watched

from dpregret.algorithms.bandits import batched_arms, linear_bandit, noisy_leader
from dpregret.algorithms.bandits.bandit_learner import AHEAD, BLOCK, BanditProblem, Directions, Given, unit_sphere
from dpregret.algorithms.bandits.batched_arms import BatchedArms, draw_arm
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit, dikin
from dpregret.algorithms.bandits.noisy_leader import nearest
from dpregret.algorithms.bandits.noisy_values import NoisyValueBandit
from dpregret.algorithms.bandits.private_bandit import PrivateBanditLaplace
from dpregret.algorithms.bandits.round_by_round import Fkm
from dpregret.algorithms.geometry import ConstraintSet, CountedSet, make_set
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget, unit_noise
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.losses import Losses, LossSource
from dpregret.core.oracles import SCRATCH, value_at
from dpregret.datasets.bandit_streams import affine, make_bandit_stream
from dpregret.numerics.compiled import specialised
from dpregret.numerics.elementary import exp
from dpregret.numerics.random import Uniforms
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws
from dpregret.workflows.mechanisms.exact import NOISES, Case, crossover, first_better, leading

FREE, PRIVATE = Budget(math.inf), Budget(4.0, 1e-6)
EVERY = [(name, variant) for name, kind in learners("bandits").items() for variant in kind.card.variants]


@dataclass
class Told:
    """<cost_t, x> + offset_t; a table of costs (T, n), the same for all runs."""

    costs: np.ndarray
    offsets: np.ndarray
    now: int = 0

    def __call__(self, rounds: int) -> Any:
        entries = np.arange(self.now, self.now + rounds)[None]
        self.now += rounds
        return affine(entries, self.costs, self.offsets, rounds)


def linear(horizon: int, size: int, learner: Any = None) -> Told:
    """The best point has no loss; of arms it is the first."""
    if isinstance(learner, BatchedArms):
        return Told(np.tile(np.arange(size) > 0, (horizon, 1)) * 1.0, np.zeros(horizon))
    cost = np.ones(size) / math.sqrt(size)
    return Told(np.tile(cost, (horizon, 1)), np.ones(horizon))


def start(
    name: str,
    variant: str,
    budgets: list[Budget],
    runs: int = 2,
    set_name: str = "ball",
    size: int = 3,
    horizon: int = 256,
) -> Any:
    kind = learners("bandits")[name]
    arms = "arms" in kind.card.needs
    domain = CountedSet(make_set("simplex" if arms else set_name, size))
    problem = BanditProblem(domain, horizon, 1.0, linear=True, arms=arms)
    return kind(problem, budgets if kind.card.private else [FREE], runs, variant)


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_contract(name: str, variant: str) -> None:
    """Points stay in the set, budgets and bounds are kept."""
    learner = start(name, variant, [FREE, PRIVATE], runs=3)
    played = learner.play(Given(linear(256, 3, learner), generators(3), generators(3, 1)))
    assert played.violation < 1e-9
    assert played.clipped.max() <= (1.0 if variant == "printed" else 0.0)
    bound = np.array(learner.bound())
    assert (np.isnan(bound) | (played.losses.mean(axis=1) <= bound)).all()
    if learner.card.private and not variant.startswith("printed"):
        assert learner.delivered_epsilon() == [math.inf, pytest.approx(4.0)]


def test_one_arm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^at least 2 arms are needed, got 1$"):
        BatchedArms(BanditProblem(make_set("ball", 1), 64, 1.0, linear=True, arms=True), [PRIVATE], 1, "corrected")


def test_printed_scales() -> None:
    horizon, size, epsilon, delta = 4096, 4, 2.0, 1e-6
    budget = [Budget(epsilon, delta)]
    laplace = start("private-bandit-laplace", "printed-noise", budget, size=size, horizon=horizon)
    assert laplace.plan.scales[0] == pytest.approx(64 * 4 * math.log(4096) / 2)
    gaussian = start("private-bandit-gaussian", "printed", budget, size=size, horizon=horizon)
    tail = math.log((4 + 4096) / delta)
    wanted = 8 * 2 * math.log(4096) * math.log(4096 / delta) / 2 * (tail + math.sqrt((1 + 64 / 4) * tail))
    assert gaussian.plan.scales[0] == pytest.approx(wanted)
    assert gaussian.delivered_epsilon()[0] < 0.1 * epsilon  # private, hundreds of times over


def test_the_sign_descends_as_corrected_and_ascends_as_printed() -> None:
    horizon, losses = 4096, {}
    for variant in ("corrected", "printed"):
        learner = start("private-bandit-gaussian", variant, [FREE], size=4, horizon=horizon)
        losses[variant] = (
            learner.play(Given(linear(horizon, 4), generators(2), generators(2, 1))).losses.mean() / horizon
        )
    assert losses["corrected"] < 0.2
    assert losses["printed"] > 1.5  # the center costs 1, the worst point 2


def move(solver, domain, goal, x, scratch):
    nearest(solver, domain, goal, x, scratch)


def approached(learner: Any, starts: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, int]:
    """Where conditional gradient ends, and how many vertices it takes."""
    x, goal = (each.reshape(-1, each.shape[-1]).T.copy() for each in (starts, goals))
    solver, data = learner.solver(), learner.domain.inner.data
    specialised(move, type(solver), type(data))(solver, data, goal, x, np.empty((SCRATCH, x.shape[1])))
    return x.T.reshape(starts.shape), int(solver.served[0])


@pytest.mark.parametrize("set_name", ["ball", "hypersimplex", "permutahedron", "spectrahedron"])
def test_conditional_gradient_nears_the_projection(set_name: str) -> None:
    """Within 2 D/sqrt(k + 2) after k calls, and within sqrt(2 gap) of the minimiser where it stops."""
    size = 9 if set_name == "spectrahedron" else 8
    learner = start("private-bandit-gaussian", "corrected", [FREE], set_name=set_name, size=size, horizon=256**2)
    domain, generator = learner.domain, np.random.default_rng(1)
    goals = domain.center() + 2 * generator.standard_normal((2, 3, size))
    starts = domain.linear_oracle(generator.standard_normal((2, 3, size)))
    exact = domain.project(goals)
    for calls in (4, 32, 256):
        learner.batch, learner.tolerance = calls, 0.0
        found = approached(learner, starts, goals)[0]
        assert np.linalg.norm(found - exact, axis=-1).max() <= 2 * domain.diameter / math.sqrt(calls + 2)
        assert domain.violation(found).max() < 1e-9
    learner.tolerance = 1e-3
    found, served = approached(learner, starts, goals)
    assert np.linalg.norm(found - exact, axis=-1).max() <= math.sqrt(2e-3) * domain.diameter
    assert served <= 6 * 257  # finished ones ask no more


@pytest.mark.parametrize("chunk", [2**6, 2**18])
def test_the_largest_violation_counts_and_not_the_last(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that is outside once, in the middle of a play, is told of, however many are looked at together."""
    monkeypatch.setattr("dpregret.algorithms.bandits.noisy_leader.CHUNK", chunk)
    learner, seen = start("private-bandit-gaussian", "projection", [FREE, PRIVATE], horizon=256), [0]

    def violation(points: np.ndarray) -> np.ndarray:
        found = np.zeros(points.shape[:-1])
        found.reshape(len(points), -1)[np.arange(seen[0], seen[0] + len(points)) == 4, 1] = 0.7
        seen[0] += len(points)
        return found

    learner.domain.inner.violation = violation
    assert learner.play(Given(linear(256, 3), generators(2), generators(2, 1))).violation == 0.7
    assert seen == [16]


def test_the_linear_bandit_plays_on_axes_of_the_dikin_ellipsoid() -> None:
    learner = PrivateLinearBandit(
        BanditProblem(make_set("ball", 4), 4096, 1.0, linear=True), [FREE, PRIVATE], 300, "corrected"
    )
    sums = np.random.default_rng(50).standard_normal((2, 300, 4)) * 50
    axes = unit_sphere(generators(300), 1, 4)[:, 0]
    radial = np.random.default_rng(1).random(300) < 0.25
    inner, axis, eigenvalue = np.empty((2, 300, 4)), np.empty((2, 300, 4)), np.empty((2, 300))
    for setting, run in np.ndindex(2, 300):
        vectors = inner[setting, run], axis[setting, run]
        eigenvalue[setting, run] = dikin(learner.eta[setting], sums[setting, run], axes[run], radial[run], *vectors)
    for sign in (1, -1):
        ends = inner + sign * axis / np.sqrt(eigenvalue)[..., None]
        assert np.linalg.norm(ends, axis=-1).max() <= 1 + 1e-9  # the Dikin ellipsoid lies in the ball
    hessian = (
        2 / (1 - np.square(inner).sum(axis=-1))[..., None, None] * np.eye(4)
        + 4 / np.square(1 - np.square(inner).sum(axis=-1))[..., None, None] * inner[..., :, None] * inner[..., None, :]
    )
    assert np.vecdot(axis, np.squeeze(hessian @ axis[..., None], -1)) == pytest.approx(eigenvalue)


@pytest.mark.parametrize(
    ("name", "variant", "changes", "named"),
    [
        ("private-bandit-gaussian", "corrected", {"horizon": 1000}, "961 and 1024"),
        ("private-bandit-laplace", "corrected", {"size": 40, "horizon": 1024}, "1600"),
        ("fkm", "plain", {"size": 8, "horizon": 256}, "inner radius"),
        ("garber-kretzu", "plain", {"set_name": "sign-polytope", "size": 3, "horizon": 4096}, "sign-polytope"),
        ("private-linear-bandit", "corrected", {"set_name": "simplex", "size": 3}, "simplex"),
    ],
)
def test_refusals_name_what_is_wrong(name: str, variant: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        start(name, variant, [PRIVATE], **changes)


class Watched:
    """|x - z| in every round; keeps the largest norm of a played point and the number of rounds that were asked for."""

    def __init__(self, size: int) -> None:
        stream = make_bandit_stream("cone", make_set("ball", size))
        self.batches, self.farthest, self.rounds = stream.source(generators(1)), 0.0, 0

    def __call__(self, rounds: int) -> Any:
        self.rounds += rounds
        batch = self.batches(rounds)

        def value(points: np.ndarray) -> np.ndarray:
            self.farthest = max(self.farthest, float(np.linalg.norm(points, axis=-1).max()))
            return batch.value(points)

        return type("Batch", (), {"rounds": rounds, "value": staticmethod(value)})()


def test_scaled_play_stays_in_the_set_and_costs_less_noise() -> None:
    found = {}
    for variant in ("corrected", "scaled"):
        learner, losses = start("private-bandit-gaussian", variant, [FREE, PRIVATE], horizon=256), Watched(3)
        record = learner.play(Given(losses, generators(2), generators(2, 1)))
        assert record.clipped.max() == 0.0
        found[variant] = learner, losses.farthest
    (plain, beyond), (scaled, within) = found["corrected"], found["scaled"]
    assert beyond > 1.1
    assert within <= 1 + 1e-12
    assert scaled.plan.scales[1] / plain.plan.scales[1] == pytest.approx(2 / (2 + 2 * plain.zeta))
    assert scaled.delivered_epsilon()[1] == pytest.approx(4.0)
    with pytest.raises(ValueError, match="feasible play needs a longer horizon than 100"):
        start("private-bandit-gaussian", "scaled", [FREE], horizon=100)


@pytest.mark.parametrize(
    ("name", "variant"),
    [("thakurta-smith-gaussian", "corrected"), ("thakurta-smith-laplace", "corrected"), ("fkm", "plain")],
)
def test_feasible_learners_are_noised_for_losses_between_nil_and_the_diameter(name: str, variant: str) -> None:
    learner = start(name, variant, [PRIVATE], runs=1, horizon=700)
    assert (learner.low[0], learner.high[0]) == (0.0, 2.0)
    assert learner.leaf_sensitivity() == pytest.approx(3 / learner.zeta * 2.0)
    losses = Watched(3)
    learner.play(Given(losses, generators(1), generators(1, 1)))
    assert losses.farthest <= 1 + 1e-12


@pytest.mark.parametrize(("horizon", "lengths"), [(16, [16]), (17, [16, 1]), (100, [16, 64, 20]), (336, [16, 64, 256])])
def test_phases_cover_any_horizon(horizon: int, lengths: list[int]) -> None:
    """From the first power of four that is at least n^2 on; the last phase may end early."""
    learner, losses = start("private-bandit-doubling", "corrected", [FREE, PRIVATE], horizon=horizon), Watched(3)
    assert [rounds for rounds, _ in learner.phases] == lengths
    assert [phase.horizon for _, phase in learner.phases] == [16 * 4**place for place in range(len(lengths))]
    told: list[int] = []
    record = learner.play(Given(losses, generators(2), generators(2, 1), told.append))
    assert losses.rounds == horizon == sum(told)
    assert record.losses.shape == (2, 2)
    assert learner.delivered_epsilon() == [math.inf, pytest.approx(4.0)]
    assert learner.bound()[0] <= learner.bound()[1]


def test_a_phase_is_private_bandit() -> None:
    """The same draws, the same losses; a second phase begins at the center with fresh draws."""
    doubling = start("private-bandit-doubling", "corrected", [PRIVATE], size=2, horizon=64)
    one = doubling.play(Given(Watched(2), generators(2), generators(2, 1)))
    directions, noise = generators(2), generators(2, 1)
    parts = [
        start("private-bandit-gaussian", "corrected", [PRIVATE], size=2, horizon=length).play_some(
            rounds, Given(Watched(2), directions, noise)
        )
        for length, rounds in ((4, 4), (16, 16), (64, 44))
    ]
    np.testing.assert_allclose(one.losses, sum(part.losses for part in parts), rtol=1e-12)
    whole = start("private-bandit-gaussian", "corrected", [PRIVATE], size=2, horizon=64)
    assert whole.bound(44)[0] < whole.bound()[0]
    assert whole.bound(41)[0] == whole.bound(48)[0]  # a batch that is begun counts as whole


def make(budgets: list[Budget], horizon: int = 4096, size: int = 3, runs: int = 2, kind: Any = NoisyValueBandit) -> Any:
    return kind(BanditProblem(make_set("ball", size), horizon, 1.0), budgets, runs, "corrected")


def played(learner: Any, horizon: int, size: int, runs: int) -> Any:
    stream = make_bandit_stream("cone", make_set("ball", size))
    return learner.play(Given(stream.source(generators(runs, 7)), generators(runs, 1), generators(runs, 2)))


def test_the_second_moment_of_an_estimate_is_within_kappa() -> None:
    """E g = the gradient whatever the noise, and E|g|^2 at most B (n/zeta)^2 (M^2 + variance) + B^2 L^2."""
    learner, batch, runs = make([Budget(1.0)], runs=30), 64, 30
    stream = make_bandit_stream("cone", learner.domain)
    seen = watched(learner, still=True)  # at the center, in 64 batches
    learner.play(Given(stream.source(generators(1)), generators(runs), generators(runs, 5)))
    found = seen.estimates.swapaxes(1, 2).reshape(-1, 3)
    zeta, variance = learner.zetas[0], float(2 * np.square(learner.value_scales()[0]))
    assert variance == pytest.approx(2 * (2 + 2 * zeta) ** 2)
    largest = float(learner.high[0])
    kappa = batch * (3 / zeta) ** 2 * (largest**2 + variance) + batch**2
    square, several = np.square(found).sum(axis=1), math.sqrt(len(found))
    assert square.mean() + 3 * square.std() / several < kappa
    assert square.mean() > batch * (3 / zeta) ** 2 * variance * 0.95  # the noise is there
    toward = -stream.anchor / np.linalg.norm(stream.anchor)
    assert (np.abs(found.mean(axis=0) - batch * toward) < 5 * found.std(axis=0) / several + 0.2 * batch).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.8, 1.0, 4.0, math.inf])
def test_steps_are_the_best_of_the_leading_terms(epsilon: float) -> None:
    """2 a + 1/(2 b) + b r/(2 a^2) over a >= 1 and b; the bound tends to it."""
    growth, size = 1 + 2 / epsilon**2, 3
    wanted = math.sqrt(8) * growth**0.25 if growth > 4 else 2 + math.sqrt(growth)
    tried = np.geomspace(1.0, 8.0, 400)[:, None], np.geomspace(1e-3, 2.0, 900)[None]
    terms = 2 * tried[0] + 1 / (2 * tried[1]) + tried[1] * growth / (2 * tried[0] ** 2)
    assert terms.min() == pytest.approx(wanted, rel=1e-4)
    learner = make([Budget(epsilon)], horizon=4**8, size=size)
    a, b = learner.zetas[0] / learner.zeta, learner.etas[0] / learner.eta
    assert 2 * a + 1 / (2 * b) + b * growth / (2 * a**2) == pytest.approx(wanted)
    if math.isfinite(epsilon):
        assert 0 < leading(size, epsilon) - wanted * math.sqrt(size) < 4  # what is free of n
        assert Case(120, size, epsilon).bound(NOISES[0]) / 2.0**180 == pytest.approx(leading(size, epsilon), rel=1e-6)
        assert Case(120, size, epsilon).bound(NOISES[1]) / 2.0**180 == pytest.approx(leading(size, math.inf), rel=1e-6)


def test_without_privacy_it_is_private_bandit_without_noise() -> None:
    ours = played(make([FREE, Budget(1.0)], 256), 256, 3, 2)
    theirs = played(make([FREE], 256, kind=PrivateBanditLaplace), 256, 3, 2)
    np.testing.assert_array_equal(ours.losses[0], theirs.losses[0])
    assert (ours.losses[1] != ours.losses[0]).all()


def test_pieces_of_a_batch_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is drawn in blocks of its own, however a batch is cut."""
    whole = played(make([Budget(2.0)], 256, runs=3), 256, 3, 3)
    monkeypatch.setattr(noisy_leader, "CHUNK", 3 * 3 * 5)
    pieces = played(make([Budget(2.0)], 256, runs=3), 256, 3, 3)
    np.testing.assert_allclose(pieces.losses, whole.losses, rtol=1e-9)


@pytest.mark.parametrize(
    ("levels", "dimension", "epsilon"), [(5, 2, 0.25), (7, 4, 1.0), (6, 3, 4.0), (4, 3, 0.5), (3, 7, 0.01)]
)
def test_closed_bounds_are_those_of_the_learners(levels: int, dimension: int, epsilon: float) -> None:
    names = ("noisy-value-bandit", "private-bandit-laplace", "private-bandit-gaussian")
    for noise, name in zip(NOISES, names, strict=True):
        learner = make([Budget(epsilon, 1e-6)], 4**levels, dimension, kind=learners("bandits")[name])
        assert Case(levels, dimension, epsilon).bound(noise) == pytest.approx(learner.bound()[0] / 2, rel=1e-12)


def test_trees_win_from_the_crossover_on_and_not_before() -> None:
    for noise in NOISES[1:]:
        levels = first_better(noise, 4, 1.0) / 2
        assert levels == int(levels)
        for step, wins in ((-1, False), (0, True), (7, True)):
            case = Case(int(levels) + step, 4, 1.0)
            assert (case.bound(noise) < case.bound(NOISES[0])) is wins
    table = crossover()
    laplace, gaussian = (table[f"log2 T*, {noise}"] for noise in NOISES[1:])
    assert (laplace > 20).all()  # beyond what is played
    assert (gaussian < laplace).all()
    assert (table["limit"] > 1).all()  # in the end a tree wins


PLACES = [
    ("cone", "ball", 5), ("cone", "l1-ball", 3), ("cone", "simplex", 7), ("linear", "ball", 1), ("linear", "ball", 9),
    ("random-linear", "l1-ball", 6), ("top-k", "hypersimplex", 11), ("top-k", "partition-matroid", 8),
    ("top-k", "coverage", 7), ("ranking", "permutahedron", 5), ("network", "spanning-trees", 15),
    ("shortest-path", "flow", 12), ("polarisation", "spectrahedron", 4), ("completion", "nuclear", 4),
]  # fmt: skip


def begun(name: str, stream: str, domain: ConstraintSet, variant: str, horizon: int) -> Any:
    """A learner and its losses; without a variant the learner's first one."""
    losses, kind = make_bandit_stream(stream, domain), learners("bandits")[name]
    problem = BanditProblem(CountedSet(domain), horizon, losses.lipschitz, "linear" in losses.traits)
    budgets = [Budget(math.inf), Budget(50.0, 1e-6)][: 2 if kind.card.private else 1]
    return kind(problem, budgets, 3, variant or next(iter(kind.card.variants))), losses  # type: ignore[arg-type]


def by_the_box(learner: Any, losses: LossSource, directions: Sequence[Any], noise: Sequence[Any]) -> dict[str, Any]:
    """NoisyOCO with NumPy, batch by batch, all settings and runs together."""
    shape, domain = (len(learner.budgets), learner.runs), learner.domain
    fresh = (each for block in learner.plan.blocks(noise) for each in block)
    etas, shrink, center = learner.sign * learner.etas[:, None, None], learner.shrink, learner.center
    x, sums = np.tile(domain.center(), (*shape, 1)), np.zeros((*shape, learner.hull))
    released, total, clipped, violation = [sums] * (learner.lag + 1), np.zeros(shape), np.zeros(shape), 0.0
    for first in range(0, learner.horizon, learner.batch):
        length = min(learner.batch, learner.horizon - first)
        sphere = unit_sphere(directions, length, learner.hull)
        played = x[:, :, None] + learner.zetas[:, None, None, None] * (sphere @ learner.basis.T)
        values = losses(length).value(played)
        kept = np.clip(values, learner.low[:, None, None], learner.high[:, None, None])
        estimate = learner.hull / learner.zetas[:, None, None] * np.einsum("srt,rtn->srn", kept, sphere)
        total, clipped = total + values.sum(axis=-1), clipped + (kept != values).sum(axis=-1)
        sums = sums + estimate
        released = [*released[1:], sums + next(fresh)]
        moved = etas * (released[0] @ learner.basis.T)
        goal = x - etas * (estimate @ learner.basis.T) if isinstance(learner, Fkm) else center - moved
        goal, start = center + (goal - center) / shrink, center + (x - center) / shrink
        near = domain.project(goal) if learner.by_projection else nearing(learner, start, goal)
        x = center + shrink * (near - center)
        violation = max(violation, float(domain.violation(x).max()))
    return {"losses": total, "clipped": clipped / learner.horizon, "violation": violation}


def nearing(learner: Any, start: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Conditional gradient on |x - goal|^2/2 with exact line search, at most a vertex a round."""
    points, goals = start.reshape(-1, start.shape[-1]).copy(), goal.reshape(-1, goal.shape[-1])
    active = np.arange(len(points))
    for _ in range(learner.batch):
        slope = points[active] - goals[active]
        away = learner.domain.linear_oracle(slope) - points[active]
        gap = -(slope * away).sum(axis=-1)
        going = gap > learner.tolerance * learner.diameter**2
        active, away, gap = active[going], away[going], gap[going]
        length = np.minimum(gap / np.maximum(np.square(away).sum(axis=-1), 1e-300), 1.0)
        points[active] += length[:, None] * away
    return points.reshape(start.shape)


def methods_only(source: LossSource) -> LossSource:
    """The same losses, that have no text."""

    def following(rounds: int) -> Any:
        batch = source(rounds)
        return type("Bare", (), {"rounds": batch.rounds, "value": staticmethod(batch.value)})()

    return following


def play(learner: Any, source: LossSource, told: list[int] | None = None) -> Any:
    advance = (lambda rounds: None) if told is None else told.append
    return learner.play(Given(source, generators(3, 2), generators(3, 3), advance))


@pytest.mark.parametrize(
    ("stream", "set_name", "dimension", "variant"),
    [(*place, "corrected") for place in PLACES] + [(*place, "printed") for place in PLACES[:7:2]],
)
def test_batches_are_those_of_the_box(stream: str, set_name: str, dimension: int, variant: str) -> None:
    """Whole plays on the same draws. Short ones: conditional gradient inside a ball doubles an error at every step."""
    horizon = 81 if dimension < 10 else 196  # the least squares at which zeta is below the diameter
    learner, losses = begun("private-bandit-gaussian", stream, make_set(set_name, dimension), variant, horizon)
    wanted = by_the_box(learner, losses.source(generators(3, 1)), generators(3, 2), generators(3, 3))
    asked, told = learner.domain.linear_oracles.rows, list[int]()
    record = play(learner, losses.source(generators(3, 1)), told)
    np.testing.assert_allclose(record.losses, wanted["losses"], rtol=1e-9)
    np.testing.assert_array_equal(record.clipped, wanted["clipped"])
    assert record.violation == pytest.approx(wanted["violation"], abs=1e-12)
    assert sum(told) == horizon
    assert learner.domain.linear_oracles.rows == 2 * asked


@pytest.mark.parametrize(
    ("name", "stream", "set_name"),
    [("thakurta-smith-gaussian", "cone", "box"), ("garber-kretzu", "arms", "simplex"), ("fkm", "cone", "box")],
)
def test_feasible_rounds_are_those_of_the_box(name: str, stream: str, set_name: str) -> None:
    """Whole plays on the same draws, by the texts of losses and set, and by their methods."""
    for bare in (False, True):
        domain = make_set(set_name, 2)
        if bare:
            oracles = ("project", "linear_oracle")
            own = {each: lambda self, x, each=each: getattr(super(type(self), self), each)(x) for each in oracles}
            domain.__class__ = type("Own", (type(domain),), own)
        learner, losses = begun(name, stream, domain, "", 1296)
        wanted = by_the_box(learner, losses.source(generators(3, 1)), generators(3, 2), generators(3, 3))
        asked, source = learner.domain.calls(), losses.source(generators(3, 1))
        found = play(learner, methods_only(source) if bare else source)
        np.testing.assert_allclose(found.losses, wanted["losses"], rtol=1e-9)
        np.testing.assert_array_equal(found.clipped, wanted["clipped"])
        assert {each: 2 * rows for each, rows in asked.items()} == learner.domain.calls()


class Hinge(NamedTuple):
    """A user's loss, max(0, <slope, x>) + <slope, slope>/9."""

    slope: np.ndarray
    per_run = ()
    vectors = ()


@value_at.add
def _(loss: Hinge, x, value, scratch):
    for r in range(x.shape[1]):
        value[r] = 0.0
        for k in range(x.shape[0]):
            value[r] += loss.slope[k] * x[k, r]
        value[r] = max(value[r], 0.0) + 1.0 / 9.0


@pytest.mark.parametrize(
    "name",
    [
        "private-linear-bandit",
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ("fkm", "private-bandit-gaussian")),
    ],
)
def test_a_loss_of_ones_own_is_played_by_its_text_and_by_its_methods(name: str, compiled: None) -> None:
    slope, kind = np.array([0.2, -0.3]), learners("bandits")[name]

    def by_text(rounds: int) -> Any:
        return Losses(Hinge, (), (slope,), rounds)

    records = []
    for source in (by_text, methods_only(by_text)):
        problem = BanditProblem(CountedSet(make_set("ball", 2)), 1296, 1.0, linear=True)
        learner = kind(problem, [Budget(math.inf)], 3, next(iter(kind.card.variants)))
        records.append(play(learner, source))
    np.testing.assert_allclose(records[0].losses, records[1].losses, rtol=1e-9)
    np.testing.assert_array_equal(records[0].clipped, records[1].clipped)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (linear_bandit, "private-linear-bandit"),
        (batched_arms, "batched-arms"),
        (noisy_leader, "private-bandit-gaussian"),
    ],
)
def test_compiling_is_no_cost_of_a_play(module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is played while a loop compiles, and that time is apart."""

    def begun() -> tuple[Any, LossSource]:
        learner = start(name, "corrected", [PRIVATE])
        return learner, linear(256, 3, learner)

    wanted, loops = play(*begun()), slow_at_first(module, monkeypatch)
    (learner, source), began = begun(), process_time()
    np.testing.assert_array_equal(play(learner, source).losses, wanted.losses)
    assert len(loops) == 1
    assert learner.apart >= LONG
    assert process_time() - began - learner.apart < LONG


def linear_by_the_box(
    learner: Any, losses: LossSource, directions: Sequence[Any], noise: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Total and clipped losses (settings, runs) of SCRiBLe, with NumPy, all runs together."""
    size, shape = learner.size, (len(learner.budgets), learner.runs)
    sums, total, clipped = np.zeros((*shape, size)), np.zeros(shape), np.zeros(shape)
    for done in range(learner.horizon):
        now = done % BLOCK
        if now == 0:
            drawn = min(BLOCK, learner.horizon - done)
            axes = unit_sphere(directions, drawn, size)
            coins = np.stack([generator.random((drawn, 2)) for generator in directions])
            units = unit_noise("laplace", noise, drawn, 1)[..., 0]
        lengths = np.linalg.norm(sums, axis=-1)
        pull = learner.eta[:, None] * lengths
        radius = pull / (1 + np.sqrt(1 + np.square(pull)))
        outward = np.where(lengths[..., None] > 0, sums / np.maximum(lengths, 1e-300)[..., None], np.eye(size)[0])
        across = axes[:, now] - (axes[:, now] * outward).sum(axis=-1, keepdims=True) * outward
        across = across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-300)
        radial = np.broadcast_to((coins[:, now, 0] < 1 / size) | (size == 1), shape)
        axis = np.where(radial[..., None], outward, across)
        left = 1 - np.square(radius)
        steep = np.sqrt(np.where(radial, 2 * (1 + np.square(radius)) / np.square(left), 2 / left))
        sign = np.where(coins[:, now, 1] < 0.5, 1.0, -1.0)
        played = learner.radius * ((sign / steep)[..., None] * axis - radius[..., None] * outward)
        values = losses(1).value(played[:, :, None])[..., 0]
        kept = np.clip(values, 0.0, learner.range)
        total += values
        clipped += kept != values
        seen = kept / learner.range + learner.scales[:, None] * units[now]
        sums = sums + (size * seen * sign * steep)[..., None] * axis
    return total, clipped / learner.horizon


@pytest.mark.parametrize(
    ("stream", "dimension", "ahead"),
    [("linear", 1, 1), ("linear", 2, 7), ("random-linear", 9, 7), ("linear", 2, BLOCK)],
)
def test_rounds_of_the_linear_bandit_are_those_of_the_box(stream: str, dimension: int, ahead: int) -> None:
    """Whole plays on the same draws, in pieces of any length."""
    domain = make_set("ball", dimension)
    losses = make_bandit_stream(stream, domain)
    problem = BanditProblem(CountedSet(domain), 700, 1.0, "linear" in losses.traits)
    learner = PrivateLinearBandit(problem, [Budget(math.inf), Budget(5.0)], 3, "corrected")
    assert learner.delivered_epsilon() == [math.inf, pytest.approx(1 / learner.scales[1])]  # a value moves by its range
    total, clipped = linear_by_the_box(learner, losses.source(generators(3, 1)), generators(3, 2), generators(3, 3))
    learner.ahead, told = ahead, list[int]()
    record = learner.play(Given(losses.source(generators(3, 1)), generators(3, 2), generators(3, 3), told.append))
    np.testing.assert_allclose(record.losses, total, rtol=1e-9)
    np.testing.assert_array_equal(record.clipped, clipped)
    assert sum(told) == 700


@pytest.mark.parametrize("batch", [1, AHEAD - 1, AHEAD, 200])
def test_pieces_of_directions_decide_nothing(batch: int) -> None:
    """Drawn ahead or not, whole batches and remainders: the bits of one draw, and the state after it."""
    rounds, several, once = 5 * batch, generators(2), generators(2)
    whole = unit_sphere(once, rounds, 3)
    sphere = Directions(several, 3, rounds, batch)
    pieces = [sphere.take(min(batch, 17)) for _ in range(rounds // min(batch, 17))]
    drawn = np.concatenate(pieces, axis=1)
    np.testing.assert_array_equal(drawn, whole[:, : drawn.shape[1]])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=-1), 1.0, rtol=1e-15)
    sphere.take(rounds - drawn.shape[1])
    assert [each.random() for each in several] == [each.random() for each in once]


EPSILONS = (math.inf, 3.0, 1.0, 0.3, 0.07)


def arms(epsilons: Sequence[float], horizon: int, size: int = 5, runs: int = 4, variant: str = "corrected") -> Any:
    problem = BanditProblem(make_set("simplex", size), horizon, 1.0, linear=True, arms=True)
    return BatchedArms(problem, [Budget(epsilon) for epsilon in epsilons], runs, variant)


def arms_by_the_box(
    learner: Any, losses: LossSource, directions: Sequence[Any], noise: Sequence[Any]
) -> list[np.ndarray]:
    """Total losses, clipped losses, S, arms and their chances after a play, with NumPy, round by round."""
    shape, everyone = (len(learner.budgets), learner.runs), np.arange(learner.runs)
    sums, arms = np.zeros((*shape, learner.size)), np.zeros(shape, dtype=np.int64)
    chances, heard, total, clipped = (np.zeros(shape) for _ in range(4))
    uniforms, laplace = Uniforms(directions), UnitNoise("laplace", noise, 1)
    for done in range(learner.horizon):
        if done % BLOCK == 0:
            coins, units = uniforms.draw(BLOCK), laplace(BLOCK)[..., 0].T
        now = done % BLOCK
        for setting in np.flatnonzero(done % learner.lengths == 0).tolist():
            least, mix = sums[setting].min(axis=-1, keepdims=True), learner.mixes[setting]
            weights = exp(-learner.etas[setting] * (sums[setting] - least))
            below = np.cumsum(weights, axis=-1)
            shares = (1 - mix) * (below / below[:, -1:]) + mix * (np.arange(1, learner.size + 1) / learner.size)
            drawn = np.minimum((shares <= coins[:, now, None]).sum(axis=-1), learner.size - 1)
            own = weights[everyone, drawn] / below[:, -1]
            arms[setting], chances[setting], heard[setting] = drawn, (1 - mix) * own + mix / learner.size, 0.0
        values = losses(1).value(np.eye(learner.size)[arms][:, :, None])[..., 0]
        kept = np.clip(values, 0.0, 1.0)
        total += values
        clipped += kept != values
        heard += kept
        for setting in np.flatnonzero((done + 1) % learner.lengths == 0).tolist():
            mean = heard[setting] / learner.lengths[setting] + learner.scales[setting] * units[:, now]
            sums[setting, everyone, arms[setting]] += mean / chances[setting]
    return [total, clipped / learner.horizon, sums, arms, chances]


@pytest.mark.parametrize(("variant", "ahead"), [("corrected", 7), ("every-round", 1), ("unmixed", BLOCK)])
def test_a_play_is_that_of_the_box(variant: str, ahead: int) -> None:
    """To the last bit, for batches that end anywhere, in pieces of any length; the last batch is short."""
    horizon, runs, stream = 623, 3, make_bandit_stream("arms", make_set("simplex", 5), gap=0.4)
    learner = arms(EPSILONS, horizon, runs=runs, variant=variant)
    wanted = arms_by_the_box(learner, stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2))
    learner.ahead = ahead
    record = learner.play(Given(stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2)))
    found = record.losses, record.clipped, learner.sums, learner.arms, learner.chances
    for compiled, defined in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(compiled, defined)
    assert (learner.sums != 0).any(axis=-1).all()
    assert [line.scale for line in learner.ledger()] == learner.scales.tolist()


def test_losses_that_know_no_arm_are_refused() -> None:
    learner, cone = arms([1.0], 9), make_bandit_stream("cone", make_set("simplex", 5))
    with pytest.raises(ValueError, match="batched-arms needs losses of a kind that has an arm_at"):
        learner.play(Given(cone.source(generators(4)), generators(4, 1), generators(4, 2)))


def test_arms_are_drawn_by_exponential_weights_with_exploration() -> None:
    runs = 40_000
    sums, work = np.array([4.0, -30.0, 0.0]), np.empty((2, 3))
    coins = np.random.default_rng(0).random(runs).tolist()
    drawn = [draw_arm(sums, 0.05, 0.2, coin, *work) for coin in coins]
    arms, chances = np.array([arm for arm, _ in drawn]), np.array([chance for _, chance in drawn])
    weights = np.exp(-0.05 * sums)
    wanted = 0.8 * weights / weights.sum() + 0.2 / 3
    np.testing.assert_allclose(chances, wanted[arms], rtol=1e-12)
    assert stats.chisquare(np.bincount(arms, minlength=3), runs * wanted).pvalue > 1e-6


def test_a_loss_enters_one_mean() -> None:
    """Estimates are without bias, and one loss, clipped to [0, 1], moves one of them by 1/(tau p)."""
    runs, means = 3000, np.array([0.2, 0.9])
    learner = arms([0.4], 4, 2, runs)  # batches of three rounds, and a short one that is never learnt from
    learner.play(Given(Told(np.tile(means, (4, 1)), np.zeros(4)), generators(runs, 1), generators(runs, 2)))
    found = learner.sums[0]
    assert (np.abs(found.mean(axis=0) - means) < 5 * found.std(axis=0) / math.sqrt(runs)).all()
    ends = []
    for end in (-1e6, 1e6):
        losses = np.full((30, 2), 0.5)
        losses[7] = end
        learner = arms([0.4], 30, 2, 1)
        learner.etas = np.zeros(1)
        record = learner.play(Given(Told(losses, np.zeros(30)), generators(1, 1), generators(1, 2)))
        assert record.clipped.tolist() == [[1 / 30]]
        ends.append(learner.sums[0, 0])
    assert sorted((ends[1] - ends[0]).tolist()) == pytest.approx([0.0, 1 / 3 / 0.5])
    assert learner.ledger()[0].sensitivity == pytest.approx(1 / 3)
    assert learner.delivered_epsilon() == [pytest.approx(0.4)]
    assert learner.pure


@pytest.mark.parametrize("epsilon", [2.0, 1.0, 0.3])
def test_every_step_of_the_proof_holds(epsilon: float) -> None:
    """E ln( sum of q exp(-eta estimate) ) <= -eta <q, m> + eta^2 c K/(1 - gamma), by quadrature over Laplace noise."""
    learner = arms([epsilon], 4000, 4)
    constants = learner.etas, learner.mixes, learner.squares, learner.scales
    eta, mix, square, scale = (float(each[0]) for each in constants)
    generator = np.random.default_rng(5)
    grid = stats.laplace.ppf((np.arange(20_000) + 0.5) / 20_000, scale=scale)
    for sharp in (0.0, 1.0, 30.0):  # from even weights to all on one arm
        weights, losses = generator.standard_exponential(4) ** (1 + sharp), generator.random(4)
        q = weights / weights.sum()
        p = (1 - mix) * q + mix / 4
        steps = [np.log1p(q[arm] * np.expm1(-eta * (losses[arm] + grid) / p[arm])).mean() for arm in range(4)]
        assert p @ steps <= -eta * q @ losses + eta**2 * square * 4 / (1 - mix) + 1e-9
    assert eta * scale * 4 / mix < 1  # so that the exponential moment of the noise is finite


def test_the_bound_is_the_least_of_its_kind() -> None:
    """Over k and eta; without noise it is that of EXP3, sqrt(2 K T ln K)."""
    size, horizon = 6, 10**5
    learner = arms(EPSILONS, horizon, size)
    found = learner.bound()
    assert found[0] == pytest.approx(math.sqrt(2 * size * horizon * math.log(size)))
    shares, etas = np.arange(1, 100)[:, None] / 100, np.geomspace(1e-5, 1e-2, 3000)[None]
    for bound, length, scale in zip(found[1:], learner.lengths[1:], learner.scales[1:], strict=True):
        batches = math.ceil(horizon / length)
        mix = etas * scale * size / shares
        tried = math.log(size) / etas + (etas * (0.5 + scale**2 / (1 - shares**2)) * size + mix) * batches
        assert bound <= length * tried[:, etas[0] > 0].min() * (1 + 1e-4)  # which leaves out the factor 1 - gamma
        assert bound <= 3.87 * length * math.sqrt(size * batches * math.log(size))
    assert np.isnan(arms([0.3], horizon, size, variant="unmixed").bound()).all()
    assert arms([1e-9], 50, size).bound() == [50.0]


def test_exploration_is_what_holds_the_noise() -> None:
    """At a fixed gap: without exploration above the bound of losses with the same second moment, with it below."""
    horizon, runs, regret = 2**15, 24, {}
    stream = make_bandit_stream("arms", make_set("simplex", 2), gap=0.5)
    for variant in ("corrected", "unmixed"):
        learner = arms([0.25], horizon, 2, runs, variant)
        losses = learner.play(
            Given(stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2))
        ).losses[0]
        regret[variant] = (losses - stream.comparator(generators(runs, 3), horizon).losses).mean()
    moment = 4 * 2 * math.sqrt(1.5 * 2 * horizon / 4 * math.log(2))
    assert regret["corrected"] < moment < regret["unmixed"]


def test_a_stream_that_is_aimed_makes_a_cell_an_epsilon() -> None:
    family: Any = FAMILIES["bandits"]
    settings = family.experiment.model_validate({
        "family": "bandits", "title": "t", "sweep": "none", "streams": ("hard-arms",), "set": "simplex", "runs": 3,
        "dimension": (4,), "horizon": (2048,), "epsilon": (math.inf, 0.25), "delta": 1e-6,
        "options": {"gap": 2.0}, "learners": {"batched-arms": ("corrected",)},
    })  # fmt: skip
    cells, draws = list(family.cells(settings, BatchedArms.card)), Draws(1, 3)
    gaps = [family.problem(cell, settings, draws).stream.gap for cell in cells]
    assert gaps == pytest.approx([2 * math.sqrt(4 / 2048), 2 * math.sqrt(16 / 2048)])
    rows = family.rows(settings, BatchedArms, "corrected", draws)
    assert rows["epsilon"].tolist() == [math.inf] * 3 + [0.25] * 3
    assert (rows["trivial_regret"] > 0).all()
    assert (rows["regret"] <= rows["bound"]).all()
