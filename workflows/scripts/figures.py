"""Draw the figures of one paper."""

import gc
from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.paper_figs.figures import write_figures
from dpregret.workflows.names import display_names
from dpregret.workflows.profiles import PAPERS
from dpregret.workflows.results import link_files
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--paper --settings --runs --costs --expiry --exact --output"""
    gc.set_threshold(50_000, 20, 100)  # figures are many small objects: to look for cycles takes a tenth of the time
    paper, output = asked.one("paper"), asked.output
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        write_figures(
            link_files(asked.paths("runs"), Path(folder), asked.settings),
            PAPERS / paper,
            output,
            costs_file=next(iter(asked.paths("costs")), None),
            expiry_file=next(iter(asked.paths("expiry")), None),
            exact=next(iter(asked.paths("exact")), None),
            experiments=set(asked.settings.papers[paper].experiments),
            names=display_names(),
        )
