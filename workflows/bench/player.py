"""Plays jobs of one checkout and tells the CPU seconds of each: a file to be run, also by a commit that lacks it.

    PYTHONPATH=TREE python player.py TREE PLAYS.yaml

prints the jobs as one line of JSON, then for every line of its input, a job's number, the seconds of that job.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Answer until the input ends."""
    tree, plays = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    import dpregret

    if tree not in Path(dpregret.__file__).resolve().parents:
        sys.exit(f"{dpregret.__file__} is not of {tree}")
    from dpregret.workflows.config import experiment_jobs, load_config
    from dpregret.workflows.job import run_job

    config = load_config(plays, check=False)
    jobs = list(experiment_jobs(config))
    print(json.dumps([list(job) for job in jobs]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            started = time.process_time()
            run_job(config, *jobs[int(line)], output=Path(folder) / "rows.parquet", data_dir=Path(folder))
            print(time.process_time() - started, flush=True)


if __name__ == "__main__":
    main()
