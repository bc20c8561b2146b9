"""Prepare a data set: one that comes with a library, the errors of classifiers trained on one, or a download."""

import shutil
from pathlib import Path

from dpregret.datasets import bundled, expert_data, flights
from dpregret.datasets.fetch import convert, fetch
from dpregret.datasets.sources import find_source
from dpregret.workflows.plan.load import declared_sources
from dpregret.workflows.run.script import running

DOWNLOADS = Path("datasets") / "cache"

with running(snakemake) as script:
    name = script.of
    if name in declared_sources():
        source = find_source(name)
        fetch(source, DOWNLOADS)
        shutil.copyfile(convert(source, DOWNLOADS), script.out)
    else:
        makers = dict.fromkeys(expert_data.TASKS, expert_data.prepare) | dict.fromkeys(flights.TABLES, flights.prepare)
        makers.get(name, bundled.prepare)(name, script.out)
