"""Rounds of online learners, compiled: any loss here with any set here and any learner here, a block in one call.

Each part is a number, so that one compiled loop serves all; `play` runs the whole of one setting. The plain versions
in the files of losses, sets and learners are the definition, and a test holds both together. A run's state stays in
the processor's first cache for all rounds of the block. Rows are one point (d,) long and are changed in place.
"""

import numpy as np

from dpregret.core.compiled import compiled, inlined
from dpregret.core.kernels import (
    BALL,
    BOX,
    DESCENT,
    DIRECTION_KINK,
    DIRECTION_SQUARE,
    EXPLICIT,
    IMPLICIT,
    L1_BALL,
    LEADER,
    LOCAL,
    LOGISTIC,
    NORM_KINK,
    ONLINE_FRANK_WOLFE,
    PROJECTION,
    QUADRATIC,
    REGULARISED,
    RESTARTED,
    SIMPLEX,
    SQUARED,
    VERTEX,
)
from dpregret.core.sums import dot

FLOOR = 1e-150  # of distances, as in dpregret.datasets.losses, and of weights
TINY = float(np.finfo(float).tiny)


@inlined
def _value(loss, vector, anchor, label, constants, point, offset):
    """f at the point, and the slope that `_gradient` needs; offset becomes point - anchor, or - vector, if needed."""
    bend, weight, radius = constants[0], constants[1], constants[2]
    if loss >= LOGISTIC and loss <= SQUARED:
        score = dot(point, vector)
        ridge = 0.5 * bend * dot(point, point)
        if loss == SQUARED:
            return 0.5 * ((score - label) * (score - label)) + ridge, score - label
        margin = label * score
        small = np.exp(-abs(margin))
        slope = -label * (1.0 / (1.0 + small) if margin < 0.0 else small / (1.0 + small))
        return np.log1p(small) + max(-margin, 0.0) + ridge, slope
    center = vector if loss == QUADRATIC else anchor
    for k in range(len(point)):
        offset[k] = point[k] - center[k]
    if loss == QUADRATIC:
        return 0.5 * bend * dot(offset, offset), 0.0
    if loss == NORM_KINK:
        distance = np.sqrt(dot(offset, offset))
        value = distance * (weight + 0.5 * bend * distance)
        if radius > 0.0:
            inside = max(radius - distance, 0.0)
            value -= 0.5 * weight / radius * (radius * radius - inside * inside)
        return value, weight / max(distance, radius, FLOOR)
    along = dot(offset, vector)
    if loss == DIRECTION_KINK:
        return abs(along) + 0.5 * bend * dot(offset, offset), np.sign(along)
    if loss == DIRECTION_SQUARE:
        return 0.5 * bend * (along * along), bend * along
    return 0.5 * max(along, 0.0), 0.5 if along > 0.0 else 0.0


@inlined
def _gradient(loss, vector, anchor, label, constants, point, gradient):
    """Write the gradient at the point; return f there."""
    value, slope = _value(loss, vector, anchor, label, constants, point, gradient)
    bend = constants[0]
    if loss <= NORM_KINK:
        if loss == NORM_KINK:
            for k in range(len(point)):
                gradient[k] *= slope + bend
        elif loss == QUADRATIC:
            for k in range(len(point)):
                gradient[k] *= bend
        else:
            for k in range(len(point)):
                gradient[k] = slope * vector[k] + gradient[k] * bend
    elif loss <= SQUARED:
        for k in range(len(point)):
            gradient[k] = slope * vector[k] + bend * point[k]
    else:
        for k in range(len(point)):
            gradient[k] = slope * vector[k]
    return value


@inlined
def _prox(loss, vector, anchor, label, constants, point, step, offset):
    """Move the point to argmin step f(x) + |x - point|^2 / 2, for losses that have it in closed form."""
    bend, weight, radius = constants[0], constants[1], constants[2]
    shrink = 1.0 + step * bend
    if loss == SQUARED:
        width = step * dot(vector, vector)
        pull = step * (label - (dot(point, vector) + width * label) / (shrink + width))
        for k in range(len(point)):
            point[k] = (pull * vector[k] + point[k]) / shrink
    elif loss == QUADRATIC:
        for k in range(len(point)):
            point[k] = (point[k] + step * bend * vector[k]) / shrink
    else:
        for k in range(len(point)):
            offset[k] = point[k] - anchor[k]
        if loss == NORM_KINK:
            distance = np.sqrt(dot(offset, offset))
            kept = max(1.0 - step * weight / max(distance, FLOOR), 0.0) / shrink
            if radius > 0.0 and kept * distance < radius:
                kept = 1.0 / (1.0 + step * (bend + weight / radius))
            for k in range(len(point)):
                point[k] = kept * offset[k] + anchor[k]
        else:
            square = dot(vector, vector)
            sign = min(max(dot(offset, vector), -step * square), step * square) / (square if square > 0.0 else 1.0)
            for k in range(len(point)):
                point[k] = (offset[k] - sign * vector[k]) / shrink + anchor[k]


@inlined
def _threshold(sizes, total, kept):
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
        largest, shift = _threshold(point, size, first)
        for k in range(len(point)):
            point[k] = max((point[k] - largest) - shift, 0.0)
    else:
        norm = 0.0
        for k in range(len(point)):
            first[k] = abs(point[k])
            norm += first[k]
        if norm > size:
            largest, shift = _threshold(first[: len(point)], size, second)
            for k in range(len(point)):
                left = min(max((first[k] - largest) - shift, 0.0), first[k])
                point[k] = left if point[k] > 0.0 else -left


@inlined
def _vertex(place, constants, cost, vertex):
    """Write the cheapest point of the set."""
    size, best = constants[0], 0
    if place == BALL:
        norm = np.sqrt(dot(cost, cost))
        factor = -size / norm if norm > 0.0 else 0.0
        for k in range(len(cost)):
            vertex[k] = cost[k] * factor
        if norm == 0.0:
            vertex[0] += size
    elif place == BOX:
        for k in range(len(cost)):
            vertex[k] = size if cost[k] > 0.0 else constants[1]
    elif place == SIMPLEX:
        for k in range(len(cost)):
            vertex[k] = 0.0
            best = k if cost[k] < cost[best] else best
        vertex[best] = size
    else:
        for k in range(len(cost)):
            vertex[k] = 0.0
            best = k if abs(cost[k]) > abs(cost[best]) else best
        vertex[best] = np.copysign(size, -cost[best])


@inlined
def _sift(scores, heap, top, size):
    """Let the atom at `top` sink in the heap of largest scores, equal ones by their number."""
    atom = heap[top]
    while True:
        child = 2 * top + 1
        if child >= size:
            break
        if child + 1 < size:
            left, right = heap[child], heap[child + 1]
            if scores[right] > scores[left] or (scores[right] == scores[left] and right < left):
                child += 1
        other = heap[child]
        if scores[other] < scores[atom] or (scores[other] == scores[atom] and other > atom):
            break
        heap[top] = other
        top = child
    heap[top] = atom


@inlined
def _move_mass(weights, scores, mass, step, taken, heap):
    """weights + step (answer - weights), the answer with `mass` moved from the largest scores to the smallest."""
    best, size, moved = 0, 0, 0.0
    for k in range(len(weights)):
        best = k if scores[k] <= scores[best] else best
        taken[k] = 0.0
    if mass < 1.0:
        for k in range(len(weights)):
            if weights[k] > 0.0:
                heap[size] = k
                size += 1
        for top in range(size // 2 - 1, -1, -1):
            _sift(scores, heap, top, size)
    else:  # all of it
        for k in range(len(weights)):
            taken[k] = weights[k]
            moved += weights[k]
    while size and mass > 0.0:
        atom = heap[0]
        size -= 1
        heap[0] = heap[size]
        _sift(scores, heap, 0, size)
        taken[atom] = min(mass, weights[atom])
        moved += taken[atom]
        mass -= taken[atom]
    taken[best] -= moved
    for k in range(len(weights)):  # none decays to denormal numbers, which cost a processor a hundred times as much
        weights[k] = weights[k] - step * taken[k] if weights[k] - step * taken[k] >= FLOOR else 0.0


@inlined
def _local(place, constants, radius, step, weights, cost, point, scores, taken, heap):
    """One step of the given length towards the local oracle's answer, in its weights, and the point they stand for."""
    d = len(point)
    if place == SIMPLEX:
        _move_mass(weights, cost, min(0.5 * np.sqrt(float(d)) * radius, 1.0), step, taken, heap)
        for k in range(d):
            point[k] = weights[k]
    elif place == L1_BALL:
        for k in range(d):
            scores[k], scores[d + k] = cost[k], -cost[k]
        _move_mass(weights, scores, min(np.sqrt(float(d)) / constants[0] * radius, 1.0), step, taken, heap)
        for k in range(d):
            point[k] = (weights[k] - weights[d + k]) * constants[0]
    else:
        for k in range(d):
            moved = min(max(weights[k] - radius * np.sign(cost[k]), constants[0]), constants[1])
            weights[k] += step * (moved - weights[k])
            point[k] = weights[k]


@compiled
def play(
    loss_kind, place_kind, learner_kind, vectors, anchor, labels, loss_constants, set_constants, coefficients, units,
    begun, scale, point, sums, start, cumulative, norms,
):  # fmt: skip
    """Play one setting for len(coefficients) rounds; point, sums, cumulative and norms are changed in place.

    loss, place, learner: tuples as long as the number of the kind. A length is part of a type, so each combination is
    compiled on its own, four times as fast as one loop that asks, and found again on disk.
    vectors (rounds or 1, runs or 1, d), anchor (d,), labels (rounds or 1, runs or 1), loss_constants (3,): the losses.
    coefficients (rounds, 5): the numbers of the learner's steps. units (runs, rounds, d) from round `begun` on, times
    scale: noise; no rounds where there is none. point, start (runs, d), sums (3, runs, d or more). cumulative, norms
    (runs,): running sums of losses and of |noise|.
    """
    loss, place, learner = len(loss_kind), len(place_kind), len(learner_kind)
    rounds, (runs, d), wide = len(coefficients), point.shape, sums.shape[2]
    x, vector, gradient, noise, direction = np.empty(d), np.empty(d), np.empty(d), np.zeros(d), np.empty(d)
    total, other, weights, origin = np.empty(d), np.empty(d), np.empty(wide), np.empty(d)
    first, second, heap = np.empty(wide), np.empty(wide), np.empty(wide, np.int64)
    for run in range(runs):  # rows are copied: a view costs more than a short row; and a slice, a second to compile
        for k in range(d):
            x[k], total[k], other[k], origin[k] = point[run, k], sums[0, run, k], sums[1, run, k], start[run, k]
        for k in range(wide):
            weights[k] = sums[2, run, k]
        loss_sum, norm_sum = cumulative[run], norms[run]
        for now in range(rounds):
            if now == 0 or len(vectors) > 1:
                for k in range(d):
                    vector[k] = vectors[now, run % vectors.shape[1], k]
            label = labels[min(now, len(labels) - 1), run % labels.shape[1]]
            a, b, c = coefficients[now, 0], coefficients[now, 1], coefficients[now, 2]
            loss_sum += _gradient(loss, vector, anchor, label, loss_constants, x, gradient)
            if units.shape[1]:
                for k in range(d):
                    noise[k] = scale * units[run, begun + now, k]
                norm_sum += np.sqrt(dot(noise, noise))
            if learner == RESTARTED:  # a = mu, b = rounds of its block so far, c = whether it ends
                for k in range(d):
                    total[k] += x[k] - gradient[k] / a
                    x[k] = (total[k] - (noise[k] - other[k]) / a) / b
                project(place, set_constants, x, first, second)
                for k in range(d if c else 0):
                    total[k], other[k], x[k] = 0.0, noise[k], origin[k]
            elif learner == LEADER:  # a = mu, b = t
                if a != 1.0:  # divisions are dear, and mu is 1 most of the time
                    for k in range(d):
                        total[k] = (total[k] + x[k]) - gradient[k] / a
                        x[k] = (total[k] - noise[k] / a) / b
                else:
                    for k in range(d):
                        total[k] = (total[k] + x[k]) - gradient[k]
                        x[k] = (total[k] - noise[k]) / b
                project(place, set_constants, x, first, second)
            elif learner == DESCENT:  # b / a = step
                for k in range(d):
                    x[k] -= gradient[k] * b / a
                project(place, set_constants, x, first, second)
            elif learner == REGULARISED:  # a = lambda
                for k in range(d):
                    total[k] += gradient[k]
                    x[k] = origin[k] - (total[k] + noise[k]) / a
                project(place, set_constants, x, first, second)
            elif learner <= EXPLICIT:  # a = step, b = t; total is the hidden point
                if learner == IMPLICIT:
                    _prox(loss, vector, anchor, label, loss_constants, total, a, gradient)
                else:
                    _gradient(loss, vector, anchor, label, loss_constants, total, gradient)
                    for k in range(d):
                        total[k] -= gradient[k] * a
                project(place, set_constants, total, first, second)
                for k in range(d):
                    x[k] = total[k] + noise[k] / b
                project(place, set_constants, x, first, second)
            elif learner == ONLINE_FRANK_WOLFE:  # a = eta, b = step
                for k in range(d):
                    total[k] += gradient[k]
                    direction[k] = a * total[k] + 2.0 * (x[k] - origin[k])
                _vertex(place, set_constants, direction, first)
                for k in range(d):
                    x[k] += b * (first[k] - x[k])
            else:  # a = mu, b = t + C0, c = C0: the gradient of the surrogate of all rounds
                for k in range(d):
                    total[k] += gradient[k]
                    other[k] += x[k]
                    direction[k] = (total[k] + noise[k]) + a * (b * x[k] - (other[k] + c * origin[k]))
                if learner == LOCAL:  # then step and radius
                    e, f = coefficients[now, 3], coefficients[now, 4]
                    _local(place, set_constants, f, e, weights, direction, x, first, second, heap)
                else:
                    _vertex(place, set_constants, direction, first)
                    for k in range(d):
                        first[k] -= x[k]
                    curvature = a * b * dot(first, first)
                    step = min(max(-dot(direction, first) / max(curvature, TINY), 0.0), 1.0)
                    for k in range(d):
                        x[k] += step * first[k]
        for k in range(d):
            point[run, k], sums[0, run, k], sums[1, run, k] = x[k], total[k], other[k]
        for k in range(wide):
            sums[2, run, k] = weights[k]
        cumulative[run], norms[run] = loss_sum, norm_sum


@compiled
def serve(oracle_kind, place_kind, set_constants, points, wide, repeats):
    """Ask an oracle for every point (runs, d), again and again: what it costs in `play`."""
    oracle, place, d = len(oracle_kind), len(place_kind), points.shape[1]
    x, cost, weights = np.empty(d), np.empty(d), np.empty(wide)
    first, second, heap = np.empty(wide), np.empty(wide), np.empty(wide, np.int64)
    total = 0.0
    for _ in range(repeats):
        for run in range(len(points)):
            for k in range(d):
                x[k] = cost[k] = points[run, k]
            if oracle == PROJECTION:
                project(place, set_constants, x, first, second)
            elif oracle == VERTEX:
                _vertex(place, set_constants, cost, x)
            else:
                for k in range(wide):
                    weights[k] = 1.0 / wide
                _local(place, set_constants, 1.0 / d, 0.5, weights, cost, x, first, second, heap)
            total += x[0]
    return total
