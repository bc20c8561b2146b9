"""The claims of a paper, its tables, figures and errata: the models of the YAML files, and how a folder is read.

`at: NAME` gives a claim the keys of an entry of `settings`, or the experiment of that name, and a row of a table those
of an entry of `guarantees`; its own keys win. Claims, tables, rows and figures need not give the stream of an
experiment with a single one, nor the parameter that the experiment sweeps. In the list of claims an entry
`origin: derived` is a heading: it holds for the claims below it, up to the next one; above the first they are the
paper's. A reason of one word names an entry of `reasons`. Nothing else is inherited. Every
mistake is one line with file, line and key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    field_validator,
    model_validator,
)

from dpregret import study
from dpregret.core.errors import ID_PATTERN, LONGEST_NAME, ConfigError, nearest, not_allowed
from dpregret.core.yaml_source import (
    Expanded,
    KeyPath,
    Located,
    Name,
    Source,
    display_path,
    in_order,
    read_source,
    validate,
)
from dpregret.paper_figs.judge.vocabulary import LogArgument, Parameter, Rate, Response, labels_of, parse, sentence
from dpregret.paper_figs.text.escaping import Formula, tex

DEFAULT_TOLERANCE = 0.1
BOUND, CALLS, LEDGER = "bound", "calls", "ledger"
LAWS: Final = (BOUND, CALLS, LEDGER)
"""What holds always and is checked without a claim: see `universal.py`. The first word of these lines' names."""

ClaimType = Literal["exponent", "linear", "below", "stated", "private"]
Provenance = Literal["printed", "reconstructed"]
"""Whether a formula was read in the paper, or is ours where the text at hand lost it or the paper does not print it."""
Class = Literal["statement", "step", "slip"]
"""What a mistake in print is of: see `Erratum`."""
Quantity = Literal["regret_ratio", "noise_ratio"]
FIGURE_TYPE: Final = re.compile(r'^@figure_type\("([a-z-]+)", "([a-z ]*)"\)$', re.MULTILINE)


@cache
def figure_types() -> Mapping[str, tuple[str, ...]]:
    """Type of figures -> the keys that an entry may have, as each registers itself where it is drawn; read from the
    source, since drawing needs matplotlib, which a plan does not wait for."""
    files = sorted(Path(__file__).parents[1].joinpath("figures").glob("*.py"))
    found = [match for file in files for match in FIGURE_TYPE.findall(file.read_text(encoding="utf-8"))]
    return {name: tuple(keys.split()) for name, keys in sorted(found)}


QUOTED = "quoted"
"""The learner of a table row that is quoted from elsewhere and not run."""
ERM_ONLY = ("samples", "width", "corners", "curvature", "smoothness")
ONLINE_ONLY = ("horizon", "window", "landau", "items", "experts", "best_loss", "length", "convexity")


LOG_ARGUMENTS: Final[Mapping[str, tuple[LogArgument, ...]]] = {
    "horizon": ("T/delta",),
    "samples": ("n/delta", "2np"),
    "dimension": ("2np", "2p", "p/4"),
    "beta": ("d/beta",),
    "delta": ("T/delta", "n/delta"),
}
"""Parameter whose rates may have a logarithm -> its allowed arguments besides the parameter."""


class Strict(BaseModel):
    """Base of every model here: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _fixed(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a number or a word")
    return value


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _split_learner(data: Any, key: str = "variant", default: str = "") -> Any:
    """`learner: name.variant` as two keys, the second one `key`."""
    if not isinstance(data, dict) or key in data or not isinstance(data.get("learner"), str):
        return data
    learner, _, variant = data["learner"].partition(".")
    if not (variant or default):
        raise ValueError(f"a learner is written name.variant, such as ftal.plain, not {learner!r}")
    return {**data, "learner": learner, key: variant or default}


Where = dict[str, Annotated[str | float, BeforeValidator(_fixed)]]
Played = Annotated[str, Field(pattern=r"^[a-z0-9_-]+\.[a-z0-9_-]+$", max_length=2 * LONGEST_NAME)]
"""A learner with its variant, name.variant."""
Names = Annotated[str, Field(pattern=r"^[a-z0-9*?!\[\]_-]+$", max_length=LONGEST_NAME)]
"""A variant, or a pattern of several."""
Id = Annotated[str, Field(pattern=ID_PATTERN, max_length=LONGEST_NAME)]
"""Of a claim, a row, an erratum."""
RateText = Annotated[Rate, PlainValidator(parse), PlainSerializer(str)]


class Counterpart(Strict):
    """The non-private learner whose regret on the same losses is subtracted; `where` may say epsilon: .inf.

    Written `ftal`, `lloo-ftal.practical`, or as a mapping with `learner` and `where`.
    """

    learner: Name
    variant: Names = "plain"
    where: Where = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return _split_learner({"learner": data} if isinstance(data, str) else data, default="plain")


class Asymptotic(Strict):
    """A cell is pre-asymptotic when its T (or n) is below the largest of three numbers of rounds (or records).

    `rounds`; `windows` times W; `noise_times` times t0, the time until which the noise is larger than the
    set (t0 = displacement * T). Cells with W below `smallest_window` are pre-asymptotic too. Cells whose number of
    iterations was cut are not fitted either, unless `capped` lets them in.
    """

    rounds: int = 0
    windows: float = 0.0
    noise_times: float = 0.0
    smallest_window: int = 0
    capped: bool = False


class Swept(Strict):
    """A response of a learner in an experiment, against a parameter."""

    learner: Name
    experiment: Name
    parameter: Parameter
    response: Response = "regret"
    where: Where = Field(default_factory=dict)
    varies: tuple[str, ...] = ()
    counterpart: Counterpart | None = None


class Claim(Swept):
    """One testable sentence of a paper. See docs/method.md for the meaning of each key; `says` is the statement, which
    follows from response and rate where a claim of type exponent gives none.

    `exact` names an exact privacy loss (`workflows/audit/exact_losses.py`) that decides a claim of type private where
    it is above what is promised there. `unit: record` judges such a claim by the epsilon of a record in all its rounds,
    where the stream repeats its records, not by that of a round. `check` says why the sentence could not have come out
    otherwise on its experiment; such a line is a consistency check and not a finding. `provenance: reconstructed` marks
    a sentence whose formula was not read in the paper: it appears in no finding. `changed` admits that the setting was
    chosen after a verdict had been seen. `undecided` says why more runs do not decide it; it is shown where the verdict
    is open.
    """

    id: Id
    source: str
    statement: str = Field(alias="says")
    origin: Literal["paper", "derived", "baseline"] = "paper"
    provenance: Provenance = "printed"
    changed: str = ""
    undecided: str = ""
    check: str = ""
    type: ClaimType = "exponent"
    scope: Literal["worst-case", "instance"] = "worst-case"
    side: Literal["upper", "lower"] = "upper"
    variant: Names
    stream: Name
    accounting: Literal["exact", "upper"] = "exact"
    unit: Literal["round", "record"] = "round"
    exact: str = ""
    rate: RateText | None = None
    bound: Literal["rate", "explicit"] = "rate"
    tol: float = Field(default=DEFAULT_TOLERANCE, gt=0, lt=1)
    tol_reason: str = ""
    asymptotic_from: Asymptotic = Field(default=Asymptotic(), alias="from")
    errata: tuple[Id, ...] = ()

    @property
    def kind(self) -> Literal["claim", "check"]:
        """The kind of the line: a claim could have come out otherwise; bounds held in every cell are checks."""
        return "check" if self.check or self.type == "below" else "claim"

    @property
    def refutable(self) -> bool:
        """Whether the claim is a statement about privacy that a paper prints."""
        return self.type == "private" and not self.check and (self.origin, self.provenance) == ("paper", "printed")

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("from"), int):
            data = {**data, "from": {"rounds": data["from"]}}
        if isinstance(data, dict) and data.get("type") in IMPLY_BOUND:
            data = {"bound": "explicit", **data}
        if isinstance(data, dict) and SAYS not in data and data.get("type", "exponent") == "exponent":
            said = ""  # where another key is missing or wrong, which has its own line
            with suppress(KeyError, ValueError, TypeError):
                rate, side = parse(data["rate"]), data.get("side", "upper")
                said = sentence(data.get("response", "regret"), data["parameter"], rate, side)
            data = {**data, SAYS: said}
        return _split_learner(data)

    @model_validator(mode="after")
    def _consistent(self) -> Claim:
        if self.id.partition(".")[0] in LAWS and "." in self.id:
            raise ValueError(f"id {self.id!r}: {', '.join(LAWS)} with a dot begin the names of automatic checks")
        if self.tol != DEFAULT_TOLERANCE and not self.tol_reason:
            raise ValueError(f"tol differs from {DEFAULT_TOLERANCE}: give tol_reason")
        if (self.type == "exponent") != (self.rate is not None):
            raise ValueError(f"type {self.type} {'needs' if self.rate is None else 'takes no'} rate")
        linear = (("horizon", "regret"), ("samples", "excess"))
        if self.type == "linear" and (self.parameter, self.response) not in linear:
            raise ValueError("type linear needs parameter horizon and response regret, or samples and excess")
        bounded = ("noise",) if self.side == "lower" else ("regret", "calls", "excess")
        if self.type in ("below", "stated") and (self.bound != "explicit" or self.response not in bounded):
            needed = "bound explicit and response regret, calls or excess; with side lower, response noise"
            raise ValueError(f"type {self.type} needs {needed}")
        if self.exact and self.type != "private":
            raise ValueError(f"type {self.type} takes no exact")
        if self.unit == "record" and self.type != "private":
            raise ValueError(f"type {self.type} takes no unit")
        if self.response == "overhead" and self.counterpart is None:
            raise ValueError("response `overhead` needs counterpart")
        if self.response not in ("overhead", "log_slope") and self.counterpart is not None:
            raise ValueError(f"response {self.response} takes no counterpart")
        if self.parameter in (ONLINE_ONLY if self.response == "excess" else ERM_ONLY):
            raise ValueError(f"response {self.response} cannot be swept over {self.parameter}")
        if self.rate is not None:
            self._check_rate(self.rate)
        return self

    def _check_rate(self, rate: Rate) -> None:
        swept, symbol = self.parameter, labels_of(self.response).symbols[self.parameter]
        if rate.power == rate.log_power == 0 and (swept, self.response) == ("horizon", "log_slope"):
            raise ValueError("a constant rate has no log slope over T: use response regret or `overhead`")
        if rate.symbol not in ("", symbol):
            raise ValueError(f"rate {str(rate)!r} is in {rate.symbol}, where parameter {swept} sweeps {symbol}")
        if rate.log_power and swept not in LOG_ARGUMENTS:
            raise ValueError(f"logarithms exist for {', '.join(LOG_ARGUMENTS)} only")
        if rate.log_argument not in ("parameter", *LOG_ARGUMENTS.get(swept, ())):
            raise ValueError(f"parameter {swept} has no logarithm of {rate.log_argument}")
        if rate.nodes and swept != "window":
            raise ValueError("A_W is a factor of parameter window only")
        log = "log2" if swept == "dimension" and rate.log_argument == "parameter" else "ln"
        if rate.log_power and rate.log != log:
            raise ValueError(f"the logarithm in rate {str(rate)!r} must be {log}")


class Reference(Strict):
    """Where a table row takes its regret, operations and accounted epsilon from."""

    experiment: Name
    stream: Name
    where: Where = Field(default_factory=dict)


class TableRow(Strict):
    """One row of the comparison table: what is claimed in words; numbers come from runs and claims.

    `group` is the variant in words where none is given; `neighbouring` of a private row is to replace one loss, or one
    record, and `window` of a guarantee that begins with that word is W.

    `previous`, `lower`, `previous_lower`: what the paper's own table prints beside its bound: that of earlier work, and
    the lower bounds of this work and of earlier work.

    `exponents` is the claim of each column of exponents, `also` are further claims of the row. The only row of a
    learner.variant may leave them out: see `ClaimsFile.with_claims_of_learners`.
    """

    id: Id
    label: str
    group: str
    learner: Name
    variant: Name
    privacy: str = "none"
    neighbouring: str = "-"
    knows: str = ""
    window: str = "-"
    operation: str
    bound_text: str
    bound_latex: Formula
    previous: str = ""
    lower: str = ""
    previous_lower: str = ""
    exponents: dict[Parameter, Id] = Field(default_factory=dict)
    also: tuple[Id, ...] = ()
    reference: Reference | None = None
    errata: tuple[Id, ...] = ()

    @field_validator("bound_text")
    @classmethod
    def _closed(cls, text: str) -> str:
        if text.count("(") != text.count(")"):
            raise ValueError(f"{text!r} has an open bracket; a text with a comma, in braces, needs quotes")
        return text

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        if isinstance(data, dict) and "bound_latex" not in data and "bound_text" in data:
            data = {**data, "bound_latex": tex(data["bound_text"])}
        if isinstance(data, dict) and str(data.get("privacy")).startswith("window "):
            data = {"window": "W", **data}
        data = _split_learner(data)
        return {"group": data["variant"].replace("-", " "), **data} if "variant" in data else data

    def claim_ids(self) -> tuple[str, ...]:
        """All claims of the row, those with an exponent column first."""
        return tuple(dict.fromkeys((*self.exponents.values(), *self.also)))


class Table(Strict):
    """A comparison table: caption, default reference setting and rows."""

    caption: str
    reference: Reference
    rows: tuple[TableRow, ...] = Field(min_length=1)


class FigureEntry(Strict):
    """One figure: its type, the experiment that it draws, and a sentence that says what it shows.

    type: `figure_types` lists them with the keys that each takes. title: stands above the figure. parameter: the swept
    variable. responses: what the drawn claims of type exponent measure. crossing: two learners, or learner.variant,
    whose curves cross. where: settings of private learners that the experiment varies besides. counterpart: the
    learner.variant that is drawn without noise too. scaled: the power of the parameter that all is divided by.
    learners: those, or learner.variant, that are drawn; all where none is given.
    """

    type: str
    title: str = Field(default="", max_length=200)
    experiment: Name | Literal[""] = ""
    parameter: Parameter | None = None
    responses: tuple[Response, ...] = ("log_slope", "excess")
    crossing: tuple[str, str] | None = None
    where: dict[str, float] = Field(default_factory=dict)
    counterpart: str | None = Field(default=None, pattern=r"^[^.]+\..+$")
    scaled: float = 0.0
    learners: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> FigureEntry:
        types = figure_types()
        if self.type not in types:
            raise ValueError(not_allowed("type of figures", self.type, types))
        allowed, given = types[self.type], self.model_fields_set - {"type", "title"}
        if extra := sorted(given - set(allowed)):
            raise ValueError(
                f"a figure of type {self.type} takes no {extra[0]}; it takes {', '.join(allowed) or 'no key'}"
            )
        for key in ("experiment", "parameter"):
            if key in allowed and not getattr(self, key):
                raise ValueError(f"a figure of type {self.type} takes {key}, which is missing")
        return self

    @property
    def name(self) -> str:
        """Stem of the figure's files."""
        names = {"costs": "oracle_costs", "crossover": "crossover"}
        names[self.experiment] = self.type
        return names.get(self.type, f"{self.type}_{self.experiment}".replace("-", "_"))


class Gain(Swept):
    """The gain of a variant of a learner over another one: the ratio of their responses on the same losses.

    `over` is the variant in the numerator; one of `variants` may be another learner's, name.variant. Everything else as
    in a claim; a row per stream and value of `parameter`.
    """

    over: Name
    variants: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return _split_learner(data, key="over")


_ITEM: Final = r"[A-Z]?\.?\d+(?:\.\d+)*"
_NUMBERED: Final = re.compile(
    r"\b(Theorem|Lemma|Proposition|Corollar(?:y|ies)|Claim|Fact)s? "
    rf"((?:{_ITEM}(?:-{_ITEM})?(?:, (?:and )?| and )?)+)"
)


def numbered(text: str) -> tuple[str, ...]:
    """The numbered statements that a text names: `Theorems 1, A.1-A.2` has Theorem 1, Theorem A.1 and Theorem A.2."""
    found = []
    for kind, items in _NUMBERED.findall(text):
        name = "Corollary" if kind == "Corollaries" else kind
        for first, last in re.findall(rf"({_ITEM})(?:-({_ITEM}))?", items):
            head, number = re.findall(r"(.*?)(\d+)$", first)[0]
            final = re.findall(r"\d+$", last or first)[0]
            found += [f"{name} {head}{each}" for each in range(int(number), int(final) + 1)]
    return tuple(dict.fromkeys(found))


Numbered = Annotated[tuple[str, ...], BeforeValidator(lambda text: numbered(text) if isinstance(text, str) else text)]
"""Statements of a paper, written in one line."""


class ClaimsFile(Strict):
    """A claims file: the paper, its claims, the rows of its tables (table 1, table 2, ...), and its figures.

    `problem`: online learning (regret against T) or empirical risk minimisation (excess risk against n); it decides
    the words of tables, and the response of claims that name none. `cite` is the paper's short name, `about` what it
    is about in a few sentences, `glossary` its symbols with their meaning. `statements` are the numbered ones of the
    paper, and `untested` is why some of them have no claim; both are written as in `numbered`.
    `chapter`: no paper but a chapter of ours, whose claims are not counted among those of papers. `exact`: tables that
    are computed and not measured, each with its caption. `gains`: what a further table sets side by side.
    `provenance` is that of all claims of the paper which give none. `privacy_claims`: a learner.variant whose ledger is
    not held against its budget, since a paper prints its noise or promises something else -> the claim that judges its
    privacy; one that a claim of type private is about need not be listed.
    """

    paper: Name
    title: str
    cite: str = ""
    statements: Numbered = ()
    untested: dict[str, str] = Field(default_factory=dict)
    about: str = ""
    glossary: dict[str, str] = Field(default_factory=dict)
    chapter: bool = False
    provenance: Provenance = "printed"
    problem: Literal["online", "erm"] = "online"
    exact: dict[Name, str] = Field(default_factory=dict)
    gains: tuple[Gain, ...] = ()
    privacy_claims: dict[Played, Id] = Field(default_factory=dict)
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = Field(min_length=1)
    figures: tuple[FigureEntry, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("claims"), list):
            return data
        common = {"response": "excess"} if data.get("problem") == "erm" else {}
        for row in (
            row for table in _listed(data, "tables") for row in _listed(table, "rows") if isinstance(row, dict)
        ):
            if row.get("privacy", "none") != "none":
                row.setdefault("neighbouring", f"replace one {'record' if common else 'loss'}")
        claims = [*data["claims"]]
        for number, claim in enumerate(claims):
            if isinstance(claim, dict):
                stated = "provenance" in data and claim.get("origin", "paper") == "paper"
                provenance = {"provenance": data["provenance"]} if stated else {}
                claims[number] = {**common, **provenance, **claim}
        return {**data, "claims": claims}

    @model_validator(mode="after")
    def _of_the_paper(self) -> ClaimsFile:
        unknown = [name for key in self.untested for name in numbered(key) or [key] if name not in self.statements]
        if unknown:
            raise ValueError(f"untested: {not_allowed('statement', unknown[0], self.statements)}")
        return self

    def with_claims_of_learners(self) -> ClaimsFile:
        """A copy in which rows without claims get those of their learner.variant, if no other row has it, and the group
        of a row whose text was not read is not called printed.

        `exponents` then has, for every parameter, the first claim that states a rate of the regret or excess risk or of
        its slope in ln T; `also` has all other claims, in the order of the file.
        """
        rows = Counter((row.learner, row.variant) for row in self.rows)
        unread = {(claim.learner, claim.variant) for claim in self.claims if claim.provenance != "printed"}

        def completed(row: TableRow) -> TableRow:
            if (row.learner, row.variant) in unread:
                row = row.model_copy(update={"group": row.group.replace("printed", "reconstructed")})
            if rows[row.learner, row.variant] > 1:
                return row
            claims = [claim for claim in self.claims if (claim.learner, claim.variant) == (row.learner, row.variant)]
            exponents: dict[Parameter, str] = {}
            for claim in claims:
                if claim.rate is not None and claim.response in (self.response, "log_slope"):
                    exponents.setdefault(claim.parameter, claim.id)
            if "exponents" in row.model_fields_set:
                exponents = row.exponents
            also = tuple(claim.id for claim in claims if claim.id not in exponents.values())
            return row.model_copy(
                update={"exponents": exponents, "also": row.also if "also" in row.model_fields_set else also}
            )

        tables = (table.model_copy(update={"rows": tuple(map(completed, table.rows))}) for table in self.tables)
        return self.model_copy(update={"tables": tuple(tables)})

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """The rows of all tables."""
        return tuple(row for table in self.tables for row in table.rows)

    @property
    def response(self) -> Response:
        """The response of the learners of this paper: excess risk or regret."""
        return "excess" if self.problem == "erm" else "regret"


class Measure(Strict):
    """How an erratum's effect is computed: `quantity` of `variant`, and of `against`, in one experiment.

    `against` is the same algorithm with this one place corrected.
    """

    learner: Name
    variant: Name
    against: Name
    quantity: Quantity
    stream: Name = "norm-kink"
    where: Where = Field(default_factory=dict)


class Answer(Strict):
    """The answer of an author of the paper to an erratum: `by` whom, when (`date`), in what words (`says`)."""

    by: str
    date: str
    says: str


class Erratum(Strict):
    """A remark on a place of a paper: place, printed, right, why; its measured effect, or the reason for having none.

    kind: `mistake` (in print), `convention` (a reader could take it otherwise), `loose` (valid, and weaker than needed)
    or `reading` (ours, the paper may mean something else). Only a mistake that was read in the paper counts as one:
    `read_in` names the texts of the paper in which the printed line was read (one, or a list).
    of: what a mistake in print is of: a `statement` (a result is false as stated), a `step` (of a proof or of a box;
    results stand with it corrected) or a `slip` (nothing rests on it).
    claims: those whose verdicts show the effect. responses: what the authors answered.
    """

    id: Id
    kind: Literal["mistake", "convention", "loose", "reading"]
    of: Class | None = None
    provenance: Provenance = "printed"
    place: str
    printed: str
    read_in: Annotated[tuple[str, ...], BeforeValidator(_several)] = ()
    right: str
    why: str
    claims: tuple[Id, ...] = ()
    experiment: Name | None = None
    reason: str = ""
    measure: Measure | None = None
    responses: tuple[Answer, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Erratum:
        if self.of is None and self.printed_mistake:
            raise ValueError("a mistake in print needs of: statement, step or slip")
        if self.of is not None and self.kind != "mistake":
            raise ValueError(f"kind {self.kind} takes no of")
        if (self.experiment is None) != (self.measure is None):
            raise ValueError("experiment and measure go together")
        if self.experiment is None and not self.claims and not self.reason:
            raise ValueError("an erratum without experiment and claims needs reason")
        if self.printed_mistake and not self.read_in:
            raise ValueError("a mistake in print needs read_in, the texts in which the line was read")
        return self

    @property
    def printed_mistake(self) -> bool:
        """Whether the remark counts as a mistake in print."""
        return (self.kind, self.provenance) == ("mistake", "printed")


class ErrataFile(Strict):
    """An errata file. texts: the texts of the paper that were read, name -> what it is and what it lacks."""

    paper: Name
    texts: dict[str, str] = Field(default_factory=dict)
    errata: tuple[Erratum, ...]


AT, SETTINGS, GUARANTEES = "at", "settings", "guarantees"
EXPERIMENT: Final = "experiment"
"""Key of a claim or row, and the sections that it names an entry of: what claims and what rows share."""
ORIGIN, SOURCE, SAYS, REASONS = "origin", "source", "says", "reasons"
"""Keys of headings among claims, and the section of reasons that several claims share."""
HEADINGS: Final = frozenset({ORIGIN, SOURCE, SAYS})
REASONED: Final = ("check", "undecided", "tol_reason", "changed")
"""Keys whose value is a reason, or the name of one."""
IMPLY_BOUND: Final = ("below", "stated")
"""Types of claims about the explicit bound."""
PAPER_FILES: Final = ("claims.yaml", "errata.yaml", "changes.yaml", "experiments.yaml")
"""Files of a paper's folder that this module reads; the keys of stages that import it hold them. The third:
claim -> the commits that changed what it is judged by after its first reference."""
CHANGES: Final = PAPER_FILES[2]
REMOVED: Final = ": removed"
"""How the last change of a claim that is gone ends its place and begins its text."""
PLAYED: Final = ("streams", "learners")
RISKS: Final = "risks"
"""Experiments name what they play: streams of losses, which are `risks` where points of records are released."""
_ID: Final = r"`?[a-z][\w.]*(?:-\w+)+`?"
_CITED: Final = re.compile(rf"\bclaims? ({_ID}(?:(?:, and|,| and| or) {_ID})*)")


class ClaimsError(ConfigError):
    """A claims or errata file that is refused; one line per mistake: file, line, key, what is allowed."""


Changes = Mapping[str, tuple[str, ...]]
"""Claim -> commits that changed what it is judged by after its first reference, each with its date and what."""
UNCHANGED: Final[Changes] = MappingProxyType({})


class PaperTexts(NamedTuple):
    """The texts of a paper."""

    claims: ClaimsFile
    errata: ErrataFile
    changes: Changes = UNCHANGED


def load_claims(path: Path | str) -> ClaimsFile:
    """Read and check a claims file; the paper has the name of its folder. Raises ClaimsError."""
    return _claims(Path(path))[0]


def load_paper(folder: Path | str) -> PaperTexts:
    """Read the claims and, where the folder has them, the errata of a paper.

    Every erratum that is named must exist, every claim that a text of either file cites, and every claim that has
    changes, unless the last of them says that it was removed. Raises ClaimsError.
    """
    return located_paper(folder)[0]


def located_paper(folder: Path | str) -> tuple[PaperTexts, Located, Located | None]:
    """The same with the positions of all keys in the claims file, and in the errata file if there is one."""
    claims, source = _claims(Path(folder) / PAPER_FILES[0])
    file = Path(folder) / PAPER_FILES[1]
    errata, errata_source = load_errata(file) if file.exists() else (ErrataFile(paper=claims.paper, errata=()), None)
    ids = {"claim": [claim.id for claim in claims.claims], "erratum": [erratum.id for erratum in errata.errata]}
    references = [(source, reference) for reference in _names_in_claims(claims)]
    references += [(errata_source or source, reference) for reference in _names_in_errata(errata)]
    _refuse(
        f"{where.at(key_path)}: unknown {kind} {name!r}{nearest(name, ids[kind])}"
        for where, (key_path, kind, name) in references
        if name not in ids[kind]
    )
    changes = load_changes(folder)
    gone = [claim for claim in changes if claim not in ids["claim"] and REMOVED not in changes[claim][-1]]
    _refuse(
        f"{display_path(Path(folder) / CHANGES)}: unknown claim {claim!r}{nearest(claim, ids['claim'])}; "
        f"a claim that is gone stands, with the reason, under `removed` of a commit"
        for claim in gone
    )
    return PaperTexts(claims, errata, changes), source, errata_source


def _names_in_claims(claims: ClaimsFile) -> Iterator[tuple[KeyPath, str, str]]:
    """Places at which claims and rows name an erratum or a claim: place, which of the two, name."""
    for number, claim in enumerate(claims.claims):
        for position, name in enumerate(claim.errata):
            yield ("claims", number, "errata", position), "erratum", name
        for key, text in (("says", claim.statement), ("check", claim.check)):
            yield from ((("claims", number, key), "claim", name) for name in cited_claims(text))
    yield from ((("privacy_claims", played), "claim", name) for played, name in claims.privacy_claims.items())
    for key_path, row in _rows(claims):
        yield from (((*key_path, "errata", position), "erratum", name) for position, name in enumerate(row.errata))
        yield from (((*key_path, "exponents"), "claim", name) for name in row.exponents.values())
        yield from (((*key_path, "also"), "claim", name) for name in row.also)


def _names_in_errata(errata: ErrataFile) -> Iterator[tuple[KeyPath, str, str]]:
    """The same of errata."""
    for number, erratum in enumerate(errata.errata):
        for position, name in enumerate(erratum.claims):
            yield ("errata", number, "claims", position), "claim", name
        for key in ("printed", "right", "why", "reason"):
            yield from ((("errata", number, key), "claim", name) for name in cited_claims(getattr(erratum, key)))


def load_changes(folder: Path | str) -> Changes:
    """The changes of a paper's claims; nothing where there is no file. Raises ClaimsError."""
    path = Path(folder) / CHANGES
    if not path.exists():
        return UNCHANGED
    data: Any = source_of(path).data
    changes: dict[str, list[str]] = {}
    try:
        for commit, change in (data or {}).items():
            date, what, removed = change["date"], change.get("what", {}), change.get("removed", {})
            if change.keys() - {"date", "what", "removed"}:
                raise KeyError
            lines = [(claim, text) for text, claims in what.items() for claim in claims]
            lines += [(claim, f"removed, {reason}") for claim, reason in removed.items()]
            for claim, text in lines:
                changes.setdefault(claim, []).append(f"{commit} ({date}): {text}")
    except (KeyError, TypeError, AttributeError):
        form = "'COMMIT': {date: 'YYYY-MM-DD', what: {TEXT: [CLAIM, ...]}, removed: {CLAIM: REASON}}"
        raise ClaimsError(f"{display_path(path)}: lists commits, the first one first, and not claims: {form}") from None
    return {claim: tuple(texts) for claim, texts in changes.items()}


def is_on(source: str, statement: str) -> bool:
    """Whether the source of a claim is a statement, such as `Theorem 3`, or a part or a reading of it."""
    return re.match(rf"{re.escape(statement)}(?!\.?\w)", source) is not None


def cited_claims(text: str) -> list[str]:
    """Ids that a text cites: words after `claim` or `claims` with a hyphen that begin with a small letter."""
    return [name.strip("`") for match in _CITED.finditer(text) for name in re.findall(_ID, match[1])]


def load_errata(path: Path) -> tuple[ErrataFile, Located]:
    """Read and check an errata file; return it with the places of its keys. Raises ClaimsError."""
    source = _named(path)
    errata = validate(ErrataFile, source, error=ClaimsError)
    _unique(source, [(("errata", number, "id"), erratum.id) for number, erratum in enumerate(errata.errata)])
    _refuse(
        f"{source.at(('errata', number, 'read_in'))}: {not_allowed('text', name, errata.texts)}"
        for number, erratum in enumerate(errata.errata)
        for name in erratum.read_in
        if name not in errata.texts
    )
    return errata, source


def _claims(path: Path) -> tuple[ClaimsFile, Located]:
    source = _filled_in(_named(path), _implied(path))
    further = {0: (SETTINGS, GUARANTEES, REASONS), 2: (AT,), 4: (AT,)}
    claims = validate(ClaimsFile, source, further, ClaimsError).with_claims_of_learners()
    _unique(source, [(("claims", number, "id"), claim.id) for number, claim in enumerate(claims.claims)])
    _unique(source, [((*key_path, "id"), row.id) for key_path, row in _rows(claims)])
    _unique(source, [(("figures", number), figure.name) for number, figure in enumerate(claims.figures)])
    return claims, source


def _rows(claims: ClaimsFile) -> Iterator[tuple[KeyPath, TableRow]]:
    """The rows of all tables with their places."""
    for number, table in enumerate(claims.tables):
        for index, row in enumerate(table.rows):
            yield ("tables", number, "rows", index), row


def source_of(path: Path) -> Source:
    """A YAML file of a paper. Raises ClaimsError."""
    try:
        return read_source(path, display_path(path))
    except ConfigError as error:
        raise ClaimsError(error.problems) from None


def _experiments(path: Path) -> dict[str, dict[str, Any]]:
    """The experiments in the file beside a claims file, with the defaults of that file: name -> keys."""
    data = source_of(path.with_name(PAPER_FILES[3])).data
    experiments: dict[str, Any] = data if isinstance(data, dict) else {}
    found, common = experiments.get("experiments"), experiments.get("defaults")
    shared = common if isinstance(common, dict) else {}
    if not isinstance(found, dict):
        return {}
    merged = {name: shared | (given if isinstance(given, dict) else {}) for name, given in found.items()}
    return {name: {PLAYED[0]: given.get(RISKS), **given} for name, given in merged.items()}


def _implied(path: Path) -> dict[str, dict[str, str]]:
    """What an experiment says of the claims on it: its only stream, and the parameter that it sweeps.

    Nothing where the file cannot be read: its own reader tells why.
    """
    try:
        experiments = _experiments(path)
    except ClaimsError:
        return {}
    implied: dict[str, dict[str, str]] = {}
    for name, given in experiments.items():
        streams, swept = given.get(PLAYED[0]), given.get("sweep")
        implied[name] = {"experiment": name}
        if isinstance(streams, list) and len(streams) == 1:
            implied[name]["stream"] = streams[0]
        if isinstance(swept, str) and swept in get_args(Parameter):
            implied[name]["parameter"] = swept
    return implied


def _without_claims(path: Path) -> dict[str, Any]:
    """A claims file for the experiments beside it: no claims, and a table of all that they play."""
    rows: dict[str, Any] = {}
    for name, given in _experiments(path).items():
        streams, learners = (given.get(key) for key in PLAYED)
        stream = streams[0] if isinstance(streams, list) and streams else ""
        for learner, variants in learners.items() if isinstance(learners, dict) else ():
            for variant in variants if isinstance(variants, list) else ():
                reference = {"experiment": name, "stream": stream}
                row = {"id": f"{name}-{learner}-{variant}", "label": f"{learner}.{variant}, {name}", "group": "study"}
                words = {"learner": f"{learner}.{variant}", "privacy": "-", "operation": "-", "bound_text": "-"}
                rows[row["id"]] = {**row, **words, "reference": reference}
    listed = list(rows.values())
    tables = [{"caption": "What was played.", "reference": listed[0]["reference"], "rows": listed}] if listed else []
    return {"title": path.parent.name, "claims": [], "tables": tables}


def _named(path: Path) -> Source:
    """A file with the name of its folder as its paper. A study may do without claims, tables, or the whole file."""
    of_study = study.FOLDER is not None and path.parent.resolve() == study.FOLDER.resolve()
    source = Source(display_path(path), {}, {}) if of_study and not path.exists() else source_of(path)
    if not isinstance(source.data, dict):
        raise ClaimsError(f"{source.name}: must be a mapping")
    if of_study:
        source = replace(source, data=_without_claims(path) | source.data)
    if not source.data.get("claims", True) and not of_study:
        raise ClaimsError(f"{source.at(('claims',))}: must not be empty")
    if "paper" in source.data:
        raise ClaimsError(f"{source.at(('paper',))}: a paper is named by its folder: leave this key out")
    return Source(source.name, {**source.data, "paper": path.resolve().parent.name}, source.lines)


def _filled_in(source: Source, implied: Mapping[str, Mapping[str, str]]) -> Expanded:
    """Fill in settings and what experiments imply in claims, guarantees in rows; what headings say; reasons."""
    data: Any = deepcopy(source.data)
    sections = (SETTINGS, GUARANTEES, REASONS)
    unknown = [key for key in data if key not in (*sections, *ClaimsFile.model_fields)]
    _refuse(f"{source.at((key,))}: unknown key{hint}" for key in unknown if (hint := nearest(key, sections)))
    reasons = data.pop(REASONS, {})
    shared = {section: data.pop(section, {}) for section in (SETTINGS, GUARANTEES)}
    if not isinstance(reasons, dict) or not all(isinstance(text, str) for text in reasons.values()):
        raise ClaimsError(f"{source.at((REASONS,))}: must be a mapping of names to sentences")
    _refuse(
        f"{source.at((section,))}: must be a mapping" for section in shared if not isinstance(shared[section], dict)
    )
    _refuse(
        f"{source.at((section, name))}: must be a mapping"
        for section, entries in shared.items()
        for name, entry in entries.items()
        if not isinstance(entry, dict)
    )
    origins: dict[KeyPath, tuple[Source, KeyPath]] = {(): (source, ())}  # inherited key -> where it is written
    filled = Expanded(data, origins)
    problems = [*_under_headings(source, data, origins)]
    tables = enumerate(_listed(data, "tables"))
    lists: list[tuple[KeyPath, str, list[Any]]] = [(("claims",), SETTINGS, _listed(data, "claims"))]
    lists += [(("tables", number, "rows"), GUARANTEES, _listed(table, "rows")) for number, table in tables]
    for where, section, entries in lists:
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                continue
            path, inherited = (*where, number), {}
            if AT in entry:
                name = entry.pop(AT)
                if isinstance(name, str) and name in shared[section]:
                    inherited = shared[section][name]
                    written = [key for key in inherited if key not in entry]
                    origins.update({(*path, key): (source, (section, name, key)) for key in written})
                elif section == SETTINGS and isinstance(name, str) and name in implied:
                    inherited = {EXPERIMENT: name}
                else:
                    allowed = [*shared[section], *(implied if section == SETTINGS else ())]
                    problems.append(f"{source.at((*path, AT))}: {not_allowed(section[:-1], name, allowed)}")
            entries[number] = entry = {**inherited, **entry}
            if section == SETTINGS and isinstance(played := entry.get(EXPERIMENT), str):
                entries[number] = entry = {**implied.get(played, {}), **entry}
                if implied and played not in implied and "parameter" not in entry:  # which it would have implied
                    problems.append(f"{filled.at((*path, EXPERIMENT))}: {not_allowed(EXPERIMENT, played, implied)}")
            for key in REASONED if section == SETTINGS else ():
                reason = entry.get(key)
                if isinstance(reason, str) and reason and " " not in reason:
                    if reason in reasons:
                        entry[key] = reasons[reason]
                    else:
                        problems.append(f"{filled.at((*path, key))}: {not_allowed('reason', reason, reasons)}")
            empty = [key for key, value in entries[number].items() if value is None]
            problems += [f"{filled.at((*path, key))}: is empty: leave this key out" for key in empty]
    _imply_swept(data, implied)
    _refuse(in_order(problems))
    return filled


def _imply_swept(data: Any, implied: Mapping[str, Mapping[str, str]]) -> None:
    """Give references of tables and rows the only stream of their experiment, and figures the parameter it sweeps."""
    tables = _listed(data, "tables")
    holders = [*tables, *(row for table in tables for row in _listed(table, "rows"))]
    references = [holder.get("reference") for holder in holders if isinstance(holder, dict)]
    for entry, key in [
        *((each, "stream") for each in references),
        *((each, "parameter") for each in _listed(data, "figures")),
    ]:
        experiment = entry.get(EXPERIMENT) if isinstance(entry, dict) else None
        if not isinstance(experiment, str) or key not in implied.get(experiment, {}):
            continue
        if key == "stream" or key in figure_types().get(str(entry.get("type")), ()):
            entry.setdefault(key, implied[experiment][key])


def _under_headings(source: Source, data: Any, origins: dict[KeyPath, tuple[Source, KeyPath]]) -> Iterator[str]:
    """Take the headings out of the claims of `data` and give their keys to the claims below; yield mistakes.

    A key of a heading holds until another heading gives it; a sentence, until the next heading or the next claim that
    has one. origins: what is moved -> where it is written.
    """
    listed, claims = _listed(data, "claims"), list[Any]()
    heading: dict[str, tuple[KeyPath, Any]] = {}
    for number, entry in enumerate(listed):
        path: KeyPath = ("claims", number)
        if isinstance(entry, dict) and entry and set(entry) <= HEADINGS:
            heading.pop(SAYS, None)
            heading |= {key: ((*path, key), value) for key, value in entry.items()}
            continue
        if isinstance(entry, dict) and (
            len(entry) == 1 or ("id" not in entry and HEADINGS & entry.keys() and len(entry) <= len(HEADINGS))
        ):
            wrong = [key for key in entry if key not in HEADINGS]
            yield from (f"{source.at((*path, key))}: {not_allowed('heading', key, HEADINGS)}" for key in wrong)
            continue
        moved: KeyPath = ("claims", len(claims))
        origins[moved] = source, path
        if isinstance(entry, dict):
            if ORIGIN in entry:
                yield f"{source.at((*path, ORIGIN))}: is a heading above the claims: - origin: {entry[ORIGIN]}"
            if entry.get("type") in IMPLY_BOUND and "bound" in entry:
                yield f"{source.at((*path, 'bound'))}: type {entry['type']} implies it: leave this key out"
            if SAYS in entry:
                heading.pop(SAYS, None)
            for key in heading.keys() - (entry.keys() - {ORIGIN}):
                origins[*moved, key], entry[key] = (source, heading[key][0]), heading[key][1]
        claims.append(entry)
    listed[:] = claims


def _listed(holder: object, key: str) -> list[Any]:
    """The list at a key, empty if there is none."""
    entries = holder.get(key) if isinstance(holder, dict) else None
    return entries if isinstance(entries, list) else []


def _unique(source: Located, names: Iterable[tuple[KeyPath, str]]) -> None:
    seen: dict[str, KeyPath] = {}
    for key_path, name in names:
        if name in seen:
            first = source.at(seen[name]).split(": ", 1)[0]
            raise ClaimsError(f"{source.at(key_path)}: {name!r} occurs twice, first at {first}")
        seen[name] = key_path


def _refuse(problems: Iterable[str]) -> None:
    if lines := list(problems):
        raise ClaimsError(lines)
