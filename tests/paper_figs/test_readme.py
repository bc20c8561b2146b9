"""The README's generated parts: findings in the order of the report, who states what, resolution and audit."""

import re
from pathlib import Path

import pandas as pd
import pytest

from dpregret.paper_figs.judge.claims import ClaimsError, numbered
from dpregret.paper_figs.judge.read_claims import load_paper
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS, REPRODUCED
from dpregret.paper_figs.report import readme
from dpregret.paper_figs.report.findings import by_statement, headlines, load_findings, markdown, refutations
from dpregret.paper_figs.tables.printed import brief
from dpregret.workflows.plan.read import PAPERS

TEXTS = """\
title: A paper
cite: {cite}
settings: {{here: {{experiment: e, stream: s, parameter: horizon}}}}
claims:
{claims}
tables:
- caption: c
  reference: {{experiment: e, stream: s}}
  rows: [{{id: r, label: r, group: g, learner: l.v, privacy: p, neighbouring: n, operation: o, bound_text: b}}]
"""
CLAIM = "- {id: lost, provenance: reconstructed, at: here, source: s, says: s, learner: l.v, rate: T}"


def lines(*rows: tuple[str, ...]) -> pd.DataFrame:
    """Rows of claim, origin, verdict, type, learner, rate, resolution, resolution_log."""
    names = ["claim", "origin", "verdict", "type", "learner", "rate", "resolution", "resolution_log"]
    frame = pd.DataFrame(rows, columns=names).assign(variant="v", reason="because", source="Theorem 1", log_aware="0.5")
    frame[["log_aware_low", "log_aware_high"]] = "0.4", "0.6"
    kinds = {"exponent": "power", "private": "factor of eps", "below": "none: a bound is held or it is not"}
    return frame.assign(resolution_of=frame["type"].map(kinds))


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    claims = {
        "a_2020": lines(
            ("a1", "paper", "reproduced", "exponent", "l", "T^0.5 ln T", "0.11", "0.9"),
            ("a2", "paper", "violated", "private", "l", "accounted eps <= eps", "1e-06", ""),
            ("a3", "baseline", "below bound", "exponent", "l", "d log2 d", "0.13", "0.5"),
        ),
        "b_2021": lines(
            ("b1", "paper", "reproduced up to logs", "exponent", "m", "ln(T)^2.5", "0.3", "2.4"),
            ("b2", "derived", "consistent on typical data", "exponent", "m", "d", "0.12", ""),
            ("b3", "derived", "not run", "private", "m", "accounted eps <= eps", "", ""),
            ("lost", "paper", "reproduced", "exponent", "m", "T", "0.1", ""),
        ),
        "c_2022": lines(("c3", "paper", "reproduced", "exponent", "m", "T", "0.1", "")),
    }
    checks = lines(
        ("c1", "paper", "holds", "below", "l", "<= explicit bound", "", ""),
        ("c2", "derived", "fails", "below", "m", "<= explicit bound", "", ""),
    )
    for paper, frame in claims.items():
        (tmp_path / "papers" / paper).mkdir(parents=True)
        texts = TEXTS.format(cite=paper[0].upper(), claims=CLAIM)
        texts = f"chapter: true\n{texts}" if paper == "c_2022" else texts
        (tmp_path / "papers" / paper / "claims.yaml").write_text(texts)
        folder = tmp_path / "reference" / paper
        folder.mkdir(parents=True)
        frame.to_csv(folder / "claims.csv", index=False)
        errata = pd.DataFrame({"erratum": ["E1", "E2"], "status": ["measured", "not measured"]})
        errata.to_csv(folder / "errata.csv", index=False)
    checks.assign(why="so").to_csv(tmp_path / "reference" / "a_2020" / "checks.csv", index=False)
    (tmp_path / "reference" / "audit").mkdir()
    audit = pd.DataFrame({"learner": ["l", "n"], "variant": "v", "finding": ["violates: 2 times", "keeps, uses 0.5"]})
    audit.to_csv(tmp_path / "reference" / "audit" / "audit.csv", index=False)
    return tmp_path / "reference"


def test_what_papers_state_comes_first_and_chapters_are_not_counted(reference: Path) -> None:
    found = readme.verdict_table(reference, reference.parent / "papers").set_index("claims of")
    assert found["all"].to_dict() == {
        "[A](../../docs/a_2020.md)": "2",
        "[B](../../docs/b_2021.md)": "1",
        "**what the papers state**": "3",
        "stated, text reconstructed": "1",
        "derived here": "2",
        "baselines": "1",
    }
    stated = found.loc["**what the papers state**"].drop("all")
    assert stated[stated != "0"].to_dict() == {"reproduced": "1", "reproduced up to logs": "1", "violated": "1"}


def test_the_page_of_a_paper_counts_its_verdicts(reference: Path, tmp_path: Path) -> None:
    page = tmp_path / "a_2020.md"
    page.write_text("<!-- counts:begin -->\n<!-- counts:end -->\n")
    assert not readme.update_page(page, reference, reference.parent / "papers")
    assert readme.update_page(page, reference, reference.parent / "papers", check=True)
    rows = [line.partition(": ")[2] for line in page.read_text().splitlines() if line.startswith("- ")]
    assert rows == ["1 reproduced; 1 violated", "1 below bound", "1 holds; 1 fails"]


def test_the_page_of_a_paper_links_the_tables_that_it_has(reference: Path, tmp_path: Path) -> None:
    for name in ("table_1.md", "table_2.md", "table_10.md", "table_1_all.md", "costs.md"):
        (reference / "a_2020" / name).write_text("")
    page = tmp_path / "a_2020.md"
    page.write_text("<!-- links:begin -->\n<!-- links:end -->\n")
    readme.update_page(page, reference, reference.parent / "papers")
    linked = re.findall(r"\[([^]]+)\]\(\.\./results/reference/a_2020/([^)]+)\)", page.read_text())
    assert linked == [
        ("1", "table_1.md"), ("2", "table_2.md"), ("10", "table_10.md"), ("the first in full", "table_1_all.md"),
        ("claim", "claims.csv"), ("check", "checks.csv"), ("costs", "costs.md"),
    ]  # fmt: skip


def test_a_cell_of_the_short_table_has_the_worst_verdict() -> None:
    head = ["row", "column", "part", "printed", "side", "claim", "law", "power", "verdict", "sign", "resolution"]
    rows = [
        ("1", "as printed", "a", "privacy", "", "violated", "✗"),
        ("1", "as printed", "b", "T", "0.9862 [0.9861, 0.9863]", "linear regret", "✗"),
        ("1", "corrected", "c", "privacy", "", "holds", "✓"),
        ("1", "corrected, so", "d", "ln T", "0.0 [0, 0]", "below bound", "↓"),
        ("2", "reconstructed", "e", "T", "1.0 [1, 1]", "violated", "✗"),
        ("2", "corrected", "f", "ln T", "0.0 [0, 0]", "inconclusive", "?"),
        ("2", "corrected", "g", "ln T", "0.0 [0, 0]", "below bound", "↓"),
        ("3", "as printed", "h", "d", "1.0 [1, 1]", "reproduced", "✓"),
        ("3", "corrected", "i", "privacy", "", "holds", "·"),
        ("3", "corrected, noise of ours", "j", "d", "1.0 [1, 1]", "reproduced", "✓"),
        ("3", "corrected, their noise", "k", "d", "0.5 [0, 1]", "below bound", "↓"),
    ]
    frame = pd.DataFrame([(row, "Bound", "1", "O(T)", *rest, "") for row, *rest in rows], columns=head)
    table, legend = brief(frame).split("\n\n")
    cells = [[cell.strip() for cell in line.split("|")[2:4]] for line in table.splitlines()[2:]]
    assert cells == [  # consistency checks are no claims
        ["✗ privacy, regret like T^0.99", "↓ 1 of 1"],
        ["–", "? 1 of 2"],
        ["✓ 1 of 1", "noise of ours: ✓ 1 of 1; their noise: ↓ 1 of 1"],
    ]
    assert len(legend.splitlines()) == 5


def test_the_document_is_renewed_and_then_current(reference: Path, tmp_path: Path) -> None:
    page, unmarked = tmp_path / "README.md", tmp_path / "unmarked.md"
    marks = (f"<!-- {mark}:begin -->\n<!-- {mark}:end -->\n" for mark in ("findings", "totals", "verdicts", "meanings"))
    page.write_text("".join(marks))
    unmarked.write_text("no mark")
    runs = ((page, True), (page, False), (page, True), (unmarked, False))
    assert [readme.main(file, reference, reference.parent / "papers", check) for file, check in runs] == [1, 0, 0, 2]
    text = page.read_text()
    assert all(f"| {word} " in text and meaning in text for word, meaning in (*CLAIMS.items(), *CHECKS.items()))


PRIVATE = """\
- {id: grows-T, at: here, source: Theorem 1, says: it grows, learner: l.v, rate: T}
- {id: safe, at: here, source: "Theorem 2, eq. (3)", says: it is eps-DP, type: private, learner: l.v, exact: l.v}
- {id: safe-quoted, at: here, source: Table 1, says: it is eps-DP, type: private, learner: l.v, exact: l.v}
- origin: derived
- {id: safe-ours, at: here, source: ours, says: it is, type: private, learner: l.v}
- origin: paper
- {id: safe-lost, at: here, source: Theorem 4, says: it is, type: private, learner: l.v, provenance: reconstructed}
- {id: safe-sum, at: here, source: Theorem 5, says: it is, type: private, learner: l.v, check: a sum}"""
FINDINGS = """\
findings:
- {id: second, refuted: true, title: "{count} fail", single: One fails, text: On a pair., page: docs/x.md}
- id: first
  paper: p_2020
  claims: {grows-T: reproduced}
  title: It grows
  text: "Like T^{grows-T}; {E1: as printed} becomes {E1: corrected} ({E1: setting}); {ratios} times ({setting})."
  page: docs/p_2020.md
  gains: {learner: l, over: v, with: w, experiment: e, stream: s, values: [4, 16]}
"""


def outcome(verdict: str = "reproduced", refuted: str = "violated") -> pd.DataFrame:
    private = [(name, refuted, "private") for name in ("safe", "safe-quoted", "safe-ours", "safe-lost")]
    frame = pd.DataFrame([("grows-T", verdict, "exponent"), *private], columns=["claim", "verdict", "type"])
    reason = (
        "exact privacy loss eps = 2.5, claimed 2: a | b, T = 3, delta = 1e-06; "
        "fails already at eps = 0.01, the smallest tried; in the runs the accounted eps is more"
    )
    return frame.assign(log_aware=0.987, log_aware_low=0.9, log_aware_high=1.1, reason=reason)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    texts, results = tmp_path / "papers" / "p_2020", tmp_path / "results" / "p_2020"
    for folder in (texts, results):
        folder.mkdir(parents=True)
    (texts / "claims.yaml").write_text(TEXTS.format(cite="A & B 2020", claims=PRIVATE))
    (texts.parent / "findings.yaml").write_text(FINDINGS)
    outcome().to_csv(results / "claims.csv", index=False)
    row = {"erratum": "E1", "status": "measured", "as printed": "7", "corrected": "5", "setting": "T = 8"}
    pd.DataFrame([row]).to_csv(results / "errata.csv", index=False)
    gain = {"learner": "l", "over": "v", "with": "w", "experiment": "e", "stream": "s", "setting": "d = 4"}
    gains = pd.DataFrame([gain | {"value": value, "ratio": ratio} for value, ratio in ((4, 1.26), (16, 2.0), (64, 9))])
    gains.to_csv(results / "gains.csv", index=False)
    return tmp_path


def told(run: Path) -> list[str]:
    return [each.id for each in headlines(run / "results", run / "papers", ["p_2020"])]


def test_sentences_are_filled_from_the_tables_in_the_order_of_the_file(run: Path) -> None:
    assert markdown(headlines(run / "results", run / "papers", ["p_2020"])).splitlines() == [
        "1. **[One fails](docs/x.md).** On a pair. Lost ε for claimed ε, δ = 10⁻⁶ unless given: A & B 2020: "
        "Theorem 2, eq. (3) (2.5 for 2, T = 3).",
        "2. **[It grows](docs/p_2020.md).** Like T^0.99 [0.90, 1.10]; 7 becomes 5 (T = 8); 1.3, 2.0 times (d = 4).",
    ]
    found = refutations(run / "results", run / "papers", ["p_2020"])  # statements that a paper prints, and no others
    assert [(item.claim, item.statement) for item in found] == [("safe", "it is eps-DP")]


@pytest.mark.parametrize(
    ("verdict", "refuted", "left"),
    [
        ("inconclusive", "violated", ["second"]),
        ("not run", "violated", ["second"]),
        ("reproduced", "reproduced", ["first"]),
        ("reproduced", "not run", ["first"]),
    ],
)
def test_a_finding_that_did_not_come_out_so_is_gone(verdict: str, refuted: str, left: list[str], run: Path) -> None:
    outcome(verdict, refuted).to_csv(run / "results" / "p_2020" / "claims.csv", index=False)
    assert told(run) == left


PARTS = """\
  parts:
    - {text: "On {safe}.", claims: {safe: violated}}
    - {text: "Then {E1: corrected}.", claims: {grows-T: reproduced}}
    - {text: "At {E9: corrected}.", claims: {grows-T: reproduced}}
"""


@pytest.mark.parametrize(("verdict", "text"), [("reproduced", "First. Then 5."), ("inconclusive", None)])
def test_a_finding_has_the_parts_that_the_run_supports(verdict: str, text: str | None, run: Path) -> None:
    entry = "findings:\n- id: second\n  paper: p_2020\n  title: It\n  text: First.\n  page: docs/p_2020.md\n"
    (run / "papers" / "findings.yaml").write_text(entry + PARTS)
    outcome(verdict, "reproduced").to_csv(run / "results" / "p_2020" / "claims.csv", index=False)
    found = headlines(run / "results", run / "papers", ["p_2020"])
    assert [(each.text, each.claims) for each in found] == ([(text, {"grows-T": "reproduced"})] if text else [])


@pytest.mark.parametrize("name", ["errata", "gains", "claims"])
def test_a_finding_without_its_numbers_is_gone(name: str, run: Path) -> None:
    path = run / "results" / "p_2020" / f"{name}.csv"
    if name == "claims":
        path.unlink()
    else:
        pd.read_csv(path).drop(columns="setting").to_csv(path, index=False)
    assert told(run) == ([] if name == "claims" else ["second"])


def test_a_finding_names_its_paper_or_lists_what_is_refuted(run: Path) -> None:
    path = run / "papers" / "findings.yaml"
    path.write_text(FINDINGS.replace("  paper: p_2020\n", ""))
    with pytest.raises(ClaimsError, match=r"findings\.yaml:3: findings\[first\]: "):
        load_findings(path.parent)
    path.unlink()
    assert load_findings(run / "papers") == ()


def test_shipped_findings_name_claims_and_errata_that_exist() -> None:
    for entry in load_findings(PAPERS):
        if entry.paper:
            claims, errata, _ = load_paper(PAPERS / entry.paper)
            known = {claim.id for claim in claims.claims} | {erratum.id for erratum in errata.errata}
            parts = " ".join(part.text for part in entry.parts)
            named = re.findall(r"\{([^:}]+)(?::[^}]*)?\}", entry.title + entry.text + parts)
            assert {*named, *entry.claims, *(claim for part in entry.parts for claim in part.claims)} - {
                "ratios",
                "noises",
                "decoded",
                "setting",
            } <= known
        assert (PAPERS.parents[2] / entry.page).exists(), entry.page


STATED = """\
- {id: a1, at: here, source: Theorem 1, says: s, learner: l.v, rate: T}
- {id: a2, at: here, source: "Theorem 1, eq. (2)", says: s, learner: l.v, type: private}
- {id: a3, at: here, source: Theorem 11, says: s, learner: l.v, rate: T}"""


@pytest.fixture
def stated(reference: Path) -> Path:
    """The reference with a paper that states Theorems 1 and 11 and a Lemma 2 without a claim."""
    texts = TEXTS.format(cite="A", claims=STATED)
    texts += "statements: Theorems 1 and 11; Lemma 2\nuntested: {Lemma 2: quoted}\n"
    (reference.parent / "papers" / "a_2020" / "claims.yaml").write_text(texts)
    path = reference / "a_2020" / "claims.csv"
    found = pd.read_csv(path).assign(source=["Theorem 1", "Theorem 1, eq. (2)", "Theorem 11"], origin="paper")
    found.assign(parameter=["horizon", "horizon", "dimension"]).to_csv(path, index=False)
    return reference


def renewed(reference: Path, text: str) -> str:
    page = reference.parent / "a_2020.md"
    page.write_text(text, encoding="utf-8")
    readme.update_page(page, reference, reference.parent / "papers")
    assert readme.update_page(page, reference, reference.parent / "papers", check=True)
    return page.read_text(encoding="utf-8")


def test_a_sentence_names_all_claims_on_its_statements(stated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = "So (<!-- met: Theorem 1 -->old<!-- end -->). Then (<!-- met: Theorem 11: dimension --><!-- end -->)."
    text = renewed(stated, sentences)
    plain = re.sub("<!--.*?-->", "", text)
    assert plain == "So (met 1 of 2: a1; violated: a2). Then (met 0 of 1: below bound: a3)."
    with pytest.raises(readme.ReadmeError, match="no claim of the paper on Theorem 2"):
        renewed(stated, "<!-- met: Theorem 2 --><!-- end -->")
    monkeypatch.setattr(readme, "MOST_NAMED", 1)  # of many only the numbers
    assert "-->met 1 of 2; 1 violated<!--" in renewed(stated, "<!-- met: Theorem 1 --><!-- end -->")


def test_a_failure_probability_is_no_delta(stated: Path) -> None:
    """It is swept as delta; a paper calls it beta."""
    table, texts = stated / "a_2020" / "claims.csv", stated.parent / "papers" / "a_2020" / "claims.yaml"
    table.write_text(table.read_text().replace("dimension", "delta"))
    claim = "learner: l.v, rate: T}"
    swept = claim.replace("rate: T", "parameter: delta, rate: (ln 1/delta), failure: beta")
    for changed, letter, other in ((swept.replace(", failure: beta", ""), "delta", "beta"), (swept, "beta", "delta")):
        texts.write_text(texts.read_text().replace(claim, changed))
        claim = changed
        found = renewed(stated, f"<!-- met: Theorem 11: {letter} --><!-- end -->")
        assert "-->met 0 of 1: below bound: a3<!--" in found
        with pytest.raises(readme.ReadmeError, match="no claim of the paper"):
            renewed(stated, f"<!-- met: Theorem 11: {other} --><!-- end -->")


def test_statements_of_a_paper_are_listed_with_and_without_claims(stated: Path) -> None:
    parts = ("statements", "untested")
    text = renewed(stated, "".join(f"<!-- {part}:begin -->\n<!-- {part}:end -->\n" for part in parts))

    def of_paper(page: str) -> list[str]:
        section = page.partition("### [A](../../docs/a_2020.md)\n")[2].partition("###")[0]
        return [line for line in section.splitlines() if line.startswith("- ")]

    listed = of_paper(text)
    assert listed == ["- Theorem 1: 1 of 2 met; violated: a2", "- Theorem 11: 0 of 1 met; below bound: a3"]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert ["A", "Lemma 2", "quoted"] in rows
    claims = stated / "a_2020" / "claims.csv"
    claims.write_text(claims.read_text().replace("violated", REPRODUCED))
    first, second = of_paper(renewed(stated, text))
    assert (first, second) == ("- Every claim met: Theorem 1 (2)", listed[1])
    path = stated.parent / "papers" / "a_2020" / "claims.yaml"
    path.write_text(path.read_text().replace("untested: {Lemma 2: quoted}\n", ""))
    with pytest.raises(readme.ReadmeError, match="no claim and no reason under untested: Lemma 2"):
        readme.untested(stated, stated.parent / "papers")


def test_numbers_within_sentences_are_counted(stated: Path) -> None:
    text = renewed(stated, "<!-- number: claims -->7<!-- end --> claims, <!-- number: papers -->7<!-- end --> papers")
    assert re.sub("<!--.*?-->", "", text) == "8 claims, two papers"
    parts = [("full", 600.0), ("full", 1000.0), ("ci", 60.0)]
    jobs = pd.DataFrame(parts, columns=["profile", "wall seconds of all jobs"])
    jobs.to_csv(stated / "resources.csv", index=False)
    text = renewed(stated, "<!-- number: minutes -->7<!-- end --> minutes")
    assert re.sub("<!--.*?-->", "", text) == "13 minutes"
    with pytest.raises(readme.ReadmeError, match="unknown number 'claim'"):
        renewed(stated, "<!-- number: claim -->7<!-- end -->")


def test_cells_of_the_tables_stand_within_sentences(stated: Path) -> None:
    text = renewed(
        stated,
        "<!-- cell: a_2020 a1 verdict -->?<!-- end -->, <!-- cell: a_2020 a1 resolution -->?<!-- end -->, "
        "<!-- cell: a_2020 a1 measured -->?<!-- end -->, <!-- cell: a_2020 c1 verdict -->?<!-- end -->",
    )
    assert re.sub("<!--.*?-->", "", text) == "reproduced, 0.11, 0.50 [0.40, 0.60], holds"
    unknown = {"d a1 verdict": "paper 'd'", "a_2020 a9 verdict": "claim 'a9'", "a_2020 a1 color": "column 'color'"}
    for where, message in unknown.items():
        with pytest.raises(readme.ReadmeError, match=f"unknown {message}"):
            renewed(stated, f"<!-- cell: {where} --><!-- end -->")
    path = stated / "a_2020" / "claims.csv"
    pd.read_csv(path).assign(note="").to_csv(path, index=False)
    with pytest.raises(readme.ReadmeError, match="a_2020 a1 note: this cell is empty"):
        renewed(stated, "<!-- cell: a_2020 a1 note --><!-- end -->")


def test_refuted_statements_are_counted_once() -> None:
    found = {
        ("a", "Theorem 1", "exponent"): "reproduced",
        ("a", "Theorem 1, eq. (2)", "private"): "reproduced up to logs",
        ("a", "Theorem 2, W = 1", "exponent"): "reproduced",
        ("a", "Theorem 2, W = 2", "exponent"): "below bound",
        ("a", "Theorem 3, eq. (4)", "private"): "violated",
        ("a", "Theorem 3, eq. (5)", "private"): "violated",
        ("b", "Theorem 3", "private"): "violated",  # quotes that of a
        ("b", "Lemma 1", "stated"): "violated",
        ("b", "Theorem 9", "exponent"): "not run",
    }
    stated = pd.DataFrame(
        [(*where, verdict) for where, verdict in found.items()], columns=["paper", "source", "type", "verdict"]
    )
    assert by_statement(stated, 1) == (
        "Of 5 statements that 2 papers print, 1 is met by every claim on them, and 3 are refuted (1 privacy "
        "guarantee of a learner, 1 quoted from one of these, 1 other)."
    )
    assert by_statement(stated.loc[stated["verdict"] != "violated"], 0).endswith("and 0 are refuted.")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Theorem 3.2, eq. (13)", ["Theorem 3.2"]),
        ("Theorems 1 and 7", ["Theorem 1", "Theorem 7"]),
        ("Lemmas 3.4-3.6, 3.11, C.1", ["Lemma 3.4", "Lemma 3.5", "Lemma 3.6", "Lemma 3.11", "Lemma C.1"]),
        ("Propositions A1-A2; Corollaries 3, 4", ["Proposition A1", "Proposition A2", "Corollary 3", "Corollary 4"]),
        ("law of Theorem 6, W = 16", ["Theorem 6"]),
        ("Section 3.1.1, our balance", []),
    ],
)
def test_numbered_statements_of_a_text(text: str, names: list[str]) -> None:
    assert list(numbered(text)) == names
