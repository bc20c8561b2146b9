"""The results of a paper as tables: claims.csv, checks.csv, jobs.csv and the exact losses, written and read; the gain
of a learner from another mechanism: ratios of noise and of regret on the same losses, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import FAILED, USED, Cells, NotRun, collect_cells, setting
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, Gain, Swept
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.runs import rows_at
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS, RESPONSE_AXES, Rate, labels_of, swept_symbol
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DamageError, Form, read_table

AUTOMATIC: Final = "automatic"
"""The origin of a check that no claims file states: a law that holds always."""
SHARES: Final = ("share", "cells", "where")
"""Columns of checks only, filled where the origin is automatic: the largest share of what is allowed, among how many
cells, and the cell that has it."""
FILES: Final = {"claim": "claims.csv", "check": "checks.csv"}
"""Kind of line -> the file that holds the lines of this kind, and no others."""
SAME: Final = ("learner", "variant", "experiment", "stream", "parameter", "response")
"""The measured quantity of a line."""
FITTED: Final = ("fitted", "fitted_low", "fitted_high", "cells_used")
NUMBER: Final = ("log_aware", "log_aware_low", "log_aware_high")
"""The columns of `number`."""
INTERVALS: Final = ("fitted", "log_aware", "normalised", "late", "bend", "log_level")
NUMBERS: Final = (
    "tolerance", "resolution", "resolution_log", "end_low", "end_high", "largest_run", "share_higher", "share_lower",
    "per_octave", "delta_aic", "runs", "share", "cells",
)  # fmt: skip
FORMS: Final = {
    kind: Form(
        needed=("claim", "verdict"),
        key=("claim",),
        numbers=NUMBERS,
        allowed={"verdict": frozenset(verdicts)},
        intervals=INTERVALS,
    )
    for kind, verdicts in (("claim", CLAIMS), ("check", CHECKS))
}
"""Kind of line -> required form of its file; tables of older runs lack some columns."""


def claim_value(record: Mapping[Any, object], name: str = NUMBER[0]) -> str:
    """The number of a claim on every page: the power that was fitted beside the law's logarithms, with its interval.

    Empty where nothing was fitted. `record` is a row of claims.csv or checks.csv, as numbers or as text; `name` another
    of its estimates.
    """
    value, low, high = (float(str(record[f"{name}{end}"]) or "nan") for end in ("", "_low", "_high"))
    return formats.with_interval(Estimate(value, low, high)) if isfinite(value) else ""


def write_judged(judged: pd.DataFrame, out: Path) -> None:
    """Write claims and checks into `out`; checks say `why` they could not have come out otherwise."""
    for kind, name in FILES.items():
        rows = judged.loc[judged["kind"] == kind].drop(columns=["kind"])
        apart = ["why", *SHARES] if kind == "claim" else []
        formats.write_csv(rows.drop(columns=apart, errors="ignore"), out / name)


def read_judged(folder: Path, text: bool = False, needed: Sequence[str] = ()) -> pd.DataFrame:
    """All lines in a folder of results, those that are claims first, with the column `kind`.

    `text` leaves every cell as it is written; `needed` are further columns that must be there.
    A folder without checks has none; without claims FileNotFoundError.
    Raises DamageError, in one line, for a file that cannot be trusted.
    """
    frames = [
        read_table(folder / name, replace(FORMS[kind], needed=(*FORMS[kind].needed, *needed)), text).assign(kind=kind)
        for kind, name in FILES.items()
        if kind == "claim" or (folder / name).exists()
    ]
    judged = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    judged = judged.fillna({"where": ""}) if "where" in judged else judged
    if judged["claim"].duplicated().any():
        name = judged.loc[judged["claim"].duplicated(), "claim"].iloc[0]
        raise DamageError(f"{folder}: {name!r} is both a claim and a check")
    return judged.fillna({"why": ""}) if "why" in judged else judged.assign(why="")


JOBS: Final = "jobs.csv"
JOB_KEY: Final = ("experiment", "learner", "variant")
HASHES: Final = {"configuration": "config_hash", "code": "code_hash"}
OF_RECORD: Final = "delivered_record"
"""The column that tables of older versions lack."""
JOB_NUMBERS: Final = ("largest_run", "violation", "delivered", OF_RECORD, "noise_scale")
LEVEL: Final = ("level", "level_low", "level_high")
JOBS_COLUMNS: Final = ("profile", *JOB_KEY, "status", "runs", *LEVEL, *JOB_NUMBERS, *HASHES.values())
JOBS_FORM: Final = Form(
    needed=tuple(name for name in JOBS_COLUMNS if name != OF_RECORD),
    key=JOB_KEY,
    numbers=JOB_NUMBERS,
    filled=("runs",),
    intervals=("level",),
)


def write_jobs(runs: pd.DataFrame, out: Path, profile: str) -> None:
    """Write jobs.csv from the checked rows of a paper.

    status: `ok`, or what failed. level: the mean over the ends of plays of regret / fixed-point baseline (of excess
    risk likewise), with its interval over runs; largest_run: the share of one run in its spread. violation: the worst.
    delivered: the largest accounted eps over the eps that was requested; none where nothing is promised.
    delivered_record: that of a record in all its rounds, where records repeat. noise_scale: its geometric mean over
    cells.
    """
    requested = runs["epsilon"].where(np.isfinite(runs["epsilon"]))
    of_record = runs.get("record_epsilon", pd.Series(np.nan, index=runs.index))
    ratios = {"delivered": runs["delivered_epsilon"] / requested, OF_RECORD: of_record / requested}
    scales = np.log(runs["noise_scale"].where(runs["noise_scale"] > 0))
    failed = runs["status"].where(runs["status"] != "ok")
    jobs = runs.assign(status=failed, noise_scale=scales, **ratios).groupby(list(JOB_KEY), sort=True)
    largest = dict.fromkeys(("violation", *ratios), "max")
    how = {"status": "first", "run": "nunique", **largest, "noise_scale": "mean"}
    summary = jobs.agg({**how, **dict.fromkeys(HASHES.values(), "first")}).rename(columns={"run": "runs"})
    known = {name: summary[name].where(np.isfinite(summary[name])) for name in ratios}
    summary = summary.assign(profile=profile, noise_scale=np.exp(summary["noise_scale"]), **known)
    ends = (runs["checkpoint"] == runs["horizon"]) & (runs["trivial_regret"] > 0)
    ratio_of_run = (
        (runs["regret"] / runs["trivial_regret"])[ends].groupby([jobs.ngroup()[ends], runs["run"][ends]]).mean()
    )
    of_job = {job: part.to_numpy(dtype=float) for job, part in ratio_of_run.groupby(level=0)}
    levels = pd.DataFrame([_level(of_job.get(job, np.empty(0))) for job in range(len(summary))], index=summary.index)
    table = summary.fillna({"status": "ok"}).join(levels).reset_index()
    formats.write_csv(table[[*JOBS_COLUMNS]], out / JOBS)


def _level(ratios: Array) -> dict[str, float]:
    """The level of a job from the mean ratio of each of its runs, (runs,), and the share of one run in its spread."""
    if len(ratios) < 2 or not np.isfinite(ratios).all():
        return {**fits.UNKNOWN.columns("level"), "largest_run": np.nan}
    spread = (ratios - ratios.mean()) ** 2
    share = float(spread.max() / spread.sum()) if spread.sum() > 0 else 0.0
    return {**fits.mean_interval(ratios).columns("level"), "largest_run": share}


def read_jobs(folder: Path) -> pd.DataFrame:
    """The jobs of a paper; a table of an older version has no epsilon of a record. Raises DamageError and OSError."""
    jobs = read_table(folder / JOBS, JOBS_FORM)
    return jobs if OF_RECORD in jobs else jobs.assign(**{OF_RECORD: np.nan})


PRIVACY_ROUNDING: Final = 1e-6
"""Relative slack of privacy comparisons: epsilon is found to about this accuracy."""

LEAST: Final = 0.01
"""The smallest epsilon at which statements are tested."""


@dataclass(frozen=True)
class ExactLoss:
    """The privacy loss of a mechanism at its delta on named neighbours, computed without sampling.

    claimed: the epsilon that it promises there. attained: what it loses, a lower bound over all neighbours. on: the
    neighbours and the setting, in words. fails_from: the smallest epsilon at which these neighbours refute it there, 0
    where that is LEAST, NaN where none does. released: of what the definition of privacy speaks of; the loss of noise
    inside of an algorithm bounds that from above, and refutes nothing.
    """

    claimed: float
    attained: float
    on: str
    fails_from: float = math.nan
    released: bool = True

    @property
    def refutes(self) -> bool:
        """Whether the promise is false."""
        return self.released and self.attained > self.claimed * (1 + PRIVACY_ROUNDING)

    def __str__(self) -> str:
        lost = formats.significant(self.attained)
        sentence = f"exact privacy loss eps = {lost}, claimed {self.claimed:g}: {self.on}"
        if not self.released:
            return f"privacy loss of its noisy sums eps = {lost}, claimed {self.claimed:g}: {self.on}"
        if not self.refutes or math.isnan(self.fails_from):
            return sentence
        where = (
            f"from eps = {self.fails_from:.3g} on"
            if self.fails_from
            else f"already at eps = {LEAST}, the smallest tried"
        )
        return f"{sentence}; fails {where}"

    @classmethod
    def read(cls, path: Path) -> dict[str, ExactLoss]:
        """The losses from `write_exact_losses`, by name."""
        return {name: cls(*loss) for name, *loss in formats.read_csv(path).itertuples(index=False)}


ExactLosses = Mapping[str, ExactLoss]
NOTHING: Final[ExactLosses] = MappingProxyType({})


def write_exact_losses(losses: ExactLosses, path: Path) -> None:
    """One row per loss: name, claimed, attained, on, fails_from, released."""
    formats.write_csv(pd.DataFrame([{"name": name, **asdict(loss)} for name, loss in losses.items()]), path)


GAINS: Final = "gains"
GAINED: Final = (
    "What a learner gains when only its mechanism is exchanged: the response (and the mean norm of the noise) with the "
    "replaced mechanism over that with the mechanism in its place, same losses, 95 % intervals over runs. Above 1 the "
    "mechanism is better than the one that it replaces. A cell is saturated or early by the same rules "
    "as in fits, if either mechanism is."
)
GAIN_COLUMNS: Final = (
    "learner", "with", "over", "experiment", "where", "stream", "parameter", "value", "noise ratio", "response",
    "ratio", "setting", "cell", "runs",
)  # fmt: skip


def ratio(first: Array, second: Array) -> fits.Estimate:
    """Mean of `first` over mean of `second`, (runs,) each, with the t interval of jackknife pseudo-values.

    If the numbers of runs differ, the first ones, which both have, are used.
    """
    runs = min(len(first), len(second))
    first, second = first[:runs], second[:runs]
    estimate = first.mean() / second.mean()
    others = (first.sum() - first) / (second.sum() - second)
    return fits.mean_interval(np.asarray(runs * estimate - (runs - 1) * others, dtype=np.float64))


def gains(runs: pd.DataFrame, claims: ClaimsFile) -> pd.DataFrame:
    """One row per learner, mechanism, stream and value; none where a learner has not been run."""
    rows = [row for gain in claims.gains for row in _gain_rows(runs, gain)]
    columns = [name for name in GAIN_COLUMNS if name not in ("noise ratio", "ratio")]
    return pd.DataFrame(rows, columns=[*columns, *fits.UNKNOWN.columns("noise"), *fits.UNKNOWN.columns("ratio")])


def _gain_rows(runs: pd.DataFrame, gain: Gain) -> Iterator[dict[str, object]]:
    runs = runs.loc[runs["experiment"] == gain.experiment]
    numerator = runs.loc[(runs["learner"] == gain.learner) & (runs["variant"] == gain.over)]
    for name, value in gain.where.items():
        numerator = numerator.loc[rows_at(numerator[name], value)]
    settings = {str(stream): setting(rows, besides=(gain.parameter,)) for stream, rows in numerator.groupby("stream")}
    cells = cache(partial(_response_and_noise, runs, gain))  # all variants of a stream are held against the same one
    for stream in sorted(set(runs.loc[runs["learner"] == gain.learner, "stream"]) - {""}):
        for variant in gain.variants:
            try:
                (first, first_noise), (second, second_noise) = (cells(name, stream) for name in (gain.over, variant))
            except NotRun:
                continue
            noisy = bool((first_noise.responses > 0).all() and (second_noise.responses > 0).all())
            for cell, other in _common(first.values, second.values):
                states = first.status[cell], second.status[other]
                if FAILED in states:
                    continue
                noises = first_noise.responses[:, cell], second_noise.responses[:, other]
                yield {
                    "learner": gain.learner,
                    "with": variant,
                    "over": gain.over,
                    "experiment": gain.experiment,
                    "where": " ".join(f"{key}={fixed}" for key, fixed in gain.where.items()),
                    "stream": stream,
                    "parameter": gain.parameter,
                    "value": first.values[cell],
                    "response": gain.response,
                    "setting": settings.get(stream, ""),
                    "cell": next((state for state in states if state != USED), USED),
                    "runs": min(len(first.responses), len(second.responses)),
                    **(ratio(*noises) if noisy else fits.UNKNOWN).columns("noise"),
                    **ratio(first.responses[:, cell], second.responses[:, other]).columns("ratio"),
                }


def _common(first: Array, second: Array) -> Iterator[tuple[int, int]]:
    """Positions of the cells of two sweeps at the same value; cells of equal value pair up where both have as many."""
    for value in np.intersect1d(first, second):
        positions = [np.flatnonzero(values == value) for values in (first, second)]
        if len(positions[0]) == len(positions[1]):
            yield from zip(*(each.tolist() for each in positions), strict=True)


def _response_and_noise(runs: pd.DataFrame, gain: Gain, variant: str, stream: str) -> list[Cells]:
    """Cells of a variant, the gain's learner's own or name.variant; raises NotRun."""
    learner, _, suffix = variant.rpartition(".")
    symbol = labels_of(gain.response).symbols[gain.parameter]
    named = {"id": GAINS, "source": "", "says": "", "learner": learner or gain.learner, "variant": suffix}
    swept = {name: getattr(gain, name) for name in Swept.model_fields}
    claim = Claim.model_validate({**swept, **named, "stream": stream, "rate": Rate(symbol, 1.0)})
    noise = claim.model_copy(update={"response": "noise", "counterpart": None})
    return [collect_cells(runs, measured) for measured in (claim, noise)]


def write_gains(runs: pd.DataFrame, claims: ClaimsFile, out: Path) -> None:
    """Write gains.csv with numbers, and gains.md with intervals in words."""
    table = gains(runs, claims)
    formats.write_csv(table, out / f"{GAINS}.csv")
    text = table.assign(value=table["value"].map("{:.10g}".format)).astype("object").fillna("").astype("str")
    text["where"] = (
        text["where"].str.replace("=", " = ").str.replace(r"\.0\b", "", regex=True).replace("", formats.DASH)
    )
    if (text["where"] == formats.DASH).all():
        text = text.drop(columns="where")
    text["response"] = [RESPONSE_AXES[response].split(",")[0] for response in table["response"]]
    text["parameter"] = [swept_symbol(*pair) for pair in zip(table["parameter"], table["response"], strict=True)]
    for kind, name in (("noise", "noise ratio"), ("ratio", "ratio")):
        text[name] = [claim_value(row, kind) or formats.DASH for row in table.to_dict("records")]
    formats.write_captioned(text[[name for name in GAIN_COLUMNS if name in text]], GAINED, out, GAINS)
