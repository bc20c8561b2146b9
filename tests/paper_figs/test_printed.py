"""The tables that papers print: as data, filled with verdicts, on a page, in a paper, in a terminal."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpregret.paper_figs.judge.claims import numbered
from dpregret.paper_figs.judge.read_claims import load_claims, load_paper
from dpregret.paper_figs.judge.result_tables import read_judged
from dpregret.paper_figs.tables import printed
from dpregret.paper_figs.tables.printed import FILE, FilledTable, as_printed, fill, load_printed
from dpregret.paper_figs.text.formula import GREEK, unicode
from dpregret.workflows.plan.cross_references import read_texts
from dpregret.workflows.plan.read import papers

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("lou_cheung_2020", "talwar_2015", "ene_et_al_2021", "asi_et_al_2023")


@pytest.fixture(scope="session")
def filled() -> dict[str, FilledTable]:
    """Every table, with the verdicts of the reference."""
    tables = {}
    for paper in (*PAPERS, "prefix_sums"):
        folder = ROOT / "workflows/papers" / paper
        claims = load_claims(folder / "claims.yaml")
        own = load_printed(folder, claims) or as_printed(claims, claims.tables[0])
        tables[paper] = fill(own, claims, read_judged(ROOT / "results/reference" / paper))
    return tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a paper's texts."""
    return Path(shutil.copytree(ROOT / "workflows/papers/lou_cheung_2020", tmp_path / "lou_cheung_2020"))


@pytest.mark.parametrize(("name", "right", "wrong", "said"), [
    (FILE, "[alg1-printed-gamma]", "[alg1-printed-gama]", "rows[3][3].measured.as printed: unknown claim 'alg1-"),
    (FILE, r"\frac{d\ln^{2.5}T}{\epsilon}", r"\frac{d\ln^{2.5}T}", "rows[2][3].rate: "),
    (FILE, r"$\epsilon$-DP", r"$\input{x}$-DP", r"\input is not a command allowed"),
    (FILE, "source: Theorem 3,", "source: Theorem 33,", "there is no claim of origin paper on 'Theorem 33' of wdp"),
    (FILE, ", learner: wdp-cocop-gamma.corrected}", "}", "a side lists claims, or {source: a statement, learner"),
    (FILE, ", when: $W=256$}", "}, {claim: thm4-d-printed}", "thm4-d-window and thm4-d-printed read alike"),
    (FILE, "{claim: thm4-d, when", "{source: Theorem 4, learner: a.b, when", "when needs claim: a selection takes"),
    (FILE, "    - linear equation\n", "", "rows[1]: 3 cells, the table has 4 columns"),
    (FILE, "name: Table I", "nam: Table I", "nam: unknown key"),
    ("claims.yaml", r"$O\bigl(d\ln^{2.5}T/", r"$O\bigl(d\ln^{2.5T/", "bound_latex"),
])  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(folder: Path, name: str, right: str, wrong: str, said: str) -> None:
    path = folder / name
    content = path.read_text(encoding="utf-8")
    assert right in content
    path.write_text(content.replace(right, wrong, 1), encoding="utf-8")
    problems = [line for line in read_texts(folder, {})[1] if name in line]  # told before anything runs
    assert re.search(rf"{name}:\d+: ", problems[0])
    assert any(said in line for line in problems), problems


@pytest.mark.parametrize("paper", papers())
def test_a_side_has_all_claims_of_the_paper_on_its_statements_of_one_variant(paper: str) -> None:
    claims = load_claims(ROOT / "workflows/papers" / paper / "claims.yaml")
    table = load_printed(ROOT / "workflows/papers" / paper, claims)
    stated = {claim.id: claim for claim in claims.claims if (claim.kind, claim.origin) == ("claim", "paper")}
    for row in table.rows if table else ():
        beneath = {name for cell in row for part in cell for ids in part.ids.values() for name in ids}
        for part in (part for cell in row for part in cell):
            for side, ids in part.ids.items():
                shown = [stated[name] for name in ids if name in stated]
                assert len({(claim.learner, claim.variant) for claim in shown}) < 2, (part.rate, side)
                on = {name for claim in shown for name in numbered(claim.source)}
                played = {(claim.learner, claim.variant) for claim in shown}
                all_of_them = {
                    claim.id for claim in stated.values()
                    if (claim.learner, claim.variant) in played and on & set(numbered(claim.source))
                }  # fmt: skip
                assert all_of_them <= beneath, (part.rate, side)


@pytest.mark.parametrize("paper", papers())
def test_no_two_lines_beneath_a_rate_read_alike(paper: str) -> None:
    """Of the paper's own table, or of that of its claims file, with whatever was judged."""
    folder = ROOT / "workflows/papers" / paper
    claims = load_claims(folder / "claims.yaml")
    own = load_printed(folder, claims) or as_printed(claims, claims.tables[0])
    lines = printed.frame(fill(own, claims, read_judged(ROOT / "results/reference" / paper)))
    measured = lines.loc[lines["law"] != ""]
    assert len(measured)
    assert not measured.duplicated(["row", "column", "part", "side", "law"]).any()


def test_every_number_is_the_one_of_its_claim(filled: dict[str, FilledTable]) -> None:
    lines = {line["claim"]: line for line in filled["lou_cheung_2020"].lines()}
    known = read_judged(ROOT / "results/reference/lou_cheung_2020").set_index("claim")
    for name, row in known.loc[[*lines]].iterrows():
        if row["type"] == "exponent":
            assert float(lines[str(name)]["power"].split()[0]) == pytest.approx(row["log_aware"], abs=5.1e-3)
            told = lines[str(name)]["verdict"], lines[str(name)]["resolution"]
            assert told == (row["verdict"], f"±{row['resolution']:.2f} ({row['tolerance']:g})")
    linear = lines["alg1-printed-gamma"]  # reproduced is that the printed line makes no progress
    assert (linear["verdict"], linear["mark"], linear["law"]) == ("linear regret", "fails", "$T$")
    assert lines["thm3-T"]["law"] == r"$T^{0}\,\ln T$"


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_has_the_papers_rows_and_leads_to_claims(paper: str, filled: dict[str, FilledTable]) -> None:
    table = filled[paper]
    page = printed.fragment_of(printed.html_page(table))
    assert page.count('<th scope="row">') == len(table.printed.rows)
    assert set(re.findall(r'title="claim ([\w.-]+)"', page)) == {line["claim"] for line in table.lines()}
    assert f'href="#claim-{paper}-' in page
    assert "$" not in re.sub(r"<[^>]*>", "", page)  # no formula was left as LaTeX


TWO_COLUMNS = (
    r"\documentclass[twocolumn]{article}\usepackage{amsmath,booktabs,graphicx}"
    r"\begin{document}Text.\par %s\end{document}"
)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex here")
def test_latex_compiles_and_fits_in_two_columns(filled: dict[str, FilledTable], tmp_path: Path) -> None:
    for paper, table in filled.items():
        (tmp_path / f"{paper}.tex").write_text(printed.latex(table), encoding="utf-8")
    inputs = "".join(rf"\input{{{paper}}}\clearpage " for paper in filled)
    (tmp_path / "paper.tex").write_text(TWO_COLUMNS % inputs, encoding="utf-8")
    options = ["-interaction=nonstopmode", "-halt-on-error", "-draftmode", "-no-shell-escape"]
    words = ["pdflatex", *options, f"-output-directory={tmp_path}", "paper.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(too_wide, default=0) < 5
    assert "Float too large" not in done.stdout


@pytest.mark.parametrize("paper", papers())
def test_remarks_name_claims_that_exist(paper: str) -> None:
    texts = load_paper(ROOT / "workflows/papers" / paper)
    known = {claim.id for claim in texts.claims.claims}
    for erratum in texts.errata.errata:
        prose = " ".join([erratum.printed, erratum.right, erratum.why, erratum.reason])
        named = re.findall(r"\b(?:thm|lem|prop|cor|alg)[A-Z]?\d+(?:\.\d+)?-[\w-]+", prose)
        assert set(named) <= known, erratum.id
        suffix = re.search(r"(?:^|[ (])-[a-z]{2,}[ ,.]", unicode(prose).replace("−", "-").replace("-norm ", ""))
        assert not suffix, f"{erratum.id}: a suffix of a name would read as a negative number"


SYMBOLS = {*GREEK, "Gamma"}
NORMS = {"L_1", "L_2"}
"""Of Talwar et al.: names of norms, and constants that the list of Bassily et al. writes L1."""


@pytest.mark.parametrize("paper", papers())
def test_symbols_of_tables_are_explained(paper: str) -> None:
    """In the paper's list of symbols, or in the notes below its table."""
    folder = ROOT / "workflows/papers" / paper
    claims = load_claims(folder / "claims.yaml")
    own = load_printed(folder, claims)
    bounds = [row.bound_latex for table in claims.tables for row in table.rows]
    rates = [part.rate for row in own.rows for cell in row for part in cell] if own else []
    formulas = " ".join(formula for text in bounds + rates for formula in text.split("$")[1::2])
    formulas = (
        re.sub(r"\\(?:text|mathrm)\{[^}]*\}", "", formulas).replace("varepsilon", "eps").replace("epsilon", "eps")
    )
    used = {re.sub(r"[\\{}]", "", name) for name in re.findall(r"\\?[A-Za-z]+(?:_(?:\{[^}]*\}|\w))?", formulas)}
    letters = {name for name in used if len(name.split("_")[0]) == 1 or name.split("_")[0] in SYMBOLS} - {"O", "e"}
    explained = f"{claims.glossary} {own.notes if own else ''}".replace("varepsilon", "eps").replace("\\", "")
    known = set(re.findall(r"\w+", explained))
    missing = {name for name in letters - NORMS if not {name, name.replace("_", "")} & known}
    assert not missing
