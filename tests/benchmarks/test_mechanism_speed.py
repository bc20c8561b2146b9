"""What noise costs beyond its random numbers, and what oracles cost in units of noise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from bench_draws import Call, plain, recording, replay
from bench_problems import Maker
from bench_race import Race, clock

from dpregret.algorithms.geometry import SETS, make_set
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
    unit_noise,
)
from dpregret.algorithms.privacy.above_threshold import AboveThreshold, Watch
from dpregret.algorithms.privacy.selection import draw_group, selection_noise
from dpregret.algorithms.privacy.trees import BinaryTree, PaddedTree, VarianceReducedTree

HORIZON = 2**20
LAWS: tuple[NoiseDistribution, ...] = ("gaussian", "gamma", "laplace")
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
@pytest.mark.parametrize("name", TREES)
def test_trees(race: Race, name: str, runs: int, dimension: int) -> None:
    mechanism, target = TREES[name]
    if race.quick:
        runs, dimension = 2, 3
    draw, log = of_tree("gaussian", mechanism, runs, dimension)
    race.ratio(
        f"{name}, Gaussian", f"{runs} runs, d = {dimension}", clock(draw), clock(replay(log)),
        target=target, units=4 * BLOCK * runs, group="mechanism",
    )  # fmt: skip
    drawn = sum(int(np.prod(arguments[0])) for _, arguments, _ in log) / (4 * BLOCK * runs * dimension)
    bound = 21 if isinstance(mechanism, PaddedTree) else 2 + 2 / BLOCK  # a block's coarse nodes come on top
    assert drawn <= bound  # fresh vectors a round


@pytest.mark.parametrize("distribution", LAWS[1:])
@pytest.mark.parametrize("name", ["prefix tree", "window tree, W = 256"])
def test_trees_of_other_laws(race: Race, name: str, distribution: NoiseDistribution) -> None:
    mechanism, target = TREES[name]
    runs, dimension = (2, 3) if race.quick else (128, 32)
    draw, log = of_tree(distribution, mechanism, runs, dimension)
    title = {"gamma": "norm-Gamma", "laplace": "Laplace"}[distribution]
    race.ratio(
        f"{name}, {title}", f"{runs} runs, d = {dimension}", clock(draw), clock(replay(log)),
        target=target, units=4 * BLOCK * runs, group="mechanism",
    )  # fmt: skip


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


def of_selection(distribution: str) -> Callable[[Maker], Callable[[], object]]:
    return lambda make: lambda: selection_noise(distribution, make(1, 16), 64, 128)  # type: ignore[arg-type]


def of_draws(make: Maker) -> Callable[[], object]:
    (generator,) = make(1, 1)
    scores, sizes = np.linspace(0.0, 9.0, 64), np.ones(64)
    return lambda: [draw_group(generator, sizes, scores, 2.0) for _ in range(64)]


def of_tests(make: Maker) -> Callable[[], object]:
    generators = make(1, 64)
    queries = np.zeros(64)

    def ask() -> None:
        watch = Watch(AboveThreshold(1.0, 1e3), generators)
        for _ in range(64):
            watch.step(queries)

    return ask


OTHERS: dict[str, tuple[Callable[[Maker], Callable[[], object]], str, int]] = {
    "selection noise, Gumbel": (of_selection("gumbel"), "64 rounds, 16 runs, 128 candidates", 64 * 16),
    "selection noise, Laplace": (of_selection("laplace"), "64 rounds, 16 runs, 128 candidates", 64 * 16),
    "exponential mechanism, one draw": (of_draws, "64 groups, drawn one by one", 64),
    "threshold test": (of_tests, "64 rounds, 64 runs; two numbers an instance, whatever its rounds", 64 * 64),
}
for _law in LAWS:
    OTHERS[f"unit noise, {_law}"] = (
        lambda make, distribution=_law: lambda: unit_noise(distribution, make(1, 128), BLOCK, 32),  # type: ignore[misc]
        "64 rounds, 128 runs, d = 32", BLOCK * 128,
    )  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_mechanisms(race: Race, name: str) -> None:
    prepare, condition, units = OTHERS[name]
    log: list[Call] = []
    with recording(log) as make:
        prepare(make)()
    kept: dict[tuple[int, int], list[np.random.Generator]] = {}

    def once(seed: int, runs: int) -> list[np.random.Generator]:
        if (seed, runs) not in kept:  # making generators is no part of a mechanism
            kept[seed, runs] = plain(seed, runs)
        return kept[seed, runs]

    repeats = 1 if race.quick else 8
    race.ratio(
        name, condition, clock(prepare(once), repeats), clock(replay(log), repeats), units=units, group="mechanism",
    )  # fmt: skip


VECTORS = 128


def oracles(name: str, dimension: int) -> Iterator[tuple[str, Callable[[np.ndarray], object]]]:
    """Linear oracle, projection in closed form, local oracle; those that the set has."""
    domain = make_set(name, dimension)
    yield "linear oracle", domain.linear_oracle
    if domain.closed_form_projection:
        yield "projection", lambda cost: domain.project(domain.center() + domain.diameter * cost / dimension**0.5)
    try:
        local = domain.local_oracle()
    except ValueError:
        return
    weights = local.lift(np.tile(domain.center(), (VECTORS, 1)))
    yield "local linear oracle", lambda cost: local.answer(weights, domain.diameter / 10, cost)


def places() -> Iterator[tuple[str, int]]:
    """Every set near dimensions 36 and 144: the nearest that exist."""
    for name, wanted in itertools.product(SETS, (36, 144)):
        for dimension in itertools.chain.from_iterable((wanted + step, wanted - step) for step in range(wanted)):
            try:
                make_set(name, dimension)
            except ValueError:
                continue
            yield name, dimension
            break


@pytest.mark.parametrize(("name", "dimension"), sorted(set(places())))
def test_oracles(race: Race, name: str, dimension: int) -> None:
    """A call for 128 vectors at once, against drawing 128 normal vectors of that dimension."""
    found = dict(oracles(name, dimension))
    costs = np.random.default_rng(dimension).standard_normal((VECTORS, dimension))
    for operation, serve in found.items():
        assert np.isfinite(np.asarray(serve(costs))).all(), operation
    (generator,) = plain(1, 1)
    repeats = 1 if race.quick else 4
    *times, bare = race.seconds(
        *(clock(lambda serve=serve: serve(costs), repeats) for serve in found.values()),  # type: ignore[misc]
        clock(lambda: generator.standard_normal((VECTORS, dimension)), repeats),
    )
    for operation, spent in zip(found, times, strict=True):
        laps = sorted(each / other for each, other in zip(spent, bare, strict=True) if other > 0)
        race.note(
            "ratios", group="oracle", what=f"{name}: {operation}", condition=f"{VECTORS} vectors, d = {dimension}",
            ratio=min(spent) / max(min(bare), 1e-12), median=laps[len(laps) // 2] if laps else None, target=None,
            microseconds=1e6 * min(spent) / VECTORS,
        )  # fmt: skip
