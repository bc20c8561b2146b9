"""The figures of a paper: its claims file lists them, `write_figures` draws those that the runs allow; and the figure
of one claim."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import compare, style, sweep
from dpregret.paper_figs.figures.grammar import TYPES, Curve, PanelFigure, Source, Style, Theme
from dpregret.paper_figs.figures.style import RESPONSES, CurveStyle, axis_label
from dpregret.paper_figs.judge.cells import NotRun, coordinate
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.read_claims import load_claims, source_of
from dpregret.paper_figs.judge.runs import read_runs

PAPER_FILES: Final = ("../findings.yaml",)
DRAWN_BY: Final = (compare, sweep)
"""The modules whose functions draw figures: each registers its types when it is imported."""


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
    identifier -> displayed name (`workflows/plan/facts.py`). The figures of findings are drawn as cards, too.
    """
    runs, claims = read_runs(runs_dir), load_claims(Path(paper) / "claims.yaml")
    if experiments is not None:
        runs = runs.loc[runs["experiment"].isin(list(experiments))]
    files = {"costs": costs_file, "crossover": exact and Path(exact, "crossover.csv")}
    paths, cards = [], cards_of(Path(paper))
    with style.style_context():
        for name, figure in drawn(runs, claims, files, names):
            paths += figure.save(Path(out_dir) / name)
            if name in cards:
                paths.append(figure.save_card(Path(out_dir) / f"{name}.card.png"))
    return paths


def cards_of(paper: Path) -> set[str]:
    """The figures of a paper that findings show on the front page of the report."""
    file = paper / PAPER_FILES[0]
    findings = source_of(file).data["findings"] if file.exists() else ()
    return {entry["figure"] for entry in findings if entry.get("paper") == paper.name and "figure" in entry}


def drawn(
    runs: pd.DataFrame,
    claims: ClaimsFile,
    files: Mapping[str, Path | str | None],
    names: Mapping[str, str] | None = None,
    only: Collection[str] = (),
) -> Iterator[tuple[str, PanelFigure]]:
    """Names and figures of a paper, as far as runs and files allow them, not laid out.

    files: type -> the table that it draws, of types that draw one. only: names of figures; all where none is given.
    """
    for entry in claims.figures:
        if only and entry.name not in only:
            continue
        file = files.get(entry.type)
        rows = runs if not entry.experiment else runs.loc[runs["experiment"] == entry.experiment]
        source = Source(Theme(names), rows, claims, entry, None if file is None else Path(file))
        try:
            figure = TYPES[entry.type](source)
        except NotRun:
            continue
        figure.title = entry.title
        yield entry.name, figure


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
        figure = PanelFigure(1, height=2.6)
        panel = figure.panels[0]
        style.log_axis(panel.axis, "x", values)
        if not private and (means > 0).all():
            style.log_axis(panel.axis, "y")
        curve = Curve(values, means, np.abs([means - low, high - means]), (cells["status"] != "used").to_numpy())
        panel.curve(claim.id, curve, CurveStyle(style.PALETTE[0], "o", "none"), band=False, key="")
        if np.isfinite(law).all():
            options: Style = {"marker": "_", "markersize": 24, "linestyle": "none"} if len(cells) == 1 else {}
            panel.line("law", values, law, "law", key=f"stated: {stated}", **options)
        panel.axis.set_xlabel(CLAIMED if private else axis_label(claim.parameter, claim.response, fitted=True))
        panel.axis.set_ylabel(LOST if private else RESPONSES[claim.response])
        figure.finding = f"Claim {claim.id}: {verdict}"
        figure.copy_round()
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.mpl_figure.savefig(file, format="png", metadata={"Software": None})
    return True
