"""Mathematics in sentences: typed in ASCII in the YAML files, shown with Greek letters, roots and raised powers.

`marked_up` writes HTML, `unicode` plain text, which keeps `^` and `_`. Names of claims, learners and files stay as
they are.
"""

from __future__ import annotations

import html
import re
from typing import Final

from dpregret.core.text import printable

GREEK: Final = {
    "eps": "ε", "delta": "δ", "mu": "μ", "lambda": "λ", "eta": "η", "beta": "β", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "kappa": "κ", "theta": "θ", "zeta": "ζ", "alpha": "α", "gamma": "γ", "xi": "ξ", "Psi": "Ψ", "Delta": "Δ",
}  # fmt: skip
"""Names of letters. `Gamma` is mostly the law of a noise, and a letter only beside `^` or `/`; so is `Omega`."""
_LETTER: Final = re.compile(
    rf"(?<![\w.])(?<![\w-]-)({'|'.join(GREEK)})(?=_[\w(]|(?!_)(?!-(?!DP\b|strongly))(?!\.\w)\b)"
)
_CAPITALS: Final = ((re.compile(r"(?<![\w-])Gamma(?=\^| / )"), "Γ"), (re.compile(r"\bOmega(?=\()"), "Ω"))
_SIGNS: Final = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("<<", "≪"), ("->", "→"), ("+-", "±"), (" - ", " − "))
_MINUS: Final = re.compile(r"(?<=[\s(\[<=,/*|^])-(?=[\w.(])|^-(?=[\d.])")
_ROOT: Final = re.compile(r"\bsqrt\((\w+)\)")
_SCIENTIFIC: Final = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b")
_NAME: Final = r"[A-Za-zα-ωΑ-Ω]"
_RAISED: Final = re.compile(rf"\^(?:\(([^()]+)\)|([−-]?(?:\d+(?:\.\d+)?|{_NAME})(?!\w)))")
_LOWERED: Final = re.compile(rf"(?:(?<![\w-])({_NAME})|(?<=\w)(\|))_(?:\{{([^{{}}]+)\}}|\(([^()]+)\)|(\w+))")


def unicode(sentence: str) -> str:
    """The sentence in one line, with Greek letters, roots and signs."""
    shown = _LETTER.sub(lambda found: GREEK[found[1]], printable(sentence))
    for pattern, letter in _CAPITALS:
        shown = pattern.sub(letter, shown)
    for typed, sign in _SIGNS:
        shown = shown.replace(typed, sign)
    return re.sub(r"\bsqrt(?=\()", "√", _ROOT.sub(r"√\1", _MINUS.sub("−", shown)))


def marked_up(sentence: str) -> str:
    """HTML of the sentence, with powers raised and indices lowered."""
    shown = _SCIENTIFIC.sub(_power_of_ten, html.escape(unicode(sentence)))
    shown = _RAISED.sub(lambda found: f"<sup>{(found[1] or found[2]).replace('-', '−')}</sup>", shown)
    shown = _LOWERED.sub(_index, shown)
    return re.sub(r"\blog2\b", "log<sub>2</sub>", shown)


def _index(found: re.Match[str]) -> str:
    index = found[3] or found[4] or found[5]
    return f"{found[1] or found[2]}<sub>{index.replace('-', '−')}</sub>"


def _power_of_ten(found: re.Match[str]) -> str:
    digits, sign, power = found.groups()
    front = "" if digits == "1" else f"{digits}·"
    return f"{front}10<sup>{'−' if sign == '-' else ''}{power}</sup>"
