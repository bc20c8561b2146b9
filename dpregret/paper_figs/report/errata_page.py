"""One page with the remarks on all papers: kind, place, printed, right, why, the measured effect, and the answers.

Written for the authors to read and to check: every number comes from errata.csv, claims.csv and checks.csv of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2
import pandas as pd
from markupsafe import Markup

from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.claims import ClaimsFile, Erratum, PaperTexts, load_paper
from dpregret.paper_figs.judge.result_tables import read_lines
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.paper_figs.report.headlines import refutations
from dpregret.paper_figs.tables.errata import MEASURED
from dpregret.paper_figs.text.escaping import in_html, plain
from dpregret.paper_figs.text.formats import DASH, read_csv
from dpregret.paper_figs.text.formula import marked_up, unicode

TEMPLATES = Path(__file__).with_name("templates")
KINDS: Final = {
    "mistake": "mistake in print", "convention": "convention", "loose": "loose bound", "reading": "reading of ours",
}  # fmt: skip
"""Kind of a remark -> its name."""


@dataclass(frozen=True)
class Entry:
    """One erratum as the page shows it. Links are relative to the folder of the page, and lead to what exists."""

    id: str
    kind: str
    place: str
    printed: str
    right: str
    why: str
    effect: str
    note: str
    in_print: bool
    links: tuple[str, ...]
    claims: tuple[str, ...]
    responses: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """The remarks on one paper."""

    paper: str
    title: str
    entries: tuple[Entry, ...]

    @property
    def measured(self) -> int:
        """Errata with a measured effect."""
        return sum(bool(entry.effect) for entry in self.entries)

    @property
    def mistakes(self) -> int:
        """Entries that are mistakes in print."""
        return sum(entry.in_print for entry in self.entries)

    @property
    def other(self) -> int:
        """Entries that are not."""
        return len(self.entries) - self.mistakes


def write_errata_page(results: Path, papers: Sequence[str], texts: Path, out: Path) -> None:
    """Write errata.md and errata.html into `out`, from `results`, where each paper has a folder of its tables.

    `texts` holds a folder of YAML files for each paper.
    """
    sections = [section(results, load_paper(texts / paper)) for paper in papers]
    refuted = refutations(results, texts, papers)
    sections = [each for each in sections if each.entries]
    for form in ("md", "html"):
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=form == "html", trim_blocks=True, lstrip_blocks=True,
            undefined=jinja2.StrictUndefined, finalize=plain if form == "md" else in_html,
        )  # fmt: skip
        environment.filters["maths"] = unicode if form == "md" else lambda text: Markup(marked_up(text))
        page = environment.get_template(f"errata.{form}.j2").render(sections=sections, refuted=refuted)
        (out / f"errata.{form}").write_text(page, encoding="utf-8")


def section(results: Path, paper: PaperTexts) -> Section:
    """The errata of one paper beside what was measured."""
    claims = paper.claims
    folder = results / claims.paper
    measured = read_csv(folder / "errata.csv", dtype=str, keep_default_na=False).set_index("erratum")
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
        where = f" ({row['setting']})" if row.get("setting", DASH) not in ("", DASH) else ""
        printed, corrected = row["as printed"], row["corrected"]
        effect = f"{row['quantity']}: {printed} as printed, {corrected} in {row['against']}{ratio}{where}"
        links = [f"{claims.paper}/figures/{each.name}.png" for each in claims.figures
                 if each.experiment == erratum.experiment]  # fmt: skip
        links.append(f"{claims.paper}/runs/{erratum.experiment}.parquet")
    note = row["note"] or ("" if effect or erratum.claims else row["status"])
    kind = KINDS[erratum.kind] if erratum.provenance == "printed" else f"{erratum.kind}, text reconstructed"
    return Entry(
        erratum.id, kind, erratum.place, erratum.printed, erratum.right, erratum.why, effect, note, erratum.in_print,
        tuple(link for link in links if (results / link).exists()),
        tuple(_evidence(judged, claim) for claim in erratum.claims),
        tuple(f"{each.by}, {each.date}: {each.says}" for each in erratum.responses),
    )  # fmt: skip


def _evidence(judged: pd.DataFrame, claim: str) -> str:
    """A claim that shows the effect: its number and verdict, or what was found about privacy."""
    own = judged.loc[judged["claim"] == claim].to_dict("records")
    if not own:
        return f"{claim}: {NOT_RUN}"
    record = {str(key): str(value) for key, value in own[0].items()}
    number = result_tables.number(record)
    said = f"{number}, {record['verdict']}" if number else record["verdict"]
    private = record["type"] == "private" and record["verdict"] != NOT_RUN
    return f"{claim}: {said}" + (f", {record['reason'].split('; in the runs')[0]}" if private else "")
