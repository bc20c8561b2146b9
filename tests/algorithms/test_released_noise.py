"""The noise that a play really releases against the ledger: its covariance over rounds, coordinates and runs, its law,
and what an item loses by it. Every private learner that adds noise, in every variant; found, not listed. Then the laws
of choices, computed here from the scale in the ledger; Algorithm 1 of experts is in experts/test_lazy_learners.py.

Bounds are those of sampling at a false alarm of 1e-9 each: of chi-square and of normal laws, exact for Gaussian noise.

A play is steered: oracles of the set remember what they are asked and always answer the same point. So no round looks
at what was released before, what is asked is (item sums + noise) times known numbers, and two plays tell these apart:
one without noise, and one in which an item was moved by a unit vector.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from competing import choice_scores
from drawn import p_value
from scipy import stats
from scipy.linalg import block_diag, solve_triangular
from scipy.special import softmax
from watched_bandits import watched

from dpregret.algorithms.bandits.bandit_learner import BanditProblem, Directions, Given
from dpregret.algorithms.bandits.doubling import PrivateBanditDoubling
from dpregret.algorithms.bandits.noisy_values import NoisyValueBandit
from dpregret.algorithms.erm import mirror_descent, sgd
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.general_frank_wolfe import GeneralFrankWolfe
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.erm.online_to_batch import OnlineToBatch
from dpregret.algorithms.erm.polytope_frank_wolfe import CornerFrankWolfe
from dpregret.algorithms.erm.private_offline_learning import PrivateOfflineLearning
from dpregret.algorithms.erm.variance_reduced_frank_wolfe import VarianceReducedFrankWolfe
from dpregret.algorithms.experts.adaptive import AdaptiveExperts, Phases
from dpregret.algorithms.experts.counters import TreeCounterExperts
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.geometry.potential import Euclidean
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online import pqftl
from dpregret.algorithms.online.blocked_descent import BlockedDescent
from dpregret.algorithms.online.pocp import PocpGiga, PocpIgd
from dpregret.algorithms.online.pqftl import Pqftl
from dpregret.algorithms.online.private_switching import NetExperts
from dpregret.algorithms.online.projected_descent import GradientDescent
from dpregret.algorithms.online.restarted_leader import RestartedLeader
from dpregret.algorithms.privacy import Budget, NoisePlan, Release
from dpregret.algorithms.privacy.audit import materialise
from dpregret.core.oracles import by_methods
from dpregret.datasets.expert_streams import ExpertBlock
from dpregret.datasets.losses import Quadratic
from dpregret.numerics.orthogonal import decomposed
from dpregret.workflows.audit.bandits import Numbers
from dpregret.workflows.audit.erm import DIMENSION as SLOPE_DIMENSION
from dpregret.workflows.audit.erm import FRESH_SAMPLES, LinearSample
from dpregret.workflows.audit.experts import chain, halting, law, restless
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import generators

Array = np.ndarray[Any, np.dtype[np.float64]]
BUDGET, WINDOW, RUNS, DIMENSION = Budget(4.0, 1e-6), 8, 200, 7
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

    def max_distance_from(self, point: Array) -> float:
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


def noted(kept: list[Array], matrices: Array, symmetric: bool) -> tuple[Array, Array, Array]:
    """Decompose matrices, and keep what they were."""
    kept.append(matrices.copy())
    return decomposed(matrices, symmetric)


def online(kind: Any, variant: str, window: int = WINDOW, rounds: int = ROUNDS) -> Released:
    """What the oracle is asked after rounds 1..T-1; that after round T has no successor."""
    dimension = 1 if kind is Pqftl else DIMENSION
    asked = {}
    for name, noisy, moved in (("noise", True, 0.0), ("item", False, 1.0), ("none", False, 0.0)):
        domain = Steered(dimension)
        smoothness = 0.5 if (kind, variant) == (PocpGiga, "printed") else 1.0  # so that its first step is in round 1
        problem = Problem(domain, rounds, 2.0, 1.0, smoothness, best_loss=1.0)
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
                patch.setattr(pqftl, "lead", pqftl.lead.py_func)  # the same text, whose decomposition can be replaced
                patch.setattr(pqftl, "decomposed", partial(noted, moments))
            if isinstance(learner, GradientDescent):  # what it descends on, not what it asks
                patch.setattr(learner, "descend", lambda released, kept=domain.asked: kept.append(released.copy()))
            play(learner, [Fixed(each, 1.0) for each in gradients], generators(7, "noise", runs), [rounds])
        asked[name] = np.array(domain.asked)[:, 0]
        if kind is Pqftl:  # the response divided by the curvature: both are released
            moment = np.stack([np.broadcast_to(each.reshape(-1, 1), (runs, 1)) for each in moments])
            times = np.arange(1.0, rounds + 1)[:, None, None]
            if variant == "corrected":
                curved = np.maximum(moment, 0) + times
            else:
                curved, moment = moment, moment - times
            asked[name] = np.concatenate([moment, asked[name] * curved], axis=-1)
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
    age = window if kind.card.windowed and not kind.card.permanent else None
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


def steps_of(
    made: Callable[[int], Any], noisy: bool, values: Sequence[float], runs: int = RUNS
) -> tuple[Any, list[Array]]:
    """A bandit that never moves: the sums that each step is handed, (runs, n)."""
    learner, noise = made(runs), generators(7, "noise", runs if noisy else 1)
    phases = [phase for _, phase in learner.phases] if isinstance(learner, PrivateBanditDoubling) else [learner]
    for each in phases:
        if not noisy:
            each.plan = silent(each.plan)
            each.value_scales = lambda: np.zeros(1)
    seen = [watched(each, still=True) for each in phases]
    learner.play(Given(Numbers(np.array(values)), generators(7, "directions", runs), noise if noisy else noise * runs))
    return learner, [sums.T for each in seen for sums in each.sums]


def bandits(kind: Any, variant: str) -> Released:
    """The sums that points are made from."""
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


def erm(kind: Any, variant: str) -> Released:
    """Noisy gradients of rounds 1..T-1."""
    if kind is PrivateOfflineLearning:
        return offline(kind, variant)
    size, most = 9, 12
    domain, flat = make_set(kind.natural_set, size), Flat(np.linspace(-0.3, 0.2, size))
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": most, "MAX_SAMPLES": most})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sgd, "sampled_multiplier", lambda *asked: 3.0)  # the accountant takes seconds
        patch.setattr(mirror_descent, "CHUNK_ENTRIES", 5 * RUNS * size)  # the noise of 12 steps is three chunks
        learner = short(ErmProblem(domain, flat), [BUDGET], RUNS, variant)
        steered = learner.domain = Steered(size)
        if isinstance(learner, MirrorDescent):
            learner.potential = replace(learner.potential, start=steered.center(), data=Euclidean(by_methods(steered)))
        learner.fit(generators(7, "noise", RUNS))
    (line,) = learner.ledger()
    if isinstance(learner, GeneralFrankWolfe):
        noise = np.array(steered.asked) - flat.slope
    else:
        steps = learner.plans[0].steps[: most - 1, None, None]
        noise = -np.array(steered.asked)[: most - 1, 0] / steps - flat.slope
    rounds = len(noise)
    return Released(noise, line.scale * np.eye(rounds), line, np.ones((rounds, 1)))


def offline(kind: Any, variant: str) -> Released:
    """Zero losses leave the average at the center: released is the noise, once."""
    sample = LinearSample(np.zeros((FRESH_SAMPLES, SLOPE_DIMENSION)), RUNS)
    sample.smoothness = 0.0
    learner = kind(ErmProblem(make_set("ball", SLOPE_DIMENSION), sample), [BUDGET], RUNS, variant)
    (line,) = learner.ledger()
    steered = learner.domain = Steered(SLOPE_DIMENSION)
    learner.fit(generators(7, "noise", RUNS))
    return Released(np.array(steered.asked[-1]), np.array([[line.scale]]), line, np.ones((1, 1)))


def online_to_batch(kind: Any, variant: str) -> Released:
    """Charges of rounds 1..n-1 are noise alone, in units of the items."""
    sample = LinearSample(np.zeros((FRESH_SAMPLES, SLOPE_DIMENSION)), RUNS)
    learner = kind(ErmProblem(make_set("ball", SLOPE_DIMENSION), sample), [BUDGET], RUNS, variant)
    online, charged = learner.learner(), []
    observe = online.observe

    def observed(loss: Any, gradient: Any, noise: Any) -> None:
        charged.append(loss.slope[0] * learner.units[0])
        observe(loss, gradient, noise)

    online.observe = observed
    learner.learner = lambda: online
    learner.fit(generators(7, "noise", RUNS))
    plan = learner.noise_plan
    law = plan.scales[0] * materialise(plan.mechanisms[0], FRESH_SAMPLES - 1)
    return Released(np.array(charged), law, plan.releases()[0], np.tri(FRESH_SAMPLES - 1))


RARE = 1e-9
SIGMAS = float(stats.norm.isf(RARE / 2))
CHOOSERS = {
    "adaptive",
    "counters",
    "dartboard_net",
    "epoch_leader",
    "hedge",
    "lazy_points",
    "private_switching",
    "sparse_vector",
}
CORNERS = {"one_sample_frank_wolfe", "polytope_frank_wolfe", "variance_reduced_frank_wolfe"}
"""They release choices, no sums: their laws are below, or in their own test."""
BOXED = {
    "batched_arms",
    "epoch_descent",
    "linear_bandit",
    "noisy_batch_frank_wolfe",
    "one_pass_ftrl",
    "phased_sgd",
}
PERTURBED = {"objective_perturbation", "output_perturbation"}
"""Their noise is held by their boxes: in test_online_to_batch.py, test_perturbation.py, test_bandits.py,
test_epoch_descent.py and test_noisy_batches.py."""
CAPTURES: dict[str, Callable[[Any, str], Released]] = {
    "online": online, "experts": experts, "bandits": bandits, "erm": erm,
}  # fmt: skip


def modules(kind: type) -> set[str]:
    """Of a learner and of what it inherits from."""
    return {base.__module__.rpartition(".")[2] for base in kind.__mro__}


ADDERS = [
    (family, name, variant)
    for family, held in FAMILIES.items()
    for name, kind in held.learners.items()
    if kind.card.private and modules(kind).isdisjoint(CHOOSERS | CORNERS | BOXED | PERTURBED)
    for variant in kind.card.variants
]


@pytest.mark.parametrize(("family", "name", "variant"), ADDERS)
def test_released_noise_is_that_of_the_ledger(family: str, name: str, variant: str) -> None:
    kind = FAMILIES[family].learners[name]
    capture = online_to_batch if kind is OnlineToBatch else CAPTURES[family]
    fits(capture(kind, variant))


def fits(found: Released) -> None:
    assert found.noise.any()
    covariance_is_declared(found)
    if found.ledger.distribution == "gaussian":
        loss_is_paid_for(found)
    elif found.ledger.distribution != "mixed":
        one_noise_has_its_law(found)


WINDOWED = [("wdp-cocop-gaussian", "corrected"), ("wdp-cocop-gaussian", "root"), ("wdp-cocop-gaussian", "buffers")]
SEQUENCES = [("dp-ftrl", "corrected"), ("dp-ftrl", "corrected-reduced"), ("dp-ftrl", "root"), ("dp-ftrl", "buffers"),
             ("pftal", "printed"), ("pqftl", "corrected"), ("ftal-endless", "corrected")]  # fmt: skip


@pytest.mark.parametrize(("name", "variant"), WINDOWED)
@pytest.mark.parametrize(("window", "rounds"), [(1, 7), (3, 11), (16, 5), (16, 43), (64, 133)])
def test_windows_of_any_length(name: str, variant: str, window: int, rounds: int) -> None:
    """One round, windows longer than the play, some windows, and those that fill whole blocks of draws."""
    if variant == "corrected" and window & (window - 1):
        window -= 1  # trees take powers of two
    fits(online(FAMILIES["online"].learners[name], variant, window, rounds))


@pytest.mark.parametrize(("name", "variant"), SEQUENCES)
@pytest.mark.parametrize("rounds", [3, 70])
def test_sequences_of_any_length(name: str, variant: str, rounds: int) -> None:
    """Just beyond a power of two, where a level more is needed, and beyond a block of draws."""
    fits(online(FAMILIES["online"].learners[name], variant, rounds=rounds))


def covariance_is_declared(found: Released) -> None:
    """Made white by the declared law, no two of (round, coordinate) are correlated, no two runs are, and all have the
    variance of a unit draw.
    """
    rounds, runs, dimension = found.noise.shape
    square = {"gaussian": 1.0, "gamma": dimension + 1.0}.get(found.ledger.distribution, 2.0)
    factor = np.linalg.cholesky(found.law @ found.law.T) * np.sqrt(square)
    white = solve_triangular(factor, found.noise.reshape(rounds, -1), lower=True)
    pooled(white, np.eye(rounds))
    cells = white.reshape(rounds, runs, dimension).swapaxes(1, 2).reshape(-1, runs)
    if len(cells) < runs:
        pooled(cells, np.eye(len(cells)))
    unit = white.reshape(rounds, runs, dimension).swapaxes(0, 1).reshape(runs, -1)
    length = np.linalg.norm(unit, axis=1)
    alike = np.abs(unit @ unit.T / np.outer(length, length) - np.eye(runs))
    assert alike.max() < 1 - 1e-6, "two runs have the same noise"
    means = (unit @ np.roll(unit, 1, axis=0).T).diagonal()
    assert abs(means.mean()) < SIGMAS * means.std() / np.sqrt(runs), "runs are correlated"


def pooled(samples: Array, covariance: Array) -> None:
    """Samples (features, count) of mean 0 have this covariance: every entry within its standard errors."""
    count = samples.shape[1]
    mean = samples @ samples.T / count
    spread = np.sqrt(np.maximum(np.square(samples) @ np.square(samples).T / count - np.square(mean), 1e-12) / count)
    off = np.abs(mean - covariance) / spread
    worst = np.unravel_index(np.argmax(off), off.shape)
    assert off.max() < SIGMAS * (1 + 10 / np.sqrt(count)), (worst, mean[worst], covariance[worst])


def loss_is_paid_for(found: Released) -> None:
    """mu^2 of each item, a' S^-1 a with S the measured covariance, within N / chi-square of what is declared, and for
    protected ones not above the ledger. Of all lengths of the transcript.

    Of N samples a' S^-1 a is N a' C^-1 a over a chi-square variable of N - (length) + 1 degrees, C the covariance.
    """
    rounds = len(found.noise)
    samples = found.noise.reshape(rounds, -1)
    count = samples.shape[1]

    def losses(covariance: Array) -> Array:
        """(lengths, items): squared, for sensitivity 1."""
        whitened = solve_triangular(np.linalg.cholesky(covariance), found.sums, lower=True)
        return np.asarray(np.cumsum(np.square(whitened), axis=0))

    measured, declared = losses(samples @ samples.T / count), losses(found.law @ found.law.T)
    freedom = count - np.arange(1, rounds + 1)[:, None] + 1
    low, high = (measured * stats.chi2.ppf(level, freedom) / count for level in (RARE, 1 - RARE))
    assert (low <= declared * (1 + 1e-9)).all()
    assert (declared <= high * (1 + 1e-9)).all()
    paid = found.ledger.nodes / found.ledger.scale**2
    first = found.sums.argmax(axis=0)  # where an item is first released
    age = np.arange(rounds)[:, None] - first
    protected = (age >= 0) & (age < (found.window or rounds))
    assert (declared[protected] <= paid * (1 + 1e-9)).all()
    assert (low[protected] <= paid).all()


def one_noise_has_its_law(found: Released) -> None:
    """Where the first release carries one noise, its norm is Gamma(d), or its coordinates are Laplace."""
    scales = found.law[0][found.law[0] != 0]
    if len(scales) > 1:  # padded
        return
    first = found.noise[0] / scales[0]
    if found.ledger.distribution == "gamma":
        assert stats.kstest(np.linalg.norm(first, axis=-1), stats.gamma(first.shape[-1]).cdf).pvalue > RARE
    else:
        assert stats.kstest(first.ravel(), stats.laplace.cdf).pvalue > RARE


MANY, SELDOM = 4000, 1e-6


def choice_law(distribution: str, scores: np.ndarray) -> np.ndarray:
    """P(each is the smallest) of scores in units of the noise."""
    return np.asarray(softmax(-scores)) if distribution == "gumbel" else choice_scores(scores, scores)[0]


@pytest.mark.parametrize("variant", [*CornerFrankWolfe.card.variants, "in trees"])
def test_every_choice_of_frank_wolfe_has_noise_of_its_own_and_of_the_ledgers_scale(variant: str) -> None:
    """Scores that stay the same: choices of all rounds have one law, and those of two rounds are independent.

    In trees, those of the last one.
    """
    domain, tilt = make_set("l1-ball", SLOPE_DIMENSION), np.array([0.9, -0.3, 0.1, 0.0])
    if variant == "in trees":
        sample = LinearSample(np.zeros((FRESH_SAMPLES, SLOPE_DIMENSION)), MANY)
        learner: Any = VarianceReducedFrankWolfe(ErmProblem(domain, sample), [BUDGET], MANY, "balanced")
        last = learner.plans[0][-1]
        distribution, rounds = "gumbel", last.calls[0]
        sample.slopes += last.scale * tilt
    else:
        short = type("Short", (CornerFrankWolfe,), {"MAX_ITERATIONS": 5})
        risk = Flat(np.zeros(SLOPE_DIMENSION))
        learner = short(ErmProblem(domain, risk), [BUDGET], MANY, variant)
        (line,) = learner.ledger()
        distribution, rounds = line.distribution, line.calls
        assert rounds == 4
        risk.slope = line.scale * tilt
    wanted = choice_law(distribution, np.concatenate([tilt, -tilt]))  # of e_j, then of -e_j
    chosen: list[np.ndarray] = []
    learner.corners.step = lambda points, taken, step: chosen.append(taken.copy())
    learner.fit(generators(7, "noise", MANY))
    assert len(chosen) == learner.iterations()[0] - (variant != "in trees")
    chosen = chosen[-rounds:]
    for now in chosen:
        assert p_value(Counter(now.tolist()), dict(enumerate(wanted))) > SELDOM
    pairs = {(a, b): p * q for a, p in enumerate(wanted) for b, q in enumerate(wanted)}
    for lag in range(1, rounds):
        both = zip(chosen[0].tolist(), chosen[lag].tolist(), strict=True)
        assert p_value(Counter(both), pairs) > SELDOM, f"rounds 1 and {1 + lag} share their noise"


def test_a_counter_has_the_noise_of_its_ledger() -> None:
    """Two rounds, two experts, a threshold of about the noise: the law of total loss and draws."""
    losses = np.array([[0.7, 0.2], [0.05, 0.6]])
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 2), Budget(2.0), MANY, "single")
    learner.threshold, learner.draw_scale = 0.5 * learner.scale, 0.4
    wanted: dict[Hashable, float] = defaultdict(float)
    again = softmax(-losses[0] / learner.draw_scale)
    for first in (0, 1):
        leaves = float(stats.laplace.sf(learner.threshold - losses[0, first], scale=learner.scale))
        wanted[round(losses[0, first] + losses[1, first], 6), 0.0] += (1 - leaves) / 2
        for then in (0, 1):
            wanted[round(losses[0, first] + losses[1, then], 6), 1.0] += leaves * again[then] / 2
    record = learner.play([ExpertBlock(losses[:, None], len(losses))], generators(7, "noise", MANY))
    assert p_value(Counter(zip(record.losses.round(6).tolist(), record.draws.tolist(), strict=True)), wanted) > SELDOM


def test_released_losses_of_a_guess_have_the_noise_of_their_ledger() -> None:
    """Algorithm 2: a drawn expert's loss plus Laplace(K/e), against the guess and the slack; the law of phases."""
    losses = np.array([[0.7, 0.2], [0.3, 0.6]])
    learner = AdaptiveExperts(ExpertProblem(np.ones(2), 2), Budget(60.0), MANY, "cold")
    learner.phases = Phases(5, 15.0, 1.0)
    made, scale, slack = learner.plan, 0.8, 0.3
    vars(learner).update(
        plan=lambda guess, epsilon=None: restless(made(guess, epsilon)), release_scale=scale, slack=slack
    )
    wanted: dict[Hashable, float] = defaultdict(float)
    for events, chance in law(restless(made(1.0)), losses).items():  # no loss exceeds a guess: draws are alike in all
        laws = {1: chance}
        for now, drawn in events[1:]:
            after: dict[int, float] = defaultdict(float)
            for phase, share in laws.items():
                doubles = float(stats.laplace.sf(2.0 ** (phase - 1) + slack - losses[:now, drawn].sum(), scale=scale))
                after[phase + 1] += share * doubles
                after[phase] += share * (1 - doubles)
            laws = after
        for phase, share in laws.items():
            wanted[float(phase), float(len(events) - 1)] += share
    record = learner.play([ExpertBlock(losses[:, None], len(losses))], generators(7, "noise", MANY))
    assert record.phases is not None
    assert p_value(Counter(zip(record.phases.tolist(), record.draws.tolist(), strict=True)), wanted) > SELDOM


def test_switching_over_a_net_has_the_law_of_algorithm_1() -> None:
    """Points of three rounds, for losses that differ: the test of a round sees the losses before it, and no more."""
    rounds = 3
    problem = Problem(make_set("ball", 1), rounds, 2.0, 1.0, 1.0, best_loss=0.0)
    learner = NetExperts(problem, [Setting(rounds, Budget(16.0))], MANY, "pure")
    learner.plans = [restless(plan) for plan in learner.plans]
    given: list[Any] = [Quadratic(np.array([place]), 1.0) for place in (0.9, -0.8, 0.2)]
    table = np.array([[float(each.value(point)) / learner.unit for point in learner.sums.net] for each in given])
    assert table.max() <= 1
    (plan,), wanted = learner.plans, defaultdict[Hashable, float](float)

    def go_on(played: tuple[int, ...], draws: int, probability: float) -> None:
        start, expert = len(played), played[-1]  # a test that opens in a round is first asked for the next one
        held = [table[start - 1 : now, expert].sum() for now in range(start, rounds)] if draws < plan.switches else []
        *halts, never = halting(plan.threshold_epsilon, plan.threshold, tuple(map(float, held)))
        wanted[(*played, *[expert] * (rounds - start))] += probability * never
        for now, chance in zip(range(start, rounds), halts, strict=False):
            weights = softmax(-plan.eta * np.maximum(table[:now].sum(axis=0), plan.best_loss) / 2)
            for drawn, weight in enumerate(weights):
                go_on((*played, *[expert] * (now - start), drawn), draws + 1, probability * chance * float(weight))

    for expert in range(len(learner.sums.net)):
        go_on((expert,), 0, 1 / len(learner.sums.net))
    watched = [Looked(each) for each in given]
    play(learner, watched, generators(7, "noise", MANY), [rounds])
    places = [np.abs(each.points[:, :1] - learner.sums.net[:, 0]).argmin(axis=1).tolist() for each in watched]
    assert p_value(Counter(zip(*places, strict=True)), wanted) > SELDOM


class Looked:
    """A loss that keeps the points that were played, (runs, d)."""

    def __init__(self, loss: Any):
        self.loss, self.points = loss, np.empty(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loss, name)

    def value_and_gradient(self, points: np.ndarray) -> Any:
        self.points = points[0].copy()
        return self.loss.value_and_gradient(points)


CHAINS = [
    (name, variant)
    for name, kind in FAMILIES["experts"].learners.items()
    if kind.exact
    for variant in kind.card.variants
]


@pytest.mark.parametrize(("name", "variant"), CHAINS)
def test_hedge_is_charged_by_the_chain_that_is_audited(name: str, variant: str) -> None:
    """Odd rounds: the expected loss of the play is that of the Markov chain, by its marginals before each loss."""
    losses = np.random.default_rng(5).random((21, 2))
    learner = FAMILIES["experts"].learners[name](ExpertProblem(np.ones(2), 21, 3.0), BUDGET, 1, variant)
    start, moves, shown = chain(learner, losses)
    marginal, total = start, 0.0
    for now, loss in enumerate(losses):
        total += float(marginal @ loss[shown])
        marginal = marginal @ moves[now] if now < len(moves) else marginal
    assert learner.play([ExpertBlock(losses[:, None], len(losses))], generators(7, "noise", 1)).losses == pytest.approx(
        total, rel=1e-12
    )
