"""Parts of the report: the command of a claim, tables as printed, scripts of others."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from dpregret.paper_figs.judge.claims import load_paper
from dpregret.paper_figs.report.errata_page import section
from dpregret.paper_figs.report.page import VENDOR, vendored
from dpregret.paper_figs.report.provenance import job_times
from dpregret.paper_figs.report.views import paper_view

PAPER = "lou_cheung_2020"
REFERENCE = Path("results") / "reference"


def test_a_table_as_printed_stands_openly_and_the_wide_one_is_folded(repository: Path, tmp_path: Path) -> None:
    texts = load_paper(repository / f"workflows/papers/{PAPER}")
    (tmp_path / PAPER).mkdir()
    for name in ("claims.csv", "checks.csv", "errata.csv", "table_1_all.csv"):
        shutil.copy(repository / REFERENCE / PAPER / name, tmp_path / PAPER)
    (tmp_path / PAPER / "table_1.html").write_text("<main>\n<table><tr><td>as printed</td></tr></table></main>")
    (table,) = paper_view(tmp_path, texts.claims, section(tmp_path, texts), {}).tables
    assert str(table.printed) == "<table><tr><td>as printed</td></tr></table>"
    assert len(table.rows) == len(texts.claims.tables[0].rows)


def test_scripts_of_others_are_those_of_the_manifest() -> None:
    found = vendored()
    assert [each["name"] for each in found] == ["d3", "@observablehq/plot"]
    for each in found:
        assert hashlib.sha256((VENDOR / each["file"]).read_bytes()).hexdigest() == each["sha256"]
        assert (VENDOR / each["text"]).read_text().startswith("Copyright")
    assert len(list(VENDOR.iterdir())) == 2 * len(found) + 1, "a file that the manifest does not name"


def test_of_several_keys_of_a_job_the_newest_counts(tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    for age, (name, seconds) in enumerate({"paper/play.aa": 9, "paper/play.bb": 2, "report": 1}.items()):
        path = tmp_path / f"{name}.tsv"
        path.write_text(f"s\tcpu_time\tmax_rss\n{seconds}\t{seconds}\t5\n")
        os.utime(path, ns=(age, age))
    found = job_times(tmp_path)
    assert found[["part", "job", "cpu_time"]].to_dict("list") == {
        "part": ["paper", "other"], "job": ["paper/play", "report"], "cpu_time": [2, 1],
    }  # fmt: skip
