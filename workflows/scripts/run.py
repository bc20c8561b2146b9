"""Play one learner variant over one experiment."""

from importlib import import_module
from pathlib import Path

from dpregret.workflows.families import FAMILIES
from dpregret.workflows.fingerprint import learner_fingerprint
from dpregret.workflows.job import run_job
from dpregret.workflows.task import Asked

LABELS = ("paper", "experiment", "learner", "variant")


def prepare() -> None:
    """Load all learners and streams, and the kernels of their rounds; read their sources, whose hashes jobs ask for."""
    for family in FAMILIES.values():
        streams = [each.__module__ for each in family.streams.values()]
        for learner in family.learners.values():
            learner_fingerprint(family.name, learner.__module__, streams)  # keeps what every file imports
    import_module("dpregret.core.compiled").warm()  # a quarter of a second: not where only one job is served


def main(asked: Asked) -> None:
    """--paper --experiment --learner --variant --settings --output [--host]"""
    labels = {name: asked.one(name) for name in LABELS}
    run_job(
        config=asked.settings,
        **labels,
        output=asked.output,
        data_dir=Path("datasets/cache"),
        host=next(iter(asked.paths("host")), None),
        apart=True,
        asked=asked.stamp if "asked" in asked.values else None,
    )
