"""Build the report: read a folder of results, prepare each paper, its interactive curves (means over runs with
intervals, one row per cell of every experiment) and the winners, and fill the template."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import numpy as np
import pandas as pd
import yaml
from markupsafe import Markup

from dpregret.core import parquet
from dpregret.paper_figs.judge import fits, result_tables, vocabulary
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.confirmed import tally
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.read_claims import Changes, load_paper
from dpregret.paper_figs.judge.runs import OPTIONS, crashes, read_runs
from dpregret.paper_figs.judge.universal import counts_in_words
from dpregret.paper_figs.judge.verdicts import in_their_letters
from dpregret.paper_figs.judge.vocabulary import (
    COLOURS,
    FAILS,
    HOLDS,
    MARKS,
    NO_PROGRESS,
    NOT_RUN,
    ORDER,
    RESPONSE_AXES,
    VALUE_COLUMN,
    VIOLATED,
    labels_of,
    law,
    outcome,
    swept_symbol,
)
from dpregret.paper_figs.report import findings
from dpregret.paper_figs.report.findings import NOBODY, TEMPLATES, Names, Record, View, learner_name
from dpregret.paper_figs.report.provenance import gather, in_minutes
from dpregret.paper_figs.tables.printed import STYLE, fragment_of, slug
from dpregret.paper_figs.tables.write_tables import BOUND_LATEX, MEASURED, symbol_of
from dpregret.paper_figs.text import formats, formula
from dpregret.paper_figs.text.formats import DASH, all_digits, significant, significant_interval
from dpregret.paper_figs.text.formula import marked_up, unicode
from dpregret.paper_figs.winners.table import CLASSES, FOLDER, TABLE, VERDICTS

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
"""Part of the reason of a claim that was not judged because a learner failed."""
HIDDEN: Final = ("variant", BOUND_LATEX, "errata", "verdicts", "saturated cells")
LETTER: Final = re.compile(r'<path id="([^"]+)" d="([^"]+)" transform="scale\(0\.015625\)"/>')
"""The outline of a letter in an SVG of matplotlib."""
IDLE: Final = re.compile(r'<defs>\s*</defs>|<!.*?>|<\?.*?\?>|<metadata>.*?</metadata>|(?<=<g) id="[^"]*"', re.DOTALL)
"""What such a file has that does not show."""
NEEDLESS: Final = ' xmlns="http://www.w3.org/1998/Math/MathML" display="inline"'
"""What a formula has that HTML does not need."""
CLOSED: Final = re.compile(r"</t[dr]>\s*")
"""Ends of cells and rows, which end where the next one begins: a tenth of the text."""
LISTED: Final = 25
"""Laws that hold always that a paper's page lists at least, if all hold: those nearest to what is allowed."""


def counted(tested: Iterable[View]) -> dict[str, dict[str, int]]:
    """Kind of line -> verdict, as shown -> number of lines; without zeros."""
    numbers = Counter((view["kind"], view["shown"]) for view in tested)
    words = (*ORDER, *NO_PROGRESS)
    counts = {kind: {word: numbers[kind, word] for word in words if numbers[kind, word]} for kind in KINDS}
    return {kind: verdicts for kind, verdicts in counts.items() if verdicts}


def paper_view(results: Path, claims: ClaimsFile, errata: View, names: Names, changes: Changes) -> View:
    """All data of one paper, from its tables and figures below `results`.

    `claims` are all lines, checks too: those `tested` and those that this run leaves out, `absent`. `stated`: of the
    `counts` those of what the paper states; of a chapter, of what it derives. `measured_on`: erratum with a measured
    effect -> the learner that shows it.
    """
    folder = results / claims.paper
    lines = findings.lines_of(folder)
    pictures = sorted(path for path in (folder / "figures").glob("*.png") if not path.name.endswith(".card.png"))
    figures = [_figure(path, claims) for path in pictures]
    figure_names = {figure["name"] for figure in figures}
    present = [claim for claim in claims.claims if claim.id in lines]
    views = tuple(claim_view(claim, lines[claim.id], claims, figure_names, names, changes) for claim in present)
    tested = tuple(view for view in views if not view["absent"])
    ids = {view["id"] for view in tested}
    effects = [row for row in findings.records(folder / "errata.csv") if row["status"] == MEASURED]
    titles = {"gains": "Gains"} if claims.gains else {}
    titles |= {
        f"exact/{name}": f"Exact: {name.replace('-', ' ').replace('gaussian', 'Gaussian')}" for name in claims.exact
    }
    tables = [_table(folder, claims, number, ids) for number in range(len(claims.tables))]
    quoting = "".join(table["printed"] or "" for table in tables)
    counts, stated = counted(tested), ["derived here"] if claims.chapter else [*KINDS][:2]
    return {
        "paper": claims.paper,
        "claims_file": claims,
        "tables": tables,
        "claims": views,
        "tested": tested,
        "always": _always(lines, {*re.findall(rf'"#claim-{claims.paper}-([^"]+)"', quoting)}),
        "confirmed": confirmed_view(tested),
        "absent": tuple(view for view in views if view["absent"]),
        "figures": figures,
        "errata": errata,
        "effects": effects,
        "measured_on": {row["erratum"]: row["against"].partition(".")[0] for row in effects},
        "costs": findings.records(folder / "costs.csv"),
        "further": [{**view, "name": f"{claims.paper}-{view['name']}"} for view in findings.read_all(folder, titles)],
        "counts": counts,
        "stated": {kind: verdicts for kind, verdicts in counts.items() if kind in stated},
    }


def _always(lines: Mapping[str, Record], quoted: set[str]) -> View:
    """The laws that hold always, those that do not hold first, then by their share of what is allowed; those that the
    page lists, to which the claims `quoted` by its tables belong; and their counts in words."""
    rows = [line for line in lines.values() if line["origin"] == result_tables.AUTOMATIC]
    rows.sort(key=lambda line: (line["verdict"] == HOLDS, -float(line["share"] or "inf")))
    failed = any(line["verdict"] == FAILS for line in rows)
    most = max(LISTED, sum(line["verdict"] != HOLDS for line in rows))
    listed = [line for place, line in enumerate(rows) if place < most or slug(line["claim"]) in quoted]
    return {"rows": rows, "listed": listed, "failed": failed, "counts": counts_in_words(rows)}


def claim_view(
    claim: Claim, record: Record, claims: ClaimsFile, figure_names: set[str], names: Names, changes: Changes
) -> View:
    """A claim, or a consistency check, with its verdict and the links to its data.

    record: its row of claims.csv or checks.csv; figure_names: the existing figures. name: of the learner, as displayed.
    shown: the verdict, or that a learner makes no progress where a claim says so and is met; of a check that is
    `beside` its verdict. law: HTML, a power of zero written where a power is measured. symbol: of what the law is in;
    swept: of what is swept. number: the claim's number on every page. absent: whether this run leaves the line out; one
    whose learner failed is not left out. second: what the cells allow of a second term, in words; seeds: the agreement
    of fresh seeds. changed: commits that changed what the line is judged by after its first reference, and what we know
    of why.
    """
    figures = [entry for entry in claims.figures if entry.experiment == claim.experiment and entry.name in figure_names]
    figures.sort(key=lambda entry: entry.parameter != claim.parameter)
    origin = CHECK if record["kind"] == CHECK else record["origin"]
    origin = "reconstructed" if (origin, claim.provenance) == ("paper", "reconstructed") else origin
    verdict, number = record["verdict"], result_tables.claim_value(record)
    words = outcome(record["type"], verdict, claims.response)[1]
    shown = words if words in NO_PROGRESS else verdict
    symbol = labels_of(claim.response).symbols[claim.parameter]
    return {
        "id": claim.id,
        "claim": claim,
        "record": record,
        "verdict": verdict,
        "shown": verdict if origin == CHECK else shown,
        "beside": shown if origin == CHECK and shown != verdict else "",
        "kind": next(name for name, group in KINDS.items() if group == origin),
        "check": origin == CHECK,
        "absent": verdict == NOT_RUN and BROKEN not in record["reason"],
        "refutes": verdict == VIOLATED and origin == "paper",
        "name": learner_name(names, claim.learner, claim.variant),
        "losses": names.get(f"stream:{claim.stream}", claim.stream),
        "law": Markup(formula.in_html(law(record["rate"], symbol if number else ""))),  # escaped where it is made
        "symbol": symbol,
        "swept": in_their_letters(claim, swept_symbol(claim.parameter, claim.response)),
        "response": RESPONSE_AXES[claim.response].split(",")[0].removeprefix("total "),
        "number": number,
        "figures": [entry.name for entry in figures],
        "second": second_term(record),
        "seeds": record.get("seeds", ""),
        "changed": [*filter(None, (*changes.get(claim.id, ()), claim.changed))],
    }


def second_term(record: Record) -> str:
    """The largest second terms that the cells of a line do not exclude, in words; empty where nothing was fitted."""
    shares = {side: float(record.get(f"share_{side}") or "nan") for side in ("higher", "lower")}
    known = [f"{share:.0%} of one {side}" for side, share in shares.items() if np.isfinite(share)]
    if not known:
        return ""
    return f"a quarter of a power beside the law, the last cell may hold up to {' or '.join(known)}"


def confirmed_view(tested: Sequence[View]) -> str:
    """How many claims have the same verdict on all fresh seeds, in words; empty where none was confirmed."""
    rows = [{**view["record"], "seeds": view["seeds"]} for view in tested if not view["check"]]
    same, judged, seeds = tally(pd.DataFrame(rows)) if rows else (0, 0, 0)
    return f"{same} of {judged}, on {seeds} seeds" if judged else ""


def _table(folder: Path, claims: ClaimsFile, number: int, tested: set[str]) -> View:
    """A table as the paper prints it, where that is known, and with all measured columns.

    Rows of the file are in the order of the claims file: exponents then know their claims. Of a row, claims: column ->
    the claim of its number; absent: nothing of it is in this run.
    """
    table, name = claims.tables[number], f"table_{number + 1}"
    full, printed = folder / f"{name}_all.csv", folder / f"{name}.html"
    fragment = Markup(fragment_of(printed.read_text(encoding="utf-8"))) if full.exists() and printed.exists() else None
    records = findings.records(full if full.exists() else folder / f"{name}.csv")
    rows = []
    for record, entry in zip(records, table.rows, strict=True):
        exponents = reversed(entry.exponents.items())  # the first one of a column counts
        by_column = {f"{symbol_of(claims, parameter)} exponent": claim for parameter, claim in exponents}
        empty = record.get("operation counted") == formats.DASH
        absent = empty and bool(entry.claim_ids()) and tested.isdisjoint(entry.claim_ids())
        rows.append({"record": record, "entry": entry, "claims": by_column, "absent": absent})
    columns = [name for name in (records[0] if records else ()) if name not in HIDDEN]
    return {"caption": table.caption, "printed": fragment, "columns": columns, "rows": rows}


def _figure(path: Path, claims: ClaimsFile) -> View:
    """A static figure; `files` are beside it in the folder of results, its data among them."""
    experiment = next((entry.experiment for entry in claims.figures if entry.name == path.stem), "")
    beside = [path.with_suffix(end) for end in (".csv", ".pdf", ".svg")]
    return {**picture(path), "experiment": experiment, "files": [file.name for file in beside if file.exists()]}


def picture(path: Path) -> View:
    """A figure by its PNG, beside which its SVG lies. title: in words; alt: with the caption. size: pixels.
    small: its card as a data address, if it has one.
    """
    from PIL import Image

    card = path.with_suffix(".card.png")
    data = base64.b64encode(card.read_bytes()).decode("ascii") if card.exists() else ""
    with Image.open(path) as image:
        said = [" ".join(str(image.info.get(key, "")).split()) for key in ("Title", "Description")]
        title = said[0] or path.stem.replace("_", " ")
        alt = ". ".join(text.rstrip(".") for text in (title, said[1]) if text)
        small = f"data:image/png;base64,{data}" if data else ""
        return {"name": path.stem, "title": title, "alt": alt, "size": image.size, "small": small, "path": path}


def drawings(pictures: Mapping[str, View]) -> dict[str, dict[str, str]]:
    """The figures as SVG with coordinates of four digits, a tenth of a pixel; apart, the outlines of their letters.

    Packed this is a third of a picture in pixels, and sharp at every size.
    """
    letters: dict[str, str] = {}
    figures = {}
    for key, figure in pictures.items():
        text = figure["path"].with_suffix(".svg").read_text(encoding="utf-8")
        letters |= {found[1]: found[0] for found in LETTER.finditer(text)}
        text = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.4g}", IDLE.sub("", LETTER.sub("", text)))
        figures[key] = re.sub(r"\s+", " ", IDLE.sub("", text)).replace("> <", "><").strip()
    return {"letters": letters, "figures": figures}


SILENT: Final = " without noise"
SERIES: Final = ("learner", "variant")
VARIABLES: Final = ("stream", "set", "checkpoint", "dimension", "window", "epsilon", "delta", *OPTIONS)
"""Variables for the horizontal axis or to hold fixed; `checkpoint` is T (or n)."""
NUMBERS: Final = ("mean", "low", "high", "bound", "trivial", "runs")
READ: Final = ("anytime", "regret", "trivial_regret", "bound")
"""Columns of runs that the report reads, besides those that identify rows."""
LABELS: Final = {
    "stream": "losses", "set": "set", "dimension": "dimension", "window": "window W", "epsilon": "ε",
    "delta": "δ", "best_loss": "loss of the best expert L*", "length": "rounds that tell the experts apart",
    "active": "active records", "kill": "rounds until an expert errs", "probability": "probability",
    "strong_convexity": "strong convexity μ", "strength": "records of the instance, in units of the bound",
    "corners": "corners k", "curvature": "curvature Γ", "smoothness": "smoothness λ",
}  # fmt: skip
CHARTED: Final = {**VALUE_COLUMN, "mu": "epsilon", "width": "dimension", "beta": "checkpoint", "delta": "delta"}
"""Swept parameter -> variable of the chart."""


def explorer(runs: pd.DataFrame, claims: ClaimsFile, names: Names = NOBODY) -> dict[str, Any]:
    """Experiment -> variables that vary, series and rows; numbers have five significant digits.

    A learner that needs no new run for a shorter horizon shows its checkpoints; the others their last rounds. Learners
    that protect everything have no window, learners without privacy no eps (null); a private learner that was run
    without noise too is two series.
    """
    rows = runs.loc[runs["status"] == "ok"]
    longest = rows.groupby(["experiment", *SERIES])["horizon"].transform("max")
    selected = np.where(rows["anytime"], rows["horizon"] == longest, rows["checkpoint"] == rows["horizon"])
    rows = rows.loc[selected & (rows["checkpoint"] > 1)]
    rows = rows.assign(window=rows["window"].where(rows["window"].between(1, rows["horizon"] - 1)))
    private = np.isfinite(rows["epsilon"])
    rows = rows.assign(epsilon=rows["epsilon"].where(private), delta=rows["delta"].where(private))
    labels = labels_of(claims.response)
    experiments = rows.groupby("experiment", sort=True)
    return {
        "response": labels.response,
        "labels": {**LABELS, "checkpoint": "records n" if claims.problem == "erm" else "horizon T (rounds)"},
        "experiments": {str(name): _experiment(group, names) for name, group in experiments},
    }


def unclaimed(explored: dict[str, Any], claims: ClaimsFile, titles: Mapping[str, str]) -> Iterator[View]:
    """Of each experiment that no claim is about, the means at the longest length, from what `explorer` shows."""
    claimed = {claim.experiment for claim in claims.claims}
    for name, data in ((name, data) for name, data in explored["experiments"].items() if name not in claimed):
        cells = pd.DataFrame(data["rows"], columns=["series", *data["variables"], *NUMBERS], dtype=object)
        if "checkpoint" in cells:
            cells = cells.loc[cells["checkpoint"] == cells["checkpoint"].max()]
        texts = cells.map(in_cell)
        columns = {
            "learner": [data["names"][series] for series in cells["series"]],
            **{explored["labels"][variable]: texts[variable] for variable in data["variables"]},
            explored["response"]: [
                significant_interval(Estimate(*row), all_digits)
                for row in cells[["mean", "low", "high"]].to_numpy(dtype=float)
            ],
            "fixed-point baseline": cells["trivial"].astype(float).map(all_digits),
            "runs": texts["runs"],
        }
        caption, rows = f"No claim is about this experiment ({name}).", zip(*columns.values(), strict=True)
        yield findings.text_table(f"{claims.paper}-{name}", titles.get(name) or name, caption, columns, rows)


def _experiment(rows: pd.DataFrame, display_names: Names) -> dict[str, Any]:
    varying = [name for name in VARIABLES if name in rows.columns and rows[name].nunique(dropna=False) > 1]
    private = rows["epsilon"].notna()
    silent = ~private & private.groupby([rows[name] for name in SERIES]).transform("any")
    suffix = (" " + rows["variant"]).replace(" plain", "") + silent.map({True: SILENT, False: ""})
    rows = rows.assign(series=rows["learner"] + suffix, silent=silent)
    ordered = rows.sort_values("epsilon", kind="stable", na_position="last").drop_duplicates("series")
    series = ordered["series"].tolist()
    groups = rows.groupby(["series", *varying], sort=True, dropna=False)
    cells = groups["regret"].agg(mean="mean", spread="std", runs="size")
    cells = cells.assign(bound=groups["bound"].mean(), trivial=groups["trivial_regret"].mean()).reset_index()
    half = fits.half_width(cells["spread"].fillna(0).to_numpy(), cells["runs"].clip(lower=2).to_numpy())  # none of one
    cells = cells.assign(low=cells["mean"] - half, high=cells["mean"] + half)
    who = zip(ordered["learner"], ordered["variant"], ordered["silent"], strict=True)
    constant = {name: _plain(rows[name].iloc[0]) for name in VARIABLES if name in rows.columns and name not in varying}
    return {
        "series": series,
        "names": [learner_name(display_names, learner, variant) + SILENT * alone for learner, variant, alone in who],
        "printed": [name for name in series if "printed" in name],
        "variables": varying,
        "constant": {name: value for name, value in constant.items() if value is not None},
        "rows": [
            [series.index(record["series"]), *(_plain(record[name]) for name in (*varying, *NUMBERS))]
            for record in cells.to_dict("records")
        ],
    }


def in_cell(value: Any) -> str:
    """Text, a number with three significant digits, or a dash for a missing value."""
    if value is None or isinstance(value, str):
        return value or DASH
    return str(value) if isinstance(value, int) else significant(value)


def _plain(value: Any) -> str | float | int | None:
    """A JSON value: text, a short number, or null for what is not finite."""
    if isinstance(value, str):
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else float(f"{number:.5g}")


FILTERS: Final = {"feedback": "feedback", "losses": "loss class", "set": "set", "epsilon": "ε"}
"""Column -> label of its filter."""
SHOWN: Final = {
    "winner": "least regret", "stream": "stream", "set": "set", "dimension": "d", "rounds": "T or n", "window": "W",
    "epsilon": "eps", "delta": "delta", "regret": "regret", "of_constant": "of the fixed-point baseline's",
    "second": "second", "ratio": "second / least", "verdict": "verdict", "p_holm": "p (Holm)",
    "bound_of": "least bound", "bound_over_regret": "bound / least regret", "bound_gap": "its regret / least",
    "reference": "not private", "price": "cost of privacy (ratio)", "barred": "barred, less regret",
}  # fmt: skip
"""Column -> heading in the page's table."""
LEARNERS: Final = ("winner", "second", "bound_of", "reference")
"""Columns that hold a learner and its variant."""
PARTS: Final = {
    "profiles": "Share of problems within a factor of the least regret",
    "coverage": "Predicted regret",
}


def winners_view(results: Path, names: Names) -> dict[str, Any]:
    """The winners of a folder of results; empty where there is no table of winners.

    columns: heads; data: JSON of all settings. answer: who wins, in one sentence. `names`: identifier -> displayed
    name, written before the identifier.
    """
    if not (results / TABLE).exists():
        return {}
    table = formats.read_csv(results / TABLE, keep_default_na=False, na_values=[""])
    table = table.fillna({name: "" for name in table if not pd.api.types.is_numeric_dtype(table[name])})
    texts = pd.DataFrame({name: _as_text(table, name) for name in {**FILTERS, **SHOWN}})
    contested = table["algorithms"] > 1
    learners = sorted({name for column in LEARNERS for name in texts[column] if "." in name})
    shown = {name: learner_name(names, *name.split(".", 1)) for name in learners}
    for kind in ("stream", "set"):
        for name in sorted({*texts[kind]}):
            plain, _, options = name.partition(" (")
            if (title := names.get(f"{kind}:{plain}", plain)) != plain:
                shown[name] = unicode(title + (f" ({options}" if options else ""))
    data = _packed(texts.assign(contested=contested.map({True: "yes", False: ""})))
    folder = results / FOLDER
    return {
        "answer": _answer(table.loc[contested], names),
        "columns": [*SHOWN.values()],
        "settings": len(table),
        "data": {**data, "names": shown},
        "counts": findings.read_captioned(results / "winners.md", "Number of wins per learner"),
        "parts": findings.read_all(folder, PARTS),
        "figure": picture(folder / "profiles.png"),
        "verdicts": VERDICTS,
    }


def _answer(contested: pd.DataFrame, names: Names) -> str:
    """The learner that most often has the least regret, and how often."""
    useful = contested.loc[contested["of_constant"] < 1, "winner"]
    if useful.empty:
        return "No setting of this run has several algorithms of which one beats the fixed-point baseline."
    counts = useful.value_counts()
    winner, count = str(counts.index[0]), int(counts.iloc[0])
    name = learner_name(names, *winner.split(".", 1))
    return (
        f"No learner wins everywhere. {name}{',' * (', ' in name)} most often has the least regret: in "
        f"{count} of the {len(useful)} settings with several algorithms in which the winner beats a fixed point."
    )


def _as_text(table: pd.DataFrame, name: str) -> pd.Series:
    """A column as text, with its interval where it has one."""
    values = table[name]
    if name == "feedback":
        return values.replace(CLASSES)
    if name == "stream":
        return values + table["options"].map(lambda text: f" ({text})" if isinstance(text, str) and text else "")
    if name in ("dimension", "rounds", "epsilon", "delta", "window"):
        texts = values.map(lambda value: value if isinstance(value, str) else f"{value:.10g}")
        return texts.replace("0", "all") if name == "window" else texts
    if not pd.api.types.is_numeric_dtype(values):
        return values.astype("str")
    texts = values.map(all_digits)
    prefix = "" if name == "regret" else f"{name}_"
    if f"{prefix}low" in table:
        low, high = (table[f"{prefix}{end}"].map(all_digits) for end in ("low", "high"))
        ends = " [" + low + ", " + high + "]"
        texts = texts + ends.where(table[f"{prefix}low"].notna(), "")
    return texts


def _packed(table: pd.DataFrame) -> dict[str, Any]:
    """Columns as distinct texts and codes of these, since texts repeat a lot."""
    columns = {}
    for name in table:
        codes, texts = pd.factorize(table[name])
        columns[str(name)] = {"words": [str(word) for word in texts], "codes": codes.tolist()}
    return {"shown": list(SHOWN), "filters": FILTERS, "columns": columns}


AUDIT: Final = {"audit/audit": "Every private learner", "audit/planted": "Injected bugs"}
VALIDATION: Final = {
    "validation/intervals": "Intervals and bias of fitted exponents",
    "validation/verdicts": "Verdicts on simulated curves",
    "validation/resolution": "Are stated resolutions true?",
}
ORACLES: Final = ("linear oracle", "local oracle", "gauge", "projection", "projection (solver)")
VENDOR: Final = TEMPLATES / "vendor"
SCRIPTS: Final = ("helpers.js", "explorer.js", "find.js", "winners.js", "report.js")
"""Our scripts in the order in which they run; they share functions in `window.dpregret`."""


class ReportError(ValueError):
    """A folder of results that cannot be shown; the message is one line."""


@dataclass(frozen=True)
class Run:
    """The run that the report shows. profile: its name; option: what `--config profile=` takes, empty for the full
    profile.

    config: hash of the configuration. names: identifier -> displayed name. data: prepared data, of which those of a
    study say what was read.
    """

    profile: str = "full"
    option: str = ""
    config: str = ""
    names: Names = field(default_factory=dict)
    data: Sequence[Path] = ()

    @property
    def overviews(self) -> list[dict[str, Any]]:
        """What was read of each data set of a study (datasets/overview.py)."""
        found = []
        for file in self.data:
            with np.load(file, allow_pickle=False) as arrays:
                found += [json.loads(str(arrays["overview"]))] if "overview" in arrays else []
        return found

    @property
    def folder(self) -> str:
        """The folder of results, as commands name it."""
        return "results" if self.profile == "full" else f"results/{self.profile}"

    def command(self, paper: str, claim: str) -> str:
        """The command that judges a claim and plays only what it needs."""
        return f"dpregret check {paper} {claim}" + (f" --profile {self.option}" if self.option else "")


def write_report(
    results: Path, runs: Path, papers: Mapping[str, Mapping[str, str]], texts: Path, out: Path, run: Run
) -> None:
    """Write the report of a run to `out`, one HTML file that needs no network.

    results: folder of the run's tables and figures; runs: folder of its runs, one folder per paper; papers: name ->
    experiment -> title; texts: holds a folder of YAML files for each paper.

    Raises ReportError, ClaimsError or RunsError in one line.
    """
    views, curves, further, crashed = [], {}, {}, []
    for paper, experiments in papers.items():
        written = load_paper(texts / paper)
        if not (results / paper / "claims.csv").exists():
            raise ReportError(f"{results / paper}: no claims.csv; run the paper first")
        views.append(
            paper_view(
                results, written.claims, findings.section(results, written, run.names), run.names, written.changes
            )
        )
        rows = read_runs(runs / paper, columns=READ)
        crashed += crashes(rows)
        explored = explorer(rows, written.claims, run.names)
        curves[paper] = {**explored, "titles": {name: unicode(title) for name, title in experiments.items()}}
        further[paper] = list(unclaimed(explored, written.claims, experiments))
    tested = [(view, line) for view in views for line in view["tested"]]
    winners, scripts = winners_view(results, run.names), page_scripts()
    pictures = {f"{view['paper']}/{figure['name']}": figure for view in views for figure in view["figures"]}
    template = findings.templates()
    template.filters.update(slug=slug, short=short, zip=zip, stem=lambda text: re.split("[,:]", text)[0])
    template.filters.update(
        digits=lambda text: significant(float(text), 2) if text else "",
        of_privacy=findings.of_privacy,
        spoken=partial(spoken, run.names),
        titled=partial(titled, run.names),
        in_minutes=in_minutes,
        cell=table_cell,
        filled=filled,
        is_learner=lambda text: text.partition(".")[0] in run.names,
    )
    template.globals.update(
        vars(vocabulary),
        kinds=KINDS,
        charted=CHARTED,
        dict=dict,
        dash=DASH,
        find=find,
        COLOURS={**COLOURS, **dict.fromkeys(NO_PROGRESS, COLOURS[FAILS])},
        MARKS={**MARKS, **dict.fromkeys(NO_PROGRESS, MARKS[FAILS])},
        titles=papers,
        called=partial(learner_name, run.names),
        mechanism=partial(findings.mechanism_name, run.names),
        number=result_tables.claim_value,
    )
    html = template.get_template("report.html.j2").render(
        papers=views,
        by_errata=sorted(views, key=lambda view: findings.gravity(view["errata"])),
        unclaimed=further,
        crashed=crashed,
        folder=run.folder,
        provenance=gather(results, run.profile, run.config),
        findings=findings.headlines(results, texts, list(papers)),
        refuted=[(view, line) for view, line in tested if line["refutes"]],
        pictures=pictures,
        drawings=packed(drawings(pictures | ({"winners/profiles": winners["figure"]} if winners else {}))),
        statements=_statements(tested, len(findings.refutations(results, texts, list(papers)))),
        counts=counted(line for _, line in tested),
        verdicts={line["shown"] for _, line in tested},
        privacy=[(view, sentence) for view in views if (sentence := _privacy(view))],
        audit=findings.read_all(results, AUDIT),
        validation=findings.read_all(results, VALIDATION),
        oracles=_oracle_costs(results, list(papers)),
        winners=winners,
        settings=packed(winners["data"]) if winners else "",
        data=run.overviews,
        curves=packed(curves),
        labels=packed(_labels(views, run.names)),
        css=(TEMPLATES / "report.css").read_text(encoding="utf-8") + STYLE,
        scripts=scripts,
        policy=policy(scripts),
        libraries=vendored(),
        again=lambda paper, view: (Run() if view["absent"] else run).command(paper, view["id"]),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    text, scripts_follow, rest = html.partition("</main>")
    out.write_text(unbroken(CLOSED.sub("", text.replace(NEEDLESS, ""))) + scripts_follow + rest, encoding="utf-8")


def vendored() -> list[dict[str, str]]:
    """The third-party scripts of vendor.yaml, in loading order."""
    return yaml.safe_load((VENDOR / "vendor.yaml").read_text(encoding="utf-8"))


def page_scripts() -> list[str]:
    """The texts of all scripts of the page, in order; each can stand inside a script element."""
    files = [*(VENDOR / library["file"] for library in vendored()), *(TEMPLATES / name for name in SCRIPTS)]
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


def packed(data: Any) -> str:
    """JSON, compressed, as text that can stand inside a script element: a fifth of the size."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")


def unpacked(text: str) -> Any:
    """The data of a text that `packed` wrote."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def short(cite: str) -> str:
    """`Asi et al. 2023` for `Asi, Feldman, Koren & Talwar 2023`; a venue, which tells two papers apart, stays."""
    return re.sub(r"^([^,&]+),.*?((?:, [A-Z]+)? \d{4})$", r"\1 et al.\2", cite)


def titled(names: Names, text: str, kind: str) -> str:
    """The titles of streams or sets (`kind`), which a table lists by their identifiers."""
    return "; ".join(names.get(f"{kind}:{name}", name) for name in text.split("; "))


def spoken(names: Names, setting: str) -> str:
    """A setting such as `halving, T = 16, best_loss = 0`, with what identifiers stand for."""
    parts = []
    for part in setting.split(", "):
        name, equals, value = part.rpartition(" = ")
        kind = name if equals else "stream"
        parts.append(f"{LABELS.get(name, name)}{equals}{names.get(f'{kind}:{value}', value)}")
    return ", ".join(parts)


def table_cell(text: object) -> Markup:
    """A cell of a table; an infinite number or one with a power of ten carries its value, by which a column sorts."""
    if text == "inf":
        return Markup('<data value="Infinity">∞</data>')
    shown, number = marked_up(str(text)), re.match(r"-?\d(?:\.\d+)?e[-+]?\d+", str(text))
    return Markup(f'<data value="{number[0]}">{shown}</data>' if number else shown)  # escaped in marked_up


def filled(table: View) -> View:
    """A table of text without the columns in which every cell is empty or a dash."""
    kept = [
        place for place in range(len(table["columns"])) if any(row[place] not in ("", DASH) for row in table["rows"])
    ]
    rows = [[row[place] for place in kept] for row in table["rows"]]
    return {**table, "columns": [table["columns"][place] for place in kept], "rows": rows}


UNBROKEN: Final = re.compile(
    r"(?<=\d) (?=(?:%|min|s|ms|MB|MiB|GiB|h)(?!\w))|\[[−-]?\d[\d.]*, [−-]?\d[\d.]*\]|(?<=\b[A-Za-zδεμ]) = (?=[−\d])"
)
"""A number and its unit, an interval, and a setting, in which no line may end."""


def unbroken(html: str) -> str:
    """The page with blanks that hold there."""
    head, main, body = html.partition("<main")
    return head + main + UNBROKEN.sub(lambda match: match[0].replace(" ", "\xa0"), body)


def find(**filters: str) -> str:
    """The filters of the page `find` as they are in an address."""
    return urlencode({name: text for name, text in filters.items() if text}, quote_via=quote)


def _labels(views: Sequence[View], names: Names) -> dict[str, Mapping[str, Any]]:
    """The labels of the filters."""
    lines = [line for view in views for line in view["claims"]]
    learners = sorted({line["record"]["learner"] for line in lines})
    kinds = {
        kind: {name.partition(":")[2]: title for name, title in names.items() if name.startswith(f"{kind}:")}
        for kind in ("stream", "set")
    }
    return {
        **kinds,
        "paper": {view["paper"]: short(view["claims_file"].cite or view["paper"]) for view in views},
        "learner": {name: names[name] for name in learners if name in names},
        "parameter": {line["claim"].parameter: f"{line['symbol']} ({line['claim'].parameter})" for line in lines},
    }


def _statements(tested: Sequence[tuple[View, View]], guarantees: int) -> str:
    """The claims on printed texts counted by statement, as in the README; empty where none was tested."""
    kind = next(iter(KINDS))
    stated = [{"paper": view["paper"], **line["record"]} for view, line in tested if line["kind"] == kind]
    return findings.by_statement(pd.DataFrame(stated), guarantees) if stated else ""


def _privacy(view: View) -> str:
    """How the claims of privacy that the paper states came out, in words, as far as this run tests them."""
    verdicts = [line["verdict"] for line in view["tested"] if _on_privacy(line["claim"])]
    if not verdicts:
        return ""
    held, refuted = verdicts.count(vocabulary.REPRODUCED), verdicts.count(vocabulary.VIOLATED)
    others = {"refuted": refuted, "undecided": len(verdicts) - held - refuted}
    parts = [f"{count} {word}" for word, count in others.items() if count]
    return ", ".join([f"{held} of {len(verdicts)} tested {'holds' if held == 1 else 'hold'}", *parts])


def _on_privacy(claim: Claim) -> bool:
    """Whether it is a statement about privacy that a paper prints, of a learner that is played, or computed."""
    printed = (claim.type, claim.origin, claim.provenance) == ("stated", "paper", "printed")
    return claim.refutable or (printed and not claim.check and "-DP" in claim.statement)


def _oracle_costs(results: Path, papers: Sequence[str]) -> View | None:
    """Microseconds of every oracle of every set, and how many linear oracle calls one projection costs."""
    frames = [parquet.read(path) for paper in papers if (path := results / paper / "oracles.parquet").exists()]
    if not frames:
        return None
    measured = pd.concat(frames)
    costs = measured.groupby(["set", "dimension", "operation"], sort=True)["seconds"].min().unstack()
    operations = [name for name in ORACLES if name in costs.columns]
    cheapest = costs[[name for name in operations if name.startswith("projection")]].min(axis=1)
    table = (1e6 * costs[operations]).assign(**{"projection / linear oracle": cheapest / costs["linear oracle"]})
    caption = (
        "Microseconds of CPU time per vector, best of several warm batched calls (the solver takes one vector at a "
        "time) and of the timings of all papers, which differ by up to a factor of 2 for calls of less than a "
        "microsecond. Projection over linear oracle: the cheapest projection; a dash where there is none."
    )
    if "gauge" in costs.columns:
        price = measured.groupby(["set", "dimension"], sort=True)["steepness"].first() ** 2
        table = table.assign(**{"projection / gauge": cheapest / costs["gauge"], "(1 + R/r)^2": price})
        caption += (
            " Where the last but one is above the last, gauge descent has the smaller bound for equal oracle time."
        )
    table = table.map(all_digits).reset_index()
    return findings.text_table("oracles", "Projection against linear oracle", caption, table, table.to_numpy())
