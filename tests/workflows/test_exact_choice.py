"""Each formula of docs/proofs/noisy_min_range.md against quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from competing import random_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp

from dpregret.algorithms.privacy.selection import RANGES, Selection
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.exact_choice import WIDEST, choice_scores, equal_pair_range, largest_range, pair_ranges
from dpregret.workflows.proof_pages import PAGES

FIVE = np.array([0.0, 0.0, WIDEST, WIDEST, WIDEST])


def law(scores: Array) -> Array:
    return choice_scores(scores, np.zeros(len(scores)))[0]


def test_formulas_1_and_2_are_the_range() -> None:
    for pair in random_pairs(60, 1):
        assert 2 * (2 - pair.z()) == pytest.approx(pair_ranges(pair.scores)[0, 1], abs=1e-9)


def test_the_linear_form_is_a_lower_bound_of_z() -> None:
    """Formula (3) in its three cases; an equation where lam <= 1."""
    cases = set()
    for pair in random_pairs(200, 2):
        exact = pair.first * pair.z()
        if pair.lam < 1:
            assert pair.linear(at_zero=False) == pytest.approx(exact, abs=1e-9)
        else:
            assert pair.linear(at_zero=False) <= exact + 1e-9
        if pair.lam >= 1 and pair.splice_at_zero_is_allowed():
            assert pair.linear(at_zero=True) <= exact + 1e-9
            cases.add("at zero")
        cases.add(pair.lam < 1)
    assert cases == {True, False, "at zero"}


def test_closed_form_of_five_scores() -> None:
    for offset in (0.0, 0.05, WIDEST, 0.7):
        scores = np.repeat([0.0, offset], [2, 3])
        assert equal_pair_range(offset) == pytest.approx(pair_ranges(scores)[0, 1], abs=1e-12)
        assert equal_pair_range(offset) <= equal_pair_range(WIDEST)
    assert equal_pair_range(0.0) == 75 / 32
    assert equal_pair_range(WIDEST) == pytest.approx(2.3477957231, abs=1e-10)
    assert largest_range(FIVE) == pytest.approx(2.3477957231, abs=1e-10)
    assert largest_range(np.zeros(2)) == pytest.approx(2)
    assert largest_range(np.zeros(4)) == pytest.approx(7 / 3)


def spread_of(first: Array, second: Array) -> float:
    losses = np.log(law(first)) - np.log(law(second))
    return float(losses.max() - losses.min())


@settings(max_examples=300)
@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=7),
    st.lists(st.floats(-1, 1) | st.sampled_from([-1.0, 1.0]), min_size=7, max_size=7),
    st.floats(0.01, 3.0),
    st.floats(1.01, 40.0),
)
def test_neighbouring_choices_keep_the_range_and_its_price(
    scores: list[float], moves: list[float], sensitivity: float, order: float
) -> None:
    """Exact laws of a choice: range within Theorem B, Renyi divergence within the ledger; half of both one-sided."""
    first, move = np.array(scores), np.array(moves[: len(scores)])
    line = Selection("laplace", 1.0, sensitivity, 1)
    one, two = law(first), law(first + sensitivity * move)
    assert spread_of(first, first + sensitivity * move) <= RANGES["laplace"] * sensitivity + 1e-9
    divergence = logsumexp(order * np.log(one) + (1 - order) * np.log(two)) / (order - 1)
    assert divergence <= order * line.rho() + 1e-9
    one_way = spread_of(first, first + sensitivity * (1 + move) / 2)
    assert one_way <= RANGES["laplace"] / 2 * sensitivity + 1e-9


@pytest.mark.parametrize("sensitivity", [1e-3, 1e-2])
def test_no_smaller_range_than_the_lower_bound_is_charged(sensitivity: float) -> None:
    """The worst small move of the five scores; what is charged is more, by less than a twentieth."""
    slopes = np.stack([choice_scores(FIVE, unit)[1] for unit in np.eye(5)], axis=1)
    move = sensitivity / 2 * np.sign(slopes[0] - slopes[1])
    found = spread_of(FIVE + move, FIVE - move)
    assert found == pytest.approx(2.3477957 * sensitivity, rel=1e-4)
    assert found < RANGES["laplace"] * sensitivity < 1.05 * found


def test_permute_and_flip_has_the_trivial_range() -> None:
    """Two equal scores that part by 2 s under exponential noise: the range nears 4 s for small s."""
    for sensitivity in (0.5, 0.1, 1e-3):
        worse = quad(lambda x, gap=2 * sensitivity: math.exp(-x) * math.exp(-x - gap), 0, 60)[0]
        found = math.log(0.5 / worse) - math.log(0.5 / (1 - worse))
        assert found == pytest.approx(2 * sensitivity + math.log(2 - math.exp(-2 * sensitivity)))
        assert found > RANGES["laplace"] * sensitivity
    assert found == pytest.approx(4 * sensitivity, rel=2e-3)


def test_the_page_is_current() -> None:
    assert PAGES["noisy_min_range"].renew(check=True)
