"""Where the random numbers of real plays come from, and who takes them: seen by a spy, for every learner.

Documented in docs/architecture.md: a stream is (seed, purpose, run). All learners share the data (common random
numbers), and their noise where they use the same mechanism. Noise, directions and data never come from one stream.
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plays import rows_of

from dpregret.workflows.families import FAMILIES, base
from dpregret.workflows.families.base import Draws
from dpregret.workflows.run import fingerprint

SEED, RUNS = 20260, 2
COMMON: dict[str, Any] = {"title": "One play", "sweep": "none", "delta": 1e-6, "runs": RUNS, "epsilon": (4.0,)}
PLACES: dict[str, list[dict[str, Any]]] = {
    "online": [
        {"streams": (stream,), "set": (place,), "dimension": (3,), "window": (8,), "horizon": (12,)}
        for stream in ("random-kink", "smooth-quadratic", "lasso", "half-space", "realizable-direction")
        for place in ("ball", "simplex")
    ],
    "experts": [{"streams": ("bernoulli",), "experts": (3,), "horizon": (37,), "best_loss": (9.0,)}],
    "bandits": [
        {"streams": ("random-linear",), "set": ("ball",), "dimension": (2,), "horizon": (81,)},
        {"streams": ("arms",), "set": ("simplex",), "dimension": (3,), "horizon": (81,)},
    ],
    "erm": [
        {"risks": (risk,), "set": (place,), "dimension": (9,), "samples": (65,)}
        for risk in ("hetero-consensus", "logistic-risk", "quadratic-risk", "norm-kink-risk")
        for place in ("ball", "l1-ball", "grouped-l1", "nuclear")
    ]
    + [
        {"risks": ("linear-population",), "set": (place,), "dimension": (9,), "samples": (65,)}
        for place in ("ball", "l1-ball")
    ],
}
"""Tried in turn until a learner can be made."""
EVERY = [(family, name) for family, held in FAMILIES.items() if held.compared for name in held.learners]
ELSEWHERE = {"plays.py", "run/job.py", "plan/read.py", "core/yaml_source.py", "judge/runs.py"}
"""Of tests, jobs and plans; how files are read; what refuses rows, and changes none."""
Key = tuple[Any, ...]


def key_of(generator: np.random.Generator) -> Key:
    """Entropy and spawn key of its seed: two generators of one key draw the same numbers."""
    seed: Any = generator.bit_generator.seed_seq
    entropy = seed.entropy if isinstance(seed.entropy, int) else tuple(seed.entropy)
    return entropy, tuple(seed.spawn_key)


def drawn_from(generator: np.random.Generator) -> bool:
    """Whether it has moved since it was made."""
    seed: Any = generator.bit_generator.seed_seq
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    return bool(np.random.default_rng(fresh).bit_generator.state != generator.bit_generator.state)


class Spy:
    """Which generators are handed to which functions of ours, and what each was asked for."""

    def __init__(self) -> None:
        self.seen: dict[int, np.random.Generator] = {}
        self.where: dict[int, set[str]] = defaultdict(set)
        self.asked: list[tuple[int, str, int]] = []
        self.files: set[Path] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("dpregret."):
            return
        code = frame.f_code
        self.files.add(Path(frame.f_globals["__file__"]))
        for name in code.co_varnames[: code.co_argcount]:
            value = frame.f_locals.get(name)
            for each in value if isinstance(value, list | tuple) else [value]:
                if isinstance(each, np.random.Generator):
                    self.seen[id(each)] = each
                    self.where[id(each)].add(".".join(module.split(".")[1:3]))
        if code is base.generators.__code__:
            self.asked.append(tuple(frame.f_locals[name] for name in ("seed", "purpose", "runs")))  # type: ignore[arg-type]

    @contextmanager
    def watching(self) -> Iterator[Spy]:
        """Of everything that is called inside."""
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            yield self
        finally:
            sys.setprofile(before)

    def taken(self, folder: str) -> list[Key]:
        """Keys of the generators that functions of a folder were handed and somebody drew from, one each.

        Not those of sets: constants like the Gaussian width have a seed of their own.
        """
        return [
            key_of(each)
            for place, each in self.seen.items()
            if any(part.startswith(folder) for part in self.where[place])
            and "algorithms.geometry" not in self.where[place]
            and drawn_from(each)
        ]

    def purposes(self) -> dict[Key, set[str]]:
        """Key of a generator -> what it was asked for."""
        found: dict[Key, set[str]] = defaultdict(set)
        for seed, purpose, runs in self.asked:
            for run in range(runs):
                found[(seed, zlib.crc32(purpose.encode()), run), ()].add(purpose)
        return found


def experiments(family: str, name: str) -> Iterator[Any]:
    """Those on which a learner can be made."""
    held = FAMILIES[family]
    kind = held.learners[name]
    for place in PLACES[family]:
        told = {"family": family, **COMMON, **place, "learners": {name: (next(iter(kind.card.variants)),)}}
        settings = held.experiment.model_validate(told)
        draws = Draws(SEED, RUNS)
        cell = next(iter(held.cells(settings, kind.card)))
        try:
            held.learner(kind, held.problem(cell, settings, draws), cell, settings, next(iter(kind.card.variants)))
        except ValueError:
            continue
        if kind.card.needs & {"quadratic", "quadratic-sums"} <= held.streams[settings.streams[0]].traits:
            yield settings


def job(settings: Any, family: str, name: str) -> tuple[Spy, pd.DataFrame]:
    """One play by the path that a run takes."""
    config: Any = SimpleNamespace(seed=SEED, experiment=lambda *names: settings, hash=lambda *names: "")
    variant = next(iter(FAMILIES[family].learners[name].card.variants))
    with Spy().watching() as spy:
        rows = rows_of(config, "paper", "experiment", name, variant)
    held = FAMILIES[family]
    streams = [held.streams[each].__module__ for each in settings.streams]
    files = fingerprint.play_files(family, held.learners[name].__module__, *streams)
    others = {"/".join(file.parts[-2:]).removeprefix("workflows/") for file in spy.files - set(files)}
    assert others <= ELSEWHERE, "code that is not in the key of the play"
    return spy, rows


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_all_streams_of_a_play_are_distinct(family: str, name: str) -> None:
    spy, _ = job(next(experiments(family, name)), family, name)
    purposes = spy.purposes()
    assert all(len(each) == 1 for each in purposes.values()), "two purposes share a stream"
    named = {key: purpose for key, (purpose,) in purposes.items()}
    learner, data = spy.taken("algorithms"), spy.taken("datasets")
    roots = [(entropy, ()) for entropy, _ in learner]
    assert set(roots) <= set(named), "a learner draws from a generator that the configuration's seed did not make"
    kind, drawn = FAMILIES[family].learners[name], {named[root] for root in roots}
    assert drawn <= {"noise", "directions"}
    assert "noise" in drawn or not kind.card.private or getattr(kind, "exact", False), "its noise has no stream"
    assert len(set(learner)) == len(learner), "two consumers of a learner draw the same numbers"
    told = {named[key] for key in data if key in named}
    assert not told & {"noise", "directions"}, "data are drawn from the stream of the noise"
    assert not set(data) & set(learner)
    assert {purpose.split()[0] for purpose in told} <= {"data", "experts", "bandit", "records"}
    for purpose in {named[root] for root in roots} | told:
        runs = {entropy[2] for entropy, _ in named if named[entropy, ()] == purpose}
        assert runs == set(range(RUNS)), "every run has streams of its own"


NOISY = {"online": "pftal", "experts": "private-ftrl", "bandits": "thakurta-smith-gaussian", "erm": "noisy-gd"}
OTHER = {"online": "ftal", "experts": "hedge", "bandits": "garber-kretzu", "erm": "stay-at-zero"}


@pytest.mark.parametrize("family", NOISY)
def test_what_learners_cells_and_runs_share(family: str) -> None:
    """All learners meet the same data; another dimension has other data and the same noise, a run neither."""
    place = next(experiments(family, NOISY[family]))
    (dimension,) = place.dimension
    cells = place.model_copy(update={"dimension": (dimension - 1, dimension), "runs": 4})
    spy, rows = job(cells, family, NOISY[family])
    named = {key: purpose for key, (purpose,) in spy.purposes().items()}
    noise = Counter(
        entropy[2] for entropy, spawned in spy.taken("algorithms") if named[entropy, ()] == "noise" and not spawned
    )
    assert noise == dict.fromkeys(range(4), 2), "each run of each cell draws its noise once"
    data = defaultdict(set)
    for key in spy.taken("datasets"):
        data[named[key]].add(key[0][2])
    assert sorted(data.values()) == [set(range(4))] * 2, "each cell has data of its own"
    assert rows.groupby([*({"dimension", "checkpoint"} & set(rows))])["regret"].nunique().max() == 4
    other, _ = job(cells.model_copy(update={"runs": 4}), family, OTHER[family])
    assert set(other.taken("datasets")) == set(spy.taken("datasets"))
