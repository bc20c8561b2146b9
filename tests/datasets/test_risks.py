"""Risks: moments against records, gradients, constants by brute force, certified optima, laws of fresh records."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.datasets import bundled
from dpregret.datasets.bandit_streams import make_bandit_stream
from dpregret.datasets.expert_streams import make_expert_stream
from dpregret.datasets.risk_population import PopulationRisk
from dpregret.datasets.risk_squared import DenseGram, SquaredRisk, squared_constants
from dpregret.datasets.risks import EmpiricalRisk, make_risk
from dpregret.datasets.source import sources
from dpregret.datasets.streams import make_stream

RUNS = 3
SQUARED = {
    "lasso-easy": (12, 300, {"sparsity": 4}),
    "hetero-consensus": (6, 32, {}),
    "dense-growing": (6, 48, {}),
    "fingerprint": (20, 128, {"tau": 0.1, "flipped": 0.3}),
}
SIMPLE = {
    "norm-kink-risk": (5, 37, {}),
    "quadratic-risk": (5, 21, {}),
    "collapse": (5, 40, {"active": 7}),
    "logistic-risk": (5, 101, {"pool_size": 20}),
}
SYNTHETIC = SQUARED | SIMPLE
FLIGHTS = {"flights-risk": (150, 97, {}), "weather-risk": (14, 97, {}), "flights-logistic-risk": (23, 97, {})}


def _risk(name: str, set_name: str = "l1-ball", runs: int = RUNS, **more: Any) -> tuple[EmpiricalRisk, ConstraintSet]:
    dimension, samples, options = (SYNTHETIC | FLIGHTS)[name]
    domain = make_set(set_name, dimension)
    return make_risk(name, domain, samples, generators(runs, 3), **(options | more)), domain


def _points(domain: ConstraintSet, runs: int = RUNS, count: int = 4) -> np.ndarray:
    return domain.project(np.random.default_rng(8).normal(size=(count, runs, domain.dimension)))


REAL_RISKS = {name: risk for name, risk in sources(EmpiricalRisk).items() if risk.data in bundled.BUNDLED}


def _all_records(risk: SquaredRisk) -> tuple[np.ndarray, np.ndarray]:
    """Features (runs, n, p) and labels (runs, n)."""
    features, labels = risk.records(np.tile(np.arange(risk.samples)[:, None], risk.runs))
    return features.swapaxes(0, 1), labels.T


@pytest.mark.parametrize("name", SQUARED)
def test_moments_are_those_of_admissible_records(name: str) -> None:
    risk, domain = _risk(name)
    assert isinstance(risk, SquaredRisk)
    features, labels = _all_records(risk)
    assert np.abs(features).max() <= 1.0
    assert np.abs(labels).max() <= 1.0
    points = _points(domain)
    residuals = np.einsum("rnp,srp->srn", features, points) - labels
    np.testing.assert_allclose(risk.value(points), 0.5 * (residuals**2).mean(axis=-1), atol=1e-13)
    grams = np.einsum("rnp,rnq->rpq", features, features) / risk.samples
    for coordinates in ([0, 1, domain.dimension - 1], [2, 2, 0]):
        columns = risk.gram_columns(np.array(coordinates))
        np.testing.assert_allclose(columns, grams[np.arange(RUNS), :, coordinates], atol=1e-13)
    largest = np.broadcast_to(risk.gram.largest_eigenvalues(), (RUNS,))
    assert (largest >= np.linalg.eigvalsh(grams)[:, -1] * (1 - 1e-12)).all()


@pytest.mark.parametrize("name", [*SYNTHETIC, *FLIGHTS])
def test_gradient_is_the_mean_of_record_gradients_and_the_slope_of_the_value(name: str, data_dir: Path) -> None:
    squared = name in FLIGHTS and name != "flights-logistic-risk"
    risk, domain = _risk(name, "l1-ball" if squared else "ball", data_dir=data_dir)
    point = _points(domain)[0]
    numbers = range(risk.samples)
    mean = sum(risk.record_gradient(point, np.full(RUNS, number)) for number in numbers) / risk.samples
    np.testing.assert_allclose(risk.gradient(point), mean, atol=1e-13)
    direction = np.random.default_rng(1).normal(size=point.shape)
    ahead, behind = risk.value(point + 1e-5 * direction), risk.value(point - 1e-5 * direction)
    np.testing.assert_allclose((ahead - behind) / 2e-5, np.vecdot(mean, direction), rtol=1e-6, atol=1e-8)
    values, _, gaps = risk.optimum()
    assert (values <= risk.value(point)).all()
    assert gaps.max() <= 1e-8


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("set_name", ["ball", "l1-ball", "simplex"])
def test_constants_hold(name: str, set_name: str) -> None:
    """Lipschitz constants of single records, curvature of the risk over pairs of points and steps."""
    risk, domain = _risk(name, set_name)
    vertices = domain.linear_oracle(np.random.default_rng(5).normal(size=(8, RUNS, domain.dimension)))
    points = np.concatenate([_points(domain), vertices])
    for point, number in itertools.product(points, range(0, risk.samples, 5)):
        gradient = risk.record_gradient(point, np.full(RUNS, number))
        assert np.sqrt(np.vecdot(gradient, gradient)).max() <= risk.lipschitz * (1 + 1e-12)
        assert np.abs(gradient).max() <= risk.lipschitz_l1 * (1 + 1e-12)
    if np.isinf(risk.curvature):
        return
    for start, end, step in itertools.product(points, points, (0.1, 1.0)):
        middle = start + step * (end - start)
        linear = np.vecdot(middle - start, risk.gradient(start))
        bent = 2 / step**2 * (risk.value(middle) - risk.value(start) - linear)
        assert bent.max() <= risk.curvature + 1e-10


def test_constants_of_the_lasso_domain_are_attained() -> None:
    """L1 = 2, L2 = 2 sqrt p, smoothness p, curvature 4, all by one record of ones on the unit l1 ball."""
    ones, corner = np.ones(3), np.array([[-1.0, 0.0, 0.0]])
    domain = make_set("l1-ball", 3)
    risk = SquaredRisk(domain, 1, 1, gram=DenseGram(np.outer(ones, ones)), moment=ones, label_square=1.0)
    assert (risk.lipschitz_l1, risk.lipschitz, risk.smoothness) == (2.0, pytest.approx(2 * 3**0.5), 3.0)
    assert np.abs(risk.gradient(corner)).max() == risk.lipschitz_l1
    assert np.linalg.norm(risk.gradient(corner)) == pytest.approx(risk.lipschitz)
    bent = 2 * (risk.value(-corner) - risk.value(corner) - np.vecdot(-2 * corner, risk.gradient(corner)))
    assert bent[0] == risk.curvature == 4.0
    assert squared_constants(make_set("simplex", 3))["curvature"] == pytest.approx(4.0)
    listed = make_set("polytope", 2, vertices=[[0.0, 0.0], [2.0, -1.0], [0.0, 1.0]])
    assert squared_constants(listed)["lipschitz_l1"] == 4.0


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("set_name", ["ball", "l1-ball", "simplex"])
def test_optimum_against_cvxpy(name: str, set_name: str) -> None:
    risk, domain = _risk(name, set_name)
    values, points, gaps = risk.optimum()
    assert values.shape == gaps.shape == (RUNS,)
    assert gaps.max() <= 1e-8
    assert domain.violation(points).max() < 1e-12
    np.testing.assert_allclose(risk.value(points), values, atol=1e-15)
    variable = cvxpy.Variable(domain.dimension)
    for run in range(RUNS):
        problem = cvxpy.Problem(cvxpy.Minimize(_objective(risk, variable, run)), domain.cvxpy_constraints(variable))
        problem.solve(solver="CLARABEL")
        assert values[run] == pytest.approx(problem.value, abs=2e-8)


def _objective(risk: EmpiricalRisk, variable: Any, run: int) -> Any:
    if isinstance(risk, SquaredRisk):
        features, labels = (each[run] for each in _all_records(risk))
        return cvxpy.sum_squares(features @ variable - labels) / (2 * risk.samples)
    if risk.name == "logistic-risk":
        features, positive, total = risk.features, risk.positives[run], np.round(risk.shares * risk.samples)
        scores = features @ variable
        return (total @ cvxpy.logistic(scores) - positive @ scores) / risk.samples
    if risk.name == "quadratic-risk":
        return 0.5 * cvxpy.sum_squares(variable - risk.mean) + float(risk.value(np.tile(risk.mean, (RUNS, 1)))[run])
    if risk.name == "collapse":
        return variable @ risk.slope
    return sum(
        term.weight * cvxpy.norm(variable - np.broadcast_to(term.anchor, (RUNS, 5))[run]) for term in risk.loss.terms
    )


@pytest.mark.parametrize("set_name", ["ball", "l1-ball", "simplex"])
def test_norm_kink_is_tight(set_name: str) -> None:
    """Excess at least (2 majority - 1) |theta - theta0|, and exactly |theta - theta0| where all records agree."""
    for majority in (0.6, 0.75, 1.0):
        domain = make_set(set_name, 5)
        risk = make_risk("norm-kink-risk", domain, 1000, generators(RUNS, 3), majority=majority)
        assert risk.tight
        best, anchor, _ = risk.optimum()
        for scale in (1.0, 1e-3, 1e-6):
            points = anchor + scale * (_points(domain) - anchor)
            distance = np.linalg.norm(points - anchor, axis=-1)
            excess = risk.value(points) - best
            assert (excess >= (2 * majority - 1) * distance - 1e-13).all()
            if majority == 1.0:
                np.testing.assert_allclose(excess, distance, atol=1e-15)


def test_dense_growing_needs_many_corners() -> None:
    """Optimum (1, .., 1) / (p + 1); s corners of weight 1/s leave the excess risk (1/s - 1/p) / 4 + O(1/p^2)."""
    samples, dimension = 2**12, 1024  # 4 n^(2/3)
    risk = make_risk("dense-growing", make_set("l1-ball", dimension), samples, generators(1, 3))
    values, points, _ = risk.optimum()
    np.testing.assert_allclose(points, 1 / (dimension + 1), rtol=1e-6)
    for corners in (1, 10, 100):
        sparse = np.zeros((1, dimension))
        sparse[:, :corners] = 1 / corners
        excess = risk.value(sparse) - values
        assert excess[0] == pytest.approx((1 / corners - 1 / dimension) / 4, abs=1 / dimension**2)


def test_fingerprint_follows_the_construction() -> None:
    """Orthogonal records with label 0, k = tau w p up to whole blocks; the sign vector over p is nearly optimal."""
    tau, dimension, samples = 0.02, 128, 2**12
    risk = make_risk("fingerprint", make_set("l1-ball", dimension), samples, generators(1, 3), tau=tau)
    words = round(float(risk.label_square) * samples)
    orthogonal = samples - words
    assert orthogonal % 128 == 0
    assert abs(orthogonal - tau * words * dimension) <= 128 * (1 + tau * dimension) / 2
    consensus = np.full((1, dimension), 1 / dimension)
    assert 2 * samples * risk.value(consensus)[0] <= (orthogonal / (words * dimension) + 4 * tau**2) * words
    assert risk.optimum()[0][0] <= risk.value(consensus)[0]


@pytest.mark.parametrize("name", SYNTHETIC)
def test_data_of_a_run_are_its_own(name: str) -> None:
    few, domain = _risk(name, runs=2)
    many, _ = _risk(name, runs=4)
    points = _points(domain, runs=4)
    np.testing.assert_allclose(few.gradient(points[:, :2]), many.gradient(points)[:, :2], atol=1e-13)
    np.testing.assert_allclose(few.value(points[:, :2]), many.value(points)[:, :2], atol=1e-13)


@pytest.mark.parametrize(("name", "samples"), [*((name, None) for name in REAL_RISKS), ("diabetes-risk", 100)])
def test_real_data_are_all_records_or_a_runs_own_without_replacement(
    name: str, samples: int | None, data_dir: Path
) -> None:
    examples = bundled.load(REAL_RISKS[name].data, data_dir)
    size, dimension = examples.features.shape
    domain, every = make_set("l1-ball", dimension), examples.features * np.sqrt(dimension)
    risk = make_risk(name, domain, samples or size, generators(RUNS, 3), data_dir=data_dir)
    features, labels = _all_records(risk)
    assert np.abs(features).max() <= 1.0 + 1e-12
    if samples is None:
        np.testing.assert_array_equal(features, np.tile(every, (RUNS, 1, 1)))
        np.testing.assert_array_equal(labels, np.tile(examples.labels, (RUNS, 1)))
    else:
        rows = [{tuple(row) for row in own} for own in features]
        assert all(len(own) == samples and own <= {tuple(row) for row in every} for own in rows)
        assert rows[0] != rows[1]
    points = _points(domain)[0]
    residuals = np.einsum("rnp,rp->rn", features, points) - labels
    np.testing.assert_allclose(risk.value(points), 0.5 * (residuals**2).mean(axis=-1), rtol=1e-11)
    values, _, gaps = risk.optimum()
    assert gaps.max() <= 1e-8
    assert (values < risk.value(np.zeros((RUNS, dimension)))).all()


def test_data_outside_the_domain_are_refused(data_dir: Path, tmp_path: Path) -> None:
    domain = make_set("l1-ball", 10)
    features, labels = np.zeros((442, 10)), np.zeros(442)
    features[5, 3] = 0.5  # in a row of norm 1, but of column 3 more than its range
    np.savez(tmp_path / "diabetes.npz", features=features, labels=labels)
    pattern = r"diabetes\.npz: feature in row 5, column 3 is 1\.58114, outside \[-1, 1\]"
    with pytest.raises(ValueError, match=pattern):
        make_risk("diabetes-risk", domain, 442, generators(RUNS, 3), data_dir=tmp_path)
    with pytest.raises(ValueError, match=r"has 442 records; samples must lie in 1\.\.442, got 443"):
        make_risk("diabetes-risk", domain, 443, generators(RUNS, 3), data_dir=data_dir)
    for name in FLIGHTS:
        with pytest.raises(ValueError, match="samples must lie in"):
            make_risk(name, make_set("l1-ball", FLIGHTS[name][0]), 10**6, generators(1, 3), data_dir=data_dir)
    with pytest.raises(ValueError, match="has 10 features, the set has dimension 4"):
        make_risk("diabetes-risk", make_set("l1-ball", 4), 442, generators(RUNS, 3), data_dir=data_dir)


FRESH = 30_001
MUS = (np.inf, 0.05, 2.0)


def _population(name: str, samples: int = FRESH, **options: Any) -> Any:
    return make_risk(name, make_set("ball", 3), samples, generators(RUNS, 7), **options).facing(MUS)


@pytest.mark.parametrize("name", ["lasso-population", "linear-population", "quadratic-population"])
def test_value_is_the_mean_loss_of_fresh_records(name: str) -> None:
    """Within 5 standard errors; the mean gradient by differences of the value, which is least at the optimum."""
    risk = _population(name)
    records = risk.stream().take(FRESH)
    point = make_set("ball", 3).project(np.random.default_rng(1).normal(size=(len(MUS), RUNS, 3)))
    each = risk.gradients(point[..., None, :], records)
    last = np.broadcast_to(records[:, :, -1], (*point.shape[:2], records.shape[3]))
    assert np.array_equal(risk.losses(last[None])[0].gradient(point), each[:, :, -1]), "compiled, the same"
    assert np.sqrt(np.square(each).sum(axis=-1)).max() <= risk.lipschitz * (1 + 1e-12)
    error = each.std(axis=2) / np.sqrt(FRESH)
    slope, step = each.mean(axis=2), 1e-4
    for axis, unit in enumerate(np.eye(3)):
        rise = (risk.value(point + step * unit) - risk.value(point - step * unit)) / (2 * step)
        assert (np.abs(rise - slope[..., axis]) <= 5 * error[..., axis] + 1e-9).all()
    values, best, _ = risk.optimum()
    assert np.allclose(np.broadcast_to(values, risk.value(best).shape), risk.value(best), rtol=0, atol=0)
    assert (risk.value(point) >= values).all()


def test_linear_records_are_signs_whose_mean_is_the_hard_length() -> None:
    risk = _population("linear-population", strength=3.0)
    hard = 3.0 * np.maximum(FRESH**-0.5, 3**0.5 / (np.array(MUS) * FRESH))
    assert risk.lengths == pytest.approx(hard, rel=1e-15)
    records = risk.stream().take(FRESH)
    assert np.array_equal(np.abs(records), np.full(records.shape, risk.direction[0]))
    mean = records.mean(axis=2)
    assert np.abs(mean - hard[:, None, None] / np.sqrt(3)).max() <= 5 / np.sqrt(FRESH * 3)
    assert (records[1] >= records[2]).all(), "settings share their random numbers"
    values, points, gaps = risk.optimum()
    assert values == pytest.approx(np.repeat(-hard[:, None], RUNS, axis=1))
    assert not gaps.any()
    assert points.shape == (RUNS, 3)
    assert _population("linear-population", 9, power=0.5).lengths[1] == pytest.approx(1.0), "never above 1"


def test_a_pass_repeats_and_ends() -> None:
    risk = _population("linear-population", 700)
    whole, parts = risk.stream().take(700), risk.stream()
    taken = np.concatenate([parts.take(count) for count in (1, 0, 256, 443)], axis=2)
    assert np.array_equal(whole, taken)
    with pytest.raises(ValueError, match="asked for 1 records, 0 are left"):
        parts.take(1)


def test_the_lasso_keeps_the_average_of_its_records() -> None:
    """Gradient and columns of the stored moments against the records; single ones are not kept."""
    risk = make_risk("lasso-population", make_set("l1-ball", 3), 5001, generators(RUNS, 3))
    point = np.array([[0.2, -0.3, 0.1], [0.0, 0.5, 0.4], [-1.0, 0.0, 0.0]])
    records = risk.stream().take(5001)
    each = risk.gradients(point[None, :, None], records)[0]
    assert np.abs(each).max() <= risk.lipschitz_l1
    assert risk.gradient(point) == pytest.approx(each.mean(axis=1), abs=1e-12)
    products = (records[0, ..., :-1] * records[0, ..., 1:2]).mean(axis=1)
    assert risk.gram_columns(np.array([1, 1, 1])) == pytest.approx(products, abs=1e-12)
    with pytest.raises(ValueError, match="keeps no single records"):
        risk.record_gradient(point, np.zeros(RUNS, dtype=int))


# What no stream and no risk can be made of is refused in one line that names it


BALL, CORNERS = make_set("ball", 4), make_set("l1-ball", 4)
BANDIT = (280, 0.3)


def refused(name: str, samples: int, **options: Any) -> object:
    return make_risk(name, CORNERS, samples, generators(3, 3), **options)


REFUSED: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any], str]] = [
    (make_stream, ("smoth-quadratic", BALL), {}, "did you mean 'smooth-quadratic'.*Allowed: .*smooth-quadratic"),
    (make_stream, ("random-kink", BALL), {"spread": 1.0}, "no option 'spread'; allowed: none"),
    (make_stream, ("norm-kink", BALL), {"lipschitz": 0.3}, "lipschitz must be above mu R"),
    (make_stream, ("smooth-quadratic", BALL), {"strong_convexity": 0.0}, "strong_convexity"),
    (make_stream, ("drift", BALL), {"period": 20}, "multiple of 8"),
    (make_stream, ("digits", BALL), {}, "needs the option 'data_dir'"),
    (make_stream, ("digits", make_set("ball", 64)), {"nonsense": 1}, "no option 'nonsense'; allowed: none"),
    (make_stream, ("ridge-logistic", BALL), {"pool_size": 0}, "pool_size"),
    (make_bandit_stream, ("ranking", BALL, BANDIT), {}, "'ranking' lives on the set permutahedron, not on 'ball'"),
    (make_bandit_stream, ("random-linear", BALL, BANDIT), {"spread": 0.0}, "spread"),
    (make_bandit_stream, ("completion", make_set("nuclear", 9), BANDIT), {"rank": 4}, "between 1 and 3, got 4"),
    (
        make_bandit_stream,
        ("hard-arms", make_set("simplex", 4), BANDIT),
        {"gap": 3.0},
        r"option gap: 3 sqrt\(K tau / T\) = 0.7.* at least 576, or",
    ),
    (make_bandit_stream, ("arms", make_set("simplex", 4), BANDIT), {"gap": 0.6}, "gap"),
    (make_expert_stream, ("halving", 12, 8), {}, "experts must be a power of two"),
    (make_expert_stream, ("gap", 2**21, 8), {}, "experts must lie between"),
    (make_expert_stream, ("halving-slow", 16, 14), {"kill": 0.01}, "at least 15, the number of phases, got 14"),
    (make_expert_stream, ("halving", 8, 8), {"best_loss": 8.5}, "best_loss"),
    (make_expert_stream, ("bernoulli", 8, 0), {}, "horizon must be at least 1, got 0"),
    (make_expert_stream, ("bernoulli", 8, 8), {"epsilon": 0.0}, "epsilon must be positive, got 0.0"),
    (make_expert_stream, ("lower-bound", 8, 8), {}, "needs a finite epsilon or the option 'length', got epsilon inf"),
    (make_expert_stream, ("lower-bound", 8, 8), {"length": 2, "best_loss": 1.0}, "best_loss"),
    (refused, ("lasso-easy", 8), {"sparsity": 9}, "sparsity"),
    (refused, ("hetero-consensus", 12), {}, "multiple of 8 in this dimension, got 12"),
    (refused, ("dense-growing", 48), {"curvature": 5.0}, "curvature"),
    (refused, ("fingerprint", 4), {}, "no room for code words"),
    (refused, ("norm-kink-risk", 8), {"majority": 0.5}, "majority"),
    (refused, ("linear-population", 8), {"strength": 0.0}, "strength"),
    (refused, ("norm-kink-risk", 0), {}, "samples must be at least 1"),
]


@pytest.mark.parametrize(("make", "given", "options", "said"), REFUSED)
def test_refusals_are_one_line(
    make: Callable[..., object], given: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        make(*given, **options)
    assert "\n" not in str(caught.value)


def test_a_population_without_losses_and_gradients_is_refused_when_it_is_made() -> None:
    class Silent(PopulationRisk):
        """Draws records, and has no loss of them."""

        def _drawn(self, coins: Any, count: int) -> Any: ...

        def value(self, points: Any) -> Any: ...

        def optimum(self) -> Any: ...

    with pytest.raises(ValueError, match="Silent has neither losses nor gradients"):
        Silent(make_set("ball", 2), 4, generators(1), lipschitz=1.0, smoothness=0.0, curvature=0.0)
