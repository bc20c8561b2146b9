"""Set the mechanisms of the same learners side by side."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.paper_figs.gains import write_gains
from dpregret.workflows.profiles import PAPERS
from dpregret.workflows.results import link_files
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--paper --settings --runs --output"""
    with TemporaryDirectory() as folder:
        runs = link_files(asked.paths("runs"), Path(folder), asked.settings)
        write_gains(runs, PAPERS / asked.one("paper"), asked.output.parent)
