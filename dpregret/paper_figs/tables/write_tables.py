"""The tables of a paper: the first as the paper prints it, and all columns of each, as CSV, Markdown and LaTeX;
the costs of a round, and the measured effect of each erratum.

What is claimed in words comes from the claims file; every number comes from runs and their verdicts.
No timing enters any of them but the costs of a round, so equal runs give equal bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits, result_tables
from dpregret.paper_figs.judge.cells import SATURATED, NotRun, of_risk, select_rows, setting
from dpregret.paper_figs.judge.claims import QUOTED, ClaimsFile, Erratum, Measure, Table, TableRow
from dpregret.paper_figs.judge.confirmed import NO_DIGESTS, NOTHING_CONFIRMED, Confirmation
from dpregret.paper_figs.judge.read_claims import load_paper
from dpregret.paper_figs.judge.result_tables import NOTHING, PRIVACY_ROUNDING, ExactLosses
from dpregret.paper_figs.judge.runs import COST_COLUMNS, FURTHER_COSTS, KEY, OPTIONS, by_experiment, read_runs, rows_at
from dpregret.paper_figs.judge.universal import universal_checks
from dpregret.paper_figs.judge.verdicts import judge_claims
from dpregret.paper_figs.judge.vocabulary import NOT_RUN, labels_of
from dpregret.paper_figs.tables import printed
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DASH

CALLED: Final = ("projection", "linear oracle", "local oracle")
"""Operations with their calls per round, and CPU seconds per round and run spent in them."""
FURTHER: Final = ("gauge", "separation")
"""Operations that only some learners call; a table has their columns if one does."""
MEASURED_HERE: Final = "runs measured here"


CELL: Final = [name for name in (*KEY, *OPTIONS) if name not in ("epsilon", "delta")]
"""Columns that identify what is played at once, for all its privacy budgets."""


def per_unit(rows: pd.DataFrame) -> pd.DataFrame:
    """Calls and seconds per round or iteration, by row.

    Rows with a number of iterations hold totals that are spread evenly over the budgets of their cell, whose numbers
    of iterations differ: the sum over the cell is divided by the sum of its iterations. Hence `rows` are whole cells.
    """
    costs = rows.filter([*COST_COLUMNS, *FURTHER_COSTS])
    if "iterations" not in rows:
        return costs
    cells = [rows[name] for name in CELL if name in rows]
    totals = costs.assign(iterations=rows["iterations"].clip(lower=1)).groupby(cells, dropna=False)
    sums = totals.transform("sum", min_count=1)
    return costs.where(rows["iterations"].isna(), sums[costs.columns].div(sums["iterations"], axis="index"))


def costs_table(runs: pd.DataFrame, claims: ClaimsFile) -> pd.DataFrame:
    """One row per learner of a table, set and dimension: calls and microseconds per round (or iteration) and per call.

    Rows without timings are left out.
    """
    unit, keys = labels_of(claims.response).unit, ["learner", "variant", "set", "dimension"]
    ends = (runs["status"] == "ok") & (runs["checkpoint"] == runs["horizon"])
    timed = runs.loc[runs["seconds"].notna() & ends]
    called = {name: name.replace(" ", "_") for name in (*CALLED, *FURTHER) if f"{name.replace(' ', '_')}s" in timed}
    costs = per_unit(timed).fillna({f"{column}s": 0.0 for column in called.values()})
    groups = pd.concat([timed[keys], costs], axis="columns").groupby(keys, sort=True)
    means = groups.mean().join(1e6 * groups.median().add_suffix(" median")).assign(runs=groups.size()).reset_index()
    rows = [(row.learner, row.variant, row.label, row.operation) for row in claims.rows]
    algorithms = pd.DataFrame(rows, columns=["learner", "variant", "algorithm", "operation claimed"])
    table = algorithms.drop_duplicates(["learner", "variant"]).merge(means, on=["learner", "variant"])
    text = table[["algorithm", "variant", "set", "dimension", "runs", "operation claimed"]]
    text = text.rename(columns={"runs": MEASURED_HERE}).assign(dimension=text["dimension"].map(formats.size))
    for name, column in called.items():
        text[f"{name}s per {unit}"] = table[f"{column}s"].map(formats.significant)
    text[f"solves per {unit}"] = table["solves"].map(formats.significant)
    text[f"us per {unit}"] = table["seconds median"].map(lambda time: formats.format_number(time, 1))
    for name, column in called.items():
        times = table[f"seconds_{column} median"] / table[f"{column}s"].where(table[f"{column}s"] > 0)
        text[f"us per {name}"] = times.map(formats.format_number)
    return text


EXPONENTS: Final = (
    "horizon", "samples", "dimension", "experts", "window", "landau", "items", "width", "epsilon", "best_loss",
    "corners", "curvature", "smoothness", "convexity", "beta", "delta",
)  # fmt: skip
"""Parameters with a column of exponents, where some row names one; mu is in the column of epsilon."""
ALIAS: Final = {"window": "W", "mu": "eps", "corners": "(ln k)"}
"""Symbols that are shorter in tables than in laws."""
IF_ANY: Final = ("window", "knows", "draws", "previous bound", "lower bound", "previous lower bound")
"""Columns that a table has only where some row fills them."""
BOUND_TEXT, BOUND_LATEX = "bound", "bound (LaTeX)"
Records = Mapping[str, Mapping[Any, Any]]
"""Claim -> its row of claims.csv or checks.csv."""
OPERATIONS: Final = {
    "projections": "projection", "linear_oracles": "linear oracle", "local_oracles": "local linear oracle",
    "solves": "linear solve", "gauges": "gauge", "separations": "separation",
}  # fmt: skip


def write_tables(
    runs_dir: Path | str,
    paper: Path | str,
    out_dir: Path | str,
    experiments: Collection[str] | None = None,
    exact: ExactLosses = NOTHING,
    profile: str = "",
    digests: Mapping[str, str] = NO_DIGESTS,
    confirmed: Confirmation = NOTHING_CONFIRMED,
) -> None:
    """Write claims.csv, checks.csv, jobs.csv, table_1.*, table_1_all.*, costs.* and errata.* of one paper.

    checks.csv has, besides the checks of the claims file, the laws that hold always (`universal.py`).
    `table_1` is the paper's own table with what was measured beneath it, `table_1_all` has a row per learner.
    table_2.*, table_3.* and gains.* are there where the claims file names them.

    `paper`: folder of its YAML files. `experiments`: those of the current profile; claims on others get the
    verdict 'not run'. None takes whatever has rows. `exact`: losses that claims name. `profile`: its name. `digests`:
    claim -> hash of what decides it; `confirmed`: verdicts on fresh seeds, which overrule those that they contradict.
    Raises RunsError or ClaimsError in one line for files that cannot be trusted.
    """
    claims, errata, changes = load_paper(paper)
    runs = read_runs(runs_dir)
    out = Path(out_dir)
    judged = pd.concat([judge_claims(runs, claims, experiments, exact), universal_checks(runs, claims)])
    judged = confirmed.applied(judged.reset_index(drop=True), claims.paper, digests)
    judged["changed"] = [len(changes.get(claim, ())) for claim in judged["claim"]]
    result_tables.write_judged(judged, out)
    result_tables.write_jobs(runs, out, profile)
    paper_table = printed.load_printed(paper, claims) or printed.as_printed(claims, claims.tables[0])
    table_1 = printed.fill(paper_table, claims, judged)
    formats.write_csv(printed.frame(table_1), out / "table_1.csv")
    texts = {"md": printed.markdown_page(table_1), "tex": printed.latex(table_1), "html": printed.html_page(table_1)}
    formats.write_forms(out, "table_1", **texts)
    for number, table in enumerate(claims.tables, 1):
        name = "table_1_all" if number == 1 else f"table_{number}"
        write_table(comparison_table(runs, claims, table, judged), out, name)
    write_table(costs_table(runs, claims), out, "costs")
    write_errata(runs, errata.errata, out, experiments)
    if claims.gains:
        result_tables.write_gains(runs, claims, out)


def write_table(table: pd.DataFrame, out: Path, name: str) -> None:
    """Write `table` as {name}.csv and .md, which has no LaTeX."""
    formats.write_csv(table, out / f"{name}.csv")
    formats.write_forms(out, name, md=formats.markdown(table.drop(columns=BOUND_LATEX, errors="ignore")))


def comparison_table(runs: pd.DataFrame, claims: ClaimsFile, table: Table, judged: pd.DataFrame) -> pd.DataFrame:
    """One table of a paper as text cells, one row per entry; columns that no row fills are left out."""
    by_id: Records = {record["claim"]: record for record in judged.to_dict("records")}
    always: dict[tuple[Any, Any], list[Mapping[Any, Any]]] = {}
    for record in by_id.values():
        if record["origin"] == result_tables.AUTOMATIC:
            always.setdefault((record["learner"], record["variant"]), []).append(record)
    named = {"epsilon" if name == "mu" else str(name) for row in table.rows for name in row.exponents}
    parameters = [name for name in EXPONENTS if name in named]
    parts, calls, rows = by_experiment(runs), per_unit(runs), []
    for row in table.rows:
        reference = row.reference or table.reference
        measured = [by_id[name] for name in row.claim_ids()]
        own_errata = (*row.errata, *(name for record in measured for name in str(record["errata"]).split()))
        cells = {
            "algorithm": row.label,
            "group": row.group,
            "variant": row.variant,
            "privacy": row.privacy,
            "neighbouring": row.neighbouring,
            "window": _protected(parts.get(reference.experiment, runs), row),
            "knows": row.knows or DASH,
            **_reference_cells(parts.get(reference.experiment, runs), calls, claims, table, row),
            "operation claimed": row.operation,
            BOUND_TEXT: row.bound_text,
            BOUND_LATEX: row.bound_latex,
            "previous bound": row.previous or DASH,
            "lower bound": row.lower or DASH,
            "previous lower bound": row.previous_lower or DASH,
            **{f"{symbol_of(claims, name)} exponent": _exponent(row, name, by_id) for name in parameters},
            "stream": "; ".join(dict.fromkeys(str(record["stream"]) for record in measured)) or reference.stream,
            "saturated cells": _saturated(measured),
            "verdicts": _verdicts(claims, [*measured, *always.get((row.learner, row.variant), ())]),
            "errata": " ".join(dict.fromkeys(own_errata)),
        }
        rows.append(cells)
    frame = pd.DataFrame(rows)
    return frame.drop(columns=[name for name in IF_ANY if name in frame.columns and (frame[name] == DASH).all()])


def symbol_of(claims: ClaimsFile, parameter: str) -> str:
    """Short name of a parameter, such as n; that of another kind of problem where the paper's own has none."""
    known = {**labels_of("excess").symbols, **labels_of("regret").symbols, **labels_of(claims.response).symbols}
    return ALIAS.get(parameter) or known[parameter]


MORE: Final = "all T, more than asked"
"""The window of a learner that protects all rounds, in an experiment that asks for less."""


def _protected(rows: pd.DataFrame, row: TableRow) -> str:
    """The window of a row: as declared, or what was played where the experiment asks for windows."""
    if row.window != DASH:
        return row.window
    promised = np.isfinite(rows["epsilon"]) & (rows["window"] > 0) & (rows["status"] == "ok")
    played = promised & (rows["learner"] == row.learner) & (rows["variant"] == row.variant)
    short = promised & (rows["window"] < rows["horizon"])
    if not played.any() or not short.any():
        return row.window
    windows = sorted(set(rows.loc[played & short, "window"]))
    return ", ".join(f"W = {window}" for window in windows) or MORE


def _delivered(rows: pd.DataFrame, epsilon: float) -> str:
    """The accounted epsilon; above the promised one it is only an upper bound.

    Where records of the stream repeat, that of a record in all its rounds stands beside that of a round.
    """
    ledger = float(rows["delivered_epsilon"].mean())
    of_round = f"{'at most ' if ledger > epsilon * (1 + PRIVACY_ROUNDING) else ''}{formats.significant(ledger)}"
    repeated = rows["participations"].max() if "participations" in rows else 1
    if not repeated > 1:
        return of_round
    proved = float(rows["record_epsilon"].max())
    least = float(rows["record_least"].max()) if "record_least" in rows else np.nan
    at_most = "" if least >= proved * (1 - PRIVACY_ROUNDING) else "at most "
    return f"{of_round} a round, {at_most}{formats.significant(proved)} a record in {repeated:.0f} rounds"


def _reference_cells(
    runs: pd.DataFrame, calls: pd.DataFrame, claims: ClaimsFile, table: Table, row: TableRow
) -> dict[str, str]:
    """Cells of a row that are measured at its reference setting. calls: per unit, of all runs."""
    word = labels_of(claims.response).response
    names = ["eps / delta", "accounted eps", "operation counted", "draws", word, f"{word} / bound"]
    names += [f"{word} / baseline", "iterations", "width"] if claims.problem == "erm" else []
    try:
        at = row.reference or table.reference
        rows = last_rows(runs, row.learner, row.variant, at.experiment, at.stream, at.where, LARGEST)
    except NotRun:
        return {**dict.fromkeys(names, NOT_RUN if row.learner == QUOTED else DASH), "draws": DASH}
    regret = rows.sort_values("run")["regret"].to_numpy(dtype=float)
    epsilon, delta = float(rows["epsilon"].iloc[0]), float(rows["delta"].iloc[0])
    private = np.isfinite(epsilon)
    cells = [
        f"{epsilon:g} / {delta:g}" if private else DASH,
        _delivered(rows, epsilon) if private else DASH,
        counted_operations(calls.loc[rows.index]),
        formats.significant(float(rows["draws"].mean())) if "draws" in rows.columns else DASH,
        _mean_text(regret, fixed=claims.problem == "online"),
        formats.significant(float(regret.mean() / rows["bound"].mean())),
    ]
    if claims.problem == "erm":
        cells += [formats.significant(float(regret.mean() / rows["trivial_regret"].mean())), *_problem_cells(rows)]
    return dict(zip(names, cells, strict=True))


def _mean_text(regret: Array, fixed: bool) -> str:
    """Mean with its interval: one decimal for regrets, three significant digits for excess risks and what is below."""
    fixed = fixed and abs(regret.mean()) >= 0.05
    try:
        estimate = fits.mean_interval(regret)
    except fits.NoExponent:
        return formats.format_number(float(regret.mean()), 1) if fixed else formats.significant(float(regret.mean()))
    return formats.with_interval(estimate, 1, least=0.0) if fixed else formats.significant_interval(estimate)


def _problem_cells(rows: pd.DataFrame) -> list[str]:
    """Iterations (marked where they were cut) and Gaussian width, as far as the rows have them."""
    iterations, width, capped = (
        float(rows[name].mean()) if name in rows.columns else np.nan for name in ("iterations", "width", "capped")
    )
    return [formats.significant(iterations) + (" (cut)" if capped > 0 else ""), formats.significant(width)]


LARGEST: Final = ("horizon", "set", "dimension", "window", "epsilon", "delta", *OPTIONS)
"""All settings: rows at the largest value of each differ by their run alone."""


def last_rows(
    runs: pd.DataFrame,
    learner: str,
    variant: str,
    experiment: str,
    stream: str,
    where: Mapping[str, str | float],
    largest: Sequence[str],
) -> pd.DataFrame:
    """The last checkpoint of every run of a learner; raises NotRun.

    A horizon in `where` that a learner does not receive and was not played for is the end of a play as well, where its
    longest play passes it: see `played_to`. Where rows have several values of a setting of `largest`, the largest value
    is taken, of words the first.
    """
    fixed = dict(where)
    horizon = fixed.pop("horizon", None)
    selected = select_rows(runs, learner, variant, experiment, stream, fixed)
    last = (selected["status"] == "ok").to_numpy() & played_to(selected, horizon)
    for column in (name for name in largest if name in selected):
        values = selected.loc[last, column].dropna()
        if len(values):
            last &= (selected[column] == (values.max() if is_numeric_dtype(values) else values.min())).to_numpy()
    rows = selected.loc[last]
    if rows.empty:
        raise NotRun(f"{learner}.{variant} has no finished run in {experiment}")
    return rows


def played_to(rows: pd.DataFrame, horizon: float | str | None) -> np.ndarray:
    """Mask of the ends of plays: of all, or of those of one horizon.

    A learner that does not receive T plays its longest horizon alone: without a play of this one, its rounds until
    there are one. Where its mechanism protects all rounds it must have been made for as many, since the noise of more
    rounds costs more.
    """
    ends = (rows["checkpoint"] == rows["horizon"]).to_numpy()
    if horizon is None:
        return ends
    there = rows_at(rows["checkpoint"], horizon)
    made_for = ~np.isfinite(rows["epsilon"].to_numpy()) | (rows["window"] < 2 * rows["checkpoint"]).to_numpy()
    return ends & there if (ends & there).any() else rows["anytime"].to_numpy() & made_for & there


def counted_operations(calls: pd.DataFrame) -> str:
    """Oracle calls per round or iteration as counted, such as `1 projection`; `none` when there are none."""
    counts = calls.mean().reindex(list(OPERATIONS)).rename(OPERATIONS)
    if counts.isna().all():
        return DASH
    return ", ".join(f"{count:.3g} {label}" for label, count in counts.items() if count > 0) or "none"


def _exponent(row: TableRow, parameter: str, judged: Records) -> str:
    """The claim's number; for log slopes over T it is that of dR / d ln T, marked so."""
    names: Mapping[str, str] = {str(key): value for key, value in row.exponents.items()}
    alias = "mu" if parameter == "epsilon" and "epsilon" not in names else parameter
    if alias not in names or judged[names[alias]]["verdict"] == NOT_RUN:
        return DASH
    record = judged[names[alias]]
    number = result_tables.claim_value(record)
    if not number:
        return "no exponent"
    mark = " (mu)" if alias == "mu" else ""
    mark += " (of dR/dlnT)" if parameter == "horizon" and record["response"] == "log_slope" else ""
    return number + mark


def _saturated(measured: Sequence[Mapping[Any, Any]]) -> str:
    excluded = [part for record in measured for part in str(record["cells_excluded"]).split(" | ") if part]
    used = [str(record["cells_used"]) for record in measured if record["cells_used"]]
    saturated = sum(len(part.split("; ")) for part in excluded if part.startswith(f"{SATURATED}: "))
    total = sum(len(part.split("; ")) for part in (*excluded, *used))
    return f"{saturated} of {total}" if total else DASH


def _verdicts(claims: ClaimsFile, measured: Sequence[Mapping[Any, Any]]) -> str:
    grouped: dict[str, list[str]] = {}
    for record in measured:
        kinds = {"below": "constants", "private": "privacy", "linear": labels_of(claims.response).no_progress}
        mark = " (derived)" if record["origin"] == "derived" else ""
        what = kinds.get(str(record["type"])) or symbol_of(claims, str(record["parameter"])) + mark
        grouped.setdefault(str(record["verdict"]), []).append(what)
    return "; ".join(f"{verdict}: {', '.join(dict.fromkeys(names))}" for verdict, names in grouped.items()) or DASH


COLUMNS: Final = [
    "erratum", "kind", "provenance", "place", "printed", "right", "why", "status", "quantity", "against", "ratio",
    "as printed", "corrected", "of constant", "setting", "claims", "experiment", "note",
]  # fmt: skip
MEASURED, NOT_MEASURABLE = "measured", "not measured"
QUANTITIES: Final = {
    "regret_ratio": ("regret", ("mean regret at the longest horizon", "mean excess risk with most records")),
    "noise_ratio": ("noise_scale", ("noise scale per node", "noise scale")),
}
"""Quantity -> the column of a run that holds it, and its names in words: of regrets, and of risks."""
EMPTY: Final = ("quantity", "as printed", "against", "corrected", "ratio", "of constant", "setting")
"""Columns of an effect."""


def write_errata(
    runs: pd.DataFrame, errata: Sequence[Erratum], out: Path, experiments: Collection[str] | None = None
) -> None:
    """Write errata.csv and errata.md into `out`."""
    rows = [_erratum(runs, erratum, experiments) for erratum in errata]
    formats.write_csv(pd.DataFrame(rows, columns=None if rows else COLUMNS), out / "errata.csv")
    template = printed.environment(printed.TEMPLATES, "md").get_template("errata.md.j2")
    formats.write_forms(out, "errata", md=template.render(rows=rows, measured=MEASURED, other=NOT_MEASURABLE))


def _erratum(runs: pd.DataFrame, erratum: Erratum, experiments: Collection[str] | None) -> dict[str, str]:
    effect = dict.fromkeys(EMPTY, formats.DASH)
    status, note, experiment = NOT_MEASURABLE, erratum.reason, erratum.experiment
    if erratum.measure is not None and experiment is not None:
        try:
            try:
                if experiments is not None and experiment not in experiments:
                    raise NotRun(f"experiment {experiment} is not in this profile")
                effect = measure(runs, erratum.measure, experiment)
            except NotRun as missing:
                experiment, effect = _elsewhere(runs, erratum.measure, missing)
            status = MEASURED
        except (NotRun, fits.NoExponent) as missing:
            status, note = NOT_RUN, str(missing)
    copied = {name: getattr(erratum, name) for name in ("kind", "provenance", "place", "printed", "right", "why")}
    references = {"claims": " ".join(erratum.claims), "experiment": experiment or formats.DASH, "note": note}
    return {"erratum": erratum.id, **copied, "status": status, **effect, **references}


def _elsewhere(runs: pd.DataFrame, what: Measure, missing: NotRun) -> tuple[str, dict[str, str]]:
    """The effect in the first other experiment that has both variants, in its largest setting, and that experiment;
    raises `missing` where none has."""
    for experiment in sorted(runs.loc[runs["learner"] == what.learner, "experiment"].unique()):
        rows = runs.loc[(runs["experiment"] == experiment) & (runs["learner"] == what.learner)]
        for stream in sorted(rows["stream"].unique(), key=lambda name: (name != what.stream, name)):
            with contextlib.suppress(NotRun, fits.NoExponent, pd.errors.MergeError):
                moved = what.model_copy(update={"stream": stream, "where": {}})
                return experiment, measure(rows, moved, experiment, LARGEST)
    raise missing


def measure(
    runs: pd.DataFrame, what: Measure, experiment: str, largest: Sequence[str] = ("horizon",)
) -> dict[str, str]:
    """Printed and corrected value of a quantity, with 95 % intervals where runs differ, and their ratio.

    `of constant`: the printed regret over that of a fixed-point baseline. largest: settings of which the largest value
    is taken. Raises NotRun or NoExponent.
    """
    column, (quantity, of_risks) = QUANTITIES[what.quantity]
    printed_rows, right_rows = (
        last_rows(runs, what.learner, name, experiment, what.stream, what.where, largest)
        for name in (what.variant, what.against)
    )
    options = [name for name in OPTIONS if name in printed_rows]
    keys = ["run", "set", "dimension", "epsilon", "window", *options]
    pairs = printed_rows.merge(right_rows, on=keys, suffixes=("_printed", "_right"), validate="one_to_one")
    if pairs.empty:
        raise NotRun(f"no common runs of {what.variant} and {what.against} of {what.learner} in {experiment}")
    printed, right = (pairs[f"{column}_{side}"].to_numpy(dtype=float) for side in ("printed", "right"))
    if not (np.isfinite(printed).all() and np.isfinite(right).all()):
        raise NotRun(f"{column} is not finite for {what.learner} in {experiment}")
    share = pairs["regret_printed"].mean() / pairs["trivial_regret_printed"].mean() if column == "regret" else np.nan
    return {
        "quantity": of_risks if of_risk(printed_rows) else quantity,
        "against": f"{what.learner}.{what.against}",
        "ratio": formats.significant(float(printed.mean() / right.mean())),
        "of constant": formats.significant(share),
        "setting": setting(printed_rows),
        "as printed": _effect_text(printed),
        "corrected": _effect_text(right),
    }


def _effect_text(values: Array) -> str:
    """Mean with its interval over runs; a range over settings where the quantity is not random."""
    if values.std() == 0 or len(values) < 2:
        return formats.significant(float(values[0]))
    return formats.significant_interval(fits.mean_interval(values))
