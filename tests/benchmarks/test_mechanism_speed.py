"""What noise costs beyond its random numbers, and mechanisms of a window beside its tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from bench_draws import Call, plain, recording, replay
from bench_problems import Maker
from bench_race import Race, clock

from dpregret.algorithms.privacy import (
    BLOCK,
    NoiseDistribution,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    PrefixSums,
    WindowBuffers,
    WindowRoot,
    WindowTree,
)
from dpregret.algorithms.privacy.trees import BinaryTree, PaddedTree, VarianceReducedTree

HORIZON = 2**20
TITLES = {"gaussian": "Gaussian", "gamma": "norm-Gamma", "laplace": "Laplace"}
OTHER_LAWS = [(name, law) for law in ("gamma", "laplace") for name in ("prefix tree", "window tree, W = 256")]
SHAPES = ((512, 8), (128, 32), (32, 128), (16, 1024))  # runs and dimension, at least 4000 coordinates
TREES: dict[str, tuple[PrefixSums, float | None]] = {
    "prefix tree": (WindowTree(HORIZON), 1.35),
    "window tree, W = 16": (WindowTree(16), 1.5),
    "window tree, W = 64": (WindowTree(64), 1.5),
    "window tree, W = 256": (WindowTree(256), 1.5),
    "window root, W = 16": (WindowRoot(16), None),
    "window root, W = 256": (WindowRoot(256), None),
    "window buffers, W = 16": (WindowBuffers(16), None),
    "window buffers, W = 256": (WindowBuffers(256), None),
    "padded tree": (PaddedTree(HORIZON), None),
    "variance-reduced tree": (VarianceReducedTree(HORIZON), None),
    "binary tree": (BinaryTree(HORIZON), 1.35),
    "noise per item": (NoisePerItem(), None),
    "noise per prefix": (NoisePerPrefix(HORIZON), None),
}
STEADY = 8  # blocks after which a window of 256 rounds draws two vectors a round


def following(blocks: Iterator[np.ndarray]) -> Callable[[], None]:
    """Draw as many blocks as a window of 256 rounds has."""

    def draw() -> None:
        for _ in range(4):
            next(blocks)

    return draw


def of_tree(
    distribution: NoiseDistribution, mechanism: PrefixSums, runs: int, dimension: int
) -> tuple[Callable[[], None], list[Call]]:
    """Steady drawing of a mechanism's noise, and what it asks of the generators meanwhile."""
    plan = NoisePlan(distribution, [mechanism], [1.7], 1.0, dimension)

    def steady(make: Maker) -> Callable[[], None]:
        blocks = plan.blocks(make(1, runs))
        for _ in range(STEADY):
            next(blocks)
        return following(blocks)

    log: list[Call] = []
    with recording(log) as make:
        draw = steady(make)
        log.clear()
        draw()
    return steady(plain), log


@pytest.mark.parametrize(("runs", "dimension"), SHAPES)
@pytest.mark.parametrize(("name", "law"), [*((name, "gaussian") for name in TREES), *OTHER_LAWS])
def test_trees(race: Race, name: str, law: NoiseDistribution, runs: int, dimension: int) -> None:
    mechanism, target = TREES[name]
    if race.quick:
        runs, dimension = 2, 3
    draw, log = of_tree(law, mechanism, runs, dimension)
    race.ratio(
        f"{name}, {TITLES[law]}", f"{runs} runs, d = {dimension}", clock(draw), clock(replay(log)),
        target=target, units=4 * BLOCK * runs, group="mechanism",
    )  # fmt: skip
    if law != "gaussian":
        return
    drawn = sum(int(np.prod(arguments[0])) for _, arguments, _ in log) / (4 * BLOCK * runs * dimension)
    bound = 21 if isinstance(mechanism, PaddedTree) else 2 + 2 / BLOCK  # a block's coarse nodes come on top
    assert drawn <= bound  # fresh vectors a round


RIVALS: dict[str, Callable[[int], PrefixSums]] = {"window root": WindowRoot, "window buffers": WindowBuffers}


@pytest.mark.parametrize(("runs", "dimension"), SHAPES)
@pytest.mark.parametrize("window", [16, 64, 256, 1024])
def test_against_the_window_tree(race: Race, window: int, runs: int, dimension: int) -> None:
    """Whole noise, draws and scaling too, of a window's rounds or four blocks, once two windows have passed."""
    if race.quick:
        runs, dimension = 2, 3
    blocks = max(4, window // BLOCK)

    def steady(mechanism: PrefixSums) -> Callable[[], float]:
        noise = NoisePlan("gaussian", [mechanism], [1.7], 1.0, dimension).blocks(plain(1, runs))
        for _ in range(2 * blocks):
            next(noise)
        return clock(lambda: next(noise), blocks)

    names, contestants = list(RIVALS), [steady(make(window)) for make in (*RIVALS.values(), WindowTree)]
    *times, tree = race.seconds(*contestants)
    for name, spent in zip(names, times, strict=True):
        laps = sorted(each / other for each, other in zip(spent, tree, strict=True) if other > 0)
        race.note(
            "ratios", group="mechanism", what=f"{name} over window tree, W = {window}",
            condition=f"{runs} runs, d = {dimension}", ratio=min(spent) / max(min(tree), 1e-12),
            median=laps[len(laps) // 2] if laps else None, target=1.0,
            microseconds=1e6 * min(spent) / (BLOCK * runs),
        )  # fmt: skip
