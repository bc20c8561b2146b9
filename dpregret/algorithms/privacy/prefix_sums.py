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
from typing import Any, ClassVar, cast

import numpy as np

from dpregret.algorithms.privacy.budget import Release
from dpregret.algorithms.privacy.noise import Counts, NoiseDistribution, UnitNoise, added_up, root_mean_square_norm
from dpregret.numerics.arrays import Array

BLOCK = 64  # rounds drawn at once; part of the definition of a run's random numbers, not a tuning knob
BLOCK_BYTES = 2**24  # bytes of a block, where its length is free

Fresh = Callable[[int], Array]  # count -> unit noises (count, runs, d), never handed out before


class PrefixSums(ABC):
    """A mechanism for running sums, described by its nodes."""

    distributions: ClassVar[tuple[NoiseDistribution, ...]] = ("gaussian", "gamma", "laplace")
    apart: ClassVar[bool] = False
    """No two items lie in the same noisy node."""

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
    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """The state between blocks of `rounds` rounds, before the first block; None where there is none."""

    @abstractmethod
    def next(self, state: Any, units: Array, fresh: Fresh) -> Array:
        """The noise of a block's outputs from its unit noises, (rounds, runs, d); updates the state.

        It may write to the units and return them, but holds no reference to them: the next block overwrites them.
        """


def by_run(block: Array) -> Array:
    """(rounds, runs, d) -> (runs, rounds, d), a view where the numbers of a run lie together."""
    return np.ascontiguousarray(block.swapaxes(0, 1))


@dataclass(frozen=True)
class WindowSums(PrefixSums):
    """Sums in which the last `window` items are protected. Raises ValueError for a window below 1."""

    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")


@dataclass(frozen=True)
class HorizonSums(PrefixSums):
    """Sums over a known horizon. Raises ValueError for a horizon below 1."""

    horizon: int

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {self.horizon}")


@dataclass(frozen=True)
class NoisePerItem(PrefixSums):
    """Every item is noised once and summed: an item lies in one node, the noise grows like sqrt(t)."""

    nodes_per_item = 1
    apart = True

    def noisy_nodes(self, rounds: int) -> Array:
        """t at round t."""
        return np.arange(1.0, rounds + 1)

    def init(self, rounds: int, runs: int, dimension: int) -> Array:
        """The sum so far, (runs, d)."""
        return np.zeros((runs, dimension))

    def next(self, state: Array, units: Array, fresh: Fresh) -> Array:
        """Running sum of the unit noises."""
        noise: Array = np.cumsum(units, axis=0)
        noise += state
        state[...] = noise[-1]
        return noise


@dataclass(frozen=True)
class NoisePerPrefix(HorizonSums):
    """Every prefix sum is noised afresh: the first item is released `horizon` times."""

    @property
    def nodes_per_item(self) -> int:
        """The horizon."""
        return self.horizon

    def noisy_nodes(self, rounds: int) -> Array:
        """One in every round."""
        return np.ones(rounds)

    def init(self, rounds: int, runs: int, dimension: int) -> None:
        """No state."""

    def next(self, state: None, units: Array, fresh: Fresh) -> Array:
        """The unit noises as they are."""
        return units


@dataclass(frozen=True)
class OctaveNoise(HorizonSums):
    """Every prefix 1..horizon-1 is noised afresh, with standard deviation factors[k] in rounds 2^k..2^(k+1)-1.

    Raises ValueError where an octave of the horizon has no positive factor.
    """

    factors: tuple[float, ...]
    distributions: ClassVar[tuple[NoiseDistribution, ...]] = ("gaussian",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.factors) < self.horizon.bit_length() or min(self.factors) <= 0:
            raise ValueError(f"a horizon of {self.horizon} needs {self.horizon.bit_length()} positive factors")

    @property
    def nodes_per_item(self) -> float:
        """Squared l2 norm of what the first item moves, each release in its own standard deviation."""
        released = max(1, self.horizon - 1)
        lengths = (min(2**k, released + 1 - 2**k) for k in range(released.bit_length()))
        return sum(length / factor**2 for length, factor in zip(lengths, self.factors, strict=False))

    def noisy_nodes(self, rounds: int) -> Array:
        """The squared factors."""
        return np.square(self._factors(1, rounds))

    def _factors(self, first: int, last: int) -> Array:
        """Of rounds first..last; beyond the horizon that of the last octave."""
        octaves = np.frexp(np.arange(float(first), last + 1))[1] - 1
        return np.array(self.factors)[np.minimum(octaves, len(self.factors) - 1)]

    def init(self, rounds: int, runs: int, dimension: int) -> list[int]:
        """The number of rounds so far."""
        return [0]

    def next(self, state: list[int], units: Array, fresh: Fresh) -> Array:
        """The unit noises, scaled."""
        units *= self._factors(state[0] + 1, state[0] + len(units))[:, None, None]
        state[0] += len(units)
        return units


@dataclass(frozen=True)
class NoisePlan:
    """The noise of several settings of one learner: what is noised, by how much, and what it costs.

    mechanisms, scales: one per setting. Settings share one stream of unit draws (common random numbers): equal
    mechanisms are called once and only rescaled, so a sweep of epsilon costs one stream of random numbers.
    A scale of 0 gives exactly zero noise.
    sensitivity: l2 distance by which replacing one item moves a node; l1 under Laplace noise.
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
            Release(self.distribution, scale, self.sensitivity, mechanism.nodes_per_item, mechanism.apart)
            for mechanism, scale in zip(self.mechanisms, self.scales, strict=True)
        ]

    def expected_norm(self, rounds: int) -> Array:
        """Upper bound sqrt(E|z_t|^2) >= E|z_t| on the noise of rounds 1..rounds, shape (settings, rounds)."""
        return self._norms([mechanism.noisy_nodes(rounds) for mechanism in self.mechanisms])

    def largest_norm(self) -> Array:
        """Least upper bound of `expected_norm` over all rounds, (settings,); 0 without noise."""
        pairs = zip(self.mechanisms, self.scales, strict=True)
        return self._norms([mechanism.most_noisy_nodes if scale else 0.0 for mechanism, scale in pairs])

    def _norms(self, nodes: Sequence[Array | float]) -> Array:
        unit = root_mean_square_norm(self.distribution, self.dimension)
        return np.array([scale * unit * np.sqrt(count) for count, scale in zip(nodes, self.scales, strict=True)])

    def blocks(self, generators: Sequence[np.random.Generator]) -> Iterator[Array]:
        """Yield the noise of rounds 1..BLOCK, BLOCK+1..2 BLOCK, ...: (BLOCK, settings, runs, dimension).

        generators: one per run; what a run gets depends on its own generator and on the setting's mechanism only.
        """
        shape = (BLOCK, len(self.scales), len(generators), self.dimension)
        if not any(self.scales):
            silence = np.zeros(shape)
            while True:
                yield silence
        for unscaled in self.correlated(generators):
            noise = np.empty(shape)
            for setting, units in enumerate(unscaled):
                np.multiply(units, self.scales[setting], out=noise[:, setting])
            yield noise

    def block(self, runs: int) -> int:
        """Rounds of a block of at most `BLOCK_BYTES`; `BLOCK`, unless a round's noise is its own draw alone."""
        most = BLOCK_BYTES // (8 * runs * self.dimension) or 1
        alone = self.distribution == "gaussian" and all(m.most_noisy_nodes == 1 for m in self.mechanisms)
        return min(BLOCK, 1 << (most.bit_length() - 1)) if alone else BLOCK

    def correlated(self, generators: Sequence[np.random.Generator], rounds: int = BLOCK) -> Iterator[list[Array]]:
        """The blocks before they are scaled: an array (rounds, runs, d) a setting; equal mechanisms share one.

        The next block takes their memory: fresh one, beyond some megabytes, costs as much as drawing. rounds: `BLOCK`,
        or `block(runs)`.
        """
        distinct, runs = list(dict.fromkeys(self.mechanisms)), len(generators)
        states = [mechanism.init(rounds, runs, self.dimension) for mechanism in distinct]
        draw = UnitNoise(self.distribution, generators, self.dimension)
        # further nodes of a mechanism have their own generators, so that no setting disturbs another
        further = [self._further(generators, mechanism.key) for mechanism in distinct]
        buffers = np.empty((len(distinct), runs, rounds, self.dimension))  # a mechanism may write to its part
        while True:
            draw(rounds, buffers[0])
            buffers[1:] = buffers[0]
            noise = {
                mechanism: mechanism.next(state, units.swapaxes(0, 1), fresh)
                for mechanism, state, units, fresh in zip(distinct, states, buffers, further, strict=True)
            }
            yield [noise[mechanism] for mechanism in self.mechanisms]

    def _further(self, generators: Sequence[np.random.Generator], key: int) -> Fresh:
        """Draws from keyed generators, which are created at the first request: plain trees never need them."""
        return Further(lambda: UnitNoise(self.distribution, keyed_generators(generators, key), self.dimension))


class Further:
    """Unit noises of a law that is known, made at the first request; see `sums_of`."""

    def __init__(self, make: Callable[[], UnitNoise]):
        self._noise = cache(make)

    def __call__(self, count: int) -> Array:
        """Fresh ones, (count, runs, d)."""
        return self._noise()(count)

    def sums(self, counts: Counts) -> Array:
        """See `UnitNoise.sums`."""
        return self._noise().sums(counts)


def sums_of(fresh: Fresh, counts: Counts) -> Array:
    """Sums of counts[t] fresh unit noises each, (rounds, runs, d): one draw a sum where the law is known."""
    return fresh.sums(counts) if isinstance(fresh, Further) else added_up(fresh, counts)


def keyed_generators(generators: Sequence[np.random.Generator], key: int) -> list[np.random.Generator]:
    """Generators that depend on each generator's seed and the key only.

    Args:
        generators: one a run, made of a SeedSequence; one that serves several runs gives one.
        key: which of a run's further generators.

    Returns:
        As many generators; those given do not advance.
    """
    keyed = {id(generator): generator for generator in generators}
    keyed = {identity: _keyed(generator, key) for identity, generator in keyed.items()}
    return [keyed[id(generator)] for generator in generators]


def _keyed(generator: np.random.Generator, key: int) -> np.random.Generator:
    seed = cast(np.random.SeedSequence, generator.bit_generator.seed_seq)
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, key)))
