"""The figures of a paper: its claims file lists them, `write_figures` draws those that the runs allow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.core import parquet
from dpregret.paper_figs.figures import compare, mechanisms, style, sweep
from dpregret.paper_figs.figures.drift import drift
from dpregret.paper_figs.figures.layout import Page, Plate
from dpregret.paper_figs.judge.cells import NotRun
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry, load_claims
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.text.formats import read_csv

Drawer = Callable[[Page, pd.DataFrame, ClaimsFile, FigureEntry], Plate]
RUN_FIGURES: Final[Mapping[str, Drawer]] = {
    "regret": sweep.regret,
    "printed": sweep.printed,
    "exponent": sweep.exponent,
    "sweep": sweep.sweep,
    "bounds": sweep.bounds,
    "winners": compare.winners,
    "tuning": compare.tuning,
    "privacy-cost": compare.privacy_cost,
    "gain": mechanisms.gain,
    "drift": drift,
}


def write_figures(
    runs_dir: Path | str,
    paper: Path | str,
    out_dir: Path | str,
    costs_file: Path | str | None = None,
    experiments: Collection[str] | None = None,
    exact: Path | str | None = None,
    names: Mapping[str, str] | None = None,
) -> list[Path]:
    """Draw the figures that `paper`, a folder of YAML files, lists and runs allow; return the paths.

    Each as PDF, PNG and SVG, with the data behind it as CSV (`Plate.data`). `costs_file` (Parquet: set, dimension,
    operation, seconds, calls) feeds the figure of oracle costs, `exact` is the folder of exact tables (CSV). `names`:
    identifier -> what people write (`workflows/plan/facts.py`).
    """
    runs, claims = read_runs(runs_dir), load_claims(Path(paper) / "claims.yaml")
    if experiments is not None:
        runs = runs.loc[runs["experiment"].isin(list(experiments))]
    page, paths = Page(names or {}), []
    with style.look():
        for entry in claims.figures:
            try:
                plate = draw(page, runs, claims, entry, exact if entry.type == "crossover" else costs_file)
            except NotRun:
                continue
            paths += plate.save(Path(out_dir) / entry.name)
    return paths


def draw(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry, file: Path | str | None) -> Plate:
    """One figure; `file` is the table, or the folder of exact tables, that its type draws. Raises NotRun."""
    with style.look():
        if entry.type in RUN_FIGURES:
            return RUN_FIGURES[entry.type](page, runs.loc[runs["experiment"] == entry.experiment], claims, entry)
        path = Path(file or "", "crossover.csv" if entry.type == "crossover" else "")
        if not path.is_file():
            raise NotRun(f"no table for the figure of type {entry.type}")
        if entry.type == "crossover":
            return mechanisms.crossover(page, read_csv(path), runs)
        return mechanisms.costs(page, parquet.read(path))
