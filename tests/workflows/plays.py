"""Plays and scripts without Snakemake: the rows of a learner variant, a plan as small as can be, a script's end."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.plan.read import FORMAT, Part, Plan, Play
from dpregret.workflows.run import child, fingerprint
from dpregret.workflows.run.job import labelled
from dpregret.workflows.run.play import play

NO_CODE = fingerprint.fingerprint([])


def rows_of(
    config: Any, paper: str, experiment: str, learner: str, variant: str, data_dir: Path | None = None
) -> pd.DataFrame:
    """Rows with their labels, played in this process; raises what a play raises. data_dir: where prepared data lie."""
    settings = config.experiment(paper, experiment)
    family = FAMILIES[settings.family]
    kind, draws = family.learners[learner], Draws(config.seed, settings.runs, data_dir)
    rows = play(family, settings, kind, variant, draws, lambda where: None)
    rows = rows.assign(anytime=bool(kind.card.anytime and family.anytime))
    part = Part(paper, experiment, "", "", config.hash(experiment, paper), (), {})
    return labelled(rows, part, Play(learner, variant, kind.__module__, "", ""), "")


def part_of(file: Path, experiment: str = "e", plays: Any = (), **changes: Any) -> dict[str, Any]:
    """A part of a paper, as a plan holds it."""
    part = {"experiment": experiment, "file": str(file), "settings": "5e77", "data": {}, "plays": list(plays)}
    return {**part, **changes}


def plan_of(folder: Path, **content: Any) -> Plan:
    """A plan of what it is given, whose code is `NO_CODE`."""
    none = {"format": FORMAT, "results": "results/mine", "config": "", "files": [], "code": {NO_CODE: []}}
    file = folder / "given.json"
    file.write_text(json.dumps({**none, "parts": {}, "made": {}, "shown": {}, **content}))
    return Plan.read(file)


def run_script(script: str, plan: Plan, made: str) -> tuple[Any, str]:
    """Exit code and log of the script that makes something of a plan, in a process of its own."""
    log = plan.file.with_name("log")
    asked = {"output": [plan.made[made].file], "log": [str(log)], "params": SimpleNamespace(plan=str(plan.file))}

    def run(say: child.Say) -> Any:
        try:
            runpy.run_path(str(fingerprint.script_file(script)), {"snakemake": SimpleNamespace(**asked)})
        except SystemExit as over:
            return over.code
        return 0

    code, fault = child.call(run)
    assert not fault
    return code, log.read_text()
