"""What a learner really releases: its noise, read off its plays, whatever it computes from it.

A play is steered: oracles of the set remember what they are asked and always answer the same point. So no round looks
at what was released before, what is asked is (item sums + noise) times known numbers, and two plays tell these apart:
one without noise, and one in which an item was moved by a unit vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag
from watched_bandits import watched

from dpregret.algorithms.bandits.base import BanditProblem, Directions, Given
from dpregret.algorithms.bandits.batched_arms import BatchedArms
from dpregret.algorithms.bandits.doubling import PrivateBanditDoubling
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit
from dpregret.algorithms.bandits.noisy_values import NoisyValueBandit
from dpregret.algorithms.erm import mirror_descent, objective_perturbation, output_perturbation, sgd
from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.general_frank_wolfe import GeneralFrankWolfe
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.erm.objective_perturbation import PerturbedObjective
from dpregret.algorithms.erm.one_pass_ftrl import OnePassLeader
from dpregret.algorithms.erm.online_to_batch import OnlineToBatch
from dpregret.algorithms.erm.output_perturbation import OutputPerturbation
from dpregret.algorithms.erm.phased_sgd import PhasedSgd
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.blocked_descent import BlockedDescent
from dpregret.algorithms.online.pocp import PocpIgd
from dpregret.algorithms.online.pqftl import Pqftl
from dpregret.algorithms.online.projected_descent import GradientDescent
from dpregret.algorithms.online.restarted_leader import RestartedLeader
from dpregret.algorithms.privacy import Budget, NoisePlan, Release
from dpregret.algorithms.privacy.audit import materialise
from dpregret.numerics.orthogonal import symmetric
from dpregret.workflows.audit.bandits import by_text
from dpregret.workflows.audit.erm import DIMENSION as SLOPE_DIMENSION
from dpregret.workflows.audit.erm import FRESH_SAMPLES, LinearSample
from dpregret.workflows.families.base import generators

Array = np.ndarray[Any, np.dtype[np.float64]]
BUDGET, WINDOW, RUNS, DIMENSION = Budget(4.0, 1e-6), 8, 300, 7
ROUNDS = 3 * WINDOW - 4
"""Some windows, not whole ones; no power of two."""


@dataclass(frozen=True)
class Released:
    """Noise of what is released and looked at, (rounds, runs, d), in the units of the items.

    law: (rounds, draws), what the mechanism declares: noise = law times independent unit draws. sums: (rounds, items),
    which items each release holds. window: how many releases an item is protected for (None: all).
    """

    noise: Array
    law: Array
    ledger: Release
    sums: Array
    window: int | None = None


class Steered:
    """A set whose oracles keep what they are asked, and answer the center."""

    name, diameter, ratio = "steered", 2.0, 1.0

    def __init__(self, dimension: int):
        self.dimension = dimension
        self.asked: list[Array] = []

    def center(self) -> Array:
        return np.zeros(self.dimension)

    def _answer(self, asked: Array) -> Array:
        self.asked.append(asked.copy())
        return np.zeros_like(asked)

    project = linear_oracle = _answer

    def violation(self, points: Array) -> Array:
        return np.zeros(points.shape[:-1])

    def reach(self, point: Array) -> float:
        return 1.0

    inner_radius = lambda self: 1.0  # noqa: E731
    equalities = lambda self: np.zeros((0, self.dimension))  # noqa: E731
    gauge = separation = lambda self: self._answer

    def local_oracle(self) -> Steered:
        return self

    def lift(self, points: Array) -> Array:
        return points

    point = lift

    def answer(self, weights: Array, radius: Array, cost: Array) -> Array:
        return self._answer(cost)


class Fixed:
    """A loss with the same gradient everywhere; for the quadratic follower a record (features, label)."""

    def __init__(self, gradient: Array, label: float = 0.0):
        self.slope, self.features, self.labels = gradient, gradient, np.array(label)

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        return np.zeros(points.shape[:-1]), self.gradient(points)

    def gradient(self, points: Array) -> Array:
        return np.broadcast_to(self.slope, points.shape)

    def prox(self, points: Array, step: float) -> Array:
        return points - step * self.slope


def silent(plan: NoisePlan) -> NoisePlan:
    """The same mechanism without its noise."""
    return replace(plan, scales=[0.0] * len(plan.scales))


def online(kind: Any, variant: str, window: int = WINDOW, rounds: int = ROUNDS) -> Released:
    """What the oracle is asked after rounds 1..T-1; that after round T has no successor."""
    dimension = 1 if kind is Pqftl else DIMENSION
    asked = {}
    for name, noisy, moved in (("noise", True, 0.0), ("item", False, 1.0), ("none", False, 0.0)):
        domain = Steered(dimension)
        problem = Problem(domain, rounds, 2.0, 1.0, 1.0, best_loss=1.0)
        runs = RUNS if noisy else 1
        learner = kind(problem, [Setting(window, BUDGET)], runs, variant)
        assert learner.noise_plan is not None
        plan = learner.noise_plan
        if not noisy:
            learner.noise_plan = silent(plan)
        gradients = [np.eye(dimension)[0] * (moved if now == 0 else 0.0) for now in range(rounds)]
        with pytest.MonkeyPatch.context() as patch:
            moments: list[Array] = []
            if kind is Pqftl:
                place, kept = "dpregret.algorithms.online.pqftl.symmetric", moments.append
                patch.setattr(place, lambda each, kept=kept: (kept(each.copy()), symmetric(each))[1])
            if isinstance(learner, GradientDescent):  # what it descends on, not what it asks
                patch.setattr(learner, "descend", lambda released, kept=domain.asked: kept.append(released.copy()))
            play(learner, [Fixed(each, 1.0) for each in gradients], generators(7, "noise", runs), [rounds])
        asked[name] = np.array(domain.asked)[:, 0]
        if kind is Pqftl:  # the response divided by the curvature: both are released
            moment = np.stack([np.broadcast_to(each.reshape(-1, 1), (runs, 1)) for each in moments])
            times = np.arange(1.0, rounds + 1)[:, None, None]
            asked[name] = np.concatenate([moment, asked[name] * (np.maximum(moment, 0) + times)], axis=-1)
    if issubclass(kind, GradientDescent):
        return descended(learner, asked["noise"] - asked["none"], asked["item"] - asked["none"], plan)
    if issubclass(kind, PocpIgd):  # the hidden point is projected first; a release moves by sensitivity / t
        asked = {name: each[1::2] for name, each in asked.items()}
        factor = 1 / np.arange(1.0, rounds + 1)
    else:
        factor = (asked["item"] - asked["none"])[:, 0, 0]
        if kind is RestartedLeader:  # later blocks do as the first one
            assert not factor[window:].any(), "what is forgotten has no effect"
            factor = factor[np.arange(rounds) % window]
        assert (factor != 0).all(), "the first item is in all later sums"
    noise = (asked["noise"] - asked["none"]) / factor[:, None, None]
    if kind is RestartedLeader:  # released are differences to the sum at a block's end
        ends = np.cumsum(noise[window - 1 :: window], axis=0)
        noise[window:] += ends[np.arange(rounds - window) // window]
    law = plan.scales[0] * materialise(plan.mechanisms[0], rounds - 1)
    age = window if kind.card.windowed else None
    return Released(noise[:-1], law, plan.releases()[0], np.tri(rounds - 1), age)


def descended(learner: GradientDescent, noise: Array, item: Array, plan: NoisePlan) -> Released:
    """Released gradients, or sums of blocks, with noise of their own."""
    length = learner.length if isinstance(learner, BlockedDescent) else 1
    blocks = len(noise)
    assert np.array_equal(item[:, 0, 0], np.eye(blocks)[0]), "the first item is in the first release, once"
    held = np.kron(np.eye(blocks), np.ones(length))
    once = 1.0 if learner.variant != "per-gradient" else math.sqrt(length)
    return Released(noise, once * plan.scales[0] * np.eye(blocks), plan.releases()[0], held)


def experts(kind: Any, variant: str) -> Released:
    """Noisy sums before rounds 2..T."""
    losses = np.random.default_rng(3).random((ROUNDS, 1, DIMENSION))
    block = type("Block", (), {"rounds": ROUNDS, "losses": losses})()
    learner = kind(ExpertProblem(np.ones(DIMENSION), ROUNDS), BUDGET, RUNS, variant)
    ((_, sums),) = learner.noisy_sums([block], generators(7, "noise", RUNS))
    before = np.concatenate([np.zeros((1, 1, DIMENSION)), np.cumsum(losses, axis=0)[:-1]])
    assert np.array_equal(sums[0], np.zeros_like(sums[0])), "nothing is known in the first round"
    law = learner.plan.scales[0] * materialise(learner.plan.mechanisms[0], ROUNDS - 1)
    return Released((sums - before)[1:], law, learner.ledger()[0], np.tri(ROUNDS - 1))


class Numbers:
    """Observed values, whatever is played: as many rounds as are asked for."""

    def __init__(self, values: Sequence[float]):
        self.values, self.done = np.array(values), 0

    def __call__(self, rounds: int) -> Any:
        now = self.values[self.done : self.done + rounds]
        self.done += rounds
        batch = type("Batch", (), {"rounds": rounds})()
        batch.value = lambda points: np.broadcast_to(now, points.shape[:-1])
        return batch


def steps_of(
    made: Callable[[int], Any], noisy: bool, values: Sequence[float], runs: int = RUNS
) -> tuple[Any, list[Array]]:
    """A bandit that never moves: the sums that each step is handed, (runs, n)."""
    learner, noise = made(runs), generators(7, "noise", runs if noisy else 1)
    phases = [phase for _, phase in learner.phases] if isinstance(learner, PrivateBanditDoubling) else [learner]
    for each in phases:
        if not noisy:
            each.plan = silent(each.plan)
            each._unit_scales = lambda: np.zeros(1)
    seen = [watched(each, still=True) for each in phases]
    learner.play(Given(Numbers(values), generators(7, "directions", runs), noise if noisy else noise * runs))
    return learner, [sums.T for each in seen for sums in each.sums]


def bandits(kind: Any, variant: str) -> Released:
    """The sums that points are made from."""
    if kind is PrivateLinearBandit:
        return linear_bandit()
    if kind is BatchedArms:
        return batched_arms(variant)
    horizon = 85 if kind is PrivateBanditDoubling else 36  # 1 + 4 + 16 + 64 rounds in phases
    feasible = variant == "scaled" or getattr(kind, "feasible", False)  # on a set that is large enough
    size = 1 if feasible or kind is PrivateBanditDoubling else 3

    def made(runs: int) -> Any:
        return kind(BanditProblem(make_set("ball", size), horizon, 1.0), [BUDGET], runs, variant)

    middle = [0.5] * horizon
    (learner, noisy), (_, clean) = (steps_of(made, which, middle) for which in (True, False))
    noise = np.array(noisy) - np.array(clean)
    if isinstance(learner, NoisyValueBandit):  # sum over the rounds so far of (n / zeta) scale Laplace(1) u
        noise = noise[learner.lag :]
        line, batches = learner.ledger()[0], len(noise)
        sphere = Directions(generators(7, "directions", RUNS), learner.hull, horizon, learner.batch)
        pulls = [sphere.take(learner.batch).sum(axis=1) for _ in range(batches)]
        along = np.diff(noise, axis=0, prepend=0) * np.array(
            pulls
        )  # directions are public: noise has both signs on them
        assert abs(along.mean()) < 6 * along.std() / math.sqrt(along.size)
        size = float(learner.hull / learner.zetas[0] * line.scale * math.sqrt(learner.batch / learner.hull))
        return Released(noise, size * np.tri(batches), replace(line, distribution="mixed"), np.tri(batches))  # type: ignore[arg-type]
    sensitivity_is_that_of_the_play(
        learner, made, horizon, horizon - 64 if isinstance(learner, PrivateBanditDoubling) else 0
    )
    if isinstance(learner, PrivateBanditDoubling):
        parts, laws, start = [], [], 0
        for _, phase in learner.phases:
            count = phase.batches - 1 - phase.lag
            if count > 0:
                unit = learner.ledger()[0].sensitivity / phase.ledger()[0].sensitivity  # items of equal length
                parts.append(unit * noise[start + phase.lag : start + phase.lag + count])
                laws.append(unit * phase.plan.scales[0] * materialise(phase.plan.mechanisms[0], count))
            start += phase.batches
        laws = [law[:, law.any(axis=0)] for law in laws]
        tris = [np.tri(len(law)) for law in laws]
        return Released(np.concatenate(parts), block_diag(*laws), learner.ledger()[0], block_diag(*tris))
    assert not noise[: learner.lag].any()
    count = learner.batches - 1 - learner.lag
    law = learner.plan.scales[0] * materialise(learner.plan.mechanisms[0], count)
    return Released(noise[learner.lag : learner.lag + count], law, learner.ledger()[0], np.tri(count))


def sensitivity_is_that_of_the_play(learner: Any, made: Callable[[int], Any], horizon: int, place: int) -> None:
    """A value goes from far below to far above its range: its sum moves as far as the ledger says, and no further."""
    low, high = (
        np.array(steps_of(made, False, [end if now == place else 0.5 for now in range(horizon)], 40)[1])
        for end in (-1e9, 1e9)
    )
    moved = (high - low)[-1]
    norm = np.abs(moved).sum(axis=-1) if learner.pure else np.linalg.norm(moved, axis=-1)
    sensitivity = learner.ledger()[0].sensitivity
    assert 0.8 * sensitivity < norm.max() <= sensitivity * (1 + 1e-9)


def linear_bandit() -> Released:
    """Each value gets one noise; where no point follows the sums, those of losses that are nil are noise alone."""
    handed, horizon = list[Array](), 11
    problem = BanditProblem(make_set("ball", 1), horizon, 1.0, linear=True)
    learner = PrivateLinearBandit(problem, [BUDGET], RUNS, "corrected")
    learner.ahead, learner.eta = 1, np.zeros(1)
    scale, losses = float(learner.scales[0]), by_text(np.zeros(horizon), 1)
    draws = generators(7, "directions", RUNS), generators(7, "noise", RUNS)
    learner.play(Given(losses, *draws, lambda rounds: handed.append(learner.sums[0].copy())))
    law = math.sqrt(2) * scale * np.tri(horizon - 1)  # the eigenvalue at the center is 2
    return Released(np.array(handed[:-1]), law, Release("laplace", scale, 1.0, 1), np.tri(horizon - 1))


def batched_arms(variant: str) -> Released:
    """Each batch gets one noise; of two arms at even chances, sums of estimates are twice the sums of means."""
    found, horizon = [], 34
    for noisy in (True, False):
        problem = BanditProblem(make_set("simplex", 2), horizon, 1.0, linear=True, arms=True)
        learner = BatchedArms(problem, [Budget(0.4)], RUNS, variant)
        line, length, handed = learner.ledger()[0], int(learner.lengths[0]), list[Array]()
        learner.ahead, learner.etas = 1, np.zeros(1)
        if not noisy:
            learner.scales = np.zeros(1)
        draws = generators(7, "directions", RUNS), generators(7, "noise", RUNS)
        watched = lambda rounds, own=learner, into=handed: into.append(0.5 * own.sums[0].sum(axis=-1)[:, None])  # noqa: E731
        learner.play(Given(by_text(np.full(horizon, 0.5), 2), *draws, watched))
        found.append(np.array(handed[length - 1 : -1 : length]))
    assert len(found[0]) == (horizon - 1 if variant == "every-round" else 11)
    count = len(found[0])
    return Released(found[0] - found[1], line.scale * np.tri(count), line, np.tri(count))


class Flat:
    """Losses with one slope for all records, and the constants that learners ask for."""

    hessian_rank: int | None = 1
    samples, lipschitz, lipschitz_l1, smoothness, curvature, strong_convexity = 301, 1.0, 1.0, 0.25, 1.0, 0.5

    def __init__(self, slope: Array):
        self.slope, self.dimension = slope, len(slope)

    def value(self, points: Array) -> Array:
        return points @ self.slope

    def gradient(self, points: Array) -> Array:
        return np.broadcast_to(self.slope, points.shape)

    def record_gradient(self, points: Array, records: np.ndarray[Any, Any]) -> Array:
        return self.gradient(points)


class Still:
    """A potential that keeps the steps and takes none."""

    name, data = "still", None

    def __init__(self, domain: Steered):
        self.domain, self.start = domain, domain.center()

    def point(self, state: Array) -> Array:
        return state

    def step(self, state: Array, moved: Array) -> Array:
        return self.domain.project(moved)


def erm(kind: Any, variant: str) -> Released:
    """Noisy gradients of rounds 1..T-1, or the one vector that perturbs the objective or the output."""
    size, most = 9, 12
    domain, flat = make_set(kind.natural_set, size), Flat(np.linspace(-0.3, 0.2, size))
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": most, "MAX_SAMPLES": most})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sgd, "sampled_multiplier", lambda *asked: 3.0)  # the accountant takes seconds
        patch.setattr(mirror_descent, "CHUNK_ENTRIES", 5 * RUNS * size)  # the noise of 12 steps is three chunks
        patch.setattr(objective_perturbation, "minimise", lambda domain, slope, start, *rest, **how: [slope(start)])
        patch.setattr(output_perturbation, "minimise", lambda domain, slope, start, *rest, **how: [start])
        learner = short(ErmProblem(domain, flat), [BUDGET], RUNS, variant)
        steered = learner.domain = Steered(size)
        if isinstance(learner, MirrorDescent):
            learner.potential = Still(steered)  # type: ignore[assignment]
        point = learner.fit(generators(7, "noise", RUNS))[0]
    (line,) = learner.ledger()
    if isinstance(learner, PerturbedObjective):
        noise = (point - flat.slope)[None]
    elif isinstance(learner, OutputPerturbation):
        noise = steered.asked[0]
    elif isinstance(learner, GeneralFrankWolfe):
        noise = np.array(steered.asked) - flat.slope
    else:
        steps = learner.plans[0].steps[: most - 1, None, None]
        sign = -1.0 if variant == "sampled" else 1.0
        noise = sign * np.array(steered.asked)[: most - 1, 0] / steps - flat.slope
    rounds = len(noise)
    return Released(noise, line.scale * np.eye(rounds), line, np.ones((rounds, 1)))


class Silence:
    """Records without a gradient."""

    samples, lipschitz, smoothness, left = ROUNDS, 2.0, 0.5, ROUNDS
    dimension = DIMENSION

    def stream(self) -> Silence:
        return self

    def take(self, count: int) -> Any:
        return np.zeros((1, 1, count, DIMENSION))

    def gradients(self, points: Any, records: Any) -> Any:
        return np.zeros_like(points)


def online_to_batch(kind: Any, variant: str) -> Released:
    """Charges of rounds 1..n-1 are noise alone, in units of the items."""
    domain = make_set("ball", DIMENSION)
    learner = kind(ErmProblem(domain, Silence()), [BUDGET], RUNS, variant)  # type: ignore[arg-type]
    online, charged = learner.learner(), []
    observe = online.observe

    def observed(loss: Any, gradient: Any, noise: Any) -> None:
        charged.append(loss.slope[0] * learner.units[0])
        observe(loss, gradient, noise)

    online.observe = observed
    learner.learner = lambda: online
    learner.fit(generators(7, "noise", RUNS))
    plan = learner.noise_plan
    law = plan.scales[0] * materialise(plan.mechanisms[0], ROUNDS - 1)
    return Released(np.array(charged), law, plan.releases()[0], np.tri(ROUNDS - 1))


class Unbounded(Steered):
    """A set that keeps what is projected, and where every point stays."""

    def project(self, asked: Array) -> Array:
        self.asked.append(asked.copy())
        return asked


def asked_of(
    kind: Any, variant: str, domain: Steered, places: Sequence[int] = (), side: float = 0.0, noisy: bool = False
) -> tuple[Any, Array]:
    """The learner and what it projects, (times, runs, d), where records have no gradient, those at `places` one of
    length L.
    """
    slopes = np.zeros((FRESH_SAMPLES, SLOPE_DIMENSION))
    slopes[list(places), 0] = side * LinearSample.lipschitz
    runs = RUNS if noisy else 1
    learner = kind(ErmProblem(make_set("ball", SLOPE_DIMENSION), LinearSample(slopes, runs)), [BUDGET], runs, variant)
    learner.domain = domain
    if not noisy and learner.noise_plan is not None:
        learner.noise_plan = silent(learner.noise_plan)
    elif not noisy:
        learner.scales = np.zeros(1)
    learner.fit(generators(7, "noise", runs))
    return learner, np.array(domain.asked)[:, 0]


def one_pass_leader(kind: Any, variant: str) -> Released:
    """Sums of rounds 1..n-1. The steepest first record is turned round: what moves by that is the declared unit."""
    sides = [asked_of(kind, variant, Steered(SLOPE_DIMENSION), [0], side)[1] for side in (1.0, -1.0)]
    learner, asked = asked_of(kind, variant, Steered(SLOPE_DIMENSION), noisy=True)
    assert len(asked) == FRESH_SAMPLES
    line, plan = learner.ledger()[0], learner.noise_plan
    factor = (sides[0] - sides[1])[:-1, 0, 0] / line.sensitivity
    assert (factor != 0).all(), "the first record is in all later sums"
    law = plan.scales[0] * materialise(plan.mechanisms[0], FRESH_SAMPLES - 1)
    return Released(asked[:-1] / factor[:, None, None], law, line, np.tri(FRESH_SAMPLES - 1))


def phased_sgd(kind: Any, variant: str) -> Released:
    """Averages of all phases, in the units of the first one: steps, and so the moves of a record, shrink fourfold.

    A phase's first steepest record is turned round: it moves all points of m after the first one, and the average by
    (m - 1)/m of the declared sensitivity.
    """
    lengths = np.array([FRESH_SAMPLES >> phase for phase in range(1, FRESH_SAMPLES.bit_length())])
    ends = np.cumsum(lengths + 1) - 1  # a step for each record, then the noise
    firsts = (np.cumsum(lengths) - lengths).tolist()
    units = 4.0 ** np.arange(len(lengths))[:, None, None]

    def averages(side: float, noisy: bool) -> tuple[Any, Array]:
        """What each phase moves from where it starts."""
        learner, asked = asked_of(kind, variant, Unbounded(SLOPE_DIMENSION), firsts, side, noisy)
        assert len(asked) == ends[-1] + 1
        return learner, units * np.diff(asked[ends], axis=0, prepend=0)

    moved = (averages(-1.0, False)[1] - averages(1.0, False)[1])[:, 0, 0]
    learner, noise = averages(0.0, True)
    (line,) = learner.ledger()
    np.testing.assert_allclose(moved, line.sensitivity * (1 - 1 / lengths), rtol=1e-9, atol=1e-12)
    return Released(noise, line.scale * np.eye(len(lengths)), line, np.eye(len(lengths)))


ONE_PASS: dict[type, Callable[[Any, str], Released]] = {
    OnlineToBatch: online_to_batch, OnePassLeader: one_pass_leader, PhasedSgd: phased_sgd,
}  # fmt: skip
