"""Theorem B of docs/proofs/noisy_min_range.md in interval arithmetic: python tests/nightly/range_boxes.py [t].

Case 1: for all p in (0, 1], lam = 1 + (1 - p) mu with mu in [0, 1], and theta >= 0 there are multipliers mL, mR that
make formula (6) of the page positive, for each of the two splices. Case 2: formula (7) is positive for p in [2/5, 1].

Why it is rigorous. Every number that enters is a double: ends of boxes, nodes i/512, multipliers in eighths, t itself.
Sums, differences, products and quotients of doubles are correctly rounded (IEEE 754), so that the next double beyond a
result bounds it; `Interval` does nothing else. Logarithms and exponentials are enclosed by mpmath.iv. Long sums are
rounded once (math.fsum). The last sums, of three doubles below 2^40, round by less than `SLACK`.
`guessed` chooses multipliers in plain floating point; the proof is what `least` finds for them.

What is bounded on a box of (p, mu, theta), all times 4:
  left   A J0(s) + B J1(s), J0 = sum of s^k / (2 (2k+1)!!), J1 = sum of s^k / (4 (2k+2)!!), A and B affine in p and in
         mu, so that the least is at a corner of the box; theta <= s <= theta / (2 u_c), u_c = A / -B. Where it is >= 0
         at one s it is no less at all larger ones.
  right  cells of y = e^-x between the nodes. The weight of a cell is at least its least value at the corners of the box
         and the ends of the cell; the integral of G over it lies between those of L and U.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from mpmath import iv

from dpregret.numerics.arrays import Array

T = float(np.nextafter(0.77, 1))
"""A double >= 77/100: the range is at most 4 - 2 T <= 2.46."""
CELLS = 512
NODES = np.arange(1, CELLS + 1) / CELLS
STEP = 256
"""Steps of s, and of theta, in one."""
LAST = 16.0
"""From here to infinity is one box in theta."""
MULTIPLIERS = np.arange(-8, 33) / 8
SLACK = 2.0**-10
"""Bounds count as positive from here on."""
Numbers = float | Array


def down(value: Numbers) -> Array:
    """The next double below."""
    return np.nextafter(value, -np.inf)


def up(value: Numbers) -> Array:
    """The next double above."""
    return np.nextafter(value, np.inf)


@dataclass(frozen=True)
class Interval:
    """What lies between doubles low and high, or arrays of them."""

    low: Numbers
    high: Numbers

    __array_ufunc__ = None  # array + Interval is an Interval

    @staticmethod
    def of(value: Interval | Numbers) -> Interval:
        return value if isinstance(value, Interval) else Interval(value, value)

    def __add__(self, other: Interval | Numbers) -> Interval:
        other = Interval.of(other)
        return Interval(down(self.low + other.low), up(self.high + other.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval | Numbers) -> Interval:
        return self + -Interval.of(other)

    def __rsub__(self, other: Interval | Numbers) -> Interval:
        return -self + other

    def __mul__(self, other: Interval | Numbers) -> Interval:
        other = Interval.of(other)
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(
            down(np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))),
            up(np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))),
        )

    def over(self, positive: Numbers) -> Interval:
        """The quotient by positive doubles."""
        return Interval(down(self.low / positive), up(self.high / positive))

    __radd__, __rmul__ = __add__, __mul__


def enclosed(values: Iterable) -> Interval:
    """Intervals of mpmath, with bounds that are doubles."""
    ends = [(float(each.a), float(each.b)) for each in values]
    return Interval(down(np.array([low for low, _ in ends])), up(np.array([high for _, high in ends])))


def lowest(values: Iterable[Interval]) -> Array:
    """Least of what any may be."""
    return np.minimum.reduce([each.low for each in values])


# Tables


@cache
def left_integrals() -> tuple[Interval, Interval]:
    """J0 and J1 at s = 0, 1/STEP, .., 2 LAST."""
    grid, sums = np.arange(int(2 * LAST) * STEP + 1) / STEP, []
    for first, start in ((0.5, 3.0), (0.125, 4.0)):
        term = total = Interval.of(np.full(grid.size, first))
        for k in range(150):
            term = (term * grid).over(start + 2 * k)
            total = total + term
        # from here on a term is less than half of the one before: all that is left out, less than the last that is in
        sums.append(Interval(total.low, up(total.high + term.high)))
    return sums[0], sums[1]


@cache
def lengths() -> list:
    """Lengths of the cells in x, ln((i+1)/i), in mpmath."""
    return [iv.log(iv.mpf(i + 1) / i) for i in range(1, CELLS)]


@cache
def steep(theta: float) -> Interval:
    """Integrals over the cells of L = exp(-theta (e^2x - 1)/2): a lower bound of the lowest, an upper of the highest.

    ln L is concave in x: L is at least the exponential of its chord, whose mean is at least the geometric mean of the
    ends. At most it is its value at the end of larger y.
    """
    powers = [(1 - iv.mpf(CELLS * CELLS) / (i * i)) * theta / 2 for i in range(1, CELLS + 1)]
    cells = list(zip(lengths(), powers[:-1], powers[1:], strict=True))
    below = enclosed(size * iv.exp((far + near) / 2) for size, far, near in cells)
    return Interval(np.maximum(below.low, 0), enclosed(size * iv.exp(near) for size, _, near in cells).high)


@cache
def flat(theta: float) -> Array:
    """Integrals over the cells of U = e^(-theta x) = y^theta, from above: U is convex in x."""
    ends = [iv.exp(theta * iv.log(iv.mpf(i) / CELLS)) for i in range(1, CELLS + 1)]
    cells = zip(lengths(), ends[:-1], ends[1:], strict=True)
    return np.asarray(enclosed(size * (far + near) / 2 for size, far, near in cells).high)


@cache
def first_cell(theta: float, multiplier: float) -> float:
    """What y < 1/CELLS takes from the right part at most, m = `multiplier`.

    Below p the weight is >= 0. On (p, 1/CELLS) it is 2 (1-t) y - (2-t) p + m (lam + p - 2y), where 2y <= 1 <= lam and
    lam + p <= 2: at least -2p - 2m_-. The integral of p from p to 1/CELLS is at most 1/(e CELLS), that of U up to there
    CELLS^-theta / theta.
    """
    found = 2 / (CELLS * iv.exp(1))
    if multiplier < 0:
        if theta == 0:
            return math.inf
        found += 2 * -multiplier * iv.exp(-theta * iv.log(iv.mpf(CELLS))) / theta
    return float(enclosed([found]).high[0])


# One box


@dataclass(frozen=True)
class Box:
    """p, mu and theta, each between two doubles; theta may have no upper end."""

    p: tuple[float, float]
    mu: tuple[float, float]
    theta: tuple[float, float]

    def corners(self) -> list[tuple[Interval, Interval]]:
        """p and lam."""
        return [(Interval.of(p), 1 + (1 - Interval.of(p)) * mu) for p in self.p for mu in self.mu]

    def halves(self) -> list[Box]:
        """Cut across the side that matters most, as far as one can tell."""
        wide = {
            "p": 1.5 * (self.p[1] - self.p[0]),
            "mu": (self.mu[1] - self.mu[0]) * (1 - self.p[0]),
            "theta": 0.25 * (self.theta[1] - self.theta[0]),
        }
        if math.isinf(self.theta[1]) or self.theta[1] - self.theta[0] <= 1 / STEP:
            del wide["theta"]
        side = max(wide, key=wide.__getitem__)
        low, high = getattr(self, side)
        middle = (low + high) / 2
        return [replace(self, **{side: half}) for half in ((low, middle), (middle, high))]


Line = tuple[Interval, Interval, Interval]


def left(lines: list[Line], first: float, last: float) -> float:
    """Lower bound of A J0(s) + B J1(s) + C, s in [first, last], for all (A, B, C) between `lines`; A > 0 >= B.

    -inf where s may leave the tables.
    """
    one, two = left_integrals()

    def at(low: int | slice, high: int | slice, constant: bool = True) -> Array:
        return lowest(a * one.low[low] + b * two.high[high] + (c if constant else 0.0) for a, b, c in lines)

    here = round(first * STEP)
    if at(here, here, constant=False) >= 0:
        return float(at(here, here))
    if last > 2 * LAST - 1:
        return -math.inf
    end = max(math.ceil(up(last) * STEP), here + 1)
    return float(at(slice(here, end), slice(here + 1, end + 1)).min())


def right(weights: Array, below: Numbers, above: Array) -> float:
    """Lower bound of the sum of weights * integrals of G, which are at least `below` and at most `above`."""
    return float(down(math.fsum(np.where(weights >= 0, down(weights * below), down(weights * above)))))


def of_cells(near: Array, far: float, p: tuple[float, float]) -> Array:
    """Least weight in every cell: `near` (nodes,) above p, (y/p)^2 far below p, far >= 0."""
    above = np.minimum(near[:-1], near[1:])
    below = down(down(NODES[:-1] ** 2 * far) / up(p[1] * p[1]))
    return np.where(NODES[1:] <= p[0], below, np.where(NODES[:-1] >= p[1], above, np.minimum(above, below)))


def least(box: Box, at_zero: bool, multipliers: tuple[float, float], t: float = T) -> float:
    """Lower bound of (6), times 4, over the box; -inf where the bound needs what is not so."""
    on_left, on_right = multipliers
    assert on_left >= on_right if at_zero else on_left <= on_right
    lines, near, cuts, far = [], [], [], []
    for p, lam in box.corners():
        start = lam - t + on_left * (lam - 1)
        slope = p * (Interval.of(t) + on_left) - lam * (2 + on_left)
        jump = 2 - p - lam if at_zero else Interval.of(0.0)
        lines.append((4 * start, 4 * slope, jump))
        near.append((2 - Interval.of(t) - on_right) * (2 * NODES - p) + on_right * lam)
        cuts.append(0.5 * (lam + p))
        far.append(2 * lam - t * p + on_right * (lam - p))
    starts, slopes, whole, tail = (
        lowest(each) for each in ([line[0] for line in lines], [line[1] for line in lines], near, far)
    )
    if starts <= 0 or max(line[1].high for line in lines) > 0 or tail < 0:
        return -math.inf
    splice = 1.0 if at_zero else max(each.high for each in cuts)
    after = of_cells(down(whole - 2 * NODES), float(tail), box.p)
    weights = np.where(NODES[:-1] >= splice, np.minimum(whole[:-1], whole[1:]), after)
    below = steep(box.theta[1]).low if math.isfinite(box.theta[1]) else 0.0
    stretch = max(1.0, float(up(-slopes / (2 * starts))))
    lost = first_cell(box.theta[0], on_right) if box.p[0] < NODES[0] else 0.0
    return left(lines, box.theta[0], box.theta[1] * stretch) + right(weights, below, flat(box.theta[0])) - lost


def least_of_second(box: Box, t: float = T) -> float:
    """Lower bound of (7), times 4, over p and theta of the box; L stands for U too."""
    one, two = 1 - Interval.of(t), 2 - Interval.of(t)
    lines = [(4 * one, -4 * p * two, Interval.of(0.0)) for p in box.p]
    near = lowest(2 * one * NODES - two * p for p in box.p)
    tail = float(lowest(two * p for p in box.p))
    below = steep(box.theta[1]).low if math.isfinite(box.theta[1]) else 0.0
    return left(lines, *box.theta) + right(of_cells(near, tail, box.p), below, steep(box.theta[0]).high)


# All boxes


def guessed(box: Box, at_zero: bool, t: float = T) -> tuple[float, float]:
    """Multipliers that look best at the centre of the box."""
    p, mu = sum(box.p) / 2, sum(box.mu) / 2
    theta = sum(box.theta) / 2 if math.isfinite(box.theta[1]) else box.theta[0]
    lam, m = 1 + (1 - p) * mu, MULTIPLIERS
    start, slope = lam - t + m * (lam - 1), p * (t + m) - lam * (2 + m)
    one, two = left_integrals()
    stretch = np.maximum(1, -slope / (2 * np.maximum(start, 1e-9)))
    steps = np.minimum(theta * STEP * (1 + np.outer(stretch - 1, np.linspace(0, 1, 9))), 2 * LAST * STEP).astype(int)
    lefts = np.where(
        start > 0, (start[:, None] * one.low[steps] + slope[:, None] * two.low[steps]).min(axis=1), -np.inf
    )
    y, sizes = (NODES[1:] + NODES[:-1]) / 2, np.diff(np.log(NODES))
    tail = 2 * lam - t * p + m[:, None] * (lam - p)
    heights = (2 - t - m[:, None]) * (2 * y - p) + m[:, None] * lam
    heights -= np.where(y < (1 if at_zero else (lam + p) / 2), 2 * y, 0)
    heights = np.where(y < p, (y / p) ** 2 * tail, heights)
    rights = (heights * np.where(heights > 0, np.exp(-theta * (y**-2 - 1) / 2), y**theta)) @ sizes
    rights[tail[:, 0] < 0] = -np.inf
    if box.p[0] < NODES[0]:
        rights -= [first_cell(box.theta[0], float(each)) for each in m]
    allowed = m[:, None] >= m if at_zero else m[:, None] <= m
    best = np.unravel_index(np.argmax(np.where(allowed, 4 * lefts[:, None] + rights, -np.inf)), allowed.shape)
    return float(m[best[0]]), float(m[best[1]])


def covered(p: tuple[float, float], mu: tuple[float, float], bound: Callable[[Box], float]) -> tuple[int, Box | None]:
    """Number of boxes on which `bound` was found positive, and a tiny one where it was not; None if they are all."""
    waiting, count = [Box(p, mu, theta) for theta in ((0.0, LAST), (LAST, math.inf))], 0
    while waiting:
        box = waiting.pop()
        if bound(box) >= SLACK:
            count += 1
        elif box.p[1] - box.p[0] < 2.0**-9:
            return count, box
        else:
            waiting += box.halves()
    return count, None


def first_case(at_zero: bool, t: float = T) -> tuple[int, Box | None]:
    """Case 1 with the splice at 0 or at x1."""
    return covered((0.0, 1.0), (0.0, 1.0), lambda box: least(box, at_zero, guessed(box, at_zero, t), t))


def second_case(t: float = T) -> tuple[int, Box | None]:
    """Case 2 for p in [3/8, 1]."""
    return covered((0.375, 1.0), (0.0, 0.0), lambda box: least_of_second(box, t))


CASES: dict[str, Callable[[float], tuple[int, Box | None]]] = {
    "case 1, splice at 0": lambda t: first_case(True, t),
    "case 1, splice at x1": lambda t: first_case(False, t),
    "case 2": second_case,
}

if __name__ == "__main__":
    for name, run in CASES.items():
        began = time.perf_counter()
        count, failed = run(float(sys.argv[1]) if len(sys.argv) > 1 else T)
        print(f"{name}: {count} boxes, {time.perf_counter() - began:.0f} s, {failed or 'all covered'}", flush=True)
