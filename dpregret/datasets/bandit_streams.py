"""Losses for bandits: one number a round, for points of the set and somewhat beyond it.

Every loss is convex and L-Lipschitz on the whole space, at least 0 on the set, and 0 somewhere on it (of arms: at most
1 on it), so that within a distance zeta of the set it lies in [-L zeta, L (D + zeta)]: the range to which learners clip
what they see.

What takes an oracle is computed when a stream is first played: a configuration is checked with streams that never are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpregret.core.losses import Losses, LossSource
from dpregret.core.sets import ConstraintSet
from dpregret.datasets.bundled import load
from dpregret.datasets.losses import Affine, Entry, NormKink
from dpregret.datasets.source import Generators, Source, build, positive, sources, towards_vertex
from dpregret.numerics.arrays import Array
from dpregret.numerics.random import Uniforms
from dpregret.numerics.sums import product, vecdot

Whole = NDArray[np.int64]
PIECE = 2**12  # rounds of a comparator's pass


@dataclass(frozen=True, slots=True)
class BanditComparator:
    """Best fixed point in hindsight, (runs,) each: its loss, the certified relative gap, and the loss of the center."""

    losses: Array
    gaps: Array
    stay: Array


class BanditStream(Source, ABC):
    """A sequence of losses. lipschitz: L in l2 norm, here 1. sets: those on which it is defined, if not all.

    aimed: built for one horizon and one epsilon, its second and third argument. The trait ``linear``: affine losses;
    ``arms``: besides, they lie in [0, 1] on the simplex. tight: errors enter to first order everywhere. Raises
    ValueError for a set on which it is not defined.
    """

    sets: ClassVar[tuple[str, ...]] = ()
    aimed: ClassVar[bool] = False
    lipschitz = 1.0

    def __init__(self, domain: ConstraintSet) -> None:
        self.domain = domain

    @classmethod
    def require(cls, domain: ConstraintSet) -> None:
        """Raise ValueError for a set on which the stream is not defined."""
        if cls.sets and domain.name not in cls.sets:
            raise ValueError(
                f"the stream {cls.name!r} lives on the set {' or '.join(cls.sets)}, not on {domain.name!r}"
            )

    @abstractmethod
    def source(self, generators: Generators) -> LossSource:
        """A function that returns the next n rounds; results do not depend on how a horizon is cut."""

    @abstractmethod
    def comparator(self, generators: Generators, horizon: int) -> BanditComparator:
        """Best fixed point of the first `horizon` rounds; give it generators equal to those of `source`."""


class Cone(BanditStream):
    """f_t(x) = |x - z|, z nine tenths of the way from the center to a vertex: tight. No randomness."""

    name = "cone"
    title = "norm cone"
    tight = True

    @cached_property
    def anchor(self) -> Array:
        """z (n,)."""
        vertex = self.domain.linear_oracle(np.arange(1.0, self.domain.dimension + 1))
        return 0.1 * self.domain.center() + 0.9 * vertex

    def source(self, generators: Generators) -> LossSource:
        """The same loss in every round."""
        return lambda rounds: Losses(NormKink, [self.anchor[None]], (1.0, 0.0, 0.0), rounds)

    def comparator(self, generators: Generators, horizon: int) -> BanditComparator:
        """The anchor has no loss."""
        zeros, apart = np.zeros(len(generators)), self.domain.center() - self.anchor
        stay = horizon * float(np.sqrt(vecdot(apart, apart)))
        return BanditComparator(zeros, zeros, np.full(len(generators), stay))


class PlacedCone(Cone):
    """f_t(x) = |x - z| for bandits, z by `towards_vertex`. Tight wherever z is: errors enter to first order."""

    name = "placed-cone"
    title = "norm cone, searched for"

    def __init__(self, domain: ConstraintSet, share: float = 0.5, towards: int = 0) -> None:
        super().__init__(domain)
        self.anchor = towards_vertex(domain, share, towards)


def pieces(horizon: int) -> Iterator[int]:
    """Rounds that a comparator takes at a time; results do not depend on how a horizon is cut."""
    yield from (min(PIECE, horizon - first) for first in range(0, horizon, PIECE))


def random_entries(draws: Uniforms, rounds: int, size: int) -> Whole:
    """Whole numbers below `size`, one a round and run: (runs, rounds)."""
    return (draws.draw(rounds) * size).astype(np.int64)


def affine(entries: Whole, costs: Array, offsets: Array, rounds: int) -> Losses:
    """Losses of `rounds` rounds, entries (runs or 1, rounds or 1) of costs (pool, n) and offsets (pool,)."""
    return Losses(Affine, (entries.T.astype(np.float64),), (costs, offsets), rounds)


def counted(choose: Callable[[int], Whole], shape: tuple[int, int], horizon: int) -> Array:
    """How often each run met each entry in a horizon: shape (runs, entries); choose(rounds) gives the next entries."""
    counts, offsets = np.zeros(shape), shape[1] * np.arange(shape[0])[:, None]
    for rounds in pieces(horizon):
        chosen = offsets + np.broadcast_to(choose(rounds), (shape[0], rounds))
        counts += np.bincount(chosen.ravel(), minlength=counts.size).reshape(shape)
    return counts


class LinearStream(BanditStream):
    """f_t(x) = <c_t, x> - min over the set of <c_t, .>, c_t one of `pool` cost vectors, drawn afresh in every round.

    The vectors are projected to the set's hull and scaled so that the largest has norm 1 (L = 1).
    """

    traits = frozenset({"linear"})
    stochastic = True

    @abstractmethod
    def vectors(self, dimension: int) -> Array:
        """Cost vectors as they are, (pool, n)."""

    @cached_property
    def costs(self) -> Array:
        """All c (pool, n)."""
        basis = self.domain.hull_basis()
        within = product(product(self.vectors(self.domain.dimension), basis), basis.T)
        return within / np.sqrt(vecdot(within, within)).max()

    @cached_property
    def offsets(self) -> Array:
        """Minus the least loss of each over the set (pool,)."""
        return -vecdot(self.costs, self.domain.linear_oracle(self.costs))

    def source(self, generators: Generators) -> LossSource:
        """One number a round and run decides which cost is next."""

        draws = Uniforms(generators)
        return lambda rounds: affine(self._chosen(draws, rounds), self.costs, self.offsets, rounds)

    def _chosen(self, draws: Uniforms, rounds: int) -> Whole:
        """Index of each round's cost vector, (runs, rounds); (1, 1) where there is only one."""
        return (
            random_entries(draws, rounds, len(self.costs)) if len(self.costs) > 1 else np.zeros((1, 1), dtype=np.int64)
        )

    def comparator(self, generators: Generators, horizon: int) -> BanditComparator:
        """A vertex, by the linear oracle on the sum of the costs."""
        draws, pool = Uniforms(generators), len(self.costs)
        counts = counted(lambda rounds: self._chosen(draws, rounds), (len(generators), pool), horizon)
        costs, offsets = product(counts, self.costs), vecdot(counts, self.offsets)
        best = vecdot(costs, self.domain.linear_oracle(costs)) + offsets
        return BanditComparator(best, np.zeros(len(best)), vecdot(costs, self.domain.center()) + offsets)


class EntryStream(BanditStream):
    """Matrix completion: f_t(x) = |x_i - m_i| for the entry i of round t; i uniform, m in the set.

    L = 1. The truth lies in the set, so it is the comparator and has no loss.
    """

    tight = True
    stochastic = True

    def __init__(self, domain: ConstraintSet, image: Array) -> None:
        super().__init__(domain)
        size = np.linalg.svd(image, compute_uv=False).sum()
        self.unprojected = (image * (domain.diameter / 4) / size).ravel()

    @cached_property
    def truth(self) -> Array:
        """m (n,): the image, scaled to half the radius in nuclear norm."""
        return self.domain.project(self.unprojected)

    def source(self, generators: Generators) -> LossSource:
        """Each entry is drawn with one number a round and run."""
        draws = Uniforms(generators)
        return lambda rounds: Losses(
            Entry, (random_entries(draws, rounds, len(self.truth)).T.astype(float),), (self.truth,)
        )

    def comparator(self, generators: Generators, horizon: int) -> BanditComparator:
        """The truth has no loss."""
        zeros, draws, size = np.zeros(len(generators)), Uniforms(generators), len(self.truth)
        counts = counted(lambda rounds: random_entries(draws, rounds, size), (len(generators), size), horizon)
        return BanditComparator(zeros, zeros, product(counts, np.abs(self.domain.center() - self.truth)))


POOL = 64
"""Cost vectors of a synthetic application; every run draws from the same ones."""


def _fixed(number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([2021, number]))


class Linear(LinearStream):
    """The same linear loss in every round: costs fall along the coordinates."""

    name = "linear"
    title = "fixed linear loss"
    stochastic = False

    def vectors(self, dimension: int) -> Array:
        """One vector."""
        return np.linspace(1.0, 2.0, dimension)[None] ** 2


class RandomLinear(LinearStream):
    """A mean cost plus noise of relative size `spread`."""

    name = "random-linear"
    title = "random linear losses"

    def __init__(self, domain: ConstraintSet, spread: float = 1.0) -> None:
        positive(spread=spread)
        self.spread = spread
        super().__init__(domain)

    def vectors(self, dimension: int) -> Array:
        return np.linspace(-1.0, 1.0, dimension) + self.spread * _fixed(1).standard_normal((POOL, dimension))


class ShortestPath(LinearStream):
    """Edge delays, exponential around a mean that differs between edges: route a packet a round (flow set)."""

    name = "shortest-path"
    title = "shortest paths"
    sets = ("flow",)

    def vectors(self, dimension: int) -> Array:
        return _fixed(2).uniform(0.2, 1.0, dimension) * _fixed(3).standard_exponential((POOL, dimension))


class Ranking(LinearStream):
    """Items are ranked; a user's loss is <relevance, rank> with tastes that vary around an average (permutahedron)."""

    name = "ranking"
    sets = ("permutahedron",)

    def vectors(self, dimension: int) -> Array:
        tastes = np.linspace(1.0, 0.0, dimension) + 0.3 * _fixed(4).standard_normal((POOL, dimension))
        return np.clip(tastes, 0.0, 1.0)


class TopK(LinearStream):
    """Some items are shown; the loss counts those without a click (hypersimplex, partition-matroid, coverage)."""

    name = "top-k"
    title = "top-k recommendation"
    sets = ("hypersimplex", "partition-matroid", "coverage")

    def vectors(self, dimension: int) -> Array:
        ignored = _fixed(6).random((POOL, dimension)) > _fixed(5).uniform(0.1, 0.9, dimension)
        return ignored.astype(np.float64)


class Network(LinearStream):
    """Link prices of a network that must stay connected (spanning-trees)."""

    name = "network"
    title = "network design"
    sets = ("spanning-trees",)

    def vectors(self, dimension: int) -> Array:
        return _fixed(7).uniform(0.2, 1.0, dimension) * _fixed(8).uniform(0.5, 1.5, (POOL, dimension))


class Polarisation(LinearStream):
    """<A_t, X> with A_t = v v^T of random measurements: find the direction that they avoid (spectrahedron)."""

    name = "polarisation"
    sets = ("spectrahedron",)

    def vectors(self, dimension: int) -> Array:
        side = math.isqrt(dimension)
        measured = _fixed(9).standard_normal((POOL, side)) * np.linspace(0.3, 1.0, side)
        return (measured[:, :, None] * measured[:, None]).reshape(POOL, -1)


class Completion(EntryStream):
    """A matrix of the given rank, of nuclear norm half the radius, one entry a round (nuclear)."""

    name = "completion"
    title = "matrix completion"
    sets = ("nuclear",)

    def __init__(self, domain: ConstraintSet, rank: int = 1) -> None:
        side = math.isqrt(domain.dimension)
        if not 1 <= rank <= side:
            raise ValueError(f"rank must lie between 1 and {side}, got {rank}")
        left, right = _fixed(10).standard_normal((2, side, rank))
        super().__init__(domain, product(left, right.T))


class DigitsCompletion(EntryStream):
    """Mean image of odd digits minus that of even ones, 8 x 8, scaled into the ball: real data (nuclear).

    The image is what losses hide; its scale is a statistic of the data, which no budget pays for.
    """

    name = "digits-completion"
    title = "digit images"
    data = "digits"
    real = True
    sets = ("nuclear",)

    def __init__(self, domain: ConstraintSet, data_dir: str | Path) -> None:
        examples = load("digits", Path(data_dir))
        odd = examples.labels > 0
        truth = examples.features[odd].mean(axis=0) - examples.features[~odd].mean(axis=0)
        if domain.dimension != len(truth):
            raise ValueError(f"the stream 'digits-completion' has {len(truth)} entries, the set {domain.dimension}")
        super().__init__(domain, truth.reshape(8, 8))

    def participations(self, rounds: int, window: int | None = None) -> int:
        """An entry is drawn with replacement: it may be in every round."""
        return min(rounds, window or rounds)


class Arms(BanditStream):
    """K arms that lose 0 or 1: one, drawn by each run, loses with probability 1/2 - gap, all others with 1/2.

    All arms compare one uniform number a round with their probability: a learner that sees one arm per round cannot
    distinguish this from independent ones, and the best arm is exactly the best in hindsight.
    """

    name = "arms"
    title = "Bernoulli arms"
    traits = frozenset({"linear", "arms"})
    sets = ("simplex",)
    tight = stochastic = True

    def __init__(self, domain: ConstraintSet, gap: float = 0.25) -> None:
        super().__init__(domain)
        if not 0 < gap <= 0.5:
            raise ValueError(f"option gap must lie between 0 and 1/2, got {gap}")
        self.arms, self.gap = len(domain.center()), gap

    def source(self, generators: Generators) -> LossSource:
        """A number that decides the best arm, then one a round."""
        draws = Uniforms(generators)
        first = 3 * random_entries(draws, 1, self.arms)
        costs = np.zeros((self.arms, 3, self.arms))
        costs[:, 1:] = 1.0
        costs[np.arange(self.arms), 1, np.arange(self.arms)] = 0.0
        table, offsets = costs.reshape(-1, self.arms), np.zeros(3 * self.arms)
        return lambda rounds: affine(first + self._losing(draws, rounds), table, offsets, rounds)

    def _losing(self, draws: Uniforms, rounds: int) -> Whole:
        """0 where no arm loses, 1 where all but the best one do, 2 where all do: (runs, rounds)."""
        drawn = draws.draw(rounds)
        return (drawn < 0.5).astype(np.int64) + (drawn < 0.5 - self.gap)

    def comparator(self, generators: Generators, horizon: int) -> BanditComparator:
        """The best arm; the center plays all arms equally."""
        draws, others, best = Uniforms(generators), np.zeros(len(generators)), np.zeros(len(generators))
        draws.draw(1)
        for rounds in pieces(horizon):
            losing = self._losing(draws, rounds)
            others += (losing > 0).sum(axis=1)
            best += (losing > 1).sum(axis=1)
        return BanditComparator(best, np.zeros(len(best)), others + (best - others) / self.arms)


class HardArms(Arms):
    """The same with a gap of `gap` sqrt(K tau/T), tau = ceil(1/eps).

    At gap = 1 no learner can find the best arm in time, and such a learner loses (1 - 1/K) sqrt(K tau T) like one that
    plays all arms alike.
    """

    name = "hard-arms"
    title = "hard arms"
    aimed = True

    def __init__(self, domain: ConstraintSet, horizon: int, epsilon: float, gap: float = 1.0) -> None:
        positive(gap=gap)
        product = len(domain.center()) * max(1, math.ceil(min(horizon, 1 / epsilon)))
        scaled = gap * math.sqrt(product / horizon)
        if scaled > 0.5:
            raise ValueError(
                f"option gap: {gap:g} sqrt(K tau / T) = {scaled:.3g} is beyond 1/2: give a horizon of at least "
                f"{math.ceil(4 * gap**2 * product)}, or a smaller gap"
            )
        super().__init__(domain, scaled)


def make_bandit_stream(
    name: str,
    domain: ConstraintSet,
    aim: tuple[int, float] = (1, math.inf),
    *,
    data_dir: str | Path | None = None,
    **options: Any,
) -> BanditStream:
    """Build a stream of bandit losses on a set; aim: horizon and epsilon, for a stream that is built for them.

    Raises ValueError for unknown names and options, values out of range, and a set on which the stream is not defined;
    `base.UnreadDataError` where all fits but data are needed and `data_dir` was not given.
    """
    arguments: tuple[object, ...] = (domain,)
    if name in sources(BanditStream):
        kind = sources(BanditStream)[name]
        kind.require(domain)
        arguments += aim if kind.aimed else ()
    return build("stream", BanditStream, name, arguments, options, data_dir)
