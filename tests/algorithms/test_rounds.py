"""Compiled rounds against their definition: the same noise to the bit, points and losses to rounding."""

import math

import numpy as np
import pytest

from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.rounds import CompiledRounds, named_step
from dpregret.core import ball_rounds
from dpregret.datasets.streams import make_stream

RUNS, ROUNDS = 3, 150
CHECKPOINTS = [1, 2, 64, 65, 100, ROUNDS]


class Plain:
    """A loss that names no kernel."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


def rngs(seed, runs=RUNS):
    return [np.random.default_rng([seed, run]) for run in range(runs)]


def both(name, variant, place, stream, dimension, windows=(16,), runs=RUNS, mix=False, mu=0.7):
    """(learner, record) by the definition and compiled, on the same losses and noise."""
    found = []
    for compiled in (False, True):
        domain = make_set(place, dimension)
        made = make_stream(stream, domain, strong_convexity=mu)
        told = Problem(
            CountedSet(domain), ROUNDS, made.lipschitz, made.strong_convexity, made.smoothness, best_loss=made.best_loss
        )
        kind = learners("online")[name]
        finite = kind.card.private
        settings = [
            Setting(window, Budget(epsilon if finite else math.inf, 1e-6))
            for window in windows
            for epsilon in (2.0, 900.0)
        ]
        learner = kind(told, settings, runs, variant)
        losses = list(made.rounds(rngs(5, runs), ROUNDS))
        if not compiled:
            losses = [Plain(each) for each in losses]
        elif mix:
            losses[70:90] = [Plain(each) for each in losses[70:90]]
        found.append((learner, play(learner, losses, rngs(9, runs), CHECKPOINTS)))
    return found


def agree(found, tolerance=1e-12):
    (first, plain), (second, fast) = found
    assert CompiledRounds.of(second) is not None
    size = max(1.0, float(np.abs(first.point).max()))
    assert np.abs(first.point - second.point).max() <= tolerance * size
    assert np.allclose(plain.losses, fast.losses, rtol=tolerance, atol=tolerance)
    assert np.allclose(plain.noise_norms, fast.noise_norms, rtol=tolerance, atol=0)
    for tally in ("projections", "linear_oracles", "local_oracles"):
        theirs, ours = getattr(first.domain, tally), getattr(second.domain, tally)
        assert (theirs.calls, theirs.rows) == (ours.calls, ours.rows)
        assert (ours.seconds > 0) == (ours.rows > 0)


ON_THE_BALL = [
    ("ftal", "plain"), ("wdp-cocop-gamma", "corrected"), ("wdp-cocop-gaussian", "printed-noise"),
    ("wdp-cocop-gamma", "printed"), ("pftal", "corrected"), ("noise-per-gradient", "corrected"),
    ("noise-per-prefix", "corrected"), ("ogd", "plain"), ("ofw", "plain"), ("pocp-igd", "corrected"),
    ("restarted-ftal", "corrected"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "variant"), ON_THE_BALL)
def test_learners_on_the_ball(name, variant):
    kind = learners("online")[name]
    agree(both(name, variant, "ball", "norm-kink", 5, windows=(1, 16, 128) if kind.card.windowed else (16,)))


# off the ball, runs one by one, a loss, a set and a learner are compiled together, in code that is of one of them each:
# so each loss, each oracle of each set and each learner is met, and not all of their products
@pytest.mark.parametrize(
    ("stream", "place"),
    [
        ("norm-kink", "simplex"),
        ("norm-kink", "l1-ball"),
        ("norm-kink", "box"),
        ("huber-kink", "ball"),
        ("drift", "ball"),
    ],
)
def test_losses_on_sets(place, stream):
    agree(both("wdp-cocop-gaussian", "corrected", place, stream, 7))


@pytest.mark.parametrize("dimension", [2, 3, 9, 33])
@pytest.mark.parametrize("place", ["simplex", "l1-ball", "box"])
def test_local_oracles(place, dimension):
    agree(both("wdp-cocol-gaussian", "practical", place, "norm-kink", dimension, windows=(1, 16)))


@pytest.mark.parametrize(("name", "variant"), [("lloo-ftal", "proved"), ("wdp-cocol-gamma", "paper")])
def test_schedules(name, variant):
    agree(both(name, variant, "simplex", "norm-kink", 6))


@pytest.mark.parametrize(
    ("name", "place", "stream"),
    [
        ("scofw", "simplex", "smooth-quadratic"), ("wdp-scofw-gamma", "l1-ball", "smooth-quadratic"),
        ("ofw", "box", "smooth-quadratic"), ("ogd", "box", "lasso"),
    ],
)  # fmt: skip
def test_oracles(name, place, stream):
    agree(both(name, "corrected" if "wdp" in name else "plain", place, stream, 11))


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("pocp-igd", "smooth-quadratic"),
        ("pocp-igd", "huber-kink"),
        ("pocp-giga", "huber-kink"),
        ("pocp-igd", "lasso"),
        ("pocp-igd", "random-kink"),
        ("pocp-giga", "lasso"),
    ],
)
def test_proximal_and_explicit_steps(name, stream):
    agree(both(name, "corrected", "ball", stream, 6))


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("dp-ftrl", "realizable-quadratic"), ("dp-ftrl", "realizable-direction"), ("dp-ftrl-lipschitz", "half-space"),
        ("ogd-small-loss", "realizable-direction"),
    ],
)  # fmt: skip
def test_realizable_streams(name, stream):
    kind = learners("online")[name]
    agree(both(name, next(iter(kind.card.variants)), "ball", stream, 4))


@pytest.mark.parametrize(("runs", "dimension"), [(1, 1), (1, 64), (5, 17)])
def test_odd_sizes(runs, dimension):
    agree(both("wdp-cocop-gamma", "corrected", "ball", "random-kink", dimension, windows=(2, 256), runs=runs))


@pytest.mark.parametrize("runs", [3, 8, 13])
@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("wdp-cocop-gamma", "random-kink"), ("wdp-cocop-gaussian", "norm-kink"), ("pocp-igd", "huber-kink"),
        ("restarted-ftal", "ridge-logistic"),
    ],
)  # fmt: skip
def test_runs_side_by_side_get_the_bits_of_one_by_one(monkeypatch, name, stream, runs):
    for dimension in (3, 9, 17):
        found = []
        for fewest in (3, 1000):
            monkeypatch.setattr(ball_rounds, "FEWEST", fewest)
            found.append(both(name, "corrected", "ball", stream, dimension, windows=(2, 64), runs=runs))
        agree(found[0])
        (_, (one, few)), (_, (other, many)) = found
        np.testing.assert_array_equal(one.point, other.point)
        np.testing.assert_array_equal(few.losses, many.losses)
        np.testing.assert_array_equal(few.noise_norms, many.noise_norms)


@pytest.mark.parametrize(
    ("name", "place", "stream"),
    [
        ("ftal", "simplex", "norm-kink"), ("wdp-cocop-gaussian", "simplex", "norm-kink"),
        ("pocp-igd", "simplex", "random-kink"), ("wdp-cocol-gaussian", "simplex", "norm-kink"),
        ("ofw", "box", "smooth-quadratic"),
    ],
)  # fmt: skip
def test_losses_without_kernels_come_and_go(name, place, stream):
    """Rounds by the definition between compiled ones: the learner's arrays are handed over both ways."""
    variant = next(iter(learners("online")[name].card.variants))
    agree(both(name, variant, place, stream, 5, mix=True))


def test_a_changed_method_is_not_passed_over():
    class Changed(FollowTheApproximateLeader):
        def leader(self, gradient, noise):
            return super().leader(gradient, noise) * 0.5

    problem = Problem(CountedSet(make_set("ball", 2)), 8, 1.0, 1.0)
    settings = [Setting(8, Budget(math.inf))]
    assert named_step(FollowTheApproximateLeader(problem, settings, 1, "plain")) is not None
    assert named_step(Changed(problem, settings, 1, "plain")) is None
    patched = FollowTheApproximateLeader(problem, settings, 1, "plain")
    patched.observe = lambda *arguments: None
    assert CompiledRounds.of(patched) is None


def test_an_edited_method_is_not_passed_over(monkeypatch):
    """The first rounds are played by the definition too: what is written in a learner's file is what is played."""
    observe = FollowTheApproximateLeader.observe

    def edited(self, loss, gradient, noise):
        observe(self, loss, 1.01 * gradient, noise)

    monkeypatch.setattr(FollowTheApproximateLeader, "observe", edited)
    with pytest.raises(RuntimeError, match="do not do what its file says"):
        both("ftal", "plain", "ball", "random-kink", 3)


@pytest.mark.parametrize("variant", ["corrected", "root", "buffers"])
def test_mechanisms_with_unit_strong_convexity(variant):
    agree(both("wdp-cocop-gaussian", variant, "ball", "random-kink", 5, windows=(1, 16, 128), mu=1.0))
