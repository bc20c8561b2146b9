"""Compiled rounds of the bandits do what their definitions do, on the same draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.bandits.base import BanditProblem, Given
from dpregret.algorithms.bandits.directions import AHEAD, Directions, unit_sphere
from dpregret.algorithms.bandits.linear_bandit import BLOCK, PrivateLinearBandit
from dpregret.algorithms.bandits.round_kernels import PIECE
from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.privacy import Budget, unit_noise
from dpregret.core.losses import LossSource
from dpregret.datasets.bandit_streams import make_bandit_stream

PLACES = [
    ("cone", "ball", 5), ("cone", "l1-ball", 3), ("cone", "simplex", 7), ("linear", "ball", 1), ("linear", "ball", 9),
    ("random-linear", "l1-ball", 6), ("top-k", "hypersimplex", 11), ("top-k", "partition-matroid", 8),
    ("top-k", "coverage", 7), ("ranking", "permutahedron", 5), ("network", "spanning-trees", 15),
    ("shortest-path", "flow", 12), ("polarisation", "spectrahedron", 9), ("completion", "nuclear", 9),
]  # fmt: skip


def generators(runs: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, run]) for run in range(runs)]


def start(stream: str, set_name: str, dimension: int, variant: str, horizon: int = 1024, runs: int = 3) -> Any:
    domain = make_set(set_name, dimension)
    losses = make_bandit_stream(stream, domain)
    problem = BanditProblem(CountedSet(domain), horizon, losses.lipschitz, losses.linear)
    budgets = [Budget(math.inf), Budget(50.0, 1e-6)]
    return learners("bandits")["private-bandit-gaussian"](problem, budgets, runs, variant), losses


def plainly(learner: Any) -> Any:
    """The same learner without compiled loops (its directions are those of `unit_sphere` in any case)."""
    learner.query, learner.descend = learner.query_plainly, learner.conditional_gradient
    return learner


@pytest.mark.parametrize(("stream", "set_name", "dimension"), PLACES)
@pytest.mark.parametrize("rounds", [1, PIECE + 37])
def test_rounds_are_those_of_the_definition(stream: str, set_name: str, dimension: int, rounds: int) -> None:
    """Losses, estimates and clipped values of points somewhere in the set; a narrow range clips some."""
    learner, losses = start(stream, set_name, dimension, "corrected")
    learner.low, learner.high = 0.1 * learner.high, 0.5 * learner.high
    batch = losses.source(generators(3, 1))(rounds)
    directions = np.random.default_rng(2)
    point = learner.domain.linear_oracle(directions.standard_normal((2, 3, dimension)))
    point = 0.5 * (point + learner.domain.center())
    sphere = unit_sphere(generators(3, 3), rounds, learner.hull)
    compiled, plain = learner.query(batch, point, sphere), learner.query_plainly(batch, point, sphere)
    np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(compiled[1], plain[1], rtol=0, atol=1e-12 * np.abs(plain[1]).max())
    np.testing.assert_array_equal(compiled[2], plain[2])


@pytest.mark.parametrize(("stream", "set_name", "dimension"), PLACES)
@pytest.mark.parametrize("variant", ["corrected", "paper-tolerance"])
def test_conditional_gradient_is_that_of_the_definition(
    stream: str, set_name: str, dimension: int, variant: str
) -> None:
    """The same points after as many vertices, from vertices to far goals and near ones."""
    learner, _ = start(stream, set_name, dimension, variant)
    generator, domain = np.random.default_rng(4), learner.domain
    begun = domain.linear_oracle(generator.standard_normal((3, 7, dimension)))
    goals = domain.center() + generator.standard_normal((3, 7, dimension)) * np.array([3.0, 0.1, 0.02])[:, None, None]
    before = domain.linear_oracles.rows
    plain = learner.conditional_gradient(begun, goals)
    asked = domain.linear_oracles.rows - before
    compiled = learner.descend(begun, goals)
    assert domain.linear_oracles.rows == before + 2 * asked
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-12 * domain.diameter)


@pytest.mark.parametrize(("stream", "set_name", "dimension"), PLACES)
def test_plays_are_those_of_the_definition(stream: str, set_name: str, dimension: int) -> None:
    """Whole plays on the same draws. Short ones: conditional gradient inside a ball doubles an error at every step."""
    records = []
    for change in (lambda learner: learner, plainly):
        learner, losses = start(stream, set_name, dimension, "corrected", horizon=16**2)
        source = losses.source(generators(3, 1))
        records.append(change(learner).play(Given(source, generators(3, 2), generators(3, 3))))
    compiled, plain = records
    np.testing.assert_allclose(compiled.losses, plain.losses, rtol=1e-9)
    np.testing.assert_array_equal(compiled.clipped, plain.clipped)
    np.testing.assert_array_equal(compiled.displacement, plain.displacement)


@pytest.mark.parametrize("name", ["thakurta-smith-gaussian", "thakurta-smith-laplace", "fkm"])
@pytest.mark.parametrize(
    ("stream", "set_name"), [("linear", "ball"), ("random-linear", "ball"), ("cone", "box"), ("arms", "simplex")]
)
def test_rounds_without_batches_are_those_of_the_definition(name: str, stream: str, set_name: str) -> None:
    """Whole plays on the same draws, with losses that have a rule and without."""
    records, horizon = [], 1300
    for bare in (False, True):
        domain = make_set(set_name, 2)
        losses = make_bandit_stream(stream, domain)
        counted, learner_class = CountedSet(domain), learners("bandits")[name]
        problem = BanditProblem(counted, horizon, losses.lipschitz, losses.linear)
        budgets = [Budget(math.inf), Budget(50.0, 1e-6)][: 2 if learner_class.card.private else 1]
        source, told = losses.source(generators(3, 1)), []
        given = (lambda rounds, ask=source: without_rule(ask(rounds))) if bare else source
        learner = learner_class(problem, budgets, 3, next(iter(learner_class.card.variants)))
        records.append(learner.play(Given(given, generators(3, 2), generators(3, 3), told.append)))
        assert sum(told) == horizon
        assert counted.projections.rows == 3 * len(budgets) * horizon
    compiled, plain = records
    np.testing.assert_allclose(compiled.losses, plain.losses, rtol=1e-9)
    np.testing.assert_array_equal(compiled.clipped, plain.clipped)
    np.testing.assert_array_equal(compiled.displacement, plain.displacement)
    assert compiled.violation == pytest.approx(plain.violation, abs=1e-12)


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


@pytest.mark.parametrize(("stream", "dimension"), [("linear", 1), ("linear", 2), ("random-linear", 9)])
@pytest.mark.parametrize("ahead", [1, 7, BLOCK])
def test_rounds_of_the_linear_bandit_are_those_of_the_box(stream: str, dimension: int, ahead: int) -> None:
    """Whole plays on the same draws, in pieces of any length."""
    domain = make_set("ball", dimension)
    losses = make_bandit_stream(stream, domain)
    problem = BanditProblem(CountedSet(domain), 700, 1.0, losses.linear)
    learner = PrivateLinearBandit(problem, [Budget(math.inf), Budget(5.0)], 3, "corrected")
    total, clipped = linear_by_the_box(learner, losses.source(generators(3, 1)), generators(3, 2), generators(3, 3))
    learner.ahead, told = ahead, list[int]()
    record = learner.play(Given(losses.source(generators(3, 1)), generators(3, 2), generators(3, 3), told.append))
    np.testing.assert_allclose(record.losses, total, rtol=1e-9)
    np.testing.assert_array_equal(record.clipped, clipped)
    assert sum(told) == 700


def test_the_linear_bandit_refuses_losses_without_a_rule() -> None:
    problem = BanditProblem(make_set("ball", 2), 9, 1.0, linear=True)
    learner = PrivateLinearBandit(problem, [Budget(1.0)], 1, "corrected")
    source = make_bandit_stream("linear", problem.domain).source(generators(1))
    with pytest.raises(ValueError, match="private-linear-bandit needs losses with a rule, a LossRule of kind AFFINE"):
        learner.play(Given(lambda rounds: without_rule(source(rounds)), generators(1), generators(1, 1)))


def without_rule(batch: Any) -> Any:
    return type("Bare", (), {"rounds": batch.rounds, "value": staticmethod(batch.value)})()


def test_losses_and_sets_without_a_rule_are_played_plainly() -> None:
    """The definitions serve what no loop was compiled for."""
    learner, losses = start("ranking", "permutahedron", 65, "corrected", horizon=65**2)
    batch = losses.source(generators(3))(2)
    bare = without_rule(batch)
    sphere = unit_sphere(generators(3), 2, learner.hull)
    point = np.tile(learner.domain.center(), (2, 3, 1))
    np.testing.assert_array_equal(learner.query(bare, point, sphere)[0], learner.query_plainly(bare, point, sphere)[0])
    np.testing.assert_array_equal(learner.descend(point, 2 * point), learner.conditional_gradient(point, 2 * point))


@pytest.mark.parametrize("batch", [1, 3, AHEAD - 1, AHEAD, 200])
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
