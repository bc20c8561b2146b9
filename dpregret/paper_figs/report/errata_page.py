"""One page with the mistakes of all papers: place, printed, right, why, and the measured effect with its data.

Written for the authors to read and to check: every number comes from errata.csv, claims.csv and checks.csv of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import pandas as pd

from dpregret.paper_figs.judge.claims import ClaimsFile, Erratum
from dpregret.paper_figs.judge.claims_csv import read_lines
from dpregret.paper_figs.judge.claims_files import PaperTexts, load_paper
from dpregret.paper_figs.tables.errata import MEASURED
from dpregret.paper_figs.text.escaping import in_html, plain
from dpregret.paper_figs.text.formats import DASH, read_csv

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Entry:
    """One erratum as the page shows it. Links are relative to the folder of the page, and lead to what exists."""

    id: str
    place: str
    printed: str
    right: str
    why: str
    effect: str
    note: str
    links: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """The errata of one paper."""

    paper: str
    title: str
    entries: tuple[Entry, ...]

    @property
    def measured(self) -> int:
        """Errata with a measured effect."""
        return sum(bool(entry.effect) for entry in self.entries)


def write_errata_page(results: Path, papers: Sequence[str], texts: Path, out: Path) -> None:
    """Write errata.md and errata.html into `out`, from `results`, where each paper has a folder of its tables.

    `texts` holds a folder of YAML files for each paper.
    """
    sections = [section(results, load_paper(texts / paper)) for paper in papers]
    sections = [each for each in sections if each.entries]
    for form in ("md", "html"):
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=form == "html", trim_blocks=True, lstrip_blocks=True,
            undefined=jinja2.StrictUndefined, finalize=plain if form == "md" else in_html,
        )  # fmt: skip
        page = environment.get_template(f"errata.{form}.j2").render(sections=sections)
        (out / f"errata.{form}").write_text(page, encoding="utf-8")


def section(results: Path, paper: PaperTexts) -> Section:
    """The errata of one paper beside what was measured."""
    claims = paper.claims
    folder = results / claims.paper
    measured = read_csv(folder / "errata.csv", keep_default_na=False).set_index("erratum")
    judged = read_lines(folder, text=True)
    entries = [
        _entry(
            erratum, {str(key): str(value) for key, value in measured.loc[erratum.id].items()}, judged, claims, results
        )
        for erratum in paper.errata.errata
    ]
    return Section(claims.paper, claims.title, tuple(entries))


def _entry(erratum: Erratum, row: dict[str, str], judged: pd.DataFrame, claims: ClaimsFile, results: Path) -> Entry:
    effect, links = "", []
    if row["status"] == MEASURED and erratum.measure is not None:
        ratio = "" if row["ratio"] == DASH else f" (ratio {row['ratio']})"
        effect = f"{row['quantity']}: {row['as printed']} as printed, {row['corrected']} in {row['against']}{ratio}"
        links = [f"{claims.paper}/figures/{each.name}.png" for each in claims.figures
                 if each.experiment == erratum.experiment]  # fmt: skip
        links.append(f"{claims.paper}/runs/{erratum.experiment}.parquet")
    note = row["note"] if row["note"] or effect else row["status"]
    return Entry(
        erratum.id, erratum.place, erratum.printed, erratum.right, erratum.why, effect, note,
        tuple(link for link in links if (results / link).exists()), _verdicts(judged, erratum.id),
    )  # fmt: skip


def _verdicts(judged: pd.DataFrame, erratum: str) -> tuple[str, ...]:
    """How the claims that the erratum concerns were judged, counted."""
    concerned = judged.loc[[erratum in str(names).split() for names in judged["errata"]]]
    counts = Counter(concerned["verdict"])
    return tuple(f"{count} {verdict}" for verdict, count in counts.most_common())
