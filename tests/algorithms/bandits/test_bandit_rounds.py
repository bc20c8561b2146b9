"""Rounds of the bandits are those of their boxes in NumPy, on the same draws; users' losses and sets are played."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.bandits.base import AHEAD, BLOCK, BanditProblem, Directions, Given, unit_sphere
from dpregret.algorithms.bandits.linear_bandit import PrivateLinearBandit
from dpregret.algorithms.bandits.round_by_round import Fkm
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget, unit_noise
from dpregret.core.losses import Losses, LossSource
from dpregret.core.oracles import value_at
from dpregret.datasets.bandit_streams import make_bandit_stream

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
