"""Write the report of a run."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.paper_figs.report import write_report
from dpregret.workflows.profiles import PAPERS
from dpregret.workflows.results import link_files
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--settings --hashes --shown --output"""
    config, page = asked.settings, asked.output
    with TemporaryDirectory() as folder:
        for paper in config.papers:
            below = page.parent / paper / "runs"
            runs = [path for path in asked.paths("shown") if below in path.parents]
            link_files(runs, Path(folder) / paper, config)
        write_report(
            page.parent,
            Path(folder),
            {
                paper: {name: experiment.title for name, experiment in settings.experiments.items()}
                for paper, settings in config.papers.items()
            },
            PAPERS,
            page,
            profile=config.profile,
            config=" ".join(asked.values["hashes"]),
            reference=Path("results") / "reference",
        )
