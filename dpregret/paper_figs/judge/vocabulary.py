"""The words of verdicts, parameters and responses: what each means, and how pages write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

REPRODUCED, UP_TO_LOGS = "reproduced", "reproduced up to logs"
BELOW, ABOVE, SEEN_HERE = "below bound", "above bound", "seen here"
STEEPER_HELD, STEEPER, VIOLATED = "steeper, bound holds", "steeper", "violated"
HOLDS, FAILS = "holds", "fails"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"

CLAIMS: Final = {
    REPRODUCED: "grows like the bound on a stream on which the terms of the bound appear",
    UP_TO_LOGS: "has the stated power; these cells and runs do not resolve the stated logarithm",
    BELOW: "grows more slowly than the bound up to the end of the grid: the bound is loose, or the stream is easy",
    ABOVE: "stays well above a lower bound",
    SEEN_HERE: "grows like the bound on a typical stream, which proves nothing about all streams",
    STEEPER_HELD: "grows faster than the bound, but from far below it: the explicit bound holds in every cell",
    STEEPER: "grows faster than the rate, and there is no explicit bound to compare with",
    INCONCLUSIVE: "the interval is too wide, too few cells are usable, or no single power describes the range",
    VIOLATED: "refuted: an explicit bound is crossed, privacy is lost beyond the claim, or the rate is exceeded by a "
    "response of at least half of the bound",
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
    HOLDS: ("✓", r"$\surd$"), FAILS: ("✗", r"$\times$"),
}  # fmt: skip
"""Verdict -> its sign, and the same in LaTeX; the word is always beside it, or in a legend."""
ORDER: Final = tuple(dict.fromkeys((*CLAIMS, *CHECKS)))
"""All verdicts."""


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
"""Responses that a column holds as they are."""


@dataclass(frozen=True)
class Words:
    """Text for tables and figures.

    `response` is a table column, `mean` describes its mean at the reference point; `unit` is what operations are
    counted per; `length` is the symbol of T or n; `no_progress` names a claim of kind linear.
    """

    response: str
    mean: str
    unit: str
    length: str
    no_progress: str
    symbols: Mapping[str, str]
    axes: Mapping[str, str]


_SYMBOLS: Final = {
    "horizon": "T", "dimension": "d", "experts": "(log2 d)", "window": "(log2 W + 1)", "landau": "G_W", "items": "W",
    "epsilon": "eps", "mu": "mu_gdp", "best_loss": "L*", "length": "k",
    "convexity": "mu", "beta": "(ln 1/beta)", "delta": "(ln 1/delta)",
}  # fmt: skip
_AXES: Final = {
    "horizon": "horizon T (rounds)", "dimension": "dimension d", "experts": "log2 of the number of experts",
    "window": "window: log2 W + 1", "landau": "window: Landau's constant G_W", "items": "window W",
    "epsilon": "privacy budget eps", "mu": "Gaussian DP parameter mu", "best_loss": "loss of the best expert L*",
    "length": "rounds k that tell the experts apart", "convexity": "strong convexity mu of the losses",
    "beta": "ln(1/beta) of the quantile at 1 - beta", "delta": "ln(1/delta) of the privacy budget",
}  # fmt: skip
REGRET: Final = Words("regret", "total regret", "round", "T", "linear regret", _SYMBOLS, _AXES)
EXCESS: Final = Words(
    "excess", "excess risk", "iteration", "n", "plateau",
    {**_SYMBOLS, "samples": "n", "dimension": "p", "width": "G", "corners": "(log2 k)",
     "curvature": "Gamma", "smoothness": "lambda"},
    {**_AXES, "samples": "records n", "dimension": "dimension p", "width": "Gaussian width G",
     "corners": "log2 of the number of corners k", "curvature": "curvature Gamma", "smoothness": "smoothness lambda"},
)  # fmt: skip
RESPONSE_AXES: Final = {
    "regret": "total regret", "overhead": "regret above the non-private counterpart",
    "log_slope": "slope of regret, dR / d ln T", "noise": "mean norm of the noise in the gradient sum",
    "excess": "excess risk", "optimum": "best regularisation", "calls": "calls of oracles",
    "draws": "draws of a new expert",
}  # fmt: skip


def labels_of(response: Response) -> Words:
    """The vocabulary that goes with a response."""
    return EXCESS if response == "excess" else REGRET
