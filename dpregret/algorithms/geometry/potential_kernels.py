"""Compiled Bregman steps of one row; the definitions are the methods `point` and `step` of the potentials."""

from typing import NamedTuple

import numpy as np

from dpregret.core.rounds import project
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exponentials, log_of, power_lanes, power_of
from dpregret.numerics.simd import WIDTH, added, largest, load, spread, store, where_less
from dpregret.numerics.sums import dot

ENTROPY, SIGNED_ENTROPY, Q_NORM, GROUPED = range(4, 8)
"""Kinds below 4 are Euclidean, on the sets of core/kernels.py."""

SETTLED = 1e-13  # of ln(norm), whose rounding is a tenth of it
CLOSE = 1e-9  # relative length of Newton's last step, whose error is about its square


class PotentialRule(NamedTuple):
    """A potential as numbers, so that a compiled loop can step by it.

    numbers: Euclidean: those of the set; ENTROPY: none; SIGNED_ENTROPY: radius; Q_NORM: radius, s, modulus; GROUPED:
    radius, block size, e ln N, M.
    """

    kind: int
    numbers: Array


@compiled
def place(kind: int, numbers: Array, state: Array, point: Array, work: Array) -> None:
    """Write the point (d,) of a state (k,); work (3, k) is scratch."""
    half = len(point)
    if kind == ENTROPY:
        share = 1.0 / exponentials(state, _largest(state), point)
        for j in range(half):
            point[j] *= share
    elif kind == SIGNED_ENTROPY:
        weights = work[0]
        share = numbers[0] / exponentials(state, _largest(state), weights)
        for j in range(half):
            point[j] = share * (weights[j] - weights[half + j])
    else:
        skipped = len(state) - half
        for j in range(half):
            point[j] = state[skipped + j]


@compiled
def step(kind: int, numbers: Array, state: Array, gradient: Array, work: Array) -> None:
    """Move a state (k,) along the scaled gradient (d,), in place, which is lost; work (3, k) is scratch."""
    if kind == ENTROPY:
        for j in range(len(state)):
            state[j] -= gradient[j]
    elif kind == SIGNED_ENTROPY:
        half = len(gradient)
        for j in range(half):
            score = numbers[0] * gradient[j]
            state[j] -= score
            state[half + j] += score
    elif kind == Q_NORM:
        _q_norm_step(numbers[0], numbers[1], numbers[2], state, gradient, work)
    elif kind == GROUPED:
        _grouped_step(numbers[0], int(numbers[1]), numbers[2], numbers[3], state, gradient, work)
    else:
        for j in range(len(state)):
            state[j] -= gradient[j]
        project(kind, numbers, state, work[0], work[1])


@compiled
def _largest(values: Array) -> float:
    """The largest number, side by side: worth it from some dozens on, unlike `experts.kernels.largest_of`."""
    whole, first = len(values) // WIDTH * WIDTH, spread(values[0])
    for k in range(0, whole, WIDTH):
        some = load(values, k)
        first = where_less(first, some, some, first)
    most: float = largest(first)
    for k in range(whole, len(values)):
        most = max(values[k], most)
    return most


@inlined
def _sum(values: Array) -> float:
    """The sum, in the order of `numerics.sums.dot`."""
    whole, sums = len(values) // WIDTH * WIDTH, spread(0.0)
    for k in range(0, whole, WIDTH):
        sums = sums + load(values, k)
    total: float = added(sums)
    for k in range(whole, len(values)):
        total += values[k]
    return total


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
def _q_norm_step(radius: float, dual: float, modulus: float, state: Array, gradient: Array, work: Array) -> None:
    """The root from the last step's on, by cubic interpolation of height against ln(norm), two heights at a time."""
    d, rise = len(gradient), dual - 1.0
    slopes, point = state[:d], state[d:]
    sizes, kept, powers = work[0, :d], work[1, :d], work[2, :d]
    for j in range(d):
        sizes[j], kept[j] = abs(slopes[j]), abs(point[j])
    last, inside = _largest(sizes), _sum(kept) < radius * (1.0 - CLOSE)
    for j in range(d):
        slopes[j] -= radius * gradient[j]
        sizes[j] = abs(slopes[j])
    top = _largest(sizes)
    low, high = min(rise * modulus, top), min(rise, top)
    height = high if inside else min(max(last, low), high)
    norm = ones = old_height = old_excess = old_pace = 0.0
    for attempt in range(100):
        zeroth, ones, lengths = _shrunk_powers(sizes, top, height, rise - 1.0, kept, powers)
        norm = height / rise * power_of(lengths, (1.0 - rise) / dual) * ones
        excess = log_of(norm)
        if abs(excess) <= SETTLED or (norm < 1.0 and height >= high) or not high > low:
            break
        low, high = (low, height) if excess > 0.0 else (height, high)
        pace = height / ((1.0 - rise) * ones / lengths + rise * zeroth / ones)
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
    scale, tall = radius * min(norm, 1.0) / ones, height
    for j in range(d):
        size, slope = powers[j] * scale, tall * kept[j]
        point[j] = size if slopes[j] > 0.0 else -size
        slopes[j] = slope if slopes[j] > 0.0 else -slope


@compiled
def _shrunk_powers(
    sizes: Array, highest: float, height: float, exponent: float, kept: Array, powers: Array
) -> tuple[float, float, float]:
    """Write t = (1 - (highest - size) / height)_+ and t^(exponent + 1); sums of t^exponent, these, t^(exponent + 2)."""
    inverse, whole = 1.0 / height if height > 0.0 else 1.0, len(sizes) // WIDTH * WIDTH
    top, rate, one, none, bend = spread(highest), spread(inverse), spread(1.0), spread(0.0), spread(exponent)
    first = second = third = none
    for j in range(0, whole, WIDTH):
        left = one - (top - load(sizes, j)) * rate
        left = where_less(left, none, none, left)
        low = power_lanes(left, bend)
        power = low * left
        store(kept, j, left)
        store(powers, j, power)
        first, second, third = first + low, second + power, third + power * left
    zeroth, ones, lengths = added(first), added(second), added(third)
    for j in range(whole, len(sizes)):
        rest = 1.0 - (highest - sizes[j]) * inverse
        kept[j] = rest if rest > 0.0 else 0.0
        low_power = power_of(rest, exponent) if rest > 0.0 else 0.0
        powers[j] = low_power * kept[j]
        zeroth, ones, lengths = zeroth + low_power, ones + powers[j], lengths + powers[j] * kept[j]
    return zeroth, ones, lengths


@compiled
def _grouped_step(
    radius: float, block: int, slope: float, exponent: float, state: Array, gradient: Array, work: Array
) -> None:
    """Dual block norms soft-thresholded, then raised to 1 / (M - 1)."""
    count = len(state) // block
    sizes, kept, low_power = work[0, :count], work[1, :count], work[2, :count]
    inverse = 1.0 / (exponent - 1.0)
    for i in range(count):
        square = 0.0
        for j in range(i * block, (i + 1) * block):
            state[j] /= radius
            square += state[j] * state[j]
        sizes[i] = square
    for i in range(count):
        norm = np.sqrt(sizes[i])
        low_power[i] = power_of(norm if norm > 0.0 else 1.0, exponent - 2.0)
    for i in range(count):
        square = 0.0
        for j in range(i * block, (i + 1) * block):
            state[j] = state[j] * low_power[i] - gradient[j] * (radius / slope)
            square += state[j] * state[j]
        sizes[i] = np.sqrt(square)
    keep_powers(sizes, inverse, power_of(float(count), -exponent + 1.0), kept, low_power)
    for i in range(count):
        low_power[i] = power_of(kept[i], inverse) * radius / (sizes[i] if sizes[i] > 0.0 else 1.0)
    for i in range(count):
        for j in range(i * block, (i + 1) * block):
            state[j] *= low_power[i]


@compiled
def keep_powers(sizes: Array, exponent: float, low: float, kept: Array, low_power: Array) -> None:
    """`threshold_for_powers` of sizes (k,) >= 0 into kept; low: k^(-1 / exponent). low_power (k,) is scratch."""
    largest = _largest(sizes)
    high = 1.0
    height, length = max(min(largest, high), low), high - low
    for attempt in range(100):
        _differences(sizes, largest, height, kept)
        for i in range(len(sizes)):
            power = power_of(kept[i], exponent - 1.0)
            low_power[i] = power if kept[i] > 0.0 else 0.0
        value = dot(kept, low_power) - 1.0
        if attempt == 0 and value <= 0.0 and height <= largest:
            break
        low, high = (low, height) if value > 0.0 else (height, high)
        found, settled = _newton(value, exponent * _sum(low_power), height, low, high, length)
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
