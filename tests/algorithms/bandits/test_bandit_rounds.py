"""Rounds of the bandits are those of their boxes in NumPy, on the same draws; users' losses and sets; arms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from drawn import generators
from scipy import stats

from dpregret.algorithms.bandits.base import AHEAD, BLOCK, BanditProblem, Directions, Given, unit_sphere
from dpregret.algorithms.bandits.batched_arms import BatchedArms, draw_arm
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit
from dpregret.algorithms.bandits.round_by_round import Fkm
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget, unit_noise
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.losses import Losses, LossSource
from dpregret.core.oracles import value_at
from dpregret.datasets.bandit_streams import affine, make_bandit_stream
from dpregret.numerics.elementary import exp
from dpregret.numerics.random import Uniforms
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws

PLACES = [
    ("cone", "ball", 5), ("cone", "l1-ball", 3), ("cone", "simplex", 7), ("linear", "ball", 1), ("linear", "ball", 9),
    ("random-linear", "l1-ball", 6), ("top-k", "hypersimplex", 11), ("top-k", "partition-matroid", 8),
    ("top-k", "coverage", 7), ("ranking", "permutahedron", 5), ("network", "spanning-trees", 15),
    ("shortest-path", "flow", 12), ("polarisation", "spectrahedron", 4), ("completion", "nuclear", 4),
]  # fmt: skip


def start(stream: str, set_name: str, dimension: int, variant: str, horizon: int) -> Any:
    domain = make_set(set_name, dimension)
    losses = make_bandit_stream(stream, domain)
    problem = BanditProblem(CountedSet(domain), horizon, losses.lipschitz, "linear" in losses.traits)
    budgets = [Budget(math.inf), Budget(50.0, 1e-6)]
    return learners("bandits")["private-bandit-gaussian"](problem, budgets, 3, variant), losses


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
        near = domain.project(goal) if learner.by_projection else approached(learner, start, goal)
        x = center + shrink * (near - center)
        violation = max(violation, float(domain.violation(x).max()))
    return {"losses": total, "clipped": clipped / learner.horizon, "violation": violation}


def approached(learner: Any, start: np.ndarray, goal: np.ndarray) -> np.ndarray:
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
    learner, losses = start(stream, set_name, dimension, variant, horizon)
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
    kind, horizon = learners("bandits")[name], 1296
    for bare in (False, True):
        domain = make_set(set_name, 2)
        if bare:
            domain.__class__ = type("Own", (type(domain),), {
                "project": lambda self, x: super(type(self), self).project(x),
                "linear_oracle": lambda self, x: super(type(self), self).linear_oracle(x),
            })  # fmt: skip
        losses = make_bandit_stream(stream, domain)
        problem = BanditProblem(CountedSet(domain), horizon, losses.lipschitz, "linear" in losses.traits)
        budgets = [Budget(math.inf), Budget(50.0, 1e-6)][: 2 if kind.card.private else 1]
        learner = kind(problem, budgets, 3, next(iter(kind.card.variants)))
        wanted = by_the_box(learner, losses.source(generators(3, 1)), generators(3, 2), generators(3, 3))
        asked, source = learner.domain.calls(), losses.source(generators(3, 1))
        found = play(learner, methods_only(source) if bare else source)
        np.testing.assert_allclose(found.losses, wanted["losses"], rtol=1e-9)
        np.testing.assert_array_equal(found.clipped, wanted["clipped"])
        assert {each: 2 * rows for each, rows in asked.items()} == learner.domain.calls()


class Hinge(NamedTuple):
    """A user's loss, max(0, <slope, x>) + <slope, slope>/9."""

    slope: np.ndarray
    own = ()
    vectors = ()


@value_at.add
def _(loss: Hinge, x, value, s):
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


def make(epsilons: Sequence[float], horizon: int, size: int = 5, runs: int = 4, variant: str = "corrected") -> Any:
    problem = BanditProblem(make_set("simplex", size), horizon, 1.0, linear=True, arms=True)
    return BatchedArms(problem, [Budget(epsilon) for epsilon in epsilons], runs, variant)


def told(values: Any) -> LossSource:
    """Losses (rounds, K), the same for all runs."""
    table = np.asarray(values, dtype=float)
    rows = iter(range(len(table)))
    return lambda rounds: affine(np.array([list(islice(rows, rounds))]), table, np.zeros(len(table)), rounds)


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
    learner = make(EPSILONS, horizon, runs=runs, variant=variant)
    wanted = arms_by_the_box(learner, stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2))
    learner.ahead = ahead
    record = learner.play(Given(stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2)))
    found = record.losses, record.clipped, learner.sums, learner.arms, learner.chances
    for compiled, defined in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(compiled, defined)
    assert (learner.sums != 0).any(axis=-1).all()


def test_losses_that_know_no_arm_are_refused() -> None:
    learner, cone = make([1.0], 9), make_bandit_stream("cone", make_set("simplex", 5))
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
    learner = make([0.4], 4, 2, runs)  # batches of three rounds, and a short one that is never learnt from
    learner.play(Given(told(np.tile(means, (4, 1))), generators(runs, 1), generators(runs, 2)))
    found = learner.sums[0]
    assert (np.abs(found.mean(axis=0) - means) < 5 * found.std(axis=0) / math.sqrt(runs)).all()
    ends = []
    for end in (-1e6, 1e6):
        losses = np.full((30, 2), 0.5)
        losses[7] = end
        learner = make([0.4], 30, 2, 1)
        learner.etas = np.zeros(1)
        record = learner.play(Given(told(losses), generators(1, 1), generators(1, 2)))
        assert record.clipped.tolist() == [[1 / 30]]
        ends.append(learner.sums[0, 0])
    assert sorted((ends[1] - ends[0]).tolist()) == pytest.approx([0.0, 1 / 3 / 0.5])
    assert learner.ledger()[0].sensitivity == pytest.approx(1 / 3)
    assert learner.delivered_epsilon() == [pytest.approx(0.4)]
    assert learner.pure


@pytest.mark.parametrize("epsilon", [2.0, 1.0, 0.3])
def test_every_step_of_the_proof_holds(epsilon: float) -> None:
    """E ln( sum of q exp(-eta estimate) ) <= -eta <q, m> + eta^2 c K/(1 - gamma), by quadrature over Laplace noise."""
    learner = make([epsilon], 4000, 4)
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
    learner = make(EPSILONS, horizon, size)
    found = learner.bound()
    assert found[0] == pytest.approx(math.sqrt(2 * size * horizon * math.log(size)))
    shares, etas = np.arange(1, 100)[:, None] / 100, np.geomspace(1e-5, 1e-2, 3000)[None]
    for bound, length, scale in zip(found[1:], learner.lengths[1:], learner.scales[1:], strict=True):
        batches = math.ceil(horizon / length)
        mix = etas * scale * size / shares
        tried = math.log(size) / etas + (etas * (0.5 + scale**2 / (1 - shares**2)) * size + mix) * batches
        assert bound <= length * tried[:, etas[0] > 0].min() * (1 + 1e-4)  # which leaves out the factor 1 - gamma
        assert bound <= 3.87 * length * math.sqrt(size * batches * math.log(size))
    assert np.isnan(make([0.3], horizon, size, variant="unmixed").bound()).all()
    assert make([1e-9], 50, size).bound() == [50.0]


def test_exploration_is_what_holds_the_noise() -> None:
    """At a fixed gap: without exploration above the bound of losses with the same second moment, with it below."""
    horizon, runs, regret = 2**15, 24, {}
    stream = make_bandit_stream("arms", make_set("simplex", 2), gap=0.5)
    for variant in ("corrected", "unmixed"):
        learner = make([0.25], horizon, 2, runs, variant)
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
    cells = list(family.cells(settings, BatchedArms.card))
    assert [cell.epsilon for cell in cells] == [math.inf, 0.25]
    gaps = []
    for cell in cells:
        problem = family.problem(cell, settings, Draws(1, 3))
        gaps.append(problem.stream.gap)
        learner = family.learner(BatchedArms, problem, cell, settings, "corrected")
        rows = family.play(learner, problem, cell, Draws(1, 3))
        assert rows["epsilon"].tolist() == [cell.epsilon] * 3
        assert (rows["trivial_regret"] > 0).all()
        assert (rows["regret"] <= rows["bound"]).all()
    assert gaps == pytest.approx([2 * math.sqrt(4 / 2048), 2 * math.sqrt(16 / 2048)])
