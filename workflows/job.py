"""One job: one learner variant over the whole grid of one experiment, all runs together, one Parquet file.

An experiment that asks for a precision is played batch of runs after batch of runs; all its cells get the same runs.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dpregret.core import stamped
from dpregret.core.stamped import Stamp
from dpregret.core.text import printable
from dpregret.paper_figs.row_limits import check_rows
from dpregret.paper_figs.runs import RunsError, empty_row
from dpregret.workflows.config import Config, Job
from dpregret.workflows.costs.model import estimate
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.families.fields import Experiment, Precision
from dpregret.workflows.precision import reached
from dpregret.workflows.progress import progress
from dpregret.workflows.results import stamp_of
from dpregret.workflows.supervision import blamed, in_words, watched

SLOWER = 20.0
"""How much longer than predicted a whole job may tell of no round."""
PLAIN: dict[str, Any] = {
    "window": 0, "noise_distribution": "none",
    **dict.fromkeys(("noise_scale", "mu_gdp", "bound"), math.nan),
    **dict.fromkeys(("noise_norm", "displacement", "violation", "comparator_gap"), 0.0),
}  # fmt: skip
"""Columns that a family without them may leave out."""


def run_job(
    config: Config, paper: str, experiment: str, learner: str, variant: str, output: Path, data_dir: Path,
    host: Path | None = None, apart: bool = False, asked: Stamp | None = None, kept: Path | None = None,
) -> None:  # fmt: skip
    """Run one learner variant over one experiment and write its tidy rows to `output`, atomically.

    Columns as in docs/architecture.md. data_dir: prepared data sets. host: rows of an experiment that has played all
    of this one (contained.py). apart: play in a process of its own (supervision.py). asked: what was planned. kept:
    where jobs keep comparators for each other (hindsight.py). Whatever a learner does leaves one row whose status says
    what, and no number. Raises what the machine raises (OSError; MemoryError outside a play), and RunsError where the
    code is no longer what was asked.
    """
    job = Job(paper, experiment, learner, variant)
    output, data_dir = output.absolute(), data_dir.absolute()  # a learner may go to another folder
    together = config.experiment(paper, experiment).together
    draws = Draws(config.seed, together, data_dir, kept=kept.absolute() if kept else None)
    stamp = _stamp(config, job)  # before the play: code may be edited while it lasts
    if asked and (asked.config, asked.code) != (stamp.config, stamp.code):
        raise RunsError("the code was edited after this job was planned: run the same command again")
    if not apart:
        _play_job(config, job, draws, output, host, stamp)
        return

    def failed(reason: str) -> None:
        _write(job, empty_row(), f"failed: {reason}", output, config, stamp)

    watched(
        lambda: _play_job(config, job, draws, output, host, stamp),
        failed,
        config.limits.stall_minutes,
        lambda: SLOWER * estimate(config, job, most=True)[0] / 60,
    )


def _stamp(config: Config, job: Job) -> Stamp:
    """What the result of a job will say of itself."""
    settings = config.experiment(job.paper, job.experiment)
    family = FAMILIES[settings.family]
    streams = [family.streams[name].__module__ for name in settings.streams]
    return stamp_of(config, job, (family.name, family.learners[job.learner].__module__, streams))


def _play_job(config: Config, job: Job, draws: Draws, output: Path, host: Path | None, stamp: Stamp) -> None:
    settings = config.experiment(job.paper, job.experiment)
    learner_class, status = FAMILIES[settings.family].learners[job.learner], "ok"
    try:
        frame = _taken(settings, learner_class, host) if host else None
        if frame is None:
            title = f"{job.experiment}/{job.learner}.{job.variant}"
            frame = _played(settings, learner_class, job.variant, draws, title)
    except (OSError, MemoryError, stamped.StampError, RunsError):  # the machine's faults, or a host's file
        raise
    except Exception as fault:
        logging.exception("%s.%s crashed", job.learner, job.variant)
        frame, status = empty_row(), f"failed: {in_words(fault)}"
    _write(job, frame, status, output, config, stamp)


def _write(job: Job, frame: pd.DataFrame, status: str, output: Path, config: Config, stamp: Stamp) -> None:
    """Write rows with their labels."""
    settings = config.experiment(job.paper, job.experiment)
    family = FAMILIES[settings.family]
    learner_class, (paper, experiment, learner, variant) = family.learners[job.learner], job
    labels: dict[str, Any] = {
        "paper": paper,
        "experiment": experiment,
        "learner": learner,
        "variant": variant,
        "anytime": learner_class.card.anytime and family.anytime,
        "status": printable(status),
        "config_hash": stamp.config,
        "code_hash": stamp.code,
    }
    stamped.write(frame.assign(**labels), output, stamp)


class _MissingError(LookupError):
    """A host does not have the rows, or not apart from others."""


def _taken(settings: Experiment, learner_class: Any, host: Path) -> pd.DataFrame | None:
    """Rows out of another experiment's, of as many runs as playing would have taken.

    None where its learner crashed, where these rows cannot be told from others, or where it has too few runs.
    """
    rows = stamped.read(host)
    if (rows["status"] != "ok").any():
        return None

    def part(runs: range) -> pd.DataFrame:
        own = rows.loc[rows["run"].isin(runs)]
        frame = FAMILIES[settings.family].taken(own, settings, learner_class.card)
        if frame is None or frame["run"].nunique() < len(runs):
            raise _MissingError
        return frame

    try:
        frame = _batches(settings, learner_class, part)
    except _MissingError:
        logging.info("played anew")
        return None
    logging.info("%d of the %d rows of %s", len(frame), len(rows), host)
    return frame


def _played(settings: Experiment, learner_class: Any, variant: str, draws: Draws, title: str) -> pd.DataFrame:
    """Rows of every run and cell."""

    def part(runs: range) -> pd.DataFrame:
        own = replace(draws, runs=len(runs), first=runs.start)
        named = f"{title} runs {runs.start} to {runs.stop - 1}"
        frame = _rows(settings.fixed(len(runs)), learner_class, variant, own, named)
        return frame.assign(run=frame["run"] + runs.start)

    return _batches(settings, learner_class, part)


def _batches(settings: Experiment, learner_class: Any, part: Callable[[range], pd.DataFrame]) -> pd.DataFrame:
    """Batch after batch, until there are enough runs."""
    first, *further = settings.batches()
    rows, asked = part(first), settings.runs
    anytime = learner_class.card.anytime and FAMILIES[settings.family].anytime
    for runs in further:
        if isinstance(asked, Precision) and reached(rows, asked, settings.horizon, anytime):
            break
        rows = pd.concat([rows, part(runs)], ignore_index=True)
    return rows


def _rows(settings: Experiment, learner_class: Any, variant: str, draws: Draws, title: str) -> pd.DataFrame:
    """Every cell: problem, learner, play."""
    family, frames = FAMILIES[settings.family], []
    cells = list(family.cells(settings, learner_class.card))
    with progress(sum(map(family.steps, cells)), title) as advance:
        for cell in cells:
            problem = family.problem(cell, settings, draws)
            with blamed(family.describe(cell)):
                learner = family.learner(learner_class, problem, cell, settings, variant)
                frame = family.play(learner, problem, cell, draws, advance)
                check_rows(frame, getattr(problem, "domain", None))
            frames.append(frame)
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(**{name: value for name, value in PLAIN.items() if name not in rows})
