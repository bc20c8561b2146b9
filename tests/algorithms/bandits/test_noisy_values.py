"""Noise on every value: where it enters, what it costs, how steps are tuned, and where trees begin to win."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawn import generators
from watched_bandits import around

from dpregret.algorithms.bandits import noisy_leader
from dpregret.algorithms.bandits.base import BLOCK, BanditProblem, Given, unit_sphere
from dpregret.algorithms.bandits.noisy_values import NoisyValueBandit
from dpregret.algorithms.bandits.private_bandit import PrivateBanditLaplace
from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget, unit_noise
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.datasets.bandit_streams import make_bandit_stream
from dpregret.workflows.mechanisms.exact import NOISES, Place, crossover, first_better, leading

FREE = Budget(math.inf)


def make(budgets: list[Budget], horizon: int = 4096, size: int = 3, runs: int = 2, kind: Any = NoisyValueBandit) -> Any:
    return kind(BanditProblem(make_set("ball", size), horizon, 1.0), budgets, runs, "corrected")


def play(learner: Any, horizon: int, size: int, runs: int) -> Any:
    stream = make_bandit_stream("cone", make_set("ball", size))
    return learner.play(Given(stream.source(generators(runs, 7)), generators(runs, 1), generators(runs, 2)))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_every_value_carries_laplace_noise_of_its_range(epsilon: float) -> None:
    """Estimates with noise minus those without: (n/zeta) times the sum of the noises times their directions."""
    learner, rounds = make([Budget(epsilon)], runs=3), BLOCK + 45
    stream = make_bandit_stream("cone", learner.domain)
    sphere, point = unit_sphere(generators(3), rounds, 3), np.full((1, 3, 3), 0.1)
    learner.laplace, learner.left = UnitNoise("laplace", generators(3, 5), 1), np.empty((3, 0))
    batch = stream.source(generators(3))(rounds)
    noisy = around(learner, batch, point, sphere)[1]
    learner.units = lambda rounds: np.empty((3, 0))
    plain = around(learner, batch, point, sphere)[1]
    drawn = generators(3, 5)
    units = np.concatenate([unit_noise("laplace", drawn, BLOCK, 1)[..., 0].T for _ in range(2)], axis=1)[:, :rounds]
    wide = 2.0 + 2 * learner.zetas[0]  # D + 2 zeta
    wanted = 3 / learner.zetas[0] * wide / epsilon * np.einsum("rt,rtn->rn", units, sphere)
    np.testing.assert_allclose((noisy - plain)[0], wanted, rtol=1e-9)
    assert learner.ledger()[0].scale == pytest.approx(wide / epsilon)
    assert learner.delivered_epsilon() == [pytest.approx(epsilon)]
    assert learner.pure


def test_the_second_moment_of_an_estimate_is_within_kappa() -> None:
    """E g = the gradient whatever the noise, and E|g|^2 at most B (n/zeta)^2 (M^2 + variance) + B^2 L^2."""
    learner, batch, runs = make([Budget(1.0)], runs=4000), 64, 4000
    stream = make_bandit_stream("cone", learner.domain)
    learner.laplace, learner.left = UnitNoise("laplace", generators(runs, 5), 1), np.empty((runs, 0))
    sphere = unit_sphere(generators(runs), batch, 3)
    point = np.tile([-0.4, 0.3, 0.2], (1, runs, 1))
    found = around(learner, stream.source(generators(1))(batch), point, sphere)[1][0]
    zeta, variance = learner.zetas[0], float(learner.value_variance()[0])
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


def test_zeta_never_exceeds_the_diameter() -> None:
    learner = make([Budget(1e-3), FREE], horizon=256, size=4)
    assert learner.zetas[0] == 2.0
    assert np.isfinite(learner.bound()).all()


def test_without_privacy_it_is_private_bandit_without_noise() -> None:
    ours = play(make([FREE, Budget(1.0)]), 4096, 3, 2)
    theirs = play(make([FREE], kind=PrivateBanditLaplace), 4096, 3, 2)
    np.testing.assert_array_equal(ours.losses[0], theirs.losses[0])
    assert (ours.losses[1] != ours.losses[0]).all()


def test_pieces_of_a_batch_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is drawn in blocks of its own, however a batch is cut and however many runs there are."""
    whole = play(make([Budget(2.0)], 256, runs=3), 256, 3, 3)
    monkeypatch.setattr(noisy_leader, "CHUNK", 3 * 3 * 5)
    pieces = play(make([Budget(2.0)], 256, runs=3), 256, 3, 3)
    np.testing.assert_allclose(pieces.losses, whole.losses, rtol=1e-9)
    fewer = play(make([Budget(2.0)], 256, runs=2), 256, 3, 2)
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
