"""Running sums released from whole numbers alone: what a mechanism needs before its noise may be called exact.

Vectors are rounded to a grid (`Grid`), what is measured of them is a whole number, the noise is discrete Gaussian, and
the sums that a learner sees are computed from the measurements: floating point only processes what was already
released. Privacy unit: one item of the last `window`, replaced by another.

  WholeWindowTree   measured are the sums of the nodes of the window tree (`trees.WindowTree`).
  WholeWindowRoot   measured is y_t = sum_{j<W} k_j v_{t-j} + e_t with k_j = f_j 2^bits, rounded; expired items are
                    exact, as in the tree. With h = 1 / ((1 - x) k(x) 2^-bits) mod x^W, sum_{j<W} h_j y_{t-j} 2^-bits is
                    the sum of the last W items, plus known multiples of expired ones, which are taken off, plus
                    sum_{j<W} h_j e_{t-j} 2^-bits.

The noise of the root must not be formed first: f_1 = 1/2, so the fraction of the sum of round 2 tells whether e_1 is
even, and with the sum of round 1 whether the first item is. The root lives in the decoding.

Discrete Gaussian (Canonne, Kamath & Steinke 2020, Algorithms 1 to 3): P(x) ~ e^(-x^2 / (2 s^2)) on the whole numbers, s
a whole number. Uniform numbers come from random words by rejection, coins with probability e^(-n/m) from uniform
numbers, and nothing is ever rounded: the law is exact. The bits are those
of NumPy's generators, which serve measurements only.

Price: an item moves by at most 2 radius, the measurements by `squared_sensitivity` = 4 radius^2 nodes in squared l2
norm, which is squared_sensitivity / (2 s^2)-zCDP, as under Gaussian noise (ibid.); adaptive releases add up.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpregret.algorithms.privacy.budget import Budget
from dpregret.algorithms.privacy.prefix_sums import BLOCK
from dpregret.algorithms.privacy.selection import largest_rho
from dpregret.algorithms.privacy.series import root_coefficients, running_sum_strategy
from dpregret.algorithms.privacy.trees import WindowTree, tree_prefixes
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.intrinsics import next_word
from dpregret.numerics.random import Addresses, addresses

Whole = np.ndarray[Any, np.dtype[np.int64]]
FINEST = 16  # most bits after the point of the root's coefficients
LARGEST = 2**25  # scale up to which products of the compiled sampler stay below 2^63, except for events below 2^-128


def fill(generators: list[np.random.Generator], scale: int, rounds: int, dimension: int) -> Whole:
    """Independent numbers (rounds, runs, dimension), run by run. Raises ValueError for a scale that is not a whole
    number from 1 to `LARGEST`."""
    if not 1 <= scale <= LARGEST:
        raise ValueError(f"the scale of discrete Gaussian noise must be 1 to {LARGEST} grid units, got {scale}")
    out = np.empty((len(generators), rounds, dimension), dtype=np.int64)
    fill_discrete(addresses(generators), scale, out)
    return out.swapaxes(0, 1)


def whole_scale(budget: Budget, squared_sensitivity: int) -> int:
    """The least whole s with squared_sensitivity / (2 s^2) <= rho: computed with rounding, checked without."""
    rho = largest_rho(budget) * (1 - 1e-9)
    numerator, denominator = rho.as_integer_ratio()
    scale = math.isqrt(squared_sensitivity * denominator // (2 * numerator))
    while squared_sensitivity * denominator > 2 * numerator * scale**2:
        scale += 1
    return scale


@inlined
def _bits(count: int, generator: int) -> Any:
    """The upper ones of a word."""
    return np.int64(next_word(generator) >> np.uint64(64 - count))


@compiled
def _below(number: int, generator: int) -> Any:
    """Uniform on 0..number-1."""
    if number == 1:
        return 0
    count, rest = 0, number - 1
    while rest:
        count, rest = count + 1, rest >> 1
    while True:
        drawn = _bits(count, generator)
        if drawn < number:
            return drawn


@compiled
def _small_coin(n: int, m: int, generator: int) -> Any:
    """The same where n <= m."""
    trials = 1
    while _below(m * trials, generator) < n:
        trials += 1
    return trials % 2 == 1


@compiled
def _coin(n: int, m: int, generator: int) -> Any:
    """True with probability e^(-n/m), n >= 0, m > 0."""
    while n > m:
        if not _small_coin(1, 1, generator):
            return False
        n -= m
    return _small_coin(n, m, generator)


@compiled
def _draw(scale: int, generator: int) -> Any:
    """One number of the discrete Gaussian of that scale, by rejection from a discrete Laplace law of the same scale."""
    while True:
        rest = _below(scale, generator)
        if not _small_coin(rest, scale, generator):
            continue
        times = 0
        while _small_coin(1, 1, generator):
            times += 1
        size, negative = rest + scale * times, _below(2, generator) == 1
        if negative and size == 0:
            continue
        if _coin((size - scale) ** 2, 2 * scale**2, generator):
            return -size if negative else size


@compiled
def fill_discrete(generators: Addresses, scale: int, out: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """out (runs, rounds, d): independent discrete Gaussian numbers, row by row."""
    runs, rounds, dimension = out.shape
    for run in range(runs):
        for now in range(rounds):
            for each in range(dimension):
                out[run, now, each] = _draw(scale, generators[run])


@dataclass(frozen=True)
class Grid:
    """Vectors of norm at most `lipschitz` in multiples of step = 2^floor(log2 lipschitz) 2^-bits.

    Rounded at random to the next multiple below or above, coordinate by coordinate, with the right mean: norm at most
    lipschitz / step + sqrt(dimension), which is enforced in whole numbers. A longer one is halved towards zero until
    it fits, so the bound holds whatever came in; one that is not finite counts as zero.
    """

    lipschitz: float
    dimension: int
    bits: int = 10

    @property
    def step(self) -> float:
        """A power of two: dividing by it is exact."""
        return float(2.0 ** (math.floor(math.log2(self.lipschitz)) - self.bits))

    @property
    def squared_radius(self) -> int:
        """The longest admitted vector, squared."""
        return math.floor((self.lipschitz / self.step + math.sqrt(self.dimension)) ** 2)

    def round(self, vectors: Array, chances: Array) -> Whole:
        """Multiples of the step; chances: uniform on [0, 1), shape of the vectors (..., dimension)."""
        scaled = np.nan_to_num(vectors / self.step, nan=0.0, posinf=0.0, neginf=0.0)
        most = math.isqrt(self.squared_radius) + 1
        rounded = np.floor(np.clip(scaled, -most, most) + chances).astype(np.int64)
        while (long := np.square(rounded).sum(axis=-1) > self.squared_radius).any():
            rounded[long] = np.sign(rounded[long]) * (np.abs(rounded[long]) >> 1)
        return rounded


class WholeSums(ABC):
    """Feed it whole vectors (runs, dimension), one a round; it answers with the running sum that may be released."""

    nodes: float  # squared l2 norm of what an item of length 1 moves, in measured units

    def __init__(self, window: int, budget: Budget, grid: Grid, generators: Sequence[np.random.Generator]):
        self.window, self.grid, self.generators = window, grid, list(generators)
        self.scale = whole_scale(budget, self.squared_sensitivity(grid))
        self.done = 0
        shape = (len(generators), grid.dimension)
        self.expired = np.zeros(shape, dtype=np.int64)  # sum of the items that are older than the window
        self.recent = np.zeros((2 * window, *shape), dtype=np.int64)  # by round, modulo the length
        self._stock, self._used = np.zeros((0, *shape), dtype=np.int64), 0

    @abstractmethod
    def squared_sensitivity(self, grid: Grid) -> int:
        """Of all that is measured of one item, a whole number."""

    @abstractmethod
    def _sum(self, item: Whole) -> Array:
        """The released sum after this item, in grid units."""

    def observe(self, item: Whole) -> Array:
        """The running sum of all items so far, in the units of the vectors, with noise."""
        gone = self.done - self.window
        if gone >= 0:
            self.expired += self.recent[gone % len(self.recent)]
        self.recent[self.done % len(self.recent)] = item
        released = self._sum(item)
        self.done += 1
        return released * self.grid.step

    def measure(self, exact: Whole) -> Whole:
        """Whole vectors (runs, dimension) with fresh noise."""
        return np.asarray(exact + self.noise())

    def noise(self) -> Whole:
        """One fresh vector a run, (runs, dimension)."""
        if self._used == len(self._stock):
            self._stock, self._used = fill(self.generators, self.scale, BLOCK, self.grid.dimension), 0
        self._used += 1
        return np.asarray(self._stock[self._used - 1])


class WholeWindowTree(WholeSums):
    """Every node's sum is measured when its last item has come. The window must be a power of two."""

    def __init__(self, window: int, budget: Budget, grid: Grid, generators: Sequence[np.random.Generator]):
        self.nodes = WindowTree(window).nodes_per_item
        super().__init__(window, budget, grid, generators)
        self.open = [np.zeros_like(self.expired) for _ in range(self.nodes)]  # by level, the sum of the unfinished node
        runs, dimension = self.expired.shape
        self.reached = np.zeros((runs, window.bit_length() + 1, dimension), dtype=np.int64)
        self.this, self.last = np.zeros((2, runs, window, dimension), dtype=np.int64)  # by how many items are left

    def squared_sensitivity(self, grid: Grid) -> int:
        """(log2 W + 1) (2 radius)^2."""
        return int(self.nodes) * 4 * grid.squared_radius

    def _sum(self, item: Whole) -> Array:
        position = self.done % self.window + 1
        for level, node in enumerate(self.open):
            node += item
            if position % (length := 1 << level) == 0:
                ended = self.measure(node)[:, None]
                node[...] = 0
                begun = position - length
                if begun & -begun == length:  # the first node of what is left when the items before it have expired
                    self.this[:, self.window - begun] = ended[:, 0]
        tree_prefixes(ended, self.window, self.done, self.reached)  # the longest node that ends now
        total = self.expired + ended[:, 0] + self.last[:, self.window - position]
        if position == self.window:  # read backwards it is a tree, too, except for its root
            self.this, self.last = self.last, self.this
            tree_prefixes(self.last, self.window, self.window - 1, np.zeros_like(self.last[:, :1]))
        return np.asarray(total.astype(float))


class WholeWindowRoot(WholeSums):
    """Weighted sums of the last items are measured, and decoded."""

    def __init__(self, window: int, budget: Budget, grid: Grid, generators: Sequence[np.random.Generator]):
        for bits in range(FINEST, -1, -1):
            self.bits = bits
            self.weights = np.rint(root_coefficients(window) * 2**bits).astype(np.int64)
            if whole_scale(budget, self.squared_sensitivity(grid)) <= LARGEST:
                break
        self.nodes = float(np.square(self.weights).sum()) / 4**self.bits
        super().__init__(window, budget, grid, generators)
        known = self.weights / 2**self.bits
        self.decoding = running_sum_strategy(known, window)
        self.beyond = np.convolve(self.decoding, known)[window:]  # what decoding adds of items W, W + 1, ... rounds old
        self.measured = np.zeros((window, *self.expired.shape), dtype=np.int64)

    def squared_sensitivity(self, grid: Grid) -> int:
        """sum_j k_j^2 (2 radius)^2."""
        return sum(int(each) ** 2 for each in self.weights) * 4 * grid.squared_radius

    def _sum(self, item: Whole) -> Array:
        back = np.arange(2 * self.window)
        items = self.recent[(self.done - back) % len(self.recent)]
        weighted = np.einsum("j,jrd->rd", self.weights, items[: self.window])
        self.measured[self.done % self.window] = self.measure(weighted)
        measured = self.measured[(self.done - back[: self.window]) % self.window]
        decoded = np.einsum("j,jrd->rd", self.decoding, measured.astype(float)) / 2**self.bits
        old = items[self.window : 2 * self.window - 1].astype(float)
        return decoded + (self.expired - np.einsum("j,jrd->rd", self.beyond, old))
