"""Measured cells that can be compared: one learner on one problem under one guarantee, its runs together.

A **problem** is feedback, stream (with its options), set, dimension and number of rounds T (or of records); learners
meet the same losses in run number i. A **guarantee** is the window, eps, and pure or approximate privacy (delta).

* T is the end of a play, or a power of four that the play of a learner which does not receive T passes.
* A window of at least T protects everything ("all"). A learner that protects everything takes part where its mechanism
  was made for T rounds, not at earlier checkpoints of a longer play, whose noise pays for more.
* A private learner takes part unless its ledger delivers more than eps, or the audit refutes it: then it is barred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from dpregret.core import parquet
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.runs import OPTIONS, ORACLES, RunsError
from dpregret.paper_figs.text import formats

PROBLEM: Final = ("feedback", "stream", "set", "dimension", "options", "rounds")
GUARANTEE: Final = ("window", "epsilon", "delta")
CALLS: Final = (*ORACLES, "solves")
TABLE, FOLDER, CELLS, TIMES, PROFILES = "winners.csv", "winners", "cells.csv", "times.csv", "profiles"
"""Names below the folder of results, and in the folder of winners."""
STOCHASTIC, OBLIVIOUS, RECORDS = "stochastic", "oblivious", "records"
"""Kinds of losses: drawn from one law (or one pool in random order); any other fixed sequence; a data set."""
LEAST_ROUNDS: Final = 64
SLACK: Final = 1e-6
"""Relative error of a ledger."""
SAME: Final = 1e-9
"""Relative difference of numbers that are equal except for rounding."""
_READ: Final = (
    "learner", "variant", "stream", "set", "horizon", "anytime", "dimension", "window", "run", "checkpoint", "epsilon",
    "delta", "regret", "trivial_regret", "bound", "delivered_epsilon", "status", "seconds", *CALLS, *OPTIONS,
)  # fmt: skip


class ExperimentFacts(NamedTuple):
    """feedback: stream -> what learners see. options: of the stream, as far as they are not in the rows."""

    feedback: Mapping[str, str]
    options: Mapping[str, object]


class StreamFacts(NamedTuple):
    """losses: class of losses in words. kind: stochastic, oblivious or records."""

    losses: str
    kind: str


@dataclass(frozen=True)
class Facts:
    """Facts that rows do not hold. Keys: (paper, experiment); (feedback, stream); learner.variant -> why it is refuted.

    stochastic_only: learners (without variant) whose bounds hold for stochastic losses alone.
    """

    experiments: Mapping[tuple[str, str], ExperimentFacts]
    streams: Mapping[tuple[str, str], StreamFacts]
    refuted: Mapping[str, str] = field(default_factory=dict)
    stochastic_only: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Measured:
    """rows: one a run, with numbers of `cell`; cells: one a learner on a problem under a guarantee."""

    rows: pd.DataFrame
    cells: pd.DataFrame


def refutations(audit: pd.DataFrame, exact: pd.DataFrame) -> dict[str, str]:
    """learner.variant -> why it does not keep what it claims: by an exact loss, or by the audit."""
    found = {}
    for row in audit.to_dict("records"):
        finding = str(row["finding"])
        if finding.startswith(("violates", "BROKEN")):
            found[f"{row['learner']}.{row['variant']}"] = finding.split(":")[0]
    for row in exact.to_dict("records"):
        if float(row["attained"]) > float(row["claimed"]) * (1 + SLACK):
            found[str(row["name"])] = f"loses eps = {row['attained']:.3g} where {row['claimed']:.3g} is claimed"
    return found


def read_refutations(*files: Path) -> dict[str, str]:
    """The same from the audit's tables, as far as there are any, the exact losses last."""
    *audit, exact = map(formats.read_csv, files)
    return refutations(audit[0] if audit else pd.DataFrame(), exact)


def read_rows(files: Iterable[Path], facts: Facts) -> pd.DataFrame:
    """Rows of ``.../PAPER/EXPERIMENT.*.parquet`` that can be compared, with problem and guarantee.

    Raises RunsError for a file that is not what was written, or of an experiment that is not among the facts.
    """
    frames = []
    for path in sorted(files, key=lambda path: (path.parent.name, path.name.split(".")[0], path.name)):
        about = facts.experiments.get((path.parent.name, path.name.split(".")[0]))
        if about is None:
            raise RunsError(f"{path}: of an experiment that the configuration does not have")
        try:
            rows = parquet.read(path, _READ)  # of those that there are
        except parquet.StampError as fault:
            raise RunsError(str(fault)) from fault
        plays = rows.loc[rows["status"] == "ok"].groupby(["learner", "variant"], sort=True)
        read = [play.dropna(axis="columns", how="all") for _, play in plays]  # without the options of other learners
        for _, alike in groupby(read, key=lambda each: tuple(each.columns)):
            frames.append(comparable(pd.concat(alike, ignore_index=True), about))
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        raise RunsError("no run of a learner that can be compared")
    return pd.concat(frames, ignore_index=True)


def comparable(rows: pd.DataFrame, about: ExperimentFacts) -> pd.DataFrame:
    """Of one experiment's rows those that can be compared (see above), with the columns of PROBLEM and GUARANTEE."""
    rounds, horizon = rows["checkpoint"].to_numpy(), rows["horizon"].to_numpy()
    exponent = np.log2(np.maximum(rounds, 1)) / 2
    ends = rounds == horizon
    on_the_way = rows["anytime"].to_numpy() & (rounds >= LEAST_ROUNDS) & (exponent == np.round(exponent))
    private = np.isfinite(rows["epsilon"].to_numpy())
    window = rows["window"].to_numpy()
    whole = (window < 1) | (window >= rounds)
    made_for = (window < 1) | (window < 2 * rounds)
    kept = (rows["status"] == "ok").to_numpy() & (ends | on_the_way) & (~private | ~whole | made_for)
    taken: pd.DataFrame = rows.loc[kept]
    named = {"anytime": "told", "checkpoint": "rounds"}
    options = [name for name in OPTIONS if name in taken]
    columns = {
        "feedback": taken["stream"].map(dict(about.feedback)),
        "learner": taken["learner"] + "." + taken["variant"],
        "private": private[kept],
        "window": np.where(whole | ~private, 0, window)[kept],
        "delta": np.where(private, rows["delta"], 0.0)[kept],
        "made_for": np.where(whole, window, 0)[kept],
        "options": _options(taken[options], about.options),
    }
    return taken.rename(columns=named).assign(**columns).drop(columns=["variant", "status", "told", *options])


def _options(columns: pd.DataFrame, fixed: Mapping[str, object]) -> Array:
    """``name=value`` of every option of a row, in order of names; fixed: those that are the same in all rows."""
    constant = {name: _worded(name, value) for name, value in fixed.items() if name not in columns}
    if not len(columns.columns):
        return np.full(len(columns), " ".join(word for _, word in sorted(constant.items())), dtype=object)
    number = columns.groupby([*columns], dropna=False, sort=False).ngroup().to_numpy()
    texts = []
    for row in columns.iloc[np.unique(number, return_index=True)[1]].to_dict("records"):
        varied = {str(name): _worded(name, value) for name, value in row.items() if not np.isnan(value)}
        texts.append(" ".join(word for _, word in sorted((constant | varied).items())))
    return np.array(texts, dtype=object)[number]


def _worded(name: object, value: object) -> str:
    return f"{name}={value:.10g}" if isinstance(value, int | float) else f"{name}={value}"


def measure(rows: pd.DataFrame, facts: Facts) -> Measured:
    """Cells of comparable rows: mean regret, its standard error over runs, explicit bound, calls, and whether barred.

    The constant point is none of them: its regret is beside every cell as `trivial`. Where a learner has
    played the same cell in several experiments the rows agree, and one of each run is kept.
    """
    key = [*PROBLEM, *GUARANTEE, "learner"]
    rows = rows.sort_values([*key, "run", "made_for", "horizon"], kind="stable").drop_duplicates([*key, "run"])
    rows = _without_constants(rows, key)
    rows = rows.assign(cell=rows.groupby(key, sort=True).ngroup()).reset_index(drop=True)
    grouped = rows.groupby("cell", sort=True)
    cells = rows.drop_duplicates("cell").sort_values("cell").set_index("cell")[[*key, "private"]]
    runs = grouped.size()
    cells = cells.assign(
        runs=runs,
        regret=grouped["regret"].mean(),
        error=grouped["regret"].std().fillna(0.0) / np.sqrt(runs),
        trivial=grouped["trivial_regret"].mean(),
        bound=grouped["bound"].mean(),
        **{name: grouped[name].mean() for name in CALLS if name in rows},
    )
    delivered = grouped["delivered_epsilon"].max()
    proved = [f"its ledger proves eps = {epsilon:.3g} only" for epsilon in delivered]
    refuted = [facts.refuted.get(learner, "") for learner in cells["learner"]]
    kept = delivered <= cells["epsilon"] * (1 + SLACK)
    barred = np.where(cells["private"], np.where(kept, refuted, proved), "")
    about = [facts.streams[each] for each in zip(cells["feedback"], cells["stream"], strict=True)]
    kind = np.array([each.kind for each in about])
    promised = (kind == STOCHASTIC) | ~cells["learner"].str.split(".").str[0].isin(facts.stochastic_only)
    bound = cells["bound"].where(promised)
    cells = cells.assign(barred=barred, losses=[each.losses for each in about], kind=kind, bound=bound)
    # not every kind of problem is timed
    numbers = rows.reindex(columns=["cell", "run", "regret", "trivial_regret", "seconds"])
    return Measured(numbers, cells.reset_index(drop=True))


def _without_constants(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """All but cells without privacy in which every run has the regret of the constant point: they are that point."""
    apart = (rows["regret"] - rows["trivial_regret"]).abs() > SAME * rows["trivial_regret"].abs().clip(lower=1.0)
    return rows.loc[rows["private"] | apart.groupby([rows[name] for name in key]).transform("any")]
