"""Rounds on the Euclidean ball around 0, eight runs side by side: each run gets the bits that `rounds.play` gives it.

One loop serves all losses and learners here, since what they are is asked once for eight runs. Whatever the loss, a
gradient is slope * vector + pull * (x - center). Points of eight runs are arrays (d, 8).
"""

import numpy as np

from dpregret.core.compiled import as_bits, compiled, inlined
from dpregret.core.kernels import (
    DESCENT,
    DIRECTION_KINK,
    DIRECTION_SQUARE,
    EXPLICIT,
    HALF_SPACE,
    IMPLICIT,
    LEADER,
    LOGISTIC,
    NORM_KINK,
    QUADRATIC,
    REGULARISED,
    RESTARTED,
    SQUARED,
)
from dpregret.core.lanes import WIDTH, any_less, collect, fused_lanes, load, roots, spread, store, turn, where_less
from dpregret.core.sums import inners, own_squares, squares

LEARNERS = frozenset({LEADER, DESCENT, REGULARISED, IMPLICIT, EXPLICIT, RESTARTED})
FEWEST = 3  # runs: eight side by side cost as much as three or four one by one
FLOOR = 1e-150  # as in rounds.py
TOGETHER = 64  # numbers of a run whose noise is laid out at once, if that is more than a round


@inlined
def over(numbers, divisor, inverse):
    """numbers / divisor, rounded as IEEE 754 says, from the inverse: divisions take four times as long.

    The first step leaves less than one unit in the last place, hence the second one is exact (Markstein 1990), for
    numbers above 1e-290; -0 becomes 0.
    """
    less, found = spread(0.0) - divisor, numbers * inverse
    found = fused_lanes(fused_lanes(less, found, numbers), inverse, found)
    return fused_lanes(fused_lanes(less, found, numbers), inverse, found)


@inlined
def _exact(divisor):
    """Whether the divisor is a power of two, so that a product with its inverse is the quotient."""
    return as_bits(divisor) & 0xFFFFFFFFFFFFF == 0


@inlined
def _quotient(numbers, divisor, inverse, exact):
    return numbers * inverse if exact else over(numbers, divisor, inverse)


@inlined
def _larger(one, other):
    return where_less(one, other, other, one)


@compiled
def _square(points, centers):
    return squares(points, centers)


@compiled
def _norm(points):
    return own_squares(points)


@compiled
def _gather(rows, places, count, into, factor):
    """`count` numbers from eight places of `rows` on, side by side, times a factor."""
    whole = count - count % WIDTH
    for k in range(0, whole, WIDTH):
        turn(rows, places, k, spread(factor), into, k * WIDTH)
    for k in range(whole, count):
        store(into, k * WIDTH, collect(rows, places, k) * spread(factor))


@compiled
def _slopes(loss, constants, points, center, vector, labels, found):
    """Write f at eight points, slope and pull to found (3, 8)."""
    bend, weight, radius, nothing = constants[0], constants[1], constants[2], spread(0.0)
    square = along = slope = nothing
    pull = spread(bend)
    if loss != DIRECTION_SQUARE and loss != HALF_SPACE:
        square = _square(points, center)
    if loss != QUADRATIC and loss != NORM_KINK:
        along = inners(points, center, vector)
    value = spread(0.5 * bend) * square
    if loss == NORM_KINK:
        distance = roots(square)
        value = distance * (spread(weight) + spread(0.5 * bend) * distance)
        if radius > 0.0:
            inside = _larger(spread(radius) - distance, nothing)
            value = value - spread(0.5 * weight / radius) * (spread(radius * radius) - inside * inside)
        pull = spread(weight) / _larger(distance, spread(max(radius, FLOOR))) + pull
    elif loss == DIRECTION_KINK:
        value = _larger(along, nothing - along) + value
        slope = where_less(nothing, along, spread(1.0), where_less(along, nothing, spread(-1.0), nothing))
    elif loss == DIRECTION_SQUARE:
        value, slope, pull = spread(0.5 * bend) * (along * along), spread(bend) * along, nothing
    elif loss == HALF_SPACE:
        value, slope = spread(0.5) * _larger(along, nothing), where_less(nothing, along, spread(0.5), nothing)
        pull = nothing
    elif loss == SQUARED:
        slope = along - load(labels, 0)
        value = spread(0.5) * (slope * slope) + value
    store(found, 0, value)
    store(found, WIDTH, along if loss == LOGISTIC else slope)
    store(found, 2 * WIDTH, pull)
    for lane in range(WIDTH if loss == LOGISTIC else 0):
        margin = labels[lane] * found[1, lane]
        small = np.exp(-abs(margin))
        found[0, lane] = np.log1p(small) + max(-margin, 0.0) + found[0, lane]
        found[1, lane] = -labels[lane] * (1.0 / (1.0 + small) if margin < 0.0 else small / (1.0 + small))


@compiled
def _prox(loss, constants, points, anchor, vector, labels, step, nothing):
    """Move eight points to argmin step f(x) + |x - point|^2 / 2: (kept (x - anchor) + push vector) / part + anchor."""
    bend, weight, radius, zero, one = constants[0], constants[1], constants[2], spread(0.0), spread(1.0)
    shrink = part = spread(1.0 + step * bend)
    kept, push = one, spread(step * bend)
    kink = loss == NORM_KINK
    square = _square(points if kink else vector, anchor if kink else nothing)
    if kink:
        distance, push, part = roots(square), zero, one
        kept = _larger(one - spread(step * weight) / _larger(distance, spread(FLOOR)), zero) / shrink
        if radius > 0.0:
            within = spread(1.0 / (1.0 + step * (bend + weight / radius)))
            kept = where_less(kept * distance, spread(radius), within, kept)
    elif loss != QUADRATIC:
        width, along = spread(step) * square, inners(points, anchor, vector)
        if loss == SQUARED:
            label = load(labels, 0)
            push = spread(step) * (label - (along + width * label) / (shrink + width))
        else:
            sign = _larger(along, zero - width)
            push = zero - where_less(width, sign, width, sign) / where_less(zero, square, square, one)
    for k in range(0, len(points) * WIDTH, WIDTH):
        around = load(anchor, k)
        store(points, k, (kept * (load(points, k) - around) + push * load(vector, k)) / part + around)


@compiled
def _project(points, nothing, radius):
    """Move eight points to the ball."""
    size, norm = spread(radius), roots(_norm(points))
    if any_less(size, norm):
        factor = size / _larger(norm, size)
        for k in range(0, len(points) * WIDTH, WIDTH):
            store(points, k, load(points, k) * factor)


@compiled
def _move(learner, bent, a, b, x, total, other, origin, center, vector, noise, found):
    """One learner's step, up to its projection; a and b as in `rounds.play`."""
    slope, pull = load(found, WIDTH), load(found, 2 * WIDTH)
    one, two = spread(a), spread(b)
    first, second = spread(1.0 / a), spread(1.0 / b)
    whole, exact = _exact(a), _exact(b)
    for k in range(0, len(x) * WIDTH, WIDTH):
        point, added = load(x, k), load(total, k)
        at = added if learner == EXPLICIT else point
        gradient = pull * (at - load(center, k))
        if bent:
            gradient = slope * load(vector, k) + gradient
        if learner == LEADER:
            added = (added + point) - _quotient(gradient, one, first, whole)
            point = _quotient(added - _quotient(load(noise, k), one, first, whole), two, second, exact)
        elif learner == DESCENT:
            point = point - _quotient(gradient * two, one, first, whole)
        elif learner == REGULARISED:
            added = added + gradient
            point = load(origin, k) - _quotient(added + load(noise, k), one, first, whole)
        elif learner == RESTARTED:
            added = added + (point - _quotient(gradient, one, first, whole))
            less = _quotient(load(noise, k) - load(other, k), one, first, whole)
            point = _quotient(added - less, two, second, exact)
        else:
            added = added - gradient * one
        store(x, k, point)
        store(total, k, added)


@inlined
def _room(rows):
    """Zeros (rows, 8); each row lies in one line of the processor's cache."""
    held = np.zeros((rows + 1) * WIDTH)
    begun = -(held.ctypes.data // held.itemsize) % WIDTH
    return held[begun : begun + rows * WIDTH].reshape(rows, WIDTH)


@compiled
def play_on_ball(
    loss, learner, vectors, anchor, labels, loss_constants, set_constants, coefficients, units, begun, scale, point,
    sums, start, cumulative, norms,
):  # fmt: skip
    """As `rounds.play`, where loss and learner (one of LEARNERS) are numbers, and the set's constant its radius."""
    rounds, (runs, d), radius, loud = len(coefficients), point.shape, set_constants[0], units.shape[1] > 0
    some = max(TOGETHER // d, 1)
    room = _room((7 + some) * d + 6)
    x, total, other, origin = room[:d], room[d : 2 * d], room[2 * d : 3 * d], room[3 * d : 4 * d]
    vector, around, nothing = room[4 * d : 5 * d], room[5 * d : 6 * d], room[6 * d : 7 * d]
    noises, found, results, marks = room[7 * d : (7 + some) * d], room[-6:-3], room[-3:-1], room[-1]
    own, places, noise = np.empty(WIDTH, np.int64), np.empty(WIDTH, np.int64), noises[:d]
    for k in range(d):
        around[k] = anchor[k]
    center = vector if loss == QUADRATIC else around
    for first in range(0, runs, WIDTH):
        for lane in range(WIDTH):
            run = own[lane] = min(first + lane, runs - 1)  # the last run again, where there are no eight
            results[0, lane], results[1, lane] = cumulative[run], norms[run]
            for k in range(d):
                x[k, lane], origin[k, lane] = point[run, k], start[run, k]
                total[k, lane], other[k, lane] = sums[0, run, k], sums[1, run, k]
        for now in range(rounds):
            if now == 0 or len(vectors) > 1:
                for lane in range(WIDTH):
                    places[lane] = (now * vectors.shape[1] + min(own[lane], vectors.shape[1] - 1)) * d
                _gather(vectors, places, d, vector, 1.0)
            for lane in range(WIDTH if loss in (LOGISTIC, SQUARED) else 0):
                marks[lane] = labels[min(now, len(labels) - 1), min(own[lane], labels.shape[1] - 1)]
            _slopes(loss, loss_constants, x, center, vector, marks, found)
            store(results, 0, load(results, 0) + load(found, 0))
            if loud:
                part = now % some
                if part == 0:
                    for lane in range(WIDTH):
                        places[lane] = (own[lane] * units.shape[1] + begun + now) * d
                    _gather(units, places, min(some, rounds - now) * d, noises, scale)
                noise = noises[part * d : (part + 1) * d]
                store(results, WIDTH, load(results, WIDTH) + roots(_norm(noise)))
            a, b = coefficients[now, 0], coefficients[now, 1]
            if learner == IMPLICIT:
                _prox(loss, loss_constants, total, around, vector, marks, a, nothing)
            else:
                if learner == EXPLICIT:
                    _slopes(loss, loss_constants, total, center, vector, marks, found)
                bent = loss != QUADRATIC and loss != NORM_KINK
                _move(learner, bent, a, b, x, total, other, origin, center, vector, noise, found)
            if learner in (IMPLICIT, EXPLICIT):
                _project(total, nothing, radius)
                for k in range(0, d * WIDTH, WIDTH):
                    store(x, k, load(total, k) + load(noise, k) / spread(b))
            _project(x, nothing, radius)
            for k in range(0, d * WIDTH if learner == RESTARTED and coefficients[now, 2] else 0, WIDTH):
                store(total, k, spread(0.0))
                store(other, k, load(noise, k))
                store(x, k, load(origin, k))
        for lane in range(min(WIDTH, runs - first)):
            run = own[lane]
            cumulative[run], norms[run] = results[0, lane], results[1, lane]
            for k in range(d):
                point[run, k], sums[0, run, k], sums[1, run, k] = x[k, lane], total[k, lane], other[k, lane]
