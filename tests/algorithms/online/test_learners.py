"""Learners of Table I: their updates against brute force, their counterparts, their invariants, their contract."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.wdp_cocol import local_radius
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream

PRIVATE = Setting(4, Budget(2.0, 1e-5))
CLEAN = Setting(4, Budget(math.inf, 1e-5))
LONG = 71  # rounds: more than a block of noise, many windows


def rngs(runs, seed=11):
    return [np.random.default_rng([seed, run]) for run in range(runs)]


def stream_for(kind, domain, name=None, **options):
    if name is None:
        quadratic, smooth = "quadratic" in kind.card.needs, "smooth" in kind.card.needs
        name = "lasso" if quadratic else "smooth-quadratic" if smooth else "norm-kink"
        if {"best-loss", "quadratic-sums"} & kind.card.needs:
            name = "realizable-direction" if smooth else "half-space"
    return make_stream(name, domain, **options)


def problem_of(domain, horizon, losses):
    best = getattr(losses, "best_loss", None)
    return Problem(domain, horizon, losses.lipschitz, losses.strong_convexity, losses.smoothness, best)


def place(name, set_name, dimension):
    """The nearest set on which a learner can play."""
    if name in ("sampled-sparse-vector", "l2p-sampled"):
        return "ball", dimension
    return set_name, min(dimension, 3) if name in ("net-sparse-vector", "l2p-net") else dimension


def start(name, variant=None, setting=PRIVATE, set_name="simplex", dimension=6, runs=2, horizon=64, stream=None):
    kind = learners("online")[name]
    domain = make_set(*place(name, set_name, dimension))
    losses = stream_for(kind, domain, stream)
    problem = problem_of(domain, horizon, losses)
    learner = kind(problem, [setting], runs, variant or next(iter(kind.card.variants)))
    return learner, losses


def trajectory(learner, losses, rounds, runs, seed=11, observe=None):
    """Points x_1..x_{rounds+1} and the noise that was used."""
    points, noises = [learner.point.copy()], []
    noise = iter([])
    if learner.noise_plan is not None:
        noise = (each for block in learner.noise_plan.blocks(rngs(runs, seed)) for each in block)
    for now, loss in zip(range(1, rounds + 1), losses.rounds(rngs(runs), rounds), strict=True):
        learner.round = now
        noises.append(next(noise, None))
        learner.observe(loss, loss.gradient(learner.point), noises[-1])
        if observe:
            observe(learner, now)
        points.append(learner.point.copy())
    return np.array(points), noises


ALL = [(name, variant) for name, kind in learners("online").items() for variant in kind.card.variants]


@pytest.mark.parametrize(("name", "variant"), ALL)
@pytest.mark.parametrize(("set_name", "dimension"), [("ball", 1), ("l1-ball", 3), ("simplex", 6)])
def test_contract(name, variant, set_name, dimension):
    """Plays points of the set, one round or many; a run does not depend on its neighbours."""
    few, losses = start(name, variant, set_name=set_name, dimension=dimension, runs=2, horizon=LONG)
    many, _ = start(name, variant, set_name=set_name, dimension=dimension, runs=3, horizon=LONG)
    one = play(few, losses.rounds(rngs(2), LONG), rngs(2), [1, 7, LONG])
    two = play(many, losses.rounds(rngs(3), LONG), rngs(3), [1, 7, LONG])
    assert (one.violation < 1e-9).all()
    assert np.array_equal(one.losses, two.losses[:, :2])
    bound = few.bound(LONG)
    assert (bound[:, 1:] >= bound[:, :-1]).all() or np.isnan(bound).all()


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_the_point_is_charged_that_was_played_before_its_loss_was_seen(name, variant):
    """`play` against a plain loop that looks at the points; odd rounds."""
    (learner, losses), (other, _) = (start(name, variant, horizon=21) for _ in range(2))
    record = play(learner, losses.rounds(rngs(2), 21), rngs(2), [1, 8, 21])
    other.begin(rngs(2))
    points, _ = trajectory(other, losses, 21, 2)
    seen = zip(losses.rounds(rngs(2), 21), points[:-1], strict=True)
    totals = np.cumsum([loss.value(point) for loss, point in seen], axis=0)
    assert record.losses == pytest.approx(np.moveaxis(totals[[0, 7, 20]], 0, -1), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_settings_do_not_disturb_each_other(name, variant):
    kind = learners("online")[name]
    domain = make_set(*place(name, "simplex", 4))
    losses = stream_for(kind, domain)
    problem = problem_of(domain, LONG, losses)
    mixed = [CLEAN, Setting(16, Budget(1.0, 1e-6)), PRIVATE]
    together = play(kind(problem, mixed, 2, variant), losses.rounds(rngs(2), LONG), rngs(2), [LONG])
    for index, setting in enumerate(mixed):
        alone = play(kind(problem, [setting], 2, variant), losses.rounds(rngs(2), LONG), rngs(2), [LONG])
        assert np.array_equal(alone.losses[0], together.losses[index])


@pytest.mark.parametrize(
    ("private", "counterpart", "variant"),
    [
        ("wdp-cocop-gamma", "ftal", "corrected"),
        ("wdp-cocop-gaussian", "ftal", "printed-noise"),
        ("pftal", "ftal", "corrected"),
        ("noise-per-gradient", "ftal", "corrected"),
        ("noise-per-prefix", "ftal", "corrected"),
        ("wdp-cocol-gamma", "lloo-ftal", "practical"),
        ("wdp-cocol-gaussian", "lloo-ftal", "proved"),
        ("wdp-cocol-gaussian", "lloo-ftal", "unsquared"),
        ("wdp-cocol-gamma", "lloo-ftal", "paper"),
        ("wdp-scofw-gaussian", "scofw", "corrected"),
        ("wdp-cocop-gaussian", "ftal", "root"),
        ("wdp-scofw-gaussian", "scofw", "buffers"),
    ],
)
def test_infinite_epsilon_is_the_non_private_counterpart(private, counterpart, variant):
    learner, losses = start(private, variant, CLEAN)
    other, _ = start(
        counterpart, variant if variant in learners("online")[counterpart].card.variants else "plain", CLEAN
    )
    one, _ = trajectory(learner, losses, 64, 2)
    two, _ = trajectory(other, losses, 64, 2)
    assert np.array_equal(one, two)


def surrogate_minimiser(domain, points, gradients, noise, mu):
    """argmin over the set of <sum g + z, x> + (mu/2) sum |x - x_s|^2, by projected gradient to convergence."""
    point = domain.center()
    total = np.sum(gradients, axis=0) + noise
    for _ in range(4000):
        slope = total + mu * (len(points) * point - np.sum(points, axis=0))
        point = domain.project(point - slope / (2 * mu * len(points)))
    return point


@pytest.mark.parametrize("set_name", ["ball", "simplex", "l1-ball"])
def test_cocop_step_minimises_the_private_surrogate(set_name):
    learner, losses = start("wdp-cocop-gaussian", set_name=set_name, stream="random-kink")
    points, noises = trajectory(learner, losses, 6, 2)
    stream = list(zip(range(6), losses.rounds(rngs(2), 6), strict=False))
    for now in range(1, 7):
        gradients = [loss.gradient(points[step])[0, 1] for step, loss in stream[:now]]
        best = surrogate_minimiser(
            learner.domain, points[:now, 0, 1], gradients, noises[now - 1][0, 1], losses.strong_convexity
        )
        assert points[now, 0, 1] == pytest.approx(best, abs=1e-8)


def test_printed_cocop_lacks_the_average():
    learner, losses = start("wdp-cocop-gaussian", "printed", set_name="ball")
    points, noises = trajectory(learner, losses, 5, 2)
    sums = np.zeros((2, 6))
    for now, loss in zip(range(1, 6), losses.rounds(rngs(2), 5), strict=True):
        gradient = loss.gradient(points[now - 1])[0]
        sums += points[now - 1, 0] - gradient / losses.strong_convexity
        expected = learner.domain.project(sums - noises[now - 1][0] / losses.strong_convexity)
        assert points[now, 0] == pytest.approx(expected)


@pytest.mark.parametrize("set_name", ["simplex", "l1-ball", "ball", "box"])
@pytest.mark.parametrize("variant", ["proved", "unsquared"])
@pytest.mark.parametrize("name", ["lloo-ftal", "wdp-cocol-gaussian"])
def test_cocol_stays_within_the_radius_of_the_leader(set_name, variant, name):
    """|x_t - argmin F_t| <= r_t, F_t with clean sums: the induction of Alg. 2."""
    learner, losses = start(name, variant, set_name=set_name, dimension=4, horizon=256)
    violations = 0

    def observe(learner, now):
        nonlocal violations
        mu, start_point = losses.strong_convexity, learner.domain.center()
        points, gradients = learner.compiled.kept("points"), learner.compiled.kept("gradients")
        regulariser = learner.schedule.regulariser[..., None]
        leader = learner.domain.project((points + regulariser * start_point - gradients / mu) / (now + regulariser))
        distance = np.linalg.norm(learner.point - leader, axis=-1)
        chosen = learner.schedule
        reach = local_radius.py_func(now + 1, mu, chosen.regulariser, chosen.outer, chosen.inner, chosen.growing)
        radius = np.minimum(learner.domain.diameter, reach)
        violations += int((distance > radius + 1e-12).sum())

    trajectory(learner, losses, 256, 2, observe=observe)
    assert violations == 0


def test_local_oracle_ftal_converges_to_the_projected_one():
    """On a smooth stream both follow the same leader: averages of late iterates agree."""
    linear, losses = start("lloo-ftal", "practical", stream="smooth-quadratic")
    projected, _ = start("ftal", stream="smooth-quadratic")
    one, _ = trajectory(linear, losses, 2048, 2)
    two, _ = trajectory(projected, losses, 2048, 2)
    assert np.abs(one[-1] - two[-1]).max() < 0.02


@pytest.mark.parametrize("name", ["pocp-igd", "pocp-giga"])
def test_pocp_sensitivity(name):
    """Replacing one loss moves the hidden iterate after round t by at most 2 L / (mu t)."""
    worst = 0.0
    for seed in range(10):
        for changed in (1, 2, 7, 20):
            learner, losses = start(name, setting=CLEAN, set_name="ball", stream="smooth-quadratic", dimension=3)
            other, _ = start(name, setting=CLEAN, set_name="ball", stream="smooth-quadratic", dimension=3)
            stream = zip(
                range(1, 41),
                losses.rounds(rngs(2, seed), 64),
                losses.rounds(rngs(2, seed + 100), 64),
                strict=False,
            )
            for now, loss, replacement in stream:
                learner.round = other.round = now
                learner.observe(loss, loss.gradient(learner.point), None)
                other_loss = replacement if now == changed else loss
                other.observe(other_loss, other_loss.gradient(other.point), None)
                distance = np.linalg.norm(
                    learner.compiled.kept("hidden") - other.compiled.kept("hidden"), axis=-1
                ).max()
                worst = max(worst, distance / (2 * losses.lipschitz / (losses.strong_convexity * now)))
    assert 0.05 < worst <= 1.0


@pytest.mark.parametrize("name", sorted(learners("online")))
def test_two_opposite_losses_are_what_a_plan_pays_for(name):
    """Gradients of length L may be opposite, so a sum moves by 2 L, and a point of POCP by 2 L / (mu t)."""
    learner, losses = start(name, set_name="ball", dimension=3)
    if learner.noise_plan is not None and name != "pqftl":  # which sums records of its own norm
        moved = 2 * losses.lipschitz / (losses.strong_convexity if name.startswith("pocp") else 1)
        assert learner.noise_plan.sensitivity == pytest.approx(moved, rel=1e-12)


def test_pqftl_without_noise_is_ridge_regression():
    learner, losses = start("pqftl", setting=CLEAN, set_name="ball", dimension=3, stream="lasso")
    points, _ = trajectory(learner, losses, 20, 2)
    rows = [(loss.features[0], loss.labels[0]) for _, loss in zip(range(20), losses.rounds(rngs(2), 20), strict=False)]
    features, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    mu = losses.strong_convexity

    def objective(x):
        return 0.5 * np.sum((labels - features @ x) ** 2) + 10 * mu * np.sum(x**2)

    best = minimize(objective, np.zeros(3), tol=1e-12).x
    assert points[20, 0, 0] == pytest.approx(learner.domain.project(best[None])[0], abs=1e-5)


@pytest.mark.parametrize("stream", ["norm-kink", "random-kink", "smooth-quadratic", "drift", "ridge-logistic"])
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("wdp-cocop-gamma", "corrected"),
        ("wdp-cocop-gaussian", "corrected"),
        ("wdp-cocop-gaussian", "root"),
        ("wdp-cocop-gaussian", "buffers"),
        ("ftal", "plain"),
        ("ogd", "plain"),
    ],
)
def test_explicit_bound_holds(stream, name, variant):
    domain = make_set("ball", 4)
    losses = make_stream(stream, domain)
    kind, checkpoints = learners("online")[name], [1, 2, 16, 128, 1024]
    problem = Problem(domain, 1024, losses.lipschitz, losses.strong_convexity, losses.smoothness)
    learner = kind(problem, [PRIVATE, CLEAN], 8, variant)
    record = play(learner, losses.rounds(rngs(8), 1024), rngs(8), checkpoints)
    regret = record.losses - losses.comparator(rngs(8), checkpoints).losses.T
    assert (regret.mean(axis=1) <= learner.bound(1024)[:, np.array(checkpoints) - 1]).all()


@pytest.mark.parametrize("name", ["wdp-cocop-gamma", "wdp-cocop-gaussian"])
def test_printed_step_has_linear_regret_and_the_corrected_one_does_not(name):
    growth = {}
    for variant in ("printed", "corrected"):
        learner, losses = start(name, variant, CLEAN, set_name="ball", dimension=3, runs=4, stream="smooth-quadratic")
        record = play(learner, losses.rounds(rngs(4), 4096), rngs(4), [512, 4096])
        regret = (record.losses - losses.comparator(rngs(4), [512, 4096]).losses.T).mean(axis=1)[0]
        growth[variant] = np.log(regret[1] / regret[0]) / np.log(8)
    assert growth["printed"] == pytest.approx(1.0, abs=0.05)
    assert growth["corrected"] < 0.3


def test_unknown_variants_and_unserved_problems_are_refused():
    domain = make_set("ball", 3)
    problem = Problem(domain, 8, 1.0, 1.0)
    with pytest.raises(ValueError, match="allowed are"):
        learners("online")["ftal"](problem, [CLEAN], 1, "corrected")
    with pytest.raises(ValueError, match="smooth"):
        learners("online")["pocp-giga"](problem, [CLEAN], 1, "corrected")


def test_a_loss_that_is_not_finite_is_never_recorded():
    class Broken:
        def value_and_gradient(self, points):
            return np.full(points.shape[:-1], np.nan), np.zeros_like(points)

    learner, _ = start("stay", set_name="ball")
    with pytest.raises(FloatingPointError, match="stay"):
        play(learner, iter([Broken()] * 4), rngs(2), [4])
