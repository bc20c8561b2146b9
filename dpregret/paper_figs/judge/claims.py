"""The claims of a paper, its tables, figures and errata: the models of the YAML files. `read_claims.py` reads them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

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

from dpregret.core.errors import ID_PATTERN, LONGEST_NAME, ConfigError, not_allowed
from dpregret.core.yaml_source import (
    Name,
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


SAYS: Final = "says"
"""Key of a claim's sentence."""
IMPLY_BOUND: Final = ("below", "stated")
"""Types of claims about the explicit bound."""


class ClaimsError(ConfigError):
    """A claims or errata file that is refused; one line per mistake: file, line, key, what is allowed."""


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
    chosen after a verdict had been seen. `failure` is the paper's letter of the failure probability that the experiment
    sweeps as `delta`. `undecided` says why more runs do not decide it; it is shown where the verdict
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
    failure: Literal["delta", "beta"] = "delta"

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
        if self.parameter == "beta" and self.bound == "explicit":
            raise ValueError("parameter beta takes no explicit bound: that of the runs is one on the mean")
        if self.failure != "delta" and self.parameter != "delta":
            raise ValueError(f"failure {self.failure} needs parameter delta, not {self.parameter}")
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
        for row in (row for table in listed(data, "tables") for row in listed(table, "rows") if isinstance(row, dict)):
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


def is_on(source: str, statement: str) -> bool:
    """Whether the source of a claim is a statement, such as `Theorem 3`, or a part or a reading of it."""
    return re.match(rf"{re.escape(statement)}(?!\.?\w)", source) is not None


def listed(holder: object, key: str) -> list[Any]:
    """The list at a key, empty if there is none."""
    entries = holder.get(key) if isinstance(holder, dict) else None
    return entries if isinstance(entries, list) else []
