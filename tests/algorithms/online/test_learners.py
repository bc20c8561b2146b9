"""Learners of Table I: their updates against brute force, their counterparts, their invariants, their contract."""

import math

import numpy as np
import pytest
from drawn import generators
from scipy.optimize import minimize

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.algorithms.learner import Problem, Setting, learners, play
from dpregret.algorithms.online.blocked_descent import PrivateBlockedDescent
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader
from dpregret.algorithms.online.restarted_leader import RestartedLeader
from dpregret.algorithms.online.wdp_cocol import PROVEN, SCHEDULES, Terms, local_radius, window_constant
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.audit import materialise
from dpregret.algorithms.privacy.trees import BlockTrees
from dpregret.datasets.streams import make_stream

PRIVATE = Setting(4, Budget(2.0, 1e-5))
CLEAN = Setting(4, Budget(math.inf, 1e-5))


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
    return set_name, min(dimension, 3) if name in ("net-sparse-vector", "l2p-net", "dartboard-net") else dimension


def start(name, variant=None, setting=PRIVATE, set_name="simplex", dimension=6, runs=2, horizon=64, stream=None):
    kind = learners("online")[name]
    domain = make_set(*place(name, set_name, dimension))
    losses = stream_for(kind, domain, stream)
    problem = problem_of(domain, horizon, losses)
    learner = kind(problem, [setting], runs, variant or next(iter(kind.card.variants)))
    return learner, losses


def trajectory(learner, losses, rounds, runs, seed=0, observe=None):
    """Points x_1..x_{rounds+1} and the noise that was used."""
    points, noises = [learner.point.copy()], []
    noise = iter([])
    if learner.noise_plan is not None:
        noise = (each for block in learner.noise_plan.blocks(generators(runs, seed)) for each in block)
    for now, loss in zip(range(1, rounds + 1), losses.rounds(generators(runs), rounds), strict=True):
        learner.round = now
        noises.append(next(noise, None))
        learner.observe(loss, loss.gradient(learner.point), noises[-1])
        if observe:
            observe(learner, now)
        points.append(learner.point.copy())
    return np.array(points), noises


ALL = [(name, variant) for name, kind in learners("online").items() for variant in kind.card.variants]


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_the_point_is_charged_that_was_played_before_its_loss_was_seen(name, variant):
    """`play` against a plain loop that looks at the points; odd rounds."""
    (learner, losses), (other, _) = (start(name, variant, horizon=21) for _ in range(2))
    record = play(learner, losses.rounds(generators(2), 21), generators(2), [1, 8, 21])
    assert (record.violation < 1e-9).all()
    other.begin(generators(2))
    points, _ = trajectory(other, losses, 21, 2)
    seen = zip(losses.rounds(generators(2), 21), points[:-1], strict=True)
    totals = np.cumsum([loss.value(point) for loss, point in seen], axis=0)
    assert record.losses == pytest.approx(np.moveaxis(totals[[0, 7, 20]], 0, -1), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("private", "counterpart", "variant"),
    [
        ("wdp-cocop-gamma", "ftal", "corrected"),
        ("pftal", "ftal", "corrected"),
        ("noise-per-prefix", "ftal", "corrected"),
        ("wdp-cocol-gamma", "lloo-ftal", "practical"),
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
    """argmin over the set of <sum g + z, x> + (mu/2) sum |x - x_s|^2, by projected steps that halve the distance."""
    point = domain.center()
    total = np.sum(gradients, axis=0) + noise
    for _ in range(60):
        slope = total + mu * (len(points) * point - np.sum(points, axis=0))
        point = domain.project(point - slope / (2 * mu * len(points)))
    return point


@pytest.mark.parametrize(
    ("name", "set_name"),
    [
        *(("wdp-cocop-gaussian", each) for each in ("ball", "simplex", "l1-ball")),
        *((each, "ball") for each in ("wdp-cocop-gamma", "pftal", "noise-per-prefix", "ftal")),
    ],
)
def test_cocop_step_minimises_the_private_surrogate(name, set_name):
    learner, losses = start(name, set_name=set_name, stream="random-kink")
    points, noises = trajectory(learner, losses, 6, 2)
    stream = list(losses.rounds(generators(2), 6))
    for now in range(1, 7):
        gradients = [loss.gradient(points[step])[0, 1] for step, loss in enumerate(stream[:now])]
        best = surrogate_minimiser(
            learner.domain,
            points[:now, 0, 1],
            gradients,
            0.0 if noises[now - 1] is None else noises[now - 1][0, 1],
            losses.strong_convexity,
        )
        assert points[now, 0, 1] == pytest.approx(best, abs=1e-8)


def nearest_to(domain, point, weight, bends, slope_at):
    """argmin over y in the set of a convex loss, `bends` smooth, and |y - point|^2 / (2 weight), by projected steps."""
    here = point.copy()
    for _ in range(math.ceil(30 * (1 + weight * bends))):
        here = domain.project(here - (slope_at(here) + (here - point) / weight) / (1 / weight + bends))
    return here


@pytest.mark.parametrize(("name", "stream"), [
    ("ogd", "random-kink"), ("ogd", "ridge-logistic"), ("pocp-igd", "ridge-logistic"),
    ("ogd-small-loss", "realizable-direction"),
])  # fmt: skip
def test_a_step_minimises_what_defines_it(name, stream):
    """OGD: <g, y> + |y - x|^2 / (2 eta) over the set, eta = 1 / (mu t); POCP: the loss in place of <g, y>; a step that
    small losses fix in place of 1 / (mu t)."""
    setting = CLEAN if name.startswith("ogd") else Setting(4, Budget(math.inf, 1e-6))
    learner, losses = start(name, setting=setting, set_name="ball", dimension=3, stream=stream, horizon=16)
    points, _ = trajectory(learner, losses, 4, 2)
    for now, loss in enumerate(losses.rounds(generators(2), 4), 1):
        before = points[now - 1]
        weight = learner.eta if name == "ogd-small-loss" else 1 / (losses.strong_convexity * now)
        linear = loss.gradient(before)
        bends, slope = 0.0, lambda y, linear=linear: linear
        if name == "pocp-igd":
            bends, slope = losses.smoothness, loss.gradient
        assert points[now] == pytest.approx(nearest_to(learner.domain, before, weight, bends, slope), abs=1e-6)


CORNERS = {"simplex": np.eye(4), "l1-ball": np.vstack([np.eye(4), -np.eye(4)])}


@pytest.mark.parametrize("set_name", CORNERS)
@pytest.mark.parametrize("name", ["ofw", "ofw-explicit", "scofw", "wdp-scofw-gaussian", "wdp-scofw-gamma"])
def test_a_frank_wolfe_step_goes_to_the_best_corner_of_its_objective(name, set_name):
    """All corners are tried. SC-OFW stops where its objective, the noise of the round in it, is least on the way."""
    horizon = 32
    learner, losses = start(name, set_name=set_name, dimension=4, horizon=horizon, stream="random-kink")
    mu, diameter, lipschitz = losses.strong_convexity, learner.domain.diameter, losses.lipschitz
    points, noises = trajectory(learner, losses, 6, 2)
    gradients = [loss.gradient(x)[0] for loss, x in zip(losses.rounds(generators(2), 6), points, strict=False)]
    for now in range(1, 7):
        played, total, here = points[:now, 0], np.sum(gradients[:now], axis=0), points[now - 1, 0]
        if noises[now - 1] is not None:
            total = total + noises[now - 1][0]
        if name == "ofw":
            eta, share = diameter / (2 * lipschitz * horizon**0.75), min(1.0, 2 / math.sqrt(now))
            slope = eta * total + 2 * (here - played[0])
        elif name == "ofw-explicit":
            eta, share = diameter / (2 * lipschitz) * (3 / horizon) ** 0.75, math.sqrt(3 / horizon)
            slope = eta * total + here - played[0]
        else:
            slope, share = total + mu * (now * here - played.sum(axis=0)), None
        for run in range(2):
            towards = CORNERS[set_name][np.argmin(CORNERS[set_name] @ slope[run])] - here[run]
            if share is None:
                shares = np.linspace(0.0, 1.0, 2001)[:, None]
                ways = here[run] + shares * towards
                values = ways @ total[run] + mu / 2 * sum(((ways - x) ** 2).sum(axis=1) for x in played[:, run])
                assert points[now, 0, run] == pytest.approx(ways[values.argmin()], abs=1e-3)
            else:
                assert points[now, 0, run] == pytest.approx(here[run] + share * towards, abs=1e-12)


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
        points, gradients = learner.compiled.state_field("points"), learner.compiled.state_field("gradients")
        regulariser = learner.schedule.regulariser[..., None]
        leader = learner.domain.project((points + regulariser * start_point - gradients / mu) / (now + regulariser))
        distance = np.linalg.norm(learner.point - leader, axis=-1)
        chosen = learner.schedule
        reach = local_radius.py_func(now + 1, mu, chosen)
        radius = np.minimum(learner.domain.diameter, reach)
        violations += int((distance > radius + 1e-12).sum())

    trajectory(learner, losses, 256, 2, observe=observe)
    assert violations == 0


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
    rows = [
        (loss.features[0], loss.labels[0]) for _, loss in zip(range(20), losses.rounds(generators(2), 20), strict=False)
    ]
    features, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    mu = losses.strong_convexity

    def objective(x):
        return 0.5 * np.sum((labels - features @ x) ** 2) + 10 * mu * np.sum(x**2)

    best = minimize(objective, np.zeros(3), tol=1e-12).x
    assert points[20, 0, 0] == pytest.approx(learner.domain.project(best[None])[0], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "variant", "stream"),
    [
        ("wdp-cocop-gamma", "corrected", "ridge-logistic"),
        ("wdp-cocop-gaussian", "corrected", "random-kink"),
        ("wdp-cocop-gaussian", "root", "smooth-quadratic"),
        ("wdp-cocop-gaussian", "buffers", "drift"),
        ("ftal", "plain", "random-kink"),
        ("ogd", "plain", "norm-kink"),
        ("ogd-small-loss", "plain", "realizable-direction"),
        *(("dp-ftrl", variant, "realizable-direction") for variant in ("corrected-reduced", "lambda-double", "root")),
        *(("dp-ftrl", variant, "realizable-quadratic") for variant in ("corrected", "buffers")),
        *(("dp-ftrl-lipschitz", variant, "half-space") for variant in ("corrected", "root", "buffers")),
    ],
)
def test_explicit_bound_holds(name, variant, stream):
    learner, losses = start(name, variant, Setting(512, Budget(4.0, 1e-6)), "ball", 4, 8, 512, stream)
    checkpoints = [1, 2, 16, 128, 512]
    record = play(learner, losses.rounds(generators(8), 512), generators(8), checkpoints)
    regret = record.losses - losses.comparator(generators(8), checkpoints).losses.T
    assert (regret.mean(axis=1) <= learner.bound(512)[:, np.array(checkpoints) - 1]).all()


@pytest.mark.parametrize("name", ["wdp-cocop-gamma", "wdp-cocop-gaussian"])
def test_printed_step_has_linear_regret_and_the_corrected_one_does_not(name):
    growth = {}
    for variant in ("printed", "corrected"):
        learner, losses = start(name, variant, CLEAN, set_name="ball", dimension=3, runs=4, stream="smooth-quadratic")
        record = play(learner, losses.rounds(generators(4), 4096), generators(4), [512, 4096])
        regret = (record.losses - losses.comparator(generators(4), [512, 4096]).losses.T).mean(axis=1)[0]
        growth[variant] = np.log(regret[1] / regret[0]) / np.log(8)
    assert growth["printed"] == pytest.approx(1.0, abs=0.05)
    assert growth["corrected"] < 0.3


def test_a_loss_that_is_not_finite_is_never_recorded():
    class Broken:
        def value_and_gradient(self, points):
            return np.full(points.shape[:-1], np.nan), np.zeros_like(points)

    learner, _ = start("stay", set_name="ball")
    with pytest.raises(FloatingPointError, match="stay"):
        play(learner, iter([Broken()] * 4), generators(2), [4])


BLOCK, ROUNDS = 8, 27


def told(rounds: int = ROUNDS) -> Problem:
    return Problem(make_set("ball", 3), rounds, 2.0, 0.5)


def test_without_noise_every_block_is_ftal() -> None:
    stream = make_stream("random-kink", make_set("ball", 3), strong_convexity=0.5)
    losses = list(stream.rounds(generators(1), ROUNDS))

    def curve(kind, variant, part):
        learner = kind(told(), [Setting(BLOCK, Budget(math.inf))], 1, variant)
        return play(learner, part, generators(1), range(1, len(part) + 1)).losses[0, 0]

    parts = [curve(FollowTheApproximateLeader, "plain", losses[at : at + BLOCK]) for at in range(0, ROUNDS, BLOCK)]
    before = np.cumsum([0.0, *(part[-1] for part in parts)])
    plain = np.concatenate([total + part for total, part in zip(before, parts, strict=False)])
    np.testing.assert_allclose(curve(RestartedLeader, "corrected", losses), plain, rtol=1e-12)


def test_the_bound_is_that_of_ftal_block_by_block() -> None:
    budget = Budget(math.inf)
    once = FollowTheApproximateLeader(told(), [Setting(BLOCK, budget)], 1, "plain").bound(BLOCK)[0]
    found = RestartedLeader(told(), [Setting(BLOCK, budget)], 1, "corrected").bound(ROUNDS)[0]
    whole, rest = divmod(ROUNDS, BLOCK)
    assert found[-1] == pytest.approx(whole * once[-1] + once[rest - 1])


@pytest.mark.parametrize("window", [1, 2, 8, 64, 128])
def test_noise_since_a_block_began_is_that_of_its_nodes(window: int) -> None:
    """What it costs is in privacy/test_mechanisms.py."""
    rounds, mechanism = 200, BlockTrees(window)
    noise = materialise(mechanism, rounds)
    begun = np.concatenate([np.zeros((1, noise.shape[1])), noise])[np.arange(rounds) // window * window]
    np.testing.assert_allclose(np.square(noise - begun).sum(axis=1), mechanism.nodes_since_block(rounds))


def test_every_point_minimises_the_regularised_noisy_sum() -> None:
    learner, losses = start("dp-ftrl", "corrected", Setting(512, Budget(2.0, 1e-6)), "ball", 4, 3, 512)
    points, noises = trajectory(learner, losses, 20, 3)
    total, weight = np.zeros((3, 4)), learner.regularisation[0]
    for now, loss in enumerate(losses.rounds(generators(3), 20)):
        total += loss.gradient(points[now])[0]
        slope = total + noises[now][0] + weight * (points[now + 1, 0] - learner.domain.center())
        # first-order optimality on the ball: no direction into the set descends
        best = learner.domain.linear_oracle(slope)
        assert (np.vecdot(slope, best - points[now + 1, 0]) >= -1e-9).all()


def test_constants_of_dp_ftrl() -> None:
    """Printed lambda; the best one of the Lipschitz bound; steps of 1 / (2 beta) and twice 4 beta of a small loss."""
    made = {
        variant: start("dp-ftrl", variant, Setting(512, Budget(8.0, 1e-6)), "ball", 4, 1, 512)[0]
        for variant in ("printed", "printed-lambda")
    }
    steep = made["printed"].problem.lipschitz / 2
    wanted = 32 + np.cbrt(steep**2 * 512 * 4 * math.log(512) * math.log(1e6) / 64)
    assert [each.regularisation[0] for each in made.values()] == pytest.approx([wanted] * 2)
    assert made["printed"].delivered_epsilon()[0] > 2 * 8.0  # noise for a loss set to zero, and a loose formula
    assert made["printed-lambda"].delivered_epsilon()[0] == pytest.approx(8.0)
    lipschitz, losses = start("dp-ftrl-lipschitz", "root", Setting(512, Budget(4.0, 1e-6)), "ball", 4, 1, 512)
    root = np.sqrt(lipschitz.variances(512)).sum()
    best = math.sqrt(512 * losses.lipschitz**2 + 2 * losses.lipschitz * root) / 2
    assert lipschitz.regularisation[0] == pytest.approx(best)
    descent, _ = start("ogd-small-loss", "plain", CLEAN, "ball", 4, 1, 512)
    assert (descent.eta, descent.bound(512)[0, 0]) == pytest.approx((1 / 2, 2 * 4))


def radius(schedule, mu, now):
    """r_t, (settings, 1), by the text that plays."""
    return local_radius.py_func(now, mu, schedule)


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
    window = window_constant("gamma", 16, Budget(0.5, 1e-6), 4)
    assert window == pytest.approx(4 * 8 * math.log(4 / 0.05) / 0.5)
    made = SCHEDULES["printed"](Terms(1.0, 0.5, 3.0, 2.0, np.ones((1, 1)), np.array([[window]])))
    alpha, regulariser = 1 / 20, 100.0**2
    constant = 26 * 4 * 2.5 * (1 + 2 * alpha * window / (1 - alpha))
    assert (made.alpha, float(made.regulariser[0, 0])) == (alpha, regulariser)
    curvature = 0.5 * (7 + regulariser)
    printed = math.sqrt(4 * constant**2 / curvature / curvature) + 2 * 2.5 / curvature
    assert radius(made, 0.5, 7) == pytest.approx(np.array([[printed]]))


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
    play(learner, stream.rounds(generators(1), 9), generators(1), [9])
    wanted = [
        np.minimum(domain.diameter, radius(learner.schedule, learner.strong_convexity, now)) for now in range(1, 10)
    ]
    assert np.array(asked)[:, None, None] == pytest.approx(np.array(wanted))
    assert min(map(np.min, wanted)) < domain.diameter or name in ("paper", "printed")


@pytest.mark.parametrize("variant", ["per-block", "per-gradient"])
def test_a_record_in_several_rounds_of_a_block_moves_its_one_release_as_often(variant: str) -> None:
    """T = 100, blocks of 10, a record in rounds 1, 11, ... 91 or in rounds 1 to 10: mu from the shifted releases."""
    learner = PrivateBlockedDescent(
        Problem(make_set("ball", 2), 100, 1.0, 0.0), [Setting(100, Budget(1.0, 1e-6))], 1, variant
    )
    (line,) = learner.ledger()
    ten = line.of_record(10)
    spread, together = math.sqrt(10) * line.mu(), (10 if variant == "per-block" else math.sqrt(10)) * line.mu()
    assert ten.mu() >= max(spread, together) * (1 - 1e-12)
    assert ten.mu() == pytest.approx(together)
    assert line.composes_exactly(1e-6) == (variant == "per-gradient")
