"""Speed of the batched loop: run with `make bench`. Nothing here asserts a time; the suite runs each body once."""

import resource
import time

import numpy as np
import pytest

from dpregret.algorithms import erm
from dpregret.algorithms.coco import catalogue
from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import BLOCK, Budget, NoisePlan, WindowTree, unit_noise
from dpregret.datasets.risks import make_risk
from dpregret.datasets.streams import make_stream

RUNS, DIMENSION, ROUNDS = 128, 32, 1024


def rngs():
    return [np.random.default_rng([1, run]) for run in range(RUNS)]


def cocop(horizon=ROUNDS):
    domain = make_set("ball", DIMENSION)
    stream = make_stream("norm-kink", domain)
    problem = Problem(domain, horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
    settings = [Setting(256, Budget(8.0, 1e-6))]
    return catalogue()["wdp-cocop-gaussian"](problem, settings, RUNS, "corrected"), stream


def test_batched_loop(benchmark):
    """COCOP, Gaussian window tree, l2 ball, d = 32, 128 runs: round-runs per CPU second, noise included."""

    def body():
        learner, stream = cocop()
        return play(learner, stream.rounds(rngs(), ROUNDS), rngs(), [ROUNDS])

    record = benchmark(body)
    generators = rngs()
    started = time.process_time()
    for _ in range(2 * ROUNDS // BLOCK):
        unit_noise("gaussian", generators, BLOCK, DIMENSION)
    bare = time.process_time() - started
    benchmark.extra_info["round_runs_per_cpu_second"] = round(ROUNDS * RUNS / record.seconds)
    benchmark.extra_info["ratio_to_bare_noise"] = round(record.seconds / bare, 2)
    assert np.isfinite(record.losses).all()


@pytest.mark.parametrize("law", ["gaussian", "gamma"])
def test_window_tree_noise(benchmark, law):
    plan = NoisePlan(law, [WindowTree(256)], [1.0], 1.0, DIMENSION)
    stream = plan.blocks(rngs())
    assert benchmark(lambda: next(stream)).shape == (BLOCK, 1, RUNS, DIMENSION)


@pytest.mark.parametrize("rounds", [2**10, 2**12])
def test_memory_does_not_grow_with_the_horizon(benchmark, rounds):
    """Peak resident memory is reported; the loop keeps one block of noise, log2 W nodes and a few state arrays."""
    learner, stream = cocop(rounds)
    benchmark.pedantic(lambda: play(learner, stream.rounds(rngs(), rounds), rngs(), [rounds]), rounds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    benchmark.extra_info["peak_mebibytes"] = peak
    assert learner.round == rounds


@pytest.mark.parametrize("samples", [2**13, 2**17, 2**20])
def test_private_frank_wolfe_on_lasso(benchmark, samples):
    """p = 4096, Gram updates: iteration-runs per CPU second, noise included; n must not matter."""
    runs = 16
    domain = make_set("l1-ball", 4096)
    risk = make_risk("hetero-consensus", domain, samples, [np.random.default_rng(run) for run in range(runs)])
    learner = erm.catalogue()["private-fw"](ErmProblem(domain, risk), [Budget(1.0, 1e-6)], runs, "balanced")
    generators = [np.random.default_rng([2, run]) for run in range(runs)]
    started = time.process_time()
    points = benchmark.pedantic(lambda: learner.fit(generators), rounds=1)
    rate = learner.iterations()[0] * runs / (time.process_time() - started)
    benchmark.extra_info["iteration_runs_per_cpu_second"] = round(rate)
    assert domain.violation(points).max() < 1e-9
