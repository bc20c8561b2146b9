"""Formulas of papers: LaTeX in, native MathML or readable text out. LaTeX is the one source of each formula.

`mathml` and `text` take LaTeX without dollars, `in_html` and `in_text` a sentence with formulas between dollars.
latex2mathml reads the LaTeX; its tree is written out here, since its own writer leaves `<` in the text as it is.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple
from xml.etree.ElementTree import Element, tostring

from dpregret.core.errors import printable
from dpregret.paper_figs.text.escaping import mathematics, tex

GREEK: Final = {
    "eps": "ε", "epsilon": "ε", "delta": "δ", "mu": "μ", "lambda": "λ", "eta": "η", "beta": "β", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "kappa": "κ", "theta": "θ", "zeta": "ζ", "alpha": "α", "gamma": "γ", "xi": "ξ",
    "omega": "ω", "pi": "π", "Psi": "Ψ", "Delta": "Δ", "inf": "∞",
}  # fmt: skip
"""Names of letters, and of infinity. `Gamma` is mostly the law of a noise: a letter only alone and beside signs."""
_LETTER: Final = re.compile(
    rf"(?:(?<![\w.])(?<![\w-]-)|(?<=\b[A-Z]_))({'|'.join(GREEK)})(?=_[\w(+*]|(?!_)(?!-(?!G?DP\b|strongly))(?!\.\w)\b)"
)
_CAPITALS: Final = (
    (re.compile(r"(?<![\w-])Gamma(?=\^| / | = )|(?<=\) )Gamma(?=\))|^Gamma$"), "Γ"),
    (re.compile(r"\bOmega(?=\()"), "Ω"),
)
_LOGARITHM: Final = re.compile(r"\b(ln|log2)\(([A-Za-z])\)(?=\^)")
_TYPED: Final = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("<<", "≪"), ("->", "→"), ("+-", "±"), (" - ", " − "))
_MINUS: Final = re.compile(r"(?<=[\s(\[<=,/*|^])-(?=[\w.(|])|^-(?=[\d.])")
_PERCENT: Final = re.compile(r"(?<=\d)%(?!\w)")
_ROOT: Final = re.compile(r"\bsqrt\((\w+)\)")
_SCIENTIFIC: Final = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b")
_NAME: Final = r"[A-Za-zα-ωΑ-Ωℓ]"
_RAISED: Final = re.compile(rf"\^(?:\(([^()]+)\)|([−-]?(?:\d+(?:\.\d+)?|{_NAME})(?!\w)))")
_LOWERED: Final = re.compile(rf"(?:(?<![\w-])({_NAME})|(?<=\w)(\|))_(?:\{{([^{{}}]+)\}}|\(([^()]+)\)|(\w+|[+*]))")


_PRODUCT: Final = re.compile(r"&lt;([−\w][\w −*()]*, [^&<>]+)&gt;")
_NORM: Final = re.compile(r"(?<![\w./-])l(?:([12])|_([pqr]))(?![\w/-])(?!\.\w)")
"""Inner products and the names of norms and balls, as they are typed."""
_ENDED: Final = re.compile(r"<math\b(?:(?!<math\b).)*</math>[,.;:)]+")
"""A formula and the signs behind it, between which browsers end a line."""


def unicode(sentence: str) -> str:
    """The sentence in one line, with Greek letters, roots, signs and powers of ten."""
    return _SCIENTIFIC.sub(lambda match: _power_of_ten(match, "", ""), _with_signs(sentence))


def _with_signs(sentence: str) -> str:
    line = _LETTER.sub(lambda match: GREEK[match[1]], printable(sentence))
    for pattern, letter in _CAPITALS:
        line = pattern.sub(letter, line)
    line = line.replace("μ_gdp", "μ_GDP")
    for typed, sign in _TYPED:
        line = line.replace(typed, sign)
    line = _PERCENT.sub(" %", _MINUS.sub("−", line))
    return re.sub(r"\bsqrt(?=\()", "√", _ROOT.sub(r"√\1", line))


def marked_up(sentence: str) -> str:
    """HTML of the sentence, with powers raised, indices lowered, and brackets of inner products."""
    line = _PRODUCT.sub(r"⟨\1⟩", html.escape(_LOGARITHM.sub(r"(\1 \2)", _with_signs(sentence))))
    line = _NORM.sub(r"ℓ<sub>\1\2</sub>", line)
    line = _SCIENTIFIC.sub(lambda match: _power_of_ten(match, "<sup>", "</sup>"), line)
    line = _RAISED.sub(lambda match: f"<sup>{(match[1] or match[2]).replace('-', '−')}</sup>", line)
    line = _LOWERED.sub(_index, line)
    return re.sub(r"\b(log(?=2\b)|[CDx](?=0\b))(\d)", r"\1<sub>\2</sub>", line)


def _index(match: re.Match[str]) -> str:
    index = _LOWERED.sub(_index, match[3] or match[4] or match[5])  # of x_(t_q)
    return f"{match[1] or match[2]}<sub>{index.replace('-', '−')}</sub>"


def _power_of_ten(match: re.Match[str], begin: str, end: str) -> str:
    """`2.5·10⁻⁶`; between the marks of a raised text, where there are some, in plain digits."""
    digits, sign, power = match.groups()
    front, raised = "" if digits == "1" else f"{digits}·", f"{'−' if sign == '-' else ''}{power}"
    return f"{front}10{begin}{raised if begin else raised.translate(_UP)}{end}"


Kind = Literal[
    "letter", "wide", "function", "fraction", "text", "open", "close", "bar", "operator", "sign", "comma", "slash"
]
THIN: Final = "0.167em"
_WIDTHS: Final = {"negativethinmathspace": f"-{THIN}"}
"""Names of widths that browsers no longer know."""
_SIGN: Final = {"/": {"lspace": "0", "rspace": "0"}, **{bar: {"stretchy": "false"} for bar in "|‖"}}
"""Signs as TeX sets them."""
_PARTS: Final = {"mfrac": 2, "mover": 2, "msup": 2, "msub": 2, "msubsup": 3, "mroot": 2}
EMPTY: Final = frozenset(["", *"()[]{}/"])
"""Invalid halves of a fraction: LaTeX takes the next sign where a half is missing."""
_UP, _DOWN = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"), str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GLYPHS: Final = str.maketrans("-ϵϕ", "−εφ")
"""One glyph per letter, the same as in sentences."""
_ACCENTS: Final = {"~": "\u0303", "^": "\u0302", "¯": "\u0304"}
_SIGNS: Final[dict[str, Kind]] = {
    **dict.fromkeys("([{⌊⌈⟨", "open"),
    **dict.fromkeys(")]}⌋⌉⟩", "close"),
    **dict.fromkeys("|‖", "bar"),
    **dict.fromkeys("+−=≤≥<>≠≈∼∝∈→·⋅×±≪≫", "operator"),
    ",": "comma",
    "/": "slash",
}


class FormulaError(ValueError):
    """LaTeX that is not a formula, or holds what no formula here needs; the message is one line."""


def mathml(latex: str) -> str:
    """A formula as a `math` element of HTML. Raises FormulaError."""
    return tostring(_tree(latex), encoding="unicode", short_empty_elements=False)


def text(latex: str) -> str:
    """A formula in one line of Unicode, such as `Õ((T^(3/4) n^(3/2))/ε)`. Raises FormulaError."""
    return _joined(_pieces(_tree(latex)))


def in_html(sentence: str) -> str:
    """HTML of a sentence whose formulas are between dollars. Raises FormulaError."""
    line = "".join(mathml(part) if odd else marked_up(part) for odd, part in _parts(sentence))
    return _ENDED.sub(r'<span style="white-space: nowrap">\g<0></span>', line)


def in_text(sentence: str) -> str:
    """The sentence with its formulas as readable text. Raises FormulaError."""
    return "".join(text(part) if odd else unicode(part) for odd, part in _parts(sentence))


def in_tex(sentence: str) -> str:
    """The sentence in LaTeX: its words escaped, its formulas as they are. Raises FormulaError."""
    checked(sentence)
    return "".join(f"${part}$" if odd else " ".join(map(tex, part.split(" "))) for odd, part in _parts(sentence))


def checked(sentence: str) -> str:
    """The sentence as it is, if all its formulas can be shown. Raises FormulaError."""
    in_text(sentence)
    return sentence


def _parts(sentence: str) -> list[tuple[int, str]]:
    parts = sentence.split("$")
    if len(parts) % 2 == 0:
        raise FormulaError(f"{sentence!r}: a dollar without a second one")
    return [(number % 2, part) for number, part in enumerate(parts)]


@lru_cache(maxsize=4096)
def _tree(latex: str) -> Element:
    """The `math` element with plain text in it; shared, not to be changed."""
    from latex2mathml.converter import Converter  # late: it brings a web client, and a terminal shows text

    if not latex.isprintable() or set(latex) & set("&%#~$"):
        raise FormulaError(f"{latex!r}: holds a character that no formula needs")
    braces = re.sub(r"\\.", "", latex)
    if braces.count("{") != braces.count("}"):
        raise FormulaError(f"{latex!r}: no formula, a brace is open")
    try:
        tree = Converter().convert_to_element(mathematics(latex))
    except ValueError as fault:
        raise FormulaError(f"{latex!r}: {fault}") from None
    except Exception as fault:  # its errors share no base, and half a command ends in an IndexError
        raise FormulaError(f"{latex!r}: no formula ({type(fault).__name__})") from None
    for element in tree.iter():
        element.text = html.unescape(element.text or "").translate(_GLYPHS) or None
        wrong = "\\" in (element.text or "") or len(element) != _PARTS.get(element.tag, len(element))
        if wrong or (element.tag == "mfrac" and any("".join(part.itertext()) in EMPTY for part in element)):
            raise FormulaError(f"{latex!r}: no formula, at {element.text or element.tag}")
        if element.tag == "mo":
            element.attrib |= _SIGN.get(element.text or "", {})
        elif element.tag == "mspace":
            element.set("width", _WIDTHS.get(element.get("width", ""), element.get("width", "")))
    for row in tree.iter("mrow"):
        _one_name(row)
        _set_apart(row)
    return tree


def _one_name(row: Element) -> None:
    """Upright letters in a row are one name."""
    for left, right in reversed(list(pairwise(row))):
        if left.get("mathvariant") == right.get("mathvariant") == "normal":
            left.text = f"{left.text}{right.text}"
            row.remove(right)


def _set_apart(row: Element) -> None:
    """Thin spaces around the names of functions, as TeX has them and MathML has not."""
    for left, right in reversed(list(pairwise(row))):
        kinds = _last(left), _last(right)
        if "function" in kinds and not set(kinds) & {"open", "close", "bar", "operator", "comma", "slash", "text"}:
            row.insert(list(row).index(right), Element("mspace", width=THIN))


def _last(element: Element) -> Kind:
    """The kind of an element as its neighbours see it; a space counts as text."""
    pieces = _pieces(element)
    return pieces[-1].kind if len(pieces) == 1 else "letter" if pieces else "text"


class Piece(NamedTuple):
    """A part of a line: a `letter` joins other letters, what is `wide` stands apart from them."""

    text: str
    kind: Kind


def _pieces(element: Element) -> list[Piece]:
    inner = [_pieces(child) for child in element]
    match element.tag:
        case "mi" | "mo" | "mn" | "mtext":
            return [_atom(element)]
        case "mfrac":
            return [Piece("/".join(map(_bracketed, inner)), "fraction")]
        case "msqrt":
            return [Piece(f"√{_bracketed([piece for pieces in inner for piece in pieces])}", "wide")]
        case "mroot":
            return [Piece(f"{_bracketed(inner[0])}^(1/{_joined(inner[1])})", "wide")]
        case "mover":
            accent = _ACCENTS.get(_joined(inner[1]), "")
            return [Piece(unicodedata.normalize("NFC", _joined(inner[0]) + accent), "letter")]
        case "msup" | "msub" | "msubsup" | "munder" | "munderover":
            return _scripted(element.tag, inner)
        case "mspace":
            return []
    return [piece for pieces in inner for piece in pieces]


def _atom(element: Element) -> Piece:
    """A letter, a number, a sign, or a name; letters of other alphabets of mathematics become plain ones."""
    chars = element.text or ""
    if element.tag == "mtext":
        return Piece(chars.replace("\xa0", " "), "text")
    chars = "".join(unicodedata.normalize("NFKC", sign) if sign > "\uffff" or sign in "ϵϕ" else sign for sign in chars)
    if chars in _SIGNS:
        return Piece(chars, _SIGNS[chars])
    return Piece(chars, "function" if len(chars) > 1 and chars.isalpha() else "letter")


def _scripted(tag: str, inner: list[list[Piece]]) -> list[Piece]:
    """A base with what is below and above it; bases of several pieces get brackets."""
    if not inner[0]:
        return []
    base, kind = _bracketed(inner[0]), inner[0][-1].kind
    marks = {"msup": "^", "msub": "_", "munder": "_"}.get(tag, "_^")
    for mark, script in zip(marks, inner[1:], strict=True):
        written = _joined(script)
        if written.isdecimal() and written.isascii():
            base += written.translate(_UP if mark == "^" else _DOWN)
        elif written in ("′", "∗", "*", "⋆"):
            base += written.replace("∗", "*").replace("⋆", "*")
        else:
            base += f"{mark}{_bracketed(script)}"
            kind = "wide" if kind == "letter" else kind
    return [Piece(base, kind)]


def _bracketed(pieces: list[Piece]) -> str:
    """One letter, name or number as it is, anything else in brackets."""
    line = _joined(pieces)
    alone = (len(pieces) == 1 and pieces[0].kind != "fraction") or line.removeprefix("−").replace(".", "").isdecimal()
    return line if alone else f"({line})"


def _joined(pieces: Iterable[Piece]) -> str:
    """One line; a fraction beside something that it could be read into gets brackets."""
    line, bars = [Piece("", "open")], 0
    parts = list(pieces)
    for index, piece in enumerate(parts):
        if piece.kind == "bar":
            bars += 1
            piece = Piece(piece.text, "open" if bars % 2 else "close")
        elif piece.text in "+−" and line[-1].kind in ("open", "operator", "slash", "comma", "function"):
            piece = Piece(piece.text, "sign")
        elif piece.kind == "fraction":
            after = parts[index + 1].kind if index + 1 < len(parts) else "close"
            alone = line[-1].kind in ("open", "operator", "comma") and after in ("close", "operator", "comma", "bar")
            piece = Piece(piece.text, "wide") if alone else Piece(f"({piece.text})", "open")
            line.append(Piece(_between(line[-1].kind, piece.kind) + piece.text, "close"))
            continue
        line.append(Piece(_between(line[-1].kind, piece.kind) + piece.text, piece.kind))
    return "".join(piece.text for piece in line)


def _between(left: Kind, right: Kind) -> str:
    """The space between two pieces."""
    if left in ("open", "slash", "sign", "text") or right in ("close", "comma", "slash", "text"):
        return ""
    if {left, right} & {"operator", "comma"}:
        return " "
    if right == "open":
        return " " if left == "wide" else ""
    return "" if left == right == "letter" else " "
