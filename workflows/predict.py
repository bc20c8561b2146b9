"""What a run will cost before it is run: CPU hours, the longest job and memory, from measured rates.

    python -m dpregret.workflows.predict large --cores 64

The rates stand in `results/reference/growth.csv` (see `workflows/growth.py`), so no finished run is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import lru_cache

import pandas as pd

from dpregret.core.errors import ConfigError
from dpregret.workflows.config import Config, Job, experiment_jobs, load_config, profile_path
from dpregret.workflows.growth import POOLED, Rates, cost, read
from dpregret.workflows.work import plays

MEMORY_MARGINS, MEMORY_FLOOR = {"online": 1.5}, 500.0  # of kind; the arrays of the others are known less well
OTHER_MARGIN = 2.5
LEAST_SECONDS = 300.0


@lru_cache(maxsize=1)
def measured_rates() -> Rates:
    """The committed rates."""
    return read()


def estimate(config: Config, job: Job, rates: Rates | None = None) -> tuple[float, float]:
    """Seconds and megabytes of a job, without any margin."""
    counted = plays(config, job)
    return cost(counted, rates or measured_rates()) if counted else (0.0, 0.0)


def predicted(config: Config, paper: str, experiment: str, learner: str, variant: str) -> tuple[float, float]:
    """Seconds and megabytes to ask a cluster for: the estimate times its 90 % error factor, at least five minutes.

    One job in ten of those whose experiment was never measured takes longer still; on failure ask for twice as much.
    """
    job, rates = Job(paper, experiment, learner, variant), measured_rates()
    seconds, megabytes = estimate(config, job, rates)
    kind = config.experiment(paper, experiment).family
    margin = rates["error", kind, POOLED]["ninety"] if ("error", kind, POOLED) in rates else 1.0
    return max(LEAST_SECONDS, margin * seconds), MEMORY_MARGINS.get(kind, OTHER_MARGIN) * megabytes + MEMORY_FLOOR


def job_costs(config: Config) -> pd.DataFrame:
    """Every job with its predicted seconds and megabytes."""
    rates = measured_rates()
    lines = [(*job, *estimate(config, job, rates)) for job in experiment_jobs(config)]
    return pd.DataFrame(lines, columns=[*Job._fields, "seconds", "megabytes"])


def by_learner(jobs: pd.DataFrame) -> pd.DataFrame:
    """One row per experiment and learner: CPU hours of its variants, the longest of them, and the most memory."""
    groups = jobs.groupby(["paper", "experiment", "learner"], sort=False)
    return pd.DataFrame(
        {
            "jobs": groups.size(),
            "CPU hours": groups["seconds"].sum() / 3600,
            "longest job, hours": groups["seconds"].max() / 3600,
            "memory, GB": groups["megabytes"].max() / 1024,
        }
    ).reset_index()


def totals(jobs: pd.DataFrame, cores: int) -> Mapping[str, float]:
    """CPU hours, the longest job, the least wall time on so many cores, and the most memory of a job."""
    hours, longest = jobs["seconds"].sum() / 3600, jobs["seconds"].max() / 3600
    return {
        "jobs": len(jobs),
        "CPU hours": hours,
        "longest job, hours": longest,
        f"wall hours on {cores} cores, at least": max(hours / cores, longest),
        "most memory of a job, GB": jobs["megabytes"].max() / 1024,
    }


def main() -> None:
    """Print the predicted cost of a profile."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.workflows.predict", description=main.__doc__)
    parser.add_argument("profile", nargs="?", default="large", help="a name, or the path of a YAML file")
    parser.add_argument("--cores", type=int, default=64, help="for the wall time")
    parser.add_argument("--csv", help="also write the table there")
    options = parser.parse_args()
    try:
        config = load_config(profile_path(options.profile), check=False)
    except (ConfigError, OSError) as error:
        sys.exit(str(error))
    jobs = job_costs(config)
    table = by_learner(jobs)
    if options.csv:
        table.to_csv(options.csv, index=False, float_format="%.3g")
    print(table.to_markdown(index=False, floatfmt=".3g"))
    print()
    for name, value in totals(jobs, options.cores).items():
        print(f"{name}: {value:.4g}")
    for (part, kind, _), values in measured_rates().items():
        if part == "error":
            print(f"error factor, {kind}: median {values['median']:.2f}, 90 % below {values['ninety']:.2f}")


if __name__ == "__main__":
    main()
