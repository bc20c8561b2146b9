"""The figures of a paper: its claims file lists them, `write_figures` draws those that the runs allow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.core import parquet
from dpregret.paper_figs.figures import compare, costs, gains, regret, risk, style, sweep
from dpregret.paper_figs.figures import exact as exact_figures
from dpregret.paper_figs.figures.drift import drift
from dpregret.paper_figs.figures.exponent import exponent
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import EXACT, ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.claims_files import load_claims
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.text.formats import read_csv

Drawer = Callable[[Page, pd.DataFrame, ClaimsFile, FigureEntry], Plate]
NARROW: Final = "one_column"
"""Folder below the figures with those of several panels once more, as PDF, for one column of a paper."""
MOST_NARROW: Final = 4
"""Panels that one column holds."""
FILE_FIGURES: Final[Mapping[str, Callable[[Page, pd.DataFrame], Plate]]] = {"costs": costs.costs, "expiry": costs.ages}
EXACT_FIGURES: Final[Mapping[str, Callable[[Page, exact_figures.Tables], Plate]]] = {
    "league": exact_figures.league, "ages": exact_figures.ages, "map": exact_figures.bound_map,
    "crossing": exact_figures.crossing,
}  # fmt: skip
RUN_FIGURES: Final[Mapping[str, Drawer]] = {
    "regret": regret.regret, "printed": regret.printed, "exponent": exponent, "sweep": sweep.sweep,
    "bounds": sweep.bounds, "winners": compare.winners, "overhead": compare.overhead, "tuning": compare.tuning,
    "privacy-cost": compare.privacy_cost, "gain": gains.gain, "drift": drift, "collapse": risk.collapse,
    "width": risk.width, "iteration-cost": risk.iteration_cost,
}  # fmt: skip


def write_figures(
    runs_dir: Path | str,
    paper: Path | str,
    out_dir: Path | str,
    costs_file: Path | str | None = None,
    expiry_file: Path | str | None = None,
    experiments: Collection[str] | None = None,
    exact: Path | str | None = None,
    names: Mapping[str, str] | None = None,
) -> list[Path]:
    """Draw the figures that `paper`, a folder of YAML files, lists and runs allow; return the paths.

    Each as PDF, PNG and SVG, with the data behind it as CSV (`Plate.data`); one of two to four panels also as
    `one_column`/{name}.pdf. `costs_file` (Parquet: set, dimension, operation, seconds, calls) and `expiry_file`
    (Parquet: window, age, mu_gdp) feed the figures of oracle costs and of the loss by age, `exact` is the folder of
    exact tables (CSV). `names`: identifier -> what people write (`workflows/plan/titles.py`).
    """
    runs, claims = read_runs(runs_dir), load_claims(Path(paper) / "claims.yaml")
    if experiments is not None:
        runs = runs.loc[runs["experiment"].isin(list(experiments))]
    files = {"costs": costs_file, "expiry": expiry_file}
    wide = Page(names or {})
    narrow = Page(names or {}, narrow=True, recall=wide.recall)
    paths = []
    with style.look():
        for entry in claims.figures:
            source = exact if entry.type in EXACT else files.get(entry.type)
            try:
                plate = draw(wide, runs, claims, entry, source)
            except NotRun:
                continue
            stem = Path(out_dir) / entry.name
            paths += plate.save(stem)
            if 1 < len(plate.axes) <= MOST_NARROW:
                paths += draw(narrow, runs, claims, entry, source).save(stem.parent / NARROW / stem.name, ("pdf",))
    return paths


def draw(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry, file: Path | str | None) -> Plate:
    """One figure; `file` is the table, or the folder of exact tables, that its type draws. Raises NotRun."""
    with style.look():
        if entry.type in FILE_FIGURES:
            if file is None:
                raise NotRun(f"no file for the figure of type {entry.type}")
            return FILE_FIGURES[entry.type](page, parquet.read(file))
        if entry.type in EXACT:
            return _exact(page, runs, entry, file)
        name = entry.experiment
        own = page.recall.of(runs, ("rows", name), lambda: runs.loc[runs["experiment"] == name])
        return RUN_FIGURES[entry.type](page, own, claims, entry)


def _exact(page: Page, runs: pd.DataFrame, entry: FigureEntry, file: Path | str | None) -> Plate:
    paths = {name: Path(file or "") / f"{name}.csv" for name in EXACT[entry.type]}
    if missing := [str(path) for path in paths.values() if not path.exists()]:
        raise NotRun(f"no exact table {missing[0]}")
    tables = {name: read_csv(path) for name, path in paths.items()}
    if entry.type == "crossover":
        return exact_figures.crossover(page, tables, runs)
    return EXACT_FIGURES[entry.type](page, tables)
