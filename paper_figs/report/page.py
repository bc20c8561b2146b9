"""Put the page together: read a folder of results, fill the template, write one file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import jinja2
import pandas as pd

from dpregret.core import stamped
from dpregret.paper_figs.claims_files import load_paper
from dpregret.paper_figs.errata_page import TEMPLATES, section
from dpregret.paper_figs.formats import DASH, significant
from dpregret.paper_figs.neutral import in_html
from dpregret.paper_figs.report.explorer import explorer
from dpregret.paper_figs.report.provenance import gather
from dpregret.paper_figs.report.sections import PaperView, paper_view, short, slug
from dpregret.paper_figs.report.texts import TextTable, read_captioned
from dpregret.paper_figs.report.winners import script_json, winners_view
from dpregret.paper_figs.runs import crashes, read_runs
from dpregret.paper_figs.vocabulary import CHECKS, CLAIMS, FAILS, HOLDS, ORDER, REPRODUCED

OWN_TEMPLATES: Final = Path(__file__).with_name("templates")
AUDIT: Final = {"audit/audit": "Every private learner", "audit/planted": "Mistakes made on purpose"}
VALIDATION: Final = {
    "validation/intervals": "Intervals and bias of fitted exponents",
    "validation/verdicts": "Verdicts on planted curves",
    "validation/resolution": "Are stated resolutions true?",
    "validation/gate": "Odds of the gate",
    "validation/stopping": "Intervals where runs are added until a precision is reached",
}  # fmt: skip
SPEED: Final = {
    "speed/ratios": "Against the bare cost of the noise", "speed/growth": "Growth in T, d and runs",
    "speed/peers": "Against peers",
}  # fmt: skip
COLOUR: Final = dict(
    zip(ORDER, ("good", "logs", "below", "below", "seen", "steep", "steep", "open", "bad", "none", "good", "bad"),
        strict=True)
)  # fmt: skip
"""Verdict -> class of the style sheet."""


class ReportError(ValueError):
    """A folder of results that cannot be shown; the message is one line."""


def write_report(
    results: Path, runs: Path, papers: Mapping[str, Mapping[str, str]], texts: Path, out: Path,
    profile: str = "full", config: str = "", reference: Path | None = None,
) -> None:  # fmt: skip
    """Write the report of a run to `out`, one HTML file that needs no network.

    results: folder of the run's tables and figures; runs: folder of its runs, one folder a paper; papers: name ->
    experiment -> title; texts: holds a folder of YAML files for each paper; config: hash of the configuration;
    reference: folder whose tables of speed stand in where the run has none. Raises ReportError, ClaimsError or
    RunsError in one line.
    """
    views, curves, crashed = [], {}, []
    for paper, experiments in papers.items():
        written = load_paper(texts / paper)
        if not (results / paper / "claims.csv").exists():
            raise ReportError(f"{results / paper}: no claims.csv; run the paper first")
        views.append(paper_view(results, written.claims, section(results, written)))
        rows = read_runs(runs / paper)
        crashed += crashes(rows)
        curves[paper] = {**explorer(rows, written.claims), "titles": dict(experiments)}
    winners = winners_view(results)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([OWN_TEMPLATES, TEMPLATES]), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=in_html,
    )  # fmt: skip
    environment.filters.update(slug=slug, short=short)
    environment.globals["colour"] = COLOUR
    page = environment.get_template("report.html.j2").render(
        papers=views, crashed=crashed, provenance=gather(results, profile, config), meaning=CLAIMS,
        verdicts=[word for word in CLAIMS if any(word == each.verdict for view in views for each in view.claims)],
        check_meaning={word: CHECKS[word] for word in (HOLDS, FAILS)},
        privacy=[view_ for view_ in (_privacy(view) for view in views) if view_ is not None],
        audit=_tables(results, AUDIT), validation=_tables(results, VALIDATION),
        speed=_tables(results, SPEED) or (_tables(reference, SPEED) if reference else ()),
        oracles=_oracle_costs(results, list(papers)), winners=winners,
        settings=script_json(winners.data) if winners else "",
        curves=script_json(curves),
        css=_own("report.css"), javascript=_own("report.js") + _own("winners.js"), vega=vega_scripts(),
    )  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")


def vega_scripts() -> list[str]:
    """The sources of Vega, Vega-Lite and Vega-Embed, as Snakemake carries them for its own report.

    Their place inside Snakemake is not a public promise; a test opens the page in a browser.
    """
    assets = files("snakemake.assets") / "data"
    scripts = (
        (assets / name / f"{name}.js").read_text(encoding="utf-8") for name in ("vega", "vega-lite", "vega-embed")
    )
    return [re.sub(r"//# sourceMappingURL=\S+", "", script).replace("</script", r"<\/script") for script in scripts]


def _tables(results: Path, wanted: Mapping[str, str]) -> tuple[TextTable, ...]:
    paths = {results / f"{name}.md": title for name, title in wanted.items()}
    return tuple(read_captioned(path, title) for path, title in paths.items() if path.exists())


def _privacy(view: PaperView) -> tuple[PaperView, int, int] | None:
    """A paper, and how many of its claims of privacy hold and do not."""
    private = [line for line in view.claims if line.record["type"] == "private" and not line.check]
    return (view, sum(line.verdict in (REPRODUCED, HOLDS) for line in private), len(private)) if private else None


def _oracle_costs(results: Path, papers: Sequence[str]) -> TextTable | None:
    """Microseconds of every oracle of every set, and how many linear oracle calls one projection costs."""
    found = [stamped.read(path) for paper in papers if (path := results / paper / "oracles.parquet").exists()]
    if not found:
        return None
    measured = pd.concat(found)
    costs = measured.groupby(["set", "dimension", "operation"], sort=True)["seconds"].min().unstack()
    order = ("linear oracle", "local oracle", "gauge", "projection", "projection (solver)")
    operations = [name for name in order if name in costs.columns]
    cheapest = costs[[name for name in operations if name.startswith("projection")]].min(axis=1)
    ratio = cheapest / costs["linear oracle"]
    rows = []
    for (name, dimension), seconds, times in zip(costs.index, costs[operations].to_numpy(), ratio, strict=True):
        rows.append((str(name), str(dimension), *(significant(1e6 * value) for value in seconds), significant(times)))
    columns = ("set", "dimension", *operations, "projection / linear oracle")
    caption = (
        "Microseconds of CPU time a vector, best of several warm batched calls (the solver takes one vector at a "
        f"time). Projection over linear oracle: the cheapest projection; {DASH} where there is none."
    )
    if "gauge" in costs.columns:
        columns += ("projection / gauge", "(1 + R/r)^2")
        price = measured.groupby(["set", "dimension"], sort=True)["steepness"].first() ** 2
        more = zip(cheapest / costs["gauge"], price, strict=True)
        rows = [(*row, significant(times), significant(most)) for row, (times, most) in zip(rows, more, strict=True)]
        caption += (
            " Where the last but one is above the last, gauge descent has the smaller bound for equal oracle time."
        )
    return TextTable("oracles", "Projection against linear oracle", caption, columns, tuple(rows))


def _own(name: str) -> str:
    return (OWN_TEMPLATES / name).read_text(encoding="utf-8")
