"""Sums released from whole numbers: rounding, what is measured, what it costs, how not to release the root."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpregret.algorithms.privacy import Budget, WindowRoot, WindowTree, calibrate
from dpregret.algorithms.privacy.integer_sums import LARGEST, Grid, WholeSums, WholeWindowRoot, WholeWindowTree, fill

BUDGET = Budget(8.0, 1e-6)
KINDS: list[type[WholeSums]] = [WholeWindowTree, WholeWindowRoot]


def generators(runs: int) -> list[np.random.Generator]:
    return [np.random.default_rng([4, run]) for run in range(runs)]


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
    sums = type("Quiet", (Silent, kind), {})(window, BUDGET, Grid(1.0, 3), generators(2))
    items = np.random.default_rng(1).integers(-500, 500, (5 * window + 3, 2, 3))
    found = np.array([sums.observe(item) for item in items]) / sums.grid.step
    assert found == pytest.approx(np.cumsum(items, axis=0), abs=1e-6)


@pytest.mark.parametrize(("kind", "twin"), [(WholeWindowTree, WindowTree(16)), (WholeWindowRoot, WindowRoot(16))])
def test_the_noise_is_that_of_the_floating_mechanism_but_for_the_price(
    kind: type[WholeSums], twin: WindowTree | WindowRoot
) -> None:
    grid, rounds = Grid(1.0, 4), 400
    sums = kind(16, BUDGET, grid, generators(60))
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
        sums = kind(window, BUDGET, grid, generators(1))
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


def test_noise_of_the_root_that_is_formed_first_gives_items_away() -> None:
    """4^(W-1) (S_t + z_t) with exact z_t: rounds 1 and 2 tell the parity of the first item, whatever the noise."""
    window, scale = 4, 1000
    f = [Fraction(math.comb(2 * j, j), 4**j) for j in range(window)]
    whole = [int(each * 4 ** (window - 1)) for each in f]
    assert [Fraction(each, 4 ** (window - 1)) for each in whole] == f
    draws, items = fill(generators(1), scale, 200, 2)[:, 0], np.random.default_rng(2).integers(-9, 10, (200, 2))
    for (e_1, e_2), (v_1, v_2) in zip(draws.tolist(), items.tolist(), strict=True):
        first = whole[0] * (v_1 + e_1)
        second = whole[0] * (v_1 + v_2 + e_2) + whole[1] * e_1
        parity = second % whole[0] // whole[1]  # of e_1
        assert (first // whole[0] - parity) % 2 == v_1 % 2
