"""What the page shows of one paper, put together from its tables, its claims file and its figures."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpregret.paper_figs import fits, formats
from dpregret.paper_figs.claims import Claim, ClaimsFile
from dpregret.paper_figs.errata import MEASURED
from dpregret.paper_figs.errata_page import Section
from dpregret.paper_figs.lines import read_lines
from dpregret.paper_figs.report.explorer import CHARTED
from dpregret.paper_figs.report.texts import TextTable, read_captioned
from dpregret.paper_figs.tables import BOUND_LATEX, symbol_of
from dpregret.paper_figs.vocabulary import ORDER

HIDDEN: Final = (BOUND_LATEX, "errata", "verdicts", "saturated cells")
COLOURS: Final = 128
"""Figures are embedded with a palette of n colours: a third of the size, no difference to the eye."""

CHECK: Final = "check"
KINDS: Final = {
    "what the paper states": "paper", "derived here": "derived", "baselines": "baseline", "consistency checks": CHECK,
}  # fmt: skip
"""What a line is, in words -> its origin; checks of any origin are apart."""

Record = Mapping[str, str]


@dataclass(frozen=True)
class Cell:
    """A cell of a table; `claims` are those that its number belongs to."""

    text: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of a comparison table."""

    cells: tuple[Cell, ...]
    claims: tuple[str, ...]
    errata: tuple[str, ...]
    group: str


@dataclass(frozen=True)
class ComparisonTable:
    """A table of the paper with measured columns."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class ClaimView:
    """A claim, or a consistency check, with its verdict and with what leads to its data."""

    id: str
    kind: str
    verdict: str
    record: Record
    fitted: str
    normalised: str
    resolution: str
    resolution_log: str
    slopes: tuple[str, ...]
    figures: tuple[str, ...]
    axis: str
    where: str
    errata: tuple[str, ...]

    @property
    def check(self) -> bool:
        """Whether the line could not have come out otherwise."""
        return KINDS[self.kind] == CHECK


@dataclass(frozen=True)
class FigureView:
    """A static figure as a data address."""

    name: str
    source: str
    width: int
    height: int
    experiment: str


@dataclass(frozen=True)
class PaperView:
    """Everything of one paper. `claims` are all lines, checks too; `counts`: kind of line -> verdict -> number."""

    paper: str
    claims_file: ClaimsFile
    counts: dict[str, dict[str, int]]
    tables: tuple[ComparisonTable, ...]
    claims: tuple[ClaimView, ...]
    figures: tuple[FigureView, ...]
    errata: Section
    effects: tuple[Record, ...]
    costs: tuple[Record, ...]
    further: tuple[TextTable, ...]


def paper_view(results: Path, claims: ClaimsFile, errata: Section) -> PaperView:
    """Read the tables and figures of a paper below `results`."""
    folder = results / claims.paper
    judged = {record["claim"]: record for record in _records(read_lines(folder, text=True))}
    figures = tuple(_figure(path, claims) for path in sorted((folder / "figures").glob("*.png")))
    drawn = {figure.name for figure in figures}
    views = tuple(_claim(claim, judged[claim.id], claims, drawn) for claim in claims.claims if claim.id in judged)
    return PaperView(
        claims.paper, claims, _counts(views),
        tuple(_table(folder, claims, number) for number in range(1, len(claims.tables) + 1)),
        views, figures, errata,
        tuple(row for row in records(folder / "errata.csv") if row["status"] == MEASURED),
        records(folder / "costs.csv"),
        tuple(_further(folder, claims)),
    )  # fmt: skip


def _counts(views: tuple[ClaimView, ...]) -> dict[str, dict[str, int]]:
    """Kind of line, as far as there are any -> verdict -> number."""
    found: dict[str, dict[str, int]] = {}
    for name in KINDS:
        counts = Counter(view.verdict for view in views if view.kind == name)
        if counts:
            found[name] = {verdict: counts[verdict] for verdict in ORDER if counts[verdict]}
    return found


def _further(folder: Path, claims: ClaimsFile) -> Iterator[TextTable]:
    """Gains and exact tables of a chapter, as far as they are written out."""
    titles = {folder / "gains.md": "What is gained"} if claims.gains else {}
    titles |= {folder / "exact" / f"{name}.md": f"Exact: {name}" for name in claims.exact}
    for path, title in titles.items():
        if path.exists():
            yield replace(read_captioned(path, title), name=f"{claims.paper}-{path.stem}")


def records(path: Path) -> tuple[Record, ...]:
    """The rows of a CSV file as text; none where there is no file."""
    if not path.exists():
        return ()
    return _records(formats.read_csv(path, dtype=str, keep_default_na=False))


def _records(frame: pd.DataFrame) -> tuple[Record, ...]:
    return tuple({str(key): str(value) for key, value in row.items()} for row in frame.to_dict("records"))


def _table(folder: Path, claims: ClaimsFile, number: int) -> ComparisonTable:
    """Rows of the file stand in the order of the claims file: exponents then know their claims."""
    table = claims.tables[number - 1]
    found = records(folder / f"table_{'1_all' if number == 1 else number}.csv")
    columns = tuple(name for name in (found[0] if found else ()) if name not in HIDDEN)
    rows = []
    for record, entry in zip(found, table.rows, strict=True):
        by_column: dict[str, list[str]] = {}
        for parameter, claim in entry.exponents.items():
            name = symbol_of(claims, "epsilon" if parameter == "mu" else parameter)
            by_column.setdefault(f"{name} exponent", []).append(claim)
        cells = tuple(Cell(record[name], tuple(by_column.get(name, ()))) for name in columns)
        rows.append(Row(cells, entry.claim_ids(), tuple(record["errata"].split()), record["group"]))
    return ComparisonTable(table.caption, columns, tuple(rows))


def _claim(claim: Claim, record: Record, claims: ClaimsFile, drawn: set[str]) -> ClaimView:
    figures = [entry for entry in claims.figures if entry.experiment == claim.experiment and entry.name in drawn]
    figures.sort(key=lambda entry: entry.parameter != claim.parameter)
    origin = CHECK if record["kind"] == CHECK else record["origin"]
    where = ", ".join(f"{key} = {value}" for key, value in claim.where.items())
    return ClaimView(
        claim.id, next(name for name, each in KINDS.items() if each == origin), record["verdict"], record,
        _estimate(record, "fitted"), _estimate(record, "normalised"),
        _rounded(record["resolution"]), _rounded(record["resolution_log"]),
        tuple(record["local_slopes"].split("; ")) if record["local_slopes"] else (),
        tuple(entry.name for entry in figures), CHARTED.get(claim.parameter, claim.parameter), where, claim.errata,
    )  # fmt: skip


def _estimate(record: Record, name: str) -> str:
    """`value [low, high]` of a fitted column; empty where nothing was fitted."""
    if not record[name]:
        return ""
    value, low, high = (float(record[column]) for column in (name, f"{name}_low", f"{name}_high"))
    return formats.with_interval(fits.Estimate(value, low, high), 3)


def _figure(path: Path, claims: ClaimsFile) -> FigureView:
    experiment = next((entry.experiment for entry in claims.figures if entry.name == path.stem), "")
    source, size = embedded(path)
    return FigureView(path.stem, source, *size, experiment)


def embedded(path: Path) -> tuple[str, tuple[int, int]]:
    """A PNG file as a data address with fewer colours, and its size."""
    from PIL import Image

    with Image.open(path) as image:
        reduced = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        reduced.save(buffer, "PNG", optimize=True)
        return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode(), image.size


def _rounded(text: str) -> str:
    """A number of a table with two significant digits."""
    return formats.significant(float(text), 2) if text else ""


def slug(text: Any) -> str:
    """Text as part of an address inside the page."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(text)).strip("-")


def short(cite: str) -> str:
    """`Asi et al. 2023` for `Asi, Feldman, Koren & Talwar 2023`."""
    return re.sub(r"^([^,&]+),.* (\d{4})$", r"\1 et al. \2", cite)
