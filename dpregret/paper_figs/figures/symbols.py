"""The words of figures: mathematics as mathematics, numbers as people write them, and the setting of a figure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge.cells import LENGTHS
from dpregret.paper_figs.judge.rates import Rate
from dpregret.paper_figs.judge.vocabulary import VALUE_COLUMN, Parameter, Response

SYMBOLS: Final = {
    "(log2 d)": r"(\log_2 d)", "(log2 W + 1)": r"(\log_2 W + 1)", "(log2 k)": r"(\log_2 k)", "eps": r"\varepsilon",
    "mu_gdp": r"\mu_{\mathrm{GDP}}", "L*": "L^*", "mu": r"\mu", "(ln 1/beta)": r"(\ln 1/\beta)",
    "(ln 1/delta)": r"(\ln 1/\delta)", "Gamma": r"\Gamma", "lambda": r"\lambda",
}  # fmt: skip
"""Symbol of a rate -> mathematics, where it is not the same."""
AXES: Final[Mapping[Parameter, str]] = {
    "horizon": "horizon $T$ (rounds)", "samples": "records $n$", "dimension": "dimension $d$",
    "experts": "number of experts $d$", "window": "window $W$", "landau": "Landau's constant $G_W$ of the window",
    "items": "window $W$", "width": "Gaussian width $G$ of the set", "epsilon": r"privacy budget $\varepsilon$",
    "mu": r"Gaussian-DP parameter $\mu_{\mathrm{GDP}}$", "best_loss": "loss $L^*$ of the best expert",
    "length": "rounds $k$ that tell the experts apart", "convexity": r"strong convexity $\mu$",
    "beta": r"$\ln(1/\beta)$ of the quantile at $1-\beta$", "corners": "number of corners $k$",
    "delta": r"$\ln(1/\delta)$ of the privacy budget",
    "curvature": r"curvature $\Gamma$", "smoothness": r"smoothness $\lambda$",
}  # fmt: skip
COORDINATES: Final[Mapping[Parameter, str]] = {
    "window": r"window: $\log_2 W + 1$", "experts": r"$\log_2$ of the number of experts $d$",
    "corners": r"$\log_2$ of the number of corners $k$",
}  # fmt: skip
"""Where the axis of a fit is not the parameter itself."""
RESPONSES: Final[Mapping[Response, str]] = {
    "regret": "total regret", "overhead": "regret above the non-private one", "log_slope": r"$dR\,/\,d\ln T$",
    "noise": "mean norm of the noise", "excess": "excess risk", "optimum": r"best $\lambda$",
    "calls": "calls of oracles", "draws": "draws of a new expert",
}  # fmt: skip
SPOKEN: Final[Mapping[Response, str]] = {
    "regret": "regret", "overhead": "the cost of privacy", "log_slope": r"regret per $\ln T$", "noise": "noise",
    "excess": "excess risk", "optimum": r"the best $\lambda$", "calls": "calls of oracles",
}  # fmt: skip
_MATH: Final = (
    (r"\bl1\b", r"$\ell_1$"), (r"\bl_q\b", r"$\ell_q$"), (r"\bL\*", "$L^*$"), (r"\blambda\b", r"$\lambda$"),
    (r"\beta\b", r"$\eta$"), (r"\balpha\b", r"$\alpha$"), (r"\bK-arm\b", "$K$-arm"), (r"\bfor T\b", "for $T$"),
)  # fmt: skip
SHORT: Final = 64


def tidy(text: str) -> str:
    """A name for a figure: a dollar sign is one, and what is mathematics is set as such."""
    text = text.replace("\\", "/").replace("$", r"\$")
    for pattern, math_text in _MATH:
        text = re.sub(pattern, lambda _, found=math_text: found, text)  # type: ignore[misc]
    return text


def axis_label(parameter: Parameter, response: Response, fitted: bool = False) -> str:
    """The label of the axis of a swept parameter; the dimension of a batch problem is p."""
    if parameter == "dimension" and response == "excess":
        return "dimension $p$"
    return COORDINATES.get(parameter, AXES[parameter]) if fitted else AXES[parameter]


def symbol_of(parameter: Parameter, response: Response = "regret") -> str:
    """The symbol of a swept parameter, without dollar signs."""
    return axis_label(parameter, response).split("$")[1]


def power_of_two(value: float) -> str:
    """2^14 as mathematics, small powers and other numbers as numbers."""
    if value <= 0:
        return f"{value:g}"
    exponent = math.log2(value)
    if abs(exponent - round(exponent)) > 1e-9:
        return plain_number(value)
    return f"{value:g}" if 1 <= value < SHORT else f"$2^{{{round(exponent)}}}$"


def all_powers(value: float) -> str:
    """2^4 as mathematics, for ticks that are all powers of two."""
    return f"$2^{{{round(math.log2(value))}}}$"


def decimal_power(value: float) -> str:
    """10^4 as mathematics, for ticks that are all powers of ten."""
    return f"$10^{{{round(math.log10(value))}}}$"


def plain_number(value: float) -> str:
    """A number of at most four characters, or a power of ten as mathematics."""
    if value == 0 or 1e-3 <= abs(value) < 1e4 - 0.5:
        return f"{value:g}" if abs(value) >= 1e3 else f"{value:.3g}"
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    factor = value / 10.0**exponent
    first = "" if abs(factor - 1) < 1e-9 else f"{factor:.2g}\\times "
    return f"${first}10^{{{exponent}}}$"


def count(value: float) -> str:
    """A size: a power of two from 64 on as such."""
    if math.isinf(value):
        return r"$\infty$"
    return power_of_two(value) if value >= SHORT else plain_number(value)


def share(value: float) -> str:
    """A factor with two or three digits."""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def rounded(value: float) -> str:
    """A measured place with two or three digits."""
    return f"{value:.0f}" if 10 <= value < 1000 else plain_number(float(f"{value:.2g}"))


def power_text(power: float) -> str:
    """1/2, 3/4, -1: a power as people write it."""
    near = Fraction(power).limit_denominator(12)
    return str(near) if abs(float(near) - power) <= 1e-6 else f"{power:g}"


def rate_math(rate: Rate) -> str:
    """A rate as mathematics, without dollar signs."""
    symbol = SYMBOLS.get(rate.symbol, rate.symbol)
    if rate.power == 1 and not rate.log_power and not rate.nodes:
        return symbol.strip("()")
    factors = []
    if rate.power:
        factors.append(symbol if rate.power == 1 else f"{symbol}^{{{power_text(rate.power)}}}")
    if rate.log_power:
        log = r"\ln" if rate.log == "ln" else r"\log_2"
        raised = "" if rate.log_power == 1 else f"^{{{power_text(rate.log_power)}}}"
        argument = rate.log_argument.replace("delta", r"\delta").replace("beta", r"\beta")
        argument = symbol if argument == "parameter" else f"({argument})"
        factors.append(rf"{log}{raised}\,{argument}")
    if rate.nodes:
        factors.append("A_W")
    return r"\,".join(factors) or "1"


def interval(value: float, low: float, high: float) -> str:
    """`0.51 [0.50, 0.52]`, with a third digit where the interval is narrow."""
    digits = 3 if high - low < 0.02 else 2
    shown = [f"{round(each, digits) + 0.0:.{digits}f}" for each in (value, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]".replace("-", "\N{MINUS SIGN}")


def setting(rows: pd.DataFrame, names: Mapping[str, str], but: Iterable[str] = ()) -> str:
    """The setting that all rows of a figure share: set, losses, sizes and budget; the figure itself shows the
    parameters (or columns) in `but`."""
    shown = {"horizon" if each in LENGTHS else VALUE_COLUMN.get(each, each) for each in but}
    parts = []
    for column in ("stream", "set"):
        found = sorted(set(rows[column].astype(str)) - {""})
        if len(found) == 1 and column not in shown:
            parts.append(tidy(names.get(f"{column}:{found[0]}", found[0])))
    excess = "iterations" in rows and rows["iterations"].notna().any()
    private = rows.loc[np.isfinite(rows["epsilon"])]
    columns = (
        ("dimension", "p" if excess else "d", rows), ("horizon", "n" if excess else "T", rows),
        ("window", "W", private), ("epsilon", r"\varepsilon", private), ("delta", r"\delta", private),
        ("strong_convexity", r"\mu", rows),
    )  # fmt: skip
    for column, symbol, own in columns:
        values = own[column].dropna().unique() if column in own and column not in shown else []
        if len(values) == 1 and values[0] > 0:
            parts.append(f"${symbol} =$ {count(float(values[0]))}")
    return f"Setting: {', '.join(parts)}." if parts else ""


def run_count(rows: pd.DataFrame) -> str:
    """`Mean of 32 runs`, or the range where learners have different numbers."""
    return f"Mean of {span(rows.groupby(['learner', 'variant'])['run'].nunique())} runs"


def span(counts: Iterable[float]) -> str:
    """The one number that all are, or `8 to 32`."""
    low, high = min(counts), max(counts)
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
