"""Algorithm 1 and L2P over a net and over the ball: coverings, laws of the draws, parameters, settings apart."""

import math

import numpy as np
import pytest
from drawn import generators
from scipy import stats
from scipy.spatial import cKDTree

from dpregret.algorithms.experts.l2p import DrawnCopy
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.lazy_points import LazyNet, LazySampled, printed
from dpregret.algorithms.online.private_switching import NetExperts, SampledExperts, covering
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream


def disc() -> np.ndarray:
    """A fine grid."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 801)] * 2), axis=-1).reshape(-1, 2)
    return grid[np.linalg.norm(grid, axis=1) <= 1]


@pytest.mark.parametrize(("name", "dimension"), [("ball", 1), ("ball", 2), ("ball", 3), ("box", 2), ("simplex", 3)])
def test_every_point_of_the_set_is_near_the_net(name: str, dimension: int) -> None:
    domain = make_set(name, dimension)
    radius = 0.1
    net = covering(domain, radius)
    assert domain.violation(net).max() < 1e-9
    points = domain.project(2 * np.random.default_rng(1).standard_normal((2000, dimension)))
    assert cKDTree(net).query(points)[0].max() <= radius + 1e-9


def net_learner(dimension: int = 1, horizon: int = 64, epsilon: float = 2.0, runs: int = 3) -> NetExperts:
    domain = make_set("ball", dimension)
    problem = Problem(domain, horizon, 0.5, 0.0, np.inf, 0.0)
    return NetExperts(problem, [Setting(horizon, Budget(epsilon, 1e-6))], runs, "zcdp")


@pytest.mark.parametrize("stream", ["half-space", "realizable-direction", "realizable-quadratic"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_sums_over_the_net_are_those_of_its_losses(stream: str, dimension: int) -> None:
    """For L2P relative to the center; no loss counts more than 1/2."""
    exact, lazy = net_learner(dimension, 40), lazy_learner(40, 3, dimension=dimension, stream=stream)[0]
    for learner in (exact, lazy):
        learner.begin(generators(3))
        plain = np.zeros_like(learner.sums.total)
        for loss in make_stream(stream, make_set("ball", dimension)).rounds(generators(3, 1), 5):
            learner.sums.add(loss)
            own = np.clip(loss.value(exact.sums.net[:, None]) / exact.unit, 0.0, 1.0)
            plain += own if learner is exact else differences(lazy, loss)
        assert np.ptp(plain) > 0.1
        np.testing.assert_allclose(learner.sums.total, plain, rtol=0, atol=0 if learner is exact else 1e-12)


def test_unsuitable_sets_are_refused() -> None:
    with pytest.raises(ValueError, match="needs dimension 1, 2 or 3, got 4: use sampled-sparse-vector"):
        net_learner(4)
    with pytest.raises(ValueError, match=r"a net of \d+ points for 100000 runs is more than"):
        net_learner(2, 10_000, runs=100_000)
    for options, said in (({"dimension": 4}, "dimension"), ({"epsilon": 1e-9}, "epsilon")):
        with pytest.raises(ValueError, match=said):
            lazy_learner(8, 1, **options)
    problem = Problem(make_set("simplex", 3), 10, 1.0, 0.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="samples from a ball, not from the set 'simplex'"):
        SampledExperts(problem, [Setting(10, Budget(1.0, 1e-6))], 1, "zcdp")


def test_hit_and_run_has_the_law_of_the_exponential_mechanism() -> None:
    """d = 2: shares of the quarters of the disc, against the density summed over a fine grid."""
    runs = 600
    problem = Problem(make_set("ball", 2), 100, 1.0, 0.0, 1.0, 0.0)
    learner = SampledExperts(problem, [Setting(100, Budget(30.0, 1e-6))], runs, "zcdp")
    learner.begin(generators(runs))
    scale = learner.plans[0].draw_scale
    matrix = 3 * scale * np.array([[1.0, 0.3], [0.3, 0.5]])
    center = np.array([0.5, -0.2])
    learner.sums.matrix[:] = matrix
    learner.sums.linear[:] = matrix @ center
    learner.sums.constant[:] = 0.5 * center @ matrix @ center
    for run in range(runs):
        learner.move(0, run)
    grid = disc()
    scores = 0.5 * np.einsum("ij,jk,ik->i", grid - center, matrix, grid - center)
    density = np.exp(-np.maximum(scores, learner.plans[0].best_loss) / scale)

    def quarter(points: np.ndarray) -> np.ndarray:
        return 2 * (points[:, 0] > 0.3) + (points[:, 1] > -0.1)

    distribution = np.bincount(quarter(grid), weights=density, minlength=4)
    counts = np.bincount(quarter(learner.point[0]), minlength=4)
    assert stats.chisquare(counts, distribution / distribution.sum() * runs).pvalue > 1e-4
    assert np.linalg.norm(learner.point[0], axis=1).max() <= 1 + 1e-9


def lazy_learner(rounds, runs, variant="tuned", epsilon=1.0, dimension=1, stream="half-space"):
    domain = make_set("ball", dimension)
    losses = make_stream(stream, domain)
    problem = Problem(domain, rounds, losses.lipschitz, losses.strong_convexity, losses.smoothness)
    return LazyNet(problem, [Setting(rounds, Budget(epsilon, 1e-6))], runs, variant), losses


def differences(lazy, loss):
    """(f - f(c)) / (L D) at the points of the net, clipped."""
    return np.clip((loss.value(lazy.sums.net[:, None]) - loss.value(lazy.center)) / lazy.unit, -0.5, 0.5)


def test_the_point_has_the_law_of_the_measure():
    """After an odd number of batches, on the same losses in every run, against nu itself: chi-square."""
    runs, rounds = 5_000, 6
    lazy, losses = lazy_learner(rounds, runs)
    lazy.plans = [type("Plan", (DrawnCopy,), {"spare": 1.5})(2, 0.2, 0.9)]  # decides often, and mostly keeps
    lazy.sizes = [np.exp(-2.0 * np.square(lazy.sums.net - 0.3).sum(axis=1))]
    lazy.begin(generators(runs, 5))
    one = [np.random.default_rng(3)] * runs
    for now, loss in enumerate(losses.rounds(one[:1], rounds), 1):
        lazy.round = now
        lazy.observe(loss, np.zeros(()), None)
    scores = lazy.sums.total[:, 0]  # of all rounds; the last decision was after round 4
    lazy_two, losses = lazy_learner(rounds, 1)
    seen = np.zeros(len(scores))
    for loss in list(losses.rounds(one[:1], rounds))[:4]:
        seen += differences(lazy_two, loss).ravel()
    wanted = lazy.sizes[0] * np.exp(-0.9 * seen)
    wanted /= wanted.sum()
    chosen = np.abs(lazy.point[0] - lazy.sums.net[:, 0]).argmin(axis=1)
    found = np.bincount(chosen, minlength=len(wanted))
    assert stats.chisquare(found, wanted * runs).pvalue > 1e-4
    assert (lazy.draws < 3).mean() > 0.1  # some kept theirs at both decisions


@pytest.mark.parametrize(("epsilon", "horizon", "dimension"), [(1 / 64, 2**20, 1), (1.0, 2**10, 2), (0.25, 999, 3)])
def test_printed_parameters(epsilon, horizon, dimension):
    """The theorem's, and p = eta/eps breaks its own condition eta/p <= eps/2."""
    problem = Problem(make_set("ball", dimension), horizon, 0.5, 0.0)
    plan, weight = printed(problem, Setting(1, Budget(epsilon, 1e-6)))
    eta = epsilon ** (2 / 3) / (horizon ** (1 / 3) * math.log(horizon / 1e-6))
    assert plan.batch == max(1, round(1 / (2 * epsilon * math.log(1e6))))
    assert plan.spare * plan.eta == pytest.approx(2 * eta)  # line 5
    assert weight == pytest.approx(0.25 * max(math.sqrt(horizon), math.sqrt(dimension * math.log(horizon)) / eta))
    beta = plan.eta / (0.5 * 2.0)
    assert beta == pytest.approx(eta**2 * weight / (20 * 0.25))
    assert eta / plan.keep_away > epsilon / 2
    assert plan.price(horizon, 1e-6) < epsilon / 2  # by our ledger, on a net


def exact_share(lazy, seen, split):
    """Of nu in the part x_1 > split of the disc, by a fine grid; seen: losses before the last decision."""
    grid = disc()
    scores = lazy.regularisers[0] / lazy.unit * np.square(grid).sum(axis=1)
    for loss in seen:
        scores = scores + loss.value(grid[:, None])[:, 0] / lazy.unit
    law = np.exp(lazy.plans[0].eta * (scores.min() - scores))
    return law[grid[:, 0] > split].sum() / law.sum()


def test_the_sampled_point_has_the_law_of_the_measure():
    """After three batches of two rounds, on a disc, on the same losses in every run."""
    runs, domain = 800, make_set("ball", 2)
    losses = make_stream("realizable-direction", domain)
    problem = Problem(domain, 7, losses.lipschitz, 0.0, losses.smoothness)
    lazy = LazySampled(problem, [Setting(7, Budget(1.0, 1e-6))], runs, "tuned")
    lazy.plans = [type("Plan", (DrawnCopy,), {"spare": 0.5})(2, 0.05, 2.5)]  # f varies by at most L D / 2
    lazy.regularisers = [3.0]
    lazy.begin(generators(runs, 5))
    seen = list(losses.rounds([np.random.default_rng(3)], 6))
    for now, loss in enumerate(losses.rounds([np.random.default_rng(3) for _ in range(runs)], 6), 1):
        lazy.round = now
        lazy.observe(loss, np.zeros(()), None)
    split = float(domain.target()[0]) / 2
    wanted = exact_share(lazy, seen, split)
    assert abs(wanted - exact_share(lazy, [], split)) > 0.04
    found = int((lazy.point[0, :, 0] > split).sum())
    assert stats.binomtest(found, runs, wanted).pvalue > 1e-4
    assert (lazy.draws < 4).mean() > 0.1


def test_the_guarantee_counts_the_share_of_the_volume():
    """Points x* + (K - x*)/(T + 1) have the share (T + 1)^-d; d ln(T + 1) stands where experts have ln d."""
    lazy = LazySampled(Problem(make_set("ball", 3), 100, 1.0, 0.0, 1.0), [Setting(100, Budget(math.inf))], 1, "tuned")
    plan = lazy.plans[0]
    wanted = 2.0 * (3 * math.log(101) / plan.eta + plan.eta * 100 * plan.batch / 8 + 1)
    assert lazy.bound(5) == pytest.approx(np.full((1, 5), wanted))
    assert wanted == pytest.approx(2.0 * (math.sqrt(3 * math.log(101) * 100 / 2) + 1))  # without privacy the best eta
