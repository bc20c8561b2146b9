"""The findings of a run, one list with the same numbers in README and report; one page with remarks on all papers.

The sentences are in `workflows/papers/findings.yaml`; every number in them is read from the tables of the run. A
finding is left out when a claim that it rests on was not run or came out otherwise. Statements whose text was
reconstructed, and those that no paper makes, are never among the refuted ones.

The remarks are for the authors to read and to check: kind, place, printed, right, why, the measured effect, and the
answers. Every number comes from errata.csv, claims.csv and checks.csv.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import jinja2
import pandas as pd
from markupsafe import Markup
from pydantic import Field, model_validator

from dpregret.core.yaml_source import validate
from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.claims import ClaimsError, ClaimsFile, Class, Erratum, Strict, numbered
from dpregret.paper_figs.judge.read_claims import PaperTexts, load_paper, source_of
from dpregret.paper_figs.judge.result_tables import read_judged
from dpregret.paper_figs.judge.vocabulary import NOT_RUN, REPRODUCED, SEEN_HERE, UP_TO_LOGS, VIOLATED
from dpregret.paper_figs.tables.printed import environment
from dpregret.paper_figs.tables.write_tables import MEASURED
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import from_plain
from dpregret.paper_figs.text.formats import DASH, read_csv
from dpregret.paper_figs.text.formula import marked_up, unicode

Names = Mapping[str, str]
"""Identifier -> displayed name; the identifiers are `learner`, `learner.variant`, `stream:name` and `set:name`."""
MET: Final = (REPRODUCED, UP_TO_LOGS, SEEN_HERE)
NOBODY: Final[Names] = MappingProxyType({})


def learner_name(names: Names, learner: str, variant: str) -> str:
    """The displayed name of a learner in a variant, or in all variants that match a pattern with `*`."""
    plain = names.get(learner, learner)
    if "*" in variant:
        return unicode(plain)
    return unicode(names.get(f"{learner}.{variant}", plain if variant == "plain" else f"{plain} {variant}"))


def mechanism_name(names: Names, learner: str, mechanism: str) -> str:
    """The displayed name of a variant beside that of its learner; of another learner's, `name.variant`, the whole."""
    other, _, variant = mechanism.rpartition(".")
    name = learner_name(names, other or learner, variant)
    plain = learner_name(names, learner, "*")
    return unicode(names.get(f".{variant}") or variant) if name == plain else name.removeprefix(f"{plain}, ")


Record = Mapping[Hashable, Any]
"""A row of a table of text, by its columns."""
View = Mapping[str, Any]
"""What a template shows of a remark, a claim, a table, a figure or a paper."""


def lines_of(folder: Path) -> dict[str, Record]:
    """The lines of claims.csv and checks.csv, by their claims."""
    return {line["claim"]: line for line in read_judged(folder, text=True).to_dict("records")}


def records(path: Path) -> Sequence[Record]:
    """The rows of a CSV file as text; none where there is no file."""
    return read_csv(path, dtype=str, keep_default_na=False).to_dict("records") if path.exists() else []


def text_table(name: str, title: str, caption: str, columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> View:
    """A table of text with its caption."""
    return {"name": name, "title": title, "caption": caption, "columns": [*columns], "rows": [[*row] for row in rows]}


def read_captioned(path: Path, title: str) -> View:
    """Read a Markdown table below its caption."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    caption = from_plain(text[: text.index(lines[0])].strip())
    head, _, *rows = ([from_plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
    return text_table(path.stem, title, caption, head, rows)


def read_all(folder: Path, titles: Mapping[str, str]) -> list[View]:
    """The existing tables {name}.md of a folder; titles: name -> title."""
    paths = {folder / f"{name}.md": title for name, title in titles.items()}
    return [read_captioned(path, title) for path, title in paths.items() if path.exists()]


TEMPLATES = Path(__file__).with_name("templates")
KINDS: Final = {
    "mistake": "mistake in print",
    "convention": "convention",
    "loose": "loose bound",
    "reading": "reading of ours",
}
"""Kind of a remark -> its name."""
CLASSES: Final[Mapping[Class, str]] = {
    "statement": "of a statement",
    "step": "of a proof or a box",
    "slip": "of a letter or a remark",
}
"""What a mistake in print is of -> its name."""


def write_errata_page(results: Path, papers: Sequence[str], texts: Path, out: Path) -> None:
    """Write errata.md into `out`, from `results`, where each paper has a folder of its tables.

    `texts` holds a folder of YAML files for each paper.
    """
    found = (section(results, load_paper(texts / paper)) for paper in papers)
    sections = sorted((view for view in found if view["entries"]), key=gravity)
    refuted = refutations(results, texts, papers)
    text = templates("md").get_template("errata.md.j2").render(sections=sections, refuted=refuted)
    (out / "errata.md").write_text(text, encoding="utf-8")


def gravity(section: View) -> tuple[int, int]:
    """The place of a paper among the errata: most mistakes of a statement, a proof or a box that are shown in numbers
    first, then most of them."""
    grave = [_gravity(entry)[:2] for entry in section["entries"]]
    return -grave.count((0, 0)), -sum(not slight for slight, _ in grave)


def _gravity(entry: View) -> tuple[int, ...]:
    """Mistakes in print of a statement, a proof or a box first, of these what is shown by a measured effect or a
    refuted claim, and those of statements; then slips, then the other kinds."""
    erratum: Erratum = entry["erratum"]
    classes = [*CLASSES, None]
    of = classes.index(erratum.of if erratum.printed_mistake else None)
    matters = bool(entry["effect"]) or any(VIOLATED in claim for claim in entry["claims"])
    return of if of > 1 else 0, not matters, of, erratum.provenance != "printed", [*KINDS].index(erratum.kind)


def by_statement(stated: pd.DataFrame, guarantees: int) -> str:
    """How many statements of the papers were measured, on how many every claim is met, and how many are refuted.

    guarantees: how many refuted privacy guarantees of learners there are, quotations of one not counted.
    """
    stated = stated.loc[stated["verdict"] != NOT_RUN]
    statements = [stated["paper"] + ": " + [statement_named(source) for source in stated["source"]]]
    met = stated["verdict"].isin(MET).groupby(statements).all()
    refuted = (stated["verdict"] == VIOLATED).groupby(statements).any()
    private = ((stated["verdict"] == VIOLATED) & (stated["type"] == "private")).groupby(statements).any().sum()
    quoted, others = private - guarantees, refuted.sum() - private
    ours = "privacy guarantee of a learner" if guarantees == 1 else "privacy guarantees of learners"
    parts = {ours: guarantees, "quoted from one of these": quoted, "other" if others == 1 else "others": others}
    counted = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    papers = stated["paper"].nunique()
    printed = "one paper prints" if papers == 1 else f"{papers} papers print"
    held, broken = (f"{number} {'is' if number == 1 else 'are'}" for number in (met.sum(), refuted.sum()))
    return (
        f"Of {len(met)} statement{'s' * (len(met) != 1)} that {printed}, {held} met by every claim on them, "
        f"and {broken} refuted{f' ({counted})' if counted else ''}."
    )


def statement_named(source: str) -> str:
    """The statement that the source of a claim names first: a numbered one, a row of a table, an equation."""
    return ", ".join(numbered(source)) or re.split(r", (?!row )", source)[0]


def mistakes_in_words(counted: Iterable[Mapping[str, int]]) -> str:
    """How many mistakes in print the classes of one or several papers hold, and of what: `classes` of `section`."""
    read = list(counted)
    total = {name: sum(classes[name] for classes in read) for name in CLASSES}
    number = sum(total.values())
    parts = ", ".join(f"{count} {CLASSES[name]}" for name, count in total.items() if count)
    return f"{number} mistake{'s' * (number != 1)} in print{f' ({parts})' if number else ''}"


def classes_of(errata: Iterable[Erratum]) -> dict[str, int]:
    """How many mistakes in print are of each class."""
    counted = Counter(erratum.of for erratum in errata if erratum.printed_mistake)
    return {name: counted[name] for name in CLASSES}


def templates(form: str = "html") -> jinja2.Environment:
    """The templates of a form, in which formulas of sentences are shown by the filter `maths`."""
    env = environment(TEMPLATES, form)
    env.filters["maths"] = unicode if form == "md" else lambda text: Markup(marked_up(text))
    env.globals["mistakes"] = mistakes_in_words
    return env


def section(results: Path, paper: PaperTexts, names: Names = NOBODY) -> View:
    """The errata of one paper with their measured effects, and the counts of measured effects, mistakes in print (all,
    and by what they are of) and other remarks. Without displayed `names`, learners have their identifiers."""
    claims, folder = paper.claims, results / paper.claims.paper
    rows = {row["erratum"]: row for row in records(folder / "errata.csv")}
    lines = lines_of(folder)
    found = (_entry(erratum, rows[erratum.id], lines, claims, results, names) for erratum in paper.errata.errata)
    entries = sorted(found, key=_gravity)
    classes = classes_of(paper.errata.errata)
    mistakes = sum(classes.values())
    measured = sum(bool(entry["effect"]) for entry in entries)
    counts = {"measured": measured, "mistakes": mistakes, "other": len(entries) - mistakes, "classes": classes}
    several = len(paper.errata.texts) > 1  # of a single text the section says what it is
    texts = "; ".join(f"{name} is {text}" if several else text for name, text in paper.errata.texts.items())
    for entry in entries:
        entry["read_in"] = " and ".join(entry["erratum"].read_in) if several else ""
    return {"paper": claims.paper, "title": claims.title, "entries": entries, "texts": texts, **counts}


def _entry(
    erratum: Erratum, row: Record, lines: Mapping[str, Record], claims: ClaimsFile, results: Path, names: Names
) -> dict[str, Any]:
    """One erratum as the page shows it. Links are relative to the folder of the page, and lead to what exists."""
    effect, links = "", []
    if row["status"] == MEASURED and erratum.measure is not None:
        ratio = "" if row["ratio"] == DASH else f" (ratio {row['ratio']})"
        where = f" ({row['setting']})" if row.get("setting", DASH) not in ("", DASH) else ""
        printed, corrected = row["as printed"], row["corrected"]
        learner, _, variant = row["against"].partition(".")
        against = learner_name(names, learner, variant) if learner in names else row["against"]
        effect = f"{row['quantity']}: {printed} as {erratum.provenance}, {corrected} in {against}{ratio}{where}"
        figures = [figure.name for figure in claims.figures if figure.experiment == erratum.experiment]
        links = [f"{claims.paper}/figures/{name}.png" for name in figures]
        links.append(f"{claims.paper}/runs/{erratum.experiment}.parquet")
    missing = NOT_RUN if row["status"] == NOT_RUN else ""
    unshown = missing or "argument only"
    note = row["note"] or ("" if effect or erratum.claims else row["status"])
    kind = KINDS[erratum.kind] if erratum.provenance == "printed" else f"{erratum.kind}, text reconstructed"
    kind += f", {CLASSES[erratum.of]}" if erratum.of and erratum.printed_mistake else ""
    return {
        "erratum": erratum,
        "kind": kind,
        "effect": effect,
        "note": note,
        "noted": missing or "note",
        "evidence": "effect measured" if effect else "shown by claims" if erratum.claims else unshown,
        "links": [link for link in links if (results / link).exists()],
        "claims": [f"{claim}: {_evidence(lines.get(claim))}" for claim in erratum.claims],
    }


def _evidence(line: Record | None) -> str:
    """The number and the verdict of a claim, and what was found about privacy."""
    if line is None:
        return NOT_RUN
    text = ", ".join(filter(None, (result_tables.claim_value(line), line["verdict"])))
    private = line["type"] == "private" and line["verdict"] != NOT_RUN
    return text + (f", {of_privacy(line['reason'])}" if private else "")


PAPER_FILES: Final = ("../findings.yaml",)
"""Files that this module reads, from a paper's folder: one for all papers."""
FILE: Final = Path(PAPER_FILES[0]).name
NUMBERS: Final = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_LOSS: Final = re.compile(r"exact privacy loss eps = (\S+), claimed (\S+):")
PURE: Final = "delta = 0"
_STEP: Final = re.compile(r"; (corrected step: [\d.]+)")
_DELTA: Final = r"delta = [\d.e+-]+"
_SETTING: Final = re.compile(r"\b(T|delta) = (\d[\d.e+-]*\d|\d)")


class Gains(Strict):
    """Rows of gains.csv: those of one mechanism over another one, at some values of what is swept.

    decoded: two rows of the exact table `table` at such a value, {table, of, by}, whose roots of the mean error are
    compared: a known decoder of the same mechanism.
    """

    learner: str
    over: str
    with_: str = Field(alias="with")
    experiment: str
    stream: str
    values: tuple[float, ...]
    decoded: dict[Literal["table", "of", "by"], str] = Field(default_factory=dict)


class Sentences(Strict):
    """Sentences of a finding. claims: id -> the verdict on which they rest."""

    text: str
    claims: dict[str, str]


class Finding(Strict):
    """A finding of the file.

    claims: id -> the verdict on which it rests. parts: sentences behind its text, of which a run may support some.
    page: the document that has more. figure: a figure of the paper. single: the title where one statement is refuted.
    """

    id: str
    title: str
    single: str = ""
    text: str
    page: str
    paper: str = ""
    figure: str = ""
    claims: dict[str, str] = Field(default_factory=dict)
    parts: tuple[Sentences, ...] = ()
    gains: Gains | None = None
    refuted: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Finding:
        if self.refuted == bool(self.paper):
            raise ValueError("a finding names its paper, or lists what is refuted in all of them")
        if self.refuted != bool(self.single):
            raise ValueError("single, the title where one statement is refuted, belongs to what lists all of them")
        return self


class FindingsFile(Strict):
    """The file of findings."""

    findings: tuple[Finding, ...]


class Item(NamedTuple):
    """A refuted statement: the paper and the place in it, the statement in our words, the reason of its verdict, and
    the errata that derive it."""

    paper: str
    claim: str
    cite: str
    source: str
    statement: str
    reason: str
    remarks: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it is printed."""
        return f"{self.cite}, {self.source}"

    @property
    def loss(self) -> tuple[float, float] | None:
        """The lost and the claimed epsilon of an exact refutation."""
        numbers = _LOSS.match(self.reason)
        return (float(numbers[1]), float(numbers[2])) if numbers else None

    @property
    def found(self) -> str:
        """The same with T and delta: `2.5 for 2, T = 3, delta = 0`; else the reason."""
        if self.loss is None:
            return self.reason
        setting = {name: f"{name} = {value}" for name, value in _SETTING.findall(self.reason)}
        lost, steps = "{:g} for {:g}".format(*self.loss), _STEP.findall(self.reason)
        return ", ".join(filter(None, (lost, *steps, setting.get("T"), setting.get("delta", PURE))))


class Headline(Finding):
    """A finding as pages show it: plain sentences, and what is refuted."""

    items: tuple[Item, ...] = ()


class _MissingError(LookupError):
    """A number that this run does not have."""


def load_findings(texts: Path) -> tuple[Finding, ...]:
    """The file in the folder of the papers' texts; none where there is no file. Raises ClaimsError."""
    path = texts / FILE
    return validate(FindingsFile, source_of(path), error=ClaimsError).findings if path.exists() else ()


def headlines(results: Path, texts: Path, papers: Sequence[str]) -> tuple[Headline, ...]:
    """The findings of a run that its tables support, in the order of the file."""
    supported = []
    for entry in load_findings(texts):
        try:
            supported.append(
                _refuted(entry, results, texts, papers) if entry.refuted else _filled(entry, results, papers)
            )
        except _MissingError:
            continue
    return tuple(supported)


def refutations(results: Path, texts: Path, papers: Sequence[str]) -> tuple[Item, ...]:
    """Statements of papers, as printed there, whose claims of privacy are violated in the tables of a run.

    One exact loss refutes one statement: a paper that quotes it from another one listed before adds none.
    """
    items: list[Item] = []
    listed: set[str] = set()
    for claims in (load_paper(texts / paper).claims for paper in papers):
        lines = _lines(results, claims.paper)
        for claim in (claim for claim in claims.claims if claim.refutable):
            line = lines.get(claim.id, {})
            if line.get("verdict") == VIOLATED and claim.exact not in listed:
                listed |= {claim.exact} - {""}
                cite, reason = claims.cite or claims.paper, of_privacy(line["reason"])
                items.append(Item(claims.paper, claim.id, cite, claim.source, claim.statement, reason, claim.errata))
    return tuple(items)


def in_words(number: int) -> str:
    """A number that begins a sentence: in words up to nine."""
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def of_privacy(reason: str) -> str:
    """What was found about privacy, without the results of the runs."""
    return reason.split("; in the runs")[0]


def _refuted(entry: Finding, results: Path, texts: Path, papers: Sequence[str]) -> Headline:
    items = refutations(results, texts, papers)
    if not items:
        raise _MissingError
    title = entry.single if len(items) == 1 else entry.title.replace("{count}", in_words(len(items)))
    return Headline(**{**dict(entry), "title": title, "items": items})


def _filled(entry: Finding, results: Path, papers: Sequence[str]) -> Headline:
    if entry.paper not in papers:
        raise _MissingError
    folder, lines = results / entry.paper, _lines(results, entry.paper)

    def holding(claims: Mapping[str, str]) -> bool:
        return all(lines.get(claim, {}).get("verdict") == verdict for claim, verdict in claims.items())

    parts = [part for part in entry.parts if holding(part.claims)]
    if not holding(entry.claims) or (entry.parts and not parts):
        raise _MissingError
    ratios = _gained(entry.gains, folder) if entry.gains else {}

    def value_of(match: re.Match[str]) -> str:
        name, column = match.groups()
        text = _of_erratum(folder, name, column) if column else ratios.get(name)
        if text is None and name in lines:
            text = result_tables.claim_value(lines[name])
        if not text:
            raise _MissingError
        return text

    def filled(sentence: str) -> str:
        return re.sub(r"\{([^:}]+)(?:: ([^}]+))?\}", value_of, sentence)

    text, claims = [filled(entry.text)], dict(entry.claims)
    for part in parts:
        with contextlib.suppress(_MissingError):
            text.append(filled(part.text))
            claims |= part.claims
    if parts and claims == entry.claims:
        raise _MissingError
    return Headline(**{**dict(entry), "title": filled(entry.title), "text": " ".join(text), "claims": claims})


def _lines(results: Path, paper: str) -> dict[str, Record]:
    """The lines of a paper in this run, by their claims."""
    if not (results / paper / result_tables.FILES["claim"]).exists():
        raise _MissingError
    return lines_of(results / paper)


def _of_erratum(folder: Path, erratum: str, column: str) -> str:
    """A column of a measured erratum without its interval; empty where there is none."""
    rows = records(folder / "errata.csv")
    effect: Record = next((row for row in rows if (row["erratum"], row["status"]) == (erratum, MEASURED)), {})
    value = effect.get(column, "")
    return "" if value == formats.DASH else re.split(r" [\[(]", value)[0]


_GAINED: Final = (("ratios", "ratio"), ("noises", "noise"))
"""Name of a list of gains in a sentence, and its column of gains.csv."""


def _gained(gains: Gains, folder: Path) -> dict[str, str]:
    path = folder / "gains.csv"
    if not path.exists():
        raise _MissingError
    rows = formats.read_csv(path, keep_default_na=False)
    for name, value in gains.model_dump(by_alias=True, exclude={"values", "decoded"}).items():
        rows = rows.loc[rows[name] == value]
    by_value: pd.DataFrame = rows.drop_duplicates("value").set_index("value")
    if "setting" not in by_value or not set(gains.values) <= set(by_value.index):
        raise _MissingError
    numbers = {name: _listed(by_value.loc[list(gains.values), column]) for name, column in _GAINED if column in rows}
    decoded = {"decoded": _listed(_decoded(gains, folder))} if gains.decoded else {}
    return {**numbers, **decoded, "setting": str(by_value["setting"].iloc[0])}


def _listed(numbers: Iterable[float | str]) -> str:
    return ", ".join(f"{float(number):.1f}" for number in numbers)


def _decoded(gains: Gains, folder: Path) -> Iterator[float]:
    """By how much a decoder reduces the deviation of the noise of its mechanism, at every value."""
    path = folder / "exact" / f"{gains.decoded['table']}.md"
    if not path.exists():
        raise _MissingError
    table = read_captioned(path, "")
    column = table["columns"].index("mean error")
    errors = {(row[0], row[1]): row[column] for row in table["rows"]}
    for value in gains.values:
        pair = [errors.get((f"{value:g}", gains.decoded[name])) for name in ("of", "by")]
        if None in pair:
            raise _MissingError
        before, after = (float(str(error)) for error in pair)
        yield math.sqrt(before / after)


def markdown(findings: Sequence[Headline]) -> str:
    """The findings as a numbered list of a document at the top of the repository, one line each."""
    text = []
    for index, finding in enumerate(findings, 1):
        sentence = f"{finding.text} {_losses(finding.items)}" if finding.items else finding.text
        text.append(f"{index}. **[{_written(finding.title)}]({finding.page}).** {_written(sentence)}\n")
    return "".join(text)


def in_terminal(findings: Sequence[Headline]) -> str:
    """The findings as lines of a terminal; one line where there are none."""
    if not findings:
        return "Findings: none, for the claims on which they rest were not run, or came out otherwise"
    lines = ["Findings of this run"]
    for finding in findings:
        lines += formats.folded(f"* {unicode(finding.title)}", indent="  ")
        lines += formats.folded(unicode(finding.text), indent="    ")
        for item in finding.items:
            first, *more = formats.folded(unicode(f"{item.place}: {item.found}"), indent=" " * 6)
            lines += [f"    - {first.lstrip()}", *more]
    return "\n".join(lines)


def _losses(items: Sequence[Item]) -> str:
    """What is lost for what is claimed, by paper; the most frequent delta is stated once."""
    deltas = [setting for item in items for setting in re.findall(rf", ({_DELTA})$", item.found)]
    usual = max(dict.fromkeys(deltas), key=deltas.count, default="")
    by_paper: dict[str, list[str]] = {}
    for item in items:
        by_paper.setdefault(item.cite, []).append(f"{item.source} ({item.found.removesuffix(f', {usual}')})")
    listed = "; ".join(f"{cite}: {', '.join(losses)}" for cite, losses in by_paper.items())
    return f"Lost eps for claimed eps{f', {usual} unless given' if usual else ''}: {listed}."


def _written(text: str) -> str:
    return formats.markdown_cell(unicode(text))
