"""The view of one claim: statement, law, measured, resolution, cells, and what leads to its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from dpregret.paper_figs.judge import fits, result_tables
from dpregret.paper_figs.judge.claims import UNCHANGED, Changes, Claim, ClaimsFile
from dpregret.paper_figs.judge.rates import law
from dpregret.paper_figs.judge.vocabulary import NOT_RUN, RESPONSE_AXES, VIOLATED, labels_of
from dpregret.paper_figs.report.explorer import CHARTED
from dpregret.paper_figs.report.headlines import refutable
from dpregret.paper_figs.report.names import Names, learner_name
from dpregret.paper_figs.text import formats, formula

CHECK: Final = "check"
KINDS: Final = {
    "what the paper states": "paper", "stated, text reconstructed": "reconstructed", "derived here": "derived",
    "baselines": "baseline", "consistency checks": CHECK,
}  # fmt: skip
"""Kind of a line, in words -> its origin; checks of any origin are apart."""
BROKEN: Final = " failed: "
"""Stands in the reason of a claim that was not judged because a learner failed."""

Record = Mapping[str, str]


@dataclass(frozen=True)
class ClaimView:
    """A claim, or a consistency check, with its verdict and with what leads to its data.

    name: of the learner, as people write it. law: HTML. symbol: of what is swept. axis: the variable of the chart.
    number: the claim's number on every page; raw: the slope without its logarithms. refutable: a printed statement
    about privacy. changed: commits that changed what the line is judged by after its first reference, and what we know
    of why.
    """

    id: str
    kind: str
    verdict: str
    record: Record
    name: str
    losses: str
    law: Markup
    symbol: str
    number: str
    raw: str
    normalised: str
    resolution: str
    resolution_log: str
    slopes: tuple[str, ...]
    figures: tuple[str, ...]
    axis: str
    where: str
    errata: tuple[str, ...]
    reconstructed: bool
    refutable: bool
    changed: tuple[str, ...]

    @property
    def check(self) -> bool:
        """Whether the line could not have come out otherwise."""
        return KINDS[self.kind] == CHECK

    @property
    def absent(self) -> bool:
        """Whether this run leaves the line out; one whose learner failed is not left out."""
        return self.verdict == NOT_RUN and BROKEN not in self.record["reason"]

    @property
    def refutes(self) -> bool:
        """Whether the line refutes what a paper states."""
        return self.verdict == VIOLATED and KINDS[self.kind] == "paper"

    @property
    def identifier(self) -> str:
        """Learner and variant as configurations name them."""
        return f"{self.record['learner']}.{self.record['variant']}"

    @property
    def response(self) -> str:
        """The measured quantity, in words."""
        return response_words(self.record)


def claim_view(
    claim: Claim, record: Record, claims: ClaimsFile, drawn: set[str], names: Names, changes: Changes = UNCHANGED
) -> ClaimView:
    """The view of a line: `record` is its row of claims.csv or checks.csv, `drawn` are the figures there are."""
    figures = [entry for entry in claims.figures if entry.experiment == claim.experiment and entry.name in drawn]
    figures.sort(key=lambda entry: entry.parameter != claim.parameter)
    origin = CHECK if record["kind"] == CHECK else record["origin"]
    origin = "reconstructed" if (origin, claim.provenance) == ("paper", "reconstructed") else origin
    where = ", ".join(f"{key} = {_short(value)}" for key, value in claim.where.items())
    return ClaimView(
        claim.id, next(name for name, each in KINDS.items() if each == origin), record["verdict"], record,
        learner_name(names, claim.learner, claim.variant), names.get(f"stream:{claim.stream}", claim.stream),
        Markup(formula.in_html(law(record["rate"]))),  # escaped where it is made
        labels_of(claim.response).symbols[claim.parameter],
        result_tables.number(record), _estimate(record, "fitted"), _estimate(record, "normalised"),
        _rounded(record["resolution"]), _rounded(record["resolution_log"]),
        tuple(record["local_slopes"].split("; ")) if record["local_slopes"] else (),
        tuple(entry.name for entry in figures), CHARTED.get(claim.parameter, claim.parameter), where, claim.errata,
        claim.provenance == "reconstructed", refutable(claim),
        tuple(filter(None, (*changes.get(claim.id, ()), claim.changed))),
    )  # fmt: skip


def response_words(record: Record) -> str:
    """The measured quantity, in words."""
    return RESPONSE_AXES[record["response"]].split(",")[0].removeprefix("total ")


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def _estimate(record: Record, name: str) -> str:
    """`value [low, high]` of a fitted column; empty where nothing was fitted."""
    if not record[name]:
        return ""
    value, low, high = (float(record[column]) for column in (name, f"{name}_low", f"{name}_high"))
    return formats.with_interval(fits.Estimate(value, low, high))


def _rounded(text: str) -> str:
    """A number of a table with two significant digits."""
    return formats.significant(float(text), 2) if text else ""
