"""Compiled steps of noisy descents are those of the definition; signs are bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.noisy_descent import (
    NoisyExponentiatedGradient,
    NoisyGradientDescent,
    NoisyGrouped,
    NoisyQNorm,
)
from dpregret.algorithms.erm.sgd import NoisySgd
from dpregret.algorithms.erm.strongly_convex_descent import NoisyStronglyConvexDescent
from dpregret.algorithms.geometry import CountedSet, make_potential, make_set
from dpregret.algorithms.geometry.counted import SolvedSet
from dpregret.algorithms.geometry.potential_kernels import place, step
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import _times_rademacher
from dpregret.datasets.risks import make_risk


@pytest.mark.parametrize("size", [1, 8, 29, 1000])
def test_signs_are_the_bits_in_their_order(size: int) -> None:
    """The highest bit of the first byte turns the first entry."""
    generator = np.random.default_rng(2)
    sizes, bits = generator.random(size), np.frombuffer(generator.bytes(-(-size // 8)), dtype=np.uint8)
    turned = sizes.copy()
    _times_rademacher(turned, bits)
    np.testing.assert_array_equal(turned, sizes * (1.0 - 2.0 * np.unpackbits(bits, count=size)))


DESCENTS = [
    (NoisyGradientDescent, "corrected", "norm-kink-risk", "ball"),
    (NoisyGradientDescent, "printed", "norm-kink-risk", "simplex"),
    (NoisyGradientDescent, "corrected", "quadratic-risk", "l1-ball"),
    (NoisyStronglyConvexDescent, "corrected", "quadratic-risk", "box"),
    (NoisyStronglyConvexDescent, "printed", "quadratic-risk", "ball"),
    (NoisySgd, "corrected", "norm-kink-risk", "ball"), (NoisySgd, "sampled", "norm-kink-risk", "l1-ball"),
    (NoisyExponentiatedGradient, "corrected", "norm-kink-risk", "simplex"),
    (NoisyExponentiatedGradient, "printed", "quadratic-risk", "l1-ball"),
    (NoisyQNorm, "corrected", "norm-kink-risk", "l1-ball"), (NoisyQNorm, "printed", "quadratic-risk", "l1-ball"),
    (NoisyGrouped, "corrected", "norm-kink-risk", "grouped-l1"),
    (NoisyGrouped, "printed", "quadratic-risk", "grouped-l1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "variant", "risk", "set_name"), DESCENTS)
@pytest.mark.parametrize(("dimension", "samples"), [(1, 37), (7, 250), (33, 250)])
def test_compiled_descents_are_plain_descents(
    kind: Any, variant: str, risk: str, set_name: str, dimension: int, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings of different lengths, one of them silent: the same points on the same draws, as many projections."""
    if dimension == 1 and set_name == "simplex":
        dimension = 2
    euclidean = kind.potential_name == "euclidean"
    monkeypatch.setattr(kind, "MAX_ITERATIONS", 700 if euclidean else 60)  # others pull roundings apart at a kink
    monkeypatch.setattr(kind, "MAX_SAMPLES", 700, raising=False)
    released, projected = [], []
    for compiled in (True, False):
        domain = CountedSet(make_set(set_name, dimension))
        data = make_risk(risk, domain, samples, [np.random.default_rng([4, each]) for each in range(3)])
        tilted = (kind.potential_name, risk) == ("entropy", "norm-kink-risk")
        silent = 1e9 if tilted or variant == "sampled" else np.inf  # without any noise it meets kinks: slopes jump
        budgets = [Budget(epsilon, 1e-6) for epsilon in (0.5, 8.0, silent)]
        learner = kind(ErmProblem(domain, data), budgets, 3, variant)
        assert learner._compiled() is not None
        if not compiled:
            monkeypatch.setattr(learner, "_compiled", lambda: None)
            monkeypatch.setattr(learner, "_compiled_samples", lambda: None, raising=False)
        released.append(learner.fit([np.random.default_rng([5, each]) for each in range(3)]))
        projected.append(domain.projections.rows)
    np.testing.assert_allclose(released[0], released[1], rtol=0, atol=1e-12)
    assert projected[0] == projected[1]
    assert (projected[0] > 0) == euclidean


@pytest.mark.parametrize(
    ("set_name", "name"),
    [("l1-ball", "q-norm"), ("grouped-l1", "grouped"), ("l1-ball", "entropy"), ("simplex", "entropy"),
     ("simplex", "euclidean")],
)  # fmt: skip
@pytest.mark.parametrize("dimension", [2, 9, 130])
@pytest.mark.parametrize("size", [1e-9, 1e-2, 1.0, 300.0])
def test_a_compiled_step_is_the_potentials(set_name: str, name: str, dimension: int, size: float) -> None:
    """From the start and from where steps of all sizes lead; costs that are zero too."""
    potential = make_potential(make_set(set_name, dimension), name)
    generator, rule = np.random.default_rng(dimension), potential.rule
    assert rule is not None
    plain = potential.start()
    work, point = np.empty((3, len(plain))), np.empty(dimension)
    for at in range(12):
        gradient = size * generator.standard_normal(dimension) * (at != 5) * (np.arange(dimension) != at)
        moved = plain.copy()
        step(*rule, moved, gradient.copy(), work)
        plain = potential.step(plain, gradient)
        np.testing.assert_allclose(moved, plain, rtol=1e-11, atol=1e-14)
        place(*rule, moved, point, work)
        np.testing.assert_allclose(point, potential.point(plain), rtol=0, atol=1e-13)


def test_sets_that_project_otherwise_are_not_compiled() -> None:
    """A ball served by a general solver stays with the solver; so does a set without kernel."""
    for domain in (SolvedSet(make_set("ball", 3)), CountedSet(make_set("nuclear", 4))):
        data = make_risk("norm-kink-risk", domain, 50, [np.random.default_rng(1)])
        assert NoisyGradientDescent(ErmProblem(domain, data), [Budget(1.0, 1e-6)], 1, "corrected")._compiled() is None
