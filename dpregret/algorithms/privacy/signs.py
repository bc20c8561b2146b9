"""Random signs of exponential variates, which makes them Laplace variates."""

import numpy as np
from numpy.typing import NDArray

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled


@compiled
def turn(sizes: Array, bits: NDArray[np.uint8]) -> None:
    """Turn the sign of every entry whose bit is set, in place; bits from the highest of the first byte on."""
    for byte in range(len(bits)):
        first, eight = 8 * byte, bits[byte]
        for place in range(min(8, len(sizes) - first)):
            sizes[first + place] *= 1.0 - 2.0 * ((eight >> (7 - place)) & 1)
