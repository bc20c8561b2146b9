"""Compute the exact tables of a chapter."""

from dpregret.paper_figs.claims_files import load_paper
from dpregret.workflows.mechanisms.exact import write_exact
from dpregret.workflows.profiles import PAPERS
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--paper --output"""
    write_exact(load_paper(PAPERS / asked.one("paper")).claims.exact, asked.output)
