"""Notebooks that compare many algorithms: their cells give the text that they show, and draw what they show."""

from pathlib import Path

import notebooks
import pytest
from checkout import ROOT

PAGES = [ROOT / "docs" / f"{name}.ipynb" for name in ("own_algorithm", "csv_to_choice")]


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_shows_what_its_cells_give(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = notebooks.read(page)
    for cell, outputs in zip(notebooks.code_cells(notebook), notebooks.executed(notebook), strict=True):
        kept, now = (notebooks.shown(each) for each in (cell["outputs"], outputs))
        assert kept == now, "".join(cell["source"])
