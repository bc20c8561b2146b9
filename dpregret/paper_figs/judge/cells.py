"""From tidy rows to the cells of one sweep: selection of rows, pairing, and which cells may be fitted.

The saturation rule is declared here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.claims import Claim, ClaimsError, Counterpart
from dpregret.paper_figs.judge.runs import OPTIONS, ORACLES, SLOPE_SPAN, crashes, rows_at
from dpregret.paper_figs.judge.vocabulary import COUNTED, VALUE_COLUMN, Rate

SATURATED_SHARE: Final = 0.5
"""A cell is saturated when its mean regret exceeds this share of the fixed-point baseline, ..."""
SATURATED_DISPLACEMENT: Final = 1.0
"""... or when the noise displaces the minimiser by more than this many radii of the set."""

USED, SATURATED, EARLY, FAILED, CAPPED = "used", "saturated", "pre-asymptotic", "failed", "capped"
EDGE: Final = "at the edge"  # its best regularisation is the smallest or the largest that was tried
STATES: Final = (SATURATED, EARLY, FAILED, CAPPED, EDGE)
"""Why a cell is not fitted."""
SETTINGS: Final = ("set", "dimension", "window", "epsilon", "delta", "strong_convexity")
PRICED: Final = ("window", "epsilon", "delta")
"""Those of a guarantee: a counterpart without privacy may have others."""
SAME: Final = 1e-9
"""Relative difference of regrets of a fixed-point baseline that are equal but for rounding."""
LENGTHS: Final = ("horizon", "samples")
"""Parameters that set the length of a run."""
COUPLED: Final = {
    **dict.fromkeys(LENGTHS, ("horizon",)), "width": ("set", "dimension"), "mu": ("epsilon",), "delta": ("delta",),
}  # fmt: skip
"""Swept parameter -> settings that necessarily change with it."""
BATCH: Final = 128
"""Runs whose quantile counts as one response."""
ODDS: Final = (2, 4, 8, 16, 32, 64)
"""1 / beta; the rarest level has two runs of a batch above it."""
NDArrayBool = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def saturated(means: pd.DataFrame) -> pd.Series:
    """Which cells carry no information on a law: regret near the trivial one, or noise larger than the set."""
    near = means["regret"] > SATURATED_SHARE * means["trivial_regret"]
    return near | (means["displacement"] > SATURATED_DISPLACEMENT)


class NotRun(LookupError):  # noqa: N818 - an answer, not a fault
    """The rows that a claim needs are not there; the message says which."""


@dataclass(frozen=True)
class Cells:
    """One sweep. Cells are sorted by `values`; `responses` has shape (runs, cells), the rest (cells,).

    `values` are those of the swept parameter; `regrets` mean total regrets (or excess risks); `checkpoints` T or n;
    `status` is one of used, saturated, pre-asymptotic, capped, at the edge, failed; `needed` is the T or n from which a
    cell would be usable, by our rules.
    """

    values: Array
    responses: Array
    bounds: Array
    regrets: Array
    checkpoints: Array
    dimensions: Array
    deltas: Array
    status: tuple[str, ...]
    needed: Array
    tight: bool

    @property
    def used(self) -> NDArrayBool:
        """Mask of the cells that enter fits."""
        return np.array([state == USED for state in self.status], dtype=np.bool_)

    def fitted(self) -> Cells:
        """Only the cells that enter fits."""
        used = self.used
        arrays: dict[str, Any] = {
            name: value[..., used] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        return replace(self, **arrays, status=(USED,) * int(used.sum()))


def collect_cells(frame: pd.DataFrame, claim: Claim) -> Cells:
    """Cells of `claim` from the tidy `frame`; raises NotRun when rows are missing, ClaimsError when they are
    ambiguous (the experiment varies a setting that the claim neither sweeps nor fixes)."""
    return _optimum_cells(frame, claim) if claim.response == "optimum" else pivot(swept_rows(frame, claim), claim)


def with_inverse(rows: pd.DataFrame, parameter: str) -> pd.DataFrame:
    """With the column 1 / delta, where that is what is swept."""
    return rows.assign(**{VALUE_COLUMN["delta"]: 1 / rows["delta"]}) if parameter == "delta" else rows


def swept_rows(frame: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The rows behind the cells, with their `response`; raises as `collect_cells`."""
    series = select_rows(frame, claim.learner, claim.variant, claim.experiment, claim.stream, where=claim.where)
    rows = with_inverse(_end_rows(series, claim.parameter), claim.parameter)
    column = VALUE_COLUMN[claim.parameter]
    if claim.parameter != "beta" and (column not in rows.columns or rows[column].isna().any()):
        raise NotRun(f"the rows of {claim.learner}.{claim.variant} in {claim.experiment} have no {column}")
    _refuse_ambiguity(rows, claim)
    if claim.response == "log_slope":
        rows = _join_start(rows, series if claim.parameter != "horizon" else rows, claim)
    rows["response"] = _response(rows, frame, claim)
    if claim.response == "calls" or (claim.response == "noise" and claim.bound == "explicit"):
        most_calls = rows.get("most_calls", np.nan) * rows["checkpoint"]
        rows["bound"] = most_calls if claim.response == "calls" else rows.get("noise_floor", np.nan)
    return quantiles(rows) if claim.parameter == "beta" else rows


def select_rows(
    frame: pd.DataFrame,
    learner: str,
    variant: str,
    experiment: str,
    stream: str,
    where: dict[str, str | float] | None = None,
) -> pd.DataFrame:
    """Rows of one learner in one experiment on one stream; raises NotRun naming what is absent."""
    rows = frame
    conditions = {"experiment": experiment, "learner": learner, "variant": variant, "stream": stream, **(where or {})}
    for column, value in conditions.items():
        before = rows
        if column not in rows.columns:
            raise ClaimsError(f"'where' names {column!r}, which is not a column of a run")
        rows = _filtered(rows, rows_at(rows[column], value))
        if rows.empty:
            text = value if isinstance(value, str) else f"{value:g}"
            if broken := crashes(before):
                raise NotRun(broken[0])
            raise NotRun(f"no rows with {column} = {text} for {learner}.{variant} in {experiment}")
    return rows


def _filtered(rows: pd.DataFrame, mask: NDArrayBool) -> pd.DataFrame:
    """Rows of a mask, without a copy where they are contiguous, as the rows of a learner in a sorted frame are."""
    positions = np.flatnonzero(mask)
    if len(positions) and positions[-1] - positions[0] + 1 == len(positions):
        return rows.iloc[positions[0] : positions[-1] + 1]
    return rows.take(positions)


def _optimum_cells(frame: pd.DataFrame, claim: Claim) -> Cells:
    """One cell per value of the parameter: the regularisation of smallest mean regret over the variants of the pattern.

    The minimum is that of a parabola in log(regularisation) through the best variant and its neighbours. Responses are
    jackknife pseudo-values, one per run, whose mean is the estimate: intervals then follow as for any response.
    """
    learned = frame.loc[(frame["learner"] == claim.learner) & (frame["experiment"] == claim.experiment)]
    names = [name for name in sorted(learned["variant"].unique()) if fnmatch(name, claim.variant)]
    if not names:
        raise NotRun(f"no variants {claim.variant} of {claim.learner} in {claim.experiment}")
    rows = pd.concat(
        [select_rows(learned, claim.learner, name, claim.experiment, claim.stream, claim.where) for name in names]
    )
    rows = _end_rows(rows, claim.parameter)
    _refuse_ambiguity(rows, claim)
    if rows.duplicated(["variant", VALUE_COLUMN[claim.parameter], "run"]).any():
        raise ClaimsError(f"claim {claim.id!r}: several rows for one run in a cell of {claim.experiment}")
    if "regularisation" not in rows.columns or rows["regularisation"].isna().any():
        raise NotRun(f"the rows of {claim.learner} in {claim.experiment} tell no regularisation")
    groups = rows.groupby(VALUE_COLUMN[claim.parameter], sort=True)
    optima = [best_regularisation(cell) for _, cell in groups]
    length = len(optima)
    ends = groups[["checkpoint", "dimension", "delta"]].mean()
    return Cells(
        values=ends.index.to_numpy(dtype=float),
        responses=np.stack([samples for samples, _ in optima], axis=1),
        bounds=np.full(length, np.nan),
        regrets=np.full(length, np.nan),
        checkpoints=ends["checkpoint"].to_numpy(dtype=float),
        dimensions=ends["dimension"].to_numpy(dtype=float),
        deltas=ends["delta"].to_numpy(dtype=float),
        status=tuple(USED if inside else EDGE for _, inside in optima),
        needed=ends["checkpoint"].to_numpy(dtype=float),
        tight=bool(rows["tight"].all()),
    )


def best_regularisation(cell: pd.DataFrame) -> tuple[Array, bool]:
    """Jackknife pseudo-values (runs,) of a cell's best regularisation, and whether it lies within the tried range.

    `cell`: rows of several variants (columns regularisation, run, regret).
    """
    table = cell.pivot_table(index="run", columns="regularisation", values="regret").dropna()  # runs of all variants
    tried, regrets = np.log(table.columns.to_numpy(dtype=float)), table.to_numpy(dtype=float)
    total, runs = regrets.sum(axis=0), len(regrets)
    best = int(np.argmin(total))
    if not 0 < best < len(tried) - 1:
        return np.full(runs, np.exp(tried[best])), False
    near = slice(best - 1, best + 2)

    def bottom(means: Array) -> float:
        curvature, slope, _ = np.polyfit(tried[near] - tried[best], np.log(means[near]), 2)
        return float(np.exp(tried[best] - slope / (2 * curvature)))

    estimate = bottom(total / runs)
    others = np.array([bottom((total - row) / (runs - 1)) for row in regrets])
    return np.asarray(runs * estimate - (runs - 1) * others, dtype=np.float64), True


def _end_rows(series: pd.DataFrame, parameter: str) -> pd.DataFrame:
    """Rows at the end of a run, or, in a T sweep of a learner that does not receive T, at all its checkpoints."""
    if parameter == "best_loss":
        series = series.loc[series["best_loss"] > 0]  # zero has no logarithm
    if parameter in ("epsilon", "mu", "delta"):
        series = series.loc[np.isfinite(series["epsilon"])]
    horizons, checkpoints = series["horizon"].to_numpy(), series["checkpoint"].to_numpy()
    selected = checkpoints == horizons
    if parameter in LENGTHS:
        selected = np.where(series["anytime"], horizons == horizons.max(), selected)
    return _filtered(series, selected)


def _refuse_ambiguity(rows: pd.DataFrame, claim: Claim) -> None:
    swept = {VALUE_COLUMN[claim.parameter], *COUPLED.get(claim.parameter, ()), *claim.varies}
    if claim.parameter == "horizon" and not rows["anytime"].all():
        swept.add("window")  # a tree over the whole run has W = T
    for column in (*SETTINGS, "horizon"):
        if column in swept or column not in rows.columns:
            continue
        values = sorted(rows[column].dropna().unique())
        if len(values) > 1:
            listed = ", ".join(str(value) for value in values[:6])
            raise ClaimsError(
                f"claim {claim.id!r}: experiment {claim.experiment} holds several values of {column} ({listed}); "
                f"fix one with where: {{{column}: ...}}"
            )


def _join_start(rows: pd.DataFrame, series: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """Add the regrets and the displacement at T / 8 to every row at T that has them."""
    keys = ["run", *rows.columns.intersection([*SETTINGS, *OPTIONS])]
    start = series[[*keys, "horizon", "checkpoint", "regret", "trivial_regret", "displacement"]].copy()
    start["checkpoint"] *= SLOPE_SPAN
    if claim.parameter == "horizon":
        keys = [key for key in keys if key != "window"]
        start = start.drop(columns=["horizon", "window"])
    else:
        keys = [*keys, "horizon"]
    joined = rows.merge(start, on=[*keys, "checkpoint"], suffixes=("", "_start"), validate="one_to_one")
    if joined.empty:
        raise NotRun(f"no checkpoint at T / {SLOPE_SPAN} for {claim.learner}.{claim.variant} in {claim.experiment}")
    return joined


def _response(rows: pd.DataFrame, frame: pd.DataFrame, claim: Claim) -> Array:
    if claim.response in COUNTED:
        return rows[COUNTED[claim.response]].to_numpy(dtype=float)
    if claim.response == "calls":
        return np.asarray(rows.filter(ORACLES).sum(axis=1) * rows["checkpoint"], dtype=np.float64)
    regret = rows["regret"].to_numpy(dtype=float)
    if claim.counterpart is not None:
        regret = regret - _counterpart_regret(rows, frame, claim, claim.counterpart)
    if claim.response != "log_slope":
        return regret
    start = rows["regret_start"].to_numpy(dtype=float)
    if claim.counterpart is not None:
        early = rows.assign(
            checkpoint=rows["checkpoint"] // SLOPE_SPAN, regret=start, trivial_regret=rows["trivial_regret_start"]
        )
        start = start - _counterpart_regret(early, frame, claim, claim.counterpart)
    return np.asarray((regret - start) / np.log(SLOPE_SPAN), dtype=np.float64)


def _counterpart_regret(rows: pd.DataFrame, frame: pd.DataFrame, claim: Claim, counterpart: Counterpart) -> Array:
    """Regret of the non-private counterpart on the same losses: same experiment, stream, options, set, dimension and
    run, and the same regret of the fixed-point baseline, since a stream may be aimed at T or epsilon.

    Raises NotRun where it was not measured on these losses, and ClaimsError where several of its rows are as near.
    """
    where = {key: value for key, value in claim.where.items() if key in ("set", "dimension")} | counterpart.where
    baseline = select_rows(frame, counterpart.learner, counterpart.variant, claim.experiment, claim.stream, where)
    baseline = baseline.sort_values("horizon", kind="stable")
    same = rows.columns.intersection([*SETTINGS, *OPTIONS]).difference(list(PRICED))
    keys = ["run", *same, "checkpoint", *([] if baseline["anytime"].all() else ["horizon"])]
    name = f"the counterpart {counterpart.learner}.{counterpart.variant}"
    longest = baseline.loc[baseline["horizon"] == baseline.groupby(keys, dropna=False)["horizon"].transform("max")]
    least, most = (getattr(longest.groupby(keys, dropna=False)["regret"], end)() for end in ("min", "max"))
    if not np.allclose(least, most, rtol=SAME, atol=SAME):
        varied = [column for column in PRICED if longest[column].nunique() > 1]
        raise ClaimsError(
            f"claim {claim.id!r}: {name} depends on {', '.join(varied)} in {claim.experiment}; fix one in its where"
        )
    losses = {"regret": "counterpart", "trivial_regret": "counterpart_trivial"}
    table = longest.drop_duplicates(keys)[[*keys, *losses]].rename(columns=losses)
    joined = rows[[*keys, "trivial_regret"]].merge(table, on=keys, how="left", validate="many_to_one")
    if joined["counterpart"].isna().any():
        raise NotRun(f"{name} lacks rows in {claim.experiment}")
    if not np.allclose(joined["trivial_regret"], joined["counterpart_trivial"], rtol=SAME, atol=SAME, equal_nan=True):
        raise NotRun(f"{name} met other losses in {claim.experiment}: its fixed-point baseline has another regret")
    return joined["counterpart"].to_numpy(dtype=float)


def quantiles(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for every batch of runs and every beta: `response` is the batch's quantile at 1 - beta, `odds` 1 / beta.

    rows: one for every run, with its `response`. The mean over batches then estimates the quantile, and batches are
    independent as runs are. Further columns are means over the batch; runs that fill no batch are left out.
    """
    batch = rows["run"] // BATCH
    complete = batch.map(batch.value_counts()) == BATCH
    numbers = rows.loc[complete].groupby(batch.loc[complete])
    status = "ok" if (rows["status"] == "ok").all() else "failed"
    means = numbers.mean(numeric_only=True).assign(status=status, tight=bool(rows["tight"].all()))
    means = means.assign(run=means.index)
    parts = [means.assign(response=numbers["response"].quantile(1 - 1 / odds), odds=odds) for odds in ODDS]
    return pd.concat(parts, ignore_index=True)


def pivot(rows: pd.DataFrame, claim: Claim) -> Cells:
    """Cells of swept rows; raises as `collect_cells`."""
    column = VALUE_COLUMN[claim.parameter]
    cell = _numbered(rows, column, *COUPLED.get(claim.parameter, ()))  # sets may be of equal width
    run = _numbered(rows, "run")
    _, firsts = np.unique(cell, return_index=True)
    cells = len(firsts)
    if np.bincount(run * cells + cell).max() > 1:
        raise ClaimsError(f"claim {claim.id!r}: several rows for one run in a cell of {claim.experiment}")
    failed = np.bincount(cell, weights=rows["status"].to_numpy() != "ok") > 0
    table = np.full((run.max() + 1, cells), np.nan)
    table[run, cell] = rows["response"]
    table = table[~np.isnan(table[:, ~failed]).any(axis=1)]  # runs present in every sound cell
    if len(table) < 2:
        raise NotRun(f"fewer than two runs are in all cells of {claim.learner}.{claim.variant}")
    means = _means(rows, cell)
    marks = [_status(dict(zip(means, row, strict=True)), claim) for row in means.to_numpy().tolist()]
    return Cells(
        values=rows[column].to_numpy(dtype=float)[firsts],
        responses=table,
        bounds=means["bound"].to_numpy(),
        regrets=means["regret"].to_numpy(),
        checkpoints=means["checkpoint"].to_numpy(),
        dimensions=means["dimension"].to_numpy(),
        deltas=means["delta"].to_numpy(),
        status=tuple(FAILED if broken else state for (state, _), broken in zip(marks, failed, strict=True)),
        needed=np.array([rounds for _, rounds in marks]),
        tight=bool(rows["tight"].all()),
    )


def _numbered(rows: pd.DataFrame, *columns: str) -> np.ndarray:
    """The number of each row's values among all that occur in these columns together, in their order.

    Groups of pandas are the same, and cost as much as all else of a simulated verdict, of which there are thousands.
    """
    number = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        different, inverse = np.unique(rows[column].to_numpy(), return_inverse=True)
        number = len(different) * number + inverse
    return np.unique(number, return_inverse=True)[1]


def _means(rows: pd.DataFrame, cell: np.ndarray) -> pd.DataFrame:
    """Means over the runs of each cell of the columns that decide its status; the maximum of `capped`."""
    averaged = ["regret", "trivial_regret", "displacement", "bound", "checkpoint", "dimension", "window", "delta"]
    start = "displacement_start" if "displacement_start" in rows else "displacement"
    numbers = np.stack([rows[name].to_numpy(dtype=float) for name in (*averaged, start)], axis=1)
    means = pd.DataFrame(numbers, cell, [*averaged, "displacement_start"]).groupby(level=0).mean()
    capped = rows["capped"].groupby(cell).max().astype(float) if "capped" in rows else 0.0
    return means.assign(capped=capped)


def _status(mean: Mapping[Hashable, float], claim: Claim) -> tuple[str, float]:
    """Status of a cell with these means, and the number of rounds from which it would be usable.

    A log slope must start late enough and unsaturated, at T / 8.
    Saturation does not disqualify a cell for a claim of linear regret (it is the claim), for an explicit or a lower
    bound, nor for the size of the noise itself, which no set can cap.
    """
    rule, rounds, displacement = claim.asymptotic_from, mean["checkpoint"], mean["displacement_start"]
    span = SLOPE_SPAN if claim.response == "log_slope" else 1
    noise_time = mean["displacement"] * rounds  # in rounds
    early = span * max(float(rule.rounds), rule.windows * mean["window"], rule.noise_times * noise_time)
    by_noise, by_regret = displacement * rounds / SATURATED_DISPLACEMENT, 0.0
    limit = SATURATED_SHARE * mean["trivial_regret"]
    if mean["regret"] > limit:
        excess = mean["regret"] / limit if limit > 0 else math.inf
        by_regret = rounds * excess ** (1 / _decay(claim))
    exempt = (
        claim.type in ("linear", "below", "stated")
        or claim.response in ("noise", "calls", "draws")
        or claim.side == "lower"
    )
    needed = float(early if exempt else max(early, by_regret, by_noise))
    if not exempt and (by_regret > 0 or displacement > SATURATED_DISPLACEMENT):
        return SATURATED, needed
    if rounds < early or mean["window"] < rule.smallest_window:
        return EARLY, needed
    cut = mean["capped"] > 0 and not (rule.capped or claim.type == "below")
    return (CAPPED if cut else USED), needed


def _decay(claim: Claim) -> float:
    """Power of 1/T, or 1/n, by which the response falls beside the trivial one, if the claim is right."""
    if claim.parameter not in LENGTHS or claim.rate is None:
        return 1.0
    trivial = 0.0 if claim.response == "excess" else 1.0
    return max(trivial - claim.rate.power, 0.1)


def of_risk(rows: pd.DataFrame) -> bool:
    """Whether rows of runs are of learners from records: they have an excess risk as their regret, and n as T."""
    return "width" in rows and bool(rows["width"].notna().any())


def setting(rows: pd.DataFrame, besides: Sequence[str] = ()) -> str:
    """The common setting of rows of runs, such as `T = 65536, d = 4, W = 16, eps = 8`, of risks `n = 65536`; `besides`
    is left out."""
    length = "n" if of_risk(rows) else "T"
    symbols = {"horizon": length, "samples": "n", "dimension": "d", "window": "W", "epsilon": "eps", "delta": "delta"}
    parts = []
    for name, symbol in symbols.items():
        values = set(map(float, rows[name])) if name in rows and name not in besides else set()
        if len(values) == 1 and np.isfinite(value := values.pop()) and value > 0:
            parts.append(f"{symbol} = {value:.10g}")
    return ", ".join(parts)


def coordinate(claim: Claim, values: Array) -> Array:
    """log of the swept variable, such as ln T, ln n, ln(log2 d), ln(log2 W + 1), ln G_W, ln ln(1/beta) or ln mu.

    values: of beta, and of delta, 1 over it.
    """
    variable = np.log(values) if claim.parameter in ("beta", "delta") else values
    if claim.parameter == "landau":
        variable = landau(values)
    if claim.parameter in ("window", "experts", "corners"):
        variable = np.log2(values) + (claim.parameter == "window")
    return np.asarray(np.log(variable), dtype=np.float64)


def landau(windows: Array) -> Array:
    """G_W = sum_{j<W} (C(2j, j) / 4^j)^2 of every window: the least variance for a window of W is its square."""
    root = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1.0, float(windows.max()))))
    return np.cumsum(np.square(root))[windows.astype(np.int64) - 1]


def mean_root(windows: Array) -> Array:
    """A_W: the mean of sqrt(number of noisy nodes) over the sums of a block of the window tree.

    At position j of a block of W = 2^m a sum holds m + 1 - v2(j) noisy nodes, v2 the trailing zeros: i of them at
    W / 2^(i+1) positions for i < m, m at the last one. A_W is 1 at W = 1 and about sqrt(log2 W) later.
    """
    roots = []
    for window in windows:
        depth = round(float(np.log2(window)))
        zeros = np.arange(depth)
        roots.append(float(np.sum(0.5 ** (zeros + 1) * np.sqrt(depth + 1 - zeros)) + 0.5**depth))
    return np.array(roots)


def direction(claim: Claim) -> int:
    """+1 where the theorem speaks of large values of the parameter, -1 for eps and both mu (which go to 0).

    An upper bound is violated when response / bound grows towards that side, whether the bound itself grows (regret
    in T) or falls (excess risk in n); a lower bound when it falls, hence the other sign.
    """
    towards = -1 if claim.parameter in ("epsilon", "mu", "convexity") else 1
    return towards if claim.side == "upper" else -towards


def log_factor(claim: Claim, rate: Rate, cells: Cells) -> Array:
    """Logarithm of the claimed rate without the power of the parameter, one number per cell.

    For a log slope over T the law is differenced like the response: (law(T) - law(T / 8)) / ln 8, so that
    regret ~ ln T predicts a constant.
    """
    if claim.bound == "explicit":
        return np.asarray(np.log(cells.bounds) - rate.power * coordinate(claim, cells.values))
    if rate.nodes:
        return np.asarray(np.log(mean_root(cells.values)), dtype=np.float64)
    if claim.response == "log_slope" and claim.parameter == "horizon":
        start = replace(cells, values=cells.values / SLOPE_SPAN, checkpoints=cells.checkpoints / SLOPE_SPAN)
        law, before = (
            sweep.values**rate.power * np.log(_argument(rate, sweep)) ** rate.log_power for sweep in (cells, start)
        )
        return np.asarray(np.log((law - before) / np.log(SLOPE_SPAN)) - rate.power * np.log(cells.values))
    if rate.log_power == 0:
        return np.zeros_like(cells.values)
    binary = claim.parameter == "dimension" and rate.log_argument == "parameter"
    logarithm = (np.log2 if binary else np.log)(_argument(rate, cells))
    return np.asarray(rate.log_power * np.log(logarithm), dtype=np.float64)


def _argument(rate: Rate, cells: Cells) -> Array:
    """The argument of the logarithm in a law, one number per cell; in a law of beta the values are 1 / beta."""
    if rate.log_argument in ("n/delta", "T/delta"):
        return cells.checkpoints / cells.deltas
    return {
        "parameter": cells.values,
        "2np": 2 * cells.checkpoints * cells.dimensions,
        "2p": 2 * cells.dimensions,
        "p/4": cells.dimensions / 4,
        "d/beta": cells.dimensions * cells.values,
    }[rate.log_argument]
