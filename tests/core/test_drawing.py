"""Compiled draws give the bits of NumPy's own generators, whatever the bit generator."""

import numpy as np
import pytest

from dpregret.core.drawing import addresses, fill_exponentials, fill_gammas, fill_normals


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_bits_and_state_are_numpys(kind):
    def make():
        return [np.random.Generator(getattr(np.random, kind)(np.random.SeedSequence([3, run]))) for run in range(2)]

    ours, theirs = make(), make()
    where = addresses(ours)
    assert np.all(where % 2 == (kind == "PCG64"))  # whose state is kept in registers
    numbers, shapes = np.empty((2, 20_001, 3)), np.empty((2, 5_001))
    fill_normals(where, numbers)
    assert np.array_equal(numbers, [each.standard_normal((20_001, 3)) for each in theirs])
    assert np.abs(numbers).max() > 3.6541528853610088  # beyond the last layer, where the tail is drawn
    fill_exponentials(where, numbers)
    assert np.array_equal(numbers, [each.standard_exponential((20_001, 3)) for each in theirs])
    assert numbers.max() > 7.69711747013104972
    for shape in (1.0, 1.25, 2.0, 7.0, 1000.0):
        fill_gammas(where, shape, shapes)
        assert np.array_equal(shapes, [each.standard_gamma(shape, 5_001) for each in theirs])
    assert str([each.bit_generator.state for each in ours]) == str([each.bit_generator.state for each in theirs])


def test_other_kinds_of_generators_have_no_address():
    class Own(np.random.Generator):
        pass

    assert addresses([np.random.default_rng(1), Own(np.random.PCG64(1))]) is None
