"""Play one learner variant over one experiment."""

from importlib import import_module
from pathlib import Path

from dpregret.workflows import hindsight, index
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.fingerprint import imported_files
from dpregret.workflows.job import run_job
from dpregret.workflows.results import check_run
from dpregret.workflows.task import Asked

LABELS = ("paper", "experiment", "learner", "variant")


def prepare() -> None:
    """Load all learners and streams, and the kernels of their rounds; read their sources, whose hashes jobs ask for.

    What they import has been found out when the run was planned.
    """
    index.recall()
    classes = [
        each for family in FAMILIES.values() for kind in (family.learners, family.streams) for each in kind.values()
    ]
    imported_files({each.__module__ for each in [*classes, *map(type, FAMILIES.values())]})
    hindsight.code()
    import_module("dpregret.core.compiled").warm()  # half a second: not where only one job is served


def main(asked: Asked) -> None:
    """--paper --experiment --learner --variant --settings --output [--host]"""
    for host in asked.paths("host"):
        check_run(host, asked.settings)
    labels = {name: asked.one(name) for name in LABELS}
    run_job(
        config=asked.settings,
        **labels,
        output=asked.output,
        data_dir=Path("datasets/cache"),
        host=next(iter(asked.paths("host")), None),
        apart=True,
        asked=asked.stamp if "asked" in asked.values else None,
        kept=hindsight.KEPT,
    )
