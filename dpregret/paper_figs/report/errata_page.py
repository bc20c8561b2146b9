"""One page with the remarks on all papers: kind, place, printed, right, why, the measured effect, and the answers.

Written for the authors to read and to check: every number comes from errata.csv, claims.csv and checks.csv of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import jinja2
from markupsafe import Markup

from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.claims import ClaimsFile, Erratum, PaperTexts, load_paper
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.paper_figs.report.headlines import of_privacy, refutations
from dpregret.paper_figs.report.texts import Record, lines_of, records
from dpregret.paper_figs.tables.errata import MEASURED
from dpregret.paper_figs.text.escaping import in_html, plain
from dpregret.paper_figs.text.formats import DASH
from dpregret.paper_figs.text.formula import marked_up, unicode

TEMPLATES = Path(__file__).with_name("templates")
KINDS: Final = {
    "mistake": "mistake in print",
    "convention": "convention",
    "loose": "loose bound",
    "reading": "reading of ours",
}
"""Kind of a remark -> its name."""


class Entry(NamedTuple):
    """One erratum as the page shows it. Links are relative to the folder of the page, and lead to what exists."""

    erratum: Erratum
    kind: str
    effect: str
    note: str
    links: tuple[str, ...]
    claims: tuple[str, ...]


class Section(NamedTuple):
    """The remarks on one paper: how many effects are measured, how many are mistakes in print, how many are not."""

    paper: str
    title: str
    entries: tuple[Entry, ...]
    measured: int
    mistakes: int
    other: int


def write_errata_page(results: Path, papers: Sequence[str], texts: Path, out: Path) -> None:
    """Write errata.md and errata.html into `out`, from `results`, where each paper has a folder of its tables.

    `texts` holds a folder of YAML files for each paper.
    """
    sections = [each for paper in papers if (each := section(results, load_paper(texts / paper))).entries]
    refuted = refutations(results, texts, papers)
    for form in ("md", "html"):
        page = environment(form).get_template(f"errata.{form}.j2").render(sections=sections, refuted=refuted)
        (out / f"errata.{form}").write_text(page, encoding="utf-8")


def environment(form: str = "html") -> jinja2.Environment:
    """Where templates are found and how text gets into them: escaped."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=form == "html",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=plain if form == "md" else in_html,
    )
    made.filters["maths"] = unicode if form == "md" else lambda text: Markup(marked_up(text))
    return made


def section(results: Path, paper: PaperTexts) -> Section:
    """The errata of one paper beside what was measured."""
    claims, folder = paper.claims, results / paper.claims.paper
    rows = {row["erratum"]: row for row in records(folder / "errata.csv")}
    lines = lines_of(folder)
    entries = tuple(_entry(each, rows[each.id], lines, claims, results) for each in paper.errata.errata)
    measured, mistakes = sum(bool(each.effect) for each in entries), sum(each.erratum.in_print for each in entries)
    return Section(claims.paper, claims.title, entries, measured, mistakes, len(entries) - mistakes)


def _entry(erratum: Erratum, row: Record, lines: Mapping[str, Record], claims: ClaimsFile, results: Path) -> Entry:
    effect, links = "", []
    if row["status"] == MEASURED and erratum.measure is not None:
        ratio = "" if row["ratio"] == DASH else f" (ratio {row['ratio']})"
        where = f" ({row['setting']})" if row.get("setting", DASH) not in ("", DASH) else ""
        printed, corrected = row["as printed"], row["corrected"]
        effect = f"{row['quantity']}: {printed} as printed, {corrected} in {row['against']}{ratio}{where}"
        figures = [each.name for each in claims.figures if each.experiment == erratum.experiment]
        links = [f"{claims.paper}/figures/{name}.png" for name in figures]
        links.append(f"{claims.paper}/runs/{erratum.experiment}.parquet")
    note = row["note"] or ("" if effect or erratum.claims else row["status"])
    kind = KINDS[erratum.kind] if erratum.provenance == "printed" else f"{erratum.kind}, text reconstructed"
    shown_by = tuple(f"{claim}: {_evidence(lines.get(claim))}" for claim in erratum.claims)
    return Entry(erratum, kind, effect, note, tuple(link for link in links if (results / link).exists()), shown_by)


def _evidence(line: Record | None) -> str:
    """What a claim shows: its number and verdict, or what was found about privacy."""
    if line is None:
        return NOT_RUN
    said = ", ".join(filter(None, (result_tables.number(line), line["verdict"])))
    private = line["type"] == "private" and line["verdict"] != NOT_RUN
    return said + (f", {of_privacy(line['reason'])}" if private else "")
