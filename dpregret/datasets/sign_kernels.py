"""Compiled moments of records whose features are signs: eight of a byte, sixty-four records of a column in a word."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.intrinsics import fused
from dpregret.numerics.sums import dot

BLOCK = 64  # records whose signs of one column make a word


@intrinsic  # type: ignore[untyped-decorator]
def _ones(typing: Any, word: Any) -> Any:
    """How many bits of a word are set."""
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(*arguments)


@compiled
def add_moments(features: Array, labels: Array, apart: NDArray[np.uint64], moment: Array) -> None:
    """Add up records, features (count, p) of signs, labels (count,).

    apart (p, p): of how many records two columns have other signs, above the diagonal. moment (p,): sum of label times
    features, record after record as `numerics.sums.add_product` adds.
    """
    count, dimension = features.shape
    words = np.empty(dimension, np.uint64)
    for first in range(0, count, BLOCK):
        words[:] = 0
        for n in range(first, min(first + BLOCK, count)):
            row, label, place = features[n], labels[n], np.uint64(n - first)
            for j in range(dimension):
                moment[j] = fused(label, row[j], moment[j])
                words[j] |= np.uint64(row[j] < 0.0) << place
        for j in range(dimension):
            own, counts = words[j], apart[j]
            for k in range(j + 1, dimension):
                counts[k] += _ones(own ^ words[k])


def gram_of(apart: NDArray[np.uint64], count: int) -> Array:
    """Sum of x x' over `count` records, (..., p, p), from what `add_moments` counted: whole numbers, exact."""
    return count - 2.0 * (apart + np.swapaxes(apart, -1, -2)).astype(np.float64)


@compiled
def meet(
    bits: NDArray[np.uint8], truth: Array, noise: Array, labels: Array, apart: NDArray[np.uint64], moment: Array
) -> None:
    """Unpack records, a feature -1 where its bit is set, label them <x, truth> + noise clipped to [-1, 1], add them up.

    bits (count, bytes of p features, the highest first), noise (count,), labels (count,), written.
    """
    dimension = len(truth)
    block = np.empty((BLOCK, dimension))  # no wider: rows of a part of the columns are not for vector units
    for first in range(0, len(labels), BLOCK):
        last = min(first + BLOCK, len(labels))
        for n in range(first, last):
            row = block[n - first]
            for index in range(bits.shape[1]):
                eight = bits[n, index]
                for j in range(min(8, dimension - 8 * index)):
                    row[8 * index + j] = 1.0 - 2.0 * ((eight >> (7 - j)) & 1)
            labels[n] = min(max(dot(row, truth) + noise[n], -1.0), 1.0)
        add_moments(block[: last - first], labels[first:last], apart, moment)
