"""Every figure of a finished run of the profile full, laid out without a fault."""

from pathlib import Path

import pytest
from figure_faults import faults

from dpregret.paper_figs.figures.style import style_context
from dpregret.paper_figs.figures.write import drawn
from dpregret.paper_figs.judge.read_claims import load_claims
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.workflows.plan.facts import display_names
from dpregret.workflows.plan.read import PAPERS

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.nightly
@pytest.mark.parametrize("paper", sorted(file.parent.name for file in PAPERS.glob("*/claims.yaml")))
def test_every_figure_of_full_is_laid_out_without_a_fault(paper: str) -> None:
    """No ink at the edges, no text on another, at most eight entries in one legend, few sizes, a sentence above."""
    folder = RESULTS / paper
    if not (folder / "complete.txt").is_file():
        pytest.skip(f"no finished run of full: {folder}")
    claims, runs = load_claims(PAPERS / paper / "claims.yaml"), read_runs(folder / "runs")
    files = {"costs": folder / "oracles.parquet", "crossover": folder / "exact" / "crossover.csv"}
    with style_context():
        found = {name: list(faults(figure)) for name, figure in drawn(runs, claims, files, display_names())}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert set(found) == {entry.name for entry in claims.figures}
