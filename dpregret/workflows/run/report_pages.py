"""Write the report of a run, or of one of its papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dpregret.paper_figs.report.page import Run, write_report
from dpregret.workflows.plan.read import PAPERS, PROFILES
from dpregret.workflows.run.stage import Job


def report(job: Job, papers: Sequence[str]) -> None:
    """The report of some papers; a profile that is not built in is named by its file."""
    plan, configured = job.plan, json.loads(job.plan.config)["papers"]
    titles = {
        paper: {name: experiment["title"] for name, experiment in configured[paper]["experiments"].items()}
        for paper in papers
    }
    profile = plan.content["profile"]
    built_in = (PROFILES / f"{profile}.yaml").exists()
    option = "" if profile == "full" else profile if built_in else f"{profile}.yaml"
    settings = " ".join(plan.content["settings"][paper] for paper in papers)
    data = sorted({file for paper in papers for part in plan.parts[paper].values() for file in part.data.values()})
    run = Run(profile, option, settings, plan.content["names"], [Path(file) for file in data])
    for paper in papers:
        link = job.scratch / "runs" / paper
        link.parent.mkdir(exist_ok=True)
        link.symlink_to((job.results / paper / "runs").resolve())
    write_report(job.inputs(), job.scratch / "runs", titles, PAPERS, job.file, run)
