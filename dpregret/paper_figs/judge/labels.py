"""The words of a paper's problem: what its learners are charged with, and what its parameters are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

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
