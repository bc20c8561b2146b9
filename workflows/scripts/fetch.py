"""Download, verify and convert one declared data set."""

from dpregret.datasets.fetch import convert, fetch, find_source
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--name --output"""
    source, folder = find_source(asked.one("name")), asked.output.parent
    fetch(source, folder)
    convert(source, folder)
