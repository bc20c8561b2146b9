"""Ours against others, at the same work where there is such a thing; what a peer does more is said in the remark.

Peers are installed by hand (requirements/peers.in); where one is missing its test is skipped, and the table says so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from bench_draws import plain
from bench_peers import (
    DenseSquares,
    buffered_toeplitz,
    diffprivlib_mechanisms,
    fused,
    need,
    textbook,
    tree_aggregation,
)
from bench_problems import NOISE, Case, Size
from bench_race import Race, clock

from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.frank_wolfe import FrankWolfe
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import BLOCK, Budget, NoisePlan, WindowTree, unit_noise
from dpregret.datasets.losses import RidgeSquared

HORIZON = 2**20
LAPS = 5


def compare(
    race: Race, peer: str, version: str, what: str, unit: str, ours: tuple[Callable[[], float], float],
    theirs: tuple[Callable[[], float], float], remark: str,
) -> None:  # fmt: skip
    """One row of peers.csv. Each contestant comes with how many units of work one call of it is."""
    own, other = race.seconds(ours[0], theirs[0], rounds=LAPS)
    factor = {"us": 1e6, "ns": 1e9}[unit.split()[0]]
    mine, their = factor * min(own) / ours[1], factor * min(other) / theirs[1]
    race.note(
        "peers", peer=peer, version=version, what=f"{what}, {unit}", ours=mine, theirs=their,
        ratio=their / mine if mine else math.inf, remark=remark,
    )  # fmt: skip


def covering(runs: int, dimension: int, rounds: int) -> Case:
    """COCOP whose window covers the horizon: the plain tree."""
    return Case("online", "wdp-cocop-gaussian", Size(runs, dimension, rounds, "ball", window=HORIZON))


def loop_of(rounds: int, dimension: int) -> tuple[tuple[Any, ...], float]:
    """The loop's constant arguments, and what our learner loses in one run with the same draws."""
    case = covering(1, dimension, rounds)
    problem, losses = case.online()
    learner = case.kind(problem, [Setting(HORIZON, case.budgets[0])], 1, "corrected")
    record = play(learner, losses, plain(NOISE, 1), [rounds])
    assert learner.noise_plan is not None
    return (make_set("ball", dimension).target(), rounds, learner.noise_plan.scales[0], 1.0), float(
        record.losses[0, 0, 0]
    )


@pytest.mark.parametrize("dimension", [8, 32, 128])
def test_textbook_loop(race: Race, dimension: int) -> None:
    """The same draws give the same losses."""
    rounds = 64 if race.quick else 1024
    arguments, expected = loop_of(rounds, dimension)
    assert textbook(*plain(NOISE, 1), *arguments)[1] == pytest.approx(expected, rel=1e-9)
    runs = 2 if race.quick else max(128, 4096 // dimension)
    batch = covering(runs, dimension, rounds)
    generator = np.random.default_rng(0)
    compare(
        race, "textbook loop", "", f"COCOP round, plain tree, l2 ball, d = {dimension}, {runs} runs", "us a round-run",
        (batch.play, rounds * runs), (clock(lambda: textbook(generator, *arguments)), rounds),
        "one run after the other in plain NumPy; the same points",
    )  # fmt: skip


@pytest.mark.parametrize("dimension", [8, 32, 128])
def test_numba_whole_loop(race: Race, dimension: int) -> None:
    """numba's generator gives the same draws, hence the same losses."""
    numba, version = need("numba")
    rounds = 64 if race.quick else 1024
    arguments, expected = loop_of(rounds, dimension)
    compiled = numba.njit(fused)
    assert compiled(*plain(NOISE, 1), *arguments)[1] == pytest.approx(expected, rel=1e-9)
    runs = 2 if race.quick else max(128, 4096 // dimension)
    batch = covering(runs, dimension, rounds)
    generator = np.random.default_rng(0)

    def every_run() -> None:  # one alone, after ours has filled the caches, would be at a loss
        for _ in range(runs):
            compiled(generator, *arguments)

    compare(
        race, "numba", version, f"COCOP round, plain tree, l2 ball, d = {dimension}, {runs} runs", "us a round-run",
        (batch.play, rounds * runs), (clock(every_run), rounds * runs),
        "the whole loop written out and compiled, compilation not counted; the same points; serves this set, this "
        "mechanism and this loss alone",
    )  # fmt: skip


def test_river(race: Race) -> None:
    """Online ridge regression, x - g / (mu t); the ball is so large that our projection never moves a point."""
    _, version = need("river")
    from river import linear_model, optim  # pyright: ignore[reportMissingImports]

    runs, dimension, rounds, mu = (2, 4, 20, 0.5) if race.quick else (128, 32, 512, 0.5)
    generator = np.random.default_rng(3)
    features = generator.standard_normal((rounds, runs, dimension)) / dimension**0.5
    labels = np.clip(generator.standard_normal((rounds, runs)), -1.0, 1.0)
    losses = [RidgeSquared(each, label, mu) for each, label in zip(features, labels, strict=True)]
    problem = Problem(make_set("ball", dimension, radius=1e6), rounds, 1.0, mu)

    def ours() -> Any:
        learner = learners("online")["ogd"](problem, [Setting(1, Budget(math.inf))], runs, "plain")
        return learner, play(learner, losses, plain(NOISE, runs), [rounds]).seconds

    half = math.sqrt(0.5)  # river's squared loss has no 1/2
    rows = [dict(enumerate((half * features[now, 0]).tolist())) for now in range(rounds)]
    targets = (half * labels[:, 0]).tolist()

    def theirs() -> Any:
        rate = optim.schedulers.InverseScaling(1 / mu, power=1.0)
        model = linear_model.LinearRegression(optim.SGD(rate), l2=mu, intercept_lr=0.0)
        for row, target in zip(rows, targets, strict=True):
            model.learn_one(row, target)
        return model

    weights = np.array([theirs().weights[each] for each in range(dimension)])
    assert np.allclose(ours()[0].point[0, 0], weights, rtol=1e-9, atol=1e-12)
    compare(
        race, "river", version, f"online ridge regression, d = {dimension}, {runs} runs", "us a round-run",
        (lambda: float(ours()[1]), rounds * runs), (clock(theirs), rounds),
        "one run after the other, features in dictionaries; the same points. Ours also projects and sums losses",
    )  # fmt: skip


@pytest.mark.parametrize("runs", [1, 16])
def test_copt(race: Race, runs: int) -> None:
    """Frank-Wolfe with the step 2/(t+2) on dense least squares, whose gradient is nearly all of the work."""
    copt, version = need("copt")
    samples, dimension, steps = (20, 5, 6) if race.quick else (2000, 500, 60)
    risk, domain = DenseSquares(samples, dimension), make_set("l1-ball", dimension)
    kind = type("FrankWolfe", (FrankWolfe,), {"MAX_ITERATIONS": steps})
    learner = kind(ErmProblem(domain, risk), [Budget(math.inf)], runs, "plain")
    ball = copt.constraint.L1Ball(1.0)

    def theirs() -> Any:
        return copt.minimize_frank_wolfe(
            risk.value_and_gradient, np.zeros(dimension), ball.lmo, jac=True, step=lambda now: 2 / (now["it"] + 3),
            lipschitz=1.0, max_iter=steps - 1, tol=0.0,
        )  # fmt: skip

    assert np.allclose(learner.fit(plain(NOISE, runs))[0, 0], theirs().x, atol=1e-12)
    compare(
        race, "copt", version, f"Frank-Wolfe step, n = {samples}, p = {dimension}, {runs} runs", "us a step-run",
        (clock(lambda: learner.fit(plain(NOISE, runs))), (steps - 1) * runs), (clock(theirs), steps - 1),
        "the same points; copt also keeps the risk and the duality gap of every step",
    )  # fmt: skip


def prefix_noise(race: Race) -> tuple[Callable[[], float], float, int]:
    """Our plain tree on 128 runs and d = 32, and how many coordinates a call gives."""
    runs, dimension = (2, 3) if race.quick else (128, 32)
    blocks = NoisePlan("gaussian", [WindowTree(HORIZON)], [1.7], 1.0, dimension).blocks(plain(NOISE, runs))
    return clock(lambda: next(blocks)), BLOCK * runs * dimension, runs * dimension


def test_tensorflow_privacy(race: Race) -> None:
    """With ones for noises the tree of both gives popcount(t)."""
    aggregation = tree_aggregation()
    import tensorflow

    ours, numbers, coordinates = prefix_noise(race)
    counter = aggregation.TreeAggregator(lambda: tensorflow.ones((1,)))
    state, counts = counter.init_state(), []
    for _ in range(7):
        noise, state = counter.get_cumsum_and_update(state)
        counts.append(float(noise[0]))
    assert np.array_equal(counts, WindowTree(HORIZON).noisy_nodes(7))
    shape = tensorflow.TensorSpec((coordinates,))
    aggregator = aggregation.TreeAggregator(aggregation.GaussianNoiseGenerator(1.7, shape, seed=1))
    steps = 2 if race.quick else 64

    def theirs() -> None:
        state = aggregator.init_state()
        for _ in range(steps):
            _, state = aggregator.get_cumsum_and_update(state)

    theirs()
    compare(
        race, "tensorflow-privacy", need("tensorflow", "tensorflow-privacy")[1], f"tree noise, {coordinates} wide",
        "ns a coordinate", (ours, numbers), (clock(theirs), steps * coordinates),
        "TreeAggregator, compiled, single precision; its file alone, since the package needs an older TensorFlow",
    )  # fmt: skip


def test_jax_privacy(race: Race) -> None:
    """Another mechanism for the same prefix sums, of less variance: nothing here is the same work but the draw."""
    jax, _ = need("jax")
    _, version = need("jax_privacy")
    ours, numbers, coordinates = prefix_noise(race)
    jax.config.update("jax_enable_x64", True)
    rounds = 2 if race.quick else 256
    theirs = buffered_toeplitz(jax, coordinates, rounds)
    assert np.isfinite(np.asarray(theirs())).all()
    compare(
        race, "jax_privacy", version, f"noise for prefix sums, {coordinates} wide", "ns a coordinate", (ours, numbers),
        (clock(theirs), rounds * coordinates),
        "buffered Toeplitz factorisation with 4 buffers, compiled scan in double precision, all threads' CPU time; "
        "another mechanism, with less variance than a tree",
    )  # fmt: skip


def numbers_of(distribution: str) -> tuple[Callable[[], float], float]:
    """Our unit noise: 64 rounds, 128 runs, d = 32."""
    generators = plain(NOISE, 128)
    return clock(lambda: unit_noise(distribution, generators, BLOCK, 32)), BLOCK * 128 * 32  # type: ignore[arg-type]


def check_law(values: np.ndarray, variance: float) -> None:
    """Mean and variance within six standard errors (fourth moments of both laws are below 6 variances squared)."""
    error = 6 * math.sqrt(variance / len(values))
    assert abs(values.mean()) < error
    assert abs(values.var() - variance) < error * math.sqrt(6 * variance)


@pytest.mark.parametrize(("distribution", "variance"), [("gaussian", 1.0), ("laplace", 2.0)])
def test_opendp(race: Race, distribution: str, variance: float) -> None:
    dp, version = need("opendp.prelude", "opendp")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    metric = dp.l2_distance(T=float) if distribution == "gaussian" else dp.l1_distance(T=float)
    noise = {"gaussian": dp.m.make_gaussian, "laplace": dp.m.make_laplace}[distribution](space, metric, 1.0)
    zeros = [0.0] * (200 if race.quick else 2000)
    check_law(np.array(noise(zeros)), variance)
    compare(
        race, "OpenDP", version, f"{distribution} noise", "ns a number", numbers_of(distribution),
        (clock(lambda: noise(zeros)), len(zeros)),
        "secure random numbers, an exact discrete law on a fine grid: a release mechanism, which ours is not",
    )  # fmt: skip


@pytest.mark.parametrize(("distribution", "variance"), [("gaussian", 1.0), ("laplace", 2.0)])
def test_diffprivlib(race: Race, distribution: str, variance: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanisms = diffprivlib_mechanisms()
    if distribution == "laplace":
        mechanism = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    else:
        mechanism = mechanisms.GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=1.0)
        variance = mechanism._scale**2
    count = 200 if race.quick else 2000

    def theirs() -> list[float]:
        return [mechanism.randomise(0.0) for _ in range(count)]

    check_law(np.array(theirs()), variance)
    compare(
        race, "diffprivlib", need("numpy", "diffprivlib")[1], f"{distribution} noise", "ns a number",
        numbers_of(distribution), (clock(partial(theirs)), count),
        "number by number, secure random numbers, sampled against floating-point attacks; its mechanisms alone, since "
        "its models need an older scikit-learn",
    )  # fmt: skip
