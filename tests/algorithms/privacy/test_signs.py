"""Signs are bits."""

import numpy as np
import pytest

from dpregret.algorithms.privacy.selection import _times_rademacher


@pytest.mark.parametrize("size", [1, 8, 29, 1000])
def test_signs_are_the_bits_in_their_order(size: int) -> None:
    """The highest bit of the first byte turns the first entry."""
    generator = np.random.default_rng(2)
    sizes, bits = generator.random(size), np.frombuffer(generator.bytes(-(-size // 8)), dtype=np.uint8)
    turned = sizes.copy()
    _times_rademacher(turned, bits)
    np.testing.assert_array_equal(turned, sizes * (1.0 - 2.0 * np.unpackbits(bits, count=size)))
