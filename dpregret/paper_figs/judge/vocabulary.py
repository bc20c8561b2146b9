"""Verdicts, parameters and responses: their meanings and how pages write them; the notation of rates.

A rate is written `T^0.5 ln(T)^1.5`, `ln T`, `eps^-1`, `1` in claims files and tables: symbol^power times log^log_power.
The logarithm is ln of T, n or of what is in brackets, log2 of a dimension. A power of one is left out, as is a factor
of power zero; thirds are written `T^(2/3)`. A last factor `A_W`, as in `(log2 W + 1) A_W`, is the mean root of the
number of noisy nodes in a sum of the window tree (`cells.mean_root`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, get_args

REPRODUCED, UP_TO_LOGS = "reproduced", "reproduced up to logs"
BELOW, ABOVE, SEEN_HERE = "below bound", "above bound", "consistent on typical data"
STEEPER_HELD, STEEPER, VIOLATED = "faster than stated (bound holds)", "faster than stated", "violated"
HOLDS, FAILS = "holds", "fails"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"

CLAIMS: Final = {
    REPRODUCED: "grows like the bound on a stream on which the terms of the bound appear",
    UP_TO_LOGS: "has the stated power; these cells and runs do not resolve the stated logarithm",
    BELOW: "grows more slowly than the bound up to the end of the grid: the bound is loose, or the stream is easy",
    ABOVE: "stays well above a lower bound",
    SEEN_HERE: "grows like the bound on a typical stream, which proves nothing about all streams",
    STEEPER_HELD: "grows faster than the bound up to the end of the grid, and the explicit bound holds in every cell",
    STEEPER: "grows faster than the rate, and no explicit bound is shown to hold or to be crossed",
    INCONCLUSIVE: "the interval is too wide, too few cells are usable, or no single power describes the range",
    VIOLATED: "refuted: an explicit bound is crossed, or privacy is lost beyond the claim",
    NOT_RUN: "not in this profile",
}
"""Verdicts on claims -> their meaning. A claim could have come out otherwise."""
CHECKS: Final = {
    HOLDS: "as derived",
    FAILS: "not as derived: the code or the derivation is wrong",
    INCONCLUSIVE: "an interval contains the bound, or too few cells are usable",
    NOT_RUN: "not in this profile",
}
"""Verdicts on consistency checks -> their meaning."""
COLOURS: Final = {
    REPRODUCED: "good", UP_TO_LOGS: "logs", BELOW: "below", ABOVE: "below", SEEN_HERE: "seen", STEEPER_HELD: "steep",
    STEEPER: "steep", INCONCLUSIVE: "open", VIOLATED: "bad", NOT_RUN: "none", HOLDS: "good", FAILS: "bad",
}  # fmt: skip
"""Verdict -> class of the style sheet."""
MARKS: Final = {
    REPRODUCED: ("✓", r"$\surd$"), UP_TO_LOGS: ("≈", r"$\approx$"), BELOW: ("↓", r"$\downarrow$"),
    ABOVE: ("↑", r"$\uparrow$"), SEEN_HERE: ("○", r"$\circ$"), STEEPER_HELD: ("↗", r"$\nearrow$"),
    STEEPER: ("⇑", r"$\Uparrow$"), INCONCLUSIVE: ("?", "?"), VIOLATED: ("✗", r"$\times$"), NOT_RUN: ("–", "--"),
    HOLDS: ("·", r"$\cdot$"), FAILS: ("✗", r"$\times$"),
}  # fmt: skip
"""Verdict -> its sign, and the same in LaTeX; the word is always beside it, or in a legend. A check that holds
has another sign than a claim that does."""
ORDER: Final = tuple(dict.fromkeys((REPRODUCED, HOLDS, *CLAIMS, *CHECKS)))
"""All verdicts, those as stated first."""


def came_out(verdict: str, count: int) -> str:
    """A verdict behind a number of lines: `1 holds`, `2 hold`, `2 inconclusive`."""
    return verdict.removesuffix("s") if count > 1 and verdict in (HOLDS, FAILS) else verdict


Parameter = Literal[
    "horizon", "samples", "dimension", "experts", "window", "landau", "items", "width", "epsilon", "mu", "best_loss",
    "length", "convexity", "beta", "delta", "corners", "curvature", "smoothness",
]  # fmt: skip
Response = Literal["regret", "overhead", "log_slope", "noise", "calls", "draws", "excess", "optimum"]

VALUE_COLUMN: Final = {
    "horizon": "checkpoint", "samples": "checkpoint", "dimension": "dimension", "experts": "dimension",
    "window": "window", "landau": "window", "items": "window", "width": "width", "epsilon": "epsilon", "mu": "mu_gdp",
    "best_loss": "best_loss", "length": "length", "convexity": "strong_convexity", "beta": "odds", "delta": "one_in",
    "corners": "corners", "curvature": "curvature", "smoothness": "smoothness",
}  # fmt: skip
"""Parameter -> the column of a run that holds its values."""
COUNTED: Final = {"noise": "noise_norm", "draws": "draws"}
"""Response -> the column of a run that holds it."""


@dataclass(frozen=True)
class Vocabulary:
    """Text for tables and figures.

    `response` is a table column; `unit` is what operations are counted per; `length` is the symbol of T or n;
    `no_progress` names a claim of kind linear.
    """

    response: str
    unit: str
    length: str
    no_progress: str
    symbols: Mapping[str, str]


_SYMBOLS: Final = {
    "horizon": "T", "dimension": "d", "experts": "(log2 d)", "window": "(log2 W + 1)", "landau": "G_W", "items": "W",
    "epsilon": "eps", "mu": "mu_gdp", "best_loss": "L*", "length": "k",
    "convexity": "mu", "beta": "(ln 1/beta)", "delta": "(ln 1/delta)",
}  # fmt: skip
REGRET: Final = Vocabulary("regret", "round", "T", "linear regret", _SYMBOLS)
EXCESS: Final = Vocabulary(
    "excess", "iteration", "n", "plateau",
    {**_SYMBOLS, "samples": "n", "dimension": "p", "width": "G", "corners": "(log2 k)",
     "curvature": "Gamma", "smoothness": "lambda"},
)  # fmt: skip
NO_PROGRESS: Final = (REGRET.no_progress, EXCESS.no_progress)
"""What a claim or check of kind linear shows where it is met."""
RESPONSE_AXES: Final = {
    "regret": "total regret", "overhead": "regret above the non-private counterpart",
    "log_slope": "slope of regret, dR / d ln T", "noise": "mean norm of the noise in the gradient sum",
    "excess": "excess risk", "optimum": "best regularisation", "calls": "calls of oracles",
    "draws": "draws of a new expert",
}  # fmt: skip
SUBJECTS: Final[Mapping[Response, str]] = {
    "regret": "regret", "log_slope": "regret", "overhead": "the cost of privacy", "noise": "the noise",
    "excess": "excess risk", "optimum": "the best lambda", "calls": "the number of oracle calls",
    "draws": "the number of draws",
}  # fmt: skip
"""Response -> the subject of a sentence about its growth."""


_VALUES: Final = {
    "experts": "d", "window": "W", "landau": "W", "items": "W", "beta": "1/beta", "delta": "1/delta", "corners": "k",
}  # fmt: skip
"""Parameter -> the symbol of its values, where a law is in a function of them."""


def swept_symbol(parameter: Parameter, response: Response) -> str:
    """The symbol of the values that a sweep takes, as in `T = 16; 32`."""
    return _VALUES.get(parameter, labels_of(response).symbols[parameter])


def labels_of(response: Response) -> Vocabulary:
    """The vocabulary that goes with a response."""
    return EXCESS if response == "excess" else REGRET


def outcome(kind: str, verdict: str, response: Response) -> tuple[str, str]:
    """The verdict whose sign and colour a claim or check shows, and its words. One of kind linear that is met shows
    that the learner makes no progress, and not that this was foreseen."""
    if kind != "linear":
        return verdict, verdict
    no_progress = labels_of(response).no_progress
    return (FAILS, no_progress) if verdict in (REPRODUCED, HOLDS) else (verdict, f"{no_progress}: {verdict}")


LogArgument = Literal["parameter", "T/delta", "n/delta", "2np", "2p", "p/4", "d/beta"]
_NUMBER: Final = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\(-?\d+/\d+\)"
_SYMBOL: Final = r"\([^()]+\)|[A-Za-z_]+\*?"
_NODES: Final = "A_W"
_FACTOR: Final = rf"({_SYMBOL})(?:\^({_NUMBER}))?"
_LOG: Final = rf"(ln|log2)(?: ({_SYMBOL})|\(([^()]+)\)(?:\^({_NUMBER}))?)"
_RATE: Final = re.compile(rf"(?:1|(?:{_FACTOR})?(?:(?:^| ){_LOG})?)( {_NODES})?")
_DIGITS: Final = 10
FORM: Final = "a rate is written like T^0.5 ln(T)^1.5, ln T, d^(2/3), eps^-1 or 1"


@dataclass(frozen=True)
class Rate:
    """symbol^power log(argument)^log_power; `log_argument` parameter is the symbol itself; no symbol: a constant."""

    symbol: str = ""
    power: float = 0.0
    log_power: float = 0.0
    log_argument: LogArgument = "parameter"
    log: Literal["ln", "log2"] = "ln"
    nodes: bool = False

    def __str__(self) -> str:
        factors = []
        if self.power:
            factors.append(self.symbol + ("" if self.power == 1 else f"^{_written(self.power)}"))
        if self.log_power:
            argument = self.symbol if self.log_argument == "parameter" else self.log_argument
            short = self.log_power == 1 and self.log_argument == "parameter"
            factors.append(f"{self.log} {argument}" if short else f"{self.log}({argument})")
            factors[-1] += "" if self.log_power == 1 else f"^{_written(self.log_power)}"
        if self.nodes:
            factors.append(_NODES)
        return " ".join(factors) or "1"

    def latex(self, symbol: str = "") -> str:
        r"""The same in LaTeX, without dollars: `T^{0.5}\,\ln^{1.5} T`. A power of zero is written of `symbol` only.

        Logarithms are ln, as in sentences and in the papers' prose, apart from the number of levels of a window's tree.
        """
        factors = []
        if self.power or symbol:
            factors = [_raised(_letters(self.symbol if self.power else symbol), self.power)]
        if self.log_power:
            argument = _letters(self.symbol if self.log_argument == "parameter" else self.log_argument)
            log = _raised(r"\ln", self.log_power)
            alone = self.log_argument == "parameter" and argument == self.symbol
            factors.append(f"{log} {argument}" if alone else f"{log}({argument})")
        return r"\,".join([*factors, *(["A_W"] if self.nodes else [])]) or "1"


def law(text: str, symbol: str = "") -> str:
    """The column `rate` of claims.csv, with its formula in LaTeX between dollars; words stay as they are.

    A rate, alone or after `>=`, where a power of zero is written of `symbol`: `T^0 ln T`; else a sentence such as
    `accounted eps <= eps`.
    """
    side, rate = (r"\ge ", text[3:]) if text.startswith(">= ") else ("", text)
    try:
        return f"${side}{parse(rate).latex(symbol)}$"
    except ValueError:
        signs = {">=": r"$\ge$", "<=": r"$\le$", "eps": r"$\varepsilon$"}
        return " ".join(signs.get(word, word) for word in text.split(" "))


def parse(text: object) -> Rate:
    """Read a rate; raises ValueError for what is none."""
    if isinstance(text, Rate):
        return text
    match = _RATE.fullmatch(str(text))
    if match is None:
        raise ValueError(FORM)
    symbol, power, log, word, bracketed, log_power, nodes = match.groups("")
    argument = word or bracketed
    named: dict[str, LogArgument] = {name: name for name in get_args(LogArgument)[1:]}
    if argument in named:
        of = named[argument]
    elif argument and symbol and argument != symbol:
        raise ValueError(f"logarithms are of {symbol} or of {', '.join(named)}, not of {argument!r}")
    else:
        symbol, of = symbol or argument, "parameter"
    powers = _number(power) if match[1] else 0.0, _number(log_power) if log else 0.0
    return Rate(symbol, *powers, of, "log2" if log == "log2" else "ln", bool(nodes))


def sentence(response: Response, parameter: Parameter, rate: Rate, side: str = "upper") -> str:
    """What a claim of a rate states, in words: `excess risk falls like ln n / n^2`, `regret does not grow with T`."""
    subject, symbol = SUBJECTS[response], labels_of(response).symbols[parameter]
    if rate == Rate():
        return f"{subject} does not grow with {_factor(_base(symbol), 1)}"
    if (parameter, rate.power, rate.log_power) == ("mu", -1, 0):
        return f"{subject} is inversely proportional to the Gaussian DP parameter"
    falls = parameter == "samples" and rate.power < 0
    verb = f"{'falls' if falls else 'grows'} {'like' if side == 'upper' else 'at least like'}"
    above = [_factor(_base(rate.symbol), rate.power)] if rate.power > 0 else []
    if rate.log_power:
        above.append(str(replace(rate, power=0.0, log="ln", nodes=False)))
    above += [_NODES] * rate.nodes
    below = f" / {_factor(_base(rate.symbol), -rate.power)}" if rate.power < 0 else ""
    return f"{subject} {verb} {' '.join(above) or '1'}{below}"


def _base(symbol: str) -> str:
    """A symbol as sentences have it: ln of what rates have log2 of, apart from windows."""
    return symbol if "+" in symbol else re.sub("ln (1/[a-z]+)", r"ln(\1)", symbol.replace("log2", "ln"))


def _factor(symbol: str, power: float) -> str:
    """A power of a symbol, such as sqrt(d), T^(3/4), ln(1/delta) or (ln d)^2."""
    if power == 1:
        return symbol if "+" in symbol or not symbol.startswith("(") else symbol[1:-1]
    if power == 0.5:
        return f"sqrt{symbol}" if symbol.startswith("(") else f"sqrt({symbol})"
    part = Fraction(power).limit_denominator(12)
    return (
        f"{symbol}^({part})" if power < 1 and math.isclose(part, power, abs_tol=1e-4) else f"{symbol}^{_written(power)}"
    )


_GREEK: Final = "delta|beta|mu|Gamma|lambda|Delta"


def _letters(symbol: str) -> str:
    """A symbol or what a logarithm is of, in LaTeX."""
    symbol = symbol if "+" in symbol else symbol.replace("log2", "ln")
    named = re.sub(rf"\b({_GREEK})(?=\b|_)", r"\\\1", re.sub(r"\beps\b", r"\\varepsilon", symbol))
    named = re.sub(r"\blog2 ", r"\\log_2 ", re.sub(r"\bln ", r"\\ln ", named))
    return named.replace("_gdp", r"_{\mathrm{GDP}}").replace("*", r"^\star")


def _raised(base: str, power: float) -> str:
    base = f"{{{base}}}" if base.endswith("star") and power != 1 else base
    part = Fraction(power).limit_denominator(12)
    third = len(f"{abs(power):g}") > 5 and math.isclose(part, power, abs_tol=1e-4)  # 0.6667 is two thirds
    return base if power == 1 else f"{base}^{{{part if third else _written(power).strip('()')}}}"


def _number(text: str) -> float:
    """A power, one where none is written; thirds and the like to ten digits."""
    if not text:
        return 1.0
    try:
        value = round(float(Fraction(text.strip("()"))), _DIGITS) if "/" in text else float(text)
    except (ZeroDivisionError, OverflowError):
        raise ValueError(FORM) from None
    if not math.isfinite(value):
        raise ValueError(FORM)
    return value


def _written(value: float) -> str:
    short = f"{value:g}"
    if float(short) == value:
        return short
    near = Fraction(value).limit_denominator(12)
    if round(float(near), _DIGITS) == value:
        return f"({near.numerator}/{near.denominator})"
    return f"{value!r}"
