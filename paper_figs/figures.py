"""The figures of a paper: its claims file lists them, `write_figures` draws those that the runs allow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpregret.core import stamped
from dpregret.paper_figs import comparison_figures, drift_figures, exact_figures, regret_figures, risk_figures
from dpregret.paper_figs.cells import LENGTHS, Cells, NotRun, collect_cells, coordinate
from dpregret.paper_figs.claims import EXACT, Claim, ClaimsFile, FigureEntry
from dpregret.paper_figs.claims_files import load_claims
from dpregret.paper_figs.curves import exponent_series, printed_pairs, series_of
from dpregret.paper_figs.figure_style import (
    MARKERS,
    colours,
    legend_below,
    look,
    panels,
    readable_log,
    save,
    value_ticks,
)
from dpregret.paper_figs.formats import read_csv
from dpregret.paper_figs.labels import RESPONSE_AXES, Parameter, Response, labels_of
from dpregret.paper_figs.runs import read_runs

Drawer = Callable[[pd.DataFrame, ClaimsFile, FigureEntry], Figure]


def write_figures(
    runs_dir: Path | str,
    paper: Path | str,
    out_dir: Path | str,
    costs_file: Path | str | None = None,
    expiry_file: Path | str | None = None,
    experiments: Collection[str] | None = None,
    exact: Path | str | None = None,
) -> list[Path]:
    """Draw the figures that `paper`, a folder of YAML files, lists and runs allow, as PDF and PNG; return the paths.

    `costs_file` (Parquet: set, dimension, operation, seconds, calls) and `expiry_file` (Parquet: window, age,
    mu_gdp) feed the figures of oracle costs and of the loss by age, `exact` is the folder of exact tables (CSV).
    """
    runs, claims = read_runs(runs_dir), load_claims(Path(paper) / "claims.yaml")
    if experiments is not None:
        runs = runs.loc[runs["experiment"].isin(list(experiments))]
    files = {"costs": costs_file, "expiry": expiry_file}
    paths = []
    for entry in claims.figures:
        try:
            figure = _draw(runs, claims, entry, exact if entry.type in EXACT else files.get(entry.type))
        except NotRun:
            continue
        paths += save(figure, Path(out_dir) / entry.name)
    return paths


def _draw(runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry, file: Path | str | None) -> Figure:
    if entry.type in FILE_FIGURES:
        if file is None:
            raise NotRun(f"no file for the figure of type {entry.type}")
        return FILE_FIGURES[entry.type](stamped.read(file))
    if entry.type in EXACT:
        paths = {name: Path(file or "") / f"{name}.csv" for name in EXACT[entry.type]}
        if missing := [str(path) for path in paths.values() if not path.exists()]:
            raise NotRun(f"no exact table {missing[0]}")
        tables = {name: read_csv(path) for name, path in paths.items()}
        if entry.type == "crossover":
            return exact_figures.crossover_figure(tables, runs)
        return EXACT_FIGURES[entry.type](tables)
    return RUN_FIGURES[entry.type](runs, claims, entry)


def _regret(runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Figure:
    series = series_of(runs, entry.experiment, skip_variants=("printed",))
    if not series:
        raise NotRun(f"no rows of {entry.experiment}")
    return regret_figures.regret_figure(runs, entry.experiment, series)


def _printed(runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Figure:
    series = printed_pairs(runs, entry.experiment)
    if not series:
        raise NotRun(f"no printed variant in {entry.experiment}")
    return regret_figures.printed_figure(runs, entry.experiment, series)


def _exponent(runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Figure:
    assert entry.parameter is not None  # checked when the entry was read
    return exponent_figure(runs, claims, entry.parameter, entry.experiment, entry.responses)


FILE_FIGURES: Final[Mapping[str, Callable[[pd.DataFrame], Figure]]] = {
    "costs": regret_figures.costs_figure, "expiry": regret_figures.age_figure,
}  # fmt: skip
EXACT_FIGURES: Final[Mapping[str, Callable[[exact_figures.Tables], Figure]]] = {
    "league": exact_figures.league_figure, "ages": exact_figures.ages_figure, "map": exact_figures.map_figure,
    "crossing": exact_figures.crossing_figure,
}  # fmt: skip
RUN_FIGURES: Final[Mapping[str, Drawer]] = {
    "regret": _regret, "printed": _printed, "exponent": _exponent,
    "sweep": lambda runs, claims, entry: comparison_figures.sweep_figure(runs, entry, claims.response),
    "bounds": lambda runs, claims, entry: comparison_figures.bounds_figure(runs, entry, claims.response),
    "winners": lambda runs, claims, entry: comparison_figures.winners_figure(runs, entry),
    "overhead": lambda runs, claims, entry: comparison_figures.overhead_figure(runs, entry),
    "gain": exact_figures.gain_figure,
    "tuning": lambda runs, claims, entry: comparison_figures.tuning_figure(runs, claims, entry),
    "drift": lambda runs, claims, entry: drift_figures.drift_figure(runs, entry.experiment),
    "collapse": lambda runs, claims, entry: risk_figures.collapse_figure(runs, entry.experiment),
    "width": lambda runs, claims, entry: risk_figures.width_figure(runs, entry.experiment),
    "iteration-cost": lambda runs, claims, entry: risk_figures.iteration_cost_figure(runs, entry.experiment),
    "privacy-cost": lambda runs, claims, entry: comparison_figures.privacy_cost_figure(
        runs, entry.experiment, claims.response
    ),
}  # fmt: skip


def exponent_figure(
    runs: pd.DataFrame, claims: ClaimsFile, parameter: Parameter, experiment: str,
    responses: Collection[Response] = ("log_slope", "excess"),
) -> Figure:  # fmt: skip
    """Response against the swept parameter with fitted power laws, and local slopes beside the prediction.

    Filled markers are fitted cells, open ones are saturated or pre-asymptotic. Raises NotRun when no claim on
    `parameter` that the experiment tests has rows.
    """
    drawn = [(claim, cells) for claim in _figured_claims(claims, parameter, responses)
             if claim.experiment == experiment and (cells := _cells_or_none(runs, claim)) is not None]  # fmt: skip
    if not drawn:
        raise NotRun(f"no claim on {parameter} has rows in {experiment}")
    with look():
        figure, axes = panels(2)
        paint = colours([claim.id for claim, _ in drawn])
        for place, (claim, cells) in enumerate(drawn):
            exponent_series(axes, claim, cells, paint[claim.id], MARKERS[place % len(MARKERS)])
        response = drawn[0][0].response
        label = labels_of(response).axes[parameter]
        axes[0].set(xscale="log", yscale="log", xlabel=label, ylabel=RESPONSE_AXES[response])
        axes[0].set_title("mean over runs, 95 % intervals, fitted power")
        axes[1].set(xscale="log", xlabel=label, ylabel="local slope of response / bound")
        axes[1].axhline(0.0, color="0.3", linewidth=0.8)
        axes[1].set_title("zero: grows like the bound; above: outgrows it")
        for axis in axes if parameter not in LENGTHS else ():
            values = np.concatenate([np.exp(coordinate(claim, cells.values)) for claim, cells in drawn])
            value_ticks(axis.xaxis, np.round(values, 2) if parameter == "landau" else values)
        readable_log(axes[0].yaxis)
        legend_below(figure, axes[0], 3)
    return figure


def _figured_claims(claims: ClaimsFile, parameter: Parameter, responses: Collection[Response]) -> list[Claim]:
    """Claims of powers of `parameter` on the given responses; one per learner, variant, stream and setting."""
    chosen: dict[tuple[str, ...], Claim] = {}
    for claim in claims.claims:
        if claim.parameter == parameter and claim.type == "exponent" and claim.response in responses:
            key = (claim.learner, claim.variant, claim.experiment, claim.stream, claim.response, str(claim.where))
            chosen.setdefault(key, claim)
    return list(chosen.values())


def _cells_or_none(runs: pd.DataFrame, claim: Claim) -> Cells | None:
    try:
        return collect_cells(runs, claim)
    except NotRun:
        return None
