"""Write the second or a later table of one paper."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.paper_figs.exact_losses import ExactLoss
from dpregret.paper_figs.tables import write_further_table
from dpregret.workflows.profiles import PAPERS
from dpregret.workflows.results import link_files
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--paper --number --settings --runs --exact --output"""
    paper = asked.one("paper")
    with TemporaryDirectory() as folder:
        write_further_table(
            link_files(asked.paths("runs"), Path(folder), asked.settings),
            PAPERS / paper,
            asked.output.parent,
            int(asked.one("number")),
            experiments=set(asked.settings.papers[paper].experiments),
            exact=ExactLoss.read(asked.path("exact")),
        )
