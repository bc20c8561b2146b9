"""Rounds on the Euclidean ball around 0, eight runs side by side: each run gets the bits that `rounds.play` gives it.

One loop serves all losses and learners here, since what they are is asked once for eight runs. Whatever the loss, a
gradient is slope * vector + pull * (x - center). Points of eight runs are (d, 8) numbers from a place of one array, the
room, on: an array for each would have to be handed on to every part of a round.
"""

import numpy as np

from dpregret.core.compiled import compiled, inlined, over, steps_to
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
from dpregret.core.lanes import (
    WIDTH,
    any_less,
    collect,
    load,
    load_one,
    roots,
    spread,
    store,
    turn,
    where_less,
)
from dpregret.core.sums import inners, own_squares, squares_around, squares_from

LEARNERS = frozenset({LEADER, DESCENT, REGULARISED, IMPLICIT, EXPLICIT, RESTARTED})
FEWEST = 3  # runs: eight side by side cost as much as three or four one by one
FLOOR = 1e-150  # as in rounds.py
TURNS = 32  # coordinates of eights of runs that take turns
TOGETHER = 64  # numbers of a run whose noise is laid out at once, if that is more than a round


@inlined
def _larger(one, other):
    return where_less(one, other, other, one)


@compiled
def _square(room, points, center, d):
    return squares_around(room, points, center, d)


@compiled
def _square_from(room, points, center, d):
    return squares_from(room, points, center, d)


@compiled
def _own_square(room, points, d):
    return own_squares(room, points, d)


@compiled
def _gather(rows, at, apart, first, runs, count, room, into, factor):
    """`count` numbers of eight runs from `first` on side by side, times a factor; of run r those from at + r apart on.

    The last run again, where there are no eight.
    """
    places = np.empty(WIDTH, np.int64)
    for lane in range(WIDTH):
        places[lane] = at + min(first + lane, runs - 1) * apart
    whole = count - count % WIDTH
    for k in range(0, whole, WIDTH):
        turn(rows, places, k, spread(factor), room, into + k * WIDTH)
    for k in range(whole, count):
        store(room, into + k * WIDTH, collect(rows, places, k) * spread(factor))


@compiled
def _slopes(loss, constants, room, points, anchor, center, vector, labels, found, d):
    """Write f at eight points, slope and pull to found (3, 8)."""
    bend, weight, radius, nothing = constants[0], constants[1], constants[2], spread(0.0)
    square = along = slope = nothing
    pull = spread(bend)
    if loss == QUADRATIC:
        square = _square(room, points, center, d)
    elif loss != DIRECTION_SQUARE and loss != HALF_SPACE:
        square = _square_from(room, points, anchor, d)
    if loss != QUADRATIC and loss != NORM_KINK:
        along = inners(room, points, center, vector, d)
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
        slope = along - load(room, labels)
        value = spread(0.5) * (slope * slope) + value
    store(room, found, value)
    store(room, found + WIDTH, along if loss == LOGISTIC else slope)
    store(room, found + 2 * WIDTH, pull)
    for lane in range(found, found + WIDTH if loss == LOGISTIC else found):
        label = room[labels + lane - found]
        margin = label * room[lane + WIDTH]
        small = np.exp(-abs(margin))
        room[lane] = np.log1p(small) + max(-margin, 0.0) + room[lane]
        room[lane + WIDTH] = -label * (1.0 / (1.0 + small) if margin < 0.0 else small / (1.0 + small))


@compiled
def _prox(loss, constants, room, points, anchor, vector, labels, step, d):
    """Move eight points to argmin step f(x) + |x - point|^2 / 2: (kept (x - anchor) + push vector) / part + anchor."""
    bend, weight, radius, zero, one = constants[0], constants[1], constants[2], spread(0.0), spread(1.0)
    shrink = part = spread(1.0 + step * bend)
    kept, push = one, spread(step * bend)
    if loss == NORM_KINK:
        distance, push, part = roots(_square(room, points, anchor, d)), zero, one
        kept = _larger(one - spread(step * weight) / _larger(distance, spread(FLOOR)), zero) / shrink
        if radius > 0.0:
            within = spread(1.0 / (1.0 + step * (bend + weight / radius)))
            kept = where_less(kept * distance, spread(radius), within, kept)
    elif loss != QUADRATIC:
        square, along = _own_square(room, vector, d), inners(room, points, anchor, vector, d)
        width = spread(step) * square
        if loss == SQUARED:
            label = load(room, labels)
            push = spread(step) * (label - (along + width * label) / (shrink + width))
        else:
            sign = _larger(along, zero - width)
            push = zero - where_less(width, sign, width, sign) / where_less(zero, square, square, one)
    for k in range(0, d * WIDTH, WIDTH):
        around = load(room, anchor + k)
        moved = kept * (load(room, points + k) - around) + push * load(room, vector + k)
        store(room, points + k, moved / part + around)


@compiled
def _project(room, points, radius, d):
    """Move eight points to the ball."""
    size, norm = spread(radius), roots(_own_square(room, points, d))
    if any_less(size, norm):
        factor = size / _larger(norm, size)
        for k in range(points, points + d * WIDTH, WIDTH):
            store(room, k, load(room, k) * factor)


@compiled
def _move(learner, loss, a, b, room, x, total, other, origin, anchor, vector, noise, found, d):
    """One learner's step, up to its projection; a and b as in `rounds.play`."""
    bent = loss != QUADRATIC and loss != NORM_KINK
    slope, pull = load(room, found + WIDTH), load(room, found + 2 * WIDTH)
    one, two = spread(a), spread(b)
    first, second = spread(1.0 / a), spread(1.0 / b)
    few, some = steps_to(a), steps_to(b)
    for each in range(d):
        k = each * WIDTH
        point, added = load(room, x + k), load(room, total + k)
        at = added if learner == EXPLICIT else point
        gradient = pull * (at - (load(room, vector + k) if loss == QUADRATIC else load_one(room, anchor + each)))
        if bent:
            gradient = slope * load(room, vector + k) + gradient
        if learner == LEADER:
            added = (added + point) - over(gradient, one, first, few)
            point = over(added - over(load(room, noise + k), one, first, few), two, second, some)
        elif learner == DESCENT:
            point = point - over(gradient * two, one, first, few)
        elif learner == REGULARISED:
            added = added + gradient
            point = load(room, origin + k) - over(added + load(room, noise + k), one, first, few)
        elif learner == RESTARTED:
            added = added + (point - over(gradient, one, first, few))
            less = over(load(room, noise + k) - load(room, other + k), one, first, few)
            point = over(added - less, two, second, some)
        else:
            added = added - gradient * one
        store(room, x + k, point)
        store(room, total + k, added)


@inlined
def _room(count):
    """Zeros, from the beginning of a line of the processor's cache on."""
    held = np.zeros(count + WIDTH)
    begun = -(held.ctypes.data // held.itemsize) % WIDTH
    return held[begun : begun + count]


@compiled
def _take(room, x, size, first, point, start, sums, cumulative, norms):
    """Lay out the state of eight runs: x, total, other, origin (d, 8) each; running sums (2, 8) near the end."""
    (runs, d), width = point.shape, point.shape[1] * WIDTH
    _gather(point, 0, d, first, runs, d, room, x, 1.0)
    for each in range(2):
        _gather(sums[each], 0, sums.shape[2], first, runs, d, room, x + (each + 1) * width, 1.0)
    _gather(start, 0, d, first, runs, d, room, x + 3 * width, 1.0)
    results = x + size - 3 * WIDTH
    for lane in range(WIDTH):
        run = min(first + lane, runs - 1)
        room[results + lane], room[results + WIDTH + lane] = cumulative[run], norms[run]


@compiled
def _give(room, x, size, first, point, sums, cumulative, norms):
    """Write it back."""
    width, results = point.shape[1] * WIDTH, x + size - 3 * WIDTH
    for lane in range(min(WIDTH, len(point) - first)):
        run = first + lane
        cumulative[run], norms[run] = room[results + lane], room[results + WIDTH + lane]
        for k in range(point.shape[1]):
            at = x + k * WIDTH + lane
            point[run, k], sums[0, run, k], sums[1, run, k] = room[at], room[at + width], room[at + 2 * width]


@compiled
def play_on_ball(
    loss, learner, vectors, anchor, labels, loss_constants, set_constants, coefficients, units, begun, scale, point,
    sums, start, cumulative, norms,
):  # fmt: skip
    """As `rounds.play`, where loss and learner (one of LEARNERS) are numbers, and the set's constant its radius.

    Several eights of runs take turns round by round where rows are short, so that one fills the other's waits.
    """
    rounds, (runs, d), radius, loud = len(coefficients), point.shape, set_constants[0], units.shape[1] > 0
    some, many = max(TOGETHER // d, 1), max(min(TURNS // d, (runs + WIDTH - 1) // WIDTH), 1)
    width = d * WIDTH
    size = (5 + some) * width + 6 * WIDTH  # of what is held of eight runs
    room = _room(many * size + width + d)
    around, one = many * size, many * size + width  # the anchor eight times, and once
    for k in range(width):
        room[around + k], room[one + k // WIDTH] = anchor[k // WIDTH], anchor[k // WIDTH]
    for begin in range(0, runs, many * WIDTH):
        end = min(begin + many * WIDTH, runs)
        for first in range(begin, end, WIDTH):
            _take(room, (first - begin) // WIDTH * size, size, first, point, start, sums, cumulative, norms)
        for now in range(rounds):
            a, b = coefficients[now, 0], coefficients[now, 1]
            for first in range(begin, end, WIDTH):
                x = (first - begin) // WIDTH * size
                total, other, origin = x + width, x + 2 * width, x + 3 * width
                vector, noises, found = x + 4 * width, x + 5 * width, x + size - 6 * WIDTH
                results, marks = found + 3 * WIDTH, found + 5 * WIDTH
                center = vector if loss == QUADRATIC else around
                if now == 0 or len(vectors) > 1:
                    _gather(vectors, now * vectors.shape[1] * d, d, first, vectors.shape[1], d, room, vector, 1.0)
                for lane in range(WIDTH if loss in (LOGISTIC, SQUARED) else 0):
                    room[marks + lane] = labels[min(now, len(labels) - 1), min(first + lane, labels.shape[1] - 1)]
                _slopes(loss, loss_constants, room, x, one, center, vector, marks, found, d)
                store(room, results, load(room, results) + load(room, found))
                noise = noises + now % some * width
                if loud:
                    if now % some == 0:
                        count = min(some, rounds - now) * d
                        _gather(units, (begun + now) * d, units.shape[1] * d, first, runs, count, room, noises, scale)
                    square = _own_square(room, noise, d)
                    store(room, results + WIDTH, load(room, results + WIDTH) + roots(square))
                if learner == IMPLICIT:
                    _prox(loss, loss_constants, room, total, around, vector, marks, a, d)
                else:
                    if learner == EXPLICIT:
                        _slopes(loss, loss_constants, room, total, one, center, vector, marks, found, d)
                    _move(learner, loss, a, b, room, x, total, other, origin, one, vector, noise, found, d)
                if learner in (IMPLICIT, EXPLICIT):
                    _project(room, total, radius, d)
                    for k in range(0, width, WIDTH):
                        store(room, x + k, load(room, total + k) + load(room, noise + k) / spread(b))
                _project(room, x, radius, d)
                for k in range(0, width if learner == RESTARTED and coefficients[now, 2] else 0, WIDTH):
                    store(room, total + k, spread(0.0))
                    store(room, other + k, load(room, noise + k))
                    store(room, x + k, load(room, origin + k))
        for first in range(begin, end, WIDTH):
            _give(room, (first - begin) // WIDTH * size, size, first, point, sums, cumulative, norms)
