"""The exact sampler against its law, and what discrete Gaussian noise costs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpregret.algorithms.privacy import Budget, gaussian_delta, zcdp_rho
from dpregret.algorithms.privacy.integer_sums import (
    LARGEST,
    Bits,
    below,
    coin,
    delta_of,
    draw,
    fill,
    rho_within,
    whole_scale,
    words,
)


class OutOfBitsError(Exception):
    pass


def law(experiment: Callable[[Bits], int], depth: int) -> tuple[dict[int, Fraction], Fraction]:
    """Exact probabilities of the outcomes that are decided within `depth` bits, and the share that is not."""
    found: dict[int, Fraction] = {}
    open_share = Fraction(0)

    def follow(path: list[tuple[int, int]]) -> None:
        nonlocal open_share
        spent, given = sum(count for count, _ in path), iter(path)
        asked = 0

        def bits(count: int) -> int:
            nonlocal asked
            if count == 0:
                return 0
            known = next(given, None)
            if known is None:
                asked = count
                raise OutOfBitsError
            assert known[0] == count
            return known[1]

        try:
            outcome = int(experiment(bits))
            found[outcome] = found.get(outcome, Fraction(0)) + Fraction(1, 2**spent)
        except OutOfBitsError:
            if spent + asked > depth:
                open_share += Fraction(1, 2**spent)
                return
            for value in range(2**asked):
                follow([*path, (asked, value)])

    follow([])
    assert sum(found.values()) + open_share == 1
    return found, open_share


def minus_exponential(n: int, m: int) -> Fraction:
    """e^(-n/m) to 1e-20."""
    term, total = Fraction(1), Fraction(1)
    for k in range(1, 40):
        term *= Fraction(-n, m * k)
        total += term
    return total


@pytest.mark.parametrize(("n", "m", "depth"), [(0, 1, 4), (1, 1, 16), (1, 2, 16), (2, 3, 16), (3, 4, 16), (3, 2, 17)])
def test_a_coin_has_exactly_its_probability(n: int, m: int, depth: int) -> None:
    """Every string of random bits is followed: rational arithmetic, no sampling."""
    found, undecided = law(lambda bits: coin(n, m, bits), depth)
    assert undecided < Fraction(1, 10)
    wanted = minus_exponential(n, m)
    assert found[1] <= wanted + Fraction(1, 10**20)
    assert wanted <= found[1] + undecided


def test_a_uniform_number_has_exactly_its_law() -> None:
    for number in (1, 2, 3, 5, 8):
        found, undecided = law(lambda bits, number=number: below(number, bits), 12)  # type: ignore[misc]
        assert set(found) == set(range(number))
        assert len(set(found.values())) == 1
        assert undecided <= Fraction(1, 4)


@pytest.mark.parametrize("scale", [1, 2, 5, 40])
def test_compiled_numbers_have_their_law(scale: int) -> None:
    count = 200_000
    sample = fill([np.random.default_rng([9, scale])], scale, count, 1).ravel()
    sizes = np.arange(-12 * scale, 12 * scale + 1)
    expected = np.exp(-(sizes.astype(float) ** 2) / (2 * scale**2))
    expected *= count / expected.sum()
    seen = np.bincount(sample + 12 * scale, minlength=len(sizes)).astype(float)
    assert len(seen) == len(sizes)
    often = expected > 20
    rest = [seen[~often].sum()], [expected[~often].sum()]
    assert chisquare(np.append(seen[often], rest[0]), np.append(expected[often], rest[1])).pvalue > 1e-3


@pytest.mark.parametrize("scale", [1, 3, 1000, LARGEST])
def test_compiled_numbers_are_those_of_the_definition(scale: int) -> None:
    found = fill([np.random.default_rng([run, scale]) for run in range(2)], scale, 13, 3)
    assert found.shape == (13, 2, 3)
    for run in range(2):
        bits = words(np.random.default_rng([run, scale]))
        assert [draw(scale, bits) for _ in range(39)] == found[:, run].ravel().tolist()


def test_any_source_of_bits_will_do() -> None:
    import secrets

    numbers = [draw(2**40, secrets.randbits) for _ in range(200)]
    assert len(set(numbers)) == 200
    assert max(map(abs, numbers)) < 9 * 2**40


@pytest.mark.parametrize("scale", [0, -1, LARGEST + 1])
def test_scales_that_are_refused(scale: int) -> None:
    with pytest.raises(ValueError, match=f"must be 1 to {LARGEST} grid units, got {scale}"):
        fill([np.random.default_rng(0)], scale, 1, 1)


@pytest.mark.parametrize("scale", [1, 3, 8])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_price_covers_the_exact_loss(scale: int, shift: int) -> None:
    """delta(epsilon) by summation over the whole numbers, one coordinate, for the shift (shift, 1) two coordinates."""
    numbers = np.arange(-30 * scale - 30, 30 * scale + 31)
    mass = np.exp(-(numbers.astype(float) ** 2) / (2 * scale**2))
    mass /= mass.sum()

    def moved(by: int) -> np.ndarray:
        return np.interp(numbers - by, numbers, mass, left=0, right=0)

    pairs = [(mass, moved(shift), shift**2), (np.outer(mass, mass), np.outer(moved(shift), moved(1)), shift**2 + 1)]
    for here, there, squared in pairs:
        for epsilon in (0.1, 1.0, 3.0):
            exact = np.maximum(there - np.exp(epsilon) * here, 0).sum()
            assert exact <= delta_of(squared / (2 * scale**2), epsilon) * (1 + 1e-9) + 1e-15


def test_conversion_of_zcdp() -> None:
    for rho, epsilon in ((0.005, 0.5), (0.1, 2.0), (1.0, 8.0), (1e-4, 0.2)):
        orders = 1 + np.exp(np.linspace(-8, 8, 20001))
        above = orders - 1
        exponents = above * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(above)
        assert delta_of(rho, epsilon) == pytest.approx(np.exp(exponents.min()), rel=1e-5)
        assert gaussian_delta(epsilon, np.sqrt(2 * rho)) < delta_of(rho, epsilon)
    for epsilon in (0.5, 1.0, 4.0):
        budget = Budget(epsilon, 1e-6)
        assert zcdp_rho(budget) < rho_within(budget)
        assert delta_of(rho_within(budget), epsilon) == pytest.approx(1e-6, rel=1e-8)


def test_the_least_whole_scale() -> None:
    budget = Budget(1.0, 1e-6)
    for squared in (1, 7, 10**6 + 3, 10**15 + 1):
        scale = whole_scale(budget, squared)
        assert delta_of(squared / (2 * scale**2), 1.0) <= 1e-6
        assert squared > 2 * rho_within(budget) * (1 - 1e-9) * (scale - 1) ** 2 * (1 - 1e-15)
