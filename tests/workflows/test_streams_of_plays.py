"""Where the random numbers of real plays come from, and who takes them; then small plays, row by row.

Documented in docs/architecture.md: a stream is (seed, purpose, run). All learners share the data (common random
numbers), and their noise where they use the same mechanism. Noise, directions and data never come from one stream.
"""

from __future__ import annotations

import copy
import gc
import math
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plays import SMALL, rows_of, rows_of_small, small

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import bundled
from dpregret.datasets.losses import RidgeSquared
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.streams import Stream, make_stream
from dpregret.paper_figs.figures.style import DOTTED, PLAIN, CurveStyle, CurveStyles
from dpregret.paper_figs.judge.read_claims import load_claims
from dpregret.paper_figs.judge.runs import check_columns, check_runs
from dpregret.workflows.families import FAMILIES, interface, online
from dpregret.workflows.families.interface import Draws
from dpregret.workflows.plan import fingerprint
from dpregret.workflows.plan.facts import VARIANTS, display_names
from dpregret.workflows.plan.load import load_config, read_profile
from dpregret.workflows.run import contracts

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
        if code is interface.generators.__code__:
            self.asked.append(tuple(frame.f_locals[name] for name in ("seed", "purpose", "runs")))  # type: ignore[arg-type]

    @contextmanager
    def watching(self) -> Iterator[Spy]:
        """Of everything that is called inside, and not of generators of other tests that the collector would close."""
        before = sys.gettrace()
        gc.disable()
        sys.settrace(self)  # tells of calls of Python functions only; the profiler, of those of C too
        try:
            yield self
        finally:
            sys.settrace(before)
            gc.enable()

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


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_every_variant_keeps_the_contracts_of_studies(family: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for budgets of variants that follow a paper to the letter."""
    monkeypatch.setattr(contracts, "COINS", 300)
    kind, settings = FAMILIES[family].learners[name], next(experiments(family, name))
    if family == "online" and "net" not in name and name != "pocp-giga":  # which are slow
        settings = settings.model_copy(update={"horizon": (71,)})  # more than a block of noise, many windows
    if family == "erm":  # which plays a multiple of the square of its samples
        settings = settings.model_copy(update={"samples": (17,)})
    for variant in kind.card.variants:
        faults = list(contracts.learner_faults(contracts.Played(FAMILIES[family], settings, kind, variant, Path())))
        letter = variant.startswith(("printed", "paper", "kst"))  # or for other neighbours
        assert [fault for fault in faults if not (letter and fault.startswith("budget"))] == [], variant


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
    drawn = [entropy for entropy, spawned in spy.taken("algorithms") if not spawned]
    noise = Counter(entropy[2] for entropy in drawn if named[entropy, ()] == "noise")
    assert noise == dict.fromkeys(range(4), 2), "each run of each cell draws its noise once"
    data = defaultdict(set)
    for key in spy.taken("datasets"):
        data[named[key]].add(key[0][2])
    assert sorted(data.values()) == [set(range(4))] * 2, "each cell has data of its own"
    assert rows.groupby([*({"dimension", "checkpoint"} & set(rows))])["regret"].nunique().max() == 4
    other, _ = job(cells.model_copy(update={"runs": 4}), family, OTHER[family])
    assert set(other.taken("datasets")) == set(spy.taken("datasets"))


# Small plays of every family, row by row; what families say of learners and streams before anything is built


MANY_CORNERS: dict[str, Any] = {"set": "sign-polytope", "learners": {"noisy-eg": ["corrected"]}}


@pytest.fixture
def loaded(tmp_path: Path, write: Callable[[Any], Path]) -> Callable[..., Any]:
    """The configuration of a small experiment of a family, some keys changed."""
    return lambda family, **changes: load_config(write(small(family, **changes)))


def cells(config: Any, family: str, learner: str) -> list[Any]:
    experiment = config.experiment(SMALL[family][0], "small")
    return list(FAMILIES[family].cells(experiment, FAMILIES[family].learners[learner].card))


@pytest.mark.parametrize(
    ("family", "learner", "changes", "count"),
    [
        ("erm", "noisy-gd", {"set": ["ball", "l1-ball"], "dimension": [4, 8],
                             "options": {"majority": [0.75, 0.9], "radius": 0.5}}, 2 * 4 * 2 * 2),
        ("experts", "sparse-vector", {"experts": [8, 16], "best_loss": [0, 5], "epsilon": [1.0, 2.0],
                                      "streams": ["halving", "halving-transient"]}, 2 * 2 * 4 * 2 * 2),
        ("experts", "hedge", {"experts": [8, 16], "best_loss": [0, 5], "epsilon": [1.0, 2.0],
                              "streams": ["halving", "halving-transient"]}, 2 * 2 * 4 * 2),
    ],
)  # fmt: skip
def test_cells_cross_everything_and_learners_without_privacy_have_one_epsilon(
    loaded: Callable[..., Any], family: str, learner: str, changes: dict[str, Any], count: int
) -> None:
    found = cells(loaded(family, **changes), family, learner)
    assert len(found) == count
    assert family != "erm" or len({cell.label for cell in found}) == count
    assert learner != "hedge" or {cell.epsilon for cell in found} == {math.inf}


def test_options_of_a_set_make_cells_on_the_same_data(loaded: Callable[..., Any]) -> None:
    changes = {**MANY_CORNERS, "sweep": "option", "samples": [256], "set_options": {"corners": [4, 6, 10]}}
    config = loaded("erm", **changes)
    found = cells(config, "erm", "noisy-gd")
    assert [dict(cell.set_options) for cell in found] == [{"corners": k} for k in (4, 6, 10)]
    assert len({cell.label for cell in found}) == 1
    rows = rows_of_small(config, "erm", "noisy-eg", "corrected")
    assert set(rows["corners"]) == {4, 6, 10}
    assert (np.diff(rows.groupby("corners")["width"].first()) > 0).all()


def test_rows_of_risks(loaded: Callable[..., Any]) -> None:
    config = loaded("erm")
    private = rows_of_small(config, "erm", "noisy-gd", "corrected")
    trivial = rows_of_small(config, "erm", "stay-at-zero", "plain")
    assert (len(private), len(trivial)) == (4 * 2 * 3, 4 * 3)
    assert (private["regret"] >= -1e-12).all()
    assert np.allclose(trivial["regret"], trivial["trivial_regret"])
    assert np.allclose(private["delivered_epsilon"], private["epsilon"])
    assert (private["horizon"] == private["checkpoint"]).all()
    assert (private["violation"] < 1e-9).all()
    assert not private["capped"].any()
    assert (private["mu_gdp"] > 0).all()
    assert trivial["epsilon"].eq(math.inf).all()
    assert private["width"].iloc[0] == pytest.approx(math.sqrt(2) * math.gamma(2.5) / math.gamma(2))


def test_rows_of_bandits_are_paired(loaded: Callable[..., Any]) -> None:
    learner = ("bandits", "private-bandit-gaussian", "corrected")
    config = loaded("bandits", runs=2)
    assert [cell.horizon for cell in cells(config, *learner[:2])] == [256, 1024, 4096, 16384]
    rows = check_runs(check_columns(rows_of_small(config, *learner), "a"), "a")
    assert len(rows) == 4 * 2 * 2
    private, free = (rows.loc[rows["epsilon"] == epsilon].sort_values(["horizon", "run"]) for epsilon in (4.0, np.inf))
    assert private["delivered_epsilon"].to_numpy() == pytest.approx(np.full(8, 4.0))
    assert (private["displacement"] > 0).all()
    assert not free["displacement"].any()
    assert (rows["regret"] <= rows["bound"]).all()
    assert not rows["clipped"].any()
    assert (rows["linear_oracles"] > 0).all()
    assert not rows["projections"].any()
    again = rows_of_small(loaded("bandits", runs=2, epsilon=[math.inf]), *learner).sort_values(["horizon", "run"])
    assert again["regret"].to_numpy() == pytest.approx(free["regret"].to_numpy(), rel=1e-12)


def test_rows_of_experts(loaded: Callable[..., Any]) -> None:
    played = (("sparse-vector", "pure"), ("sparse-vector", "zcdp"), ("hedge", "unit"))
    config = loaded("experts", best_loss=[0, 8], learners={"sparse-vector": ["pure", "zcdp"], "hedge": ["unit"]})
    frames = [check_columns(rows_of_small(config, "experts", *each), each[0]) for each in played]
    rows = check_runs(pd.concat(frames, ignore_index=True), "test")
    assert len(rows) == 3 * 2 * 4 * 3
    assert set(rows["best_loss"]) == {0.0, 8.0}
    assert (rows["regret"] >= -1e-9).all()
    private = rows.loc[rows["learner"] == "sparse-vector"]
    assert set(private.groupby("variant")["delta"].first()) == {0.0, 1e-6}
    assert private["delivered_epsilon"].to_numpy() == pytest.approx(np.full(len(private), 4.0))
    hedge = rows.loc[rows["learner"] == "hedge"]
    assert (hedge["epsilon"] == math.inf).all()
    assert hedge.groupby(["horizon", "best_loss"])["regret"].nunique().eq(1).all()  # exact: equal in all runs
    assert set(rows["draws"].isna()) == {False}


def test_rows_of_experts_on_the_stream_of_a_lower_bound(loaded: Callable[..., Any]) -> None:
    bounded = {"streams": ["lower-bound"], "options": {"length": [1, 8]}, "epsilon": [0.1]}
    config = loaded("experts", learners={"sparse-vector": ["pure", "zcdp"]}, **bounded)
    found = [rows_of_small(config, "experts", "sparse-vector", variant) for variant in ("pure", "zcdp")]
    assert set(found[0]["length"]) == {1, 8}
    assert found[0]["lower_bound"].to_numpy() == pytest.approx(found[0]["length"] / 4)
    assert found[1]["lower_bound"].isna().all()  # the bound is for delta = 0


PAPER = "lou_cheung_2020"
TIMES = ["seconds", "seconds_projection", "seconds_linear_oracle", "seconds_local_oracle"]
PLAYS = {
    "wdp-cocop-gaussian": ("corrected", ["norm-kink", "random-kink", "drift"]),
    "wdp-cocop-gamma": ("corrected", ["random-kink"]),
    "wdp-cocol-gamma": ("practical", ["smooth-quadratic"]),
    "wdp-scofw-gaussian": ("corrected", ["random-kink"]),
    "pocp-igd": ("corrected", ["smooth-quadratic"]),
    "pqftl": ("corrected", ["lasso"]),
    "dp-ftrl": ("corrected", ["realizable-direction"]),
    "ftal": ("plain", ["random-kink", "ridge-logistic"]),
}


NIGHTLY = {"wdp-cocop-gamma"}
"""Its stream and steps are those of wdp-cocop-gaussian, its noise is that of wdp-cocol-gamma."""


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=pytest.mark.nightly) if name in NIGHTLY else name for name in PLAYS]
)
def test_groups_change_no_bit(
    settings: dict[str, Any], write: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch, learner: str
) -> None:
    variant, streams = PLAYS[learner]
    experiment = settings["papers"][PAPER]["experiments"]["horizon"]
    experiment |= {"set": "simplex" if "cocol" in learner else "ball", "streams": streams, "dimension": [9], "runs": 7}
    experiment |= {"horizon": [270], "window": [4, "horizon"], "epsilon": [2.0], "learners": {learner: [variant]}}
    experiment["options"] = {"pool_size": 50} if streams == ["lasso"] else {}
    config = load_config(write(copy.deepcopy(settings) | {"allow_few_cells": True}), check=False)
    frames, sizes = [], []
    for limit in (1e6, 0.06, 1e-9):
        monkeypatch.setattr(online, "GROUP_MB", limit)
        frames.append(rows_of(config, PAPER, "horizon", learner, variant).drop(columns=TIMES))
        sizes.append(online.runs_a_group(2, 7, 9, drawn=True))
    assert sizes == [7, 3, 1]
    assert (frames[0]["status"] == "ok").all()
    assert frames[0]["run"].nunique() == 7
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0], check_exact=True)


ROOT = Path(__file__).resolve().parents[2]
ONLINE = FAMILIES["online"].streams


@pytest.mark.parametrize("name", sorted(set(ONLINE) - {"fetched", "fetched-regression", "records-logistic"}))
def test_traits_of_streams(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    entry, data_dir = ONLINE[name], tmp_path_factory.mktemp("cache")
    assert issubclass(entry, Stream)
    if entry.data in bundled.BUNDLED:
        bundled.prepare(entry.data, data_dir / f"{entry.data}.npz")
    stream = make_stream(name, make_set("ball", entry.columns or 4), data_dir=data_dir)
    assert ("smooth" in entry.traits) == math.isfinite(stream.smoothness)
    assert ("quadratic" in entry.traits) == (isinstance(stream, PoolStream) and stream.family is RidgeSquared)
    assert ("strongly-convex" in entry.traits) == (stream.strong_convexity > 0)
    assert ("best-loss" in entry.traits) == (stream.best_loss is not None)
    assert (entry.data is not None) == stream.real
    loss = next(stream.rounds([np.random.default_rng(0)], 1))
    assert ("quadratic-sums" in entry.traits) == hasattr(loss, "quadratic_form")


def test_every_learner_has_a_name_of_its_own_that_fits_a_legend() -> None:
    names = display_names()
    for family in FAMILIES.values():
        learners = [names[learner] for learner in family.learners]
        full = [names[f"{name}.{variant}"] for name, each in family.learners.items() for variant in each.card.variants]
        for found in (learners, full):
            assert not [name for name, count in Counter(found).items() if count > 1]
        assert max(map(len, learners)) <= 32, max(learners, key=len)
        assert max(map(len, full)) <= 48, max(full, key=len)
    assert not {*VARIANTS} - {name.removeprefix(".") for name in names}, "words of a variant that is not there"


def test_only_a_variant_whose_text_was_read_is_called_printed() -> None:
    names, told = display_names(), set()
    for folder in filter(Path.is_dir, Path("workflows/papers").iterdir()):
        for claim in load_claims(folder / "claims.yaml").claims:
            if claim.variant.startswith("printed"):
                told.add((f"{claim.learner}.{claim.variant}", claim.provenance))
    assert len({played for played, _ in told}) == len(told) > 20, "of one variant both"
    for played, provenance in told:
        assert provenance in names[played], played


def test_learners_of_an_experiment_never_look_alike() -> None:
    """Neither the same marker in close colours, in any experiment of the papers; without privacy all are grey, and only
    a private learner without noise is dotted."""
    alike, names = [], display_names()
    kinds = {name: kind for family in FAMILIES.values() for name, kind in family.learners.items()}
    papers = read_profile(Path("workflows/config/full.yaml")).data["papers"]
    for experiment in (each for paper in papers.values() for each in paper["experiments"].values()):
        styles = CurveStyles(names)
        drawn = {
            f"{learner}.{variant}": styles.of(learner, variant, kinds[learner].card.private)
            for learner, own in experiment["learners"].items()
            for variant in own
        }
        for (one, first), (two, second) in combinations(drawn.items(), 2):
            apart = np.linalg.norm(np.subtract(first.colour, second.colour))
            if first.marker == second.marker and apart < 0.35:
                alike.append((one, two))
        for key, style in drawn.items():
            assert (style.colour == PLAIN) == (not kinds[key.partition(".")[0]].card.private)
            assert style.dash != DOTTED
    assert alike == []
    new = CurveStyles({**names, "newcomer": "Newcomer"})
    assert new.of("newcomer", "plain", private=False) == CurveStyle(PLAIN, "o")
    assert new.of("newcomer", "noisy").without_noise().dash == DOTTED
