"""README, docs and data files agree with each other, their links lead somewhere, and commands that they name exist."""

import ast
import csv
import importlib.util
import json
import re
import runpy
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from commands import ran
from markdown_it import MarkdownIt

from dpregret.cli import app, targets
from dpregret.paper_figs.judge.read_claims import cited_claims, load_paper
from dpregret.paper_figs.report import findings, readme
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import papers

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PAPERS = papers()


@cache
def profile(name):
    """A profile as it is read; that it passes every check is shown where it is planned."""
    return load_config(ROOT / f"workflows/config/{name}.yaml", check=False)


MARKS = re.compile(r":begin -->|<!-- (?:number|met|cell): ")
PROSE = [*PAGES, ROOT / "paper/paper.md"]
BESIDE = sorted(ROOT.glob("results/reference/*.md"))
GENERATED = [page for page in [*PROSE, *BESIDE] if MARKS.search(page.read_text()) and page.parent.name != "proofs"]


@pytest.fixture(scope="module")
def read_once():
    """The lines of the reference, which every page shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readme, "_lines", cache(readme._lines))
        for reads in ("lines_of", "load_paper"):
            patch.setattr(findings, reads, cache(getattr(findings, reads)))
        yield


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.name)
@pytest.mark.usefixtures("read_once")
def test_generated_parts_are_those_of_the_reference(page):
    assert readme.update_page(page, ROOT / "results/reference", ROOT / "workflows/papers", check=True)


GENERATED_PARTS = re.compile(
    r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->|<!-- (?:number|met|cell): .*?<!-- end -->", re.DOTALL
)
NUMBER = r"(?:\d+|[Ff]our|[Ff]ive|[Ss]ix|[Ss]even|[Ee]ight|[Nn]ine|[Tt]en|[Ee]leven|[Tt]welve)"
COUNTED = r"(?:claims|papers|mistakes in print|(?:private )?variants|printed (?:privacy )?guarantees|checks)"
TYPED = re.compile(rf"\b{NUMBER}(?: of (?:the )?{NUMBER})? {COUNTED}\b")
HISTORY = ("CHANGELOG.md", "AGENTS.md")


@pytest.mark.parametrize("page", [page for page in PROSE if page.name not in HISTORY], ids=lambda page: page.name)
def test_no_total_is_typed_by_hand(page: Path) -> None:
    text = GENERATED_PARTS.sub("", page.read_text(encoding="utf-8"))
    assert TYPED.findall(text) == []


@pytest.mark.parametrize(
    "text", ["434 claims", "Five printed privacy guarantees", "81 of 170 variants", "58 mistakes in print"]
)
def test_typed_totals_are_seen(text: str) -> None:
    assert TYPED.search(f"It has {text}.")
    assert not TYPED.search(GENERATED_PARTS.sub("", f"It has <!-- number: x -->{text}<!-- end -->."))


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.name)
def test_no_line_begins_with_a_mark_within_a_sentence(page: Path) -> None:
    """CommonMark would take the whole line for HTML, and show its links as they are typed."""
    assert re.findall(r"^[\s*>-]*<!-- (?:number|met|cell): .*", page.read_text(encoding="utf-8"), re.MULTILINE) == []


def test_the_page_of_each_paper_has_its_verdicts():
    pages = {each for each in PAPERS if (ROOT / f"docs/{each}.md").exists()}
    assert len(pages) >= 5
    assert pages <= {page.stem for page in GENERATED}


GONE = re.compile(
    r"\b((constant|trivial) (point|learner|regret)|point that never moves|seen here|steeper|overheads?|ledger delivers|"
    r"delivered (ε|eps|epsilon)|planted (bug|mistake|law|curve|rate)s?|on purpose|as published|other lines|"
    r"straight loss|proved at most|it would take|ended well)\b",
    re.IGNORECASE,
)
"""Terms that have another name: fixed-point baseline, consistent on typical data, faster than stated, cost of privacy,
accounted ε, injected bugs, as printed, claims and checks. Identifiers keep theirs."""
CODE = re.compile(r"^```.*?^```|`[^`]*`|claims? [\w.-]+(?:, [\w.-]+)*", re.MULTILINE | re.DOTALL)


def prose():
    """What a reader meets, by its place: pages, templates of the report, sentences of the papers, texts of the code
    (docstrings, messages, heads and captions of tables, help)."""
    for page in PROSE:
        if page.name != "CHANGELOG.md":
            yield page.name, CODE.sub("", GENERATED_PARTS.sub("", page.read_text(encoding="utf-8")))
    for template in (ROOT / "dpregret/paper_figs/report/templates").glob("*.j2"):
        yield template.name, template.read_text(encoding="utf-8")
    for file in (ROOT / "dpregret").glob("**/*.py"):
        if GONE.search(text := file.read_text(encoding="utf-8")):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                    yield f"{file}:{node.lineno}", CODE.sub("", node.value)
    for paper in PAPERS:
        claims = load_paper(ROOT / f"workflows/papers/{paper}").claims
        for claim in claims.claims:
            yield claim.id, claim.statement
        yield (
            paper,
            " ".join([*(figure.title for figure in claims.figures), *claims.glossary, *claims.glossary.values()]),
        )


def test_one_vocabulary():
    assert [(place, found[0]) for place, text in prose() if (found := GONE.search(text))] == []
    assert all(
        GONE.search(text) for text in ("seen here", "Steeper", "the overhead of W", "planted bugs", "delivered eps")
    )


def test_the_gallery_has_a_figure_of_every_paper():
    shown = re.findall(r"`dpregret figure ([a-z]\w+) \w+`", (ROOT / "docs/gallery.md").read_text(encoding="utf-8"))
    assert set(shown) == set(PAPERS)


@cache
def claims_of_papers():
    return {claim.id for paper in PAPERS for claim in load_paper(ROOT / f"workflows/papers/{paper}").claims.claims}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_claims_that_a_document_cites_exist(page):
    assert set(cited_claims(page.read_text(encoding="utf-8"))) <= claims_of_papers()


@cache
def verdicts():
    return {
        row["claim"]: row["verdict"]
        for file in (ROOT / "results/reference").glob("*/c[lh]*s.csv")
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines(keepends=True))
    }


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.name)
def test_a_sentence_on_an_inconclusive_claim_says_so(page: Path) -> None:
    text = " ".join(GENERATED_PARTS.sub("", page.read_text(encoding="utf-8")).split())
    open_words = re.compile(r"\b(open|inconclusive|undecided|too large|after results were seen)\b")
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z*—-])|\. - ", text):
        decided = [verdicts().get(name) for name in cited_claims(sentence)]
        assert "inconclusive" not in decided or open_words.search(sentence), sentence


@pytest.mark.parametrize("paper", PAPERS)
def test_the_ci_profile_is_a_part_of_the_full_one(paper):
    full, small = (profile(name).papers.get(paper) for name in ("full", "ci"))
    if full is None or small is None:
        pytest.skip("not in the ci profile")
    for name, experiment in small.experiments.items():
        for learner, variants in experiment.learners.items():
            assert set(variants) <= set(full.experiments[name].learners[learner]), (name, learner)


# Links: `make docs` fails at one that leads nowhere, minutes later

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DOCUMENTED = re.findall(r"^DOCUMENTED := (.*)$", MAKEFILE, re.MULTILINE)[0].split()
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
LINKING = [*PAGES, *(page for page in BESIDE if page in GENERATED), *sorted(ROOT.glob("docs/*.ipynb"))]


def markdown(page: Path) -> str:
    """Of a notebook its cells of text."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


@cache
def anchors(page: Path) -> set[str]:
    """Those of its headings, as a Git host and the site name them."""
    heads = re.findall(r"^#{1,4} (.+)$", FENCED.sub("", markdown(page)), re.MULTILINE)
    words = (re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", head) for head in heads)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in words}


def dead_links(page: Path, text: str) -> list[str]:
    """Links of a page to nothing, to a file that the site is built without, or to a heading that is not there."""
    found = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", text))):
        place, _, anchor = link.partition("#")
        if ":" in place:
            continue
        target = (page.parent / place).resolve() if place else page
        there = target.exists() and any(
            target == each or each in target.parents for name in DOCUMENTED for each in ROOT.glob(name)
        )
        if not there or (anchor and target.suffix in (".md", ".ipynb") and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_somewhere_on_the_site(page: Path) -> None:
    assert dead_links(page, markdown(page)) == []


@pytest.mark.parametrize(
    "link", ["gone.md", "method.md#gone", "#gone", "../tests/conftest.py", "../results/nothing.csv"]
)
def test_a_dead_link_is_seen(link: str) -> None:
    text = f"See [that `x`]({link}) and [this](method.md#fits), [code](../dpregret/api.py), [out](https://a.b/c#d)."
    assert dead_links(ROOT / "docs" / "audit.md", text) == [link]


def test_each_page_is_in_the_menu() -> None:
    menu = (ROOT / "docs/site/conf.py").read_text(encoding="utf-8")
    pages = [
        page for page in LINKING if page not in BESIDE and "examples" not in page.parts and page.stem not in PAPERS
    ]
    named = {page.relative_to(ROOT).with_suffix("").as_posix() for page in pages} - {"README"}
    assert {name for name in named if not re.search(rf"[\"<]{name}[\">]", menu)} == set()


# Commands: targets of make, rules and papers, modules, commands of ours

INLINE = re.compile(r"`((?:make|snakemake|dpregret|python -m)(?: [^`]+)?)`")
PLACEHOLDER = re.compile(r"[A-Z]+$|\.\.\.$|.*[/=].*")


def commands(page: str) -> list[list[str]]:
    """What a page tells to type, in words: lines of shell blocks, lines after a prompt, code within sentences."""
    found = []
    for kind, block in FENCED.findall(page):
        found += block.splitlines() if kind == "sh" else re.findall(r"^\$ (.*)", block, re.MULTILINE)
    lines = (re.sub(r" #.*", "", line) for line in [*found, *INLINE.findall(FENCED.sub("", page))])
    parts = (part for line in lines for part in re.split(r"&&|\||; ", line))
    words = ([word for word in part.split() if not re.match(r"[A-Z_]+=", word)] for part in parts)
    return [each for each in words if each]


def known(command: str) -> set[str] | None:
    """What may follow it; None where that is not ours to know."""
    if command == "make":
        return set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    if command == "snakemake":
        return targets()
    if command == "dpregret":
        return {each.name or each.callback.__name__ for each in app.registered_commands if each.name or each.callback}
    return None


def unknown(words: list[str]) -> str:
    """The word of a command that leads nowhere, empty where there is none."""
    if words[:2] == ["python", "-m"] and len(words) > 2 and words[2].startswith("dpregret"):
        return "" if importlib.util.find_spec(words[2]) else words[2]
    allowed = known(words[0])
    if allowed is None:
        return ""
    given = [word for before, word in pairwise(words) if not before.startswith("-")]
    given = [word for word in given if not word.startswith("-") and not PLACEHOLDER.match(word)]
    return next((word for word in (given[:1] if words[0] == "dpregret" else given) if word not in allowed), "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_document_exist(page: Path) -> None:
    found = {" ".join(words): unknown(words) for words in commands(page.read_text(encoding="utf-8"))}
    assert {command: wrong for command, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("command", "wrong"),
    [("make reproduc", "reproduc"), ("snakemake --cores 8 lou_chung", "lou_chung"), ("dpregret tables lou", "tables"),
     ("python -m dpregret.advice --rounds 5", "dpregret.advice"), ("make setup && make X=1 tset", "tset")],
)  # fmt: skip
def test_planted_mistakes_are_seen(command: str, wrong: str) -> None:
    assert [unknown(words) for words in commands(f"Say\n\n```sh\n{command}  # so\n```\n")][-1] == wrong


def shown(page: Path) -> list[tuple[str, list[str]]]:
    """Commands of ours whose answer a page shows, each with the lines of the answer, which need not be all."""
    blocks = [block for _, block in FENCED.findall(page.read_text(encoding="utf-8"))]
    answers = [answer.split("\n\n")[0].splitlines() for block in blocks for answer in re.split(r"(?m)^\$ ", block)[1:]]
    return [(answer[0], answer[1:]) for answer in answers if answer[0].startswith("dpregret ") and answer[1:]]


SHOWN = [(page, *answer) for page in PAGES for answer in shown(page)]


@pytest.mark.nightly
@pytest.mark.parametrize(("page", "command", "lines"), SHOWN, ids=[command for _, command, _ in SHOWN])
def test_a_command_answers_as_a_document_shows(page: Path, command: str, lines: list[str]) -> None:
    """Line by line, in this order; `...` stands for the rest of a line."""
    said = iter(ran([sys.executable, "-m", *command.split()], ROOT).stdout.splitlines())
    for line in lines:
        begin = line.removesuffix("...")
        assert any(each == line or (begin != line and each.startswith(begin)) for each in said), line


def documented(path: Path) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]
    return [text for node in nodes if (text := ast.get_docstring(node))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_signs_of_formulas_are_no_markup(page):
    """`|s|_1` and `theta_(t+1)` together are emphasis to Markdown; a line that begins with >= is a quotation."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    marks = [each.markup for token in tokens for each in token.children or [] if each.type == "em_open"]
    assert "_" not in marks
    assert not [token.map for token in tokens if token.type == "blockquote_open"]


def test_the_site_keeps_lists_of_fields() -> None:
    """As Sphinx makes them of Args, Returns and Raises; a text with a colon is not taken for a type."""
    to_rst = runpy.run_path(str(ROOT / "docs/site/docstrings.py"))["to_rst"]
    made = ":param x: a *list*\n          of `words`.\n:returns: what it needs).\n:rtype: name, traits (a tuple\n"
    made += ":raises ValueError: never."
    shown = [
        r":param x: a \*list\* of ``words``.",
        ":raises ValueError: never.",
        r":returns: name, traits (a tuple\: what it needs).",
    ]
    assert sorted(to_rst(f"Do it.\n\n{made}").split("\n\n")[1].splitlines()) == shown


def test_the_site_shows_doctests_as_they_are_typed() -> None:
    to_rst = runpy.run_path(str(ROOT / "docs/site/docstrings.py"))["to_rst"]
    examples = [text for path in ROOT.glob("dpregret/**/*.py") for text in documented(path) if "\n>>> " in text]
    assert examples
    for text in [*examples, 'Play it.\n>>> play("a", *b)\n>>> "c"\n\'c\'']:
        shown = to_rst(text)
        typed = re.findall(r"^ *(>>> .*)$", text, re.MULTILINE)
        assert re.findall(r"^ {3}(>>> .*)$", shown, re.MULTILINE) == typed
        assert shown.count(".. code-block:: pycon") >= 1
    assert re.search(r"^smartquotes = False", (ROOT / "docs/site/conf.py").read_text(encoding="utf-8"), re.MULTILINE)
