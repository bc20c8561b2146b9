"""The claims of a paper and its errata as data: YAML files, checked, with errors in one line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

DEFAULT_TOLERANCE = 0.1

Parameter = Literal["horizon", "samples", "dimension", "window", "width", "epsilon", "mu"]
Response = Literal["regret", "overhead", "log_slope", "noise", "excess"]
Kind = Literal["exponent", "linear", "below", "private"]
LogArgument = Literal["parameter", "T/delta", "n/delta", "2np", "2p"]
Quantity = Literal[
    "horizon_exponent", "regret_ratio", "delivered_epsilon", "noise_ratio", "samples_exponent", "excess_ratio"
]
FigureKind = Literal[
    "regret", "exponent", "printed", "costs", "ages", "excess", "collapse", "width", "privacy-cost", "iteration-cost"
]
WITHOUT_EXPERIMENT = ("costs", "ages")
"""Figures of files other than runs."""
NOUNS = {"claims": "claim", "rows": "table row", "errata": "erratum", "figures": "figure"}
ERM_ONLY = ("samples", "width")
ONLINE_ONLY = ("horizon", "window")


class ClaimsError(ValueError):
    """A claims or errata file that is refused; the message is one line: file, entry, key, what is allowed."""


class Strict(BaseModel):
    """Base of every model here: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Prediction(Strict):
    """The law value^power * log^log_power of the swept parameter.

    The value is T or n, d or p, log2 W + 1, the Gaussian width, eps or the Gaussian DP parameter mu. The logarithm is
    that of the value (log2 for the dimension), or of `log_argument`: T/delta, n/delta, 2np or 2p (the l1 ball has 2p
    vertices).
    """

    power: float
    log_power: float = 0.0
    log_argument: LogArgument = "parameter"


class Twin(Strict):
    """The non-private learner whose regret on the same losses is subtracted."""

    learner: str
    variant: str = "plain"


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


class Claim(Strict):
    """One testable sentence of a paper. See docs/method.md for the meaning of each key."""

    id: str
    source: str
    statement: str
    origin: Literal["paper", "derived", "baseline"] = "paper"
    kind: Kind = "exponent"
    scope: Literal["worst-case", "instance"] = "worst-case"
    side: Literal["upper", "lower"] = "upper"
    learner: str
    variant: str
    experiment: str
    stream: str
    where: dict[str, str | float] = Field(default_factory=dict)
    varies: tuple[str, ...] = ()
    accounting: Literal["exact", "upper"] = "exact"
    parameter: Parameter
    response: Response = "regret"
    twin: Twin | None = None
    predicted: Prediction | None = None
    bound: Literal["rate", "explicit"] = "rate"
    tol: float = Field(default=DEFAULT_TOLERANCE, gt=0)
    tol_reason: str = ""
    asymptotic_from: Asymptotic = Asymptotic()
    errata: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _plain_number(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("asymptotic_from"), int):
            return {**data, "asymptotic_from": {"rounds": data["asymptotic_from"]}}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Claim:
        if self.tol != DEFAULT_TOLERANCE and not self.tol_reason:
            raise ValueError(f"tol differs from {DEFAULT_TOLERANCE}: give tol_reason")
        if self.kind == "exponent" and self.predicted is None:
            raise ValueError("kind exponent needs predicted")
        if self.kind != "exponent" and self.predicted is not None:
            raise ValueError(f"kind {self.kind} takes no predicted")
        linear = (("horizon", "regret"), ("samples", "excess"))
        if self.kind == "linear" and (self.parameter, self.response) not in linear:
            raise ValueError("kind linear needs parameter horizon and response regret, or samples and excess")
        if self.kind == "below" and (self.bound != "explicit" or self.response not in ("regret", "excess")):
            raise ValueError("kind below needs bound explicit and response regret or excess")
        if self.response == "overhead" and self.twin is None:
            raise ValueError("response overhead needs twin")
        if self.response in ("regret", "noise", "excess") and self.twin is not None:
            raise ValueError(f"response {self.response} takes no twin")
        if self.parameter in (ONLINE_ONLY if self.response == "excess" else ERM_ONLY):
            raise ValueError(f"response {self.response} cannot be swept over {self.parameter}")
        constant = self.predicted is not None and self.predicted.power == self.predicted.log_power == 0
        if constant and self.response == "log_slope" and self.parameter == "horizon":
            raise ValueError("a constant law has no log slope over T: use response regret or overhead")
        if self.predicted is not None:
            self._check_logarithm(self.predicted)
        return self

    def _check_logarithm(self, predicted: Prediction) -> None:
        allowed: dict[str, tuple[LogArgument, ...]] = {
            "horizon": ("parameter", "T/delta"),
            "samples": ("parameter", "n/delta", "2np"),
            "dimension": ("parameter", "2np", "2p"),
        }
        if predicted.log_power and self.parameter not in allowed:
            raise ValueError(f"log_power exists for {', '.join(allowed)} only")
        if predicted.log_argument not in allowed.get(self.parameter, ("parameter",)):
            raise ValueError(f"parameter {self.parameter} has no log_argument {predicted.log_argument}")


class Reference(Strict):
    """Where a table row takes its regret, operations and delivered epsilon from."""

    experiment: str
    stream: str
    where: dict[str, str | float] = Field(default_factory=dict)


class TableRow(Strict):
    """One row of the comparison table: what is claimed in words; numbers come from runs and claims."""

    id: str
    label: str
    group: str
    learner: str
    variant: str
    privacy: str
    neighbouring: str
    window: str = "-"
    operation: str
    bound_text: str
    bound_latex: str
    previous: str = ""
    exponents: dict[Parameter, str] = Field(default_factory=dict)
    also: tuple[str, ...] = ()
    reference: Reference | None = None
    errata: tuple[str, ...] = ()

    def claim_ids(self) -> tuple[str, ...]:
        """All claims of the row, those with an exponent column first."""
        return tuple(dict.fromkeys((*self.exponents.values(), *self.also)))


class Table(Strict):
    """The comparison table: caption, default reference setting and rows."""

    caption: str
    reference: Reference
    rows: tuple[TableRow, ...]


class FigureEntry(Strict):
    """One figure: its kind and the experiment that it draws; see docs/method.md for the kinds.

    `parameter` is the swept variable of kinds exponent and excess; `crossing` names two learners whose curves are
    said to cross (kind excess).
    """

    kind: FigureKind
    experiment: str = ""
    parameter: Parameter | None = None
    crossing: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> FigureEntry:
        if (self.kind in WITHOUT_EXPERIMENT) != (not self.experiment):
            raise ValueError(f"figures of all kinds but {' and '.join(WITHOUT_EXPERIMENT)} take an experiment")
        if (self.kind in ("exponent", "excess")) != (self.parameter is not None):
            raise ValueError("figures of kinds exponent and excess, and no others, take a parameter")
        if self.crossing is not None and self.kind != "excess":
            raise ValueError("crossing exists for kind excess only")
        return self

    @property
    def name(self) -> str:
        """Stem of the figure's files."""
        names = {"costs": "oracle_costs", "ages": "loss_by_age", self.experiment: self.kind}
        return names.get(self.kind, f"{self.kind}_{self.experiment}".replace("-", "_"))


class ClaimsFile(Strict):
    """A claims file: the paper, its claims, the rows of its table, and its figures.

    `problem`: online learning (regret against T) or empirical risk minimisation (excess risk against n); it decides
    the words of tables, and the response of claims that name none.
    """

    paper: str
    title: str
    problem: Literal["online", "erm"] = "online"
    claims: tuple[Claim, ...]
    table: Table
    figures: tuple[FigureEntry, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _default_response(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("problem") != "erm" or not isinstance(data.get("claims"), list):
            return data
        claims = [{"response": "excess", **claim} if isinstance(claim, dict) else claim for claim in data["claims"]]
        return {**data, "claims": claims}

    @property
    def response(self) -> Response:
        """What the learners of this paper are charged with in total."""
        return "excess" if self.problem == "erm" else "regret"


class Measure(Strict):
    """How an erratum's effect is computed: `quantity` of `variant`, and of `against`, in one experiment."""

    learner: str
    variant: str
    against: str
    quantity: Quantity
    stream: str = "norm-kink"
    where: dict[str, str | float] = Field(default_factory=dict)
    asymptotic_from: Asymptotic = Asymptotic(rounds=256)


class Erratum(Strict):
    """A mistake in a paper: place, printed, right, why; where its effect is measured, or why it is not."""

    id: str
    place: str
    printed: str
    right: str
    why: str
    experiment: str | None
    reason: str = ""
    measure: Measure | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Erratum:
        if (self.experiment is None) != (self.measure is None):
            raise ValueError("experiment and measure go together")
        if self.experiment is None and not self.reason:
            raise ValueError("an erratum without experiment needs reason")
        return self


class ErrataFile(Strict):
    """An errata file."""

    paper: str
    errata: tuple[Erratum, ...]


Model = TypeVar("Model", bound=Strict)


def load_claims(path: Path | str) -> ClaimsFile:
    """Read and check a claims file; raises ClaimsError in one line."""
    claims = _load(Path(path), ClaimsFile)
    _unique(path, "claim", [claim.id for claim in claims.claims])
    _unique(path, "table row", [row.id for row in claims.table.rows])
    _unique(path, "figure", [figure.name for figure in claims.figures])
    known = {claim.id for claim in claims.claims}
    for row in claims.table.rows:
        for name in row.claim_ids():
            if name not in known:
                raise ClaimsError(f"{path}: table row {row.id!r}: unknown claim {name!r}{_nearest(name, known)}")
    return claims


def load_errata(path: Path | str, claims: ClaimsFile | None = None) -> ErrataFile:
    """Read and check an errata file; with `claims`, also that every erratum named there exists."""
    errata = _load(Path(path), ErrataFile)
    known = {erratum.id for erratum in errata.errata}
    _unique(path, "erratum", [erratum.id for erratum in errata.errata])
    if claims is not None:
        named = [(claim.id, name) for claim in claims.claims for name in claim.errata]
        named += [(row.id, name) for row in claims.table.rows for name in row.errata]
        for owner, name in named:
            if name not in known:
                raise ClaimsError(f"{path}: no erratum {name!r}, named by {owner!r}{_nearest(name, known)}")
    return errata


def _load(path: Path, model: type[Model]) -> Model:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as fault:
        raise ClaimsError(f"{path}: not YAML: {' '.join(str(fault).split())}") from fault
    try:
        return model.model_validate(data)
    except ValidationError as fault:
        raise ClaimsError(f"{path}: {_one_line(fault, model, data)}") from None


def _one_line(fault: ValidationError, model: type[Strict], data: Any) -> str:
    first = fault.errors()[0]
    location = first["loc"]
    place = _place(location, data)
    key = next((part for part in reversed(location) if isinstance(part, str)), "the whole file")
    if first["type"] == "extra_forbidden":
        allowed = _allowed_keys(model, location[:-1])
        return f"{place}unknown key {key!r}; allowed: {', '.join(allowed)}{_nearest(key, allowed)}"
    if first["type"] == "value_error":
        return f"{place}{str(first['msg']).removeprefix('Value error, ')}"
    dotted = ".".join(str(part) for part in location if isinstance(part, str))
    return f"{place}key {dotted!r}: {first['msg']}"


def _place(location: Sequence[int | str], data: Any) -> str:
    """'claim thm3-T: ' from the position in the file: the id of the innermost list entry."""
    node, place = data, ""
    for index, part in enumerate(location):
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(part, int) and isinstance(node, dict):
            noun = NOUNS.get(str(location[index - 1]), "")
            place = f"{noun} {node.get('id', part)!r}: "
    return place


def _allowed_keys(model: type[Strict], location: Sequence[int | str]) -> list[str]:
    for part in location:
        field = model.model_fields.get(str(part))
        if field is None:
            continue
        nested = _nested_model(field.annotation)
        model = nested if nested is not None else model
    return list(model.model_fields)


def _nested_model(annotation: Any) -> type[Strict] | None:
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        return annotation
    found = (_nested_model(argument) for argument in get_args(annotation))
    return next((model for model in found if model is not None), None)


def _nearest(name: str, allowed: Sequence[str] | set[str]) -> str:
    close = difflib.get_close_matches(name, sorted(allowed), n=1, cutoff=0.4)
    return f"; nearest: {close[0]!r}" if close else ""


def _unique(path: Path | str, noun: str, names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ClaimsError(f"{path}: {noun} {twice!r} occurs twice")
