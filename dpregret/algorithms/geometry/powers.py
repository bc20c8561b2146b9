"""Thresholds of sums of powers, for one vector at a time: roots of increasing scalar equations, found by Newton."""

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.elementary import finite_power, log_of, power_of
from dpregret.numerics.sums import dot

SETTLED = 1e-13  # of ln(norm), whose rounding is a tenth of it
CLOSE = 1e-9  # relative length of Newton's last step, whose error is about its square


@compiled
def keep_powers(sizes: Array, exponent: float, kept: Array, work: Array) -> None:
    """Write (v_i - l)_+ with the smallest l >= 0 for which the sum of their powers is at most 1; sizes v (k,) >= 0.

    exponent r >= 1. With l = max v - m, m lies between k^(-1/r) and 1 (where the largest alone makes the sum 1), a
    convex increasing equation. work (2, k) is scratch.
    """
    slopes, ones, largest = work[0], work[1], sizes.max()
    low, high = power_of(float(len(sizes)), -1.0 / exponent), 1.0
    height, length = max(min(largest, high), low), high - low
    ones[:] = 1.0
    for attempt in range(100):
        _differences(sizes, largest, height, kept)
        for i in range(len(sizes)):
            slopes[i] = finite_power(kept[i], exponent - 1.0)
        value = dot(kept, slopes) - 1.0
        if attempt == 0 and value <= 0.0 and height <= largest:
            break
        low, high = (low, height) if value > 0.0 else (height, high)
        found, settled = _newton(value, exponent * dot(slopes, ones), height, low, high, length)
        height, length = found, abs(found - height)
        if settled:
            break
    _differences(sizes, largest, min(height, largest), kept)


@compiled
def _differences(sizes: Array, largest: float, height: float, kept: Array) -> None:
    """(height - (largest - size))_+"""
    for i in range(len(sizes)):
        left = height - (largest - sizes[i])
        kept[i] = left if left > 0.0 else 0.0


@compiled
def _newton(value: float, slope: float, root: float, low: float, high: float, length: float) -> tuple[float, bool]:
    """Newton's next point where it stays between low and high and halves the step, else the midpoint; is it there?"""
    if value == 0.0:
        return root, True
    moved = root - value / slope if slope > 0.0 else np.inf
    if low <= moved <= high and 2.0 * abs(moved - root) <= length:
        return moved, abs(moved - root) <= CLOSE * abs(moved)
    middle = low + 0.5 * (high - low)
    return middle, middle in (low, high)


@compiled
def dual_height(
    sizes: Array, top: float, first: float, low: float, high: float, dual: float, kept: Array, powers: Array,
    work: Array,
) -> tuple[float, float, float]:  # fmt: skip
    """Height m in [low, high] of dual sizes z = (m - (top - size))_+ whose point has l1 norm 1, or least m below 1.

    The point is |z|_s^(2-s) z^(s-1) / (s - 1), s the dual exponent. Returns m, the norm and the sum of t^(s-1), of
    t = z / m, which are written to kept (d,), and their powers t^(s-1). From `first` on, by cubic interpolation of m
    against ln(norm), two heights at a time. work (2, d) is scratch.
    """
    lows, ones, rise = work[0], work[1], dual - 1.0
    height, norm, total, old_height, old_excess, old_pace = first, 0.0, 0.0, 0.0, 0.0, 0.0
    ones[:] = 1.0
    for attempt in range(100):
        shrunk_powers(sizes, top, height, rise - 1.0, kept, lows, powers)
        zeroth, total, lengths = dot(lows, ones), dot(powers, ones), dot(powers, kept)
        norm = height / rise * power_of(lengths, (1.0 - rise) / dual) * total
        excess = log_of(norm)
        if abs(excess) <= SETTLED or (norm < 1.0 and height >= high) or not high > low:
            break
        low, high = (low, height) if excess > 0.0 else (height, high)
        pace = height / ((1.0 - rise) * total / lengths + rise * zeroth / total)
        bend, apart = 0.0, excess - old_excess
        if attempt > 0 and apart != 0.0:
            mean = (height - old_height) / apart
            bend = (pace - mean - (pace - mean - (mean - old_pace)) * old_excess / apart) / apart
        old_height, old_excess, old_pace = height, excess, pace
        height = min(height + excess * (excess * bend - pace), high)
        if not low <= height <= high:
            height = low + 0.5 * (high - low)
            if height in (low, high):
                break
    return height, norm, total


@compiled
def shrunk_powers(
    sizes: Array, highest: float, height: float, exponent: float, kept: Array, lows: Array, powers: Array
) -> None:
    """Write t = (1 - (highest - size) / height)_+, t^exponent (0 where t is) and t^(exponent + 1)."""
    inverse = 1.0 / height if height > 0.0 else 1.0
    for j in range(len(sizes)):
        left = 1.0 - (highest - sizes[j]) * inverse
        kept[j] = left if left > 0.0 else 0.0
        lows[j] = finite_power(kept[j], exponent)
        powers[j] = lows[j] * kept[j]
