"""Download, verify and convert one declared data set."""

import logging

from dpregret.core.errors import one_line
from dpregret.datasets.fetch import convert, fetch
from dpregret.datasets.sources import find_source
from dpregret.workflows.task import Asked


def main(asked: Asked) -> None:
    """--name --output"""
    folder = asked.output.parent
    try:
        source = find_source(asked.one("name"))
        fetch(source, folder)
        convert(source, folder)
    except (ValueError, OSError) as error:
        logging.error("%s", one_line(error))
        raise SystemExit(1) from None
