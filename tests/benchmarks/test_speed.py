"""What plays and noise cost, and others at the same work: `make bench`. Members of a group do the same work."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from drawn import generators

import dpregret as dp
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.frank_wolfe import FrankWolfe
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, learners, play
from dpregret.algorithms.privacy import (
    BLOCK,
    Budget,
    BufferedToeplitz,
    NoisePlan,
    PrefixSums,
    WindowBuffers,
    WindowRoot,
    WindowTree,
    calibrate,
    unit_noise,
)
from dpregret.algorithms.privacy.budget import gaussian_mu
from dpregret.core.losses import Losses
from dpregret.datasets.losses import RidgeSquared
from dpregret.datasets.risks import make_risk
from dpregret.workflows.families.interface import generators as draws


@pytest.fixture
def small(benchmark: Any, request: pytest.FixtureRequest) -> bool:
    """Whether nobody looks at the times: each body runs once, on small sizes. Benchmarks measure what is compiled."""
    if not benchmark.disabled:
        request.getfixturevalue("compiled")
    return bool(benchmark.disabled)


PLAYS = {
    "wdp-cocop-gaussian": {"stream": "norm-kink", "dimension": 32, "rounds": 4096, "window": 256},
    "wdp-cocop-gamma": {"stream": "norm-kink", "dimension": 128, "rounds": 2048, "window": 256},
    "wdp-cocol-gaussian": {"stream": "norm-kink", "dimension": 16, "rounds": 2048, "window": 16, "set": "simplex"},
    "dp-ftrl": {"stream": "realizable-direction", "dimension": 8, "rounds": 4096},
    "ftal": {"stream": "norm-kink", "dimension": 32, "rounds": 4096},
    "sparse-vector": {"stream": "bernoulli", "dimension": 1024, "rounds": 2**16},
    "private-bandit-gaussian": {"stream": "linear", "dimension": 4, "rounds": 4096},
    "private-fw": {"stream": "hetero-consensus", "dimension": 64, "rounds": 2**14, "set": "l1-ball"},
}
"""Learners of every family, a fraction of a second each."""
RUNS, DIMENSION = 128, 32
MECHANISMS: dict[str, PrefixSums | None] = {
    "bare numbers": None,
    "plain tree": WindowTree(2**20),
    "window tree, W = 256": WindowTree(256),
    "window root, W = 256": WindowRoot(256),
    "window buffers, W = 256": WindowBuffers(256),
}


@pytest.mark.benchmark(group="plays")
@pytest.mark.parametrize("learner", PLAYS)
def test_play(benchmark: Any, small: bool, learner: str) -> None:
    """A whole play as a user asks for it, 16 runs: problem, losses, learner, comparator."""
    settings: dict[str, Any] = {**PLAYS[learner], **({"rounds": 256, "dimension": 4, "runs": 2} if small else {})}
    played = benchmark.pedantic(dp.play, (learner,), settings, rounds=5, warmup_rounds=1)
    assert np.isfinite(played.last["regret"]).all()


@pytest.mark.benchmark(group=f"noise of {BLOCK} rounds, {RUNS} runs, d = {DIMENSION}")
@pytest.mark.parametrize("name", MECHANISMS)
def test_noise(benchmark: Any, small: bool, name: str) -> None:
    """A block of the noise of a prefix sum, beside as many numbers of NumPy's generator that nothing is done with."""
    shape = (BLOCK, 2, 3) if small else (BLOCK, RUNS, DIMENSION)
    mechanism = MECHANISMS[name]
    if mechanism is None:
        generator = np.random.default_rng(0)
        drawn = benchmark(lambda: generator.standard_normal(shape))
    else:
        plan = NoisePlan("gaussian", [mechanism], [1.7], 1.0, shape[2])
        blocks = plan.blocks([np.random.default_rng(run) for run in range(shape[1])])
        for _ in range(8):  # until a window of 256 rounds has passed
            next(blocks)
        drawn = benchmark(lambda: next(blocks))
    assert np.asarray(drawn).size >= np.prod(shape)


# Ours and others at the same work, with the same results: a textbook loop, and the libraries of `make peers`


def textbook(generator: np.random.Generator, anchor: np.ndarray, rounds: int, scale: float) -> float:
    """Total loss of COCOP on the unit ball in one run, W >= T, as a paper prints it: |x - a| + |x - a|^2 / 2, mu = 1.

    The tree keeps a noise a level; round t replaces the level of its lowest set bit and drops the finer ones.
    """
    levels = np.zeros((64, len(anchor)))
    point, total, loss = np.zeros(len(anchor)), np.zeros(len(anchor)), 0.0
    for now in range(1, rounds + 1):
        offset = point - anchor
        distance = np.sqrt(np.sum(offset * offset))
        loss += distance * (1.0 + 0.5 * distance)
        total += point - offset * (1.0 / max(distance, 1e-300) + 1.0)
        lowest = 0
        while not (now >> lowest) & 1:
            lowest += 1
        levels[:lowest] = 0.0
        levels[lowest] = scale * generator.standard_normal(len(anchor))
        leader = (total - levels.sum(axis=0)) / now
        point = leader / max(np.sqrt(np.sum(leader * leader)), 1.0)
    return float(loss)


@numba.njit
def fused(generator: np.random.Generator, anchor: np.ndarray, rounds: int, scale: float) -> float:
    """The same written for a compiler: coordinate by coordinate, and one addition a round for the tree.

    The noise of prefix t is that of prefix t & (t - 1) plus a fresh one, so that a level keeps the noise of a prefix.
    """
    d = len(anchor)
    prefix, point, total, loss = np.zeros((64, d)), np.zeros(d), np.zeros(d), 0.0
    for now in range(1, rounds + 1):
        square = 0.0
        for k in range(d):
            square += (point[k] - anchor[k]) ** 2
        distance = np.sqrt(square)
        loss += distance * (1.0 + 0.5 * distance)
        slope, lowest, older = 1.0 / max(distance, 1e-300) + 1.0, 0, now & (now - 1)
        while not (now >> lowest) & 1:
            lowest += 1
        above = lowest
        while older and not (older >> above) & 1:
            above += 1
        square = 0.0
        for k in range(d):
            total[k] += point[k] - slope * (point[k] - anchor[k])
            noise = scale * generator.standard_normal() + (prefix[above, k] if older else 0.0)
            prefix[lowest, k] = noise
            point[k] = (total[k] - noise) / now
            square += point[k] ** 2
        length = max(np.sqrt(square), 1.0)
        for k in range(d):
            point[k] /= length
    return loss


LOOPS = {"NumPy": textbook, "numba": numba.njit(textbook), "numba, by coordinates": fused}


@pytest.mark.benchmark(group="COCOP with a plain tree, T = 4096, d = 32")
@pytest.mark.parametrize("runs", [2, 32])
@pytest.mark.parametrize("who", ["dpregret", *LOOPS])
def test_cocop(benchmark: Any, small: bool, who: str, runs: int) -> None:
    """`dp.play` with all that it answers, beside a loop by hand for this set, this mechanism and this loss alone."""
    rounds, dimension = (64, 4) if small else (4096, 32)
    setting: dict[str, Any] = {"stream": "norm-kink", "rounds": rounds, "dimension": dimension, "epsilon": 8.0}
    setting["runs"] = runs = min(runs, 3) if small else runs
    played, anchor = dp.play("wdp-cocop-gaussian", **setting), make_set("ball", dimension).target()

    def by_hand() -> list[float]:
        noises = draws(20201214, "noise", runs)
        loop = getattr(LOOPS[who], "py_func", LOOPS[who]) if small else LOOPS[who]
        return [loop(noise, anchor, rounds, played.noise_scale) for noise in noises]

    if who == "dpregret":
        benchmark(dp.play, "wdp-cocop-gaussian", **setting)
    else:
        assert by_hand() == pytest.approx(played.last["regret"].to_numpy(), rel=1e-9)
        benchmark(by_hand)


@pytest.mark.benchmark(group="32 points onto a permutahedron, d = 64")
@pytest.mark.parametrize("who", ["dpregret", "scikit-learn"])
def test_isotonic_projection(benchmark: Any, small: bool, who: str) -> None:
    """y less the isotonic regression of sorted y - w; ours by its set, and row by row by scikit-learn's."""
    isotonic = pytest.importorskip("sklearn.isotonic")
    domain = make_set("permutahedron", 8 if small else 64)
    points = 3.0 * np.random.default_rng(2).standard_normal((32, domain.dimension))

    def theirs() -> np.ndarray:
        answer = np.empty_like(points)
        for into, point in zip(answer, points, strict=True):
            order = np.argsort(-point)
            into[order] = point[order] - isotonic.isotonic_regression(point[order] - domain.weights, increasing=False)
        return answer

    assert theirs() == pytest.approx(domain.project(points), abs=1e-9)
    benchmark((lambda: domain.project(points)) if who == "dpregret" else theirs)


@pytest.mark.benchmark(group="a point onto a set, d = 16")
@pytest.mark.parametrize("name", ["ball", "simplex", "l1-ball"])
@pytest.mark.parametrize("who", ["dpregret", "cvxpy"])
def test_projection(benchmark: Any, small: bool, who: str, name: str) -> None:
    """cvxpy with the problem compiled once, and CLARABEL as its solver."""
    cvxpy = pytest.importorskip("cvxpy")
    domain = make_set(name, 16)
    point = 2.0 * np.random.default_rng(4).standard_normal(16)
    variable, goal = cvxpy.Variable(16), cvxpy.Parameter(16)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(variable - goal)), domain.cvxpy_constraints(variable))
    goal.value = point

    def theirs() -> np.ndarray:
        problem.solve(solver=cvxpy.CLARABEL)
        return np.asarray(variable.value)

    assert theirs() == pytest.approx(domain.project(point[None])[0], abs=1e-4)
    benchmark((lambda: domain.project(point[None])) if who == "dpregret" else theirs)


@pytest.mark.benchmark(group="noise of 100 Gaussian releases for eps = 1")
@pytest.mark.parametrize("who", ["dpregret", "dp-accounting, RDP", "dp-accounting, PLD"])
def test_calibration(benchmark: Any, small: bool, who: str) -> None:
    """To four digits; RDP bounds the loss, PLD computes it."""
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import pld, rdp

    releases, budget = 3 if small else 100, Budget(1.0, 1e-6)
    accountant = rdp.RdpAccountant if who.endswith("RDP") else pld.PLDAccountant

    def theirs() -> float:
        return float(
            dp_accounting.calibrate_dp_mechanism(
                accountant,
                lambda noise: dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(noise), releases),
                budget.epsilon, budget.delta, dp_accounting.ExplicitBracketInterval(1.0, 1000.0), tol=1e-3,
            )
        )  # fmt: skip

    def ours() -> float:
        gaussian_mu.cache_clear()
        return calibrate("gaussian", budget, 1.0, releases)

    if who == "dpregret":
        benchmark(ours)
        return
    assert theirs() >= ours() * (1 - 1e-3)
    if who.endswith("PLD"):
        assert theirs() == pytest.approx(ours(), rel=1e-2)
    benchmark.pedantic(theirs, rounds=5)


@pytest.mark.benchmark(group="noise of 256 prefix sums, 4096 numbers wide")
@pytest.mark.parametrize("who", ["dpregret", "jax_privacy"])
def test_buffered_noise(benchmark: Any, small: bool, who: str) -> None:
    """Buffered Toeplitz factorisation with 4 buffers: ours for 128 runs of 32 numbers, theirs as one compiled scan."""
    jax = pytest.importorskip("jax")
    blt = pytest.importorskip("jax_privacy.matrix_factorization.buffered_toeplitz")
    jax.config.update("jax_enable_x64", True)
    rounds, runs = (BLOCK, 2) if small else (256, 128)
    matrix = blt.BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=4).inverse_as_streaming_matrix()

    @jax.jit  # type: ignore[untyped-decorator]
    def scanned(key: Any) -> Any:
        def one(carried: Any, each: Any) -> tuple[Any, None]:
            state, total = carried
            mixed, state = matrix.multiply_next(jax.random.normal(each, (32 * runs,)), state)
            return (state, total + mixed), None

        zero = jax.numpy.zeros(32 * runs)
        (_, total), _ = jax.lax.scan(one, (matrix.init_multiply(zero), zero), jax.random.split(key, rounds))
        return total

    plan = NoisePlan("gaussian", [BufferedToeplitz(rounds + 1, 4)], [1.7], 1.0, 32)

    def ours() -> list[np.ndarray]:
        blocks = plan.blocks(generators(runs))
        return [next(blocks) for _ in range(rounds // BLOCK)]

    def theirs() -> Any:
        return scanned(jax.random.key(0)).block_until_ready()

    assert np.isfinite(np.asarray(theirs())).all()
    benchmark(ours if who == "dpregret" else theirs)


@pytest.mark.benchmark(group="ridge regression, 512 rounds of one run, d = 32")
@pytest.mark.parametrize("who", ["dpregret", "river"])
def test_ridge_regression(benchmark: Any, small: bool, who: str) -> None:
    """x - g / (mu t); the ball is so large that our projection never moves a point."""
    pytest.importorskip("river")
    from river import linear_model, optim  # pyright: ignore[reportMissingImports]

    dimension, rounds, mu = (4, 20, 0.5) if small else (32, 512, 0.5)
    generator = np.random.default_rng(3)
    features = generator.standard_normal((rounds, 1, dimension)) / dimension**0.5
    labels = np.clip(generator.standard_normal((rounds, 1)), -1.0, 1.0)
    losses = Losses(RidgeSquared, [features, labels], [mu])
    problem = Problem(make_set("ball", dimension, radius=1e6), rounds, 1.0, mu)
    half = math.sqrt(0.5)  # river's squared loss has no 1/2
    rows = [dict(enumerate((half * features[now, 0]).tolist())) for now in range(rounds)]

    def ours() -> np.ndarray:
        learner = learners("online")["ogd"](problem, [Setting(1, Budget(math.inf))], 1, "plain")
        play(learner, losses, generators(1), [rounds])
        return np.asarray(learner.point[0, 0])

    def theirs() -> np.ndarray:
        rate = optim.schedulers.InverseScaling(1 / mu, power=1.0)
        model = linear_model.LinearRegression(optim.SGD(rate), l2=mu, intercept_lr=0.0)
        for row, target in zip(rows, (half * labels[:, 0]).tolist(), strict=True):
            model.learn_one(row, target)
        return np.array([model.weights[each] for each in range(dimension)])

    assert np.allclose(ours(), theirs(), rtol=1e-9, atol=1e-12)
    benchmark(ours if who == "dpregret" else theirs)


@pytest.mark.benchmark(group="Frank-Wolfe, 60 steps, n = 2000, p = 500")
@pytest.mark.parametrize("who", ["dpregret", "copt"])
def test_frank_wolfe(benchmark: Any, small: bool, who: str) -> None:
    copt = pytest.importorskip("copt")
    samples, dimension, steps = (20, 5, 6) if small else (2000, 500, 60)
    domain = make_set("l1-ball", dimension)
    risk: Any = make_risk("lasso-easy", domain, samples, generators(1), sparsity=2)
    kind: Any = type("FrankWolfe", (FrankWolfe,), {"MAX_ITERATIONS": steps})
    learner = kind(ErmProblem(domain, risk), [Budget(math.inf)], 1, "plain")

    def theirs() -> Any:
        return copt.minimize_frank_wolfe(
            lambda point: (float(risk.value(point[None])[0]), risk.gradient(point[None])[0]),
            np.zeros(dimension),
            copt.constraint.L1Ball(1.0).lmo,
            jac=True,
            step=lambda now: 2 / (now["it"] + 3),
            lipschitz=1.0,
            max_iter=steps - 1,
            tol=0.0,
        ).x

    assert np.allclose(learner.fit(generators(1))[0, 0], theirs(), atol=1e-12)
    benchmark((lambda: learner.fit(generators(1))) if who == "dpregret" else theirs)


@pytest.mark.benchmark(group="2048 Gaussian numbers")
@pytest.mark.parametrize("who", ["dpregret", "OpenDP"])
def test_gaussian_noise(benchmark: Any, small: bool, who: str) -> None:
    """OpenDP's are secure, of an exact discrete law on a fine grid: made for a release, as ours are not."""
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l2_distance(T=float)
    noise, own = opendp.m.make_gaussian(*space, 1.0), generators(2048 // BLOCK // 32)
    drawn = benchmark(
        (lambda: unit_noise("gaussian", own, BLOCK, 32)) if who == "dpregret" else lambda: noise([0.0] * 2048)
    )
    assert abs(np.mean(drawn)) < 6 / math.sqrt(2048)
    assert abs(np.var(drawn) - 1) < 6 * math.sqrt(2 / 2048)
