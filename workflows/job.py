"""One job: one learner variant over the whole grid of one experiment, all runs together, one Parquet file."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import pandas as pd

from dpregret.paper_figs.runs import empty_row
from dpregret.workflows.config import Config
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.families.fields import Experiment
from dpregret.workflows.fingerprint import learner_fingerprint
from dpregret.workflows.progress import progress
from dpregret.workflows.results import write_parquet

PLAIN: dict[str, Any] = {
    "window": 0, "noise_distribution": "none",
    **dict.fromkeys(("noise_scale", "mu_gdp", "bound"), math.nan),
    **dict.fromkeys(("noise_norm", "displacement", "violation", "comparator_gap"), 0.0),
}  # fmt: skip
"""Columns that a family without them may leave out."""


def run_job(
    config: Config, paper: str, experiment: str, learner: str, variant: str, output: Path, data_dir: Path,
    host: Path | None = None,
) -> None:  # fmt: skip
    """Run one learner variant over one experiment and write its tidy rows to `output`, atomically.

    Columns as in docs/architecture.md. data_dir: prepared data sets. host: rows of an experiment that has played all
    of this one (contained.py). A learner that crashes leaves one row whose status says how, and no number. Raises what
    the machine raises: OSError, MemoryError.
    """
    settings = config.experiment(paper, experiment)
    family = FAMILIES[settings.family]
    learner_class, status = family.learners[learner], "ok"
    draws = Draws(config.seed, settings.runs, data_dir)
    try:
        frame = _taken(settings, learner_class, host) if host else None
        if frame is None:
            frame = _rows(settings, learner_class, variant, draws, f"{experiment}/{learner}.{variant}")
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
        "config_hash": config.hash(experiment, paper),
        "code_hash": learner_fingerprint(
            family.name, learner_class.__module__, [family.streams[name].__module__ for name in settings.streams]
        ),
    }
    write_parquet(frame.assign(**labels), output)


def _taken(settings: Experiment, learner_class: Any, host: Path) -> pd.DataFrame | None:
    """Rows out of another experiment's; None where its learner crashed, or these rows cannot be told from others."""
    rows = pd.read_parquet(host)
    if (rows["status"] != "ok").any():
        return None
    frame = FAMILIES[settings.family].taken(rows, settings, learner_class.card)
    logging.info("%s", "played anew" if frame is None else f"{len(frame)} of the {len(rows)} rows of {host}")
    return frame


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
