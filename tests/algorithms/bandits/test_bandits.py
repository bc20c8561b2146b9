"""Bandit learners: estimates, sensitivity by replaying, updates, instances of the meta-algorithm, bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from drawn import generators
from watched_bandits import around

from dpregret.algorithms.bandits.base import BanditProblem, Given, unit_sphere
from dpregret.algorithms.bandits.batched_arms import BatchedArms
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit, dikin
from dpregret.algorithms.bandits.noisy_leader import NoisyLeader, nearest
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian, PrivateBanditLaplace
from dpregret.algorithms.bandits.round_by_round import ThakurtaSmithGaussian
from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.privacy import Budget
from dpregret.core.oracles import SCRATCH, step
from dpregret.datasets.bandit_streams import affine
from dpregret.numerics.compiled import specialised

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


class Observed(Told):
    """Has to be asked, and keeps what it answered, (settings, runs) a round."""

    answered: list[np.ndarray]

    def __call__(self, rounds: int) -> Any:
        batch = super().__call__(rounds)

        def value(points: np.ndarray) -> np.ndarray:
            found = batch.value(points)
            self.answered.extend(np.moveaxis(found, -1, 0))
            return found

        return type("Bare", (), {"rounds": rounds, "value": staticmethod(value)})()


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
    horizon: int = 1024,
) -> Any:
    kind = learners("bandits")[name]
    arms = "arms" in kind.card.needs
    domain = CountedSet(make_set("simplex" if arms else set_name, size))
    problem = BanditProblem(domain, horizon, 1.0, linear=True, arms=arms)
    return kind(problem, budgets if kind.card.private else [FREE], runs, variant)


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_charged_is_what_was_observed_one_number_a_round(name: str, variant: str) -> None:
    """Nothing is asked twice, and no point is charged that was chosen after its loss was seen."""
    horizon, generator = 225, np.random.default_rng(4)
    learner = start(name, variant, [FREE, PRIVATE], horizon=horizon, size=2)
    losses = Observed(generator.normal(size=(horizon, 2)), generator.random(horizon))
    losses.answered = []
    if isinstance(learner, BatchedArms):  # whose losses cannot be asked
        learner.ahead, rounds = 1, iter(range(horizon))

        def watched(rounds_done: int) -> None:
            now = next(rounds)
            losses.answered.append(np.eye(2)[learner.arms] @ losses.costs[now] + losses.offsets[now])

        record = learner.play(Given(Told(losses.costs, losses.offsets), generators(2, 1), generators(2, 2), watched))
    else:
        record = learner.play(Given(losses, generators(2, 1), generators(2, 2)))
    observed = np.concatenate(losses.answered).reshape(horizon, *record.losses.shape)
    assert record.losses == pytest.approx(observed.sum(axis=0), rel=1e-12)


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_contract(name: str, variant: str) -> None:
    """Points stay in the set, settings and runs do not disturb each other, budgets are kept."""
    few = start(name, variant, [PRIVATE])
    many = start(name, variant, [FREE, PRIVATE], runs=3)
    one = few.play(Given(linear(1024, 3, few), generators(2), generators(2, 1)))
    two = many.play(Given(linear(1024, 3, many), generators(3), generators(3, 1)))
    assert one.losses[0] == pytest.approx(two.losses[-1][:2], rel=1e-12)
    assert one.violation < 1e-9
    assert one.clipped.max() <= (1.0 if variant == "printed" else 0.0)
    if few.card.private and not variant.startswith("printed"):
        assert few.delivered_epsilon() == [pytest.approx(4.0)]
        assert many.delivered_epsilon()[0] == math.inf


def test_estimates_are_unbiased() -> None:
    """n/zeta E f(x + zeta u) u: the cost of a linear loss, and 2 x for |x|^2, whatever zeta."""
    sphere = unit_sphere(generators(1), 400_000, 3)[0]
    cost, point = np.array([0.3, -0.2, 0.9]), np.array([0.1, 0.5, -0.4])
    for zeta in (0.1, 2.0):
        for values, gradient in (
            ((point + zeta * sphere) @ cost, cost),
            (np.square(point + zeta * sphere).sum(axis=1), 2 * point),
        ):
            terms = (3 / zeta) * (values - values.mean())[:, None] * sphere  # the mean is a control variate
            error = terms.std(axis=0) / math.sqrt(len(terms))
            assert (np.abs(terms.mean(axis=0) - gradient) < 5 * error).all()


@pytest.mark.parametrize("kind", [PrivateBanditGaussian, PrivateBanditLaplace, ThakurtaSmithGaussian])
def test_replacing_a_loss_moves_one_batch_by_at_most_its_sensitivity(kind: type[NoisyLeader]) -> None:
    """The same directions, one loss replaced by the extremes: one batch changes, and along one line."""
    variant = next(iter(kind.card.variants))
    problem = BanditProblem(make_set("ball", 3), 256, 1.0)
    learner = kind(problem, [FREE], 1, variant)
    point = np.full((1, 1, 3), 0.1)
    changes = []
    for value in (-1e9, 0.5, 1e9):  # clipped to the declared range
        losses = linear(256, 3)
        losses.offsets[7] = value
        directions = generators(1)
        estimates = [around(learner, losses(16), point, unit_sphere(directions, 16, 3))[1][0, 0] for _ in range(16)]
        changes.append(np.array(estimates))
    difference = changes[2] - changes[0]
    assert (np.flatnonzero(np.abs(difference).sum(axis=1)) == [0]).all()
    assert np.linalg.norm(difference[0]) == pytest.approx(learner.leaf_sensitivity())
    assert np.abs(difference[0]).sum() <= math.sqrt(3) * learner.leaf_sensitivity() * (1 + 1e-12)
    assert np.linalg.norm(changes[1] - changes[0]) <= learner.leaf_sensitivity()
    moved = np.abs(difference[0]).sum() if learner.pure else np.linalg.norm(difference[0])
    assert moved <= learner.node_sensitivity() * (1 + 1e-12)


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


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_regret_stays_below_the_explicit_bound(name: str, variant: str) -> None:
    learner = start(name, variant, [FREE, PRIVATE], runs=6, size=2, horizon=4096)
    bound = np.array(learner.bound())
    if np.isnan(bound).any():
        pytest.skip("no bound is proven for this learner")
    record = learner.play(Given(linear(4096, 2, learner), generators(6), generators(6, 1)))
    assert (record.losses.mean(axis=1) <= bound).all()


class Slipping(NamedTuple):
    """Leaves the ball once, in the fifth batch."""

    inner: Any
    solver: Any


@step.add
def _(learner: Slipping, loss, domain, batch, x, estimate, noise, s):
    step(learner.inner, loss, domain, batch, x, estimate, noise, s)
    if batch == 5.0:
        x[0] += 2.0


@pytest.mark.parametrize("chunk", [2**7, 2**18])
def test_the_largest_violation_counts_and_not_the_last(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that is outside once, in the middle of a play, is told of, however many are looked at together."""
    monkeypatch.setattr("dpregret.algorithms.bandits.noisy_leader.CHUNK", chunk)
    learner = start("private-bandit-gaussian", "projection", [FREE, PRIVATE], horizon=4096)
    inner = learner.state()
    learner.state = lambda: Slipping(inner, inner.solver)
    record = learner.play(Given(linear(4096, 3), generators(2), generators(2, 1)))
    assert 0.9 < record.violation < 2.1


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
