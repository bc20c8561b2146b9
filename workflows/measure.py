"""What jobs really cost: runs some of a profile, each in a process of its own, and writes it down.

    python -m dpregret.workflows.measure large asi_et_al_2023/experts-horizon/sparse-vector.pure

The results of the jobs go where the workflow would put them, so that a run takes them over if nothing changed. The
memory is the largest that the process ever held: the benchmark files of Snakemake look only now and then, and miss it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import pandas as pd

from dpregret.workflows.config import Config, Job, load_config, profile_path
from dpregret.workflows.job import run_job
from dpregret.workflows.predict import estimate

OUTPUT = Path(__file__).resolve().parents[1] / "results" / "reference" / "large" / "measured.csv"


def parse(name: str) -> Job:
    """PAPER/EXPERIMENT/LEARNER.VARIANT as a job."""
    paper, experiment, learner = name.split("/")
    return Job(paper, experiment, *learner.split("."))


def measured(config: Config, job: Job, output: Path) -> tuple[float, float, float]:
    """Run a job in a child process: its CPU seconds, wall seconds and peak megabytes."""
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            run_job(config, *job, output=output, data_dir=Path("datasets/cache"))
        finally:
            os._exit(0 if output.exists() else 1)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{'/'.join(job)} left no result")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / 1024


def main() -> None:
    """Run the named jobs and add their measured costs to the table."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.workflows.measure", description=main.__doc__)
    parser.add_argument("profile")
    parser.add_argument("jobs", nargs="+", type=parse, metavar="PAPER/EXPERIMENT/LEARNER.VARIANT")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    config = load_config(profile_path(options.profile), check=False)
    for job in options.jobs:
        said = estimate(config, job)
        place = f"results/{config.profile}/{job.paper}/runs/{job.experiment}/{job.learner}.{job.variant}.parquet"
        cpu, wall, peak = measured(config, job, Path(place))
        line = {
            **{"profile": config.profile, **job._asdict()},
            **{"CPU seconds": cpu, "wall seconds": wall, "peak MB": peak},
        }
        table = pd.DataFrame([line])
        if options.output.exists():
            table = pd.concat([pd.read_csv(options.output), table])
        options.output.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(options.output, index=False, float_format="%.4g")
        print(
            f"{'/'.join(job)}: predicted {said[0]:.0f} s, took {cpu:.0f} s; {said[1]:.0f} MB, {peak:.0f} MB", flush=True
        )


if __name__ == "__main__":
    main()
