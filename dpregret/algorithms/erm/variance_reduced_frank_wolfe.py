"""Private Frank-Wolfe on the l1 ball in one pass: gradients on the vertices of trees, corners chosen at their leaves.

Problem     F(theta) = E f(theta; z) on the l1 ball of radius r in d dimensions, met through n fresh records; |grad f|
            at most L in the largest coordinate, and B |theta - theta'|_1 bounds how far it moves there.
Algorithm   Asi, Feldman, Koren & Talwar 2021 (see also Bassily, Guzman & Nandi 2021; Han et al. 2022 release a point at
            each record), rewritten from its idea:
            line 1  theta = the center
            line 2  for t = 1..T, a tree of depth t
            line 3    the root takes b(t,0) fresh records: v = their mean gradient at theta; left children copy their
                      parent, point and v
            line 4    for its leaves l = 0..2^t - 1
            line 5      l > 0: the path to l enters one right child, at depth j; it takes b(t,j) fresh records:
                        v = v of its parent + mean of grad f(theta; z) - grad f(theta of its parent; z)
            line 6      s = argmin over the 2 d corners of <s, v of the leaf> + Gumbel(lambda_t)
            line 7      theta = theta + 2/(2^t + l) (s - theta)
            line 8  release theta
Privacy     Unit: one record; neighbours: it is replaced by another. A record enters one vertex. There, whatever the
            points, it moves v by at most 2 L/b(t,0) (root) or 2 B a/b(t,j) in a coordinate, a the l1 distance to the
            parent's point: between them lie the leaves m..m+2^(t-j)-1 of its left child, and their steps multiply
            what is kept by (c - 1)(c - 2)/((e - 1)(e - 2)) from c = 2^t + m to e = c + 2^(t-j), so a is at most 2 r
            times the rest of 1. Only the 2^(t-j) leaves below the vertex use it: that many choices, scores that move
            by r times as much. lambda_t is the least that keeps every vertex of the tree within the budget; trees
            share no record. pure: delta = 0.
Guarantee   E F(theta) - F* <= (1/((K-1)(K-2))) sum_{k=2}^{K-1} 2 (k-1) (G/k + e_k), K = 2^(T+1), G = 4 r^2 B and
            e_k = lambda_t ln(2 d) + 2 r sqrt(2 V_k ln(2 d)), k = 2^t + l, V_k = L^2/b(t,0) + the sum over right
            children on the path to l of B^2 a^2/b(t,j): a Frank-Wolfe recursion with steps 2/k; E of the largest of
            2 d sub-Gaussian errors (Hoeffding, in martingale form). sqrt(ln d/n) + (ln d/(eps n))^(2/3) up to logs.
Deviations  A reconstruction: calibration, sizes and constants are ours, T minimises the guarantee (all in it is
            public), Gumbel noise instead of Laplace. published: b(t,j) = b/2^j, hence n of the order of b T^2.
            balanced, pure: b(t,j) = b 2^(t-T-3j/2): early trees need less, and a deep vertex costs less than its root,
            so n is of the order of b. What is left over goes to the last root, so each record is read once.
"""

import bisect
import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpregret.algorithms.erm.erm_learner import OnePassLearner, Records
from dpregret.algorithms.erm.polytope_frank_wolfe import AxisCorners, corners_of, score_noise
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import Selection, largest_choice_epsilon
from dpregret.algorithms.privacy.trees import tree_prefixes
from dpregret.numerics.arrays import Array

CHUNK = 1 << 15  # most numbers of gradients held at a time: they stay in the cache

choice_epsilon = lru_cache(maxsize=1024)(largest_choice_epsilon)


@dataclass(frozen=True)
class Tree:
    """The tree of depth t: records of a vertex at depths 0..t, how far points move, and its noise.

    It has 2^t leaves, met in their order. Left children copy their parent; a right child takes fresh records when
    the path to leaf l > 0 first passes through it: exactly one right child for each such leaf.

    apart: a of the right child that leaf l enters, (2^t,), 0 for leaf 0. scale: lambda_t; calls and moves: choices that
    a vertex at each depth decides, and the most that a record there moves a score.
    """

    sizes: tuple[int, ...]
    apart: Array
    calls: tuple[int, ...]
    moves: tuple[float, ...]
    scale: float = 0.0

    @property
    def depth(self) -> int:
        """t."""
        return len(self.sizes) - 1


def records_of(sizes: Sequence[int]) -> int:
    """Records of a tree: of its root and of 2^(j-1) right children at every depth j."""
    return sizes[0] + sum(size << depth >> 1 for depth, size in enumerate(sizes[1:], start=1))


def height_entered(leaf: int) -> int:
    """Height above the leaves of the right child that the path to a leaf > 0 enters from the leaf before."""
    return (leaf & -leaf).bit_length() - 1


def displacements(depth: int) -> Array:
    """1 minus the share kept between the parent of the right child that leaf l enters and leaf l, (2^depth,)."""
    leaves = np.arange(1.0, 1 << depth)
    end = leaves + (1 << depth)
    begun = end - (leaves.astype(np.int64) & -leaves.astype(np.int64))
    return np.concatenate([[0.0], 1 - (begun - 1) * (begun - 2) / ((end - 1) * (end - 2))])


def shared_out(samples: int, last: int, growth: float, decay: float) -> list[tuple[int, ...]] | None:
    """Records of a vertex, by tree 1..last and depth: whole numbers of b 2^(growth (t - last) - decay j), at least 1.

    The largest b for which there are enough; the rest goes to the last root. None where there is not even 1 each.
    """

    def sizes(most: int) -> list[tuple[int, ...]]:
        """For b = most/1024."""
        return [
            tuple(max(1, int(most / 1024 * 2.0 ** (growth * (t - last) - decay * j))) for j in range(t + 1))
            for t in range(1, last + 1)
        ]

    def used(most: int) -> int:
        return sum(map(records_of, sizes(most)))

    most = bisect.bisect_right(range(1024 * samples + 1024), samples, key=used) - 1
    if most < 0:
        return None
    *early, (root, *others) = sizes(most)
    return [*early, (root + samples - used(most), *others)]


class VarianceReducedFrankWolfe(OnePassLearner):
    """Raises ValueError where the set is not the l1 ball, where losses have kinks, and for a single record."""

    natural_set = "l1-ball"
    card = Card(
        name="private-vr-fw",
        title="variance-reduced private FW",
        paper="after Asi, Feldman, Koren & Talwar 2021",
        reference="one pass, l1 geometry",
        variants={
            "balanced": "small deep vertices and small early trees",
            "published": "sizes that halve with every depth, roots of one size",
            "pure": "balanced, delta = 0",
        },
        needs=frozenset({"vertices", "smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        corners = corners_of(self.domain)
        if not (isinstance(corners, AxisCorners) and corners.signed):
            raise ValueError(f"{self.card.name} needs the l1 ball, not {self.domain.name}")
        self.corners, self.radius = corners, corners.l1_norm
        self.steep = self.risk.lipschitz_l1
        self.smooth = float(getattr(self.risk, "smoothness_l1", self.risk.smoothness))
        budgets = [replace(budget, delta=0.0) if self.pure else budget for budget in self.budgets]
        if any(budget.delta == 0 and math.isfinite(budget.epsilon) for budget in budgets) and not self.pure:
            raise ValueError(f"{self.card.name} ({self.variant}) needs delta > 0")
        self.plans = [self._plan(budget) for budget in budgets]

    @property
    def pure(self) -> bool:
        return self.variant == "pure"

    def iterations(self) -> list[int]:
        """Choices of each setting, 2^(T+1) - 2."""
        return [sum(tree.calls[0] for tree in plan) for plan in self.plans]

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, d), all from one pass."""
        released = np.empty((len(self.plans), self.runs, self.domain.dimension))
        for setting, plan in enumerate(self.plans):  # all meet the same records and the same unit noise
            released[setting] = self._pass(setting, plan, copy.deepcopy(generators))
        return released

    def _pass(self, setting: int, plan: Sequence[Tree], generators: Sequence[np.random.Generator]) -> Array:
        point, records = np.tile(self.domain.center(), (self.runs, 1)), self.fresh.stream()  # line 1
        noise = score_noise("gumbel", generators, sum(tree.calls[0] for tree in plan), self.corners.count)
        for tree in plan:  # line 2
            value = self._mean_gradient(setting, records, tree.sizes[0], point)  # line 3
            points = [point.copy()] * (tree.depth + 2)  # points at the vertices of the path, from the leaf upwards
            values = np.repeat(value[:, None], tree.depth + 2, axis=1)
            for leaf in range(tree.calls[0]):  # line 4
                if leaf:
                    height = height_entered(leaf)
                    size = tree.sizes[tree.depth - height]
                    value = self._mean_gradient(setting, records, size, point, points[height + 1])
                    tree_prefixes(value[:, None], tree.calls[0], leaf - 1, values)  # line 5
                    points[: height + 1] = [point.copy()] * (height + 1)
                chosen = self.corners.least(value, tree.scale, noise)  # line 6
                self.corners.step(point, chosen, 2 / (tree.calls[0] + leaf))  # line 7
        return point  # line 8

    def _mean_gradient(
        self, setting: int, records: Records, count: int, point: Array, origin: Array | None = None
    ) -> Array:
        """Mean over the next records of their gradients at the points (runs, d), less those at the origins."""
        total, remaining = np.zeros_like(point), count
        while remaining:
            chunk = min(remaining, max(1, CHUNK // point.size))
            block = records.take(chunk)
            block = block[setting if len(block) > 1 else 0]
            rows = np.broadcast_to(block, (self.runs, chunk, block.shape[-1])).reshape(1, -1, block.shape[-1])
            total += self._gradients(point, rows).sum(axis=1)
            if origin is not None:
                total -= self._gradients(origin, rows).sum(axis=1)
            remaining -= chunk
        return total / count

    def _gradients(self, points: Array, rows: Array) -> Array:
        """Of every run's records, a row each (1, runs k, columns), at its point: (runs, k, d)."""
        per_run = rows.shape[1] // self.runs
        gradients: Array = self.fresh.gradients(np.repeat(points, per_run, axis=0)[None], rows)
        return gradients.reshape(self.runs, per_run, points.shape[1])

    def _plan(self, budget: Budget) -> tuple[Tree, ...]:
        """Trees 1..T for the T of the least guarantee."""
        best: tuple[Tree, ...] | None = None
        for last in range(1, self.risk.samples.bit_length()):
            trees = self._trees(last, budget)
            if trees is None or (best is not None and self._bound(trees) > 2 * self._bound(best)):
                break
            if best is None or self._bound(trees) < self._bound(best):
                best = trees
        if best is None:
            raise ValueError(f"{self.card.name} needs at least 2 records, there are {self.risk.samples}")
        return best

    def _trees(self, last: int, budget: Budget) -> tuple[Tree, ...] | None:
        """All records shared out among trees 1..last; None where there are too few."""
        sizes = shared_out(self.risk.samples, last, *((0.0, 1.0) if self.variant == "published" else (1.0, 1.5)))
        return None if sizes is None else tuple(self._tree(tree_sizes, budget) for tree_sizes in sizes)

    def _tree(self, sizes: tuple[int, ...], budget: Budget) -> Tree:
        """Lines of the box's privacy: the largest move of a record at every depth, and the noise for all of them."""
        depth = len(sizes) - 1
        apart = 2 * self.radius * displacements(depth)
        moves = [2 * self.radius * self.steep / sizes[0]]
        for level in range(1, depth + 1):
            below = 1 << (depth - level)  # leaves below a vertex; right children begin at its odd multiples
            farthest = min(self.smooth * float(apart[below :: 2 * below].max()), 2 * self.steep)
            moves.append(2 * self.radius * farthest / sizes[level])
        calls = tuple(1 << (depth - level) for level in range(depth + 1))
        scales = [
            2 * move / choice_epsilon("gumbel", budget, call) if move else 0.0
            for move, call in zip(moves, calls, strict=True)
        ]
        return Tree(sizes, apart, calls, tuple(moves), max(scales))

    def ledger(self) -> list[Selection]:
        """Of the vertex that loses most, one line a setting."""
        worst = []
        for plan, budget in zip(self.plans, self.budgets, strict=True):
            lines = [
                Selection("gumbel", tree.scale, move, calls)
                for tree in plan
                for move, calls in zip(tree.moves, tree.calls, strict=True)
                if move
            ]
            spent = [line.epsilon(0.0 if self.pure else budget.delta) for line in lines]
            worst.append(lines[int(np.argmax(spent))])
        return worst

    def bound(self) -> list[float]:
        """The guarantee of the module."""
        return [self._bound(plan) for plan in self.plans]

    def _bound(self, plan: Sequence[Tree]) -> float:
        curvature, log = 4 * self.radius**2 * self.smooth, math.log(self.corners.count)
        total = 0.0
        for tree in plan:
            times = float(tree.calls[0]) + np.arange(tree.calls[0])
            error = tree.scale * log + 2 * self.radius * np.sqrt(2 * self._variances(tree) * log)
            total += float((2 * (times - 1) * (curvature / times + error)).sum())
        end = 2 * plan[-1].calls[0]
        return total / ((end - 1) * (end - 2))

    def _variances(self, tree: Tree) -> Array:
        """V_k of every leaf."""
        leaves = np.arange(tree.calls[0])
        variances = np.full(len(leaves), self.steep**2 / tree.sizes[0])
        for level in range(1, tree.depth + 1):
            below = tree.depth - level
            moved = np.minimum(self.smooth * tree.apart[leaves >> below << below], 2 * self.steep)
            variances += np.where(leaves >> below & 1, moved**2 / tree.sizes[level], 0.0)
        return variances
