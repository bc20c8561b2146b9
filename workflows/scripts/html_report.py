"""Write the report of a run, or of one of its papers."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.paper_figs.report import write_report
from dpregret.workflows.profiles import PAPERS
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
            profile=config.profile,
            config=" ".join(asked.values["hashes"]),
            reference=Path("results") / "reference",
        )


def only(paper: Path, folder: Path) -> Path:
    """A folder of results that holds one paper, and how long its jobs took."""
    folder.mkdir()
    for path in (paper, paper.parent / "benchmark"):
        (folder / path.name).symlink_to(path.resolve())
    return folder
