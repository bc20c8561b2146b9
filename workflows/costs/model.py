"""Seconds and megabytes of a job, from its counted work and rates that finished runs have shown.

    seconds = start + rounds x (seconds a round, of the family) + numbers x (seconds a number, of the learner)
    megabytes = START_MB + arrays

The rates are non-negative and of least squares of relative errors, so that short jobs count as much as long ones.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.workflows.config import Config, Job, experiment_jobs, load_config
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Counts
from dpregret.workflows.families.fields import Precision
from dpregret.workflows.profiles import profile_path

TABLE = Path(__file__).resolve().parents[2] / "results" / "reference" / "cost_rates.csv"
START_MB = 200.0  # Python and what it imports
TIME_MARGIN, MEMORY_MARGIN = 4.0, 2.0  # what predictions of docs/large.md were off by, at most
Rates = dict[tuple[str, str, str], float]
"""(part, family, name) -> seconds: start and round of a family, number of a learner, job of another rule (eta.py)."""


def counts(config: Config, job: Job, runs: int | None = None) -> tuple[str, Counts]:
    """Family and work of a job; one that takes its rows from another has none.

    runs: how many it plays where its experiment asks for a precision (None: the most), batch after batch.
    """
    experiment = config.experiment(job.paper, job.experiment)
    family = FAMILIES[experiment.family]
    if job in config.hosts:
        return family.name, Counts(0.0, 0.0, 0.0)
    learner = family.learners[job.learner]
    parts = [experiment.fixed(len(batch)) for batch in experiment.batches(runs)]
    return family.name, Counts.total(family.work(part, learner, job.variant) for part in parts)


def fit(family: str, learners: Sequence[str], counted: Sequence[Counts], seconds: Sequence[float]) -> Rates:
    """Rates of one family from the seconds of jobs."""
    from scipy.optimize import nnls  # not where a run starts

    names = [("start", family, ""), ("round", family, ""), *(("number", family, each) for each in sorted({*learners}))]
    features = np.zeros((len(counted), len(names)))
    for row, learner, each in zip(features, learners, counted, strict=True):
        row[:2] = 1.0, each.rounds
        row[names.index(("number", family, learner))] = each.numbers
    scale = np.maximum(features.max(axis=0), 1.0)
    rates, _ = nnls(features / scale / np.asarray(seconds)[:, None], np.ones(len(counted)))
    return dict(zip(names, rates / scale, strict=True))


def fit_runs(folders: Sequence[Path]) -> Rates:
    """Rates of all families from the CPU seconds that jobs of finished runs recorded (results, results/ci)."""
    table = pd.DataFrame([line for folder in folders for line in _measured(folder)])
    rates: Rates = {}
    for family, part in table.groupby("family"):
        rates |= fit(str(family), list(part["learner"]), list(part["counts"]), list(part["seconds"]))
    return rates


def _measured(results: Path) -> Iterator[dict[str, object]]:
    config = load_config(profile_path("full" if results.name == "results" else results.name))
    for job in experiment_jobs(config):
        file = results / "benchmark" / job.paper / job.experiment / f"{job.learner}.{job.variant}.tsv"
        if file.exists():
            family, counted = counts(config, job, _runs_of(results, job))
            seconds = float(pd.read_csv(file, sep="\t")["cpu_time"].iloc[0])
            yield {"family": family, "learner": job.learner, "counts": counted, "seconds": seconds}


def _runs_of(results: Path, job: Job) -> int | None:
    """How many runs a job has played, as far as its file is there."""
    file = results / job.paper / "runs" / job.experiment / f"{job.learner}.{job.variant}.parquet"
    return int(pd.read_parquet(file, columns=["run"])["run"].nunique()) if file.exists() else None


@lru_cache(maxsize=1)
def read(path: Path = TABLE) -> Rates:
    """The committed rates."""
    with path.open(newline="", encoding="utf-8") as lines:
        return {(line["part"], line["family"], line["name"]): float(line["seconds"]) for line in csv.DictReader(lines)}


def write(rates: Rates, path: Path = TABLE) -> None:
    """Write rates as a table, sorted."""
    lines = [(*place, seconds) for place, seconds in sorted(rates.items())]
    table = pd.DataFrame(lines, columns=["part", "family", "name", "seconds"])
    table.to_csv(path, index=False, float_format="%.4g")


def estimate(config: Config, job: Job, most: bool = False) -> tuple[float, float]:
    """Seconds and megabytes of a job; a learner never measured moves numbers as slowly as the slowest half.

    most: where a precision is asked for, count all runs that it may take, not half way to them (in doublings).
    """
    asked = config.experiment(job.paper, job.experiment).runs
    runs = asked.expected if isinstance(asked, Precision) and not most else None
    (family, counted), rates = counts(config, job, runs), read()
    known = [rate for (part, of, _), rate in rates.items() if (part, of) == ("number", family)]
    number = rates.get(("number", family, job.learner), float(np.median(known)) if known else 0.0)
    start, each = rates.get(("start", family, ""), 0.0), rates.get(("round", family, ""), 0.0)  # 0: never measured
    return start + counted.rounds * each + counted.numbers * number, START_MB + counted.memory_mb


def job_costs(config: Config) -> pd.DataFrame:
    """Every job with its expected seconds and megabytes."""
    lines = [(*job, *estimate(config, job)) for job in experiment_jobs(config)]
    return pd.DataFrame(lines, columns=[*Job._fields, "seconds", "megabytes"])


def asked(config: Config, job: Job) -> tuple[int, int]:
    """Minutes and megabytes to ask a cluster for: the estimate of the most runs and its margins."""
    seconds, megabytes = estimate(config, job, most=True)
    return int(TIME_MARGIN * seconds / 60) + 1, int(MEMORY_MARGIN * megabytes) + 1
