"""POCP and PQFTL as Jain, Kothari & Thakurta 2012 print them: sensitivities, noise, bounds, lines of boxes."""

import math

import numpy as np
import pytest
from drawn import generators
from scipy.integrate import quad
from scipy.special import ndtr

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, learners, play
from dpregret.algorithms.online.pocp import PocpDoubling, PocpGiga, PocpIgd, printed_factor, printed_octave
from dpregret.algorithms.online.pqftl import SENSITIVITY, Pqftl, private_sum_scale
from dpregret.algorithms.privacy import Budget, gaussian_delta
from dpregret.datasets.losses import Quadratic, RidgeSquared
from dpregret.datasets.streams import make_stream
from dpregret.workflows.audit.exact_losses import quadratic_epsilon

BUDGET = Budget(2.0, 1e-5)
CLEAN = Setting(1, Budget(math.inf, 1e-5))


@pytest.mark.parametrize("radius", [0.2, 1.0, 6.0])
def test_giga_as_printed_moves_twice_as_far_as_lemma_5_says_and_no_farther(radius: float) -> None:
    """Quadratics of curvature mu, one pulled to the other side in round s; t_q = 2."""
    rounds, mu, farthest = 60, 1.0, 0.0
    pulls = np.random.default_rng(3).choice([-radius, radius], size=(rounds, 1))
    lipschitz = mu * (1 + radius)
    problem = Problem(make_set("ball", 1), rounds, lipschitz, mu, mu)
    for changed in (2, 5, 15, 40):
        pair = [PocpGiga(problem, [CLEAN], 1, "printed") for _ in range(2)]
        for now in range(1, rounds + 1):
            for learner, side in zip(pair, (1.0, -1.0 if now == changed else 1.0), strict=True):
                loss = Quadratic(side * pulls[now - 1], mu)
                learner.round = now
                learner.observe(loss, loss.gradient(learner.point), None)
            hidden = [each.compiled.state_field("hidden") for each in pair]
            farthest = max(farthest, now * mu / lipschitz * float(np.abs(hidden[0] - hidden[1]).max()))
    assert farthest <= pair[0].noise_plan.sensitivity * mu / lipschitz * (1 + 1e-12) == pytest.approx(4)
    if radius > 1:
        assert farthest > 2.3


def test_giga_as_printed_waits_for_its_first_step() -> None:
    problem = Problem(make_set("ball", 2), 9, 3.0, 1.0, math.sqrt(2.25))  # t_q = 4.5, rounded up
    learner = PocpGiga(problem, [Setting(1, BUDGET)], 3, "printed")
    moved = []
    for now in range(1, 8):
        learner.round = now
        learner.observe(Quadratic(np.ones(2), 1.0), np.zeros((1, 3, 2)), np.ones((1, 3, 2)))
        moved.append(bool(learner.point.any()))
    assert moved == [False] * 4 + [True] * 3


@pytest.mark.parametrize("smoothness", [1.3, 2.0, 2.5, 7.01])
def test_corrected_giga_takes_the_largest_steps_that_contract(smoothness: float) -> None:
    """1 / (mu (t + t0)) with the least whole t0 for which that of the first round is at most 1 / smoothness."""
    mu = 1.0
    learner = PocpGiga(Problem(make_set("ball", 1), 9, 3.0, mu, smoothness), [CLEAN], 1, "corrected")
    pull, steps = 0.5, []
    for now in (1, 2, 3):
        before = float(learner.compiled.state_field("hidden").item())
        learner.round = now
        learner.observe(Quadratic(np.array([pull]), mu), np.zeros((1, 1, 1)), None)
        steps.append((float(learner.compiled.state_field("hidden").item()) - before) / (mu * (pull - before)))
    assert 1 / (1 / steps[0] - mu) > 1 / smoothness >= steps[0] * (1 - 1e-12)
    assert np.diff(1 / np.array(steps)) == pytest.approx([mu, mu])


@pytest.mark.parametrize("horizon", [2, 100, 2**16])
def test_printed_noise_is_that_of_the_boxes(horizon: int) -> None:
    epsilon, delta = BUDGET.epsilon, BUDGET.delta
    c = math.log(math.log(2 / delta) / (2 * epsilon)) / (2 * math.log(horizon))
    size = horizon ** (0.5 + c)
    beta = size * math.sqrt(2 / epsilon * (math.log(horizon / delta) + math.sqrt(epsilon) / size))
    assert printed_factor(horizon, BUDGET) == pytest.approx(beta, rel=1e-12)
    ends = Budget(math.log(2 / delta) / 2, delta)  # c = 0
    if horizon != 100:  # a power of two
        assert printed_factor(horizon, ends) == pytest.approx(printed_octave(int(math.log2(horizon)), ends), rel=1e-12)
    assert printed_factor(horizon, Budget(math.inf, delta)) == 0
    problem = Problem(make_set("ball", 2), horizon, 3.0, 0.5, 0.5)
    plans = [kind(problem, [Setting(1, BUDGET)], 1, "printed").noise_plan for kind in (PocpIgd, PocpGiga)]
    assert [plan.scales[0] for plan in plans] == pytest.approx([12 * beta, 12 * beta])


def test_octaves_have_the_noise_of_the_box_and_a_budget_for_any_horizon() -> None:
    problem = Problem(make_set("ball", 3), 200, 3.0, 0.5)
    learner = PocpDoubling(problem, [Setting(1, BUDGET), CLEAN], 1, "printed")
    rounds = np.arange(1.0, 201)
    length = 2.0 ** np.floor(np.log2(rounds))
    inside = np.log(length / BUDGET.delta) + np.sqrt(BUDGET.epsilon / length)
    expected = 12 * math.sqrt(3) * np.sqrt(2 * length / BUDGET.epsilon * inside)
    assert learner.noise_plan.expected_norm(200)[0] == pytest.approx(expected)
    assert not learner.noise_plan.expected_norm(200)[1].any()
    delivered = []
    for horizon in (2, 3, 100, 2**16, 2**40):
        problem = Problem(make_set("ball", 3), horizon, 3.0, 0.5)
        delivered.append(PocpDoubling(problem, [Setting(1, BUDGET)], 1, "corrected").delivered_epsilon()[0])
    assert delivered == sorted(delivered)
    assert 0.95 * BUDGET.epsilon < delivered[-1] <= BUDGET.epsilon


def test_explicit_bounds_are_those_of_theorems_2_and_10() -> None:
    rounds, d, lipschitz, mu, smooth, wide = 64, 3, 3.0, 0.5, 0.8, 2.0
    problem = Problem(make_set("ball", d), rounds, lipschitz, mu, smooth)
    rate = math.sqrt(rounds) * math.log(rounds / BUDGET.delta) ** 2 / BUDGET.epsilon
    regret = mu * wide**2 / 2 + lipschitz**2 * sum(1 / now for now in range(1, rounds + 1)) / (2 * mu)
    igd = 2 * math.sqrt(d) * lipschitz * (2 * lipschitz / mu + wide) * rate
    giga = 4 * math.sqrt(d) * (lipschitz / mu + wide) * lipschitz * rate
    explicit = 2 * lipschitz**2 / mu * (1 + math.log(rounds)) + 2 * smooth**2 * lipschitz * wide / mu**2
    for kind, noisy, hidden in ((PocpIgd, igd, regret), (PocpGiga, giga, explicit)):
        assert kind(problem, [Setting(1, BUDGET)], 1, "printed").bound(rounds)[0, -1] == pytest.approx(noisy + hidden)
        assert np.isnan(kind(problem, [Setting(1, BUDGET)], 1, "corrected").bound(rounds)).all()
        without = kind(problem, [Setting(1, Budget(math.inf))], 1, "printed")  # whose delta is 0
        assert without.bound(rounds)[0, -1] == pytest.approx(hidden)


@pytest.mark.parametrize("name", ["random-kink", "norm-kink", "smooth-quadratic", "ridge-logistic"])
def test_implicit_descent_without_noise_keeps_its_regret(name: str) -> None:
    domain = make_set("ball", 3)
    stream = make_stream(name, domain)
    problem = Problem(domain, 300, stream.lipschitz, stream.strong_convexity)
    learner = PocpIgd(problem, [CLEAN], 4, "printed")
    losses = play(learner, stream.rounds(generators(4), 300), generators(4), [1, 7, 300]).losses
    regret = losses[0].T - stream.comparator(generators(4), [1, 7, 300]).losses
    assert (regret <= learner.hidden_regret(300)[[0, 6, 299], None] + 1e-9).all()


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_replaced_records_move_both_sums_as_far_as_the_plan_pays_for(dimension: int) -> None:
    random = np.random.default_rng(dimension)
    vectors = random.normal(size=(2, 4000, dimension))
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    labels = random.choice([-1.0, 1.0], size=(2, 4000, 1))
    matrix = np.linalg.norm(np.subtract(*np.einsum("sni,snj->snij", vectors, vectors)), axis=(1, 2))
    vector = np.linalg.norm(np.subtract(*(labels * vectors)), axis=1)
    both = np.hypot(matrix, vector)
    assert matrix.max() <= math.sqrt(2) + 1e-12
    assert vector.max() <= 2 + 1e-12
    assert both.max() <= SENSITIVITY + 1e-12
    if dimension == 2:
        assert both.max() > 0.99 * SENSITIVITY
    assert vector.max() > 1.5  # beyond the R of Lemma 6


@pytest.mark.parametrize("variant", ["printed", "printed-ln"])
@pytest.mark.parametrize("dimension", [1, 3])
def test_line_9_is_solved_without_symmetry_or_sign(variant: str, dimension: int) -> None:
    problem = Problem(make_set("ball", dimension, radius=1e6), 37, 9.0, 0.5)
    learner = Pqftl(problem, [Setting(1, BUDGET), CLEAN], 2, variant)
    depth = math.log2(37) if variant == "printed" else math.log(37)
    scale = 2 * depth / BUDGET.epsilon * math.sqrt(math.log(2 * depth / BUDGET.delta))
    assert learner.noise_plan.scales == pytest.approx([scale, 0.0])
    random = np.random.default_rng(1)
    moment, response = np.zeros((2, 2, dimension, dimension)), np.zeros((2, 2, dimension))
    for now in range(1, 6):
        record = RidgeSquared(random.normal(size=(2, dimension)), random.normal(size=2), 0.5)
        noise = random.normal(size=(2, 2, dimension * (dimension + 1))) * np.array([5.0, 0.0])[:, None, None]
        learner.round = now
        learner.observe(record, np.empty(0), noise)
        moment += record.features[..., :, None] * record.features[..., None, :]
        response += record.labels[..., None] * record.features
        noisy = moment + noise[..., : dimension**2].reshape(moment.shape) + 0.5 * now * np.eye(dimension)
        expected = np.linalg.solve(noisy, (response + noise[..., dimension**2 :])[..., None])[..., 0]
        assert learner.point == pytest.approx(expected, rel=1e-6)


def test_printed_sums_need_two_rounds() -> None:
    problem = Problem(make_set("ball", 2), 1, 9.0, 0.5)
    with pytest.raises(ValueError, match=r"pqftl\.printed needs a horizon of at least 2, got 1"):
        learners("online")["pqftl"](problem, [Setting(1, BUDGET)], 1, "printed")
    Pqftl(problem, [Setting(1, BUDGET)], 1, "corrected")


def test_points_of_pqftl_lose_what_their_labels_lose() -> None:
    """Theorem 3 at T = 2, d = 1: x_2 = u / (alpha + V), u around 1 or -1; a large alpha is enough."""
    budget = Budget(1.0, 1e-6)
    scale = private_sum_scale(Budget(0.5, 5e-7), 1.0)
    lost = quadratic_epsilon(budget)
    assert gaussian_delta(lost, 2 / scale) == pytest.approx(1e-6)
    assert lost > 1.1
    # the half-line alpha x_2 >= a that tells most, V ~ N(1, scale^2) integrated out
    alpha, edge = 1e6, scale**2 / 2 * budget.epsilon

    def beyond(side: float) -> float:
        def given(z: float) -> float:
            bar = edge * (1 + (1 + scale * z) / alpha)  # the denominator is positive
            return math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * float(ndtr((side - bar) / scale))

        return quad(given, -9, 9, epsabs=1e-13)[0]

    assert beyond(1.0) - math.exp(budget.epsilon) * beyond(-1.0) > 1.5 * budget.delta


def test_unprojected_points_of_pqftl_have_no_variance() -> None:
    """E min(x^2, cut), x = u / (alpha + V) at d = 1, grows like the root of the cut."""
    random = np.random.default_rng(0)
    scale = private_sum_scale(Budget(0.5, 5e-7), 10.0)
    u, v = scale * random.normal(size=(2, 4_000_000))
    squares = np.square(u / (20 + v))
    means = [np.minimum(squares, cut).mean() for cut in (1e2, 1e4, 1e6)]
    assert means[1] / means[0] == pytest.approx(10, rel=0.2)
    assert means[2] / means[1] == pytest.approx(10, rel=0.2)
