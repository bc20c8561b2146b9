"""The table of a confirmation: each line's verdict and number on the profile's own seed and on fresh seeds, their
agreement, the pooled number, the cause of a flip; what it comes to, in counts; how often intervals cover.

The rule, stated before the first fresh seed was played: a verdict is contradicted where two or more seeds decide the
opposite. An inconclusive seed is no flip and is counted apart. Lines that no seed can move are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.confirmed import (
    AGAINST,
    CONFIRMED,
    CONTRADICTED,
    DETERMINISTIC,
    EXACT,
    IN_PART,
    UNDECIDED,
    Agreement,
)
from dpregret.paper_figs.text import formats

POWER, SHARE = "power", "share of the bound"
"""The quantity of a fitted line, and that of an inequality."""
OVER_RUNS: Final = "runs"
"""What the intervals are over that are compared between seeds; those over sets are not about random numbers."""
OVER_CELLS: Final = "cells"
"""What they are over where runs do not differ."""
NUMBERS: Final = ("number", "low", "high")
JUDGED: Final = ("claim", "verdict", *NUMBERS, "quantity", "over", "runs", "largest_run", "reason")
"""Columns of the verdicts on one seed. over: what the interval is over; largest_run: as in claims.csv."""
COUNTS: Final = ("seeds", "same", "inconclusive", "opposite")
RARE: Final = "rare event: single runs carry a cell"
EDGE: Final = "edge: the numbers agree within chance, and the border of the verdict lies between them"
MOVED: Final = "the numbers differ by more than chance: look for a mistake"
ENDS: Final = "another rule than the number: see the reasons"
BEYOND: Final = 4.0
"""Standard errors beyond which two of several hundred numbers differ by more than chance."""
CHANCE: Final = 0.01
"""Of right intervals this share of lines scatters so much between seeds that it is named."""
ROUNDING: Final = 1e-6
"""Numbers of a table that differ by no more are equal."""


class Line(NamedTuple):
    """A line of a claims file. origin: who states it; digest: what it was when it was frozen; exact: no play decides
    it."""

    paper: str
    claim: str
    kind: str
    origin: str
    digest: str
    exact: bool


Verdicts = Mapping[str, pd.DataFrame]
"""Paper -> the verdicts on one seed, columns `JUDGED`."""


def compare(lines: Sequence[Line], own: Verdicts, fresh: Sequence[Verdicts]) -> pd.DataFrame:
    """One row a line that is in the profile; KeyError where a seed lacks a line.

    own: of the profile's seed. A line whose numbers have no interval, and are equal on all seeds, is deterministic.
    Columns `verdict_1`, `number_1`, ... are those of the first fresh seed.
    """
    tables = [{paper: judged.set_index("claim") for paper, judged in seed.items()} for seed in (own, *fresh)]
    rows = []
    for line in lines:
        row = {name: value for name, value in line._asdict().items() if name != "exact"}
        if line.exact:
            rows.append({**row, "status": EXACT, "verdict": "", "agreement": "", "reason": ""})
            continue
        judged: list[Any] = [papers[line.paper].loc[line.claim] for papers in tables]
        if judged[0]["verdict"] != word.NOT_RUN:
            rows.append({**row, **_compared(judged)})
    first = [*Line._fields[:-1], "status", "agreement", "cause", "verdict", *NUMBERS, "quantity", "runs", "over"]
    table = pd.DataFrame(rows)
    table = table.reindex(columns=[*dict.fromkeys((*first, *COUNTS, *table.columns))])
    table = table.fillna(dict.fromkeys(COUNTS, 0)).astype(dict.fromkeys(COUNTS, "int64"))
    words = [
        name
        for name in map(str, table)
        if name.split("_")[0] in ("status", "agreement", "cause", "verdict", "quantity")
    ]
    return table.fillna(dict.fromkeys([*words, "over", "reason"], ""))


def _compared(judged: Sequence[pd.Series]) -> dict[str, Any]:
    """The row of one line: judged on the profile's own seed, then on each fresh one."""
    own, *fresh = judged
    agreement = Agreement.of(own["verdict"], [each["verdict"] for each in fresh])
    numbers = np.array([[float(each[name]) for name in NUMBERS] for each in judged])
    row: dict[str, Any] = {"status": agreement.status, "agreement": str(agreement), "cause": ""}
    if deterministic(numbers, own["over"]) and agreement.same == agreement.seeds:
        row |= {"status": DETERMINISTIC, "agreement": ""}
    elif agreement.opposite or agreement.inconclusive:
        row["cause"] = cause(judged, numbers)
    row |= {name: own[name] for name in JUDGED if name not in ("claim", "largest_run")}
    row |= {name: getattr(agreement, name) for name in COUNTS}
    row |= pooled(numbers[1:]).columns("pooled")
    for number, each in enumerate(fresh, 1):
        row |= {f"{name}_{number}": each[name] for name in ("verdict", *NUMBERS)}
    return row


def deterministic(numbers: Array, over: str) -> bool:
    """Whether numbers (seeds, 3) are equal on all seeds, and their intervals are not of runs that differ."""
    if not np.isfinite(numbers).all():
        return False
    rounding = ROUNDING * max(1.0, float(np.abs(numbers).max()))
    without = over == OVER_CELLS or bool((numbers[:, 2] - numbers[:, 1] <= rounding).all())
    return without and bool(np.ptp(numbers[:, 0]) <= rounding)


def pooled(numbers: Array) -> fits.Estimate:
    """The mean of independent numbers (seeds, 3), with the interval that follows from theirs; unknown if one is."""
    if not len(numbers) or not np.isfinite(numbers).all():
        return fits.UNKNOWN
    mean, halves = float(numbers[:, 0].mean()), (numbers[:, 2] - numbers[:, 1]) / 2
    half = float(np.sqrt((halves**2).sum())) / len(numbers)
    return fits.Estimate(mean, mean - half, mean + half)


def cause(judged: Sequence[pd.Series], numbers: Array) -> str:
    """Why seeds differ: a rare event, the edge of a verdict, or more than chance. numbers: (seeds, 3)."""
    if any(float(each["largest_run"]) > fits.RARE for each in judged):
        return RARE
    finite = np.asarray(np.isfinite(numbers).all(axis=1))
    if finite.sum() < 2 or not finite[0]:
        return ENDS
    errors = _errors(numbers[finite], float(judged[0]["runs"]))
    gaps = np.abs(numbers[finite, 0] - numbers[0, 0]) / np.maximum(np.hypot(errors, errors[0]), ROUNDING)
    return MOVED if gaps.max() > BEYOND else EDGE


def _errors(numbers: Array, runs: float) -> Array:
    """The standard errors behind intervals (seeds, 3)."""
    return np.asarray((numbers[:, 2] - numbers[:, 1]) / 2 / fits.t_quantile(max(runs, 2.0)), dtype=np.float64)


def deviations(table: pd.DataFrame) -> pd.DataFrame:
    """One row a fitted line and fresh seed, where seeds can move it and its interval is over runs.

    z: the number minus the mean on the other fresh seeds, over its standard error; covered: whether an interval of 95 %
    about z covers zero.
    """
    rows = []
    for row, numbers, errors in _fitted(table):
        for seed, (number, error) in enumerate(zip(numbers, errors, strict=True)):
            others = np.delete(np.arange(len(numbers)), seed)
            z = (number - numbers[others].mean()) / np.hypot(error, np.sqrt((errors[others] ** 2).sum()) / len(others))
            covered = abs(z) <= float(fits.t_quantile(float(row["runs"])))
            rows.append({"paper": row["paper"], "claim": row["claim"], "seed": seed + 1, "z": z, "covered": covered})
    return pd.DataFrame(rows, columns=["paper", "claim", "seed", "z", "covered"])


def _fitted(table: pd.DataFrame) -> Iterator[tuple[dict[Any, Any], Array, Array]]:
    """The lines that seeds can move and whose intervals are over runs, with numbers and errors (fresh seeds,)."""
    count = int(table["seeds"].max()) if len(table) else 0
    fitted = table.loc[(table["quantity"] == POWER) & (table["over"] == OVER_RUNS) & (table["status"] != DETERMINISTIC)]
    for row in fitted.to_dict("records") if count > 1 else ():
        numbers = np.array([[float(row[f"{name}_{seed}"]) for name in NUMBERS] for seed in range(1, count + 1)])
        errors = _errors(numbers, float(row["runs"]))
        if np.isfinite(numbers).all() and (errors > ROUNDING).all():
            yield row, numbers[:, 0], errors


def counted(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Lines by paper, or by the verdict of the profile's own seed, and what fresh seeds make of them."""
    decided = table.loc[table["status"].isin([CONFIRMED, IN_PART, CONTRADICTED])]
    groups = {str(name): group for name, group in decided.groupby(by, sort=True)}
    if by == "verdict":
        groups = {name: groups[name] for name in word.ORDER if name in groups}
    rows = [
        {
            by: name,
            "decided": len(rows),
            "same on all seeds": int((rows["status"] == CONFIRMED).sum()),
            "inconclusive on some": int((rows["inconclusive"] > 0).sum()),
            "the same side in another word": int(_reworded(rows).sum()),
            "opposite on one": int((rows["opposite"] == 1).sum()),
            "contradicted": int((rows["status"] == CONTRADICTED).sum()),
        }
        for name, rows in [*groups.items(), ("all", decided)]
    ]
    return pd.DataFrame(rows)


def _reworded(rows: pd.DataFrame) -> pd.Series:
    """Lines with another verdict of the same side on some seeds, and with nothing worse."""
    return (rows["same"] < rows["seeds"]) & (rows["inconclusive"] == 0) & (rows["opposite"] == 0)


def scattered(table: pd.DataFrame) -> pd.DataFrame:
    """Lines whose numbers scatter between seeds more than an F test at `CHANCE` allows, the worst first.

    The variance of k numbers over the mean square of their errors, each of n runs, has F(k - 1, k (n - 1)) where
    intervals are right and means normal. times: its root; runs: n; chance: the probability of as much.
    """
    from scipy import special

    rows = []
    for row, numbers, errors in _fitted(table):
        ratio, seeds, runs = float(numbers.var(ddof=1) / (errors**2).mean()), len(numbers), int(row["runs"])
        chance = float(special.fdtrc(seeds - 1, seeds * (runs - 1), ratio))
        rows.append((row["paper"], row["claim"], runs, math.sqrt(ratio), chance))
    found = pd.DataFrame(rows, columns=["paper", "claim", "runs", "times", "chance"])
    return found[found["chance"] < CHANCE].sort_values("chance", kind="stable", ignore_index=True)


def sentences(table: pd.DataFrame, moved: pd.DataFrame, seeds: int) -> list[str]:
    """What a confirmation comes to: of claims, of checks, of lines left out, of intervals (moved: `deviations`)."""
    said = []
    for kind, noun in (("claim", "claims"), ("check", "consistency checks")):
        lines = table.loc[table["kind"] == kind]
        status = lines["status"].value_counts()
        decided = lines.loc[lines["status"].isin([CONFIRMED, IN_PART, CONTRADICTED])]
        said.append(
            f"Of {len(decided)} {noun} with a verdict, {status.get(CONFIRMED, 0)} have the same verdict on {seeds} of "
            f"{seeds} fresh seeds. Inconclusive on some: {(decided['inconclusive'] > 0).sum()}; else the same side in "
            f"another word on some: {_reworded(decided).sum()}; the other way on one: "
            f"{(decided['opposite'] == 1).sum()}; contradicted (the other way on {AGAINST} or more): "
            f"{status.get(CONTRADICTED, 0)}; inconclusive on the profile's own seed: {status.get(UNDECIDED, 0)}. Left "
            f"out, since no seed can move them: {status.get(EXACT, 0)} exact, {status.get(DETERMINISTIC, 0)} "
            "deterministic."
        )
    if len(moved):
        said.append(
            f"95 % intervals cover between seeds in {moved['covered'].mean():.1%} of {len(moved)} comparisons of one "
            f"seed with the others ({moved.groupby(['paper', 'claim']).ngroups} fits); the root mean square of "
            f"the standardised differences is {np.sqrt((moved['z'] ** 2).mean()):.2f}."
        )
    return said


def read(file: Path) -> pd.DataFrame:
    """The table of a confirmation as `write` wrote it: words as text, numbers as floats."""
    table = formats.read_csv(file, keep_default_na=False, dtype="str")
    numbers = [name for name in map(str, table) if name.split("_")[0] in (*NUMBERS, *COUNTS, "runs", "pooled")]
    return table.assign(**{name: pd.to_numeric(table[name]) for name in numbers})
