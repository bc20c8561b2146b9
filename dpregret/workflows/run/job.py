"""The job of an experiment: play what the store has not, each learner in a child, and gather the rows in one file."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

import pandas as pd

from dpregret import study
from dpregret.core import child, parquet
from dpregret.core.errors import as_text, printable
from dpregret.core.learner_output import LearnerFault, StreamFault
from dpregret.core.parquet import Stamp
from dpregret.paper_figs.judge.runs import RunsError, empty_row
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws, Experiment, attributing_errors
from dpregret.workflows.plan import fingerprint, keys
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.read import ExperimentPlays, Plan, Play
from dpregret.workflows.run import store

NO_FAULTS: Final[Mapping[Play, str]] = MappingProxyType({})


def play_experiment(
    plan: Plan, part: ExperimentPlays, output: Path, log: Path | None = None, known: Mapping[Play, str] = NO_FAULTS
) -> None:
    """Write the rows of all plays of a part of an experiment to `output`, atomically. See `played`."""
    frames = [labelled(rows, part, play, fault) for play, rows, fault in played(plan, part, log, known)]
    parquet.write(pd.concat(frames, ignore_index=True), output, Stamp(part.settings, part.key))


def played(
    plan: Plan, part: ExperimentPlays, log: Path | None = None, known: Mapping[Play, str] = NO_FAULTS
) -> Iterator[tuple[Play, pd.DataFrame | None, str]]:
    """Each play of a part with its rows; those that the store lacks are played.

    A learner that fails has a fault and no rows; the others are played. known: faults of plays that are not tried
    again. Raises RunsError where the code was edited since it was planned, and OSError for faults of the machine.
    """
    config = Config.of_plan(plan.config)
    plan.check_code({play.code for play in part.plays})
    experiment = config.experiment(part.paper, part.experiment)
    shared = False
    with TemporaryDirectory(prefix="dpregret-") as name:
        folder = Path(name)
        store.link(part.data, folder)
        draws = Draws(config.seed, experiment.runs, folder, shared=folder)
        for play in part.plays:
            fault = known.get(play, "")
            rows = None if fault else store.read(play.key)
            if rows is None and not fault:
                if not shared:
                    share(plan, part, experiment)
                    shared = True
                call = partial(store_play, plan, part, play, experiment, draws)
                answer, fault = child.call(call, config.limits.bounds, log)
                if answer is not None and answer.get("stop"):
                    raise RunsError(answer["stop"])
                fault = fault or answer["failed"]
                rows = None if fault else store.read(play.key)
                if rows is None and not fault:
                    fault = "it has left no rows"
            if fault:
                logging.error("%s.%s: %s", play.learner, play.variant, fault)
            else:
                logging.info("%s.%s: %s", play.learner, play.variant, keys.file_of(play.key))
            yield play, rows, fault
    plan.check_code({play.code for play in part.plays})


RECEIPT: Final = ("experiment", "learner", "variant", "fault")
"""Columns of a receipt: one row a play."""


def play_batch(plan: Plan, parts: Sequence[ExperimentPlays], receipt: Path, log: Path | None = None) -> bool:
    """Play what the store lacks of some parts, and write a receipt of all plays; whether none failed."""
    rows = [
        (part.experiment, play.learner, play.variant, printable(fault))
        for part in parts
        for play, _, fault in played(plan, part, log)
    ]
    pd.DataFrame(rows, columns=list(RECEIPT)).to_csv(receipt, index=False)
    return not any(fault for *_, fault in rows)


def faults_in(receipts: Iterable[Path], part: ExperimentPlays) -> dict[Play, str]:
    """The plays of a part that failed, with their faults."""
    frames = [pd.read_csv(receipt, dtype=str, keep_default_na=False) for receipt in receipts]
    faults = {
        (row["learner"], row["variant"]): str(row["fault"])
        for frame in frames
        for row in frame.to_dict("records")
        if row["experiment"] == part.experiment and row["fault"]
    }
    return {play: faults[name] for play in part.plays if (name := (play.learner, play.variant)) in faults}


def share(plan: Plan, part: ExperimentPlays, experiment: Experiment) -> None:
    """Import what all children would import, except learners and files of a study, and load its kernels."""
    modules = {f"{fingerprint.PACKAGE}.algorithms.{name}" for name in ("learner", "geometry", "privacy")}
    modules.add("scipy.optimize")  # calibration imports it late: a fifth of a second, in two children of three
    for path in {path for play in part.plays for path in plan.files_of(play.code) if path.suffix == ".py"}:
        package, *below = Path(fingerprint.name_of(path)).with_suffix("").parts[1:]
        if package in ("numerics", "core", "datasets"):
            modules.add(".".join((fingerprint.PACKAGE, package, *below)).removesuffix(".__init__"))
    for name in sorted(modules):
        importlib.import_module(name)
    if study.FOLDER is None:
        _ = FAMILIES[experiment.family].streams  # imported once: to each child they would be new
    importlib.import_module("dpregret.numerics.compiled").warm()


def store_play(
    plan: Plan, part: ExperimentPlays, play: Play, experiment: Experiment, draws: Draws, on_progress: child.OnProgress
) -> dict[str, str]:
    """In the child: import one learner, play it, and keep its rows under their key.

    failed: its fault, as text; stop: why the whole job has to end.
    """
    family, folder = FAMILIES[experiment.family], keys.STORE.absolute()  # a learner may go to another folder
    try:
        on_progress(where := f"while {play.module} is imported")
        with attributing_errors(where):
            learner_class = learner_of(play)
        rows = family.rows(experiment, learner_class, play.variant, draws, on_progress)
        plan.check_code({play.code})
        anytime = bool(learner_class.card.anytime and family.anytime)
        store.write(rows.assign(anytime=anytime), play.key, part.settings, play.code, folder)
    except (LearnerFault, StreamFault) as fault:
        logging.exception("%s.%s failed", play.learner, play.variant)
        return {"failed": str(fault)}
    except (OSError, RunsError) as fault:
        return {"stop": f"{play.learner}.{play.variant}: {as_text(fault)}"}
    return {"failed": ""}


def learner_of(play: Play) -> Any:
    """The class of a play's learner; no other file of learners is imported, but what its own imports."""
    module = importlib.import_module(play.module)
    for item in vars(module).values():
        card: Any = vars(item).get("card") if isinstance(item, type) else None
        if card is not None and card.name == play.learner:
            return item
    raise LearnerFault(f"{play.module} defines no learner {play.learner!r}")


def labelled(rows: pd.DataFrame | None, part: ExperimentPlays, play: Play, fault: str) -> pd.DataFrame:
    """Rows with the labels of the experiment; one row without a number where there are none."""
    frame = empty_row() if rows is None else rows
    return frame.assign(
        paper=part.paper,
        experiment=part.experiment,
        learner=play.learner,
        variant=play.variant,
        status=printable(f"failed: {fault}") if fault else "ok",
        config_hash=part.settings,
        code_hash=play.code,
    )
