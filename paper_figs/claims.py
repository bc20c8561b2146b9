"""The claims of a paper, its tables, figures and errata as data: the models of the YAML files."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

DEFAULT_TOLERANCE = 0.1

Parameter = Literal[
    "horizon", "samples", "dimension", "experts", "window", "width", "epsilon", "mu", "best_loss", "length"
]
Response = Literal["regret", "overhead", "log_slope", "noise", "excess", "optimum"]
Kind = Literal["exponent", "linear", "below", "private"]
LogArgument = Literal["parameter", "T/delta", "n/delta", "2np", "2p"]
Quantity = Literal[
    "horizon_exponent", "regret_ratio", "delivered_epsilon", "noise_ratio", "samples_exponent", "excess_ratio"
]
FigureKind = Literal[
    "regret", "exponent", "printed", "costs", "expiry", "sweep", "collapse", "width", "privacy-cost", "iteration-cost",
    "bounds", "winners", "tuning", "overhead",
]  # fmt: skip
WITHOUT_EXPERIMENT = ("costs", "expiry")
"""Figures of files other than runs."""
WITH_PARAMETER = ("exponent", "sweep", "bounds", "tuning", "overhead")
"""Figures against a swept parameter."""
ERM_ONLY = ("samples", "width")
ONLINE_ONLY = ("horizon", "window", "experts", "best_loss", "length")


class Strict(BaseModel):
    """Base of every model here: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Prediction(Strict):
    """The law value^power * log^log_power of the swept parameter.

    The value is T or n, d or p, log2 d of d experts, log2 W + 1, the Gaussian width, eps, the Gaussian DP parameter mu
    or the loss L* of the best expert. The logarithm is that of the value (log2 for the dimension), or of
    `log_argument`: T/delta, n/delta, 2np or 2p (the l1 ball has 2p vertices).
    """

    power: float
    log_power: float = 0.0
    log_argument: LogArgument = "parameter"


class Twin(Strict):
    """The non-private learner whose regret on the same losses is subtracted; `where` may say epsilon: .inf."""

    learner: str
    variant: str = "plain"
    where: dict[str, str | float] = Field(default_factory=dict)


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
        if self.response not in ("overhead", "log_slope") and self.twin is not None:
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
    knows: str = ""
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
    """A comparison table: caption, default reference setting and rows."""

    caption: str
    reference: Reference
    rows: tuple[TableRow, ...]


class FigureEntry(Strict):
    """One figure: its kind and the experiment that it draws; see docs/method.md for the kinds.

    `parameter` is the swept variable of kinds exponent, sweep, bounds, tuning and overhead; `responses` what the drawn
    claims of kind exponent measure; `crossing` names two learners, or learner.variant, whose curves cross (kind sweep);
    `where` fixes settings of private learners that the experiment varies besides, `twin` names the learner.variant
    that is drawn without noise too, `scaled` the power of the parameter that everything is divided by (kind sweep).
    """

    kind: FigureKind
    experiment: str = ""
    parameter: Parameter | None = None
    responses: tuple[Response, ...] = ("log_slope", "excess")
    crossing: tuple[str, str] | None = None
    where: dict[str, float] = Field(default_factory=dict)
    twin: str | None = Field(default=None, pattern=r"^[^.]+\..+$")
    scaled: float = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> FigureEntry:
        if (self.kind in WITHOUT_EXPERIMENT) != (not self.experiment):
            raise ValueError(f"figures of all kinds but {' and '.join(WITHOUT_EXPERIMENT)} take an experiment")
        if (self.kind in WITH_PARAMETER) != (self.parameter is not None):
            raise ValueError(f"figures of kinds {', '.join(WITH_PARAMETER)}, and no others, take a parameter")
        if (self.crossing or self.where or self.twin or self.scaled) and self.kind != "sweep":
            raise ValueError("crossing, where, twin and scaled exist for kind sweep only")
        return self

    @property
    def name(self) -> str:
        """Stem of the figure's files."""
        names = {"costs": "oracle_costs", "expiry": "loss_by_age", self.experiment: self.kind}
        return names.get(self.kind, f"{self.kind}_{self.experiment}".replace("-", "_"))


class ClaimsFile(Strict):
    """A claims file: the paper, its claims, the rows of its tables (table 1, table 2, ...), and its figures.

    `problem`: online learning (regret against T) or empirical risk minimisation (excess risk against n); it decides
    the words of tables, and the response of claims that name none. `cite` is the paper's short name, `about` what it
    is about in a few sentences, `glossary` its symbols with their meaning.
    """

    paper: str
    title: str
    cite: str = ""
    about: str = ""
    glossary: dict[str, str] = Field(default_factory=dict)
    problem: Literal["online", "erm"] = "online"
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = Field(min_length=1)
    figures: tuple[FigureEntry, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _default_response(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("problem") != "erm" or not isinstance(data.get("claims"), list):
            return data
        claims = [{"response": "excess", **claim} if isinstance(claim, dict) else claim for claim in data["claims"]]
        return {**data, "claims": claims}

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """The rows of all tables."""
        return tuple(row for table in self.tables for row in table.rows)

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
