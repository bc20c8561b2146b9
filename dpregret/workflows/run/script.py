"""The frame of every script of a rule: a log, the plan, and an output that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from dpregret.core.parquet import Stamp
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.paper_names import PAPERS
from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run.job import check_code
from dpregret.workflows.run.job_log import job_log

__all__ = ["PAPERS", "Script", "running"]


@dataclass(frozen=True)
class Script:
    """The input of a script. name: of what it makes, in the plan; out: where it writes that; folder: for scratch."""

    plan: Plan
    name: str
    out: Path
    folder: Path

    @property
    def of(self) -> str:
        """The paper, family or data set that it is about."""
        return self.name.partition("/")[2]

    @property
    def config(self) -> Config:
        """The configuration of the run."""
        return Config.model_validate_json(self.plan.config)

    @property
    def stamp(self) -> Stamp:
        """The stamp of its Parquet files."""
        return Stamp(self.plan.key(self.name), self.plan.made[self.name].code)

    def file(self, name: str) -> Path:
        """Where something that the plan names is."""
        return Path(self.plan.made[name].file)

    def runs(self, paper: str) -> Path:
        """A folder with the runs of a paper: EXPERIMENT/*.parquet."""
        folder = self.folder / "runs" / paper
        for part in self.plan.parts[paper].values():
            link = folder / part.experiment / Path(part.file).name
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(Path(part.file).resolve())
        return folder

    def results(self) -> Path:
        """A folder of results, as it will be published, with what this is made of."""
        folder, inputs = self.folder / "results", set(self.plan.inputs(self.name))
        for name, (file, inner) in self.plan.shown.items():
            if file in inputs:
                link = folder / name
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to((Path(file) / inner).resolve())
        return folder


@contextlib.contextmanager
def running(snakemake: Any) -> Iterator[Script]:
    """The work of the script that Snakemake calls; its failure is in its log and ends the process with code 1.

    Refuses to work with other code than that in the name of its output.
    """
    output = Path(snakemake.output[0])
    with job_log(snakemake.log[0]), TemporaryDirectory(prefix="dpregret-") as folder:
        plan = Plan.read(snakemake.params.plan)
        name = f"{output.parent.name}/{output.name.split('.')[0]}"
        if name in plan.made:
            check_code(plan, {plan.made[name].code})
        out = output.with_name(f".{uuid4().hex}.{output.name}")
        out.parent.mkdir(parents=True, exist_ok=True)
        if output.name.count(".") == 1:  # NAME.KEY without a suffix is a folder
            out.mkdir()
        try:
            yield Script(plan, name, out, Path(folder))
            if output.is_dir():
                shutil.rmtree(output)
            os.replace(out, output)
        finally:
            shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
