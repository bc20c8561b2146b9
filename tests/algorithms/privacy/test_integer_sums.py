"""Sums released from whole numbers: rounding, what is measured, what it costs, and the exact law of their noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from drawn import generators
from scipy.stats import chisquare

from dpregret.algorithms.privacy import Budget, WindowRoot, WindowTree, calibrate, integer_sums
from dpregret.algorithms.privacy.integer_sums import (
    LARGEST,
    Grid,
    WholeSums,
    WholeWindowRoot,
    WholeWindowTree,
    fill,
    whole_scale,
)
from dpregret.algorithms.privacy.selection import largest_rho, zcdp_epsilon

Bits = Callable[[int], int]
BUDGET = Budget(8.0, 1e-6)
KINDS: list[type[WholeSums]] = [WholeWindowTree, WholeWindowRoot]


def test_rounding_is_fair_and_never_too_long() -> None:
    grid, generator = Grid(1.5, 5, bits=3), np.random.default_rng(0)
    assert grid.step == 1 / 8
    assert grid.squared_radius == math.floor((12 + math.sqrt(5)) ** 2)
    vector = np.array([0.3, -0.71, 0.0, 1.0, -0.05])
    many = grid.round(np.tile(vector, (40_000, 1)), generator.random((40_000, 5)))
    assert many.mean(axis=0) * grid.step == pytest.approx(vector, abs=4 * grid.step / 2 / 200)
    assert set(np.unique(many[:, 1])) == {-6, -5}
    assert (many[:, 3] == 8).all()
    assert (many[:, 2] == 0).all()
    directions = generator.standard_normal((5000, 5))
    directions *= 1.5 / np.linalg.norm(directions, axis=1, keepdims=True)
    admitted = grid.round(directions, generator.random((5000, 5)))
    assert np.square(admitted).sum(axis=1).max() <= grid.squared_radius
    assert np.abs(admitted * grid.step - directions).max() < grid.step
    wild = np.array([[1e300] * 5, [-7.0] * 5, [np.nan, np.inf, 0, 0, 1.0]])
    assert np.square(grid.round(wild, np.full((3, 5), 0.999))).sum(axis=1).max() <= grid.squared_radius


class Silent:
    """Mixed in before a mechanism: its noise is zero."""

    def noise(self) -> np.ndarray:
        return np.zeros_like(self.expired)  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [1, 2, 8, 32])
def test_without_noise_the_sums_are_those_of_the_items(kind: type[WholeSums], window: int) -> None:
    sums = type("Quiet", (Silent, kind), {})(window, BUDGET, Grid(1.0, 3), generators(2, 4))
    items = np.random.default_rng(1).integers(-500, 500, (5 * window + 3, 2, 3))
    found = np.array([sums.observe(item) for item in items]) / sums.grid.step
    assert found == pytest.approx(np.cumsum(items, axis=0), abs=1e-6)


@pytest.mark.parametrize(("kind", "twin"), [(WholeWindowTree, WindowTree(16)), (WholeWindowRoot, WindowRoot(16))])
def test_the_noise_is_that_of_the_floating_mechanism_but_for_the_price(
    kind: type[WholeSums], twin: WindowTree | WindowRoot
) -> None:
    grid, rounds = Grid(1.0, 4), 400
    sums = kind(16, BUDGET, grid, generators(60, 4))
    zero = np.zeros((60, 4), dtype=np.int64)
    noise = np.array([sums.observe(zero) for _ in range(rounds)])[16:]
    scale = calibrate("gaussian", BUDGET, 2.0, twin.nodes_per_item)
    expected = scale**2 * twin.noisy_nodes(rounds)[16:].mean()
    assert (
        1.10 < np.square(noise).mean() / expected < 1.14
    )  # 1.058 in deviation: 1.0557 for zCDP, the rest for rounding


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_moves_what_is_measured_by_what_is_charged(
    kind: type[WholeSums], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same noise, one item replaced by its opposite, as long as any: squared distance over one window."""
    window, grid = 8, Grid(1.0, 1)
    longest = math.isqrt(grid.squared_radius)
    measured: list[list[int]] = []
    for sign in (1, -1):
        sums = kind(window, BUDGET, grid, generators(1, 4))
        seen: list[int] = []

        def measure(exact: np.ndarray, noisy: Callable[[np.ndarray], np.ndarray], seen: list[int]) -> np.ndarray:
            seen.append(int(exact[0, 0]))
            return noisy(exact)

        monkeypatch.setattr(sums, "measure", partial(measure, noisy=sums.measure, seen=seen))
        for t in range(3 * window):
            sums.observe(np.array([[sign * longest if t == 10 else 3]]))
        measured.append(seen)
    distance = sum((a - b) ** 2 for a, b in zip(*measured, strict=True))
    assert distance <= sums.squared_sensitivity(grid)
    assert distance == pytest.approx(sums.squared_sensitivity(grid), rel=2e-3)  # the radius is no whole number
    unit = 4**sums.bits if isinstance(sums, WholeWindowRoot) else 1
    assert sums.squared_sensitivity(grid) == pytest.approx(sums.nodes * 4 * grid.squared_radius * unit, rel=1e-12)
    assert sums.scale <= LARGEST


# The discrete Gaussian


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


@pytest.fixture
def sampler(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The text of the sampler in Python, with a function of a count for a generator."""
    for name in ("_below", "_small_coin", "_coin", "_draw"):
        monkeypatch.setattr(integer_sums, name, getattr(integer_sums, name).py_func)
    monkeypatch.setattr(integer_sums, "_bits", lambda count, source: source(count))
    return integer_sums


@pytest.mark.parametrize(("n", "m", "depth"), [(0, 1, 4), (1, 1, 16), (1, 2, 16), (2, 3, 16), (3, 4, 16), (3, 2, 17)])
def test_a_coin_has_exactly_its_probability(sampler: Any, n: int, m: int, depth: int) -> None:
    """Every string of random bits is followed: rational arithmetic, no sampling."""
    found, undecided = law(lambda bits: sampler._coin(n, m, bits), depth)
    assert undecided < Fraction(1, 10)
    wanted = minus_exponential(n, m)
    assert found[1] <= wanted + Fraction(1, 10**20)
    assert wanted <= found[1] + undecided


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_a_uniform_number_has_exactly_its_law(sampler: Any, number: int) -> None:
    found, undecided = law(lambda bits: sampler._below(number, bits), 12)
    assert set(found) == set(range(number))
    assert len(set(found.values())) == 1
    assert undecided <= Fraction(1, 4)


@pytest.mark.parametrize("scale", [1, 2, 5, 40])
def test_numbers_have_their_law(scale: int) -> None:
    count = 50_000
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
def test_compiled_numbers_are_those_of_the_text(scale: int, request: pytest.FixtureRequest) -> None:
    found = fill([np.random.default_rng([run, scale]) for run in range(2)], scale, 13, 3)
    assert found.shape == (13, 2, 3)
    sampler = request.getfixturevalue("sampler")
    for run in range(2):
        words = np.random.default_rng([run, scale]).bit_generator
        drawn = [
            sampler._draw(scale, lambda count, words=words: int(words.random_raw()) >> 64 - count) for _ in range(39)
        ]
        assert drawn == found[:, run].ravel().tolist()


@pytest.mark.parametrize("scale", [0, LARGEST + 1])
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
        for delta in (1e-6, 1e-3, 0.1):
            epsilon = zcdp_epsilon(squared / (2 * scale**2), delta)
            assert np.maximum(there - np.exp(epsilon) * here, 0).sum() <= delta * (1 + 1e-9)


def test_the_least_whole_scale() -> None:
    budget = Budget(1.0, 1e-6)
    for squared in (1, 7, 10**6 + 3, 10**15 + 1):
        scale = whole_scale(budget, squared)
        assert zcdp_epsilon(squared / (2 * scale**2), 1e-6) <= 1.0
        assert squared > 2 * largest_rho(budget) * (1 - 1e-9) * (scale - 1) ** 2 * (1 - 1e-15)
