"""One page with all errata: what is measured, what is not, and links that lead somewhere."""

import re
from pathlib import Path

import pytest
from planted import planted_paper, write_runs

from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.result_tables import read_lines
from dpregret.paper_figs.report.errata_page import write_errata_page
from dpregret.paper_figs.tables.write import write_tables

PAPER = "lou_cheung_2020"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    results = tmp_path_factory.mktemp("results")
    runs = write_runs(planted_paper(), results / PAPER / "runs")
    papers = repository / "workflows" / "papers"
    write_tables(runs, papers / PAPER, results / PAPER)
    (runs / "errata.parquet").touch()
    (results / PAPER / "figures").mkdir()
    (results / PAPER / "figures" / "printed_errata.png").touch()
    write_errata_page(results, [PAPER], papers, results)
    return results


def test_measured_errata_show_their_effect_and_their_data(page: Path) -> None:
    text = (page / "errata.md").read_text()
    first = text.split("### L1:")[1].split("### L2:")[0]
    assert "**kind:** mistake in print" in first
    assert "**measured:** mean regret at the longest horizon: " in first
    judged = read_lines(page / PAPER, text=True).set_index("claim")
    number = result_tables.number(judged.loc["alg1-printed-gamma"].to_dict())
    assert f"alg1-printed-gamma: {number}, reproduced" in first
    assert f"{PAPER}/runs/errata.parquet" in first
    third = text.split("### L3:")[1].split("### L4:")[0]
    assert "**not measured:** a constant of a radius" in third
    assert "**see:**" not in third


def test_every_link_leads_somewhere(page: Path) -> None:
    for form, pattern in (("md", r"\]\(([^)]+)\)"), ("html", r'href="([^#"]+)"')):
        links = re.findall(pattern, (page / f"errata.{form}").read_text())
        assert len(links) >= 2
        assert f"{PAPER}/figures/printed_errata.png" in links
        assert [link for link in links if not (page / link).exists()] == []
