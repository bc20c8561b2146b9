"""Descents without projections: steps by brute force, counts, bounds, and what noise on a block costs."""

import math
from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Problem, Setting, learners, play
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.losses import Linear
from dpregret.numerics.arrays import Array

CLEAN, PRIVATE = Setting(1, Budget(math.inf, 1e-6)), Setting(1, Budget(8.0, 1e-6))
RUNS = 3


def slopes(rounds: int, dimension: int, seed: int = 3) -> Array:
    drawn = np.random.default_rng(seed).standard_normal((rounds, RUNS, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=-1)[..., None])


def started(name: str, place: str, dimension: int, rounds: int, setting: Setting = CLEAN, variant: str = "") -> Any:
    kind: Any = learners("online")[name]
    problem = Problem(CountedSet(make_set(place, dimension)), rounds, 1.0, 0.0)
    return kind(problem, [setting], RUNS, variant or next(iter(kind.card.variants)))


def regret(learner: Any, given: Array, checkpoint: int) -> Array:
    """(runs,), against the best fixed point."""
    noise = [np.random.default_rng([5, run]) for run in range(RUNS)]
    losses = play(learner, [Linear(each) for each in given], noise, [checkpoint]).losses[0, :, 0]
    total = given[:checkpoint].sum(axis=0)
    return np.asarray(losses - np.vecdot(total, learner.domain.inner.linear_oracle(total)))


PLACES = {"l1-ball": 5, "box": 3, "simplex": 5, "hypersimplex": 7, "nuclear": 9, "flow": 12, "polytope": 3}
PLAIN = ["gauge-descent", "separation-descent", "blocked-descent", "projected-descent"]


@pytest.mark.parametrize(("place", "dimension"), PLACES.items())
@pytest.mark.parametrize("name", PLAIN[:3])
def test_bounds_hold_and_so_do_counts(name: str, place: str, dimension: int) -> None:
    """Odd horizons too, losses that turn against the leader; noise over the whole space is cut down to the hull."""
    for rounds, setting, prefix in ((81, CLEAN, ""), (81, PRIVATE, "private-"), (75, CLEAN, "")):
        given = slopes(rounds, dimension)
        given[rounds // 2 :] = -given[0]
        learner = started(prefix + name, place, dimension, rounds, setting)
        found = regret(learner, given, rounds)
        assert (found.mean() <= learner.bound(rounds)[:, -1]).all()
        counted, calls = learner.domain, rounds * RUNS
        assert counted.projections.rows == 0
        if name == "gauge-descent":
            assert counted.gauges.rows == calls
        if name == "separation-descent" and math.isfinite(learner.most_calls):
            assert counted.separations.rows <= learner.most_calls * calls
            assert counted.separations.rows >= calls
        if name == "blocked-descent" and math.isfinite(learner.most_calls):
            assert calls / learner.length <= counted.linear_oracles.rows <= learner.most_calls * calls


def test_gauge_descent_is_the_reduction_written_out() -> None:
    """On the square, by hand: R = 1, r = 1/sqrt 2, gamma = sqrt 2 max |w_i|."""
    rounds, given = 12, slopes(12, 2)
    given[:] = given[0]
    learner = started("gauge-descent", "box", 2, rounds)
    eta = 1 / ((1 + math.sqrt(2)) * math.sqrt(rounds))
    w = np.zeros((RUNS, 2))
    for now in range(rounds):
        place = np.abs(w).argmax(axis=1)
        nu = np.zeros_like(w)
        nu[np.arange(RUNS), place] = math.sqrt(2) * np.sign(w[np.arange(RUNS), place])
        gamma = math.sqrt(2) * np.abs(w).max(axis=1)
        x = w / np.maximum(1, gamma)[:, None]
        assert learner.point[0] == pytest.approx(x)
        g = given[now].copy()
        far = (gamma >= 1) & (np.vecdot(g, w) < 0)
        g[far] -= np.vecdot(g, x)[far, None] * nu[far]
        w = w - eta * g
        w /= np.maximum(1.0, np.linalg.norm(w, axis=1))[:, None]
        learner.round += 1
        learner.observe(None, given[now][None], None)
    assert far.any()


def test_blocked_descent_stays_near_its_infeasible_point_and_plays_one_point_a_block() -> None:
    rounds, given = 50, slopes(50, 5)
    learner = started("blocked-descent", "l1-ball", 5, rounds)
    assert learner.length == 8
    for now in range(rounds):
        before = learner.point.copy()
        learner.round += 1
        learner.observe(None, given[now][None], None)
        assert np.array_equal(before, learner.point) or (now + 1) % 8 == 0
        apart = learner.point - learner.infeasible
        assert (np.vecdot(apart, apart) <= learner.tolerance * (1 + 1e-12)).all()
    slope = learner.point - learner.infeasible
    gap = np.vecdot(slope, learner.point - learner.domain.inner.linear_oracle(slope))
    assert (gap <= learner.tolerance).all()


def test_a_pull_takes_its_square_from_the_distance_to_the_shrunk_set() -> None:
    learner = started("separation-descent", "simplex", 5, 400)
    asked: list[Array] = []
    oracle = learner.separation
    learner.separation = lambda offsets: (asked.append(offsets.copy()), oracle(offsets))[1]
    for each in slopes(400, 5)[:, :1]:
        asked.clear()
        learner.round += 1
        learner.observe(None, np.broadcast_to(each, (1, RUNS, 5)), None)
        path = np.array([points[0] for points in asked])
        vertices = (1 - learner.shrinking) * (np.eye(5) - 0.2)
        squares = np.square(path[:, None] - vertices).sum(axis=2)
        least = (learner.shrinking * learner.inner) ** 2
        assert (np.diff(squares, axis=0) <= -least * (1 - 1e-9)).all()


def test_the_bounds_are_those_of_the_boxes() -> None:
    """At T: R L sqrt T, (1 + R/r) R L sqrt T twice, 2 D L T^(3/4)."""
    steep = 1 + math.sqrt(7)
    expected = dict(zip(PLAIN, (steep * 16, steep * 16, 4 * 64, 16), strict=True))
    for name, value in expected.items():
        assert started(name, "l1-ball", 7, 256).bound(256)[0, -1] == pytest.approx(value), name


def test_a_round_by_hand() -> None:
    """Six rounds over the ball: the vertex against a direction of length r is -direction / r."""
    given, start = slopes(6, 2), np.array([0.6, 0.0])
    learner = started("ofw-explicit", "ball", 2, 6)
    learner.point[:] = start
    regret(learner, given, 6)
    eta, sigma, x, total = 1.0 * (3 / 6) ** 0.75, math.sqrt(3 / 6), start, np.zeros(2)
    for gradient in given[:, 0]:
        total = total + gradient
        direction = x - start + eta * total
        x = x - sigma * (direction / np.linalg.norm(direction) + x)
    assert learner.point[0, 0] == pytest.approx(x, rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 3, 10, 200])
def test_regret_stays_below_the_guarantee(rounds: int) -> None:
    """Random directions, and one direction, that of the point where the learner starts."""
    alike = np.tile([1.0, 0.0], (rounds, RUNS, 1))
    for given in (alike, *(slopes(rounds, 2, seed) for seed in range(15))):
        learner = started("ofw-explicit", "ball", 2, rounds)
        learner.point[:] = [1.0, 0.0]
        assert regret(learner, given, rounds).max() <= learner.bound(rounds)[0, -1]
    assert learner.bound(rounds)[0, 0] == pytest.approx(4 / 3**0.75 * 2 * rounds**0.75)
