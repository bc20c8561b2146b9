"""`dpregret table PAPER --to` judges the rows of a finished run as its own job did."""

from pathlib import Path

import pytest

from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run.again import rewrite_tables

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.nightly
@pytest.mark.parametrize("paper", sorted(file.parent.name for file in PAPERS.glob("*/claims.yaml")))
def test_the_tables_of_full_are_made_again_as_they_are(paper: str, tmp_path: Path) -> None:
    if not (RESULTS / paper / "complete.txt").is_file():
        pytest.skip(f"no finished run of full: {RESULTS / paper}")
    made = rewrite_tables(paper, RESULTS, tmp_path)
    assert [path.name for path in made if path.read_bytes() != (RESULTS / paper / path.name).read_bytes()] == []
    assert {"claims.csv", "checks.csv", "jobs.csv"} <= {path.name for path in made}
