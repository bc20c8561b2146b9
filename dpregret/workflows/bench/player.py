"""Plays jobs of one checkout and tells the CPU seconds of each: a file to be run, also by a commit that lacks it.

    PYTHONPATH=TREE python player.py TREE PLAYS.yaml

prints the jobs as one line of JSON, then for every line of its input, a job's number, the seconds of that job.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def play(config: Any, job: Any, folder: Path) -> None:
    """Play a job as this tree does; `run_job` is that of trees before one job played an experiment."""
    try:
        run_job = importlib.import_module("dpregret.workflows.job").run_job
    except ModuleNotFoundError:
        from dpregret.core import parquet
        from dpregret.workflows.families import FAMILIES
        from dpregret.workflows.families.base import Draws
        from dpregret.workflows.run.play import play as play_one

        experiment = config.experiment(job.paper, job.experiment)
        family, draws = FAMILIES[experiment.family], Draws(config.seed, experiment.runs, folder)
        rows = play_one(family, experiment, family.learners[job.learner], job.variant, draws, lambda where: None)
        parquet.write(rows, folder / "rows.parquet", parquet.Stamp("", ""))
    else:
        run_job(config, *job, output=folder / "rows.parquet", data_dir=folder)


def main() -> None:
    """Answer until the input ends."""
    tree, plays = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    import dpregret

    if tree not in Path(dpregret.__file__).resolve().parents:
        sys.exit(f"{dpregret.__file__} is not of {tree}")
    from dpregret.workflows.plan.config import experiment_jobs
    from dpregret.workflows.plan.load import load_config

    config = load_config(plays, check=False)
    jobs = list(experiment_jobs(config))
    print(json.dumps([list(job) for job in jobs]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            started = time.process_time()
            play(config, jobs[int(line)], Path(folder))
            print(time.process_time() - started, flush=True)


if __name__ == "__main__":
    main()
