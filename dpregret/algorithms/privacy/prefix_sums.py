"""Private prefix sums: which noise enters the running sum of a stream.

Every mechanism here releases, after each round t, the exact sum of the items it need not protect plus noisy sums of
the others. Since the noise does not depend on the items, its output is (exact running sum) + (noise of round t), and
a learner only needs the second part, block by block. The exact running sum itself is never released.

Privacy unit: one item of the stream, replaced by any other of the same norm bound. An item lies in `nodes_per_item`
noisy nodes; each moves by at most the item's sensitivity. What measures weighted sums of items under Gaussian noise
(`toeplitz.py`) has the same interface: its nodes are the squared l2 norms of the weights.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, cast

import numpy as np

from dpregret.algorithms.privacy.budget import Release
from dpregret.algorithms.privacy.noise import NoiseDistribution, UnitNoise, root_mean_square_norm
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled

BLOCK = 64  # rounds drawn at once; part of the definition of a run's random numbers, not a tuning knob
KEPT = 2**24  # bytes of a block, where its length is no part of that

Fresh = Callable[[int], Array]  # count -> unit noises (count, runs, d), never handed out before
Arrange = Callable[[Array, Fresh], Array]
"""Unit noises of a block (BLOCK, runs, d) -> unit noise of its outputs. It may write to them and
return them; what it keeps of them for later blocks is a copy, since the next block's take their place."""


def prefix_noise(nodes: Array) -> Array:
    """Turn fresh node noises into the noise of every prefix of a binary tree, in place, along the first axis.

    Prefix t reuses the nodes of prefix t & (t - 1) (t without its lowest set bit) and adds the node that ends at t:
    N_t = N_{t & (t - 1)} + Z_t, swept from coarse to fine. nodes: (1 + rounds, ...), nodes[0] the noise before round 1.
    """
    stride = 1 << (len(nodes) - 1).bit_length() >> 1
    while stride:
        ends = nodes[stride :: 2 * stride]
        ends += nodes[:: 2 * stride][: len(ends)]
        stride >>= 1
    return nodes


class PrefixSums(ABC):
    """A mechanism for running sums, described by its nodes."""

    distributions: ClassVar[tuple[NoiseDistribution, ...]] = ("gaussian", "gamma", "laplace")

    @property
    @abstractmethod
    def nodes_per_item(self) -> float:
        """The most noisy nodes that one item lies in: the square of the l2 sensitivity, that of the item being 1."""

    @property
    def key(self) -> int:
        """Which of a run's generators gives the draws beyond one a round."""
        return int(self.nodes_per_item)

    @abstractmethod
    def noisy_nodes(self, rounds: int) -> Array:
        """Number of node noises in the output of rounds 1..rounds, or their summed squared weights: (rounds,)."""

    @property
    def most_noisy_nodes(self) -> float:
        """The least upper bound of `noisy_nodes` over all rounds; inf where there is none, or none is known."""
        return math.inf

    def refusal(self, distribution: NoiseDistribution) -> str:
        """Why noise of this distribution is not offered; empty where it is."""
        return "" if distribution in self.distributions else f"{type(self).__name__} takes no {distribution} noise"

    @abstractmethod
    def arranger(self) -> Arrange:
        """A new stateful function that turns the unit noises of successive blocks into those of the outputs."""


def is_power_of_two(number: int) -> bool:
    """Whether number is 1, 2, 4, 8, ..."""
    return number >= 1 and number & (number - 1) == 0


@dataclass(frozen=True)
class WindowTree(PrefixSums):
    """Window tree mechanism: the last `window` items are protected, older ones enter clean.

    Lou & Cheung 2020, Section III.A-B (after Bolot et al. 2013). Blocks of `window` rounds carry a complete binary
    tree each. At position j of a block the output uses the noisy prefix 1..j of this block and the noisy suffix
    j+1..window of the block before; whatever is older is exact. With m = log2(window), an item lies in m + 1 nodes,
    all of its own block, and the output of round t > window holds m + 1 - v2(j) node noises (v2: trailing zeros).
    With window >= horizon this is the plain tree mechanism (Dwork et al. 2010; Chan et al. 2011).

    Raises ValueError when window is not a power of two.
    """

    window: int

    def __post_init__(self) -> None:
        if not is_power_of_two(self.window):
            raise ValueError(f"window must be a power of two, got {self.window}")

    @property
    def nodes_per_item(self) -> int:
        """log2(window) + 1."""
        return self.window.bit_length()

    def noisy_nodes(self, rounds: int) -> Array:
        """popcount(j) in the first block, log2(window) + 1 - v2(j) later."""
        position = np.arange(rounds) % self.window + 1
        lowest_bit = position & -position
        later = self.window.bit_length() - np.log2(lowest_bit)
        return np.where(np.arange(rounds) < self.window, np.bitwise_count(position), later)

    @property
    def most_noisy_nodes(self) -> float:
        """log2(window) + 1, at odd positions."""
        return self.nodes_per_item

    def arranger(self) -> Arrange:
        """Blocks in O(log window) vectors of state, exact: each node has one noise, used as long as the node is."""
        return _ShortWindow(self.window) if self.window <= BLOCK else _LongWindow(self.window)


@compiled
def _arrange(noise: Array, window: int, base: Array, last: Array, fresh: Array, root: Array, skip: int) -> None:
    """Trees of `window` rounds each, side by side: what was drawn becomes the noise of the outputs, in place.

    Arrays are (runs, rounds, d); base, last, root (runs, d) or empty. Prefix t of a tree is prefix t & (t - 1), or
    `base`, plus the node that ends at t; `last` replaces the last one. From round `skip` on the suffix of the tree
    before is added: the same recursion over `fresh`, backwards from `root`.
    """
    runs, rounds, dimension = noise.shape
    for run in range(runs):
        for first in range(0, rounds, window):
            for now in range(1, window + 1):
                older, place = now & (now - 1), first + now - 1
                if older:
                    for k in range(dimension):
                        noise[run, place, k] += noise[run, first + older - 1, k]
                elif len(base):
                    for k in range(dimension):
                        noise[run, place, k] += base[run, k]
            if len(last):
                for k in range(dimension):
                    noise[run, first + window - 1, k] = last[run, k]
            if first >= skip and fresh.shape[1]:
                for k in range(dimension):
                    fresh[run, first, k] = root[run, k] if len(root) else 0.0
                for now in range(window):
                    older, place = now & (now - 1), first + window - 1 - now
                    for k in range(dimension):
                        if now:
                            fresh[run, first + now, k] += fresh[run, first + older, k]
                        noise[run, place, k] += fresh[run, first + now, k]


def by_run(block: Array) -> Array:
    """(rounds, runs, d) -> (runs, rounds, d), a view where the numbers of a run lie together."""
    return np.ascontiguousarray(block.swapaxes(0, 1))


_NONE, _NO_ROUNDS = np.empty((0, 0)), np.empty((0, 0, 0))


class _ShortWindow:
    """Window of at most one block: all trees of the block at once."""

    def __init__(self, window: int):
        self.window, self.first = window, True

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        if self.window == 1:
            return units
        noise, further = by_run(units), by_run(fresh(len(units)))
        skip = self.window if self.first else 0  # the first tree has none before it
        _arrange(noise, self.window, _NONE, _NONE, further, _NONE, skip)
        self.first = False
        return noise.swapaxes(0, 1)


class _LongWindow:
    """Window of several blocks: of the coarse prefix and suffix nodes in use, one noise a level is kept."""

    def __init__(self, window: int):
        self.blocks = window // BLOCK
        self.levels = self.blocks.bit_length()
        self.done = 0  # blocks finished in this window
        self.first = True

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        noise = by_run(units)
        shape = (self.levels, noise.shape[0], noise.shape[2])
        if self.done == 0:
            self.prefix, self.suffix = np.zeros(shape), np.zeros(shape)
        base = self.prefix.sum(axis=0)
        ended = _trailing_zeros(self.done + 1)
        self.prefix[:ended] = 0.0
        self.prefix[ended] = noise[:, -1]
        fine, root = (_NO_ROUNDS, _NONE) if self.first else self._suffix(fresh)
        _arrange(noise, BLOCK, base, self.prefix.sum(axis=0), fine, root, 0)
        self.done += 1
        if self.done == self.blocks:
            self.done, self.first = 0, False
        return noise.swapaxes(0, 1)

    def _suffix(self, fresh: Fresh) -> tuple[Array, Array]:
        """Noise of what is left of the window before: this block's nodes (fine), and whole blocks ahead (coarse)."""
        if self.done == 0:
            opened = self.levels - 1
        else:  # one block less is left: the lowest node in use opens into its children
            opened = _trailing_zeros(self.blocks - self.done)
            self.suffix[opened] = 0.0
        if opened:
            self.suffix[:opened] = fresh(opened)
        return by_run(fresh(BLOCK)), self.suffix.sum(axis=0)


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


@dataclass(frozen=True)
class NoisePerItem(PrefixSums):
    """Every item is noised once and summed: an item lies in one node, the noise grows like sqrt(t)."""

    @property
    def nodes_per_item(self) -> int:
        """One."""
        return 1

    def noisy_nodes(self, rounds: int) -> Array:
        """t at round t."""
        return np.arange(1.0, rounds + 1)

    def arranger(self) -> Arrange:
        """Running sum of the unit noises."""
        total: Array | None = None

        def arrange(units: Array, fresh: Fresh) -> Array:
            nonlocal total
            noise = np.cumsum(units, axis=0)
            if total is not None:
                noise += total
            total = noise[-1].copy()
            return noise

        return arrange


@dataclass(frozen=True)
class NoisePerPrefix(PrefixSums):
    """Every prefix sum is noised afresh: the first item is released `horizon` times."""

    horizon: int

    @property
    def nodes_per_item(self) -> int:
        """The horizon."""
        return self.horizon

    def noisy_nodes(self, rounds: int) -> Array:
        """One in every round."""
        return np.ones(rounds)

    def arranger(self) -> Arrange:
        """The unit noises as they are."""
        return lambda units, fresh: units


@dataclass(frozen=True)
class NoisePlan:
    """The noise of several settings of one learner: what is noised, by how much, and what it costs.

    mechanisms, scales: one per setting. Settings share one stream of unit draws (common random numbers): equal
    mechanisms are arranged once and only rescaled, so a sweep of epsilon costs one stream of random numbers.
    A scale of 0 gives exactly zero noise.
    sensitivity: l2 distance by which replacing one item moves a node.
    dimension: of the summed vectors.
    Raises ValueError for noise that a mechanism does not take.
    """

    distribution: NoiseDistribution
    mechanisms: Sequence[PrefixSums]
    scales: Sequence[float]
    sensitivity: float
    dimension: int

    def __post_init__(self) -> None:
        for mechanism in self.mechanisms:
            if reason := mechanism.refusal(self.distribution):
                raise ValueError(reason)

    def releases(self) -> list[Release]:
        """The privacy ledger, one line per setting."""
        return [
            Release(self.distribution, scale, self.sensitivity, mechanism.nodes_per_item)
            for mechanism, scale in zip(self.mechanisms, self.scales, strict=True)
        ]

    def expected_norm(self, rounds: int) -> Array:
        """Upper bound sqrt(E|z_t|^2) >= E|z_t| on the noise of rounds 1..rounds, shape (settings, rounds)."""
        unit = root_mean_square_norm(self.distribution, self.dimension)
        return np.array(
            [
                scale * unit * np.sqrt(mechanism.noisy_nodes(rounds))
                for mechanism, scale in zip(self.mechanisms, self.scales, strict=True)
            ]
        )

    def largest_norm(self) -> Array:
        """Least upper bound of `expected_norm` over all rounds, (settings,); 0 without noise."""
        unit = root_mean_square_norm(self.distribution, self.dimension)
        return np.array(
            [
                scale * unit * math.sqrt(mechanism.most_noisy_nodes) if scale else 0.0
                for mechanism, scale in zip(self.mechanisms, self.scales, strict=True)
            ]
        )

    def blocks(self, generators: Sequence[np.random.Generator]) -> Iterator[Array]:
        """Yield the noise of rounds 1..BLOCK, BLOCK+1..2 BLOCK, ...: (BLOCK, settings, runs, dimension).

        generators: one per run; what a run gets depends on its own generator and on the setting's mechanism only.
        """
        shape = (BLOCK, len(self.scales), len(generators), self.dimension)
        if not any(self.scales):
            silence = np.zeros(shape)
            while True:
                yield silence
        for arranged in self.arranged(generators):
            noise = np.empty(shape)
            for setting, units in enumerate(arranged):
                np.multiply(units, self.scales[setting], out=noise[:, setting])
            yield noise

    def block(self, runs: int) -> int:
        """Rounds of a block of at most `KEPT` bytes; `BLOCK`, unless a round's noise is its own draw alone."""
        most = KEPT // (8 * runs * self.dimension) or 1
        alone = self.distribution == "gaussian" and all(each == WindowTree(1) for each in self.mechanisms)
        return min(BLOCK, 1 << (most.bit_length() - 1)) if alone else BLOCK

    def arranged(self, generators: Sequence[np.random.Generator], rounds: int = BLOCK) -> Iterator[list[Array]]:
        """The blocks before they are scaled: an array (rounds, runs, d) a setting; equal mechanisms share one.

        The next block takes their memory: fresh one, beyond some megabytes, costs as much as drawing. rounds: `BLOCK`,
        or `block(runs)`.
        """
        distinct = list(dict.fromkeys(self.mechanisms))
        arrangers = [mechanism.arranger() for mechanism in distinct]
        draw = UnitNoise(self.distribution, generators, self.dimension)
        # a mechanism's further nodes come from generators of its own, so that no setting disturbs another
        further = [self._further(generators, mechanism.key) for mechanism in distinct]
        held = np.empty((len(distinct), len(generators), rounds, self.dimension))  # a mechanism may write to its own
        while True:
            draw(rounds, held[0])
            held[1:] = held[0]
            arranged = {
                mechanism: arrange(units.swapaxes(0, 1), fresh)
                for mechanism, arrange, units, fresh in zip(distinct, arrangers, held, further, strict=True)
            }
            yield [arranged[mechanism] for mechanism in self.mechanisms]

    def _further(self, generators: Sequence[np.random.Generator], key: int) -> Fresh:
        """Draws from keyed generators, which are made when the first one is asked for: plain trees never do."""
        own = cache(lambda: UnitNoise(self.distribution, keyed_generators(generators, key), self.dimension))
        return lambda count: own()(count)


def keyed_generators(generators: Sequence[np.random.Generator], key: int) -> list[np.random.Generator]:
    """Generators that depend on each generator's seed and the key only; of one that serves several runs, one."""
    keyed = {id(generator): generator for generator in generators}
    keyed = {place: _keyed(generator, key) for place, generator in keyed.items()}
    return [keyed[id(generator)] for generator in generators]


def _keyed(generator: np.random.Generator, key: int) -> np.random.Generator:
    seed = cast(np.random.SeedSequence, generator.bit_generator.seed_seq)
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, key)))
