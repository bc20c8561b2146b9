"""Parts of the report: what the first screen says, the command of a claim, tables as printed, scripts of others."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from dpregret.paper_figs.judge.claims_csv import read_lines
from dpregret.paper_figs.judge.claims_files import load_paper
from dpregret.paper_figs.report.errata_page import section
from dpregret.paper_figs.report.headlines import headlines
from dpregret.paper_figs.report.page import Run
from dpregret.paper_figs.report.scripts import VENDOR, vendored
from dpregret.paper_figs.report.sections import paper_view
from dpregret.paper_figs.text import formats

PAPER = "lou_cheung_2020"
REFERENCE = Path("results") / "reference"


def test_findings_are_measured_and_gone_when_not_run(repository: Path, tmp_path: Path) -> None:
    texts = load_paper(repository / f"workflows/papers/{PAPER}")
    for name in ("claims.csv", "checks.csv", "errata.csv", "table_1_all.csv"):
        (tmp_path / PAPER).mkdir(exist_ok=True)
        shutil.copy(repository / REFERENCE / PAPER / name, tmp_path / PAPER)

    def found(verdict: str, reason: str) -> list[tuple[str, str, str]]:
        claims = formats.read_csv(repository / REFERENCE / PAPER / "claims.csv", dtype=str, keep_default_na=False)
        claims.loc[claims["claim"] == "thm1-printed", ["verdict", "reason"]] = verdict, reason
        formats.write_csv(claims, tmp_path / PAPER / "claims.csv")
        view = paper_view(tmp_path, texts.claims, section(tmp_path, texts), {})
        return [(each.kind, each.anchor, each.sentence) for each in headlines([view], tmp_path, {})]

    said = found("violated", "loses eps = 2.5 where 2 is claimed, exactly: here")
    sentence = (
        "Lou & Cheung 2020, Theorem 1, eq. (15): that the Gamma noise of eq. (15) gives window eps-DP is refuted: "
    )
    lost = "it loses eps = 2.5 where 2 is claimed, exactly."
    assert said[0] == ("privacy refuted", f"claim-{PAPER}-thm1-printed", sentence + lost)
    kinds = {kind for kind, *_ in said}
    assert kinds >= {"privacy refuted", "mistake in print", "law met"}
    judged = read_lines(tmp_path / PAPER).set_index("claim")
    for kind, anchor, told in said:
        line = judged.loc[anchor.removeprefix(f"claim-{PAPER}-")]
        assert line["verdict"] != "not run"
        if kind == "law met":
            assert f"^{{{line['normalised']:.3f}}}$ [{line['normalised_low']:.3f}, " in told
            assert line["verdict"] == "reproduced"
    for verdict, reason in (("not run", "experiment x is not in this profile"), ("reproduced", "delivers 1 times")):
        assert f"claim-{PAPER}-thm1-printed" not in {anchor for _, anchor, _ in found(verdict, reason)}


def test_the_command_of_a_claim_names_the_table_and_the_profile() -> None:
    snakemake = ".venv/bin/snakemake --cores all"
    assert Run().command(PAPER) == f"{snakemake} results/{PAPER}/claims.csv"
    assert Run("mine", "a/mine.yaml").command(PAPER) == (
        f"{snakemake} results/mine/{PAPER}/claims.csv --config profile=a/mine.yaml"
    )


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
    assert [each.name for each in found] == ["d3", "@observablehq/plot"]
    for each in found:
        assert each.intact
        assert not replace(each, script=each.script + b"\n").intact
        assert each.terms.startswith("Copyright")
    assert len(list(VENDOR.iterdir())) == 2 * len(found) + 1, "a file that the manifest does not name"
