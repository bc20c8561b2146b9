"""What sweeps need not measure: regret scales with the losses; most regret of the proved constants is their radius."""

import numpy as np
import pytest

from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import Budget, NoisePlan
from dpregret.datasets.streams import make_stream

ROUNDS, RUNS = 200, 2


def regret(name, variant, place, dimension, mu, lipschitz, rounds=ROUNDS, window=4, silent=False):
    """Regret after half the rounds and after all, mean over runs; silent: calibrated as ever, noise all but zero."""
    domain = make_set(place, dimension)
    stream = make_stream("norm-kink", domain, strong_convexity=mu, lipschitz=lipschitz)
    told = Problem(CountedSet(domain), rounds, stream.lipschitz, stream.strong_convexity, stream.smoothness)
    learner = learners("online")[name](told, [Setting(window, Budget(4.0, 1e-6))], RUNS, variant)
    if silent:
        plan = learner.noise_plan
        learner.noise_plan = NoisePlan(plan.distribution, plan.mechanisms, [1e-12], plan.sensitivity, plan.dimension)
    data, noise = ([np.random.default_rng([seed, run]) for run in range(RUNS)] for seed in (1, 2))
    return play(learner, stream.rounds(data, rounds), noise, [rounds // 2, rounds]).losses[0].mean(axis=0)


@pytest.mark.parametrize(
    ("name", "variant", "place"),
    [
        ("wdp-cocop-gamma", "corrected", "ball"), ("wdp-cocop-gaussian", "printed-noise", "ball"),
        ("wdp-cocol-gaussian", "practical", "simplex"), ("noise-per-gradient", "corrected", "box"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("factor", [0.125, 3.0])
def test_regret_scales_with_mu_and_lipschitz_together(name, variant, place, factor):
    once = regret(name, variant, place, 3, 0.25, 2.0)
    scaled = regret(name, variant, place, 3, 0.25 * factor, 2.0 * factor)
    assert scaled == pytest.approx(factor * once, rel=1e-9)


def test_the_regret_of_proved_constants_is_that_of_their_radius():
    slopes = {}
    for variant in ("proved", "practical"):
        loud, quiet = (
            np.diff(regret("wdp-cocol-gaussian", variant, "simplex", 8, 1.0, 2.5, 2**11, 16, silent))[0]
            for silent in (False, True)
        )
        slopes[variant] = quiet / loud
    assert slopes["proved"] > 0.95
    assert slopes["practical"] < 0.75
