"""Put the page together: read a folder of results, fill the template, write one file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import pandas as pd
import yaml

from dpregret.core import parquet
from dpregret.paper_figs.judge import vocabulary
from dpregret.paper_figs.judge.claims import load_paper
from dpregret.paper_figs.judge.runs import crashes, read_runs
from dpregret.paper_figs.report.errata_page import TEMPLATES, environment, section
from dpregret.paper_figs.report.explorer import CHARTED, READ, explorer, unclaimed
from dpregret.paper_figs.report.headlines import headlines, of_privacy, refutable
from dpregret.paper_figs.report.provenance import gather
from dpregret.paper_figs.report.texts import Names, TextTable, learner_name, read_all, text_table
from dpregret.paper_figs.report.views import KINDS, PaperView, counted, paper_view
from dpregret.paper_figs.report.winners import winners_view
from dpregret.paper_figs.tables.typeset import STYLE
from dpregret.paper_figs.text.formats import DASH, significant
from dpregret.paper_figs.text.formula import unicode

AUDIT: Final = {"audit/audit": "Every private learner", "audit/planted": "Mistakes made on purpose"}
VALIDATION: Final = {
    "validation/intervals": "Intervals and bias of fitted exponents",
    "validation/verdicts": "Verdicts on planted curves",
    "validation/resolution": "Are stated resolutions true?",
}
ORACLES: Final = ("linear oracle", "local oracle", "gauge", "projection", "projection (solver)")
VENDOR: Final = TEMPLATES / "vendor"
SCRIPTS: Final = ("helpers.js", "explorer.js", "find.js", "winners.js", "report.js")
"""Our scripts in the order in which they run; what one offers the next is in `window.dpregret`."""


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
    results: Path, runs: Path, papers: Mapping[str, Mapping[str, str]], texts: Path, out: Path, run: Run | None = None
) -> None:
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
        further[paper] = list(unclaimed(shown, written.claims, experiments))
    tested = [(view, line) for view in views for line in view.tested]
    winners, scripts = winners_view(results, run.names), page_scripts()
    template = environment()
    template.filters.update(slug=slug, short=short, zip=zip, stem=lambda text: re.split("[,:]", text)[0])
    template.filters.update(digits=lambda text: significant(float(text), 2) if text else "", of_privacy=of_privacy)
    template.globals.update(
        vars(vocabulary), kinds=KINDS, charted=CHARTED, dict=dict, find=find, called=partial(learner_name, run.names)
    )
    page = template.get_template("report.html.j2").render(
        papers=views,
        unclaimed=further,
        crashed=crashed,
        folder=run.folder,
        provenance=gather(results, run.profile, run.config),
        findings=headlines(results, texts, list(papers)),
        refuted=[(view, line) for view, line in tested if line.refutes],
        pictures={(view.paper, figure.name): figure for view in views for figure in view.figures},
        counts=counted(line for _, line in tested),
        verdicts={line.verdict for _, line in tested},
        privacy=[(view, told) for view in views if (told := _privacy(view))],
        audit=read_all({results / f"{name}.md": title for name, title in AUDIT.items()}),
        validation=read_all({results / f"{name}.md": title for name, title in VALIDATION.items()}),
        oracles=_oracle_costs(results, list(papers)),
        winners=winners,
        settings=script_json(winners["data"]) if winners else "",
        curves=script_json(curves),
        labels=script_json(_labels(views, run.names)),
        css=(TEMPLATES / "report.css").read_text(encoding="utf-8") + STYLE,
        scripts=scripts,
        policy=policy(scripts),
        libraries=vendored(),
        again=lambda paper, view: (Run() if view.absent else run).command(paper, view.id),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")


def vendored() -> list[dict[str, str]]:
    """The scripts of others, as vendor.yaml names them, in the order in which they must be loaded."""
    return yaml.safe_load((VENDOR / "vendor.yaml").read_text(encoding="utf-8"))


def page_scripts() -> list[str]:
    """The texts of all scripts of the page, in order; each can stand inside a script element."""
    files = [*(VENDOR / each["file"] for each in vendored()), *(TEMPLATES / name for name in SCRIPTS)]
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert not any("</script" in text.lower() for text in texts)
    return texts


def policy(scripts: Iterable[str]) -> str:
    """A Content-Security-Policy: nothing from outside, and of scripts only these, by their hashes.

    Styles may be in the page: a chart brings its own. Pictures are data of the page, or what a chart is saved from.
    """
    digests = [hashlib.sha256(script.encode("utf-8")).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; style-src 'unsafe-inline'; "
        f"script-src {allowed}"
    )


def script_json(data: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def slug(text: Any) -> str:
    """Text as part of an address inside the page."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(text)).strip("-")


def short(cite: str) -> str:
    """`Asi et al. 2023` for `Asi, Feldman, Koren & Talwar 2023`."""
    return re.sub(r"^([^,&]+),.* (\d{4})$", r"\1 et al. \2", cite)


def find(**filters: str) -> str:
    """The filters of the page `find` as they are in an address."""
    return urlencode({name: text for name, text in filters.items() if text}, quote_via=quote)


def _labels(views: Sequence[PaperView], names: Names) -> dict[str, Mapping[str, Any]]:
    """The labels of the filters."""
    lines = [line for view in views for line in view.claims]
    learners = sorted({line.record["learner"] for line in lines})
    return {
        "paper": {view.paper: short(view.claims_file.cite or view.paper) for view in views},
        "learner": {name: names[name] for name in learners if name in names},
        "parameter": {line.claim.parameter: f"{line.symbol} ({line.claim.parameter})" for line in lines},
    }


def _privacy(view: PaperView) -> str:
    """How the claims of privacy that the paper states came out, in words, as far as this run tests them."""
    verdicts = [line.verdict for line in view.tested if refutable(line.claim)]
    if not verdicts:
        return ""
    held, refuted = verdicts.count(vocabulary.REPRODUCED), verdicts.count(vocabulary.VIOLATED)
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
    operations = [name for name in ORACLES if name in costs.columns]
    cheapest = costs[[name for name in operations if name.startswith("projection")]].min(axis=1)
    shown = (1e6 * costs[operations]).assign(**{"projection / linear oracle": cheapest / costs["linear oracle"]})
    caption = (
        "Microseconds of CPU time a vector, best of several warm batched calls (the solver takes one vector at a "
        f"time). Projection over linear oracle: the cheapest projection; {DASH} where there is none."
    )
    if "gauge" in costs.columns:
        price = measured.groupby(["set", "dimension"], sort=True)["steepness"].first() ** 2
        shown = shown.assign(**{"projection / gauge": cheapest / costs["gauge"], "(1 + R/r)^2": price})
        caption += (
            " Where the last but one is above the last, gauge descent has the smaller bound for equal oracle time."
        )
    return text_table("oracles", "Projection against linear oracle", caption, shown.map(significant).reset_index())
