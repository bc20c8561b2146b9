"""Write the errata of all papers on one page."""

from dpregret.paper_figs.errata_page import write_errata_page
from dpregret.workflows.profiles import PAPERS
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--papers --output"""
    write_errata_page(asked.output.parent, asked.values["papers"], PAPERS)
