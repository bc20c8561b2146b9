"""Empirical risks: moments against records, gradients, constants by brute force, certified optima, errors."""

from __future__ import annotations

import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest

from dpregret.algorithms.geometry import ConstraintSet, make_set
from dpregret.core.minimise import minimise
from dpregret.datasets import bundled
from dpregret.datasets.base import sources
from dpregret.datasets.risk_squared import DenseGram, FactoredGram, SquaredRisk, hadamard_signs
from dpregret.datasets.risks import EmpiricalRisk, make_risk

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


def _rngs(runs: int = RUNS, seed: int = 3) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, run]) for run in range(runs)]


def _risk(name: str, set_name: str = "l1-ball", runs: int = RUNS, **more: Any) -> tuple[EmpiricalRisk, ConstraintSet]:
    dimension, samples, options = SYNTHETIC[name]
    domain = make_set(set_name, dimension)
    return make_risk(name, domain, samples, _rngs(runs), **(options | more)), domain


def _points(domain: ConstraintSet, runs: int = RUNS, count: int = 4) -> np.ndarray:
    return domain.project(np.random.default_rng(8).normal(size=(count, runs, domain.dimension)))


REAL_RISKS = {name: risk for name, risk in sources(EmpiricalRisk).items() if risk.data in bundled.BUNDLED}


class Plain(SquaredRisk):
    """A risk from moments alone."""

    name = "plain"


def _all_records(risk: SquaredRisk) -> tuple[np.ndarray, np.ndarray]:
    """Features (runs, n, p) and labels (runs, n)."""
    rows = [risk.records(np.full(risk.runs, number)) for number in range(risk.samples)]
    return np.stack([row[0] for row in rows], axis=1), np.stack([row[1] for row in rows], axis=1)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for risk in REAL_RISKS.values():
        bundled.prepare(risk.data, folder / f"{risk.data}.npz")
    return folder


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
    gradients = np.einsum("srn,rnp->srp", residuals, features) / risk.samples
    np.testing.assert_allclose(risk.gradient(points), gradients, atol=1e-13)
    grams = np.einsum("rnp,rnq->rpq", features, features) / risk.samples
    for coordinates in ([0, 1, domain.dimension - 1], [2, 2, 0]):
        columns = risk.gram_columns(np.array(coordinates))
        np.testing.assert_allclose(columns, grams[np.arange(RUNS), :, coordinates], atol=1e-13)
    largest = np.broadcast_to(risk.gram.largest_eigenvalues(), (RUNS,))
    assert (largest >= np.linalg.eigvalsh(grams)[:, -1] * (1 - 1e-12)).all()


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("set_name", ["ball", "l1-ball", "simplex"])
def test_gradient_is_the_mean_of_record_gradients_and_the_slope_of_the_value(name: str, set_name: str) -> None:
    risk, domain = _risk(name, set_name)
    point = _points(domain)[0]
    numbers = range(risk.samples)
    mean = sum(risk.record_gradient(point, np.full(RUNS, number)) for number in numbers) / risk.samples
    np.testing.assert_allclose(risk.gradient(point), mean, atol=1e-12)
    direction = np.random.default_rng(1).normal(size=point.shape)
    ahead, behind = risk.value(point + 1e-5 * direction), risk.value(point - 1e-5 * direction)
    np.testing.assert_allclose((ahead - behind) / 2e-5, np.vecdot(mean, direction), rtol=1e-6, atol=1e-8)


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
    risk = Plain(domain, 1, 1, gram=DenseGram(np.outer(ones, ones)), moment=ones, label_square=1.0)
    assert (risk.lipschitz_l1, risk.lipschitz, risk.smoothness) == (2.0, pytest.approx(2 * 3**0.5), 3.0)
    assert np.abs(risk.gradient(corner)).max() == risk.lipschitz_l1
    assert np.linalg.norm(risk.gradient(corner)) == pytest.approx(risk.lipschitz)
    bent = 2 * (risk.value(-corner) - risk.value(corner) - np.vecdot(-2 * corner, risk.gradient(corner)))
    assert bent[0] == risk.curvature == 4.0
    simplex = make_set("simplex", 3)
    assert Plain(simplex, 1, 1, gram=DenseGram(np.eye(3)), moment=ones, label_square=1.0).curvature == pytest.approx(
        4.0
    )
    listed = make_set("polytope", 2, vertices=[[0.0, 0.0], [2.0, -1.0], [0.0, 1.0]])
    on_list = Plain(listed, 1, 1, gram=DenseGram(np.eye(2)), moment=np.ones(2), label_square=1.0)
    assert on_list.lipschitz_l1 == 4.0


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
        risk = make_risk("norm-kink-risk", domain, 1000, _rngs(), majority=majority)
        assert risk.tight
        best, anchor, _ = risk.optimum()
        for scale in (1.0, 1e-3, 1e-6):
            points = anchor + scale * (_points(domain) - anchor)
            distance = np.linalg.norm(points - anchor, axis=-1)
            excess = risk.value(points) - best
            assert (excess >= (2 * majority - 1) * distance - 1e-13).all()
            if majority == 1.0:
                np.testing.assert_allclose(excess, distance, atol=1e-15)


def test_curvature_of_dense_growing_leaves_the_l1_lipschitz_constant() -> None:
    ball = make_set("l1-ball", 6)
    points = ball.project(np.random.default_rng(2).normal(size=(5, RUNS, 6)))
    full, flat = (make_risk("dense-growing", ball, 48, _rngs(), curvature=each) for each in (4.0, 1.0))
    np.testing.assert_allclose(flat.value(points), full.value(points) / 4, rtol=1e-14)
    np.testing.assert_allclose(flat.gradient(points), full.gradient(points) / 4, rtol=1e-13, atol=1e-16)
    records = np.array([1, 25, 47])
    ours, theirs = (risk.record_gradient(points[0], records) for risk in (flat, full))
    np.testing.assert_allclose(ours, theirs / 4, rtol=1e-13, atol=1e-16)
    assert (flat.curvature, flat.smoothness, flat.lipschitz_l1) == (1.0, 1.5, full.lipschitz_l1)
    weight, corner = 0.25, np.eye(6)[0]
    steepest = weight * abs(-np.ones(6) @ corner - (2 / weight - 1))  # the record x = -1, y = 2 / g - 1 at a corner
    assert steepest == pytest.approx(flat.lipschitz_l1)
    with pytest.raises(ValueError, match="curvature must lie in"):
        make_risk("dense-growing", ball, 48, _rngs(), curvature=5.0)


def test_dense_growing_needs_many_corners() -> None:
    """Optimum (1, .., 1) / (p + 1); s corners of weight 1/s leave the excess risk (1/s - 1/p) / 4 + O(1/p^2)."""
    samples = 2**12
    dimension = 1024  # 4 n^(2/3)
    risk = make_risk("dense-growing", make_set("l1-ball", dimension), samples, _rngs(1))
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
    risk = make_risk("fingerprint", make_set("l1-ball", dimension), samples, _rngs(1), tau=tau)
    words = round(float(risk.label_square) * samples)
    orthogonal = samples - words
    assert orthogonal % 128 == 0
    assert abs(orthogonal - tau * words * dimension) <= 128 * (1 + tau * dimension) / 2
    consensus = np.full((1, dimension), 1 / dimension)
    assert 2 * samples * risk.value(consensus)[0] <= (orthogonal / (words * dimension) + 4 * tau**2) * words
    assert risk.optimum()[0][0] <= risk.value(consensus)[0]


def test_hadamard_columns_are_orthogonal() -> None:
    signs = hadamard_signs(np.arange(16)[:, None], np.arange(16))
    assert np.array_equal(signs.T @ signs, 16 * np.eye(16))


@pytest.mark.parametrize("name", SYNTHETIC)
def test_data_of_a_run_are_its_own(name: str) -> None:
    few, domain = _risk(name, runs=2)
    many, _ = _risk(name, runs=4)
    points = _points(domain, runs=4)
    np.testing.assert_allclose(few.gradient(points[:, :2]), many.gradient(points)[:, :2], atol=1e-13)
    np.testing.assert_allclose(few.value(points[:, :2]), many.value(points)[:, :2], atol=1e-13)


def test_large_structured_risks_need_no_matrix() -> None:
    tracemalloc.start()
    risk = make_risk("hetero-consensus", make_set("l1-ball", 4096), 2**20, _rngs(2))
    _, points, gaps = risk.optimum()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**23  # a matrix would take 2^27 bytes
    assert gaps.max() <= 1e-11
    assert np.abs(points).sum(axis=-1).max() <= 1 + 1e-12


def test_factored_and_dense_grams_agree() -> None:
    generator = np.random.default_rng(4)
    vectors, diagonal = generator.normal(size=(2, 5)), generator.random(5) + 1.0
    factored = FactoredGram(np.array([0.7, -0.05]), vectors, diagonal)
    dense = DenseGram(
        0.7 * np.outer(vectors[0], vectors[0]) - 0.05 * np.outer(vectors[1], vectors[1]) + np.diag(diagonal)
    )
    points = generator.normal(size=(2, 3, 5))
    np.testing.assert_allclose(factored.product(points), dense.product(points), atol=1e-13)
    each = DenseGram(np.stack([dense.matrices, 2 * dense.matrices, 3 * dense.matrices]))
    np.testing.assert_allclose(each.product(points), dense.product(points) * np.arange(1, 4)[:, None], atol=1e-13)
    assert (factored.largest_eigenvalues() >= dense.largest_eigenvalues() - 1e-9).all()


@pytest.mark.parametrize("name", REAL_RISKS)
def test_real_data(name: str, data_dir: Path) -> None:
    samples, dimension = len(bundled.load(REAL_RISKS[name].data, data_dir).labels), REAL_RISKS[name].columns
    domain = make_set("l1-ball", dimension)
    risk = make_risk(name, domain, samples, _rngs(2), data_dir=data_dir)
    assert isinstance(risk, SquaredRisk)
    assert risk.real
    examples = bundled.load(name.removesuffix("-risk"), data_dir)
    features = examples.features * np.sqrt(dimension)
    assert np.abs(features).max() <= 1.0 + 1e-12
    point = _points(domain, runs=2)
    residuals = point @ features.T - examples.labels
    np.testing.assert_allclose(risk.value(point), 0.5 * (residuals**2).mean(axis=-1), rtol=1e-11)
    values, _, gaps = risk.optimum()
    assert gaps.max() <= 1e-8
    assert (values < risk.value(np.zeros((2, dimension)))).all()
    got, labels = risk.records(np.array([0, samples - 1]))
    np.testing.assert_array_equal(got, features[[0, -1]])
    np.testing.assert_array_equal(labels, examples.labels[[0, -1]])


def test_subsamples_are_without_replacement_and_a_runs_own(data_dir: Path) -> None:
    domain = make_set("l1-ball", 10)
    risk = make_risk("diabetes-risk", domain, 100, _rngs(3), data_dir=data_dir)
    assert isinstance(risk, SquaredRisk)
    features, labels = _all_records(risk)
    pool = bundled.load("diabetes", data_dir)
    scaled = pool.features * np.sqrt(10)
    for run in range(3):
        assert len(np.unique(features[run], axis=0)) == 100
        assert {tuple(row) for row in features[run]} <= {tuple(row) for row in scaled}
    assert not np.array_equal(features[0], features[1])
    residuals = np.einsum("rnp,rp->rn", features, _points(domain)[0]) - labels
    np.testing.assert_allclose(risk.value(_points(domain)[0]), 0.5 * (residuals**2).mean(axis=-1), rtol=1e-11)
    assert risk.optimum()[2].max() <= 1e-8
    few = make_risk("diabetes-risk", domain, 100, _rngs(2), data_dir=data_dir)
    np.testing.assert_allclose(few.value(_points(domain)[0, :2]), risk.value(_points(domain)[0])[:2])


def test_data_outside_the_domain_are_refused(data_dir: Path, tmp_path: Path) -> None:
    domain = make_set("l1-ball", 10)
    features, labels = np.zeros((442, 10)), np.zeros(442)
    features[5, 3] = 0.5  # in a row of norm 1, but of column 3 more than its range
    np.savez(tmp_path / "diabetes.npz", features=features, labels=labels)
    pattern = r"diabetes\.npz: feature in row 5, column 3 is 1\.58114, outside \[-1, 1\]"
    with pytest.raises(ValueError, match=pattern):
        make_risk("diabetes-risk", domain, 442, _rngs(), data_dir=tmp_path)
    with pytest.raises(ValueError, match=r"has 442 records; samples must lie in 1\.\.442, got 443"):
        make_risk("diabetes-risk", domain, 443, _rngs(), data_dir=data_dir)
    with pytest.raises(ValueError, match="has 10 features, the set has dimension 4"):
        make_risk("diabetes-risk", make_set("l1-ball", 4), 442, _rngs(), data_dir=data_dir)


@pytest.mark.parametrize(
    ("name", "samples", "options", "message"),
    [
        ("lasso", 8, {}, "unknown risk 'lasso', allowed: .*; did you mean 'lasso-easy'"),
        ("lasso-easy", 8, {"sparse": 1}, "has no option 'sparse'; allowed: sparsity, truth_norm, noise"),
        ("lasso-easy", 8, {"sparsity": 9}, r"sparsity must lie in 1\.\.4, got 9"),
        ("diabetes-risk", 8, {}, "needs the option 'data_dir'"),
        ("hetero-consensus", 12, {}, "multiple of 8 in this dimension, got 12"),
        ("hetero-consensus", 16, {"strength": 2.0}, "strength must lie"),
        ("dense-growing", 12, {}, "multiple of 8 in this dimension, got 12"),
        ("fingerprint", 4, {}, "no room for code words"),
        ("fingerprint", 64, {"tau": 0.0}, "tau must be positive"),
        ("norm-kink-risk", 8, {"majority": 0.5}, r"majority must lie in \(0.5, 1\]"),
        ("norm-kink-risk", 8, {"radius": -1.0}, "radius must be positive"),
        ("quadratic-risk", 8, {"spread": 0.0}, "spread must be positive"),
        ("collapse", 8, {"active": 9}, r"active must lie in 1\.\.8, got 9"),
        ("logistic-risk", 8, {"pool_size": 0}, "pool_size must be at least 1"),
        ("norm-kink-risk", 0, {}, "samples must be at least 1"),
    ],
)
def test_refusals(name: str, samples: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_risk(name, make_set("l1-ball", 4), samples, _rngs(), **options)


def test_records_beyond_the_kept_ones_and_uncertified_optima_are_refused() -> None:
    domain = make_set("l1-ball", 4)
    risk = make_risk("lasso-easy", domain, 2**16 + 1, _rngs(1), sparsity=2)
    with pytest.raises(ValueError, match="keeps no single records for 65537 samples"):
        risk.record_gradient(np.zeros((1, 4)), np.array([0]))
    hard = make_risk("hetero-consensus", make_set("ball", 63), 64, _rngs(1))
    assert isinstance(hard, SquaredRisk)
    with pytest.raises(FloatingPointError, match="no certified minimum"):
        minimise(hard.domain, hard.gradient, np.zeros((1, 63)), hard.gram.largest_eigenvalues(), max_steps=4)
