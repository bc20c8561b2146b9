"""Streamed convolutions: compiled loops against their NumPy definitions, and the root as a sum of decays."""

from __future__ import annotations

import numpy as np
import pytest

from dpregret.algorithms.privacy import convolution as kernels
from dpregret.algorithms.privacy.convolution import FIRST, Streamed, root_convolution
from dpregret.algorithms.privacy.series import root_coefficients, root_decays


@pytest.mark.parametrize("rounds", [1, 2, 7, 64])
@pytest.mark.parametrize("terms", [1, 3, 8, 15])
def test_convolve_on_a_ring(rounds: int, terms: int) -> None:
    generator = np.random.default_rng([rounds, terms])
    lags = generator.standard_normal(terms)
    ring = generator.standard_normal((max(terms - 1, 1) + rounds, 48))
    for first in {0, len(ring) // 2, len(ring) - 1}:
        found = np.full((rounds, 48), np.nan)
        kernels.convolve(lags, ring, first, found)
        rows = ring[(first + np.arange(rounds)[:, None] - np.arange(terms)) % len(ring)]
        np.testing.assert_allclose(found, np.einsum("j,tjc->tc", lags, rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("rounds", [1, 7, 64])
@pytest.mark.parametrize(("count", "ending"), [(4, 0), (4, 4), (12, 8)])
def test_decays_on_a_ring(rounds: int, count: int, ending: int) -> None:
    generator = np.random.default_rng([rounds, count])
    decays, weights, shares = generator.random(count), generator.random(count), generator.random(ending)
    state = generator.standard_normal((count, 48))
    ring, found = generator.standard_normal((rounds + 5, 48)), generator.standard_normal((rounds, 48))
    expected, kept = found.copy(), state.copy()
    every = np.concatenate([shares, np.zeros(count - ending)])
    for t in range(rounds):
        expected[t] += weights @ kept
        kept = decays[:, None] * kept + ring[(3 + t) % len(ring)] - every[:, None] * ring[(1 + t) % len(ring)]
    kernels.add_decays(decays, weights, shares, state, ring, 3, 1, found)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state, kept, rtol=0, atol=1e-12)


@pytest.mark.parametrize("length", [5, 16, 17, 100, 1024])
def test_a_coordinate_has_the_same_bits_alone_and_among_others(length: int) -> None:
    units = np.random.default_rng(length).standard_normal((3, 64, 2, 301))
    together, alone = root_convolution(length, 64, 602), root_convolution(length, 64, 1)
    for block in units:
        noise = together.next(block)
        assert np.array_equal(noise[:, 1, 7], alone.next(block[:, 1:, 7:8].copy())[:, 0, 0])


@pytest.mark.parametrize("length", [2**power for power in range(5, 21)])
def test_the_stored_decays_are_the_root(length: int) -> None:
    decays, weights = root_decays(length)
    assert len(decays) % 4 == 0
    assert len(decays) <= 48
    assert decays[-1] > 0
    assert decays[0] < 1
    assert (np.diff(decays) < 0).all()
    assert (weights > 0).all()
    lags = np.unique(np.geomspace(FIRST, length - 1, 8000).astype(int))
    errors = np.exp(np.log(decays) * (lags - FIRST)[:, None]) @ weights - root_coefficients(length)[lags]
    assert np.abs(errors).max() < (1e-14 if length < 2**15 else 1e-13)  # a^j of a rounded a


@pytest.mark.parametrize(("length", "rounds"), [(17, 300), (100, 500), (1000, 3000), (4096, 4500), (5000, 5200)])
@pytest.mark.parametrize("lasting", [False, True])
def test_one_noise_is_heard_until_its_window_ends(length: int, rounds: int, lasting: bool) -> None:
    block = 100
    sums = root_convolution(length, block, 1, lasting)
    assert isinstance(sums, Streamed)
    units = np.zeros((rounds, 1, 1))
    units[3] = 1.0
    heard = np.concatenate([sums.next(units[at : at + block]) for at in range(0, rounds, block)])[3:, 0, 0]
    np.testing.assert_allclose(heard[:length], root_coefficients(length)[: len(heard)], rtol=0, atol=3e-14)
    if not lasting:
        assert np.abs(heard[length:]).max() < 3e-14
