"""Compiled draws give the bits of NumPy's own generators, whatever the bit generator."""

import numpy as np
import pytest

from dpregret.numerics.random import Coins, addresses, fill_exponentials, fill_normals, gamma


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_bits_and_state_are_numpys(kind):
    def make():
        return [np.random.Generator(getattr(np.random, kind)(np.random.SeedSequence([3, run]))) for run in range(2)]

    ours, theirs = make(), make()
    where = addresses(ours)
    numbers = np.empty((2, 20_001, 3))
    fill_normals(where, numbers)
    assert np.array_equal(numbers, [each.standard_normal((20_001, 3)) for each in theirs])
    assert np.abs(numbers).max() > 3.6541528853610088  # beyond the last layer, where the tail is drawn
    fill_exponentials(where, numbers)
    assert np.array_equal(numbers, [each.standard_exponential((20_001, 3)) for each in theirs])
    assert numbers.max() > 7.69711747013104972
    for shape in (1.0, 1.25, 2.0, 7.0, 1000.0):
        found = [[gamma(each, shape) for _ in range(5_001)] for each in where]
        assert np.array_equal(found, [each.standard_gamma(shape, 5_001) for each in theirs])
    assert str([each.bit_generator.state for each in ours]) == str([each.bit_generator.state for each in theirs])


def test_other_kinds_of_generators_are_refused():
    class Own(np.random.Generator):
        pass

    with pytest.raises(TypeError):
        addresses([np.random.default_rng(1), Own(np.random.PCG64(1))])


@pytest.mark.parametrize("shape", [(7, 3), (4, 2)])
def test_coins_are_uniform_numbers_below_their_chance(shape: tuple[int, int]) -> None:
    """For every chance the same numbers, and the generators go on from where they should."""
    chances = np.array([0.1, 0.5, 0.9])
    kinds = np.random.PCG64, np.random.Philox, np.random.PCG64
    generators, plain = ([np.random.Generator(kind(each)) for each, kind in enumerate(kinds)] for _ in range(2))
    coins = Coins(generators)
    for _ in range(2):
        found, uniform = coins.draw(chances, 2.0, -1.0, shape), np.stack([each.random(shape) for each in plain])
        np.testing.assert_array_equal(found, np.where(uniform < chances[:, None, None, None], 2.0, -1.0))
    assert [each.random() for each in generators] == [each.random() for each in plain]
