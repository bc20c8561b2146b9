"""The constants of WDP-COCOL: the inequality that keeps the induction, and what they are rounded from."""

import math

import numpy as np
import pytest

from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.algorithms.learner import Problem, Setting, learners, play
from dpregret.algorithms.online.wdp_cocol import PROVEN, SCHEDULES, Terms, local_radius, window_constant
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream


def radius(schedule, mu, now):
    """r_t, (settings, 1), by the text that plays."""
    return local_radius.py_func(now, mu, schedule.regulariser, schedule.outer, schedule.inner, schedule.growing)


def left_side(name, ratio, lipschitz, noise):
    """(1 - a + a^2 r^2) A^2 + sqrt(2) a M A over K^2, at the largest g."""
    terms = Terms(lipschitz, 1.0, 1.0, ratio, np.array([[noise]]), np.zeros((1, 1)))
    made = SCHEDULES[name](terms)
    alpha, gap, first = made.alpha, float(made.gap[0, 0]), 1 + float(made.regulariser[0, 0])
    reach = math.sqrt(first / (first - 1)) * gap + math.sqrt(2) * lipschitz
    spread = math.sqrt(2) * alpha * (1 + ratio) * noise
    return ((1 - alpha + (alpha * ratio) ** 2) * reach**2 + spread * reach) / gap**2


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize("noise", [0.0, 1e-9, 0.01, 1.0, 20.0, 1e4])
def test_the_induction_closes(name, noise):
    worst = max(left_side(name, ratio, 1.0, noise) for ratio in np.geomspace(1.0, 50.0, 60))
    assert 0.5 < worst <= 1.0


def test_printed_radius_and_gap():
    """Lines 1 to 3 and 6, written out for rho = 2, L = 1, mu = 1/2, D = 3, C_W of option I."""
    window = window_constant("gamma", 16, 0.5, 1e-6, 4)
    assert window == pytest.approx(4 * 8 * math.log(4 / 0.05) / 0.5)
    made = SCHEDULES["printed"](Terms(1.0, 0.5, 3.0, 2.0, np.ones((1, 1)), np.array([[window]])))
    alpha, regulariser = 1 / 20, 100.0**2
    constant = 26 * 4 * 2.5 * (1 + 2 * alpha * window / (1 - alpha))
    assert (made.alpha, float(made.regulariser[0, 0])) == (alpha, regulariser)
    curvature = 0.5 * (7 + regulariser)
    printed = math.sqrt(4 * constant**2 / curvature / curvature) + 2 * 2.5 / curvature
    assert radius(made, 0.5, 7) == pytest.approx(np.array([[printed]]))


@pytest.mark.parametrize("now", [1, 2, 7])
def test_radius_of_every_schedule_by_hand(now):
    """rho = 2, L = 3/2, mu = 1/2; without noise and with N = 4. The printed one is above."""
    terms = Terms(1.5, 0.5, 3.0, 2.0, np.array([[0.0], [4.0]]), np.zeros((2, 1)))
    for name, first, gaps in (
        ("unsquared", (100, 100), (26 * 4 * 1.5, 35.4 * 4 * 1.5)),
        ("proved", (32, 64), (16 * math.sqrt(2) * 4 * 1.5, 32 * math.sqrt(2) * 4 * 1.5)),
    ):
        wanted = []
        for regulariser, gap in zip(first, gaps, strict=True):
            seen = now + regulariser
            reach = math.sqrt(2) * 1.5 + gap * math.sqrt(seen / (seen - 1))
            wanted.append([math.sqrt(2) * reach / (0.5 * seen)])
        assert radius(SCHEDULES[name](terms), 0.5, now) == pytest.approx(np.array(wanted))
    assert radius(SCHEDULES["practical"](terms), 0.5, now) == pytest.approx(
        np.array([[6.0], [10.0]]) / (0.5 * (now + 1))
    )


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_oracle_is_asked_within_the_radius_of_its_round(name, monkeypatch):
    """r_t in round t, at most the diameter."""

    class Watched(Simplex):
        def local_oracle(self):
            return super().local_oracle()

    domain = Watched(5)
    problem = Problem(domain, 9, 0.01, 1.0)
    learner = learners("online")["wdp-cocol-gaussian"](problem, [Setting(4, Budget(1e3, 1e-6))], 1, name)
    asked, real = [], learner.local.answer
    monkeypatch.setattr(
        learner.local, "answer", lambda weights, radius, cost: (asked.append(radius), real(weights, radius, cost))[1]
    )
    stream = make_stream("random-kink", domain)
    rngs = [np.random.default_rng(1)]
    play(learner, stream.rounds(rngs, 9), rngs, [9])
    wanted = [
        np.minimum(domain.diameter, radius(learner.schedule, learner.strong_convexity, now)) for now in range(1, 10)
    ]
    assert np.array(asked)[:, None, None] == pytest.approx(np.array(wanted))
    assert min(map(np.min, wanted)) < domain.diameter or name in ("paper", "printed")


def test_no_privacy_adds_nothing_to_the_gap():
    assert window_constant("gaussian", 16, math.inf, 1e-6, 4) == 0
    gaussian = window_constant("gaussian", 16, 1.0, 1e-6, 4)
    assert gaussian == pytest.approx(2 * 8 * math.log(1e6) * math.sqrt(math.log(20)))
