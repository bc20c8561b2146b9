"""One job: one learner variant over the whole grid of one experiment, all runs together, one Parquet file."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dpregret.algorithms import bandits, erm, experts, online
from dpregret.paper_figs.runs import empty_row
from dpregret.workflows.bandit_job import bandit_rows
from dpregret.workflows.bandit_job import cells as bandit_cells
from dpregret.workflows.config import Config
from dpregret.workflows.erm_job import cells as erm_cells
from dpregret.workflows.erm_job import erm_rows
from dpregret.workflows.experiments import AnyExperiment, BanditExperiment, ErmExperiment, ExpertExperiment
from dpregret.workflows.expert_job import cells as expert_cells
from dpregret.workflows.expert_job import expert_rows
from dpregret.workflows.fingerprint import learner_fingerprint
from dpregret.workflows.online_job import online_rows, total_rounds
from dpregret.workflows.progress import progress
from dpregret.workflows.results import write_parquet

CATALOGUES: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "online": online.catalogue, "erm": erm.catalogue, "experts": experts.catalogue, "bandits": bandits.catalogue,
}  # fmt: skip


def run_job(
    config: Config, paper: str, experiment: str, learner: str, variant: str, output: Path, data_dir: Path
) -> None:
    """Run one learner variant over one experiment and write its tidy rows to `output`, atomically.

    Columns as in docs/architecture.md. data_dir: prepared data sets. A learner that crashes leaves one row whose status
    says how, and no number. Raises what the machine raises: OSError, MemoryError.
    """
    settings = config.experiment(paper, experiment)
    kind: Any = CATALOGUES[settings.family]()[learner]
    status = "ok"
    try:
        frame = _rows(config.seed, settings, kind, variant, data_dir, f"{experiment}/{learner}.{variant}")
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
        "anytime": kind.card.anytime and settings.family == "online",
        "status": status,
        "config_hash": config.hash(experiment, paper),
        "code_hash": learner_fingerprint(kind.__module__),
    }
    write_parquet(frame.assign(**labels), output)


def _rows(seed: int, settings: AnyExperiment, kind: Any, variant: str, data_dir: Path, title: str) -> pd.DataFrame:
    if isinstance(settings, ErmExperiment):
        with progress(sum(1 for _ in erm_cells(settings)), title) as advance:
            return erm_rows(seed, settings, kind, variant, data_dir, advance)
    if isinstance(settings, ExpertExperiment):
        with progress(sum(1 for _ in expert_cells(settings, kind.card.private)), title) as advance:
            return expert_rows(seed, settings, kind, variant, data_dir, advance)
    if isinstance(settings, BanditExperiment):
        with progress(sum(cell.horizon for cell in bandit_cells(settings)), title) as advance:
            return bandit_rows(seed, settings, kind, variant, data_dir, advance)
    with progress(total_rounds(settings, kind), title) as advance:
        return online_rows(seed, settings, kind, variant, data_dir, advance)
