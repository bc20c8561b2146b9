"""Files of results: which belong to a run, and what they must say of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from dpregret.core.stamped import AGAIN, Stamp, StampError
from dpregret.paper_figs.runs import RunsError
from dpregret.workflows import index
from dpregret.workflows.config import Config, Job
from dpregret.workflows.fingerprint import learner_fingerprint

recall = cache(index.recall)


def stamp_of(config: Config, job: Job, modules: tuple[str, str, Sequence[str]]) -> Stamp:
    """What the result of a job says of itself; modules: what `learner_fingerprint` wants."""
    return Stamp(config.hash(job.experiment, job.paper), learner_fingerprint(*modules), labels=job._asdict())


def check_run(path: Path, config: Config) -> None:
    """Refuse a results file ``.../PAPER/runs/EXPERIMENT/LEARNER.VARIANT.parquet`` that is not what is asked for now.

    Raises `RunsError`, one line that names the file.
    """
    *_, paper, _, experiment, name = path.parts
    learner, variant = name.removesuffix(".parquet").split(".")
    settings = config.experiment(paper, experiment)
    wanted = stamp_of(config, Job(paper, experiment, learner, variant),
                      recall().modules(settings.family, learner, settings.streams))  # fmt: skip
    try:
        found = Stamp.of(path)
    except StampError as fault:
        raise RunsError(str(fault)) from None
    for what in ("labels", "config", "code"):
        there, here = getattr(found, what), getattr(wanted, what)
        if there != here:
            told = "the result of {}, not of {}" if what == "labels" else f"made with other {what} ({{}}, now {{}})"
            shown = [".".join(each.values()) if what == "labels" else each for each in (there, here)]
            raise RunsError(f"{path}: {told.format(*shown)}; {AGAIN}")


def link_files(files: Iterable[Path], folder: Path, config: Config) -> Path:
    """Link results files ``.../EXPERIMENT/NAME.parquet`` below ``folder`` and return it.

    The folder of results may also hold files of experiments and learners that the configuration no longer has;
    what is linked is exactly what a table may read. Raises `RunsError` for one that the configuration does not ask for.
    """
    for path in files:
        check_run(path, config)
        link = folder / path.parent.name / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.resolve())
    return folder
