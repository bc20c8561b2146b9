"""Laws that hold always, checked for every learner on every experiment without being written down: rows of checks.csv.

| law | what it compares, for an experiment and learner.variant | with |
|:---|:---|:---|
| `bound` | mean regret (or excess risk), in every setting and at every checkpoint | the learner's explicit bound |
| `calls` | mean calls of oracles a round, over a whole play | the learner's bound on its expected calls |
| `ledger` | the accounted epsilon, in every row | the epsilon of the budget |

A row is named LAW.EXPERIMENT.LEARNER.VARIANT; tables that quote claims may quote it. It holds the largest share of what
is allowed, and the cell that has it. Where a bound does not apply, the learner's `bound` is NaN and its docstring says
why; a learner without a ledger has no row `ledger`. Two laws are left to claims that state them: the inequality of a
claim of type `stated`, and the privacy of a learner.variant that a claim of type `private` is about, or that the file
lists in `privacy_claims`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.cells import setting
from dpregret.paper_figs.judge.claims import BOUND, CALLS, LAWS, LEDGER, ClaimsFile
from dpregret.paper_figs.judge.result_tables import AUTOMATIC, PRIVACY_ROUNDING
from dpregret.paper_figs.judge.runs import OPTIONS, ORACLES
from dpregret.paper_figs.judge.verdicts import NO_BOUND, ROUNDING, Judgement, columns_of
from dpregret.paper_figs.text.formats import several, significant

WHY: Final = {
    BOUND: "an explicit bound holds wherever its hypotheses do",
    CALLS: "a bound on expected calls holds wherever its hypotheses do",
    LEDGER: "the noise is calibrated to the budget",
}
NAMES: Final = {BOUND: "explicit bound", CALLS: "oracle bound", LEDGER: "ledger"}
STATEMENTS: Final = {
    BOUND: "mean {response} is at most the explicit bound, in every setting and at every checkpoint",
    CALLS: "the mean number of calls of oracles a round is at most its bound",
    LEDGER: "the accounted epsilon is at most the epsilon of the budget",
}
RATES: Final = {BOUND: "<= explicit bound", CALLS: "<= bound on calls", LEDGER: "accounted eps <= eps"}
WHOSE: Final = ["experiment", "learner", "variant"]
CELL: Final = ("stream", "set", "dimension", "window", "epsilon", "delta", "horizon", "checkpoint", *OPTIONS)
"""Columns that tell the cells of a learner apart."""
USED: Final = (
    *WHOSE, *CELL, "run", "status", "regret", "bound", "most_calls", "delivered_epsilon", "width", *ORACLES,
)  # fmt: skip
"""Columns of runs that laws are about, or that name a cell."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


class Found(NamedTuple):
    """A law on one learner.variant of an experiment. share: the largest, in the cell `where`; cells: how many."""

    verdict: str
    share: float
    where: str
    cells: int
    runs: int


def universal_checks(runs: pd.DataFrame, claims: ClaimsFile) -> pd.DataFrame:
    """A row for every law that applies, in the columns of `judge_claims` and of `result_tables.SHARES`.

    runs: checked rows of the paper, of the experiments of this profile. The order is that of LAWS, then alphabetical.
    """
    used = runs[[name for name in USED if name in runs]]  # rows of few columns are quickly taken
    played: dict[tuple[str, str, str], pd.DataFrame] = {
        (str(experiment), str(learner), str(variant)): rows
        for (experiment, learner, variant), rows in used.groupby(WHOSE, sort=True)
        if (rows["status"] == "ok").any()
    }
    finished = {key: _taken(rows, (rows["status"] == "ok").to_numpy()) for key, rows in played.items()}
    excess = {claim.experiment for claim in claims.claims if claim.response == "excess"}
    stated, private = judged_by_claims(claims)
    rows = []
    for law in LAWS:
        for key, group in played.items():
            if (law == BOUND and key in stated) or (law == LEDGER and ".".join(key[1:]) in private):
                continue
            if found := _found(law, finished[key], len(finished[key]) < len(group)):
                risk = claims.problem == "erm" or key[0] in excess
                rows.append(_row(law, key, group, found, "excess" if risk else "regret"))
    return pd.DataFrame(rows)


def judged_by_claims(claims: ClaimsFile) -> tuple[set[tuple[str, str, str]], set[str]]:
    """(experiment, learner, variant) whose bound, and learner.variant whose privacy, claims of the file judge."""
    own = [claim for claim in claims.claims if claim.kind == "claim"]
    stated = {(claim.experiment, claim.learner, claim.variant) for claim in own if claim.type == "stated"}
    private = {f"{claim.learner}.{claim.variant}" for claim in own if claim.type == "private"}
    return stated, private | claims.privacy_claims.keys()


def _taken(rows: pd.DataFrame, mask: Mask) -> pd.DataFrame:
    """The rows of a mask, without a copy where it has all."""
    return rows if mask.all() else rows.loc[mask]


def _found(law: str, rows: pd.DataFrame, failed: bool) -> Found | None:
    """The judgement of a law on the finished rows of one learner.variant; None where it does not apply.

    failed: whether it has other rows.
    """
    if law == LEDGER:
        found = _ledger(rows)
    elif law == BOUND:
        found = _means(_taken(rows, np.isfinite(rows["bound"].to_numpy(dtype=float))), "regret", "bound")
    elif "most_calls" in rows:
        whole = np.isfinite(rows["most_calls"]) & (rows["checkpoint"] == rows["horizon"])
        if not whole.any():
            return None
        rows = _taken(rows, whole.to_numpy())
        found = _means(rows.assign(calls=rows.filter(ORACLES).sum(axis=1)), "calls", "most_calls")
    else:
        return None
    return found._replace(verdict=word.INCONCLUSIVE) if found and failed and found.verdict == word.HOLDS else found


def _ledger(rows: pd.DataFrame) -> Found | None:
    """No ledger accounts for an infinite epsilon, and nothing is promised where that of the budget is."""
    rows = _taken(rows, np.isfinite(rows["epsilon"].to_numpy(dtype=float)))
    delivered = rows["delivered_epsilon"].to_numpy(dtype=float)
    if not np.isfinite(delivered).any():
        return None
    shares = delivered / rows["epsilon"].to_numpy(dtype=float)
    worst = int(shares.argmax())
    verdict = word.HOLDS if shares[worst] <= 1 + PRIVACY_ROUNDING else word.FAILS
    cells = len(np.unique(_cells(rows, ("epsilon", "delta", "window", "horizon", "dimension"))))
    return Found(verdict, float(shares[worst]), _where(rows, worst), cells, rows["run"].nunique())


def _cells(rows: pd.DataFrame, columns: Iterable[str]) -> Integers:
    """The number of the cell of each row, (rows,), in the order of their first rows; most columns do not vary."""
    varied = [name for name in columns if name in rows and _varies(rows[name])]
    if not varied:
        return np.zeros(len(rows), dtype=np.int64)
    return np.asarray(rows.groupby(varied, dropna=False, sort=False).ngroup(), dtype=np.int64)


def _varies(column: pd.Series) -> bool:
    """Whether a column has two values; NaN is one."""
    same = column == column.iloc[0]
    return not (same.all() or column.isna().all())


def _means(rows: pd.DataFrame, column: str, limit: str) -> Found | None:
    """Means over runs against what is allowed, by intervals that hold jointly for all cells."""
    if rows.empty:
        return None
    cell = _cells(rows, CELL)
    runs, values = np.bincount(cell), rows[column].to_numpy(dtype=float)
    allowed = np.bincount(cell, weights=rows[limit].to_numpy(dtype=float)) / runs
    means = np.bincount(cell, weights=values) / runs
    spread = np.sqrt(np.bincount(cell, weights=(values - means[cell]) ** 2) / np.maximum(runs - 1, 1))
    half = np.where(runs > 1, fits.half_width(spread, np.maximum(runs, 2), len(runs)), np.inf)
    slack = ROUNDING * np.abs(allowed)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(allowed > 0, means / allowed, np.where(means <= allowed + slack, 0.0, np.inf))
    worst = int(shares.argmax())
    verdict = word.INCONCLUSIVE
    if (means - half > allowed + slack).any():
        verdict = word.FAILS
    elif (means + half <= allowed + slack).all():
        verdict = word.HOLDS
    where = _where(rows, int(np.flatnonzero(cell == worst)[0]))
    return Found(verdict, float(shares[worst]), where, len(runs), int(runs.min()))


def _where(rows: pd.DataFrame, position: int) -> str:
    """The cell of a row in words; the horizon is that at which it was looked at."""
    row = rows.iloc[position : position + 1]
    options = {name: float(row[name].iloc[0]) for name in OPTIONS if name in row}
    named = [f"{name} = {value:.10g}" for name, value in options.items() if np.isfinite(value)]
    return ", ".join([str(row["stream"].iloc[0]), setting(row.assign(horizon=row["checkpoint"])), *named])


def _row(law: str, key: tuple[str, str, str], rows: pd.DataFrame, found: Found, response: str) -> Mapping[str, Any]:
    experiment, learner, variant = key
    judgement = Judgement(found.verdict, _reason(law, found), resolution_of=NO_BOUND, runs=found.runs)
    noun = "excess risk" if response == "excess" else "regret"
    return {
        "kind": "check",
        "claim": ".".join((law, *key)),
        "source": "holds always",
        "origin": AUTOMATIC,
        "type": "private" if law == LEDGER else "below",
        "learner": learner,
        "variant": variant,
        "experiment": experiment,
        "stream": "; ".join(sorted(set(rows["stream"].unique()) - {""})),
        "parameter": "",
        "response": CALLS if law == CALLS else response,
        "rate": RATES[law],
        "tolerance": 0.0,
        **columns_of(judgement),
        "errata": "",
        "statement": STATEMENTS[law].format(response=noun),
        "why": WHY[law],
        "share": found.share if np.isfinite(found.share) else np.nan,
        "cells": found.cells,
        "where": found.where,
    }


def _reason(law: str, found: Found) -> str:
    if law == LEDGER:
        reason = f"accounted eps is at most {found.share:.6g} times the eps of the budget"
        hint = "; where a paper prints this noise, list it in privacy_claims"
        return reason + hint * (found.verdict == word.FAILS)
    of = f"{significant(found.share)} of the bound"
    if found.verdict == word.INCONCLUSIVE:
        return f"an interval contains the bound, or a play failed: up to {of} in {several(found.cells, 'cell')}"
    return f"{'at most' if found.verdict == word.HOLDS else 'up to'} {of} in {several(found.cells, 'cell')}"


def counts_in_words(judged: Iterable[Mapping[Any, Any]]) -> str:
    """How often each law was checked, in words: rows, cells, and what did not hold. judged: rows of checks.csv."""
    parts: list[str] = []
    judged = list(judged)
    for law in LAWS:
        rows = [row for row in judged if row["claim"].startswith(f"{law}.")]
        if rows:
            verdicts = Counter(row["verdict"] for row in rows)
            counted = ", ".join(
                _came_out(verdict, verdicts[verdict], len(rows)) for verdict in word.CHECKS if verdict in verdicts
            )
            counts = [float(row["cells"] or "nan") for row in rows]
            cells = int(sum(count for count in counts if not math.isnan(count)))
            parts.append(f"{several(len(rows), NAMES[law])} in {several(cells, 'cell')}: {counted}")
    return "; ".join(parts)


def _came_out(verdict: str, count: int, of: int) -> str:
    """`all hold`, `2 fail`, `1 inconclusive`; `holds` of a single row."""
    words = word.came_out(verdict, count)
    return f"{'all' if count == of else count} {words}" if of > 1 else words
