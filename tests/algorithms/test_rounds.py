"""Online rounds: compiled and in Python, in tiles and whole, by an object's methods and by its text, the same bits."""

import math

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms import learner
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Learner, Problem, Setting, compiled_data_of, learners, play
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader
from dpregret.algorithms.online.kept_points import StayingPoints
from dpregret.algorithms.privacy import Budget
from dpregret.core.oracles import ByMethods
from dpregret.datasets.streams import make_stream

RUNS, ROUNDS = 3, 20


class Plain:
    """A loss without a text of its own."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


def played(name, variant, place, stream, dimension, runs=RUNS, length=ROUNDS, plain=(), mu=0.7, asked=False):
    """(learner, record); `plain`: the rounds whose losses are asked by their methods, `asked`: whether the set is."""
    domain = make_set(place, dimension)
    if asked:
        domain.__class__ = type(
            "Other", (type(domain),), {"project": lambda self, x: super(type(self), self).project(x)}
        )
    made = make_stream(stream, domain, strong_convexity=mu)
    told = Problem(
        CountedSet(domain), length, made.lipschitz, made.strong_convexity, made.smoothness, best_loss=made.best_loss
    )
    kind = learners("online")[name]
    windows = (1, 16) if kind.card.windowed else (16,)
    epsilons = (2.0, 900.0) if kind.card.private else (math.inf,)
    settings = [Setting(window, Budget(epsilon, 1e-6)) for window in windows for epsilon in epsilons]
    learner = kind(told, settings, runs, variant)
    losses = made.rounds(generators(runs, 5), length)
    if plain:
        losses = [Plain(each) if now in plain else each for now, each in enumerate(losses)]
    return learner, play(learner, losses, generators(runs, 9), sorted({1, 2, length // 2, length}))


def equal(one, other):
    (first, left), (second, right) = one, other
    np.testing.assert_array_equal(first.point, second.point)
    np.testing.assert_array_equal(left.losses, right.losses)
    np.testing.assert_allclose(left.noise_norms, right.noise_norms, rtol=1e-13)
    for tally in ("projections", "linear_oracles", "local_oracles"):
        theirs, ours = getattr(first.domain, tally), getattr(second.domain, tally)
        assert theirs.rows == ours.rows
        assert (ours.seconds > 0) == (ours.rows > 0)


@pytest.mark.parametrize(  # all that the full profile combines are in tests/nightly
    ("name", "variant"), [("wdp-cocop-gamma", "printed"), ("wdp-cocol-gaussian", "practical")]
)
def test_python_plays_what_is_compiled(monkeypatch, compiled, name, variant):
    """A projection and a local oracle, with trees."""
    found = played(name, variant, "simplex", "norm-kink", 11)
    monkeypatch.setattr(learner, "specialised", lambda function, *kinds: function)
    equal(found, played(name, variant, "simplex", "norm-kink", 11))


@pytest.mark.parametrize(("runs", "dimension"), [(1, 1), (1, 64), (5, 17), (37, 3)])
def test_runs_in_tiles_get_the_bits_of_all_together(monkeypatch, runs, dimension):
    found = played("wdp-cocop-gamma", "corrected", "ball", "random-kink", dimension, runs, 100)
    for name in ("FEWEST", "MOST", "SHARED"):
        monkeypatch.setattr(learner, name, 4)
    cut = played("wdp-cocop-gamma", "corrected", "ball", "random-kink", dimension, runs, 100)
    assert max(tile.x.shape[1] for tile in cut[0].compiled.tiles) <= 4
    assert len(found[0].compiled.tiles) < len(cut[0].compiled.tiles) or runs == 1
    equal(found, cut)


@pytest.mark.parametrize(
    ("name", "place", "stream"),
    [
        ("ftal", "simplex", "norm-kink"), ("wdp-cocop-gamma", "box", "random-kink"),
        ("pocp-igd", "ball", "random-kink"), ("pocp-giga", "ball", "huber-kink"), ("ofw", "box", "smooth-quadratic"),
    ],
)  # fmt: skip
def test_losses_without_a_text_come_and_go(name, place, stream):
    """They are asked by their methods, which for these are the same text."""
    variant = next(iter(learners("online")[name].card.variants))
    found = played(name, variant, place, stream, 5, length=60)
    equal(found, played(name, variant, place, stream, 5, length=60, plain=range(20, 40)))


@pytest.mark.parametrize(("name", "variant"), [("wdp-cocop-gaussian", "corrected"), ("scofw", "plain")])
def test_a_changed_set_is_asked_by_its_methods(name, variant):
    """A class that changes an oracle is not played by its parent's text."""
    learner, _ = played(name, variant, "ball", "norm-kink", 4, asked=True)
    assert isinstance(learner.compiled.domain, ByMethods)
    assert compiled_data_of(make_set("ball", 4), learner.oracle) is not None
    equal((learner, _), played(name, variant, "ball", "norm-kink", 4))


def test_the_class_that_defines_a_round_last_decides_how_it_is_played():
    class Still(FollowTheApproximateLeader):
        def observe(self, loss, gradient, noise):
            """Nothing is learnt."""

    class Bare(FollowTheApproximateLeader):
        pass

    assert not Still.is_compiled()
    assert Bare.is_compiled()
    domain = make_set("ball", 2)
    stream = make_stream("norm-kink", domain)
    learner = Still(Problem(CountedSet(domain), 8, 1.0, 1.0), [Setting(8, Budget(math.inf))], 1, "plain")
    play(learner, stream.rounds(generators(1, 1), 8), generators(1, 2), [8])
    assert not learner.point.any()


FIXED = [
    (name, variant)
    for name, kind in learners("online").items()
    if kind.fixed_rounds is not Learner.fixed_rounds
    for variant in kind.card.variants
]


@pytest.mark.parametrize(("name", "variant"), FIXED)
@pytest.mark.parametrize(("stream", "runs", "length", "plain"), [("random-kink", 3, 75, ()), ("drift", 1, 81, (7, 30))])
def test_rounds_at_one_point_are_evaluated_together(monkeypatch, name, variant, stream, runs, length, plain):
    """To the bits of one after the other; losses without a text between them too."""
    place, dimension, kind = "simplex", 5, learners("online")[name]
    if kind.card.needs or issubclass(kind, StayingPoints):
        place, dimension, stream, plain = "ball", 2, "realizable-direction", ()
    found = played(name, variant, place, stream, dimension, runs, length, plain)
    assert name == "stay" or found[0].point.any()
    monkeypatch.setattr(kind, "fixed_rounds", 1)
    equal(found, played(name, variant, place, stream, dimension, runs, length, plain))


@pytest.mark.parametrize("rounds", [2, 5])
def test_after_a_move_losses_are_evaluated_again(monkeypatch, rounds):
    found = played("projected-descent", "plain", "ball", "random-kink", 5, 3, 75, ())
    monkeypatch.setattr(learners("online")["projected-descent"], "fixed_rounds", rounds)
    equal(found, played("projected-descent", "plain", "ball", "random-kink", 5, 3, 75, ()))


def test_a_move_within_the_array_of_points_is_refused(monkeypatch):
    def moving(self, loss, gradient, noise):
        self.point -= gradient

    kind = learners("online")["projected-descent"]
    monkeypatch.setattr(kind, "fixed_rounds", 5)
    monkeypatch.setattr(kind, "observe", moving)
    with pytest.raises(ValueError, match="read-only"):
        played("projected-descent", "plain", "ball", "random-kink", 5, 3, 75, ())
