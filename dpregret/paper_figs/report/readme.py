"""Keep generated parts of the documents equal to the committed reference: findings, counts and a table in README.md,
the meanings of verdicts in docs/method.md, verdicts on a paper as a whole and links to its tables on its page, claims
by verdict and by statement and statements that were not tested beside the reference, and numbers within sentences.

A part stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Within a sentence `<!-- number: NAME -->`,
`<!-- met: Theorem 3; Theorem 4: dimension -->` (statements, and parameters if not all), or
`<!-- cell: PAPER CLAIM COLUMN -->` (of claims.csv or checks.csv), begins what is generated, and `<!-- end -->` ends it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Final

import pandas as pd
import typer

from dpregret.core import boundary
from dpregret.core.errors import not_allowed
from dpregret.paper_figs.confirm.fresh_seeds import deviations, sentences
from dpregret.paper_figs.confirm.fresh_seeds import read as read_confirmation
from dpregret.paper_figs.figures.grammar import bare
from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.claims import ClaimsError, is_on, numbered
from dpregret.paper_figs.judge.confirmed import FOLDER, TABLE, tally
from dpregret.paper_figs.judge.read_claims import load_changes, load_claims, load_paper
from dpregret.paper_figs.judge.result_tables import AUTOMATIC, read_judged
from dpregret.paper_figs.judge.verdicts import POWER
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS, NOT_RUN, ORDER, REPRODUCED, VIOLATED, came_out, parse
from dpregret.paper_figs.report import findings
from dpregret.paper_figs.report.findings import MET, by_statement, headlines, markdown, refutations, statement_named
from dpregret.paper_figs.tables.printed import PRINTED, brief
from dpregret.paper_figs.tables.show import table_numbers
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DamageError, read_table
from dpregret.paper_figs.text.formula import unicode

PAGES: Final = "../../docs"
"""The folder of the papers' pages, from that of the reference."""
REFERENCE: Final = "../results/reference"
"""The reference, from the folder of the papers' pages."""
CORES: Final = 2
"""Of the machine on which `make reproduce` is timed."""
FRONT: Final = "lou_cheung_2020"
"""The paper whose table the README shows."""
SOURCES: Final = {
    "paper": "claims of the paper",
    "reconstructed": "claims of the paper, text reconstructed",
    "derived": "claims derived here",
    "baseline": "claims of baselines",
    "check": "consistency checks",
    "automatic": "bounds and ledgers",
}
"""Who states a line -> what a page calls these lines."""


class ReadmeError(ValueError):
    """A document, or the table that it shows, does not have the expected form."""


def verdict_table(reference: Path, papers: Path) -> pd.DataFrame:
    """Claims by verdict: a row per paper for what it states itself, then what is derived here, then baselines.

    Statements whose text was reconstructed have a row of their own. Consistency checks and chapters are not counted.
    `papers` holds a folder for each paper, with its claims file.
    """
    lines = _lines(reference, papers)
    by = {source: lines.loc[lines["stated_by"] == source] for source in SOURCES}
    cited = by["paper"].groupby(["paper", "cite"])
    groups = {f"[{formats.markdown_cell(cite)}]({PAGES}/{paper}.md)": group for (paper, cite), group in cited}
    if len(groups) > 1:
        groups["**what the papers state**"] = by["paper"]
    groups["stated, text reconstructed"] = by["reconstructed"]
    groups |= {"derived here": by["derived"], "baselines": by["baseline"]}
    counted = {name: {"all": len(group), **_counted(group, CLAIMS)} for name, group in groups.items() if len(group)}
    table = pd.DataFrame.from_dict(counted, orient="index").drop(columns=NOT_RUN)
    return table.loc[:, table.any()].astype(str).rename_axis("claims of").reset_index()


def counts(reference: Path, papers: Path, paper: str) -> str:
    """A list of the verdicts on one paper: what it states, what is derived here, baselines, consistency checks."""
    lines = _lines(reference, papers)
    by = {source: lines.loc[(lines["paper"] == paper) & (lines["stated_by"] == source)] for source in SOURCES}
    return "".join(
        f"- {_several(len(rows), SOURCES[source])}{_in_cells(rows)}: {_in_words(rows)}\n"
        for source, rows in by.items()
        if len(rows)
    )


def links(reference: Path, _: Path, paper: str) -> str:
    """A list of links from a paper's page to its tables and to its claims, as far as the reference has them."""

    def listed(files: dict[str, str]) -> str:
        there = {name: file for name, file in files.items() if (reference / paper / file).exists()}
        return ", ".join(f"[{name}]({REFERENCE}/{paper}/{file})" for name, file in there.items())

    tables = {number: f"table_{number}.md" for number in table_numbers(reference / paper, ".md")}
    return (
        f"- tables {listed({**tables, 'the first in full': 'table_1_all.md'})}\n"
        f"- every [statement]({REFERENCE}/verdicts.md#by-statement), "
        f"{listed({**result_tables.FILES, 'gains': 'gains.md', 'costs': 'costs.md'})}, "
        "[what was not tested](authors.md#what-was-not-tested), [how claims are judged](method.md)\n"
    )


def _several(count: int, nouns: str) -> str:
    """`1 claim of baselines`, `2 claims of baselines`."""
    one = re.sub(r"s\b", "", nouns, count=1)
    return f"{count} {one if count == 1 else nouns}"


def _lines(reference: Path, papers: Path) -> pd.DataFrame:
    """All lines of the papers, chapters left out, with the columns `paper`, `cite`, `stated_by` (of SOURCES) and
    `failure`, the paper's letter of what is swept as delta."""
    frames = []
    for paper in _judged(reference):
        texts = load_claims(papers / paper / "claims.yaml")
        if not texts.chapter:
            lines = read_judged(reference / paper).assign(paper=paper, cite=texts.cite or paper)
            reconstructed = [claim.id for claim in texts.claims if claim.provenance != "printed"]
            unread = (lines["origin"] == "paper") & lines["claim"].isin(reconstructed)
            stated = (lines["kind"] == "check") & (lines["origin"] != AUTOMATIC)
            source = lines["origin"].mask(unread, "reconstructed").mask(stated, "check")
            failure = lines["claim"].map({claim.id: claim.failure for claim in texts.claims})
            frames.append(lines.assign(stated_by=source, failure=failure))
    return pd.concat(frames, ignore_index=True)


def _in_cells(lines: pd.DataFrame) -> str:
    """In how many cells laws that hold always were checked; nothing of others."""
    cells = lines["cells"].sum() if "cells" in lines else 0
    return f", in {cells:.0f} cells" if cells else ""


def _counted(lines: pd.DataFrame, order: Iterable[str]) -> dict[Any, int]:
    return lines["verdict"].value_counts().reindex(list(order), fill_value=0).to_dict()


def _in_words(lines: pd.DataFrame) -> str:
    """Verdicts with their numbers; of violated claims also the number of statements, where it is smaller."""
    words = {word: f"{number} {came_out(word, number)}" for word, number in _counted(lines, ORDER).items() if number}
    violated = lines.loc[lines["verdict"] == VIOLATED]
    if "source" in violated and len(statements := violated[["paper", "source"]].drop_duplicates()) < len(violated):
        words[VIOLATED] += f" ({formats.several(len(statements), 'statement')})"
    return "; ".join(words.values())


def verdicts(reference: Path, papers: Path) -> str:
    """Claims by verdict, their resolution, and how many were changed after their first verdict."""
    table = formats.markdown(verdict_table(reference, papers), raw=["claims of"])
    sentences = [make(reference, papers) for make in (resolution_sentence, second_sentence, changed_sentence)]
    return "\n".join([table, *filter(None, sentences)])


def totals(reference: Path, papers: Path) -> str:
    """What printed texts state, by statement and by claim, what fresh seeds confirm, and what is counted apart."""
    lines = _lines(reference, papers)
    stated, unread = lines.loc[lines["stated_by"] == "paper"], (lines["stated_by"] == "reconstructed").sum()
    return (
        f"{by_statement(stated, len(refutations(reference, papers, _judged(reference))))} "
        f"[By claim](results/reference/verdicts.md), {len(stated)}: {_in_words(stated)}. {_confirmed(stated)}"
        f"{unread} claims with a reconstructed text are counted separately.\n"
    )


def _confirmed(stated: pd.DataFrame) -> str:
    """How many verdicts fresh seeds confirm; empty where nothing was confirmed."""
    same, judged, seeds = tally(stated)
    sentence = f"{same} of {judged} keep their verdict on {seeds} [fresh seeds](docs/method.md#confirmation). "
    return sentence if judged else ""


def confirmation(reference: Path) -> str:
    """What the last confirmation came to, in two sentences and links."""
    file = reference / FOLDER / TABLE
    if not file.exists():
        return "No confirmation is committed yet.\n"
    table = read_confirmation(file)
    claims = table.loc[table["kind"] == "claim"]
    on_claims, _, *coverage = sentences(table, deviations(table), int(claims["seeds"].max()))
    folder = f"{REFERENCE}/{FOLDER}"
    links = (
        f"[By paper, by verdict, checks, and all that differ]({folder}/confirmation.md); "
        f"[figure]({folder}/scatter.png)."
    )
    return "\n".join(f"- {sentence}" for sentence in (on_claims, *coverage, links)) + "\n"


def gallery(reference: Path, papers: Path, pages: Path) -> str:
    """The figures of each paper that stand beside the pages as `PAPER_FIGURE.png`, below their commands. A picture has
    its title drawn: the text has it for those who hear the page alone."""
    parts = []
    for paper in _judged(reference):
        texts = load_claims(papers / paper / "claims.yaml")
        images = [(entry, pages / f"{paper}_{entry.name}.png") for entry in texts.figures]
        pictures = [
            f"`dpregret figure {paper} {entry.name}`\n\n![{bare(entry.title)}]({image.name})\n"
            for entry, image in images
            if image.exists()
        ]
        if pictures:
            name = formats.markdown_cell(texts.title if texts.chapter else texts.cite)
            page = f"{paper}.md"
            parts += [f"## {f'[{name}]({page})' if (pages / page).exists() else name}\n", *pictures]
    return "\n".join(parts)


def statements(reference: Path, papers: Path) -> str:
    """What each paper states, by statement, below the link to its page."""
    parts = []
    for paper in _judged(reference):
        if listed := _of_paper(_stated(reference, papers, paper)):
            cite = formats.markdown_cell(load_claims(papers / paper / "claims.yaml").cite)
            parts.append(f"### [{cite}]({PAGES}/{paper}.md)\n\n{listed}")
    return "\n".join(parts)


def _of_paper(lines: pd.DataFrame) -> str:
    """A list: the statements of which every claim is met, with their number, then each other statement with how many of
    its claims are met, and those that are not, by verdict."""
    whole, parts = [], []
    for place, group in lines.groupby([statement_named(source) for source in lines["source"]], sort=False):
        reached, others = _by_outcome(group)
        if others:
            parts.append("; ".join([f"- {place}: {len(reached)} of {len(group)} met", *others]))
        else:
            whole.append(f"{place} ({len(group)})")
    head = [f"- Every claim met: {', '.join(whole)}"] * bool(whole)
    return "".join(f"{line}\n" for line in [*head, *parts])


def _by_outcome(lines: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The claims that are met, and for each other verdict one text with its claims."""
    reached = lines["verdict"].isin(MET)
    others = lines.loc[~reached].groupby("verdict", sort=False)["claim"]
    return list(lines.loc[reached, "claim"]), [f"{verdict}: {', '.join(claims)}" for verdict, claims in others]


def _stated(reference: Path, papers: Path, paper: str) -> pd.DataFrame:
    """The claims that a paper states, also those with a reconstructed text, which were run; no checks."""
    lines = _lines(reference, papers)
    of_paper = (lines["paper"] == paper) & (lines["kind"] == "claim") & (lines["origin"] == "paper")
    return lines.loc[of_paper & (lines["verdict"] != NOT_RUN)]


MOST_NAMED: Final = 12


def met(stated: pd.DataFrame, where: str) -> str:
    """`met 3 of 4: thm3-T, ...; below bound: ...`: all of the claims that a paper states on some statements.

    Of more than `MOST_NAMED` claims only the numbers. where: statements between
    semicolons, then after a colon parameters between commas, if not all; a claim on privacy is about no parameter,
    and a failure probability that is swept as delta is beta where the paper calls it so.
    Raises ReadmeError where there is no claim.
    """
    on, _, swept = where.partition(": ")
    names, parameters = on.split("; "), swept.split(", ")
    chosen = pd.Series([any(is_on(source, name) for name in names) for source in stated["source"]], stated.index)
    letters = stated["parameter"].mask(stated["parameter"] == "delta", stated["failure"])
    growing = letters.isin(parameters) & (stated["type"] != "private")
    lines = stated.loc[chosen & (growing | (not swept))]
    if lines.empty:
        raise ReadmeError(f"no claim of the paper on {where}")
    reached, others = _by_outcome(lines)
    if len(lines) > MOST_NAMED:
        counted = [f"{each.count(', ') + 1} {each.partition(': ')[0]}" for each in others]
        return "; ".join(filter(None, [f"met {len(reached)} of {len(lines)}", ", ".join(counted)]))
    return f"met {len(reached)} of {len(lines)}: {'; '.join([*filter(None, [', '.join(reached)]), *others])}"


def untested(_: Path, papers: Path) -> str:
    """A table of the numbered statements of the papers that no claim or check is about, with the reasons.

    Raises ReadmeError for one without a reason.
    """
    rows = []
    for path in sorted(papers.glob("*/claims.yaml")):
        texts = load_claims(path)
        about = {name for claim in texts.claims for name in numbered(claim.source)}
        left = [name for name in texts.statements if name not in about]
        for key, reason in texts.untested.items():
            if names := [name for name in numbered(key) if name in left]:
                rows.append({"paper": texts.cite, "statement": ", ".join(names), "reason": reason})
                left = [name for name in left if name not in names]
        if left:
            raise ReadmeError(f"{path}: no claim and no reason under untested: {', '.join(left)}")
    return formats.markdown(pd.DataFrame(rows)) if rows else ""


def _numbers(reference: Path, papers: Path) -> dict[str, Callable[[], object]]:
    """Name of a number in a sentence -> its value."""
    folders = _judged(reference)

    def errata() -> str:
        read = [findings.classes_of(load_paper(papers / paper).errata.errata) for paper in folders]
        return findings.mistakes_in_words(read)

    def papers_read() -> str:
        chapters = [load_claims(papers / paper / "claims.yaml").chapter for paper in folders]
        return findings.in_words(len(chapters) - sum(chapters)).lower()

    def minutes() -> int:
        jobs = formats.read_csv(reference / "resources.csv")
        return round(jobs.loc[jobs["profile"] == "full", "wall seconds of all jobs"].sum() / 60 / CORES)

    audit = partial(formats.read_csv, reference / "audit" / "audit.csv", keep_default_na=False)
    return {
        "minutes": minutes,
        "claims": lambda: sum((read_judged(reference / paper)["kind"] == "claim").sum() for paper in folders),
        "papers": papers_read,
        "mistakes": errata,
        "refuted": lambda: findings.in_words(len(refutations(reference, papers, folders))),
        "variants": lambda: len(audit()),
        "variants without a plan": lambda: (audit()["reached"] == "").sum(),
    }


_INLINE: Final = re.compile(r"(<!-- (met|number|cell): ([^>]*?) -->).*?(<!-- end -->)", re.DOTALL)
"""What is generated within a sentence."""


def _cell(reference: Path, where: str) -> str:
    """The text of a column of a claim or check, `PAPER CLAIM COLUMN`, or its number, `PAPER CLAIM measured`; raises
    ReadmeError where there is none, or it is empty."""
    paper, claim, column = [*where.split(), "", "", ""][:3]
    folders = _judged(reference)
    if paper not in folders:
        raise ReadmeError(f"cell: {not_allowed('paper', paper, folders)}")
    lines = findings.lines_of(reference / paper)
    if claim not in lines:
        raise ReadmeError(f"cell: {not_allowed('claim', claim, lines)}")
    line = {**lines[claim], "measured": result_tables.claim_value(lines[claim])}
    if column not in line:
        raise ReadmeError(f"cell: {not_allowed('column', column, map(str, line))}")
    if not (text := str(line[column])):
        raise ReadmeError(f"cell: {where}: this cell is empty")
    if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text):
        return f"{float(text):.2g}"
    return unicode(text.replace(" | ", "; "))


def _within(page: str, reference: Path, papers: Path, paper: str) -> str:
    """A page with the generated parts of its sentences renewed. Raises ReadmeError for a number that is not known."""
    numbers = _numbers(reference, papers)
    stated = cache(lambda: _stated(reference, papers, paper))

    def renewed(match: re.Match[str]) -> str:
        begin, kind, name, end = match.groups()
        if kind == "met":
            return f"{begin}{met(stated(), name)}{end}"
        if kind == "cell":
            return f"{begin}{_cell(reference, name)}{end}"
        if name not in numbers:
            raise ReadmeError(f"{paper}: {not_allowed('number', name, numbers)}")
        return f"{begin}{numbers[name]()}{end}"

    return _INLINE.sub(renewed, page)


PARTS: Final[dict[str, Callable[[Path, Path], str]]] = {
    "findings": lambda reference, papers: markdown(headlines(reference, papers, _judged(reference))),
    "table-1": lambda reference, _: brief(read_table(reference / FRONT / "table_1.csv", PRINTED, text=True)),
    "totals": totals,
    "verdicts": verdicts,
    "meanings": lambda *_: meanings(),
    "confirmation": lambda reference, _: confirmation(reference),
    "statements": statements,
    "untested": untested,
}
"""Mark -> text of the part, a function of the reference and of the papers' folder."""


def _judged(reference: Path) -> list[str]:
    """The papers that have lines in the reference."""
    return sorted(file.parent.name for file in reference.glob("*/claims.csv"))


def update_page(page: Path, reference: Path, papers: Path, check: bool = False) -> bool:
    """Rewrite the parts that a page has marks for; return whether they were up to date. `check` writes nothing."""
    of_page = {
        "counts": partial(counts, paper=page.stem),
        "links": partial(links, paper=page.stem),
        "gallery": partial(gallery, pages=page.parent),
    }
    parts: dict[str, Callable[[Path, Path], str]] = {**PARTS, **of_page}
    old = new = page.read_text(encoding="utf-8")
    present = [mark for mark in parts if f"<!-- {mark}:" in old]
    if not present and not _INLINE.search(old):
        raise ReadmeError(f"{page}: no mark of {', '.join(parts)}, number, met")
    for mark in present:
        new = marked(new, mark, parts[mark](reference, papers))
    new = _within(new, reference, papers, page.stem)
    if new != old and not check:
        page.write_text(new, encoding="utf-8")
    return new == old


def marked(page: str, mark: str, text: str) -> str:
    """`page` with `text` between the two comments of `mark`; raises ReadmeError."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ReadmeError(f"expected one {begin} before one {end}")
    return f"{page[: page.index(begin)]}{begin}\n{text}{page[page.index(end) :]}"


def resolution_sentence(reference: Path, papers: Path) -> str:
    """Median, 0.9 quantile and maximum of the resolution, and how many claims resolve one power of their logarithm."""
    lines = _lines(reference, papers)
    claims = lines.loc[(lines["kind"] == "claim") & (lines["resolution_of"] == POWER)]
    fine = claims["resolution"]
    worst = claims["claim"].iloc[int(fine.to_numpy().argmax())]
    stated = [parse(str(rate).removeprefix(">= ")).log_power > 0 for rate in claims["rate"]]
    logs = claims.loc[stated, "resolution_log"].dropna()
    return (
        f"The resolution of the {len(claims)} fitted exponents is {fine.median():.2f} "
        f"in the median, {fine.quantile(0.9):.2f} for nine of ten, and {fine.max():.2f} at worst (claim {worst}). "
        f"{(logs <= 1).sum()} of the {len(logs)} claims that state a logarithm resolve one power of it.\n"
    )


OF_LENGTH: Final = ("horizon", "samples")
SMALL_SHARE: Final = 0.1


def second_sentence(reference: Path, papers: Path) -> str:
    """How many reproduced claims allow a second term of more than a tenth; nothing where no table has the columns."""
    lines = _lines(reference, papers)
    if "share_higher" not in lines:
        return ""
    claims = lines.loc[(lines["kind"] == "claim") & (lines["verdict"] == REPRODUCED)]
    claims = claims.loc[claims["parameter"].isin(OF_LENGTH) & claims["share_higher"].notna()]
    if claims.empty:
        return ""
    larger = {side: int((claims[f"share_{side}"] > SMALL_SHARE).sum()) for side in ("higher", "lower")}
    median = claims["share_higher"].median()
    return (
        f"Of the {len(claims)} reproduced exponents of T or n, {larger['higher']} do not exclude a second term a "
        f"quarter of a power higher with more than {SMALL_SHARE:.0%} of the response in the last cell (median of the "
        f"largest share: {median:.1%}), and {larger['lower']} one that is as much lower (columns `share_higher` and "
        "`share_lower`).\n"
    )


def changed_sentence(reference: Path, papers: Path) -> str:
    """How many claims were judged by something else after their first reference; nothing where no history is kept."""
    lines = _lines(reference, papers)
    claims = lines.loc[lines["kind"] == "claim"]
    changes = {paper: load_changes(papers / str(paper)) for paper in claims["paper"].unique()}
    changed = sum(claim in changes[paper] for paper, claim in zip(claims["paper"], claims["claim"], strict=True))
    if not changed:
        return ""
    return (
        f"The tolerance, law, cells or grid of {changed} of the {len(claims)} claims changed after their first verdict "
        "was committed (column `changed` of `claims.csv`).\n"
    )


def meanings() -> str:
    """The verdicts and what they mean, claims before checks."""
    tables = [
        pd.DataFrame([{name: word, "meaning": meaning} for word, meaning in vocabulary.items()])
        for name, vocabulary in (("claim", CLAIMS), ("consistency check", CHECKS))
    ]
    return "\n".join(formats.markdown(table) for table in tables)


def main(
    page: Path,
    reference: Annotated[Path, typer.Argument(help="results/reference")],
    papers: Annotated[Path, typer.Option("--papers", help="Folder of the papers' folders.")] = Path("workflows/papers"),
    check: Annotated[bool, typer.Option("--check", help="Write nothing.")] = False,
) -> int:
    """Update a document, or with --check exit 1 when one of its parts is stale."""
    try:
        current = update_page(page, reference, papers, check)
    except (ReadmeError, ClaimsError, DamageError, OSError) as fault:
        print(f"readme: {fault}", file=sys.stderr)
        return 2
    if not current:
        print(f"{page}: {'is stale' if check else 'updated'}", file=sys.stderr)
    return int(check and not current)


if __name__ == "__main__":
    boundary.run(main)
