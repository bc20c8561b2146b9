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
from dpregret.paper_figs.runs import RunsError, empty_row
from dpregret.workflows.config import Config, Job
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.families.fields import Experiment, Precision
from dpregret.workflows.precision import reached
from dpregret.workflows.progress import progress
from dpregret.workflows.results import stamp_of

PLAIN: dict[str, Any] = {
    "window": 0, "noise_distribution": "none",
    **dict.fromkeys(("noise_scale", "mu_gdp", "bound"), math.nan),
    **dict.fromkeys(("noise_norm", "displacement", "violation", "comparator_gap"), 0.0),
}  # fmt: skip
"""Columns that a family without them may leave out."""


def run_job(
    config: Config, paper: str, experiment: str, learner: str, variant: str, output: Path, data_dir: Path,
    host: Path | None = None, asked: Stamp | None = None,
) -> None:  # fmt: skip
    """Run one learner variant over one experiment and write its tidy rows to `output`, atomically.

    Columns as in docs/architecture.md. data_dir: prepared data sets. host: rows of an experiment that has played all
    of this one (contained.py). asked: what was planned. A learner that crashes leaves one row whose status says how,
    and no number. Raises what the machine raises: OSError, MemoryError; RunsError where the code is no longer what was
    asked.
    """
    settings = config.experiment(paper, experiment)
    family = FAMILIES[settings.family]
    learner_class, status = family.learners[learner], "ok"
    modules = family.name, learner_class.__module__, [family.streams[name].__module__ for name in settings.streams]
    job = Job(paper, experiment, learner, variant)
    draws, stamp = Draws(config.seed, settings.together, data_dir), stamp_of(config, job, modules)
    if asked and (asked.config, asked.code) != (stamp.config, stamp.code):
        raise RunsError("the code was edited after this job was planned: run the same command again")
    try:
        frame = _taken(settings, learner_class, host) if host else None
        if frame is None:
            frame = _played(settings, learner_class, variant, draws, f"{experiment}/{learner}.{variant}")
    except (OSError, MemoryError):
        raise
    except Exception as fault:
        logging.exception("%s.%s crashed", learner, variant)
        frame, status = empty_row(), f"failed: {type(fault).__name__}: {' '.join(str(fault).split())[:300]}"
    labels: dict[str, Any] = {
        "paper": paper,
        "experiment": experiment,
        "learner": learner,
        "variant": variant,
        "anytime": learner_class.card.anytime and family.anytime,
        "status": status,
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
            learner = family.learner(learner_class, problem, cell, settings, variant)
            frames.append(family.play(learner, problem, cell, draws, advance))
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(**{name: value for name, value in PLAIN.items() if name not in rows})
