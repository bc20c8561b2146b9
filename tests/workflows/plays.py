"""Plays and stages without Snakemake: the rows of a learner variant, a plan as small as can be, a stage's end."""

import copy
import json
import math
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from dpregret.core import child
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws
from dpregret.workflows.plan import fingerprint
from dpregret.workflows.plan.read import FORMAT, ExperimentPlays, Plan, Play
from dpregret.workflows.run.job import labelled

NO_CODE = fingerprint.fingerprint([])
SCRIPTS = fingerprint.WORKFLOWS / "scripts"
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "online": ("lou_cheung_2020", {
        "sweep": "horizon", "set": "ball", "streams": ["norm-kink"], "dimension": [2], "horizon": [16, 32, 64, 128],
        "window": [4], "epsilon": [8.0], "learners": {"wdp-cocop-gamma": ["corrected"], "ftal": ["plain"]}}),
    "erm": ("talwar_2015", {
        "family": "erm", "sweep": "samples", "set": "ball", "risks": ["norm-kink-risk"], "dimension": [4],
        "samples": [64, 128, 256, 512], "epsilon": [1.0, 4.0],
        "learners": {"noisy-gd": ["corrected"], "stay-at-zero": ["plain"]}}),
    "bandits": ("ene_et_al_2021", {
        "family": "bandits", "sweep": "horizon", "set": "ball", "streams": ["cone"], "dimension": [2],
        "horizon": [256, 1024, 4096, 16384], "epsilon": [math.inf, 4.0],
        "learners": {"private-bandit-gaussian": ["corrected"]}}),
    "experts": ("asi_et_al_2023", {
        "family": "experts", "sweep": "horizon", "streams": ["halving"], "experts": [8], "horizon": [64, 128, 256, 512],
        "epsilon": [4.0], "learners": {"sparse-vector": ["pure"], "hedge": ["unit"]}}),
}  # fmt: skip
"""Family -> a paper, and a small experiment of it."""


def rows_of(
    config: Any, paper: str, experiment: str, learner: str, variant: str, data_dir: Path | None = None
) -> pd.DataFrame:
    """Rows with their labels, played in this process; raises what a play raises. data_dir: where prepared data lie."""
    settings = config.experiment(paper, experiment)
    family = FAMILIES[settings.family]
    kind, draws = family.learners[learner], Draws(config.seed, settings.runs, data_dir)
    rows = family.rows(settings, kind, variant, draws)
    rows = rows.assign(anytime=bool(kind.card.anytime and family.anytime))
    part = ExperimentPlays(paper, experiment, "", "", config.hash(paper, experiment), (), {})
    return labelled(rows, part, Play(learner, variant, kind.__module__, "", ""), "")


def small(family: str, name: str = "small", **changes: Any) -> dict[str, Any]:
    """A profile of the small experiment of a family, some keys changed; a key that is None is left out."""
    paper, own = SMALL[family]
    experiment = {"title": "Small", "delta": 1e-6, "runs": 3, **copy.deepcopy(own), **changes}
    experiment = {key: value for key, value in experiment.items() if value is not None}
    return {"profile": "mine", "seed": 7, "papers": {paper: {"experiments": {name: experiment}}}}


TABLED = "prefix_sums"
"""A paper whose tables need nothing but runs."""


def tabled() -> dict[str, Any]:
    """A profile of two learners of `TABLED`."""
    settings = small("online", "horizon", runs=2)
    return {**settings, "papers": {TABLED: settings["papers"].popitem()[1]}}


def rows_of_small(config: Any, family: str, learner: str, variant: str, data_dir: Path | None = None) -> pd.DataFrame:
    """Rows of a learner variant in the small experiment of its family."""
    return rows_of(config, SMALL[family][0], "small", learner, variant, data_dir)


def part_of(file: Path, experiment: str = "e", plays: Any = (), **changes: Any) -> dict[str, Any]:
    """A part of a paper, as a plan holds it."""
    part = {"experiment": experiment, "file": str(file), "settings": "5e77", "data": {}, "plays": list(plays)}
    return {**part, **changes}


def plan_of(folder: Path, **content: Any) -> Plan:
    """A plan of what it is given, whose code is `NO_CODE`."""
    none = {"format": FORMAT, "profile": "mine", "results": "results/mine", "config": '{"limits": {}}', "files": []}
    empty = {"code": {NO_CODE: []}, "parts": {}, "batches": {}, "items": {}, "everything": []}
    file = folder / "given.json"
    file.write_text(json.dumps({**none, **empty, **content}))
    return Plan.read(file)


class Given(SimpleNamespace):
    """What Snakemake gives to a script under `input`, `output`, `wildcards`, `params` and `log`."""

    def get(self, name: str, default: Any) -> Any:
        return getattr(self, name, default)


def given(plan: Plan, item: str, outputs: Sequence[Path], inputs: Mapping[str, Any] | None = None) -> Given:
    """The object of a script that makes an item of a plan; its log lies beside the plan."""
    params = Given(plan=plan.file, key=plan.items[item].key)
    output, log = [str(path) for path in outputs], [str(plan.file.with_name("log"))]
    return Given(input=Given(**inputs or {}), output=output, wildcards=Given(), params=params, log=log)


def run_script(script: str, snakemake: Given) -> tuple[Any, str]:
    """Exit code and log of a script, in a process of its own."""
    path = str(SCRIPTS / f"{script}.py")
    return ended(lambda: runpy.run_path(path, {"snakemake": snakemake}), Path(snakemake.log[0]))


def ended(job: Callable[[], object], log: Path) -> tuple[Any, str]:
    """Exit code and log of a job, in a process of its own."""

    def run(on_progress: child.OnProgress) -> Any:
        try:
            job()
        except SystemExit as over:
            return over.code
        return 0

    code, fault = child.call(run)
    assert not fault
    return code, log.read_text()
