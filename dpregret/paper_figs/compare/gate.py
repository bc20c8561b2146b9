"""The gate: compares the tables of a run with the committed reference. Tables that cannot be compared fail.

Text, tolerances and cells must be equal, ledgers and scales of noise to 1e-5. A number with an interval may differ by
chance: Welch's t test of both errors (Welch, Biometrika 34, 1947), at a rate of false alarms that all numbers share.
A verdict may change to a neighbouring one where a number that decides it has crossed its border, by chance.

Equal plays have equal digits. Where the mean regret of a job has moved and passes, the gate says by how much, and how
much the number of runs lets pass.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import pandas as pd
import typer
from scipy import stats

from dpregret.core import boundary
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.result_tables import (
    AUTOMATIC,
    FILES,
    FITTED,
    HASHES,
    JOB_KEY,
    JOBS,
    OF_RECORD,
    SAME,
    read_jobs,
    read_judged,
)
from dpregret.paper_figs.judge.verdicts import POWER
from dpregret.paper_figs.judge.vocabulary import INCONCLUSIVE, REPRODUCED, UP_TO_LOGS
from dpregret.paper_figs.text.formats import DamageError

MOVED, INCOMPARABLE = 1, 2
"""Exit codes: something left its reference; there is nothing to compare with."""
FALSE_ALARM: Final = 0.01
"""How often a comparison may fail although nothing but the random numbers changed."""
ROUNDING: Final = 1e-6
"""Standard error of numbers with six digits, relative to 1 or to a larger number."""
LEDGER: Final = 1e-5
"""Relative slack of numbers that no random number enters."""
NORMAL: Final = 0.5
"""Of 16 normal runs none makes more of a cell's spread; where one does, interval lengths are not compared."""
VIOLATION: Final = 1e-8
"""A point outside its set by less is rounding."""
LINE: Final = ("paper", "claim")
JOB: Final = ("paper", *JOB_KEY)
ABOUT: Final = ("kind", "type", "origin", *SAME, "rate", "tolerance", "cells_used", "resolution_of")
ESTIMATES: Final = ("fitted", "normalised", "late", "bend", "log_level", "level")
"""Numbers of lines and jobs that have an interval."""
DECIDE: Final = tuple(f"{name}_{end}" for name in ("normalised", "end", "late", "bend") for end in ("low", "high"))
"""The numbers of a line that are compared with its tolerance."""
NEEDED: Final = (*ABOUT[1:], *FITTED, *DECIDE, "normalised", "late", "bend", "log_level", "runs", "largest_run",
                 "resolution", "resolution_log")  # fmt: skip
Row = Mapping[Hashable, Any]
Hashed = Mapping[tuple[str, ...], tuple[str, str]]
"""(paper, experiment, learner, variant) -> hashes of configuration and code, of all jobs of a plan."""


class GateError(ValueError):
    """Tables that cannot be compared; the message is one line."""


class Tables(NamedTuple):
    """Lines and jobs of some papers, each with the column `paper`."""

    lines: pd.DataFrame
    jobs: pd.DataFrame

    @classmethod
    def read(cls, papers: Mapping[str, Path]) -> Tables:
        """The tables of papers in their folders; a study may have jobs without a claim.

        Raises GateError and DamageError where a table is not there, or there is no job.
        """
        lines, jobs = [], []
        for paper, folder in papers.items():
            if missing := [name for name in (*FILES.values(), JOBS) if not (folder / name).is_file()]:
                raise GateError(f"{folder / missing[0]}: not there")
            lines.append(read_judged(folder, needed=NEEDED).assign(paper=paper))
            jobs.append(read_jobs(folder).assign(paper=paper))
            if jobs[-1].empty:
                raise GateError(f"{folder / JOBS}: no row below the header")
        if not papers:
            raise GateError("no tables of a paper")
        return cls(pd.concat(lines, ignore_index=True), pd.concat(jobs, ignore_index=True))


def papers(folder: Path) -> dict[str, Path]:
    """Folders of papers below a folder of results, by name; the folder itself where it is that of a paper."""
    folders = {file.parent for name in (*FILES.values(), JOBS) for file in folder.glob(f"*/{name}")}
    return {path.name: path for path in sorted(folders)} or {folder.resolve().name: folder}


def compare(now: Tables, before: Tables, planned: Hashed | None = None) -> tuple[list[str], str]:
    """One line for whatever left the reference, with its name; and in words what was compared.

    planned: the jobs of the current plan; a table of other jobs is stale. Raises GateError where the two are of
    different profiles, or the reference holds no number.
    """
    profiles = [sorted(set(side.jobs["profile"])) for side in (now, before)]
    if profiles[0] != profiles[1] or len(profiles[0]) != 1:
        raise GateError(f"results are of profile {profiles[0]}, the reference of {profiles[1]}")
    pairs = _all(now, before)
    count = _compared(pairs)
    if not count:
        raise GateError("the reference holds no number to compare with")
    findings = [] if planned is None else _stale(now.jobs, planned)
    sides = {"results": set(now.jobs["paper"]), "reference": set(before.jobs["paper"])}
    alone = sides["results"] ^ sides["reference"]
    findings += [f"{paper}: only in the {side}" for side in sides for paper in sorted(alone & sides[side])]
    for name, new, old in pairs:
        if (new or old or {})["paper"] in alone:
            continue
        if new is None or old is None:
            findings.append(f"{name}: only in the {'reference' if new is None else 'results'}")
        elif differences := [*(_line if "claim" in new else _job)(new, old), *moved(new, old, FALSE_ALARM / count)]:
            findings.append(f"{name}: {'; '.join(differences)}")
    return findings, f"gate: {len(before.lines)} lines and {len(before.jobs)} jobs, {count} numbers"


def within_chance(now: Tables, before: Tables) -> list[str]:
    """One line for each job whose mean regret has moved by no more than chance does: unchanged code moves none.

    The last number is the largest change that passes, whose distance is the quantile of Welch's t test.
    """
    pairs, lines = _all(now, before), []
    level = FALSE_ALARM / max(1, _compared(pairs))
    for name, new, old in pairs:
        if new is None or old is None or "claim" in old or np.isclose(new["level"], old["level"], rtol=LEDGER, atol=0):
            continue
        (value, error), (old_value, old_error) = (numbers(row).get("level", (np.nan, np.nan)) for row in (new, old))
        runs = int(old["runs"])
        scale = abs(old_value or value) / 100
        largest = largest_passing((new["runs"], error), (runs, old_error), level) / scale
        change = abs(value - old_value) / scale
        if change <= largest:  # not for a mean that a side lacks
            side = "lower" if value < old_value else "higher"
            lines.append(f"{name}: mean regret is {change:.2g} % {side}; with {runs} runs up to {largest:.2g} % passes")
    return lines


def largest_passing(one: tuple[int, float], other: tuple[int, float], level: float) -> float:
    """The largest distance of two means (runs, standard error) that Welch's t test at a level takes for chance."""
    (_, error), (_, other_error) = one, other
    square = error**2 + other_error**2
    freedom = square**2 / sum(each**4 / (runs - 1) for runs, each in (one, other))
    return float(stats.t.isf(level / 2, freedom) * np.sqrt(square))


def numbers(row: Row, lengths: bool = True) -> dict[str, tuple[float, float]]:
    """Numbers of a line or job with their standard errors over runs, those that it has.

    lengths: an error that is estimated from n runs has a relative error of 1 / sqrt(2 (n - 1)); the resolution is a
    multiple of it beside the offset of the slope. Both are compared as logarithms.
    """
    freedom = row["runs"] - 1
    pairs = {
        name: (row[name], (row[f"{name}_high"] - row[f"{name}_low"]) / 2 / stats.t.ppf(0.5 + fits.LEVEL / 2, freedom))
        for name in ESTIMATES
        if np.isfinite(row.get(name, np.nan))
    }
    pairs = {name: (value, np.hypot(error, ROUNDING * max(1.0, abs(value)))) for name, (value, error) in pairs.items()}
    if lengths and row.get("resolution_of") == POWER and "fitted" in pairs:
        relative_error = 1 / np.sqrt(2 * freedom)
        pairs["log of the error"] = np.log(pairs["fitted"][1]), relative_error
        pairs["log of the resolution"] = (
            np.log(row["resolution"]),
            np.hypot(relative_error, pairs["normalised"][1] / row["resolution"]),
        )
    return pairs


def moved(now: Row, before: Row, level: float) -> Iterator[str]:
    """Numbers further apart than by chance, by Welch's t test at a level; lengths only where runs look normal."""
    normal = not any(side.get("largest_run", 0.0) > NORMAL for side in (now, before))
    new, old = numbers(now, normal), numbers(before, normal)
    for name in dict.fromkeys((*old, *new)):
        if name not in old or name not in new:
            was_there, is_there = (f"{side[name][0]:.4g}" if name in side else "none" for side in (old, new))
            yield f"{name} was {was_there}, is {is_there}"
            continue
        (value, error), (old_value, old_error) = new[name], old[name]
        runs = now["runs"], before["runs"]
        chance = stats.ttest_ind_from_stats(
            value, error * runs[0] ** 0.5, runs[0], old_value, old_error * runs[1] ** 0.5, runs[1], equal_var=False
        ).pvalue
        if not chance >= level:
            distance = abs(value - old_value) / np.hypot(error, old_error)
            yield f"{name} was {old_value:.4g}, is {value:.4g}: {distance:.3g} standard errors apart"


def _line(now: Row, before: Row) -> Iterator[str]:
    yield from (f"{name} was {before[name]!r}, is {now[name]!r}" for name in ABOUT if before[name] != now[name])
    pair = {before["verdict"], now["verdict"]}
    near = INCONCLUSIVE in pair or pair == {REPRODUCED, UP_TO_LOGS}  # between any other two an interval straddles
    if len(pair) > 1 and not (near and crossed(now, before)):
        yield f"verdict was {before['verdict']!r}, is {now['verdict']!r}"


def crossed(now: Row, before: Row) -> bool:
    """Whether a number that decides a verdict has changed sides. Where it is in no table, which is how near a mean
    is to its explicit bound, whether its level, or its share of the bound, has moved: equal runs have equal verdicts.
    """
    sides = [
        [row[name] > border for name in DECIDE for border in (-row["tolerance"], row["tolerance"])]
        + [row["resolution_log"] > 1]
        for row in (now, before)
    ]
    level = "share" if now["origin"] == AUTOMATIC else "log_level"
    return sides[0] != sides[1] or (now["type"] in ("below", "stated") and now[level] != before[level])


def _job(now: Row, before: Row) -> Iterator[str]:
    if before["status"] != now["status"]:
        yield f"status was {before['status']}, is {now['status']}"
    if not (now["violation"] <= 10 * max(before["violation"], VIOLATION) or np.isnan(before["violation"])):
        yield f"violation of the set was {before['violation']:.2g}, is {now['violation']:.2g}"
    for name, label in (
        ("delivered", "accounted over claimed eps"),
        (OF_RECORD, "accounted over claimed eps of a record"),
        ("noise_scale", "scale of the noise"),
    ):
        if not np.isclose(now[name], before[name], rtol=LEDGER, atol=0, equal_nan=True):
            yield f"{label} was {before[name]:.6g}, is {now[name]:.6g}"


def _stale(jobs: pd.DataFrame, planned: Hashed) -> list[str]:
    """Jobs whose hashes are not those of the current plan, and planned jobs that are missing."""
    hashes = {
        tuple(row[name] for name in JOB): tuple(row[name] for name in HASHES.values())
        for row in jobs.to_dict("records")
    }
    return [
        f"{_named(dict(zip(JOB, key, strict=True)))}: stale, the plan of now has {planned.get(key, 'no such job')}"
        for key in {**hashes, **planned}
        if hashes.get(key) != planned.get(key)
    ]


def _all(now: Tables, before: Tables) -> list[tuple[str, Row | None, Row | None]]:
    return [*_pairs(now.lines, before.lines, LINE), *_pairs(now.jobs, before.jobs, JOB)]


def _compared(pairs: Sequence[tuple[str, Row | None, Row | None]]) -> int:
    """How many numbers are tested, which share the rate of false alarms."""
    return sum(len(numbers(old)) for _, _, old in pairs if old)


def _pairs(now: pd.DataFrame, before: pd.DataFrame, key: Sequence[str]) -> Iterator[tuple[str, Row | None, Row | None]]:
    """Rows of equal key with their name, in the order of the reference; None where a side has none."""
    new, old = ({tuple(row[name] for name in key): row for row in side.to_dict("records")} for side in (now, before))
    for row_key in {**old, **new}:
        yield _named(old.get(row_key) or new[row_key]), new.get(row_key), old.get(row_key)


def _named(row: Row) -> str:
    where = f"{row['learner']}.{row['variant']} in {row['experiment']}"
    return f"{row['paper']} {row['claim']}, {where}" if "claim" in row else f"{row['paper']} {where}"


def report(findings: Sequence[str], counted: str, results: str = "", passed: Sequence[str] = ()) -> str:
    """The report of a gate: one line per finding, what to do about them for a folder of results, what moved by no more
    than chance and passes, and last what was counted."""
    within = [f"by no more than chance: {line}" for line in passed]
    if not findings:
        end = f"{len(within)} moved by no more than chance" if within else "all as in the reference"
        return "\n".join([*within, f"{counted}: {end}", ""])
    lines = [*within, *findings]
    if results:
        reference = results.replace("results", "results/reference", 1)
        lines.append(f"to see what differs: .venv/bin/dpregret compare {reference} {results}")
        lines.append(f"if it is meant: make reference RUNS={results}")
    return "\n".join([*lines, f"{counted}: {len(findings)} left the reference", ""])


def main(
    current: Annotated[Path, typer.Argument(help="Results of a run, or of one paper of it.")],
    reference: Annotated[Path, typer.Argument(help="Those that were kept.")],
) -> int:
    """Compare two folders; exit code 1 when something left its reference, 2 when they cannot be compared."""
    try:
        now, before = (papers(folder) for folder in (current, reference))
        if len(now) == len(before) == 1:  # folders of any name
            before = dict(zip(now, before.values(), strict=True))
        tables = Tables.read(now), Tables.read(before)
        (findings, counted), passed = compare(*tables), within_chance(*tables)
    except (GateError, DamageError, OSError) as fault:
        print(f"gate: cannot compare: {fault}", file=sys.stderr)
        return INCOMPARABLE
    print(report(findings, counted, passed=passed), end="")
    return MOVED if findings else 0


if __name__ == "__main__":
    boundary.run(main)
