"""What one unit of work costs, measured: fits rates to finished runs and keeps them in a small table.

The tidy rows of a run hold the CPU seconds of the loop, cell by cell; the benchmark files the seconds and the memory of
whole jobs. Features of `workflows/work.py` times non-negative rates explain both:

    loop of a play   = sum over features of rate(learner, set) x feature
    seconds of a job = start + sum over plays of (loop + what is done around it)
    memory of a job  = start + the largest arrays of any play

Non-negative least squares of relative errors, so that short plays count as much as long ones. Renew the table from the
finished runs of three profiles:

    python -m dpregret.workflows.growth results results/ci results/growth
"""

from __future__ import annotations

import argparse
import csv
import math
import tracemalloc
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.config import Job, experiment_jobs, load_config, profile_path
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.work import Play, plays

TABLE = Path(__file__).resolve().parents[1] / "results" / "reference" / "growth.csv"
POOLED = "*"  # the key of what is known of a kind of learner as a whole
CURVES = ("curve", "curves")  # features of memory whose rates `curve_rates` measures
COLUMNS = ("part", "kind", "key", "feature", "rate")
Rates = dict[tuple[str, str, str], dict[str, float]]
"""(part, kind, key) -> feature -> seconds, or megabytes, of one unit. Parts: loop, around, memory, error."""


@dataclass(frozen=True)
class Measured:
    """A finished job: its plays with the seconds of each loop, and seconds and megabytes of the whole."""

    profile: str
    job: Job
    plays: Sequence[Play]
    loops: Sequence[float]
    seconds: float
    megabytes: float


def measured_jobs(results: Path) -> list[Measured]:
    """Every job of a finished run that left results of what its configuration now says."""
    profile = "full" if results.name == "results" else results.name
    config = load_config(profile_path(profile))
    found = []
    for job in experiment_jobs(config):
        place = f"{job.experiment}/{job.learner}.{job.variant}"
        rows_file = results / job.paper / "runs" / f"{place}.parquet"
        costs_file = results / "benchmark" / job.paper / f"{place}.tsv"
        if not (rows_file.exists() and costs_file.exists()):
            continue
        rows = pd.read_parquet(rows_file)
        if set(rows["status"]) != {"ok"} or set(rows["config_hash"]) != {config.hash(job.experiment, job.paper)}:
            continue
        costs = pd.read_csv(costs_file, sep="\t").iloc[0]
        counted = plays(config, job)
        loops = [_loop(rows, play) for play in counted]
        found.append(Measured(profile, job, counted, loops, float(costs["s"]), float(costs["max_rss"])))
    return found


def _loop(rows: pd.DataFrame, play: Play) -> float:
    """CPU seconds of the loop of one play."""
    chosen = np.logical_and.reduce([rows[name] == value for name, value in play.where.items() if name in rows])
    return float(rows.loc[chosen, "seconds"].iloc[0]) * play.shares


def fit(features: Sequence[Mapping[str, float]], costs: Sequence[float]) -> dict[str, float]:
    """Non-negative rates that explain the costs with the least squares of relative errors; zero rates are left out."""
    table = pd.DataFrame(list(features)).fillna(0.0)
    scale = table.max().replace(0.0, 1.0)
    cost = np.asarray(costs, dtype=float)[:, None]
    rates, _ = nnls((table / scale).to_numpy() / cost, np.ones(len(table)))
    return {name: float(rate) for name, rate in zip(table.columns, rates / scale.to_numpy(), strict=True) if rate > 0}


def fit_all(jobs: Sequence[Measured], only: Collection[str] | None = None) -> Rates:
    """Rates of every learner's loop, and for each kind those of what is around it, of memory, and of loops pooled.

    only: the keys of loops that are wanted; all by default.
    """
    rates: Rates = {}
    for kind in dict.fromkeys(play.kind for job in jobs for play in job.plays):
        own = [job for job in jobs if job.plays[0].kind == kind]
        loops = [(play, loop) for job in own for play, loop in zip(job.plays, job.loops, strict=True) if loop > 0]
        for key in [POOLED, *dict.fromkeys(play.key for play, _ in loops if only is None or play.key in only)]:
            chosen = [(play.loop, loop) for play, loop in loops if key in (POOLED, play.key)]
            rates["loop", kind, key] = fit(*zip(*chosen, strict=True))
        rest = [max(job.seconds - sum(job.loops), 0.2) for job in own]
        rates["around", kind, POOLED] = fit([around(job.plays) for job in own], rest)
        arrays = [{name: value for name, value in memory(job.plays).items() if name not in CURVES} for job in own]
        rates["memory", kind, POOLED] = fit(arrays, [job.megabytes for job in own])
    return rates


def curve_rates(rounds: int = 2**14) -> Rates:
    """Arrays of one number a round that each online learner's bound and displacement hold at once.

    They live for a moment only, which the benchmark files miss, so their peak is measured on its own.
    """
    rates: Rates = {}
    for name, kind in FAMILIES["online"].learners.items():
        one, four = (_curve_peak(kind, rounds, settings) for settings in (1, 4))
        each = (four - one) / 3
        rates["memory", "online", name] = {"curve": max(0.0, one - each), "curves": each}
    return rates


def _curve_peak(kind: Any, rounds: int, settings: int) -> float:
    """Most arrays of `rounds` numbers held at once."""
    private, windowed = kind.card.private, kind.card.windowed
    problem = Problem(make_set("ball", 2), rounds, 2.0, 1.0, 1.0, best_loss=0.0)
    budget = Budget(8.0 if private else math.inf, 1e-6)
    batch = [Setting(2 ** (4 + setting) if windowed else rounds, budget) for setting in range(settings)]
    learner = kind(problem, batch, 1, next(iter(kind.card.variants)))
    tracemalloc.start()
    try:
        for curve in (learner.displacement, learner.bound):
            curve(rounds)
        return tracemalloc.get_traced_memory()[1] / (8 * rounds)
    finally:
        tracemalloc.stop()


def around(counted: Iterable[Play]) -> dict[str, float]:
    """Features of a whole job besides its loops: they add up."""
    total: dict[str, float] = {"start": 1.0}
    for play in counted:
        for name, value in play.around.items():
            total[name] = total.get(name, 0.0) + value
    return total


def memory(counted: Iterable[Play]) -> dict[str, float]:
    """Features of a job's memory: the largest arrays of any play, and the rows of all."""
    total: dict[str, float] = {"start": 1.0}
    for play in counted:
        for name, value in play.memory.items():
            before = total.get(name, 0.0)
            total[name] = before + value if name == "table" else max(before, value)
    return total


def applied(features: Mapping[str, float], rates: Mapping[str, float]) -> float:
    """Sum of features times rates."""
    return sum(rates.get(name, 0.0) * value for name, value in features.items())


def cost(counted: Sequence[Play], rates: Rates) -> tuple[float, float]:
    """Seconds and megabytes of a job, as the rates have it. A learner never measured gets the rates of its kind."""
    kind = counted[0].kind
    seconds = applied(around(counted), rates["around", kind, POOLED])
    for play in counted:
        own = rates.get(("loop", kind, play.key)) or rates["loop", kind, POOLED]
        seconds += applied(play.loop, own)
    arrays = memory(counted)
    own = rates.get(("memory", kind, counted[0].key.split()[0]), {})
    return seconds, applied(arrays, rates["memory", kind, POOLED]) + applied(arrays, own)


def left_out(jobs: Sequence[Measured]) -> pd.DataFrame:
    """Every job predicted by rates in which its experiment took no part: measured and predicted, one row a job."""
    lines = []
    for place in dict.fromkeys((job.profile, job.job.paper, job.job.experiment) for job in jobs):
        inside = [(job.profile, job.job.paper, job.job.experiment) == place for job in jobs]
        unseen = [job for job, out in zip(jobs, inside, strict=True) if out]
        kinds = {job.plays[0].kind for job in unseen}
        seen = [job for job, out in zip(jobs, inside, strict=True) if not out and job.plays[0].kind in kinds]
        rates = fit_all(seen, {play.key for job in unseen for play in job.plays})
        for job in unseen:
            seconds, megabytes = cost(job.plays, rates)
            known = all(("loop", play.kind, play.key) in rates for play in job.plays)
            lines.append((job.profile, *job.job, job.plays[0].kind, known, job.seconds, seconds,
                          job.megabytes, megabytes))  # fmt: skip
    names = ["profile", "paper", "experiment", "learner", "variant", "kind", "known", "seconds", "predicted",
             "megabytes", "predicted_megabytes"]  # fmt: skip
    return pd.DataFrame(lines, columns=names)


def factor(measured: pd.Series, predicted: pd.Series) -> pd.Series:
    """How many times too much or too little: at least 1."""
    ratio = predicted / measured
    return pd.Series(np.maximum(ratio, 1 / ratio), index=measured.index)


def errors(table: pd.DataFrame) -> Rates:
    """Median and 90 % error factor of each kind."""
    off = factor(table["seconds"], table["predicted"])
    rates: Rates = {}
    for kind, part in off.groupby(table["kind"]):
        values = {"jobs": float(len(part)), "median": float(part.median()), "ninety": float(part.quantile(0.9))}
        rates["error", str(kind), POOLED] = values
    return rates


def write(rates: Rates, path: Path = TABLE) -> None:
    """Write rates as a table, sorted."""
    lines = [(*place, name, rate) for place, each in sorted(rates.items()) for name, rate in sorted(each.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(lines, columns=list(COLUMNS)).to_csv(path, index=False, float_format="%.4g")


def read(path: Path = TABLE) -> Rates:
    """Read what `write` wrote."""
    rates: Rates = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            rates.setdefault((line["part"], line["kind"], line["key"]), {})[line["feature"]] = float(line["rate"])
    return rates


def main() -> None:
    """Fit the rates to finished runs, say how well they predict what they have not seen, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.workflows.growth", description=main.__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="folders of finished runs: results, results/ci, ...")
    parser.add_argument("--output", type=Path, default=TABLE, help="where the rates go")
    options = parser.parse_args()
    jobs = [job for results in options.results for job in measured_jobs(results)]
    unseen = left_out(jobs)
    found = errors(unseen)
    write({**fit_all(jobs), **curve_rates(), **found}, options.output)
    for (_, kind, _), values in found.items():
        print(f"{kind}: {values['jobs']:.0f} jobs, error factor {values['median']:.2f}, 90 % {values['ninety']:.2f}")


if __name__ == "__main__":
    main()
