"""Projection of one vector for the compiled loops of descents, and the threshold of simplex and l1 ball."""

import numpy as np

from dpregret.core.kernels import BALL, BOX, SIMPLEX
from dpregret.numerics.compiled import inlined
from dpregret.numerics.sums import dot


@inlined
def threshold(sizes, total, kept):
    """(m, s): m the largest size, sum of max(size - m - s, 0) = total. s grows, so only what lies above it is kept."""
    largest = sizes[0]
    for k in range(1, len(sizes)):
        largest = max(largest, sizes[k])
    count, height = 0, 0.0
    for k in range(len(sizes)):
        above = sizes[k] - largest
        if above > -total:
            kept[count] = above
            count += 1
            height += above
    while True:
        shift = (height - total) / count
        before, count, height = count, 0, 0.0
        for k in range(before):
            if kept[k] > shift:
                kept[count] = kept[k]
                count += 1
                height += kept[count - 1]
        if count == before:
            return largest, shift


@inlined
def project(place, constants, point, first, second):
    """Move the point to the nearest one of the set; first and second are scratch."""
    size = constants[0]
    if place == BALL:
        factor = size / max(np.sqrt(dot(point, point)), size)
        if factor < 1.0:
            for k in range(len(point)):
                point[k] *= factor
    elif place == BOX:
        for k in range(len(point)):
            point[k] = min(max(point[k], size), constants[1])
    elif place == SIMPLEX:
        largest, shift = threshold(point, size, first)
        for k in range(len(point)):
            point[k] = max((point[k] - largest) - shift, 0.0)
    else:
        norm = 0.0
        for k in range(len(point)):
            first[k] = abs(point[k])
            norm += first[k]
        if norm > size:
            largest, shift = threshold(first[: len(point)], size, second)
            for k in range(len(point)):
                left = min(max((first[k] - largest) - shift, 0.0), first[k])
                point[k] = left if point[k] > 0.0 else -left
