"""Put the page together: read a folder of results, fill the template, write one file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import jinja2
import pandas as pd
from markupsafe import Markup

from dpregret.core import parquet
from dpregret.paper_figs.judge.claims import load_paper
from dpregret.paper_figs.judge.runs import crashes, read_runs
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS, COLOURS, FAILS, HOLDS, MARKS, REPRODUCED, VIOLATED
from dpregret.paper_figs.report.claim_views import CHECK, KINDS
from dpregret.paper_figs.report.errata_page import TEMPLATES, section
from dpregret.paper_figs.report.explorer import READ, explorer, unclaimed
from dpregret.paper_figs.report.headlines import headlines
from dpregret.paper_figs.report.names import Names, learner_name
from dpregret.paper_figs.report.provenance import gather
from dpregret.paper_figs.report.scripts import page_scripts, policy, vendored
from dpregret.paper_figs.report.sections import PaperView, counted, paper_view, short, slug
from dpregret.paper_figs.report.texts import TextTable, read_captioned
from dpregret.paper_figs.report.winners import script_json, winners_view
from dpregret.paper_figs.tables.typeset import STYLE
from dpregret.paper_figs.text.escaping import in_html
from dpregret.paper_figs.text.formats import DASH, significant
from dpregret.paper_figs.text.formula import marked_up, unicode

OWN_TEMPLATES: Final = Path(__file__).with_name("templates")
WHAT: Final = {
    "paper": "stated by a paper", "reconstructed": "stated by a paper, text reconstructed",
    "derived": "derived here", "baseline": "baseline", CHECK: "consistency check",
    "erratum": "remark on a paper", "audit": "audited learner",
}  # fmt: skip
"""Kind of what can be found -> what its filter says."""
SYNONYMS: Final = {
    "misprint": ["mistake in print"], "misprints": ["mistake in print"], "typo": ["mistake in print"],
    "mistakes": ["mistake in print"], "erratum": ["remark on a paper", "mistake in print"], "refuted": ["violated"],
    "thm": ["theorem"], "alg": ["algorithm"], "cor": ["corollary"], "prop": ["proposition"], "eq": ["eq."],
    "eps": ["ε"], "epsilon": ["ε"], "delta": ["δ"], "mu": ["μ"], "pocg": ["pocp"], "pocp": ["pocg"],
    "frank-wolfe": ["-fw", "ofw"], "lasso": ["private-fw"], "l2p": ["lazy"],
}  # fmt: skip
"""Word of a search -> other words that stand for it."""
AUDIT: Final = {"audit/audit": "Every private learner", "audit/planted": "Mistakes made on purpose"}
VALIDATION: Final = {
    "validation/intervals": "Intervals and bias of fitted exponents",
    "validation/verdicts": "Verdicts on planted curves",
    "validation/resolution": "Are stated resolutions true?",
}  # fmt: skip


class ReportError(ValueError):
    """A folder of results that cannot be shown; the message is one line."""


@dataclass(frozen=True)
class Run:
    """The run that the report shows. profile: its name; option: what `--config profile=` takes, empty for the full
    profile.

    config: hash of the configuration. names: what people write for identifiers.
    """

    profile: str = "full"
    option: str = ""
    config: str = ""
    names: Names = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The folder of results, as commands name it."""
        return "results" if self.profile == "full" else f"results/{self.profile}"

    def command(self, paper: str, claim: str) -> str:
        """Decide a claim, by what it needs alone."""
        return f"dpregret check {paper} {claim}" + (f" --profile {self.option}" if self.option else "")


def write_report(
    results: Path, runs: Path, papers: Mapping[str, Mapping[str, str]], texts: Path, out: Path,
    run: Run | None = None,
) -> None:  # fmt: skip
    """Write the report of a run to `out`, one HTML file that needs no network.

    results: folder of the run's tables and figures; runs: folder of its runs, one folder a paper; papers: name ->
    experiment -> title; texts: holds a folder of YAML files for each paper.

    Raises ReportError, ClaimsError or RunsError in one line.
    """
    run = run or Run()
    views, curves, further, crashed = [], {}, {}, []
    for paper, experiments in papers.items():
        written = load_paper(texts / paper)
        if not (results / paper / "claims.csv").exists():
            raise ReportError(f"{results / paper}: no claims.csv; run the paper first")
        views.append(paper_view(results, written.claims, section(results, written), run.names, written.changes))
        rows = read_runs(runs / paper, columns=READ)
        crashed += crashes(rows)
        shown = explorer(rows, written.claims, run.names)
        curves[paper] = {**shown, "titles": {name: unicode(title) for name, title in experiments.items()}}
        further[paper] = tuple(unclaimed(shown, written.claims, experiments))
    winners = winners_view(results, run.names)
    scripts = page_scripts()
    verdicts = {view.verdict for paper_ in views for view in paper_.tested}
    page = _environment().get_template("report.html.j2").render(
        papers=views, unclaimed=further, crashed=crashed, folder=run.folder,
        provenance=gather(results, run.profile, run.config),
        findings=headlines(results, texts, list(papers)),
        refuted=[(view, line) for view in views for line in view.tested if line.refutes],
        pictures={(view.paper, figure.name): figure for view in views for figure in view.figures},
        counts=counted([line for view in views for line in view.claims]),
        meaning=CLAIMS, verdicts=[word for word in CLAIMS if word in verdicts],
        check_meaning={word: CHECKS[word] for word in (HOLDS, FAILS)},
        privacy=[(view, told) for view in views if (told := _privacy(view))],
        audit=_tables(results, AUDIT), validation=_tables(results, VALIDATION),
        oracles=_oracle_costs(results, list(papers)), winners=winners,
        called=partial(learner_name, run.names), settings=script_json(winners.data) if winners else "",
        curves=script_json(curves), labels=script_json(_labels(views, run.names)),
        css=(OWN_TEMPLATES / "report.css").read_text(encoding="utf-8") + STYLE,
        scripts=scripts, policy=policy(scripts), libraries=vendored(),
        again=lambda paper, view: (Run() if view.absent else run).command(paper, view.id),
    )  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")


def _environment() -> jinja2.Environment:
    """Where templates are found and how text gets into them: escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([OWN_TEMPLATES, TEMPLATES]), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=in_html,
    )  # fmt: skip
    environment.filters.update(
        slug=slug, short=short, zip=zip, stem=lambda finding: re.split("[,:]", finding)[0],
        maths=lambda text: Markup(marked_up(text)),
    )  # fmt: skip
    environment.globals.update(colour=COLOURS, marks=MARKS, kinds=KINDS, dict=dict, find=_find)
    return environment


def _find(**filters: str) -> str:
    """The filters of the page `find` as they are in an address."""
    return urlencode({name: text for name, text in filters.items() if text}, quote_via=quote)


def _labels(views: Sequence[PaperView], names: Names) -> dict[str, Mapping[str, Any]]:
    """The labels of the filters."""
    learners = {view.record["learner"] for paper in views for view in paper.claims}
    return {
        "synonyms": SYNONYMS, "what": WHAT,
        "paper": {view.paper: short(view.claims_file.cite or view.paper) for view in views},
        "learner": {name: names[name] for name in sorted(learners) if name in names},
        "parameter": {
            view.record["parameter"]: f"{view.symbol} ({view.record['parameter']})"
            for paper in views for view in paper.claims
        },
    }  # fmt: skip


def _tables(results: Path, wanted: Mapping[str, str]) -> tuple[TextTable, ...]:
    paths = {results / f"{name}.md": title for name, title in wanted.items()}
    return tuple(read_captioned(path, title) for path, title in paths.items() if path.exists())


def _privacy(view: PaperView) -> str:
    """How the claims of privacy that the paper states came out, in words, as far as this run tests them."""
    verdicts = [line.verdict for line in view.tested if line.refutable]
    if not verdicts:
        return ""
    held, refuted = verdicts.count(REPRODUCED), verdicts.count(VIOLATED)
    parts = [f"{held} of {len(verdicts)} tested {'holds' if held == 1 else 'hold'}", f"{refuted} refuted"]
    parts.append(f"{len(verdicts) - held - refuted} undecided")
    return ", ".join(part for part in parts if not part.startswith("0 refuted") and not part.startswith("0 undecided"))


def _oracle_costs(results: Path, papers: Sequence[str]) -> TextTable | None:
    """Microseconds of every oracle of every set, and how many linear oracle calls one projection costs."""
    found = [parquet.read(path) for paper in papers if (path := results / paper / "oracles.parquet").exists()]
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
