"""Untrusted text, escaped so that it acts neither as a spreadsheet formula, nor as markup, nor on a terminal.

Names, claims, errata and the error messages of learners that failed are in every table. All writers pass them through
here (formats.py); templates of HTML and LaTeX escape them.
"""

from __future__ import annotations

import html
import re
from typing import Annotated

from pydantic import AfterValidator

from dpregret.core.errors import printable

_NUMBER = r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|inf)"
_HARMLESS = re.compile(rf"-|{_NUMBER}(?:; {_NUMBER})*(?: \[{_NUMBER}, {_NUMBER}\])?(?: \([\w/ ]+\))*", re.ASCII)
"""A dash, numbers, a number with its interval or a remark in words: no spreadsheet takes them for more."""
_FORMULA = re.compile(r"\s*'*\s*[=+\-@＝＋－＠]")
_SHIELDED = re.compile(rf"'(?={_FORMULA.pattern})")


def shielded(text: str) -> str:
    """Text of a cell that a spreadsheet would take for a formula, behind an apostrophe; control characters escaped."""
    text = printable(text)
    return f"'{text}" if _FORMULA.match(text) and not _HARMLESS.fullmatch(text) else text


def unshielded(text: str) -> str:
    """The text before `shielded`."""
    return _SHIELDED.sub("", text, count=1) if _SHIELDED.match(text) else text


# what begins code, emphasis, a tag, an entity, a link or an address, wherever it is in a line
_MARKUP = re.compile(r"[\\`*~$]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|:(?=//)|(?<=www)\.")
_ENTITIES = {"<": "&lt;", "&": "&amp;", "]": "&#93;"}
"""As in HTML: some readers of Markdown know no backslash before these."""
_BLOCK = re.compile(r"[#>+|=-]|\d+(?=[.)])")
"""What begins a heading, a quotation, a list, a rule or a table at the beginning of a line."""


def plain(text: object) -> str:
    """Markdown that shows the text as it is within a line; `from_plain` gives it back."""
    line = printable(" ".join(str(text).split()))
    return _MARKUP.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), line)


def paragraph(text: object) -> str:
    """Markdown that shows the text as it is, as a paragraph; `from_plain` gives it back."""
    line = plain(text)
    start = _BLOCK.match(line)
    if start is None:
        return line
    return f"{line[: start.end()]}\\{line[start.end() :]}" if start[0][0].isdecimal() else f"\\{line}"


def from_plain(line: str) -> str:
    """The text of `plain`, `paragraph` or a cell of `markdown`."""
    return re.sub(r"\\([!-/:-@\[-`{-~])|(&(?:lt|amp|#93);)", lambda match: match[1] or html.unescape(match[2]), line)


def in_html(value: object) -> object:
    """A value as a template of HTML prints it: `printable` text, which the template escapes; markup as it is."""
    return printable(value) if type(value) is str else value


_TEX = str.maketrans(
    {
        "\\": r"\textbackslash ",
        "~": r"\textasciitilde ",
        "^": r"\textasciicircum ",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def tex(text: object) -> str:
    """LaTeX that shows the text as it is."""
    return printable(" ".join(str(text).split())).translate(_TEX)


def in_tex(value: object) -> object:
    """A value as a template of LaTeX prints it; markup as it is."""
    return tex(value) if type(value) is str else value


_MATHEMATICS = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi varphi chi psi
    omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell star ast prime cdot times pm sqrt frac tfrac dfrac log
    ln exp min max sup inf le leq ge geq ne neq ll gg approx sim propto infty in to sum prod int big Big bigl bigr Bigl
    Bigr left right langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert hat tilde bar mathrm mathcal mathbb
    text nabla partial dots ldots cdots quad
    textbackslash textasciitilde textasciicircum
"""
ALLOWED = frozenset(re.findall(r"\w+", _MATHEMATICS))


def mathematics(latex: str) -> str:
    """LaTeX of a formula, as it is. Raises ValueError for a command that is none of `ALLOWED`: others read files."""
    if "^^" in latex:
        raise ValueError("holds ^^, which no formula needs")
    for word in re.findall(r"\\([A-Za-z@]+)", latex):
        if word not in ALLOWED:
            raise ValueError(f"\\{word} is not a command allowed in a formula (paper_figs/text/escaping.py)")
    return latex


Formula = Annotated[str, AfterValidator(mathematics)]
"""LaTeX of a claims file, which goes to a .tex file as it is."""
