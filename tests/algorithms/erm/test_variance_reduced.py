"""Variance-reduced Frank-Wolfe against a plain recursion over its trees: points, records, prices, and its guarantee."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from drawn import generators
from scipy import stats
from scipy.special import softmax
from tiny_risks import Bowls

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.variance_reduced_frank_wolfe import (
    Tree,
    VarianceReducedFrankWolfe,
    displacements,
    height_entered,
    shared_out,
)
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import Selection

VARIANTS = list(VarianceReducedFrankWolfe.card.variants)
CLEAN, PRIVATE = Budget(math.inf, 1e-6), Budget(4.0, 1e-6)
DIMENSION = 3


def made(risk: Any, variant: str = "balanced", budget: Budget = PRIVATE, runs: int = 2) -> VarianceReducedFrankWolfe:
    problem = ErmProblem(make_set("l1-ball", DIMENSION), risk)
    return VarianceReducedFrankWolfe(problem, [budget], runs, variant)


class Plainly:
    """The trees by recursion: every vertex by itself, records counted by hand."""

    def __init__(self, risk: Bowls, trees: tuple[Tree, ...]):
        self.risk, self.read, self.point = risk, 0, np.zeros((risk.records.shape[1], DIMENSION))
        for tree in trees:
            self.tree, self.leaf = tree, 0
            self.vertex(0, self.mean(self.point, tree.sizes[0]), self.point)

    def mean(self, point: np.ndarray, count: int, origin: np.ndarray | None = None) -> np.ndarray:
        first, self.read = self.read, self.read + count
        found = self.risk.mean_gradient(point, first, self.read)
        return found if origin is None else found - self.risk.mean_gradient(origin, first, self.read)

    def vertex(self, depth: int, value: np.ndarray, at: np.ndarray) -> None:
        if depth == self.tree.depth:
            corner = np.zeros_like(self.point)
            for run, slope in enumerate(value):
                place = int(np.abs(slope).argmax())
                corner[run, place] = -np.sign(slope[place])
            step = 2 / (2**depth + self.leaf)
            self.point, self.leaf = (1 - step) * self.point + step * corner, self.leaf + 1
            return
        self.vertex(depth + 1, value, at)
        here = self.point
        self.vertex(depth + 1, value + self.mean(here, self.tree.sizes[depth + 1], at), here)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("samples", [2, 7, 37, 1001])
def test_points_are_those_of_the_recursion_and_every_record_is_read_once(variant: str, samples: int) -> None:
    risk = Bowls(samples, DIMENSION, 2)
    learner = made(risk, variant, CLEAN)
    released = learner.fit(generators(2, 3))[0]
    (plan,) = learner.plans
    plain = Plainly(risk, plan)
    assert released == pytest.approx(plain.point, abs=1e-12)
    assert [each.left for each in risk.passes] == [0]
    assert plain.read == sum(tree.records for tree in plan) == samples
    assert learner.iterations() == [2 ** (len(plan) + 1) - 2]


@pytest.mark.parametrize("samples", [1, 2, 3, 6, 50, 51, 4097])
@pytest.mark.parametrize(("growth", "decay"), [(0.0, 1.0), (1.0, 1.5)])
def test_records_are_shared_out_to_the_last(samples: int, growth: float, decay: float) -> None:
    for last in range(1, 8):
        sizes = shared_out(samples, last, growth, decay)
        if sizes is None:
            assert samples < sum(2**t for t in range(1, last + 1))
            continue
        vertices = [[1, *(2 ** (j - 1) for j in range(1, t + 1))] for t in range(1, last + 1)]
        assert sum(a * b for each, of in zip(sizes, vertices, strict=True) for a, b in zip(each, of, strict=True)) == (
            samples
        )
        assert all(min(each) >= 1 and list(each) == sorted(each, reverse=True) for each in sizes)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_points_lie_apart_by_the_steps_between(depth: int) -> None:
    """A product of what every step keeps, from the parent of the right child that a leaf enters."""
    steps = [2 / (2**depth + leaf) for leaf in range(2**depth)]
    found = displacements(depth)
    assert found[0] == 0
    for leaf in range(1, 2**depth):
        shared = 2 ** height_entered(leaf)
        assert leaf % (2 * shared) == shared
        assert found[leaf] == pytest.approx(1 - math.prod(1 - step for step in steps[leaf - shared : leaf]), rel=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_record_moves_few_scores_and_no_further_than_it_is_priced(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record replaced in turn, all choices held: what moves, where, by how much; over many worst-case choices."""
    samples, corners = 37, np.concatenate([np.eye(DIMENSION), -np.eye(DIMENSION)])
    learner = made(Bowls(samples, DIMENSION, 1), variant, runs=1)
    plan = tuple(learner._tree(sizes, PRIVATE) for sizes in shared_out(samples, 3, 1.0, 1.0) or ())
    monkeypatch.setattr(learner, "plans", [plan])
    leaves = sum(tree.calls[0] for tree in plan)
    seen: list[np.ndarray] = []
    forced = iter(np.empty(0))
    scores = learner.corners.scores

    def remember(gradient: np.ndarray) -> np.ndarray:
        seen.append(scores(gradient)[0])
        return np.where(np.arange(2 * DIMENSION) == next(forced), -1e9, 0.0)[None]

    monkeypatch.setattr(learner.corners, "scores", remember)

    def told(place: int, side: float, bend: float, choices: Any) -> np.ndarray:
        nonlocal forced
        risk = Bowls(samples, DIMENSION, 1)
        risk.records[0, 0, place] = [side, 0, 0, bend]
        learner.fresh, forced = risk, iter(choices)
        seen.clear()
        learner.fit(generators(1, 1))
        return np.array(seen)

    ends = np.cumsum([tree.records for tree in plan])
    farthest = {(tree.depth, depth): 0.0 for tree in plan for depth in range(tree.depth + 1)}
    generator = np.random.default_rng(8)
    for place in range(samples):
        tree = plan[int(np.searchsorted(ends, place, side="right"))]
        calls: set[int] = set()
        for choices in [np.arange(leaves) // 2 % 2 * DIMENSION, generator.integers(len(corners), size=leaves)]:
            low, high = told(place, 1.0, 0.5, choices), told(place, -1.0, 0.0, choices)
            moved = np.abs(low - high).max(axis=1)
            (where,) = np.nonzero(moved > 1e-12)
            calls.add(len(where))
            assert where[-1] - where[0] + 1 == len(where) or not len(where)
            depth = next((d for d, call in enumerate(tree.calls) if call == len(where)), None)
            if depth is not None:
                assert moved.max() <= tree.moves[depth] * (1 + 1e-12)
                farthest[tree.depth, depth] = max(farthest[tree.depth, depth], moved.max() / tree.moves[depth])
        assert max(calls) in tree.calls
    assert all(share > 0.65 for (_, depth), share in farthest.items() if depth == 0), "slopes of 1, L = 1.5"
    assert all(share > 0.1 for share in farthest.values())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("samples", [2, 37, 1001, 20_000])
def test_every_vertex_keeps_the_budget(variant: str, samples: int) -> None:
    learner = made(Bowls(samples, DIMENSION, 1), variant, runs=1)
    delta = 0.0 if learner.pure else PRIVATE.delta
    spent = [
        Selection("gumbel", tree.scale, move, call).epsilon(delta)
        for tree in learner.plans[0]
        for move, call in zip(tree.moves, tree.calls, strict=True)
    ]
    assert max(spent) == pytest.approx(4.0, rel=1e-9)
    assert learner.delivered_epsilon() == [max(spent)]
    if learner.pure:
        assert all(
            2 * move * call / tree.scale <= 4.0 * (1 + 1e-12)
            for tree in learner.plans[0]
            for move, call in zip(tree.moves, tree.calls, strict=True)
        )


def test_choices_have_the_law_of_the_ledger() -> None:
    """Linear losses: scores stay the same within a tree, so its choices have one law, each with noise of its own."""
    runs = 6000
    learner = made(Bowls(37, DIMENSION, 1), "balanced", runs=runs)
    learner.fresh.records[..., :] = [0.4, -0.2, 0.1, 0.0]  # type: ignore[attr-defined]
    chosen: list[np.ndarray] = []
    learner.corners.step = lambda points, taken, step: chosen.append(taken.copy())  # type: ignore[method-assign]
    learner.fit(generators(1, 7) * runs)
    last = learner.plans[0][-1]
    slope = np.array([0.4, -0.2, 0.1])
    wanted = softmax(-np.concatenate([slope, -slope]) / last.scale)
    now, then = chosen[-last.calls[0] :][:2]
    for found in (now, then):
        assert stats.chisquare(np.bincount(found, minlength=6), runs * wanted).pvalue > 1e-6
    pairs = Counter(zip(now.tolist(), then.tolist(), strict=True))
    counts = [pairs[a, b] for a, b in itertools.product(range(6), repeat=2)]
    assert stats.chisquare(counts, runs * np.outer(wanted, wanted).ravel()).pvalue > 1e-6


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_guarantee_is_its_recursion(variant: str) -> None:
    """h <- (1 - 2/k) h + (2/k) e + (2/k)^2 G/2, leaf by leaf, errors of vertices along the path."""
    learner = made(Bowls(500, DIMENSION, 1), variant, runs=1)
    height, log = math.inf, math.log(2 * DIMENSION)
    for tree in learner.plans[0]:
        kept = [1 - 2 / (2**tree.depth + leaf) for leaf in range(2**tree.depth)]
        for leaf in range(2**tree.depth):
            k = 2**tree.depth + leaf
            variance = learner.steep**2 / tree.sizes[0]
            for depth in range(1, tree.depth + 1):
                width = 2 ** (tree.depth - depth)
                if leaf // width % 2:
                    start = leaf // width * width
                    apart = 2 * (1 - math.prod(kept[start - width : start]))
                    variance += (learner.smooth * apart) ** 2 / tree.sizes[depth]
            error = tree.scale * log + 2 * math.sqrt(2 * variance * log)
            left = 0.0 if k == 2 else (1 - 2 / k) * height
            height = left + 2 / k * error + (2 / k) ** 2 * 4 * learner.smooth / 2
    assert learner.bound() == [pytest.approx(height, rel=1e-9)]
