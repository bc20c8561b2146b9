"""Compiled Bregman steps of one row; the definitions are the methods `point` and `step` of the potentials."""

from typing import NamedTuple

import numpy as np

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled
from dpregret.core.elementary import exp_of, log_of, power_of
from dpregret.core.rounds import project
from dpregret.core.sums import dot

ENTROPY, SIGNED_ENTROPY, Q_NORM, GROUPED = range(4, 8)
"""Kinds below 4 are Euclidean, on the sets of core/kernels.py."""

TINY = float(np.finfo(float).tiny)
CLOSE = 1e-9  # relative length of Newton's last step, whose error is about its square


class PotentialRule(NamedTuple):
    """A potential as numbers, so that a compiled loop can step by it.

    numbers: Euclidean: those of the set; ENTROPY: none; SIGNED_ENTROPY: radius; Q_NORM: radius, s, modulus; GROUPED:
    radius, block size, e ln N, M.
    """

    kind: int
    numbers: Array


@compiled
def place(kind: int, numbers: Array, state: Array, point: Array) -> None:
    """Write the point (d,) of a state (k,)."""
    if kind == SIGNED_ENTROPY:
        half = len(point)
        plus, minus = state[:half], state[half:]
        for j in range(half):
            point[j] = numbers[0] * (plus[j] - minus[j])
    else:
        for j in range(len(point)):
            point[j] = state[j]


@compiled
def step(kind: int, numbers: Array, state: Array, gradient: Array, work: Array) -> None:
    """Move a state (k,) along the scaled gradient (d,), in place; work (3, k) is scratch."""
    if kind == ENTROPY:
        _tilt(state, gradient)
    elif kind == SIGNED_ENTROPY:
        scores, half = work[0], len(gradient)
        for j in range(half):
            scores[j] = numbers[0] * gradient[j]
            scores[half + j] = -scores[j]
        _tilt(state, scores)
    elif kind == Q_NORM:
        _q_norm_step(numbers[0], numbers[1], numbers[2], state, gradient, work)
    elif kind == GROUPED:
        _grouped_step(numbers[0], int(numbers[1]), numbers[2], numbers[3], state, gradient, work)
    else:
        for j in range(len(state)):
            state[j] -= gradient[j]
        project(kind, numbers, state, work[0], work[1])  # type: ignore[no-untyped-call]


@compiled
def _largest(values: Array) -> float:
    """The largest of numbers >= 0 and 0."""
    a = b = c = d = 0.0
    whole = len(values) // 4 * 4
    for j in range(0, whole, 4):
        a, b = max(values[j], a), max(values[j + 1], b)
        c, d = max(values[j + 2], c), max(values[j + 3], d)
    for j in range(whole, len(values)):
        a = max(values[j], a)
    return max(max(a, b), max(c, d))


@compiled
def _sum(values: Array) -> float:
    """The sum, in the order of `core.sums.dot`."""
    whole = len(values) // 8 * 8
    a = b = c = d = e = f = g = h = 0.0
    for k in range(0, whole, 8):
        a += values[k]
        b += values[k + 1]
        c += values[k + 2]
        d += values[k + 3]
        e += values[k + 4]
        f += values[k + 5]
        g += values[k + 6]
        h += values[k + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for k in range(whole, len(values)):
        total += values[k]
    return total


@compiled
def _tilt(weights: Array, scores: Array) -> None:
    """Weights in proportion to w_i exp(-score_i)."""
    largest = -np.inf
    for j in range(len(weights)):
        weights[j] = log_of(weights[j] if weights[j] > TINY else TINY) - scores[j]
    for j in range(len(weights)):
        largest = weights[j] if weights[j] > largest else largest
    for j in range(len(weights)):
        weights[j] = exp_of(weights[j] - largest)
    total = _sum(weights)
    for j in range(len(weights)):
        weights[j] /= total


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
    rise = dual - 1.0
    sizes, kept, low_power = work[0, : len(state)], work[1, : len(state)], work[2, : len(state)]
    exponent = 1.0 / rise  # q - 1
    for j in range(len(state)):
        kept[j] = abs(state[j]) / radius
        low_power[j] = power_of(kept[j], exponent)
    norm = max(power_of(dot(kept, low_power), rise / dual), TINY)
    factor = rise * power_of(norm, 1.0 - exponent)
    for j in range(len(state)):
        size = factor * low_power[j]
        gradient[j] = (size if state[j] > 0.0 else -size) - radius * gradient[j]
        sizes[j] = abs(gradient[j])
    largest = _largest(sizes)
    low, high = rise * modulus, rise
    height, length = max(min(largest, high), low), high - low
    for attempt in range(100):
        _shrunk_powers(sizes, largest, height, rise - 1.0, kept, low_power)
        ones, lengths = dot(kept, low_power), _squares(kept, low_power)
        norm = height / rise * power_of(lengths, (1.0 - rise) / dual) * ones
        if attempt == 0 and norm <= 1.0 and height <= largest:
            break
        low, high = (low, height) if norm > 1.0 else (height, high)
        growth = ((1.0 - rise) * ones / lengths + rise * _sum(low_power) / ones) / height
        found, settled = _newton(norm - 1.0, norm * growth, height, low, high, length)
        height, length = found, abs(found - height)
        if settled:
            break
    height = min(height, largest)
    _shrunk_powers(sizes, largest, height, rise - 1.0, kept, low_power)
    ones, lengths = dot(kept, low_power), _squares(kept, low_power)
    norm = height / rise * power_of(lengths, (1.0 - rise) / dual) * ones
    scale = radius * norm / ones
    for j in range(len(state)):
        size = low_power[j] * kept[j] * scale
        state[j] = size if gradient[j] > 0.0 else -size


@compiled
def _shrunk_powers(sizes: Array, largest: float, height: float, exponent: float, kept: Array, low_power: Array) -> None:
    """t = (1 - (largest - size) / height)_+ and t^exponent, 0 where t = 0."""
    inverse = 1.0 / height if height > 0.0 else 1.0
    for j in range(len(sizes)):
        left = 1.0 - (largest - sizes[j]) * inverse
        left = left if left > 0.0 else 0.0
        power = power_of(left, exponent)
        kept[j] = left
        low_power[j] = power if left > 0.0 else 0.0


@compiled
def _squares(kept: Array, low_power: Array) -> float:
    """sum of t^(exponent + 2), in the order of `dot`."""
    whole = len(kept) // 8 * 8
    a = b = c = d = e = f = g = h = 0.0
    for k in range(0, whole, 8):
        a += low_power[k] * kept[k] * kept[k]
        b += low_power[k + 1] * kept[k + 1] * kept[k + 1]
        c += low_power[k + 2] * kept[k + 2] * kept[k + 2]
        d += low_power[k + 3] * kept[k + 3] * kept[k + 3]
        e += low_power[k + 4] * kept[k + 4] * kept[k + 4]
        f += low_power[k + 5] * kept[k + 5] * kept[k + 5]
        g += low_power[k + 6] * kept[k + 6] * kept[k + 6]
        h += low_power[k + 7] * kept[k + 7] * kept[k + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for k in range(whole, len(kept)):
        total += low_power[k] * kept[k] * kept[k]
    return total


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
