"""Write the report of a run, or of one of its papers."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.paper_figs.report.page import Run, write_report
from dpregret.workflows.config import Config, Job
from dpregret.workflows.contained import hosts
from dpregret.workflows.names import display_names
from dpregret.workflows.profiles import PAPERS, PROFILES
from dpregret.workflows.results import link_files
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--settings --hashes --shown --output, and --paper for one alone"""
    config, page = asked.settings, asked.output
    alone = "paper" in asked.values
    papers = asked.values.get("paper", list(config.papers))
    results = page.parent.parent if alone else page.parent
    with TemporaryDirectory() as folder:
        for paper in papers:
            below = results / paper / "runs"
            runs = [path for path in asked.paths("shown") if below in path.parents]
            link_files(runs, Path(folder) / paper, config)
        write_report(
            only(page.parent, Path(folder) / ".results") if alone else results,
            Path(folder),
            {
                paper: {name: experiment.title for name, experiment in settings.experiments.items()}
                for paper, settings in config.papers.items()
                if paper in papers
            },
            PAPERS,
            page,
            shown_run(config, " ".join(asked.values["hashes"])),
            reference=Path("results") / "reference",
        )


def shown_run(config: Config, hashes: str) -> Run:
    """What the report says of a run; a profile that is no built-in one is named by its file."""
    built_in = (PROFILES / f"{config.profile}.yaml").exists()
    return Run(
        profile=config.profile,
        option="" if config.profile == "full" else config.profile if built_in else f"{config.profile}.yaml",
        config=hashes,
        names=display_names(),
        hosts={job_name(job): job_name(host) for job, host in hosts(config).items()},
    )


def job_name(job: Job) -> str:
    """A job as `paper/experiment/learner.variant`."""
    return f"{job.paper}/{job.experiment}/{job.learner}.{job.variant}"


def only(paper: Path, folder: Path) -> Path:
    """A folder of results that holds one paper, and how long its jobs took."""
    folder.mkdir()
    for path in (paper, paper.parent / "benchmark"):
        (folder / path.name).symlink_to(path.resolve())
    return folder
