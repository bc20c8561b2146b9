"""Sums that expire, without a tree over the window: one noise an item, or a tree a block.

`WindowItems`: a noise comes with the item and goes with it. `WindowBlocks`: a tree a block, whose nodes' noises are all
drawn before the first item of the block comes. Noise does not depend on data, so the noises of nodes that lie ahead
may be used at once, and those of items that have expired need not be cancelled exactly. So a sum is read off all nodes
by least squares (Hay, Rastogi, Miklau & Suciu 2010), and there is no root over the window. Radices k_1..k_h, from the
leaves up; a node of level l holds b_l = k_1 ... k_l items; a block b = b_h <= W, which need not divide W.

Algorithm   line 1  c_0 = 1, a_l = k_l c_{l-1} / (k_l c_{l-1} + 1), c_l = a_l
            line 2  before a block: a unit noise Z[l][p] for each of its nodes
            line 3    up: U[0] = Z[0], U[l][p] = a_l Z[l][p] + (1 - a_l) (sum of U[l-1] over the children of p)
            line 4    down: F[h] = U[h], F[l-1][c] = U[l-1][c] + (F[l][p] - sum of U[l-1] over the children of p)/k_l
            line 5    P[r] = F[0][0] + ... + F[0][r-1]
            line 6    R = P[b], noise of a whole block: it goes as a whole, when its last item has expired
            line 7  round t = m b + r, 1 <= r <= b:
                      z_t = P_m[r] + sum_{j = 1..ceil((W - r)/b)} R_{m-j}
Privacy     Let C be the 0/1 matrix of nodes and items, B that of rounds and nodes. (B C)_{ti} is 0 for t < i and 1 for
            i <= t < i + W. So moving all h + 1 nodes of item i by v - v', which is known when it comes, leaves what
            was released before as it was and what is released until it expires as if v' had been v. Pure noise: window
            epsilon-DP at a scale of (h + 1) sensitivity / epsilon; Gaussian: window mu-GDP, by the same shift.
Error       Var z_t = V(r) + c_h for each of the blocks before, in units of a node's:
            V(x) = sum_l ( c_{l-1} o_l - k_l c_{l-1} a_l (x_l / b_l)^2 ), x_l = x mod b_l (x at the top), o_l =
            x_l div b_{l-1}. A middle level costs (k - 1)^2 / (6 k) in the mean.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dpregret.algorithms.privacy.prefix_sums import Fresh, PrefixSums, WindowSums, by_run
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled

Whole = npt.NDArray[np.int64]
LARGEST_RADIX = (1024, 64, 32, 24)  # that is tried, by the number of levels with radices


@dataclass(frozen=True)
class WindowBlocks(PrefixSums):
    """Nodes of equal scale.

    With window >= horizon nothing expires, and a block is a tree of a whole sequence, whose roots are summed. Raises
    ValueError for radices below 2, none of them, or a block longer than the window.
    """

    window: int
    radices: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.radices or min(self.radices) < 2:
            raise ValueError(f"radices must be 2 or more, got {self.radices}")
        if self.block > self.window:
            raise ValueError(f"a block of {self.block} rounds is longer than the window of {self.window}")

    @property
    def block(self) -> int:
        """b."""
        return math.prod(self.radices)

    @property
    def before(self) -> int:
        """The most blocks before that are not yet dropped."""
        return -(-(self.window - 1) // self.block)

    @property
    def nodes_per_item(self) -> int:
        """h + 1."""
        return len(self.radices) + 1

    def noisy_nodes(self, rounds: int) -> Array:
        """Variance in units of a node's; see Error."""
        block, last = self.block, self._variances()[-1]
        ended, position = np.divmod(np.arange(rounds), block)
        remaining = self.window - 1 - position  # W - r
        return np.asarray(self.prefix_variances()[position] + last * np.minimum(ended, -(-remaining // block)))

    @property
    def most_noisy_nodes(self) -> float:
        """The largest in a block after a window."""
        return float(self.noisy_nodes((self.before + 1) * self.block)[-self.block :].max())

    def _variances(self) -> list[float]:
        """c_0..c_h (line 1)."""
        variances = [1.0]
        for radix in self.radices:
            variances.append(radix * variances[-1] / (radix * variances[-1] + 1))
        return variances

    def prefix_variances(self) -> Array:
        """V(1..b)."""
        position, variances, below, size = np.arange(1, self.block + 1), np.zeros(self.block), 1.0, 1
        for level, (radix, share) in enumerate(zip(self.radices, self._variances()[1:], strict=True), start=1):
            whole = size * radix
            here = position if level == len(self.radices) else position % whole
            variances += below * (here // size) - radix * below * share * np.square(here / whole)
            below, size = share, whole
        return variances

    def init(self, rounds: int, runs: int, dimension: int) -> "BlocksState":
        """b + W/b vectors beside a block's nodes."""
        sizes = [self.block // math.prod(self.radices[:level]) for level in range(len(self.radices) + 1)]
        coming, sums = np.zeros((runs, sum(sizes), dimension)), np.zeros((runs, self.block, dimension))
        return BlocksState(coming, sums, *np.zeros((2, runs, self.before + 1, dimension)))

    def next(self, state: "BlocksState", units: Array, fresh: Fresh) -> Array:
        """Block by block. The rounds' draws serve as nodes of the next block; what is missing at its start is fresh."""
        drawn, radices = by_run(units), np.array(self.radices, dtype=np.int64)
        noise, now, used = np.empty_like(drawn), 0, 0
        arrays = state.coming, state.sums, state.rests, state.whole
        while True:
            begun = now, used, state.filled, state.done
            now, used, state.filled, state.done = play_blocks(noise, drawn, *begun, self.window, radices, *arrays)
            if now == len(units):
                break
            nodes = state.coming.shape[1]
            state.coming[:, state.filled :] = fresh(nodes - state.filled).swapaxes(0, 1)
            state.filled = nodes
        state.filled += keep(drawn, used, state.coming, state.filled)
        return noise.swapaxes(0, 1)


@dataclass
class BlocksState:
    """Arrays (runs, ., d), `done` rounds of this block.

    coming: nodes of the next block, by level from the leaves on, `filled` of them drawn. sums: P[1..b] of this one.
    rests: R of this block and those before it, the last one first. whole: sums of R over the last 0, 1, ... blocks.
    """

    coming: Array
    sums: Array
    rests: Array
    whole: Array
    filled: int = 0
    done: int = 0


@compiled
def play_blocks(
    noise: Array, drawn: Array, now: int, used: int, filled: int, done: int, window: int, radices: Whole,
    coming: Array, sums: Array, rests: Array, whole: Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Rounds `now` on, (runs, rounds, d), until all are done or a block begins whose nodes are not all drawn.

    used: how many of `drawn`, (runs, rounds, d), are nodes already. Returns now, used, filled, done.
    """
    block, rounds = sums.shape[1], noise.shape[1]
    while now < rounds:
        if done == 0:
            kept = keep(drawn, used, coming, filled)
            used, filled = used + kept, filled + kept
            if filled < coming.shape[1]:
                break
            join_blocks(rests, whole)  # the block that ended joins those before, and the oldest goes
            read_off(coming, radices, sums, rests[:, 0])
            filled = 0
        count = min(block - done, rounds - now)
        add_blocks(noise, now, count, done, window, sums, whole)
        now, done = now + count, (done + count) % block
    return now, used, filled, done


@compiled
def keep(drawn: Array, used: int, coming: Array, filled: int) -> int:
    """Take draws from `used` on, (runs, count, d), for the next block, as many as it can use; return how many."""
    taken = min(drawn.shape[1] - used, coming.shape[1] - filled)
    for run in range(len(drawn)):
        for node in range(taken):
            for k in range(drawn.shape[2]):
                coming[run, filled + node, k] = drawn[run, used + node, k]
    return taken


@compiled
def join_blocks(rests: Array, whole: Array) -> None:
    """Move R of all blocks back by one, (runs, blocks, d), and add up those before the newest in `whole`."""
    runs, blocks, dimension = rests.shape
    for run in range(runs):
        for block in range(blocks - 1, 0, -1):
            for k in range(dimension):
                rests[run, block, k] = rests[run, block - 1, k]
        for block in range(1, blocks):
            for k in range(dimension):
                before = rests[run, block, k]
                whole[run, block, k] = before if block == 1 else whole[run, block - 1, k] + before


@compiled
def read_off(values: Array, radices: Whole, sums: Array, rest: Array) -> None:
    """Lines 3 to 6: own values of a block's nodes, (runs, nodes, d) -> P[1..b], and R, (runs, d)."""
    runs, nodes, dimension = values.shape
    block, height = sums.shape[1], len(radices)
    first = np.zeros(height + 2, dtype=np.int64)  # where the nodes of a level begin
    size = block
    for level in range(height + 1):
        first[level + 1] = first[level] + size
        if level < height:
            size //= radices[level]
    up, total = np.empty((nodes, dimension)), np.empty(dimension)
    for run in range(runs):
        z = values[run]
        for leaf in range(block):
            for k in range(dimension):
                up[leaf, k] = z[leaf, k]
        below = 1.0
        for level in range(height):  # line 3
            radix = radices[level]
            share = radix * below / (radix * below + 1.0)  # line 1
            for node in range(first[level + 1], first[level + 2]):
                child = first[level] + (node - first[level + 1]) * radix
                _add_up(up, child, child + radix, total)
                for k in range(dimension):
                    up[node, k] = share * z[node, k] + (1.0 - share) * total[k]
            below = share
        for k in range(dimension):
            rest[run, k] = up[nodes - 1, k]
        for level in range(height - 1, -1, -1):  # line 4
            radix = radices[level]
            for node in range(first[level + 1], first[level + 2]):
                child = first[level] + (node - first[level + 1]) * radix
                _add_up(up, child, child + radix, total)
                for k in range(dimension):
                    total[k] = (up[node, k] - total[k]) / radix
                for i in range(child, child + radix):
                    for k in range(dimension):
                        up[i, k] += total[k]
        for k in range(dimension):
            total[k] = 0.0
        for leaf in range(block):  # line 5
            for k in range(dimension):
                total[k] += up[leaf, k]
                sums[run, leaf, k] = total[k]


@compiled
def _add_up(rows: Array, first: int, end: int, total: Array) -> None:
    """total = rows[first] + ... + rows[end - 1]."""
    for k in range(len(total)):
        total[k] = 0.0
    for row in range(first, end):
        for k in range(len(total)):
            total[k] += rows[row, k]


@compiled
def add_blocks(noise: Array, first: int, count: int, done: int, window: int, sums: Array, whole: Array) -> None:
    """Line 7, in rounds done + 1, ..., done + count of a block: written to rounds `first` on of (runs, rounds, d)."""
    runs, _, dimension = noise.shape
    block = sums.shape[1]
    for run in range(runs):
        for now in range(count):
            remaining = window - (done + now + 1)
            blocks = (remaining + block - 1) // block
            for k in range(dimension):
                noise[run, first + now, k] = sums[run, done + now, k] + whole[run, blocks, k]


def mean_variance(radices: Whole, blocks: Array) -> Array:
    """Mean of Var z_t over a block after a window, in units of a node's, for columns of radices (h, candidates).

    blocks: how many blocks before are in a sum in the mean, (candidates,).
    """
    variance, below, size = np.zeros(blocks.shape), np.ones(blocks.shape), np.ones(blocks.shape)
    for level, radix in enumerate(radices.astype(np.float64)):
        whole, share = size * radix, radix * below / (radix * below + 1)
        if level == len(radices) - 1:  # x = 1..b
            mean, squares = (radix - 1) / 2 + 1 / size, (whole + 1) * (2 * whole + 1) / (6 * whole**2)
        else:
            mean, squares = (radix - 1) / 2, (whole - 1) * (2 * whole - 1) / (6 * whole**2)
        variance = variance + below * mean - radix * below * share * squares
        below, size = share, whole
    return np.asarray(variance + below * blocks)


@cache
def best_radices(rounds: int, expires: bool = True) -> tuple[int, ...]:
    """Radices of least mean error under pure noise for a window of some rounds; () where one noise an item has less.

    expires False: for prefixes 1..rounds of a sequence of which nothing expires, the last block taken as a whole. All
    radices up to `LARGEST_RADIX` are tried: an exact minimum among these.
    """
    best: tuple[int, ...] = ()
    least = float(rounds) if expires else (rounds + 1) / 2
    for height, largest in enumerate(LARGEST_RADIX, start=1):
        candidates = np.indices((max(min(rounds, largest) - 1, 0),) * height).reshape(height, -1) + 2
        candidates = candidates[:, candidates.prod(axis=0) <= rounds]
        block = candidates.prod(axis=0).astype(np.float64)
        if expires:
            before = (rounds - 1) / block
        else:
            whole = np.floor(rounds / block)
            before = whole * (rounds - block * (whole + 1) / 2) / rounds
        errors = (height + 1) ** 2 * mean_variance(candidates, before)
        if errors.size and errors.min() < least * (1 - 1e-12):
            best = tuple(map(int, candidates[:, np.argmin(errors)]))
            least = float(errors.min())
    return best


@dataclass(frozen=True)
class WindowItems(WindowSums):
    """z_t = sum_{j<W} Z_{t-j}: one noise an item, which comes and goes with it.

    Released is S_t + sum of the noises of the last W items, so the noise has the variance of W draws, an item lies in
    one node, and no window has to be a power of anything. For pure privacy and small windows that is less than any tree
    has: a tree pays the square of its levels. Window epsilon-DP (or mu-GDP): with x = v - v' moved into the noise of
    its own item, the outputs of both streams agree until the item has expired, after which its sum is exact.
    """

    nodes_per_item = 1

    def noisy_nodes(self, rounds: int) -> Array:
        """min(t, W) at round t."""
        return np.asarray(np.minimum(np.arange(1.0, rounds + 1), float(self.window)))

    @property
    def most_noisy_nodes(self) -> float:
        """W, from round W on."""
        return self.window

    def init(self, rounds: int, runs: int, dimension: int) -> "ItemsState":
        """2 W vectors, added in the order of rounds: nothing is ever taken off a sum, so nothing drifts."""
        begun, rest = np.zeros((2, runs, self.window, dimension))
        return ItemsState(begun, rest, np.zeros((runs, dimension)))

    def next(self, state: "ItemsState", units: Array, fresh: Fresh) -> Array:
        """Sums of the last W unit noises."""
        noise = by_run(units)
        moving_sums(noise, state.done, state.begun, state.rest, state.total)
        state.done = (state.done + len(units)) % self.window
        return noise.swapaxes(0, 1)


@dataclass
class ItemsState:
    """Of stretches of W rounds: the noises of the one that goes on, (runs, W, d), and their total, (runs, d).

    rest: the rest of the one before after 1..W of its items have expired, (runs, W, d). done: rounds of this one.
    """

    begun: Array
    rest: Array
    total: Array
    done: int = 0


@compiled
def moving_sums(units: Array, done: int, begun: Array, rest: Array, total: Array) -> None:
    """Every vector becomes the sum of the last W, in place; units (runs, rounds, d), the state as in `ItemsState`."""
    runs, rounds, dimension = units.shape
    window = begun.shape[1]
    for run in range(runs):
        at = done
        for now in range(rounds):
            for k in range(dimension):
                begun[run, at, k] = units[run, now, k]
                total[run, k] += units[run, now, k]
                units[run, now, k] = total[run, k] + rest[run, at, k]
            at += 1
            if at == window:
                at = 0
                for k in range(dimension):
                    total[run, k] = 0.0
                    rest[run, window - 1, k] = 0.0
                    for item in range(window - 1, 0, -1):
                        rest[run, item - 1, k] = rest[run, item, k] + begun[run, item, k]
