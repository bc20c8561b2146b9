"""Mirror descents: compiled and in Python, in tiles and whole, by a risk's methods and by its text, the same bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from dpregret.algorithms.erm import mirror_descent
from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.erm.noisy_descent import (
    NoisyExponentiatedGradient,
    NoisyGradientDescent,
    NoisyGrouped,
    NoisyNuclear,
    NoisyQNorm,
)
from dpregret.algorithms.erm.sgd import NoisySgd
from dpregret.algorithms.erm.strongly_convex_descent import NoisyStronglyConvexDescent
from dpregret.algorithms.geometry import CountedSet, make_potential, make_set
from dpregret.algorithms.geometry.base import SolvedSet
from dpregret.algorithms.privacy import Budget
from dpregret.core.losses import PerRun, loss
from dpregret.core.oracles import Asked, inner, slope_at
from dpregret.datasets.risks import make_risk
from dpregret.numerics.arrays import Array

RUNS = 3
COMBINED = [
    (NoisyGradientDescent, "corrected", "norm-kink-risk", "ball"),
    (NoisyGradientDescent, "printed", "norm-kink-risk", "simplex"),
    (NoisyGradientDescent, "corrected", "quadratic-risk", "l1-ball"),
    (NoisyGradientDescent, "corrected", "collapse", "ball"),
    (NoisyGradientDescent, "corrected", "logistic-risk", "ball"),
    (NoisyGradientDescent, "corrected", "lasso-easy", "l1-ball"),
    (NoisyGradientDescent, "corrected", "quadratic-risk", "grouped-l1"),
    (NoisyStronglyConvexDescent, "corrected", "quadratic-risk", "box"),
    (NoisyStronglyConvexDescent, "printed", "quadratic-risk", "ball"),
    (NoisySgd, "corrected", "norm-kink-risk", "ball"), (NoisySgd, "sampled", "norm-kink-risk", "l1-ball"),
    (NoisySgd, "sampled", "quadratic-risk", "box"), (NoisySgd, "sampled", "logistic-risk", "ball"),
    (NoisyExponentiatedGradient, "corrected", "norm-kink-risk", "simplex"),
    (NoisyExponentiatedGradient, "printed", "quadratic-risk", "l1-ball"),
    (NoisyExponentiatedGradient, "corrected", "norm-kink-risk", "polytope"),
    (NoisyQNorm, "corrected", "norm-kink-risk", "l1-ball"), (NoisyQNorm, "printed", "quadratic-risk", "l1-ball"),
    (NoisyGrouped, "corrected", "norm-kink-risk", "grouped-l1"),
    (NoisyGrouped, "printed", "quadratic-risk", "grouped-l1"),
    (NoisyNuclear, "corrected", "norm-kink-risk", "nuclear"),
]  # fmt: skip
DAILY = [COMBINED[10], COMBINED[14]]


def fitted(
    kind: type[MirrorDescent], variant: str, risk: Any, set_name: str, dimension: int, steps: int = 20
) -> tuple[MirrorDescent, Array]:
    """Settings of different lengths, one of them silent, and what they release; risk: its name, or a function."""
    options = {"vertices": np.eye(dimension) - 0.1} if set_name == "polytope" else {}
    domain = CountedSet(make_set(set_name, dimension, **options))
    generators = [np.random.default_rng([4, run]) for run in range(RUNS)]
    extra = {"sparsity": 1} if risk == "lasso-easy" else {}
    data = risk(domain, generators) if callable(risk) else make_risk(risk, domain, 250, generators, **extra)
    budgets = [Budget(epsilon, 1e-6) for epsilon in (0.5, 8.0, 1e9 if variant == "sampled" else np.inf)]
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": steps, "MAX_SAMPLES": steps})
    learner = short(ErmProblem(domain, data), budgets, RUNS, variant)
    return learner, learner.fit([np.random.default_rng([5, run]) for run in range(RUNS)])


@pytest.mark.parametrize(
    ("kind", "variant", "risk", "set_name"),
    [pytest.param(*each, marks=[] if each in DAILY else [pytest.mark.nightly]) for each in COMBINED],
)
@pytest.mark.parametrize("dimension", [pytest.param(4, marks=pytest.mark.nightly), 9])
def test_python_takes_the_steps_that_are_compiled(
    kind: Any, variant: str, risk: str, set_name: str, dimension: int, compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same points; a Euclidean step is a projection."""
    learner, found = fitted(kind, variant, risk, set_name, dimension)
    with monkeypatch.context() as patch:
        patch.setattr(mirror_descent, "specialised", lambda function, *kinds: function)
        np.testing.assert_array_equal(fitted(kind, variant, risk, set_name, dimension)[1], found)
    steps = sum(plan.iterations - (variant == "sampled") for plan in learner.plans)
    assert isinstance(learner.domain, CountedSet)
    assert learner.domain.projections.rows == (steps * RUNS if kind.potential_name == "euclidean" else 0)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize(
    ("kind", "variant", "risk", "set_name"),
    [(NoisyGradientDescent, "corrected", "norm-kink-risk", "ball"), (NoisySgd, "sampled", "norm-kink-risk", "ball"),
     (NoisyExponentiatedGradient, "corrected", "norm-kink-risk", "l1-ball")],
)  # fmt: skip
def test_columns_in_tiles_get_the_bits_of_all_together(
    kind: Any, variant: str, risk: str, set_name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fitted(kind, variant, risk, set_name, 5)[1]
    monkeypatch.setattr(mirror_descent, "FEWEST", most)
    monkeypatch.setattr(mirror_descent, "MOST", most)
    np.testing.assert_array_equal(fitted(kind, variant, risk, set_name, 5)[1], found)


class Bent(NamedTuple):
    """f(x) = sum_k (x_k - a_k)^4 / 4, somebody's own."""

    center: PerRun


loss(Bent)


@slope_at.add
def _(loss: Bent, x, gradient, value, s):  # type: ignore[no-untyped-def]
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            gradient[k, r] = x[k, r] - loss.center[k, r]
            gradient[k, r] *= gradient[k, r] * gradient[k, r]
    inner(gradient, gradient, value, s)


class OwnRisk:
    """A risk with a text, or without."""

    lipschitz, lipschitz_l1, smoothness, curvature = 8.0, 8.0, 12.0, 48.0
    strong_convexity, hessian_rank, samples = 0.0, None, 50

    def __init__(self, domain: Any, generators: Any, told: bool):
        self.dimension = domain.dimension
        self.text = Bent(np.stack([0.3 * generator.standard_normal(self.dimension) for generator in generators]))
        self.loss = self.text if told else None

    def value(self, points: Array) -> Array:
        raise NotImplementedError

    def gradient(self, points: Array) -> Array:
        """Of points (settings, runs, p)."""
        return (points - self.text.center) * ((points - self.text.center) * (points - self.text.center))

    def record_gradient(self, points: Array, records: np.ndarray) -> Array:
        return self.gradient(points)


@pytest.mark.parametrize("variant", ["corrected", pytest.param("sampled", marks=pytest.mark.nightly)])
def test_a_risk_of_ones_own_is_compiled_or_asked(variant: str, compiled: None) -> None:
    """The text of the risk, and its methods."""
    told, asked = (
        fitted(NoisySgd, variant, lambda domain, made, told=told: OwnRisk(domain, made, told), "l1-ball", 6)[1]
        for told in (True, False)
    )
    np.testing.assert_allclose(told, asked, rtol=0, atol=1e-15)
    assert np.abs(told).max() > 0.0


def test_sets_that_project_otherwise_are_asked() -> None:
    """A ball served by a general solver stays with the solver; so does a set without a text."""
    assert not isinstance(make_potential(make_set("ball", 3), "euclidean").data.domain, Asked)
    for domain in (SolvedSet(make_set("ball", 3)), CountedSet(make_set("nuclear", 4))):
        assert isinstance(make_potential(domain, "euclidean").data.domain, Asked)
