"""A record that takes part in several rounds: what all its rounds together lose.

Gaussian noise on linear releases: with G = A^T (B B^T)^-1 A, in units of sensitivity^2, a record that moves item i by
v_i, |v_i|_2 <= 1, in the rounds i of R moves the transcript by mu with mu^2 = sum_{i, j in R} G_ij <v_i, v_j>, chosen
adaptively or not. So

    max over signs of sum_{i, j in R} s_i s_j G_ij  <=  mu(R)^2  <=  sum_{i, j in R} |G_ij|.

The left side is reached in every dimension, and is the loss itself in dimension 1. Both sides are equal, and the loss
is exact in every dimension, where the signs of R fit together: two rounds always, and any number where G >= 0, as for
trees and roots, or where the columns of a record are orthogonal. The right side grows with R.

Schedules: at most k rounds of 1..T, any two of them at least s apart (`free`), or each exactly s after the one before
(`exact gaps`), so far as they lie within 1..T: a record that takes part fewer times is a record too. Over all schedules
the right side is a quadratic maximisation. It is searched by branch and bound, which ends with the largest or, after
`WORK` steps, with an upper bound.

Where signs do not fit together, two further steps come closer. Of the left side: rounds and signs are exchanged one at
a time while that helps. Of the right side: for a diagonal D with D - G positive semidefinite, mu(R)^2 is at most the
sum of D_ii over R, whose largest value a dynamic program finds; D is the identity or the diagonal of G, times the
largest eigenvalue that this takes. Like the sum of |G_ij|, it grows with R and with the horizon.
"""

import heapq
import itertools
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse.linalg import ArpackError, eigsh

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled

WORK: Final = 3e8
"""Sums of one search, about a second."""
NODES: Final = 4000
FEW: Final = 12
"""Rounds of a record up to which all its signs are tried."""
CLOSE: Final = 1e-12
EIGEN: Final = 1e-3
"""Relative accuracy of an eigenvalue, which is rounded up by that much."""
SMALL: Final = 256
"""Rounds up to which all eigenvalues are computed."""
STARTS: Final = 3


@dataclass(frozen=True)
class Schedules:
    """The rounds in which one record may take part: at most `participations`, `separation` or more apart.

    exact_gaps: exactly `separation` apart. Raises ValueError for numbers below 1.
    """

    participations: int = 1
    separation: int = 1
    exact_gaps: bool = False

    def __post_init__(self) -> None:
        for name in ("participations", "separation"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def most(self, rounds: int) -> int:
        """The most rounds of a record within 1..rounds."""
        return min(self.participations, -(-rounds // self.separation))


@dataclass(frozen=True)
class WorstRecord:
    """The record that loses most, of all within some schedules.

    rounds: those of the worst record found, from 1. mu: its Gaussian-DP parameter, which is reached. bound: no record
    has a larger one; equal to mu where the search ended and the signs fit together.
    """

    rounds: tuple[int, ...]
    mu: float
    bound: float

    @property
    def exact(self) -> bool:
        """Whether mu is the loss of the worst record, not only a lower bound of it."""
        return self.bound <= self.mu * (1 + CLOSE)


def worst_record(gram: Array, schedules: Schedules) -> WorstRecord:
    """The worst record under Gaussian noise. gram: G, (rounds, rounds), in units of mu^2."""
    weights = np.ascontiguousarray(np.abs(gram))
    best, bound = (_of_exact_gaps if schedules.exact_gaps else _of_free_gaps)(weights, schedules)
    squares = {rounds: reached(gram, rounds) for rounds in best}
    square = max(squares.values())
    if bound > square * (1 + CLOSE):
        if not schedules.exact_gaps:
            squares |= {rounds: reached(gram, rounds) for rounds in _exchanged(gram, schedules, best)}
            square = max(squares.values())
        bound = min(bound, _by_diagonals(gram, schedules))
    found = min(rounds for rounds in squares if squares[rounds] >= square * (1 - CLOSE))
    return WorstRecord(tuple(round + 1 for round in found), math.sqrt(square), math.sqrt(max(bound, square)))


def reached(gram: Array, rounds: tuple[int, ...]) -> float:
    """The largest sum of s_i s_j G_ij over the rounds that was found, over signs s: exact up to `FEW` rounds."""
    part = gram[np.ix_(rounds, rounds)]
    if (part >= 0).all():
        return float(part.sum())
    signs = _best_signs(part)
    return float(signs @ part @ signs)


def _best_signs(part: Array) -> Array:
    """Those of the largest sum that was found."""
    count = len(part)
    if count <= FEW:
        every = np.array([(1, *rest) for rest in itertools.product((1.0, -1.0), repeat=count - 1)])
        return np.asarray(every[np.argmax(np.einsum("ni,ij,nj->n", every, part, every))])
    starts = np.vstack([np.ones(count), np.sign(np.linalg.eigh(part)[1][:, -1]) + 0.5, np.sign(part) + 0.5])
    flipped = [_by_flips(part, np.sign(start)) for start in starts]
    return max(flipped, key=lambda signs: float(signs @ part @ signs))


def _by_flips(part: Array, signs: Array) -> Array:
    """Signs after one at a time was turned, while that helps."""
    while True:
        gains = np.diagonal(part) - signs * (part @ signs)
        best = int(np.argmax(gains))
        if gains[best] <= CLOSE * np.abs(part).sum():
            return signs
        signs[best] *= -1


def _exchanged(gram: Array, schedules: Schedules, starts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Schedules of free gaps that no exchange of one round and sign improves: from those given, and a greedy one."""
    size, gap = len(gram), min(schedules.separation, len(gram))
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) < gap
    found = []
    for start in [(int(np.argmax(np.diagonal(gram))),), *starts[:STARTS]]:
        signs = np.zeros(size)
        signs[list(start)] = _best_signs(gram[np.ix_(start, start)])
        while _exchange(gram, near, signs, schedules.most(size)):
            pass
        found.append(tuple(int(round) for round in np.flatnonzero(signs)))
    return found


def _exchange(gram: Array, near: np.ndarray[Any, np.dtype[np.bool_]], signs: Array, most: int) -> bool:
    """Add a round, or put it in the place of another, whichever adds most to the sum; False where nothing does.

    signs (rounds,): 0 for a round that the record is not in; changed in place.
    """
    inside = np.flatnonzero(signs)
    pulls, taken = gram @ signs, near[:, inside]
    worth = 2 * signs[inside] * pulls[inside] - np.diagonal(gram)[inside]  # what the sum loses without a round
    best = CLOSE * float(signs @ pulls)
    change: tuple[int, int, float] | None = (
        None  # the round added, that taken out (or -1), and what pulls at the new one
    )
    free = taken.sum(axis=1)
    if len(inside) < most:
        gains = np.where(free == 0, 2 * np.abs(pulls) + np.diagonal(gram), -np.inf)
        if gains.max() > best:
            new = int(np.argmax(gains))
            best, change = float(gains[new]), (new, -1, float(pulls[new]))
    for number, round in enumerate(inside):
        pull = pulls - signs[round] * gram[round]
        allowed = free - taken[:, number] == 0
        gains = np.where(allowed, 2 * np.abs(pull) + np.diagonal(gram), -np.inf) - worth[number]
        new = int(np.argmax(gains))
        if gains[new] > best:
            best, change = float(gains[new]), (new, int(round), float(pull[new]))
    if change is None:
        return False
    new, old, sense = change
    if old >= 0:
        signs[old] = 0.0
    signs[new] = 1.0 if sense >= 0 else -1.0
    return True


def _by_diagonals(gram: Array, schedules: Schedules) -> float:
    """An upper bound of mu(R)^2 over all schedules; inf where no eigenvalue is found."""
    diagonal = np.diagonal(gram)
    return min(_of_diagonal(gram, scale, schedules) for scale in (np.ones(len(gram)), np.maximum(diagonal, 1e-300)))


def _of_diagonal(gram: Array, scale: Array, schedules: Schedules) -> float:
    """The largest sum of D_ii over a schedule, D = largest eigenvalue of scale^-1/2 G scale^-1/2 times scale."""
    root = np.sqrt(scale)
    scaled = gram / root / root[:, None]
    size = len(gram)
    try:
        start = np.random.default_rng(0).standard_normal(size)
        few = size <= SMALL
        largest = np.linalg.eigvalsh(scaled)[-1] if few else eigsh(scaled, 1, which="LA", tol=EIGEN, v0=start)[0][0]
        bound = float(largest) * (1 + EIGEN)
        cholesky(bound * np.eye(size) - scaled, overwrite_a=True, check_finite=False)
    except (LinAlgError, ArpackError):  # below an eigenvalue, or none found
        return math.inf
    return _largest_sum(bound * scale, schedules)


Found = tuple[list[tuple[int, ...]], float]
"""Schedules with the largest sums, rounds from 0; no schedule has a larger sum than the number."""


def _largest_sum(values: Array, schedules: Schedules) -> float:
    """The largest sum of positive values over the rounds of a schedule."""
    size, gap, most = len(values), schedules.separation, schedules.most(len(values))
    if schedules.exact_gaps:
        return max(float(values[first::gap][:most].sum()) for first in range(size))
    best = np.zeros(size + gap)  # best[i]: of rounds i.. with so many left
    for _ in range(most):
        with_first = values + best[gap:]
        best = np.concatenate([np.maximum.accumulate(with_first[::-1])[::-1], np.zeros(gap)])
    return float(best[0])


def _of_exact_gaps(weights: Array, schedules: Schedules) -> Found:
    """All schedules, one a first round."""
    most, gap = schedules.most(len(weights)), schedules.separation
    every = [tuple(range(first, len(weights), gap))[:most] for first in range(len(weights))]
    sums = np.array([weights[np.ix_(rounds, rounds)].sum() for rounds in every])
    largest = float(sums.max())
    return [every[index] for index in np.flatnonzero(sums >= largest * (1 - CLOSE))[:1]], largest


def _of_free_gaps(weights: Array, schedules: Schedules) -> Found:
    """Best first: a node is the first rounds of a record and an interval that the next one lies in."""
    size = len(weights)
    most, gap = schedules.most(size), min(schedules.separation, size)
    if most == size:
        return [tuple(range(size))], float(weights.sum())
    before = _best_before(weights, most, gap)
    after = np.ascontiguousarray(_best_before(np.ascontiguousarray(weights[::-1, ::-1]), most, gap)[:, ::-1])
    rows = np.diagonal(weights) + before
    nodes = int(min(NODES, max(1.0, WORK / (size * most))))
    order, best, lower = itertools.count(), [], 0.0
    queue: list[tuple[float, int, tuple[int, ...], int, int]] = [(-math.inf, next(order), (), 0, size)]
    while queue and nodes:
        if -queue[0][0] <= lower * (1 + CLOSE):
            break
        _, _, prefix, low, high = heapq.heappop(queue)
        nodes -= 1
        spent = float(weights[np.ix_(prefix, prefix)].sum())
        left = most - len(prefix)
        linear = 2 * weights[list(prefix)].sum(axis=0)
        values, chosen = _completions(linear, rows, after, left, gap, low, high)
        rounds = (*prefix, *(int(index) for index in chosen if index >= 0))
        total = float(weights[np.ix_(rounds, rounds)].sum())
        if total > lower * (1 + CLOSE):
            lower = total
        best.append((total, rounds))
        best = sorted(best, reverse=True)[:FEW]
        first = int(chosen[0])
        if first < 0:
            continue
        for longer, start, end in (
            (prefix, low, first),
            (prefix, first + 1, high),
            ((*prefix, first), first + gap, size),
        ):
            if longer is prefix:
                bound = spent + float(values[start:end].max(initial=-math.inf))
            else:
                bound = spent + float(values[first])
            if start < end and len(longer) < most and bound > lower * (1 + CLOSE):
                heapq.heappush(queue, (-bound, next(order), longer, start, end))
    return [rounds for _, rounds in best], max(lower, -queue[0][0] if queue else 0.0)


@compiled
def _best_before(weights: Array, most: int, gap: int) -> Array:
    """At [m, i] the largest sum of weights[i, j] over at most m rounds j <= i - gap, any two `gap` apart."""
    size = len(weights)
    out, best = np.zeros((most, size)), np.zeros((size + 1, most))
    for i in range(gap, size):
        for j in range(i - gap + 1):
            earlier, fit = max(0, j + 1 - gap), min(most - 1, j // gap + 1)  # more than fit are not there
            for m in range(1, fit):
                best[j + 1, m] = max(best[j, m], best[earlier, m - 1] + weights[i, j])
            without = min(fit, (j - 1) // gap + 1 if j else 0)
            best[j + 1, fit] = max(best[j, without], best[earlier, fit - 1] + weights[i, j])
        for m in range(1, most):
            out[m, i] = best[i - gap + 1, min(m, fit)]
    return out


@compiled
def _completions(
    linear: Array, rows: Array, after: Array, left: int, gap: int, low: int, high: int
) -> tuple[Array, Array]:
    """What a record may still add in `left` further rounds, by the next one of them, in [low, high); and the best ones.

    The a-th of them, i, adds linear[i], and of its row what at most a - 1 rounds before and left - a after it can.
    """
    size = len(linear)
    best, values = np.zeros((left + 2, size + gap + 1)), np.full(size, -np.inf)
    for a in range(left, 0, -1):
        for i in range(size - 1, low - 1, -1):
            value = linear[i] + rows[a - 1, i] + after[left - a, i] + best[a + 1, i + gap]
            best[a, i] = max(best[a, i + 1], value)
            if a == 1 and i < high:
                values[i] = value
    chosen, at = np.full(left, -1), low
    if low < high:
        chosen[0] = low + np.argmax(values[low:high])
        at = chosen[0] + gap
    for a in range(2, left + 1):
        while at < size and best[a, at + 1] == best[a, at]:
            at += 1
        if at >= size:
            break
        chosen[a - 1], at = at, at + gap
    return values, chosen
