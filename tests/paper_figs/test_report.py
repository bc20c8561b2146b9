"""The report: every number leads to its data, the curves are those of the runs, and a browser can use it offline."""

import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from planted import only_png, planted_paper, write_runs
from scipy import stats

from dpregret.core import parquet
from dpregret.core.files import RECORDS
from dpregret.paper_figs.figures.write import write_figures
from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.read_claims import load_paper
from dpregret.paper_figs.judge.result_tables import read_judged
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.report.findings import (
    headlines,
    lines_of,
    mechanism_name,
    section,
    text_table,
    write_errata_page,
)
from dpregret.paper_figs.report.page import (
    VENDOR,
    ReportError,
    Run,
    _always,
    claim_view,
    explorer,
    filled,
    spoken,
    table_cell,
    titled,
    unbroken,
    unclaimed,
    unpacked,
    vendored,
    write_report,
)
from dpregret.paper_figs.report.provenance import gather, in_minutes, job_times, write_resources
from dpregret.paper_figs.tables.show import judged_table
from dpregret.paper_figs.tables.write_tables import write_tables
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formula import marked_up
from dpregret.paper_figs.validation.simulate import Sweep
from dpregret.paper_figs.winners.laws import Chosen, stored, stored_cells, with_fits
from dpregret.paper_figs.winners.table import FOLDER, LAWS, ExperimentFacts, Facts, StreamFacts
from dpregret.paper_figs.winners.write_winners import write_winners
from dpregret.workflows.plan.read import PAPERS

PAPER = "lou_cheung_2020"
EXPERIMENTS = dict.fromkeys(("horizon", "errata", "typical", "dimension", "epsilon", "whole-horizon"), "A title")
NAMES = {"wdp-cocop-gamma": "WDP-COCOP (Gamma)", "wdp-cocop-gamma.corrected": "WDP-COCOP <Gamma> & co"}
SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
RUN = Run("mine", "mine.yaml", "0123456789ab", NAMES)


def test_a_mechanism_has_the_name_of_its_variant() -> None:
    names = {"a-b": "AB", "a-b.zcdp": "AB, zCDP", "c": "C", "c.zcdp": "C, zCDP", "a-b.root": "AB"}
    shown = [mechanism_name(names, "a-b", variant) for variant in ("zcdp", "c.zcdp", "root")]
    assert shown == ["zCDP", "C, zCDP", "root"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    squared = Sweep(
        lambda checkpoints, value: checkpoints**0.5 * np.log(checkpoints / 1e-6) ** 2,
        learner="pocp-igd",
        experiment="whole-horizon",
        settings={"window": 32768},
    )
    planted = pd.concat([planted_paper(), squared.frame()], ignore_index=True)
    runs = write_runs(planted, folder / "runs" / PAPER)
    texts = PAPERS / PAPER
    write_tables(runs, texts, folder / PAPER, EXPERIMENTS)
    judged = formats.read_csv(folder / PAPER / "claims.csv", dtype=str, keep_default_na=False)
    broken = judged["claim"] == "thm1-printed"  # its experiment is not among the planted ones
    judged.loc[broken, ["verdict", "reason"]] = "violated", "exact privacy loss eps = 3, claimed 2: on a pair"
    formats.write_csv(judged, folder / PAPER / "claims.csv")
    drawn = folder / PAPER / "figures"
    costs = [("ball", "linear oracle", 1e-6), ("ball", "projection", 4e-6), ("flow", "linear oracle", 2e-6)]
    frame = pd.DataFrame(costs, columns=["set", "operation", "seconds"]).assign(dimension=8, calls=1, rows=1)
    parquet.write(frame, folder / PAPER / "oracles.parquet", parquet.Stamp("", ""))
    about = ExperimentFacts({"norm-kink": "full", "ridge-logistic": "full"}, {})
    facts = Facts(
        {(PAPER, name): about for name in EXPERIMENTS},
        dict.fromkeys([("full", "norm-kink"), ("full", "ridge-logistic")], StreamFacts("kinked", "oblivious")),
    )
    files = [folder / "played" / PAPER / name / "runs.parquet" for name in EXPERIMENTS]
    for file in files:
        parquet.write(planted.loc[planted["experiment"] == file.parent.name], file, parquet.Stamp("", ""))
    with pytest.MonkeyPatch.context() as patch:
        only_png(patch, "svg")
        write_figures(runs, texts, drawn, experiments=["errata"])
        write_winners(files, facts, folder)
    (folder / PAPER / "runs").mkdir()
    (folder / PAPER / "runs" / "errata.parquet").touch()
    (folder / "audit").mkdir()
    (folder / "audit" / "audit.md").write_text("Privacy.\n\n| learner | eps |\n|:--|:--|\n| a\\|b | 1 |\n")
    for name, seconds in (("lou_cheung_2020/horizon/one", 60.0), ("report", 30.0)):
        path = folder / "benchmark" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:01:00\t12.5\n")
    return folder


@pytest.fixture(scope="module")
def page(results: Path) -> Path:
    write_report(results, results / "runs", {PAPER: EXPERIMENTS}, PAPERS, results / "report.html", RUN)
    return results / "report.html"


def test_stored_laws_are_those_of_the_stored_cells(results: Path) -> None:
    """Advice reads both tables: what the fits chose must not be of digits that no table has."""
    kept = stored(results / FOLDER / LAWS)
    new = with_fits(kept.drop(columns=["cells", *Chosen._fields]), stored_cells(results / FOLDER))
    assert kept["cells"].notna().any()
    assert list(kept["cells"].fillna("")) == list(new["cells"].fillna(""))
    for name in Chosen._fields:
        np.testing.assert_allclose(kept[name].astype(float), new[name], rtol=5e-6, atol=0)  # the digits of a table


def test_every_link_and_reference_stays_inside_and_leads_somewhere(page: Path) -> None:
    text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    anchors = set(re.findall(r'\bid="([^"]+)"', text))
    assert len(anchors) == len(re.findall(r'\bid="', text)), "an id stands twice"
    addresses = set(re.findall(r'(?:href|src)="([^"]*)"', text))
    assert {address[:5] for address in addresses if not address.startswith("#")} == {"data:"}
    inside = {address[1:].split("?")[0] for address in addresses if address.startswith("#")}
    assert len(inside) > 100
    assert inside <= anchors


def test_no_table_has_the_name_of_a_column_as_its_head(page: Path) -> None:
    text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = [re.sub("<[^>]+>", "", head).strip() for head in re.findall(r"<th\b.*?</th>", text, flags=re.DOTALL)]
    assert len(heads) > 50
    raw = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
    assert raw.fullmatch("resolution_log")
    assert [head for head in heads if raw.fullmatch(head)] == []


def test_no_column_of_the_page_is_empty(page: Path) -> None:
    text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    tables = re.findall(r'<table class="sortable">.*?</table>', text, flags=re.DOTALL)
    assert len(tables) > 3
    columns = {"learner": ["a.b", "c"], "selected": ["", ""], "noise": ["-", "-"], "ratio": ["1", "-"]}
    view = filled(text_table("gains", "Gains", "Caption.", columns, zip(*columns.values(), strict=True)))
    assert (view["columns"], view["rows"]) == (["learner", "ratio"], [["a.b", "1"], ["c", "-"]])


def test_no_line_ends_in_an_interval_a_setting_or_before_a_unit(page: Path) -> None:
    assert unbroken("<main>3.4 min of 8 hours, [−0.5, 1], T = 8, 5 % of [0, 1)") == (
        "<main>3.4\xa0min of 8 hours, [−0.5,\xa01], T\xa0=\xa08, 5\xa0% of [0, 1)"
    )
    body = page.read_text(encoding="utf-8").split("<main")[1].split("</main>")[0]
    assert "\xa0%" in body
    assert re.findall(r"\d (?:min|s|MB|GiB|%)(?!\w)", body) == []


def test_laws_quoted_by_a_table_are_listed_among_many(results: Path) -> None:
    lines = lines_of(results / PAPER)
    law = next(line for line in lines.values() if line["origin"] == result_tables.AUTOMATIC)
    many = {
        str(number): {**law, "claim": f"bound.{number}", "verdict": "holds", "share": "0.5"} for number in range(60)
    }
    least = {**law, "claim": "ledger.last.one", "verdict": "holds", "share": "0.1"}
    opened = [_always({"one": {**law, "verdict": verdict}}, set())["failed"] for verdict in ("fails", "inconclusive")]
    assert opened == [True, False]
    view = _always({**many, "least": least}, {"ledger-last-one"})
    assert [line["claim"] for line in view["listed"]] == [*(f"bound.{number}" for number in range(25)), least["claim"]]
    assert len(_always({**many, "least": least}, set())["listed"]) == 25


def test_a_claim_has_the_same_number_on_cards_in_tables_errata_and_the_command(results: Path, page: Path) -> None:
    judged = read_judged(results / PAPER, text=True).set_index("claim")
    text = page.read_text(encoding="utf-8").replace("\xa0", " ")
    found = {str(claim): result_tables.claim_value(row) for claim, row in judged.T.to_dict().items()}
    numbers = {claim: number for claim, number in found.items() if number}
    assert len(numbers) >= 8
    apart = [claim for claim in numbers if not numbers[claim].startswith(f"{float(judged['fitted'][claim]):.2f}")]
    assert apart, "no planted claim whose raw slope is another number"
    for claim, number in numbers.items():
        card = text.split(f'id="claim-{PAPER}-{claim}"')[1].split("</article>")[0]
        assert marked_up(number) in card.split("</summary>")[0]
        assert "<mn>1</mn></math>, measured" not in card  # a power is measured of a symbol
        assert all(f"<span>{marked_up(slope)}</span>" in card for slope in judged["local_slopes"][claim].split("; "))
        assert f"dpregret check {PAPER} {claim} --profile mine.yaml</code>" in card
    wide = formats.read_csv(results / PAPER / "table_1_all.csv", dtype=str)
    paper = load_paper(PAPERS / PAPER)
    for row, entry in zip(wide.to_dict("records"), paper.claims.rows, strict=True):
        cells = {re.sub(r" \((mu|of dR/dlnT)\)$", "", str(row[name])) for name in wide if name.endswith("exponent")}
        assert {numbers[claim] for claim in entry.exponents.values() if claim in numbers} <= cells
    stated = judged.loc[judged["origin"] != result_tables.AUTOMATIC].reset_index()
    for line in judged_table(stated.to_dict("records")):  # a claim without an exponent: from its reason
        claim, measured = line["claim"], line["measured"]
        assert measured == numbers.get(claim, measured)
        assert claim in numbers or measured == "-" or measured in judged["reason"][claim]
    cited = [shown_by for entry in section(results, paper)["entries"] for shown_by in entry["claims"]]
    written = re.compile(r"^([\w.-]+): (-?\d\S* (?:\[[^\]]*\]|\(no spread\)))")
    told = dict(found.groups() for each in cited if (found := written.match(each)))
    assert told
    assert told.items() <= numbers.items()


@pytest.mark.parametrize("paper", [path.parent.name for path in PAPERS.glob("*/errata.yaml")])
def test_the_gravest_mistakes_come_first(paper: str) -> None:
    """Mistakes of statements and proofs, shown ones before others; slips; then everything else."""
    entries = section(PAPERS.parents[2] / "results/reference", load_paper(PAPERS / paper))["entries"]
    of = [entry["erratum"].of if entry["erratum"].printed_mistake else "" for entry in entries]
    places = [
        ("statement step", "slip", "").index("statement step" if each in ("statement", "step") else each or "")
        for each in of
    ]
    assert places == sorted(places)
    grave = [bool(entry["effect"]) or "violated" in str(entry["claims"]) for entry in entries[: places.count(0)]]
    assert grave == sorted(grave, reverse=True)


def test_readme_and_front_page_show_the_same_findings_in_the_same_order(results: Path, page: Path) -> None:
    front = page.read_text(encoding="utf-8").replace("\xa0", " ").split('id="findings"')[1].split('id="papers"')[0]
    found = headlines(results, PAPERS, [PAPER])
    assert any(each.items for each in found)
    places = [front.find(marked_up(sentence)) for each in found for sentence in (each.title, each.text)]
    assert places == sorted(places)
    assert places[0] > -1
    assert all(marked_up(item.reason) in front.split('id="refuted"')[1] for each in found for item in each.items)


def test_curves_are_the_means_of_the_runs_with_their_intervals(results: Path) -> None:
    runs, claims = read_runs(results / "runs" / PAPER), load_paper(PAPERS / PAPER).claims
    experiment = explorer(runs, claims)["experiments"]["horizon"]
    place = [experiment["variables"][0], experiment["series"].index("ftal")]
    rows = pd.DataFrame([row[1:2] + row[-6:] for row in experiment["rows"] if row[0] == place[1]]).set_index(0)
    own = runs.loc[(runs["experiment"] == "horizon") & (runs["learner"] == "ftal") & (runs["checkpoint"] > 1)]
    by = own.groupby("checkpoint")
    mean, count, bound = by["regret"].mean(), by.size(), by["bound"].mean()
    half = stats.t.ppf(0.975, count - 1) * by["regret"].std() / np.sqrt(count)
    assert (place[0], rows.index.tolist()) == ("checkpoint", mean.index.tolist())
    shown = rows.astype(float).to_numpy().T
    expected = [mean, mean - half, mean + half, bound, by["trivial_regret"].mean(), count]
    np.testing.assert_allclose(shown, expected, rtol=1e-4)
    private = runs.loc[(runs["experiment"] == "horizon") & (runs["learner"] == "wdp-cocop-gamma")]
    silent = private.assign(epsilon=np.inf, regret=1.0)  # a private learner without noise is a series of its own
    experiment = explorer(pd.concat([private, silent]), claims)["experiments"]["horizon"]
    assert experiment["series"] == ["wdp-cocop-gamma corrected", "wdp-cocop-gamma corrected without noise"]
    assert {row[-6] for row in experiment["rows"] if row[0] == 1} == {1}


def test_means_without_claims_stand_beside_a_point_that_never_moves() -> None:
    rows = [[0, 8, 1.5, 1.0, 2.0, None, 3.0, 4], [0, 64, 5.25, 4.0, 6.0, None, 7.25, 4]]
    mine = {"variables": ["checkpoint"], "names": ["A"], "rows": rows}
    explored: dict[str, Any] = {"labels": {"checkpoint": "T"}, "response": "regret", "experiments": {"mine": mine}}
    (table,) = unclaimed(explored, load_paper(PAPERS / PAPER).claims.model_copy(update={"claims": []}), {})
    assert dict(zip(table["columns"], table["rows"][0], strict=True)) == {
        "learner": "A", "T": "64", "regret": "5.25 [4.00, 6.00]", "fixed-point baseline": "7.25", "runs": "4",
    }  # fmt: skip


def test_what_is_missing_is_told_in_one_line(results: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"^[^\n]*talwar_2015: no claims\.csv[^\n]*$"):
        write_report(results, results / "runs", {"talwar_2015": {}}, PAPERS, tmp_path / "report.html", RUN)
    assert not (tmp_path / "report.html").exists()


def test_no_cell_has_an_exponent_of_a_program_and_columns_sort_by_the_number(page: Path) -> None:
    text = re.sub(r"<(script|code|style)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    shown = re.sub("<[^>]+>", "", text)
    assert re.findall(r"(?<![\w.])\d(?:\.\d+)?e[-+]\d+", shown) == []
    assert table_cell("1.5e-06 [1e-06, 2e-06]") == (
        '<data value="1.5e-06">1.5·10<sup>−6</sup> [10<sup>−6</sup>, 2·10<sup>−6</sup>]</data>'
    )
    assert table_cell("0.25") == "0.25"
    assert table_cell("inf") == '<data value="Infinity">∞</data>'


def test_winners_of_the_page_are_those_of_the_table(page: Path) -> None:
    text, table = page.read_text(encoding="utf-8"), pd.read_csv(page.parent / "winners.csv")
    columns = unpacked(text.split('id="winners-data">')[1].split("</script>")[0])["columns"]
    column = columns["winner"]
    assert [column["words"][code] for code in column["codes"]] == table["winner"].tolist()
    assert "nan" not in text.split("</main>")[0].split()
    assert not any("nan" in word for word in columns["stream"]["words"])


def test_every_drawing_of_the_page_has_its_letters_and_coordinates(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    letters, figures = unpacked(text.split('id="drawings">')[1].split("</script>")[0]).values()
    shown = {*re.findall('data-drawing="([^"]+)"', text)}
    assert {*figures} == shown == {f"{PAPER}/printed_errata", "winners/profiles"}
    for name, drawn in figures.items():
        source = page.parent / (name.replace("/", "/figures/") if name.startswith(PAPER) else name)
        saved = source.with_suffix(".svg").read_text(encoding="utf-8")
        used = {*re.findall(r'href="#([^"]+)"', drawn), *re.findall(r"url\(#([^)]+)\)", drawn)}
        assert used <= {*letters, *re.findall(' id="([^"]+)"', drawn)}
        assert used & {*letters}
        assert len(ElementTree.fromstring(drawn).findall(".//*")) > 100
        places = [[float(x) for x in re.findall(r' x="([^"]+)"', svg)] for svg in (drawn, saved)]
        np.testing.assert_allclose(*places, rtol=0, atol=0.06)  # points


def test_measured_errata_show_their_effect_and_links_lead_somewhere(results: Path) -> None:
    write_errata_page(results, [PAPER], PAPERS, results)
    parts = re.split(r"^### (\w+):", (results / "errata.md").read_text(), flags=re.MULTILINE)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert ["**measured:**" in shown[name] and "**see:**" in shown[name] for name in ("L1", "L3")] == [True, False]
    links = re.findall(r"\]\(([^)]+)\)", (results / "errata.md").read_text())
    assert {f"{PAPER}/figures/printed_errata.png", f"{PAPER}/runs/errata.parquet"} <= set(links)
    assert all((results / link).exists() for link in links)


def test_a_confirmed_failure_has_one_colour_on_cards_in_tables_and_in_counts(results: Path, page: Path) -> None:
    """Regret that is linear, as a claim says, is no good news: red in the paper's table and wherever it stands."""
    text = page.read_text(encoding="utf-8").replace("\xa0", " ")
    judged = read_judged(results / PAPER, text=True)
    linear = judged.loc[(judged["type"] == "linear") & (judged["verdict"] == "reproduced"), "claim"]
    assert len(linear) > 1
    for claim in linear:
        card = text.split(f'id="claim-{PAPER}-{claim}"')[1].split("</article>")[0]
        badges = re.findall(r'<span class="badge (\w+)"><span aria-hidden="true">.</span> ([^<]+)</span>', card)
        assert badges == [("bad", "linear regret")]
        assert 'data-verdict="linear regret"' in card
        assert "linear regret, as the claim says: reproduced" in card
        quoted = re.findall(rf'href="#claim-{PAPER}-{claim}" title="claim.*?<span class="badge (\w+)"', text)
        assert {*quoted} <= {"bad"}
    paper = load_paper(PAPERS / PAPER)
    one = next(claim for claim in paper.claims.claims if claim.id == linear.iloc[0])
    record = judged.set_index("claim").loc[one.id].to_dict() | {"kind": "check", "verdict": "holds"}
    view = claim_view(one, record, paper.claims, set(), NAMES, {})
    assert (view["shown"], view["beside"]) == ("holds", "linear regret")  # a check's colour is that of the code
    assert 'verdict=linear%20regret" title="linear regret"' in text


def test_remarks_begin_with_a_list_of_the_papers_and_their_counts(results: Path, page: Path) -> None:
    errata = page.read_text(encoding="utf-8").replace("\xa0", " ").split('id="errata"')[1].split("</section>")[0]
    (line,) = re.findall(r"<li>(.*?)</li>", errata.split('class="contents"')[1].split("</ul>")[0])
    entries = section(results, load_paper(PAPERS / PAPER))
    assert f'href="#errata-{PAPER}"' in line
    assert f'id="errata-{PAPER}"' in errata
    assert f"{entries['mistakes']} mistakes in print" in line
    assert f"{entries['other']} other remarks" in line


def test_a_note_does_not_begin_with_not_measured(results: Path, page: Path) -> None:
    """Its reason may say that a table or a figure has numbers."""
    reference = PAPERS.parents[2] / "results/reference"
    for paper in sorted(path.parent.name for path in PAPERS.glob("*/errata.yaml")):
        for entry in section(reference, load_paper(PAPERS / paper))["entries"]:
            assert entry["noted"] in ("note", "not run")
            assert entry["evidence"] in ("effect measured", "shown by claims", "argument only", "not run")
            assert bool(entry["effect"]) == (entry["evidence"] == "effect measured")
    assert "<dt>not measured" not in page.read_text(encoding="utf-8")
    for each in (results / PAPER / "errata.md").read_text(encoding="utf-8").split("\n## "):
        assert "\n- not measured" not in each or "\n- note:" not in each


def test_streams_sets_and_experiments_have_their_titles() -> None:
    names = {"stream:halving": "halving experts", "set:l1-ball": "l1 ball"}
    assert titled(names, "halving; turns", "stream") == "halving experts; turns"
    assert spoken(names, "halving, T = 16, set = l1-ball, best_loss = 0") == (
        "halving experts, T = 16, set = l1 ball, loss of the best expert L* = 0"
    )


def test_scripts_of_others_are_those_of_the_manifest() -> None:
    found = vendored()
    assert [each["name"] for each in found] == ["d3", "@observablehq/plot"]
    for each in found:
        assert hashlib.sha256((VENDOR / each["file"]).read_bytes()).hexdigest() == each["sha256"]
        assert (VENDOR / each["text"]).read_text().startswith("Copyright")
    assert len(list(VENDOR.iterdir())) == 2 * len(found) + 1, "a file that the manifest does not name"


def test_a_job_has_the_time_of_its_last_attempt_and_the_cpu_time_of_its_record(tmp_path: Path) -> None:
    for name, lines, cpu in (("paper/play/a.0", "9\t5\n2", 31.5), ("paper/runs", "3", 0.5), ("report", "1", None)):
        for file, text in (
            (tmp_path / "benchmark" / f"{name}.tsv", f"s\tmax_rss\n{lines}\t5\n"),
            (tmp_path / RECORDS / f"{name}.json", json.dumps({"key": "k", "cpu": cpu})),
        ):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    rows = job_times(tmp_path)[["part", "job", "s"]].to_numpy().tolist()
    assert rows == [["paper", "paper/play/a.0", 2], ["paper", "paper/runs", 3], ["other", "report", 1]]
    facts = gather(tmp_path, "smoke", "")
    assert facts["per_part"]["paper"] == 32.0 / 60
    assert np.isnan(facts["cpu_minutes"]), "a job without a record: no total is made up"
    assert (in_minutes(facts["per_part"]["paper"]), in_minutes(facts["cpu_minutes"])) == ("0.5 min", formats.DASH)
    write_resources([tmp_path], tmp_path / "resources.csv")
    table = pd.read_csv(tmp_path / "resources.csv").set_index("part")
    assert table.loc["paper", ["CPU seconds", "wall seconds of all jobs"]].tolist() == [32.0, 5.0]
    assert np.isnan(table.loc["other", "CPU seconds"])


# In a browser ---------------------------------------------------------------------------------------------------------


def await_true(browser: Any, script: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(lambda each: each.execute_script(script))


def show(browser: Any, place: str) -> None:
    """Go to a place of the report and wait until its chart is there."""
    browser.execute_script("location.hash = arguments[0]", place)
    there = "return !document.querySelector('.page.shown .explorer:not([hidden])') || "
    await_true(browser, there + "!!document.querySelector('.page.shown .chart').children.length")


@pytest.fixture(scope="module")
def browser(page: Path) -> Iterator[Any]:
    """Headless Chromium at the page, without a network; it keeps a log of the console and of requests."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and its driver (Debian: chromium, chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "incognito", "disable-quic",
        "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
        "hide-scrollbars", "force-color-profile=srgb",
    ):  # fmt: skip
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    session.set_window_size(1400, 1000)
    session.get(page.as_uri())
    yield session
    session.quit()


def test_every_page_opens_without_a_request_or_a_word_on_the_console(browser: Any, page: Path) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    pages = browser.execute_script("return [...document.querySelectorAll('.page')].map((each) => each.id)")
    assert pages[:3] == ["overview", "find", PAPER]
    for name in pages:
        show(browser, name)
        assert browser.execute_script("return [...document.querySelectorAll('.page.shown')].map((e) => e.id)") == [name]
        browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
        wide = browser.execute_script("return document.documentElement.scrollWidth > innerWidth")
        assert not wide, f"{name} is wider than the window"
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert {address.split("#")[0] for address in asked if not address.startswith(("data:", "blob:"))} <= {page.as_uri()}


def test_opened_claims_with_their_pictures_fit_a_narrow_window(browser: Any) -> None:
    size = browser.get_window_size()
    browser.set_window_size(500, 900)
    show(browser, PAPER)
    browser.execute_script("document.querySelectorAll('.page.shown details').forEach((each) => { each.open = true; })")
    await_true(browser, "return !!document.querySelector('.page.shown .small-figure img[data-drawing]')")
    wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    browser.set_window_size(size["width"], size["height"])
    browser.execute_script("document.querySelectorAll('.page.shown details').forEach((each) => { each.open = false; })")
    assert wide <= 0


def test_a_small_number_is_a_power_of_ten_and_sorts_as_one(browser: Any) -> None:
    show(browser, "winners")
    delta = browser.execute_script(
        "return [...document.querySelectorAll('#winners-table tbody tr')][0].cells[7].textContent"
    )
    assert delta == "10⁻⁶"
    first = browser.execute_script(
        "const body = document.querySelector('#winners-table tbody'), row = body.rows[0].cloneNode(true);"
        "row.cells[7].replaceChildren('0.5'); body.prepend(row);"
        "document.querySelectorAll('#winners-table thead button')[7].click(); return body.rows[0].cells[7].textContent"
    )
    assert first == "10⁻⁶"


def test_no_other_script_runs(browser: Any) -> None:
    browser.execute_script(
        "const made = document.createElement('script'); made.textContent = 'window.planted = 1';"
        "document.body.append(made); const handler = document.createElement('b');"
        "handler.setAttribute('onclick', 'window.planted = 2'); handler.click(); setTimeout('window.planted = 3')"
    )
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    assert browser.execute_script("return window.planted") is None
    assert ["Content Security Policy" in entry["message"] for entry in browser.get_log("browser")] == [True] * 3


def test_a_claim_is_found_by_its_words_and_the_address_keeps_what_was_chosen(browser: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    found = "return [...document.querySelectorAll('.found a')].map((each) => each.hash)"
    claim = f"#claim-{PAPER}-thm3-T"
    browser.find_element(By.CSS_SELECTOR, "#search input").send_keys("regret grows", Keys.ENTER)
    await_true(browser, "return document.querySelector('.page.shown').id === 'find'")
    broad = browser.execute_script(found)
    assert claim in broad
    browser.find_element(By.CSS_SELECTOR, "#finder select[name=learner]").send_keys("WDP-COCOP (Gamma)")  # by keyboard
    narrow = browser.execute_script(found)
    assert claim in narrow
    assert len(narrow) < len(broad)
    address = browser.execute_script("return location.hash")
    assert address == "#find?q=regret+grows&learner=wdp-cocop-gamma"
    show(browser, "overview")
    show(browser, address[1:])
    assert browser.execute_script(found) == narrow
    browser.find_element(By.CSS_SELECTOR, f'.found a[href="{claim}"]').send_keys(Keys.ENTER)
    opened = f"return document.querySelector('{claim} details').open"
    await_true(browser, opened)
    assert browser.execute_script("return document.activeElement.tagName") == "SUMMARY"
    link = browser.find_element(By.CSS_SELECTOR, f'{claim} a[href*="-curves?"]')
    link.send_keys(Keys.ENTER)
    await_true(browser, "return document.querySelector('.page.shown select[name=experiment]').value === 'horizon'")
    assert browser.get_log("browser") == []


def test_more_entries_are_listed_at_a_button(browser: Any) -> None:
    browser.execute_script(
        "const { element, paged } = dpregret, list = element('ul', { id: 'many' });"
        "document.querySelector('.page.shown').append(list);"
        "paged(list, list, 200, (listed) => { list.title = listed; })"
        "([...Array(450).keys()].map((number) => () => element('li', { textContent: number })));"
    )
    state = (
        "const list = document.getElementById('many'), more = list.nextSibling;"
        "const found = [list.children.length, list.title, more.hidden, more.textContent]; more.click(); return found"
    )
    states = [browser.execute_script(state) for _ in range(3)]
    assert states[0] == [200, "200", False, "show 200 more"]
    assert states[1] == [400, "400", False, "show 50 more"]
    assert states[2][:3] == [450, "450", True]
    browser.execute_script(
        "document.getElementById('many').nextSibling.remove(); document.getElementById('many').remove()"
    )


@pytest.mark.parametrize(("theme", "paper"), [("light", 255), ("dark", 23)])
def test_a_table_that_goes_on_at_an_edge_has_a_shade_there(browser: Any, theme: str, paper: int) -> None:
    box = browser.execute_script(
        "document.documentElement.dataset.theme = arguments[0];"
        "const { element } = dpregret, inner = element('div', { style: 'width: 9000px; height: 200px' });"
        "const box = element('div', { className: 'scroll' }, inner);"
        "document.querySelector('.page.shown').prepend(box); box.scrollIntoView(); return box",
        theme,
    )

    def edge() -> int:
        with Image.open(io.BytesIO(box.screenshot_as_png)) as picture:
            return int(np.asarray(picture.convert("L"))[100, -5])

    assert abs(edge() - paper) > 20
    browser.execute_script("arguments[0].scrollLeft = 9000", box)
    assert abs(edge() - paper) < 3
    browser.execute_script("arguments[0].remove(); document.documentElement.dataset.theme = 'light'", box)


def test_settings_of_curves_have_all_their_digits(browser: Any) -> None:
    show(browser, f"{PAPER}-curves?experiment=horizon")
    largest, cells, labels = browser.execute_script(
        "const { explorer } = document.querySelector('.page.shown .explorer');"
        "const texts = (all) => [...all].map((each) => each.textContent);"
        "explorer.records.forEach((each) => { each.checkpoint *= 1024; }); explorer.draw();"
        "return [Math.max(...explorer.records.map((each) => each.checkpoint)),"
        " texts(explorer.form.querySelectorAll('.numbers td:nth-child(2)')),"
        " texts(explorer.chart.querySelectorAll('text'))]"
    )
    assert largest >= 2**24
    assert str(largest) in cells
    assert str(largest) in labels
