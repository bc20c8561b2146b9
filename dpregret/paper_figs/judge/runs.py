"""Tidy results of a paper: read every Parquet file of its runs, check columns and numbers, and give one frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from dpregret.core import parquet
from dpregret.core.learner_output import LARGEST, LearnerFault, check_violation, range_in_words


class Limit(NamedTuple):
    """least, most: both ends are allowed, infinity only where it is an end. unknown: NaN is allowed."""

    least: float
    most: float
    unknown: bool = False


LIMITS: Final[Mapping[str, Limit]] = {
    **dict.fromkeys(("regret", "trivial_regret"), Limit(-LARGEST, LARGEST)),
    **dict.fromkeys(("violation", "comparator_gap", "displacement", "noise_norm"), Limit(0.0, LARGEST)),
    "bound": Limit(-LARGEST, LARGEST, unknown=True),
    "noise_scale": Limit(0.0, LARGEST, unknown=True),
    "mu_gdp": Limit(0.0, math.inf, unknown=True),
    "delivered_epsilon": Limit(0.0, math.inf),
    "record_epsilon": Limit(0.0, math.inf, unknown=True),
    "record_least": Limit(0.0, math.inf, unknown=True),
    "epsilon": Limit(float(np.finfo(np.float64).smallest_subnormal), math.inf),
    "delta": Limit(0.0, 1.0),
}
"""Column -> what a row with status ok may hold."""


def first_fault(rows: pd.DataFrame) -> str | None:
    """A sentence about the first impossible number in finished rows, else None. Missing columns pass."""
    for name, limit in LIMITS.items():
        if name in rows:
            values = rows[name].to_numpy(dtype=np.float64)
            fine = ((values >= limit.least) & (values <= limit.most)) | (limit.unknown & np.isnan(values))
            if not fine.all():
                return f"{name} is {values[~fine][0]:.6g}, must be {range_in_words(*limit)}"
    return None


def check_rows(rows: pd.DataFrame, domain: Any | None) -> None:
    """Raise LearnerFault for an impossible number of a play, or points outside the set (if there is one)."""
    if fault := first_fault(rows):
        raise LearnerFault(fault)
    if domain is not None and "violation" in rows:
        check_violation(float(rows["violation"].max()), domain)


class Kind(NamedTuple):
    """A kind of column. holds: whether a dtype is of this kind; dtype: the dtype after reading, None: unchanged."""

    name: str
    holds: Callable[[Any], bool]
    dtype: str | None
    empty: object


def _is(kind: str, dtype: Any) -> bool:
    """pandas' `is_..._dtype`, looked up late: a plan names columns and reads none."""
    return bool(getattr(pd.api.types, f"is_{kind}_dtype")(dtype))


TEXT: Final = Kind("text", lambda dtype: _is("string", dtype) or _is("object", dtype), "str", "")
FLAG: Final = Kind("flag", partial(_is, "bool"), "bool", False)
INTEGER: Final = Kind("integer", partial(_is, "integer"), "int64", 0)
SIZE: Final = Kind("size", partial(_is, "integer"), None, 0)
NUMBER: Final = Kind("number", lambda dtype: _is("numeric", dtype) and not _is("bool", dtype), "float64", math.nan)

COLUMNS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("paper", "experiment", "learner", "variant", "stream", "set"), TEXT),
    "tight": FLAG,
    "horizon": INTEGER,
    "anytime": FLAG,
    "dimension": SIZE,
    **dict.fromkeys(("window", "run", "checkpoint"), INTEGER),
    **dict.fromkeys(("epsilon", "delta", "regret", "trivial_regret", "bound", "displacement", "noise_norm"), NUMBER),
    **dict.fromkeys(("comparator_gap", "violation", "noise_scale", "delivered_epsilon", "mu_gdp"), NUMBER),
    "noise_distribution": TEXT,
    **dict.fromkeys(("status", "config_hash", "code_hash"), TEXT),
}
"""Every column that a results file must have, and its kind. A size is whole, and a float where it may be 2^1000."""

COST_COLUMNS: Final = (
    "projections", "linear_oracles", "local_oracles", "solves",
    "seconds", "seconds_projection", "seconds_linear_oracle", "seconds_local_oracle",
)  # fmt: skip
"""Calls and CPU seconds, per round (or iteration) and run; NaN where a file has none. Timings are the only columns
that two equal runs do not share."""

FURTHER_COSTS: Final = ("gauges", "separations", "seconds_gauge", "seconds_separation")
"""The same of oracles that few learners call; files have them where one did."""
ORACLES: Final = ("projections", "linear_oracles", "local_oracles", "gauges", "separations")
"""Those of both that count calls of a set."""

SLOPE_SPAN: Final = 8
"""A log slope is taken between T / 8 and T: the last three doublings."""
OPTIONS: Final = (
    "active", "best_loss", "length", "kill", "probability", "strong_convexity", "strength", "corners", "curvature",
    "smoothness",
)  # fmt: skip
"""Numeric options of a stream, risk or set that an experiment may vary; they identify rows where there are any."""
OPTIONAL: Final = (
    *COST_COLUMNS, *FURTHER_COSTS, *OPTIONS,
    "iterations", "width", "width_error", "capped", "draws", "lower_bound", "regularisation",
    "clipped", "noise_floor", "phases", "most_calls", "regret_pieces", "regret_last",
    "participations", "record_epsilon", "record_least",
)  # fmt: skip
"""Further numeric columns. Of empirical risk minimisation: iterations of the learner, Gaussian width of the set and
its standard error, whether the iterations were cut. Of experts: numbers of draws and of phases, and a lower bound of
the stream. Of regularised leaders: the regularisation. Of bandits: the share of observed losses that were clipped. Of
Gaussian sums: a lower bound on the mean norm of the noise. Of learners that bound them: calls of an oracle a round. Of
streams in the order of time: the regret against the best point of each piece, and against the best of all rounds. Of
streams that repeat their records: the most rounds that a record is in, and an epsilon of it in all of them:
no record's is above the first, nor below the second."""

KEY: Final = (
    "paper", "experiment", "learner", "variant", "stream", "set", "dimension", "window", "epsilon", "delta",
    "horizon", "run", "checkpoint",
)  # fmt: skip
"""Columns that identify a row, together with those of `OPTIONS` that there are."""


class RunsError(ValueError):
    """A results file that cannot be trusted: the message names the file and the fault in one line."""


def read_runs(runs_dir: Path | str, columns: Collection[str] | None = None) -> pd.DataFrame:
    """Read all `*.parquet` files below `runs_dir` into one checked frame, sorted by `KEY`.

    columns: of `COLUMNS`, besides those that identify rows (None: all, and `OPTIONAL`). Raises RunsError when there is
    no file, when one is not what was written, or when `check_runs` refuses one.
    """
    root = Path(runs_dir)
    files = sorted(root.rglob("*.parquet"))
    if not files:
        raise RunsError(f"{root}: no Parquet file of runs")
    always = {*KEY, "status", "config_hash"}
    declared = COLUMNS if columns is None else {name: COLUMNS[name] for name in COLUMNS if name in {*always, *columns}}
    needed = None if columns is None else [*declared, *OPTIONS]
    frames = [check_columns(read_file(file, needed), str(file), declared) for file in files]
    return check_runs(pd.concat(frames, ignore_index=True), str(root))


DIGITS: Final = 1e-5
"""Relative difference of numbers that are one setting: a file of claims may write it with six digits."""


def same_setting(numbers: Any, value: float) -> np.ndarray:
    """Which numbers are this setting, by their relative difference alone: a delta of 1e-24 is not one of 1e-12."""
    return np.isclose(np.asarray(numbers, dtype=float), value, rtol=DIGITS, atol=0.0)


def rows_at(column: pd.Series, value: str | float) -> np.ndarray:
    """Mask of the rows that a `where` takes by one of its columns."""
    if isinstance(value, str) or not _is("numeric", column.dtype):
        return np.asarray(column == value)
    return same_setting(column, value)


def by_experiment(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Experiment -> its rows, in which a selection takes less time than in all rows."""
    return {str(name): rows for name, rows in runs.groupby("experiment", sort=False)}


def empty_row() -> pd.DataFrame:
    """The row of a learner that crashed: no stream, no number."""
    return pd.DataFrame([{name: kind.empty for name, kind in COLUMNS.items()}])


def crashes(frame: pd.DataFrame) -> list[str]:
    """Learners that crashed, in words."""
    rows = frame.loc[frame["stream"] == "", ["learner", "variant", "experiment", "status"]]
    return [f"{learner}.{variant} in {experiment} {status}" for learner, variant, experiment, status in rows.to_numpy()]


def read_file(file: Path, columns: Collection[str] | None) -> pd.DataFrame:
    """Those of some columns that a file has, unchecked; raises RunsError for a file that is no results file."""
    try:
        return parquet.read(file, columns)
    except parquet.StampError as fault:
        raise RunsError(str(fault)) from fault


def check_columns(frame: pd.DataFrame, origin: str, declared: Mapping[str, Kind] = COLUMNS) -> pd.DataFrame:
    """Return the declared columns of `frame` with plain dtypes.

    Raises RunsError naming a missing or odd one, and for a finished row outside `LIMITS`.
    Of all `COLUMNS`, cost columns are always there afterwards, the other optional ones where `frame` has them.
    """
    if missing := [name for name in declared if name not in frame.columns]:
        raise RunsError(f"{origin}: missing columns {', '.join(missing)}")
    actual = frame.dtypes.to_dict()
    for name, kind in declared.items():
        integral = kind == SIZE and _is("float", actual[name]) and bool((frame[name] % 1 == 0).all())
        if not integral and not kind.holds(actual[name]):
            raise RunsError(f"{origin}: column {name} holds {actual[name]}, expected {kind.name}")
    dtypes = {name: kind.dtype for name, kind in declared.items() if kind.dtype is not None}
    further = [name for name in OPTIONAL if name in frame.columns]
    if odd := [name for name in further if not _is("numeric", actual[name])]:  # flags count as numbers
        raise RunsError(f"{origin}: column {odd[0]} holds {actual[odd[0]]}, expected {NUMBER.name}")
    done = frame["status"] == "ok"
    if fault := first_fault(frame if done.all() else frame.loc[done]):
        raise RunsError(f"{origin}: a row with status ok that cannot be: {fault}")
    costs = COST_COLUMNS if declared is COLUMNS else ()
    missing_costs = dict.fromkeys((name for name in costs if name not in further), float("nan"))
    dtypes |= dict.fromkeys(further, "float64")
    casts = {name: dtype for name, dtype in dtypes.items() if actual[name] != dtype}
    checked = frame[[*declared, *further]]
    return (checked.astype(casts) if casts else checked).assign(**missing_costs)  # casts are slow


def check_runs(frame: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Check consistency across files; return the rows sorted by `KEY`.

    Raises RunsError for two configurations of one experiment (half of the files are stale then), and for a row that
    occurs twice.
    """
    hashes = frame.groupby(["paper", "experiment"])["config_hash"].nunique()
    if mixed := [str(experiment) for _, experiment in hashes[hashes > 1].index]:
        raise RunsError(f"{origin}: files of different configurations in experiment {', '.join(mixed)}; rerun it")
    key = [*KEY, *(name for name in OPTIONS if name in frame.columns)]
    duplicated = frame.duplicated(key)
    if duplicated.any():
        first = frame.loc[duplicated].iloc[0]
        where = ", ".join(f"{name}={first[name]}" for name in key)
        raise RunsError(f"{origin}: the same row twice: {where}")
    return frame.sort_values(key, kind="stable", ignore_index=True)
