"""The view of one paper, built from its tables, its claims file and its figures."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
from markupsafe import Markup

from dpregret.paper_figs.judge.claims import UNCHANGED, Changes, ClaimsFile
from dpregret.paper_figs.judge.result_tables import read_lines
from dpregret.paper_figs.judge.vocabulary import ORDER
from dpregret.paper_figs.report.claim_views import KINDS, ClaimView, Record, claim_view
from dpregret.paper_figs.report.errata_page import Section
from dpregret.paper_figs.report.names import Names
from dpregret.paper_figs.report.texts import TextTable, read_captioned
from dpregret.paper_figs.tables.errata import MEASURED
from dpregret.paper_figs.tables.typeset import fragment_of
from dpregret.paper_figs.tables.write import BOUND_LATEX, symbol_of
from dpregret.paper_figs.text import formats

HIDDEN: Final = (BOUND_LATEX, "errata", "verdicts", "saturated cells")
COLOURS: Final = 128
SMALL: Final = 640
"""Figures are embedded with a palette of n colours: a third of the size, no difference to the eye."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table; `claims` are those that its number belongs to."""

    text: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of a comparison table; `absent` where this run has nothing to say in it."""

    cells: tuple[Cell, ...]
    claims: tuple[str, ...]
    errata: tuple[str, ...]
    group: str
    absent: bool


@dataclass(frozen=True)
class ComparisonTable:
    """A table of the paper: as the paper prints it, where that is known, and with all measured columns."""

    caption: str
    printed: Markup | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class FigureView:
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
    effects: tuple[Record, ...]
    costs: tuple[Record, ...]
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
    def stated(self) -> dict[str, dict[str, int]]:
        """The counts of what the paper states; of a chapter, of what it derives."""
        return {kind: own for kind, own in self.counts.items() if ("derived" in kind) == self.claims_file.chapter
                and kind not in ("baselines", "consistency checks")}  # fmt: skip

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Kind of line, as far as this run tests some -> verdict -> number."""
        return counted(self.claims)


def counted(views: Iterable[ClaimView]) -> dict[str, dict[str, int]]:
    """Kind of line, as far as some are tested -> verdict -> number."""
    tested = [view for view in views if not view.absent]
    found: dict[str, dict[str, int]] = {}
    for name in KINDS:
        counts = Counter(view.verdict for view in tested if view.kind == name)
        if counts:
            found[name] = {verdict: counts[verdict] for verdict in ORDER if counts[verdict]}
    return found


def paper_view(
    results: Path, claims: ClaimsFile, errata: Section, names: Names, changes: Changes = UNCHANGED
) -> PaperView:
    """Read the tables and figures of a paper below `results`."""
    folder = results / claims.paper
    judged = {record["claim"]: record for record in _records(read_lines(folder, text=True))}
    figures = tuple(_figure(path, claims) for path in sorted((folder / "figures").glob("*.png")))
    drawn = {figure.name for figure in figures}
    views = tuple(
        claim_view(claim, judged[claim.id], claims, drawn, names, changes)
        for claim in claims.claims if claim.id in judged
    )  # fmt: skip
    return PaperView(
        claims.paper, claims,
        tuple(
            _table(folder, claims, number, {view.id for view in views if not view.absent})
            for number in range(1, len(claims.tables) + 1)
        ),
        views, figures, errata,
        tuple(row for row in records(folder / "errata.csv") if row["status"] == MEASURED),
        records(folder / "costs.csv"),
        tuple(_further(folder, claims)),
    )  # fmt: skip


def _further(folder: Path, claims: ClaimsFile) -> Iterator[TextTable]:
    """Gains and exact tables of a chapter, as far as they are written out."""
    titles = {folder / "gains.md": "Gains"} if claims.gains else {}
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


def _table(folder: Path, claims: ClaimsFile, number: int, tested: set[str]) -> ComparisonTable:
    """Rows of the file are in the order of the claims file: exponents then know their claims."""
    table = claims.tables[number - 1]
    whole, name = folder / f"table_{number}_all.csv", f"table_{number}"
    printed = folder / f"{name}.html"
    shown = Markup(fragment_of(printed.read_text(encoding="utf-8"))) if whole.exists() and printed.exists() else None
    found = records(whole if whole.exists() else folder / f"{name}.csv")
    columns = tuple(name for name in (found[0] if found else ()) if name not in HIDDEN)
    rows = []
    for record, entry in zip(found, table.rows, strict=True):
        by_column: dict[str, list[str]] = {}
        for parameter, claim in entry.exponents.items():
            name = symbol_of(claims, "epsilon" if parameter == "mu" else parameter)
            by_column.setdefault(f"{name} exponent", []).append(claim)
        cells = tuple(Cell(record[name], tuple(by_column.get(name, ()))) for name in columns)
        empty = record.get("operation counted") == formats.DASH
        absent = empty and bool(entry.claim_ids()) and tested.isdisjoint(entry.claim_ids())
        rows.append(Row(cells, entry.claim_ids(), tuple(record["errata"].split()), record["group"], absent))
    return ComparisonTable(table.caption, shown, columns, tuple(rows))


def _figure(path: Path, claims: ClaimsFile) -> FigureView:
    experiment = next((entry.experiment for entry in claims.figures if entry.name == path.stem), "")
    source, size, title = embedded(path)
    small, _, _ = embedded(path, SMALL)
    beside = [path.with_suffix(end) for end in (".csv", ".pdf", ".svg")]
    files = tuple(str(each.relative_to(path.parent)) for each in beside if each.exists())
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


def slug(text: Any) -> str:
    """Text as part of an address inside the page."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(text)).strip("-")


def short(cite: str) -> str:
    """`Asi et al. 2023` for `Asi, Feldman, Koren & Talwar 2023`."""
    return re.sub(r"^([^,&]+),.* (\d{4})$", r"\1 et al. \2", cite)
