"""What the page shows of one paper: its claims, tables and figures, with what leads to their data."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup

from dpregret.paper_figs.judge import fits, result_tables
from dpregret.paper_figs.judge.claims import UNCHANGED, Changes, Claim, ClaimsFile, TableRow
from dpregret.paper_figs.judge.rates import law
from dpregret.paper_figs.judge.vocabulary import NOT_RUN, ORDER, RESPONSE_AXES, VIOLATED, labels_of
from dpregret.paper_figs.report.errata_page import Section
from dpregret.paper_figs.report.texts import Names, Record, TextTable, learner_name, lines_of, read_all, records
from dpregret.paper_figs.tables.errata import MEASURED
from dpregret.paper_figs.tables.typeset import fragment_of
from dpregret.paper_figs.tables.write import BOUND_LATEX, symbol_of
from dpregret.paper_figs.text import formats, formula

CHECK: Final = "check"
KINDS: Final = {
    "what the paper states": "paper",
    "stated, text reconstructed": "reconstructed",
    "derived here": "derived",
    "baselines": "baseline",
    "consistency checks": CHECK,
}
"""Kind of a line, in words -> its origin; checks of any origin are apart."""
BROKEN: Final = " failed: "
"""Stands in the reason of a claim that was not judged because a learner failed."""
HIDDEN: Final = (BOUND_LATEX, "errata", "verdicts", "saturated cells")
COLOURS: Final = 128
"""Figures are embedded with a palette of n colours: a third of the size, no difference to the eye."""
SMALL: Final = 640


@dataclass(frozen=True)
class ClaimView:
    """A claim, or a consistency check, with its verdict and with what leads to its data.

    record: its row of claims.csv or checks.csv. name: of the learner, as people write it. law: HTML. symbol: of what is
    swept. number: the claim's number on every page; raw: the slope without its logarithms. changed: commits that
    changed what the line is judged by after its first reference, and what we know of why.
    """

    claim: Claim
    record: Record
    kind: str
    name: str
    losses: str
    law: Markup
    symbol: str
    response: str
    number: str
    raw: str
    normalised: str
    figures: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def id(self) -> str:
        """The claim's name."""
        return self.claim.id

    @property
    def verdict(self) -> str:
        """In a word or three."""
        return self.record["verdict"]

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


class Row(NamedTuple):
    """A row of a comparison table. claims: column -> the claim of its number. absent: nothing of it is in this run."""

    record: Record
    entry: TableRow
    claims: Mapping[str, str]
    absent: bool


class ComparisonTable(NamedTuple):
    """A table of the paper: as the paper prints it, where that is known, and with all measured columns."""

    caption: str
    printed: Markup | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class FigureView(NamedTuple):
    """A static figure as a data address; `files` are beside it in the folder of results, its data among them.

    title: what is seen, in words. small: the same picture, a few hundred pixels wide.
    """

    name: str
    title: str
    source: str
    small: str
    width: int
    height: int
    experiment: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class PaperView:
    """Everything of one paper. `claims` are all lines, checks too, those that this run leaves out among them."""

    paper: str
    claims_file: ClaimsFile
    tables: tuple[ComparisonTable, ...]
    claims: tuple[ClaimView, ...]
    figures: tuple[FigureView, ...]
    errata: Section
    effects: list[Record]
    costs: list[Record]
    further: tuple[TextTable, ...]

    @property
    def tested(self) -> tuple[ClaimView, ...]:
        """Lines that this run tests."""
        return tuple(view for view in self.claims if not view.absent)

    @property
    def absent(self) -> tuple[ClaimView, ...]:
        """Lines that this run leaves out."""
        return tuple(view for view in self.claims if view.absent)

    @property
    def measured_on(self) -> dict[str, str]:
        """Erratum with a measured effect -> the learner that shows it."""
        return {row["erratum"]: row["against"].partition(".")[0] for row in self.effects}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Kind of line, as far as this run tests some -> verdict -> number."""
        return counted(self.tested)

    @property
    def stated(self) -> dict[str, dict[str, int]]:
        """The counts of what the paper states; of a chapter, of what it derives."""
        stated = ["derived here"] if self.claims_file.chapter else [*KINDS][:2]
        return {kind: own for kind, own in self.counts.items() if kind in stated}


def counted(tested: Iterable[ClaimView]) -> dict[str, dict[str, int]]:
    """Kind of line, as far as there are some -> verdict -> number."""
    numbers = Counter((view.kind, view.verdict) for view in tested)
    found = {kind: {word: numbers[kind, word] for word in ORDER if numbers[kind, word]} for kind in KINDS}
    return {kind: own for kind, own in found.items() if own}


def paper_view(
    results: Path, claims: ClaimsFile, errata: Section, names: Names, changes: Changes = UNCHANGED
) -> PaperView:
    """Read the tables and figures of a paper below `results`."""
    folder = results / claims.paper
    lines = lines_of(folder)
    figures = tuple(_figure(path, claims) for path in sorted((folder / "figures").glob("*.png")))
    drawn = {figure.name for figure in figures}
    views = tuple(
        claim_view(claim, lines[claim.id], claims, drawn, names, changes)
        for claim in claims.claims
        if claim.id in lines
    )
    tested = {view.id for view in views if not view.absent}
    effects = [row for row in records(folder / "errata.csv") if row["status"] == MEASURED]
    tables = tuple(_table(folder, claims, number, tested) for number in range(len(claims.tables)))
    titles = {folder / "gains.md": "Gains"} if claims.gains else {}
    titles |= {folder / "exact" / f"{name}.md": f"Exact: {name}" for name in claims.exact}
    further = tuple(each._replace(name=f"{claims.paper}-{each.name}") for each in read_all(titles))
    costs = records(folder / "costs.csv")
    return PaperView(claims.paper, claims, tables, views, figures, errata, effects, costs, further)


def claim_view(
    claim: Claim, record: Record, claims: ClaimsFile, drawn: set[str], names: Names, changes: Changes
) -> ClaimView:
    """The view of a line: `record` is its row of claims.csv or checks.csv, `drawn` are the figures there are."""
    figures = [entry for entry in claims.figures if entry.experiment == claim.experiment and entry.name in drawn]
    figures.sort(key=lambda entry: entry.parameter != claim.parameter)
    origin = CHECK if record["kind"] == CHECK else record["origin"]
    origin = "reconstructed" if (origin, claim.provenance) == ("paper", "reconstructed") else origin
    return ClaimView(
        claim=claim,
        record=record,
        kind=next(name for name, each in KINDS.items() if each == origin),
        name=learner_name(names, claim.learner, claim.variant),
        losses=names.get(f"stream:{claim.stream}", claim.stream),
        law=Markup(formula.in_html(law(record["rate"]))),  # escaped where it is made
        symbol=labels_of(claim.response).symbols[claim.parameter],
        response=RESPONSE_AXES[claim.response].split(",")[0].removeprefix("total "),
        number=result_tables.number(record),
        raw=_estimate(record, "fitted"),
        normalised=_estimate(record, "normalised"),
        figures=tuple(entry.name for entry in figures),
        changed=tuple(filter(None, (*changes.get(claim.id, ()), claim.changed))),
    )


def _estimate(record: Record, name: str) -> str:
    """`value [low, high]` of a fitted column; empty where nothing was fitted."""
    if not record[name]:
        return ""
    return formats.with_interval(fits.Estimate(*(float(record[f"{name}{end}"]) for end in ("", "_low", "_high"))))


def _table(folder: Path, claims: ClaimsFile, number: int, tested: set[str]) -> ComparisonTable:
    """Rows of the file are in the order of the claims file: exponents then know their claims."""
    table, name = claims.tables[number], f"table_{number + 1}"
    whole, printed = folder / f"{name}_all.csv", folder / f"{name}.html"
    shown = Markup(fragment_of(printed.read_text(encoding="utf-8"))) if whole.exists() and printed.exists() else None
    found = records(whole if whole.exists() else folder / f"{name}.csv")
    rows = []
    for record, entry in zip(found, table.rows, strict=True):
        by_column: dict[str, str] = {}
        for parameter, claim in entry.exponents.items():
            symbol = symbol_of(claims, "epsilon" if parameter == "mu" else parameter)
            by_column.setdefault(f"{symbol} exponent", claim)
        empty = record.get("operation counted") == formats.DASH
        absent = empty and bool(entry.claim_ids()) and tested.isdisjoint(entry.claim_ids())
        rows.append(Row(record, entry, by_column, absent))
    columns = tuple(name for name in (found[0] if found else ()) if name not in HIDDEN)
    return ComparisonTable(table.caption, shown, columns, tuple(rows))


def _figure(path: Path, claims: ClaimsFile) -> FigureView:
    experiment = next((entry.experiment for entry in claims.figures if entry.name == path.stem), "")
    source, size, title = embedded(path)
    small, _, _ = embedded(path, SMALL)
    beside = [path.with_suffix(end) for end in (".csv", ".pdf", ".svg")]
    files = tuple(each.name for each in beside if each.exists())
    return FigureView(path.stem, title or path.stem.replace("_", " "), source, small, *size, experiment, files)


def embedded(path: Path, width: int = 0) -> tuple[str, tuple[int, int], str]:
    """A PNG file as a data address with fewer colours, at most `width` pixels wide if given; its size; its title."""
    from PIL import Image

    with Image.open(path) as image:
        title = str(image.info.get("Title", ""))
        whole = image.convert("RGB")
        if width:
            whole.thumbnail((width, image.height))
        reduced = whole.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        reduced.save(buffer, "PNG", compress_level=6)
        return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode(), image.size, title
