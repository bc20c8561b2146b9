"""The report of a run, or of one of its papers, from what the plan names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpregret.paper_figs.report.page import Run, write_report
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.profiles import PROFILES
from dpregret.workflows.plan.read import key_in
from dpregret.workflows.plan.titles import display_names
from dpregret.workflows.run.script import PAPERS, Script


def write_page(script: Script, papers: Sequence[str]) -> None:
    """Write the page of some papers to the output of a script."""
    config, results = script.config, script.results()
    folder = Path(script.plan.results) / "benchmark"
    for file in folder.rglob("*.*"):
        if key_in(file) in (None, *script.plan.keys):  # not of a job of before
            link = results / "benchmark" / file.relative_to(folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.resolve())
    for paper in papers:
        script.runs(paper)
    titles = {
        paper: {name: experiment.title for name, experiment in config.papers[paper].experiments.items()}
        for paper in papers
    }
    settings = " ".join(config.fingerprint(paper) for paper in papers)
    write_report(results, script.folder / "runs", titles, PAPERS, script.out, shown_run(config, settings))


def shown_run(config: Config, settings: str) -> Run:
    """The facts of a run in the report; a profile that is not built in is named by its file."""
    built_in = (PROFILES / f"{config.profile}.yaml").exists()
    option = "" if config.profile == "full" else config.profile if built_in else f"{config.profile}.yaml"
    return Run(profile=config.profile, option=option, config=settings, names=display_names())
