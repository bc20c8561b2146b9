"""Binary trees: the recurrence, the tree of a window, and those of learners that know their horizon.

Prefix sums by a tree are written once: N_t = N_{t & (t - 1)} + Z_t, where t & (t - 1) is t without its lowest set bit
2^l. Z_t belongs to the node that ends with item t and holds the last 2^l of them: its noise where prefixes are noised,
its value where they are summed. So prefix t has popcount(t) nodes. What the next rounds need of the past is N at the
last multiple of 1, 2, 4, ...: the state, one vector a level.

  WindowTree            the last W items are protected.
  DecodedWindowTree     the errors of the same nodes, read off with the best linear decoder.
  BlockTrees            one tree a block of rounds: for learners that forget at the ends of blocks.

With a known horizon T the prefixes 1..T-1 are released. The point of round t uses prefix t - 1, so an item lies in q =
ceil(log2 T) nodes (one less than where prefix T is released too and T is a power of two). For the same privacy:

  BinaryTree            prefix t carries popcount(t) node noises (Kairouz et al. 2021): q/2 in the mean.
  PaddedTree            always q of them (Agarwal & Singh 2017): its distribution is the same in every round.
  VarianceReducedTree   a finished node is estimated from its own noisy value and from its children (Honaker 2015, from
                        below): variance V_h = 1 / (2 - 2^-h) of a node's in height h, about half in the mean.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpregret.algorithms.privacy.prefix_sums import Fresh, HorizonSums, PrefixSums, by_run, sums_of
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled


@compiled
def tree_prefixes(nodes: Array, window: int, done: int, reached: Array) -> None:
    """Z of the rounds done + 1, done + 2, ... -> N of these rounds, in place.

    nodes: (runs, rounds, d). window: rounds of a tree, a power of two; the next one follows at once. reached: (runs,
    levels, d), at l the N of the last multiple of 2^l so far, updated; the last level is N_0 of every tree, and serves
    alone where the rounds are whole trees.
    """
    runs, rounds, dimension = nodes.shape
    top = reached.shape[1] - 1
    for run in range(runs):
        now = done % window
        for t in range(rounds):
            now = now + 1 if now < window else 1
            older = now & (now - 1)
            older_at = t - (now - older)  # where N of that prefix lies
            if older and older_at >= 0:
                for k in range(dimension):
                    nodes[run, t, k] += nodes[run, older_at, k]
            else:
                level = top
                if older:
                    level = 1
                    while not (now >> (level - 1)) & 1:
                        level += 1
                for k in range(dimension):
                    nodes[run, t, k] += reached[run, level, k]
        for level in range(top):
            t = rounds - 1 - (now - (now >> level << level))
            if t >= 0:
                for k in range(dimension):
                    reached[run, level, k] = nodes[run, t, k]


@dataclass
class Tree:
    """A tree of some rounds, a power of two, between blocks: `reached` of `tree_prefixes`, and how many are done."""

    window: int
    reached: Array
    done: int = 0

    @classmethod
    def begun(cls, window: int, runs: int, dimension: int) -> "Tree":
        """Before round 1, N_0 = 0."""
        return cls(window, np.zeros((runs, window.bit_length() + 1, dimension)))

    def next(self, nodes: Array) -> None:
        """Z of the next rounds (runs, rounds, d) -> N, in place."""
        tree_prefixes(nodes, self.window, self.done, self.reached)
        self.done += nodes.shape[1]


@compiled
def add_rest(noise: Array, window: int, rest: Array, first: int) -> None:
    """noise of position j of a tree += noise of the rest after it, rest[window - j], from round `first` on.

    noise, rest: (runs, rounds, d), trees of `window` rounds one after the other.
    """
    runs, rounds, dimension = noise.shape
    for run in range(runs):
        for begun in range(first, rounds, window):
            for now in range(window):
                for k in range(dimension):
                    noise[run, begun + window - 1 - now, k] += rest[run, begun + now, k]


class WindowError(ValueError):
    """A window that a mechanism cannot serve. window: W."""

    def __init__(self, window: int):
        below = 1 << max(window, 1).bit_length() - 1
        super().__init__(f"a tree needs a power of two, such as {below} or {2 * below}, not {window}")
        self.window = window


@dataclass(frozen=True)
class WindowTree(PrefixSums):
    """Window tree mechanism: the last `window` items are protected, older ones enter clean.

    Lou & Cheung 2020, Section III.A-B (after Bolot et al. 2013). Blocks of `window` rounds carry a complete binary
    tree each. At position j of a block the output uses the noisy prefix 1..j of this block and the noisy suffix
    j+1..window of the block before; whatever is older is exact. With m = log2(window), an item lies in m + 1 nodes,
    all of its own block, and the output of round t > window holds m + 1 - v2(j) node noises (v2: trailing zeros).
    With window >= horizon this is the plain tree mechanism (Dwork et al. 2010; Chan et al. 2011).

    Raises WindowError when window is not a power of two.
    """

    window: int

    def __post_init__(self) -> None:
        if self.window < 1 or self.window & (self.window - 1):
            raise WindowError(self.window)

    @property
    def nodes_per_item(self) -> int:
        """log2(window) + 1."""
        return self.window.bit_length()

    def noisy_nodes(self, rounds: int) -> Array:
        """popcount(j) in the first block, log2(window) + 1 - v2(j) later."""
        position = np.arange(rounds) % self.window + 1
        lowest_bit = position & -position
        full = self.window.bit_length() - np.log2(lowest_bit)
        return np.where(np.arange(rounds) < self.window, np.bitwise_count(position), full)

    @property
    def most_noisy_nodes(self) -> float:
        """log2(window) + 1, at odd positions."""
        return self.nodes_per_item

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """One noise a level of the two trees in use. A block is whole trees, or a power of two in one tree."""
        whole = self.window // rounds
        prefix, rest = np.zeros((2, whole.bit_length(), runs, dimension))
        return WindowState(prefix, rest, whole)

    def next(self, state: Any, units: Array, fresh: Fresh) -> Array:
        """The prefix of this tree, and from the second tree on the rest of the one before."""
        noise, tree, first, todo = by_run(units), min(self.window, len(units)), state.first, state.blocks - state.done
        state.next_prefixes(noise, tree)
        if self.window == 1 or (first and state.blocks > 1):
            return noise.swapaxes(0, 1)
        following = state.open_rest(todo, fresh)
        rest = by_run(fresh(len(units)))
        rest[:, ::tree] = 0.0  # at 0 there is what follows alone
        tree_prefixes(rest, tree, tree - 1, following[:, None])
        add_rest(noise, tree, rest, tree if first else 0)  # the first tree has none before it
        return noise.swapaxes(0, 1)


@dataclass
class WindowState:
    """Of trees of `blocks` blocks (0: more than one in a block), the nodes of whole blocks that are in use, by height.

    prefix, rest: (heights, runs, d), their noise, 0 where a height has none in use: of this tree, and of the rest
    of the one before. done: blocks of this tree. first: whether there is none before.
    """

    prefix: Array
    rest: Array
    blocks: int
    done: int = 0
    first: bool = True

    def next_prefixes(self, noise: Array, tree: int) -> None:
        """Z of the next block (runs, rounds, d) -> N, in place, `tree` rounds of a tree at a time."""
        node = noise[:, -1].copy()
        tree_prefixes(noise, tree, 0, self.prefix.sum(axis=0)[:, None])
        if self.blocks:  # the node that ends here replaces the lower ones
            ended = _trailing_zeros(self.done + 1)
            self.prefix[:ended] = 0.0
            self.prefix[ended] = node
            noise[:, -1] = self.prefix.sum(axis=0)
        self.done += 1
        if self.done >= self.blocks:
            self.prefix[...], self.done, self.first = 0.0, 0, False

    def open_rest(self, todo: int, fresh: Fresh) -> Array:
        """Noise of the rest of the tree before, after the next of `todo` blocks, (runs, d)."""
        if self.blocks:  # the lowest node in use opens into its children
            opened = _trailing_zeros(todo)
            self.rest[opened] = 0.0
            if opened:
                self.rest[:opened] = fresh(opened)
        return np.asarray(self.rest.sum(axis=0))


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


@dataclass(frozen=True)
class BlockTrees(WindowTree):
    """Blocks of `window` rounds carry a complete tree each, as in `WindowTree`, and nothing enters clean.

    The sum of rounds 1..t has the roots of the blocks that ended and the nodes of the prefix of this one. An item lies
    in log2(window) + 1 nodes, all of its own block, and is protected permanently. The noise of the whole sum grows with
    the number of blocks; that of the sum since a block's end, a difference of two outputs, is that of a tree of
    `window` rounds. Raises ValueError when window is not a power of two.
    """

    most_noisy_nodes = math.inf

    def noisy_nodes(self, rounds: int) -> Array:
        """A root for each block that ended, and popcount(j) at position j of this one."""
        ended, position = np.divmod(np.arange(1, rounds + 1), self.window)
        return (ended + np.bitwise_count(position)).astype(np.float64)

    def nodes_since_block(self, rounds: int) -> Array:
        """Noisy nodes in the sum of this block alone: popcount(j), 1 at its end; (rounds,)."""
        return np.bitwise_count(np.arange(rounds) % self.window + 1).astype(np.float64)

    def init(self, rounds: int, runs: int, dimension: int) -> tuple["WindowState", Array]:
        """The tree of the block that goes on, and the noise of the sum of the roots of those that ended, (runs, d)."""
        return super().init(rounds, runs, dimension), np.zeros((runs, dimension))

    def next(self, state: tuple["WindowState", Array], units: Array, fresh: Fresh) -> Array:
        """Prefixes of each block's tree, on top of the roots."""
        noise, tree, (going, ended) = by_run(units), min(self.window, len(units)), state
        going.next_prefixes(noise, tree)
        for begun in range(0, len(units), tree):
            noise[:, begun : begun + tree] += ended[:, None]
            if going.done == 0:  # no tree goes on
                ended[...] = noise[:, begun + tree - 1]
        return noise.swapaxes(0, 1)


@dataclass(frozen=True)
class BinaryTree(HorizonSums):
    """The plain tree over a known horizon."""

    @property
    def nodes_per_item(self) -> int:
        """q = ceil(log2 T), at least 1."""
        return max(1, math.ceil(math.log2(self.horizon)))

    def noisy_nodes(self, rounds: int) -> Array:
        """popcount(t) at round t."""
        return np.bitwise_count(np.arange(1, rounds + 1)).astype(np.float64)

    @property
    def tree(self) -> WindowTree:
        """A window that the horizon never leaves."""
        return WindowTree(2**self.nodes_per_item)

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """That of the window."""
        return self.tree.init(rounds, runs, dimension)

    def next(self, state: Any, units: Array, fresh: Fresh) -> Array:
        """That of the window."""
        return self.tree.next(state, units, fresh)


@dataclass(frozen=True)
class PaddedTree(BinaryTree):
    """The same with fresh noises added until there are q. A prefix that holds more, at the horizon, gets none."""

    def noisy_nodes(self, rounds: int) -> Array:
        """q in every round before the horizon."""
        return np.maximum(super().noisy_nodes(rounds), self.nodes_per_item)

    def init(self, rounds: int, runs: int, dimension: int) -> "PaddedState":
        """That of the plain tree."""
        return PaddedState(super().init(rounds, runs, dimension))

    def next(self, state: "PaddedState", units: Array, fresh: Fresh) -> Array:
        """What a prefix lacks is drawn as one sum a round."""
        noise, rounds = super().next(state.plain, units, fresh), len(units)
        times = np.arange(state.done + 1, state.done + rounds + 1)
        noise += sums_of(fresh, np.maximum(self.nodes_per_item - np.bitwise_count(times).astype(np.int64), 0))
        state.done += rounds
        return noise


@dataclass
class PaddedState:
    """The plain tree's, and the rounds done."""

    plain: Any
    done: int = 0


@dataclass(frozen=True)
class VarianceReducedTree(BinaryTree):
    """Estimates from below; E = w Z + (1 - w)(E_left + E_right), w = 2 V_(h-1) / (1 + 2 V_(h-1)) = V_h."""

    def noisy_nodes(self, rounds: int) -> Array:
        """Variance in units of a node's: the sum of V_h over the set bits h of t."""
        total = np.zeros(rounds + 1)
        for height in range(rounds.bit_length()):  # the times with this bit as their highest
            below = 1 << height
            total[below : 2 * below] = total[: min(below, rounds + 1 - below)] + node_variance(height)
        return total[1:]

    def init(self, rounds: int, runs: int, dimension: int) -> "ReducedState":
        """O(log T) vectors."""
        tree = Tree.begun(self.tree.window, runs, dimension)
        return ReducedState(tree, np.zeros((self.nodes_per_item + 1, runs, dimension)))

    def next(self, state: "ReducedState", units: Array, fresh: Fresh) -> Array:
        """Nodes within the block are estimated height by height, coarser ones as they are finished."""
        noise, rounds = by_run(units), len(units)
        nodes, height = units.copy(), 0
        while len(nodes) > 1:
            height += 1
            nodes = estimated(fresh(len(nodes) // 2), nodes, height)
            noise[:, (1 << height) - 1 :: 1 << height] = nodes.swapaxes(0, 1)
        blocks = state.tree.done % state.tree.window // rounds + 1
        estimate, ended = nodes[0], (blocks & -blocks).bit_length() - 1
        for level in range(ended):
            estimate = estimated(fresh(1), np.stack([state.finished[level], estimate]), height + level + 1)[0]
        state.finished[ended], noise[:, -1] = estimate, estimate
        state.tree.next(noise)
        return noise.swapaxes(0, 1)


@dataclass
class ReducedState:
    """The tree of estimates; those of the last finished node of 1, 2, 4, ... blocks, (heights, runs, d)."""

    tree: Tree
    finished: Array


def node_variance(height: ArrayLike) -> Array:
    """V_h = 1 / (2 (1 - 2^-(h+1))): 1, 2/3, 4/7, ... towards 1/2."""
    return np.asarray(0.5 / (1 - 0.5 ** (np.asarray(height, dtype=np.float64) + 1.0)))


def estimated(drawn: Array, below: Array, height: int) -> Array:
    """Nodes of a height, (nodes, ...), from their own values and their children's estimates, two each."""
    weight = float(node_variance(height))
    pairs = below.reshape(len(drawn), 2, *below.shape[1:]).sum(axis=1)
    return np.asarray(weight * drawn + (1 - weight) * pairs)


@dataclass(frozen=True)
class DecodedWindowTree:
    """The errors of the window tree with the best linear decoder: the fairest tree to compare with.

    Nodes and their noises are those of `WindowTree`; what changes is how sums are read off them. A node of height h has
    its own noisy value (variance 1) and the sum of its children's estimates. At position j of a block two sums are
    needed.

      The prefix of this block: only finished nodes exist, so estimates from below, variance V_h = 1 / (2 - 2^-h) a node
      (Honaker 2015).
      The suffix of the block before: its items up to j have expired and are known exactly, so that every node which
      holds some of them measures the rest of itself. With s the estimate of a node's rest and E that of a whole node,
          s(node) = best of { own value, s(left) + E(right) } where j lies in the left child,
                    best of { own value, s(right) }           where it lies in the right one;
      "best of" weights by inverse variances, as all noises are independent.

    This is generalised least squares on all finished nodes of both blocks, for the privacy of the plain tree and with
    any distribution. `noisy_nodes` is a variance in units of a node's. window: a power of two.
    """

    window: int

    @property
    def nodes_per_item(self) -> int:
        """log2(window) + 1."""
        return self.window.bit_length()

    def noisy_nodes(self, rounds: int) -> Array:
        """Sum of V_h over the set bits of the position, and from the second block on the suffix's variance."""
        position = np.arange(rounds) % self.window + 1
        heights = np.arange(self.nodes_per_item)
        variances: Array = ((position[:, None] >> heights & 1) * node_variance(heights)).sum(axis=1)
        rest = np.append(_rest_variances(self.window)[1:], 0.0)
        variances[self.window :] += rest[position - 1][self.window :]
        return variances


def _rest_variances(window: int) -> Array:
    """Variance of the rest of a tree after 0..window-1 of its items have expired."""
    variances = np.ones(1)
    for height in range(1, window.bit_length()):
        below = np.concatenate([variances + node_variance(height - 1), variances])
        variances = below / (1 + below)
    return variances
