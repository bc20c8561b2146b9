"""The figures of a paper: its claims file lists them, `write_figures` draws those that the runs allow; and the figure
of one claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.core import parquet
from dpregret.paper_figs.figures import compare, style, sweep
from dpregret.paper_figs.figures.style import RESPONSES, Curve, CurveStyle, PanelFigure, Style, Theme, axis_label
from dpregret.paper_figs.judge.cells import NotRun, coordinate
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, FigureEntry, load_claims
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.text.formats import read_csv

Drawer = Callable[[Theme, pd.DataFrame, ClaimsFile, FigureEntry], PanelFigure]
RUN_FIGURES: Final[Mapping[str, Drawer]] = {
    "regret": sweep.regret,
    "printed": sweep.printed,
    "exponent": sweep.exponent,
    "sweep": sweep.sweep,
    "bounds": sweep.bounds,
    "winners": compare.winners,
    "privacy-cost": compare.privacy_cost,
    "gain": compare.gain,
    "drift": compare.drift,
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

    Each as PDF, PNG and SVG, with its data as CSV (`PanelFigure.data`). `costs_file` (Parquet: set, dimension,
    operation, seconds, calls) is the table of oracle costs, `exact` the folder of exact tables (CSV). `names`:
    identifier -> displayed name (`workflows/plan/facts.py`).
    """
    runs, claims = read_runs(runs_dir), load_claims(Path(paper) / "claims.yaml")
    if experiments is not None:
        runs = runs.loc[runs["experiment"].isin(list(experiments))]
    theme, paths = Theme(names), []
    files = {"costs": costs_file, "crossover": exact and Path(exact, "crossover.csv")}
    with style.style_context():
        for entry in claims.figures:
            try:
                figure = _draw(theme, runs, claims, entry, files.get(entry.type))
            except NotRun:
                continue
            paths += figure.save(Path(out_dir) / entry.name)
    return paths


def _draw(
    theme: Theme, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry, file: Path | str | None
) -> PanelFigure:
    """One figure; `file` is the table that its type draws, where it draws no runs. Raises NotRun."""
    if entry.type in RUN_FIGURES:
        return RUN_FIGURES[entry.type](theme, runs.loc[runs["experiment"] == entry.experiment], claims, entry)
    if file is None or not Path(file).is_file():
        raise NotRun(f"no table for the figure of type {entry.type}")
    if entry.type == "crossover":
        return compare.crossover(theme, read_csv(file), runs)
    return compare.costs(theme, parquet.read(Path(file)))


CLAIMED, LOST = r"claimed $\varepsilon$", r"privacy loss $\varepsilon$"


def draw_claim(claim: Claim, cells: pd.DataFrame, stated: str, verdict: str, file: Path) -> bool:
    """Draw cells (columns value, mean, low, high, law, status) into a PNG file; False where there is none to draw."""
    if cells.empty:
        return False
    private = claim.type == "private"
    values = cells["value"].to_numpy(dtype=float)
    values = values if private else np.exp(coordinate(claim, values))  # as in a fit: log2 d, say
    means, low, high, law = cells[["mean", "low", "high", "law"]].to_numpy(dtype=float).T
    with style.style_context():
        figure = PanelFigure(1, height=2.2)
        panel = figure.panels[0]
        style.log_axis(panel.axis, "x", values)
        if not private and (means > 0).all():
            style.log_axis(panel.axis, "y")
        curve = Curve(values, means, np.abs([means - low, high - means]), (cells["status"] != "used").to_numpy())
        panel.curve(claim.id, curve, CurveStyle(style.PALETTE["blue"], "o", "none"), band=False, key="")
        if np.isfinite(law).all():
            options: Style = {"marker": "_", "markersize": 24, "linestyle": "none"} if len(cells) == 1 else {}
            panel.line("law", values, law, "law", key=f"stated: {stated}", **options)
        panel.axis.set_xlabel(CLAIMED if private else axis_label(claim.parameter, claim.response, fitted=True))
        panel.axis.set_ylabel(LOST if private else RESPONSES[claim.response])
        figure.finding = f"Claim {claim.id}: {verdict}"
        figure.lay_out()
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.mpl_figure.savefig(file, format="png", metadata={"Software": None})
    return True
