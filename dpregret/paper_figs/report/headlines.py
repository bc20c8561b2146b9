"""The findings of a run: one list, in one order, with the same numbers in README and report.

The sentences are in `workflows/papers/findings.yaml`; every number in them is read from the tables of the run. A
finding is left out when a claim that it rests on was not run or came out otherwise. Statements whose text was
reconstructed, and those that no paper makes, are never among the refuted ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd
from pydantic import Field, model_validator

from dpregret.core.yaml_source import read_source, shown, validate
from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.claims import Claim, ClaimsError, PaperTexts, Strict, load_paper
from dpregret.paper_figs.judge.vocabulary import VIOLATED
from dpregret.paper_figs.report.texts import Record, lines_of, records
from dpregret.paper_figs.tables.errata import MEASURED
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formula import unicode

FILE: Final = "findings.yaml"
NUMBERS: Final = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_LOSS: Final = re.compile(r"loses eps = (\S+) where (\S+) is claimed")


class Gains(Strict):
    """Rows of gains.csv: those of one mechanism over another one, at some values of what is swept."""

    learner: str
    over: str
    with_: str = Field(alias="with")
    experiment: str
    stream: str
    values: tuple[float, ...]


class Entry(Strict):
    """A finding of the file.

    claims: id -> the verdict on which it rests. page: the document that has more. figure: a figure of the paper.
    """

    id: str
    title: str
    text: str
    page: str
    paper: str = ""
    figure: str = ""
    claims: dict[str, str] = Field(default_factory=dict)
    gains: Gains | None = None
    refuted: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Entry:
        if self.refuted == bool(self.paper):
            raise ValueError("a finding names its paper, or lists what is refuted in all of them")
        return self


class FindingsFile(Strict):
    """The file of findings."""

    findings: tuple[Entry, ...]


class Item(NamedTuple):
    """A refuted statement: where it is printed, what it says in our words, what was found, and the remarks that derive
    it."""

    paper: str
    claim: str
    place: str
    statement: str
    found: str
    remarks: tuple[str, ...]

    @property
    def loss(self) -> tuple[float, float] | None:
        """The lost and the claimed epsilon of an exact refutation."""
        numbers = _LOSS.match(self.found)
        return (float(numbers[1]), float(numbers[2])) if numbers else None


class Headline(NamedTuple):
    """A finding as pages show it: plain sentences. paper, claim and figure: where the report has more."""

    id: str
    title: str
    text: str
    page: str
    paper: str
    claim: str
    figure: str
    items: tuple[Item, ...] = ()


class _MissingError(LookupError):
    """A number that this run does not have."""


def load_findings(texts: Path) -> tuple[Entry, ...]:
    """The file in the folder of the papers' texts; none where there is no file. Raises ClaimsError."""
    path = texts / FILE
    return validate(FindingsFile, read_source(path, shown(path)), error=ClaimsError).findings if path.exists() else ()


def headlines(results: Path, texts: Path, papers: Sequence[str]) -> tuple[Headline, ...]:
    """The findings of a run that its tables support, in the order of the file."""
    found = []
    for entry in load_findings(texts):
        try:
            found.append(_refuted(entry, results, texts, papers) if entry.refuted else _filled(entry, results, papers))
        except _MissingError:
            continue
    return tuple(found)


def refutations(results: Path, texts: Path, papers: Sequence[str]) -> tuple[Item, ...]:
    """Statements of papers, as printed there, whose claims of privacy are violated in the tables of a run."""
    return tuple(item for paper in papers for item in _items(results, load_paper(texts / paper)))


def refutable(claim: Claim) -> bool:
    """Whether the claim is a printed statement about privacy."""
    return claim.type == "private" and not claim.check and claim.origin == "paper" and claim.provenance == "printed"


def of_privacy(reason: str) -> str:
    """What was found about privacy, without what the runs show besides."""
    return reason.split("; in the runs")[0]


def _items(results: Path, paper: PaperTexts) -> Iterator[Item]:
    claims = paper.claims
    lines = _lines(results, claims.paper)
    for claim in claims.claims:
        line = lines.get(claim.id, {})
        if refutable(claim) and line.get("verdict") == VIOLATED:
            place = f"{claims.cite or claims.paper}, {claim.source}"
            found = of_privacy(line["reason"])
            yield Item(claims.paper, claim.id, place, claim.statement, found, claim.errata)


def _refuted(entry: Entry, results: Path, texts: Path, papers: Sequence[str]) -> Headline:
    items = refutations(results, texts, papers)
    if not items:
        raise _MissingError
    count = NUMBERS[len(items)] if len(items) < len(NUMBERS) else str(len(items))
    title = entry.title.replace("{count}", count)
    return Headline(entry.id, title, entry.text, entry.page, items[0].paper, items[0].claim, "", items)


def _filled(entry: Entry, results: Path, papers: Sequence[str]) -> Headline:
    if entry.paper not in papers:
        raise _MissingError
    folder, lines = results / entry.paper, _lines(results, entry.paper)
    if any(lines.get(claim, {}).get("verdict") != verdict for claim, verdict in entry.claims.items()):
        raise _MissingError
    known = _gained(entry.gains, folder) if entry.gains else {}

    def number(found: re.Match[str]) -> str:
        name, column = found.groups()
        text = _of_erratum(folder, name, column) if column else known.get(name)
        if text is None and name in lines:
            text = result_tables.number(lines[name])
        if not text:
            raise _MissingError
        return text

    title, text = (re.sub(r"\{([^:}]+)(?:: ([^}]+))?\}", number, each) for each in (entry.title, entry.text))
    return Headline(entry.id, title, text, entry.page, entry.paper, next(iter(entry.claims), ""), entry.figure)


def _lines(results: Path, paper: str) -> dict[str, Record]:
    """The lines of a paper in this run, by their claims."""
    if not (results / paper / result_tables.FILES["claim"]).exists():
        raise _MissingError
    return lines_of(results / paper)


def _of_erratum(folder: Path, erratum: str, column: str) -> str:
    """A column of a measured erratum without its interval; empty where there is none."""
    rows = records(folder / "errata.csv")
    own: Record = next((row for row in rows if (row["erratum"], row["status"]) == (erratum, MEASURED)), {})
    value = own.get(column, "")
    return "" if value == formats.DASH else value.partition(" [")[0]


def _gained(wanted: Gains, folder: Path) -> dict[str, str]:
    path = folder / "gains.csv"
    if not path.exists():
        raise _MissingError
    rows = formats.read_csv(path, keep_default_na=False)
    for name, value in wanted.model_dump(by_alias=True, exclude={"values"}).items():
        rows = rows.loc[rows[name] == value]
    own: pd.DataFrame = rows.drop_duplicates("value").set_index("value")
    if "setting" not in own or not set(wanted.values) <= set(own.index):
        raise _MissingError
    ratios = ", ".join(f"{ratio:.1f}" for ratio in own.loc[list(wanted.values), "ratio"])
    return {"ratios": ratios, "setting": str(own["setting"].iloc[0])}


def markdown(found: Sequence[Headline]) -> str:
    """The findings as a numbered list of a document at the top of the repository, one line each."""
    text = []
    for index, each in enumerate(found, 1):
        items = "; ".join(f"{item.place} ({_in_short(item.found)})" for item in each.items)
        whole = f"{each.text} Loss for claim: {items}." if items else each.text
        text.append(f"{index}. **[{_written(each.title)}]({each.page}).** {_written(whole)}\n")
    return "".join(text)


def _in_short(found: str) -> str:
    """The loss and the claim, of the reason of an exact refutation; another reason as it is."""
    numbers = _LOSS.match(found)
    return f"eps = {numbers[1]} for {numbers[2]}" if numbers else found


def _written(text: str) -> str:
    return unicode(text).replace("|", "\\|").replace("*", "\\*")
