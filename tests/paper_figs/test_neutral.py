"""Any text may stand in a name: what leaves the house shows it, and does nothing else."""

from __future__ import annotations

import csv
import html.parser
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpregret.core.errors import ConfigError, printable
from dpregret.paper_figs.report.findings import read_captioned
from dpregret.paper_figs.tables.printed import wide_latex
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import shielded, tex

EVIL = [
    "=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "'=1", "''=1", "＝1", "-1|cmd", "-1 [1, 2]+cmd", "=",
    "\n=1", "<script>alert(1)</script>", "</script>", "<!-- table-1:end -->", "[a](javascript:alert(1))", "![a](b)",
    "`a`", "a|b", "a\\|b", "\\", "&lt;b&gt;", "**a**", "__a__", "_a_", "~a~", "www.a.b", "https://a.b", "<https://a.b>",
    "[a]: b", "\\input{a}", "a\\\\b", "$a$", "%a", "a & b", "~ ^ ^^5c", "a\x1b[2Jb", "a\u202eb", "\u2028", "\x00",
    "\n\n# a", "\"a\",b", "", "nan",
]  # fmt: skip
HARMLESS = ["-", "-1", "+1.5e-3", "-0.52 [-0.6, -0.4] (of dR/dlnT)", "-0.15; 0.08; -1", "-inf", "a-b", "1"]
any_text = st.lists(st.sampled_from(EVIL), min_size=1, max_size=4).map("".join) | st.text(st.characters(codec="utf-8"))
few = settings(max_examples=25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("neutral")


@few
@given(any_text, any_text)
def test_cells_of_a_csv_are_no_formulas_and_are_read_back(folder: Path, one: str, other: str) -> None:
    frame = pd.DataFrame({"a": [one, other], "n": [-1.5, 2.0]})
    formats.write_csv(frame, folder / "x.csv")
    with (folder / "x.csv").open(newline="", encoding="utf-8") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    for cell, text in zip(cells, (one, other), strict=True):
        assert cell.lstrip()[:1] not in set("=+-@＝＋－＠") or re.fullmatch(r"-|[-+][\d.;,\[\] e+-]*|[-+]inf.*", cell)
        assert all(each.isprintable() or each == "\n" for each in cell), text
    back = formats.read_csv(folder / "x.csv", dtype={"a": str}, keep_default_na=False)
    assert back["a"].tolist() == [printable(one), printable(other)]
    assert back["n"].tolist() == [-1.5, 2.0]


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_dashes_stay_as_they_are(text: str) -> None:
    assert shielded(text) == text


@few
@given(any_text, any_text)
@example("a\\", "|b")
def test_markdown_shows_the_text_and_nothing_else(folder: Path, head: str, text: str) -> None:
    formats.write_captioned(pd.DataFrame({head: [text], "b": ["c"]}), f"Caption: {text}", folder, "x")
    page = (folder / "x.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    lines = [token.children or [] for token in tokens if token.type == "inline"]
    assert {part.type for line in lines for part in line} <= {"text", "text_special"}
    shown = ["".join(part.content for part in line) for line in lines]
    head, text = (printable(" ".join(each.split())) for each in (head, text))
    assert shown == [f"Caption: {text}".strip(), head, "b", text, "c"]
    assert [token.type for token in tokens].count("tr_open") == 2
    table = read_captioned(folder / "x.md", "X")
    assert (table.caption, table.columns, table.rows) == (shown[0], (head, "b"), ((text, "c"),))


class _Text(html.parser.HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@few
@given(any_text)
def test_html_has_no_tags_of_strangers(text: str) -> None:
    page = _Text(formats.html(pd.DataFrame({text: [text]}), "x", f"c{text}"))
    tags = ["table", "caption", "thead", "tr", "th", "tbody", "tr", "td"]
    assert [tag for tag in page.tags if tag != "style"] == tags
    assert page.text.count(printable(text)) >= 3


@few
@given(any_text)
def test_tex_has_no_command_of_strangers(text: str) -> None:
    words = re.findall(r"\\[A-Za-z]+|\\.|[&%$#_{}^~\\]", tex(text))
    signs = {"textbackslash", "textasciitilde", "textasciicircum", *"&%$#_{}"}
    assert {word.removeprefix("\\") for word in words} <= signs
    assert all(word.startswith("\\") for word in words)
    assert tex(text) in wide_latex(pd.DataFrame({text: [text]}), "l", text)


@few
@given(any_text)
def test_nothing_reaches_the_terminal_that_it_would_obey(text: str) -> None:
    shown = "".join((*ConfigError([f"{text}\ud800"]).problems, formats.terminal(pd.DataFrame({text: [text]}), text)))
    assert all(each.isprintable() or each == "\n" for each in shown)
