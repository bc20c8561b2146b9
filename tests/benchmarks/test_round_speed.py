"""What a round of every learner costs beside its noise, and what sharing noise between settings saves."""

from __future__ import annotations

from itertools import islice
from time import process_time

import numpy as np
import pytest
from bench_draws import plain
from bench_problems import NOISE, Case, Size
from bench_race import Race, clock

from dpregret.algorithms.learner import Setting

SHAPES = ((512, 8), (128, 32), (64, 64), (32, 128), (16, 1024))  # runs and dimension, at least 4000 coordinates
TARGETS = {"ball": 2.0, "l1-ball": 5.0, "simplex": 5.0}
COCOP = ("wdp-cocop-gaussian", "wdp-cocop-gamma")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@pytest.mark.parametrize("name", COCOP)
@pytest.mark.parametrize(("runs", "dimension"), SHAPES)
@pytest.mark.parametrize("domain", TARGETS)
def test_rounds_of_cocop(race: Race, domain: str, runs: int, dimension: int, name: str) -> None:
    """The whole round as played (loss, gradient, noise, step, projection) against the bare random numbers."""
    rounds = max(256, min(1024, 2**22 // (runs * dimension)))
    case = Case("online", name, Size(3, 3, 64, domain) if race.quick else Size(runs, dimension, rounds, domain))
    race.ratio(
        f"{name} on {domain}", str(case.size), case.play, clock(case.bare()),
        target=TARGETS[domain], units=case.steps, group="COCOP round",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "dimension", "window"),
    [(512, 8, 2**20), (128, 32, 2**20), (32, 128, 2**20), (128, 128, 2**20), (512, 8, 16), (128, 32, 16)],
)
def test_rounds_of_cocop_over_compiled_noise(race: Race, runs: int, dimension: int, window: int) -> None:
    """The whole round against its mechanism's noise as a play draws it; a window that never ends is the plain tree."""
    size = Size(2, 3, 64, "ball") if race.quick else Size(runs, dimension, 4096, "ball", window=window)
    case = Case("online", COCOP[0], size)
    plan = case.kind(case.online()[0], [Setting(size.window, case.budgets[0])], size.runs, case.variant).noise_plan

    def noise() -> float:
        generators, block = plain(NOISE, size.runs), plan.block(size.runs)
        started = process_time()
        for _ in islice(plan.correlated(generators, block), size.rounds // block):
            pass
        return process_time() - started

    tree = "plain tree" if window > size.rounds else f"W = {window}"
    race.ratio(
        f"{COCOP[0]} on ball, {tree}", f"over compiled noise: {size}", case.play, noise,
        target=1.25, units=size.rounds * size.runs, group="COCOP round",
    )  # fmt: skip


@pytest.mark.parametrize(("runs", "dimension"), [(2, 2), (20, 32), (128, 32), (20, 128)])
def test_sweep_with_shared_noise(race: Race, runs: int, dimension: int) -> None:
    """Eight budgets in one play, on one stream of random numbers, against eight plays."""
    epsilons, rounds = (EPSILONS[:2], 64) if race.quick else (EPSILONS, 256)
    together = Case("online", COCOP[0], Size(runs, dimension, rounds, "ball", epsilons))
    apart = [Case("online", COCOP[0], Size(runs, dimension, rounds, "ball", (each,))) for each in epsilons]
    race.ratio(
        f"{COCOP[0]}, {len(epsilons)} eps together against apart", str(together.size), together.play,
        lambda: sum(case.play() for case in apart), target=1.0, units=rounds * runs * len(epsilons),
        group="shared noise",
    )  # fmt: skip


def test_bare_draws_are_those_of_the_play() -> None:
    """Two fresh vectors a round from the second window on, one in the first; gamma has a radius besides."""
    for name, calls in zip(COCOP, (1, 2), strict=True):
        log = Case("online", name, Size(3, 5, 256, "ball", window=64)).draws()
        numbers = sum(int(np.prod(arguments[0])) for kind, arguments, _ in log if kind == "standard_normal")
        assert numbers == 3 * 5 * (2 * 256)
        assert len(log) == calls * 3 * 8
