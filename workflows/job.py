"""One job: one learner variant over the whole grid of one experiment, all runs together, one Parquet file."""

from pathlib import Path
from typing import Any

from dpregret.algorithms import bandits, coco, erm, experts
from dpregret.workflows.bandit_job import bandit_rows
from dpregret.workflows.bandit_job import cells as bandit_cells
from dpregret.workflows.config import Config
from dpregret.workflows.erm_job import cells as erm_cells
from dpregret.workflows.erm_job import erm_rows
from dpregret.workflows.experiments import BanditExperiment, ErmExperiment, ExpertExperiment
from dpregret.workflows.expert_job import cells as expert_cells
from dpregret.workflows.expert_job import expert_rows
from dpregret.workflows.fingerprint import learner_fingerprint
from dpregret.workflows.online_job import online_rows, total_rounds
from dpregret.workflows.progress import progress
from dpregret.workflows.results import write_parquet


def run_job(
    config: Config, paper: str, experiment: str, learner: str, variant: str, output: Path, data_dir: Path
) -> None:
    """Run one learner variant over one experiment and write its tidy rows to `output`, atomically.

    Columns as in docs/architecture.md. data_dir: prepared data sets.
    Raises what the learner or the data raise: a crashed learner leaves no number.
    """
    settings = config.experiment(paper, experiment)
    title, seed = f"{experiment}/{learner}.{variant}", config.seed
    kind: Any
    if isinstance(settings, ErmExperiment):
        kind = erm.catalogue()[learner]
        with progress(sum(1 for _ in erm_cells(settings)), title) as advance:
            frame = erm_rows(seed, settings, kind, variant, data_dir, advance)
    elif isinstance(settings, ExpertExperiment):
        kind = experts.catalogue()[learner]
        with progress(sum(1 for _ in expert_cells(settings, kind.card.private)), title) as advance:
            frame = expert_rows(seed, settings, kind, variant, data_dir, advance)
    elif isinstance(settings, BanditExperiment):
        kind = bandits.catalogue()[learner]
        with progress(sum(cell.horizon for cell in bandit_cells(settings)), title) as advance:
            frame = bandit_rows(seed, settings, kind, variant, data_dir, advance)
    else:
        kind = coco.catalogue()[learner]
        with progress(total_rounds(settings, kind), title) as advance:
            frame = online_rows(seed, settings, kind, variant, data_dir, advance)
    labels: dict[str, Any] = {
        "paper": paper,
        "experiment": experiment,
        "learner": learner,
        "variant": variant,
        "anytime": kind.card.anytime and settings.kind == "online",
        "status": "ok",
        "config_hash": config.hash(experiment, paper),
        "code_hash": learner_fingerprint(kind.__module__),
    }
    write_parquet(frame.assign(**labels), output)
