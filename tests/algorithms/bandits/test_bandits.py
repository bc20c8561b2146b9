"""Bandit learners: estimates, sensitivity by replaying, updates, instances of the meta-algorithm, bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from drawn import generators
from watched_bandits import around

from dpregret.algorithms.bandits import noisy_leader
from dpregret.algorithms.bandits.base import BanditProblem, Given, unit_sphere
from dpregret.algorithms.bandits.batched_arms import BatchedArms
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit, dikin
from dpregret.algorithms.bandits.noisy_leader import nearest
from dpregret.algorithms.bandits.noisy_values import NoisyValueBandit
from dpregret.algorithms.bandits.private_bandit import PrivateBanditLaplace
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.oracles import SCRATCH
from dpregret.datasets.bandit_streams import affine, make_bandit_stream
from dpregret.numerics.compiled import specialised
from dpregret.workflows.mechanisms.exact import NOISES, Place, crossover, first_better, leading

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
    """Points stay in the set, settings and runs do not disturb each other, budgets and bounds are kept."""
    few = start(name, variant, [PRIVATE])
    many = start(name, variant, [FREE, PRIVATE], runs=3)
    one = few.play(Given(linear(256, 3, few), generators(2), generators(2, 1)))
    two = many.play(Given(linear(256, 3, many), generators(3), generators(3, 1)))
    assert one.losses[0] == pytest.approx(two.losses[-1][:2], rel=1e-12)
    assert one.violation < 1e-9
    assert one.clipped.max() <= (1.0 if variant == "printed" else 0.0)
    bound = np.array(many.bound())
    assert (np.isnan(bound) | (two.losses.mean(axis=1) <= bound)).all()
    if few.card.private and not variant.startswith("printed"):
        assert few.delivered_epsilon() == [pytest.approx(4.0)]
        assert many.delivered_epsilon()[0] == math.inf


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


def move(solver, domain, goal, x, s):
    nearest(solver, domain, goal, x, s)


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
        ("fkm", "fast", {}, "'fast'"),
    ],
)
def test_refusals_name_what_is_wrong(name: str, variant: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        start(name, variant, [PRIVATE], **changes)


@pytest.mark.parametrize(("name", "need"), [("private-linear-bandit", "linear"), ("batched-arms", "arms")])
def test_other_losses_are_refused(name: str, need: str) -> None:
    with pytest.raises(ValueError, match=f"{name} needs {need} losses"):
        learners("bandits")[name](BanditProblem(make_set("simplex", 3), 64, 1.0), [FREE], 1, "corrected")


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
    learner, batch, runs = make([Budget(1.0)], runs=2000), 64, 2000
    stream = make_bandit_stream("cone", learner.domain)
    learner.laplace, learner.left = UnitNoise("laplace", generators(runs, 5), 1), np.empty((runs, 0))
    sphere = unit_sphere(generators(runs), batch, 3)
    point = np.tile([-0.4, 0.3, 0.2], (1, runs, 1))
    found = around(learner, stream.source(generators(1))(batch), point, sphere)[1][0]
    zeta, variance = learner.zetas[0], float(2 * np.square(learner.value_scales()[0]))
    assert variance == pytest.approx(2 * (2 + 2 * zeta) ** 2)
    largest = float(learner.high[0])
    kappa = batch * (3 / zeta) ** 2 * (largest**2 + variance) + batch**2
    square = np.square(found).sum(axis=1)
    assert square.mean() + 3 * square.std() / math.sqrt(runs) < kappa
    assert square.mean() > batch * (3 / zeta) ** 2 * variance * 0.95  # the noise is there
    toward = (np.array([-0.4, 0.3, 0.2]) - stream.anchor) / np.linalg.norm(np.array([-0.4, 0.3, 0.2]) - stream.anchor)
    error = found.std(axis=0) / math.sqrt(runs)
    assert (np.abs(found.mean(axis=0) - batch * toward) < 5 * error + 0.2 * batch).all()


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
        assert Place(120, size, epsilon).bound(NOISES[0]) / 2.0**180 == pytest.approx(leading(size, epsilon), rel=1e-6)
        assert Place(120, size, epsilon).bound(NOISES[1]) / 2.0**180 == pytest.approx(leading(size, math.inf), rel=1e-6)


def test_without_privacy_it_is_private_bandit_without_noise() -> None:
    ours = played(make([FREE, Budget(1.0)], 256), 256, 3, 2)
    theirs = played(make([FREE], 256, kind=PrivateBanditLaplace), 256, 3, 2)
    np.testing.assert_array_equal(ours.losses[0], theirs.losses[0])
    assert (ours.losses[1] != ours.losses[0]).all()


def test_pieces_of_a_batch_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is drawn in blocks of its own, however a batch is cut and however many runs there are."""
    whole = played(make([Budget(2.0)], 256, runs=3), 256, 3, 3)
    monkeypatch.setattr(noisy_leader, "CHUNK", 3 * 3 * 5)
    pieces = played(make([Budget(2.0)], 256, runs=3), 256, 3, 3)
    np.testing.assert_allclose(pieces.losses, whole.losses, rtol=1e-9)
    fewer = played(make([Budget(2.0)], 256, runs=2), 256, 3, 2)
    np.testing.assert_allclose(fewer.losses, whole.losses[:, :2], rtol=1e-9)


@pytest.mark.parametrize(
    ("levels", "dimension", "epsilon"), [(5, 2, 0.25), (7, 4, 1.0), (6, 3, 4.0), (4, 3, 0.5), (3, 7, 0.01)]
)
def test_closed_bounds_are_those_of_the_learners(levels: int, dimension: int, epsilon: float) -> None:
    names = ("noisy-value-bandit", "private-bandit-laplace", "private-bandit-gaussian")
    for noise, name in zip(NOISES, names, strict=True):
        learner = make([Budget(epsilon, 1e-6)], 4**levels, dimension, kind=learners("bandits")[name])
        assert Place(levels, dimension, epsilon).bound(noise) == pytest.approx(learner.bound()[0] / 2, rel=1e-12)


def test_trees_win_from_the_crossover_on_and_not_before() -> None:
    for noise in NOISES[1:]:
        levels = first_better(noise, 4, 1.0) / 2
        assert levels == int(levels)
        for step, wins in ((-1, False), (0, True), (7, True)):
            place = Place(int(levels) + step, 4, 1.0)
            assert (place.bound(noise) < place.bound(NOISES[0])) is wins
    table = crossover()
    laplace, gaussian = (table[f"log2 T*, {noise}"] for noise in NOISES[1:])
    assert (laplace > 20).all()  # beyond what is played
    assert (gaussian < laplace).all()
    assert (table["limit"] > 1).all()  # in the end a tree wins
