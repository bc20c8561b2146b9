"""Which learner for a setting, the command `dpregret advise`: regret predicted from what was measured, beside the
learner's own explicit bound. Exit code 0: advice; 2: bad input, or nothing that fits, in one line.

A request names T, d, eps, and further facts. Suitable learners come from one problem (stream, set, options), so that
learners are compared on the same losses: that on which most algorithms were measured, those within the measured
ranges first. One algorithm is recommended, the next three are listed, and below a rule those whose power in a
parameter is a guess and which could have less regret. Regret and its interval are `paper_figs.winners.laws`, whose
fits are stored beside the cells; the bound is that of the learner itself, made for the request; where it lies below,
it ends the interval. Learners that were measured at one value only of a parameter
are behind the others, since their power in it is a guess. A learner fits unless

* its ledger or the audit denies it the privacy it claims, or it needs delta > 0 and the request says 0;
* it is as printed where a corrected variant exists, or its predicted regret is not below that of a fixed point;
* it promises nothing against an adversary (`stochastic_only`), and the request does not say stochastic;
* too few cells were measured, or it refuses the setting when it is made.

Pure privacy, and protection of the whole sequence, are more than an approximate guarantee or a window: such learners
are listed for less, and say so.
"""

from __future__ import annotations

import inspect
import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from dpregret.core.boundary import as_json, plain
from dpregret.core.errors import ConfigError, nearest, not_allowed, one_line
from dpregret.core.files import reference
from dpregret.paper_figs.judge.runs import same_setting
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DASH, significant
from dpregret.paper_figs.winners.laws import (
    AVERAGES,
    FEWEST,
    Chosen,
    Law,
    Prediction,
    by_digest,
    digest,
    setting,
    size_of,
    stored,
    stored_cells,
    within,
)
from dpregret.paper_figs.winners.table import CALLS, CELLS, CLASSES, FOLDER, LAWS, OBLIVIOUS, STOCHASTIC
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import MOST_EPSILON, Draws
from dpregret.workflows.plan.config import data_of
from dpregret.workflows.plan.facts import FEEDBACKS, family_of, stream_facts
from dpregret.workflows.plan.fingerprint import ROOT
from dpregret.workflows.run import store
from dpregret.workflows.run.account import account_of, deviation, sentence
from dpregret.workflows.run.single import experiment_of

if TYPE_CHECKING:
    from dpregret.workflows.run.data import Planned

SYMBOLS: Final = {"rounds": "T", "dimension": "d", "epsilon": "eps", "window": "W", "delta": "delta"}
DELTA: Final = 1e-6
LOGISTIC, SQUARED = "records-logistic", "fetched-regression"
"""The stream of a study's records that no experiment plays: of two classes, and of a label of numbers."""
AS_PRINTED: Final = ("printed", "paper")
"""How variants begin that follow a text to the letter."""
NEXT, GUESSES = 3, 5
"""Learners that are listed after the recommended one, and below the rule."""
MOST_NUMBERS: Final = 2**24
"""Rounds (or numbers of a data set) beyond which no learner is built for its bound."""


@dataclass(frozen=True)
class Request:
    """window None: the whole sequence. delta 0: pure privacy only. kind: stochastic, oblivious, or None for any."""

    rounds: int
    dimension: int
    epsilon: float
    window: int | None = None
    delta: float = DELTA
    feedback: str = "full"
    set: str | None = None
    loss: str | None = None
    kind: str | None = None

    @property
    def served(self) -> int:
        """The window that mechanisms are made for: the next power of two; 0 for the whole sequence, from T on."""
        power = self.rounds if self.window is None else 1 << (self.window - 1).bit_length()
        return power if power < self.rounds else 0

    @cached_property
    def row(self) -> pd.DataFrame:
        """The predicted quantity."""
        return setting(self.rounds, self.dimension, self.epsilon, self.served)


@dataclass(frozen=True)
class Advised:
    """One learner: regret, low, high; its explicit bound (None: unknown); calls of a round.

    extrapolated: parameter -> measured range. protects: `window` or `all`. pure: delta = 0.
    """

    learner: str
    regret: float
    low: float
    high: float
    bound: float | None
    protects: str
    pure: bool
    calls: Mapping[str, float]
    extrapolated: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def guessed(self) -> bool:
        """Whether it was measured at one value only of a parameter, so that its power in it is a guess."""
        return any(text.startswith("only") for text in self.extrapolated.values())


@dataclass(frozen=True)
class Noise:
    """Of the recommended algorithm: law, and standard deviation of a coordinate of it where it is drawn."""

    law: str
    deviation: float


@dataclass(frozen=True)
class Advice:
    """Learners by predicted regret, the best one without privacy, and why others are left out (learner -> reason).

    constant: regret of the fixed-point baseline on losses of this T and eps; None where it is not known.
    """

    request: Request
    source: str
    stream: str
    set: str
    options: str
    losses: str
    constant: float | None
    learners: tuple[Advised, ...]
    free: Advised | None
    left_out: Mapping[str, str]
    others: tuple[str, ...]
    noise: Noise | None = None
    guarantee: str = ""

    @property
    def recommended(self) -> Advised | None:
        """The first of those that were measured at several values of every parameter, else the first of all."""
        return next((item for item in self.learners if not item.guessed), next(iter(self.learners), None))

    @property
    def further(self) -> tuple[Advised, ...]:
        """The next ones, without guesses."""
        return tuple(item for item in self.learners if not item.guessed and item is not self.recommended)[:NEXT]

    @property
    def possible(self) -> tuple[Advised, ...]:
        """Guesses whose interval reaches below the regret of the recommended one."""
        best = self.recommended
        return tuple(
            item
            for item in self.learners
            if best is not None and item.guessed and item is not best and item.low < best.regret
        )[:GUESSES]


def read_cells(results: Path | None, root: Path) -> tuple[pd.DataFrame, str]:
    """Cells and the folder: `results` where it is given, else a finished run, else the committed reference.

    Raises ConfigError in one line.
    """
    folders = [results] if results is not None else [Path("results"), root / "results", reference()]
    folder = next((candidate for candidate in folders if (candidate / FOLDER / CELLS).exists()), None)
    if folder is None and results is not None:
        raise ConfigError(f"advise: --results: {results}: no results of a whole run are there ({FOLDER}/{CELLS})")
    if folder is None:
        raise ConfigError(f"no {FOLDER}/{CELLS} in {' or '.join(map(str, folders))}: run `make reproduce` first")
    try:
        return stored_cells(folder / FOLDER), str(folder)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{folder / FOLDER}: {CELLS}, {LAWS}: not tables of cells: {one_line(error)}") from error


def bound_of(
    cell: pd.Series, learner: str, variant: str, request: Request, window: int, data_dir: Path | None = None
) -> float | None:
    """The learner's own bound on the stream and set of a measured cell; None where it is unknown or the problem is
    too large. Raises ValueError where the learner refuses the setting.
    """
    instance = _made(cell, learner, variant, request, window, data_dir)
    if instance is None:
        return None
    anytime = FAMILIES[family_of(str(cell["feedback"]))].anytime
    value = instance.bound(request.rounds)[:, -1] if anytime else instance.bound()
    bound = float(np.asarray(value, dtype=float)[0])
    return bound if math.isfinite(bound) else None


def _made(
    cell: pd.Series, learner: str, variant: str, request: Request, window: int, data_dir: Path | None = None
) -> Any:
    """A learner on the stream and set of a measured cell; None where the problem is too large, or its data are not
    there.

    It is made, as a job would, for an experiment of the requested setting alone, from the prepared data of the working
    folder, which are linked into `data_dir`; advice downloads nothing. window 0: the whole sequence. Raises ValueError
    where it refuses the setting.
    """
    family, stream = FAMILIES[family_of(str(cell["feedback"]))], str(cell["stream"])
    if max(request.rounds * (request.dimension if family.name == "erm" else 1), request.dimension) > MOST_NUMBERS:
        return None
    pairs = (word.partition("=") for word in str(cell["options"]).split())
    options = {name: _number(value) for name, _, value in pairs}
    keys = {*family.experiment.model_fields, *inspect.signature(family.streams[stream]).parameters}
    of_set = {name: options.pop(name) for name in [*options] if name not in keys}
    if "set_options" in keys:
        options["set_options"] = of_set
    if "best_loss" in options:
        options["best_loss"] = [options["best_loss"]]
    values = {
        "horizon": [request.rounds], "dimension": [request.dimension], "epsilon": [request.epsilon],
        "streams": [stream], "sets": str(cell["set"]), "runs": 2, "delta": request.delta or DELTA,
        "window": [window or "horizon"], "learners": {learner: [variant]},
    }  # fmt: skip
    experiment = experiment_of(family, values, options, windowed=False)
    learner_class, draws = family.learners[learner], Draws(0, 2, data_dir)
    play_cell = next(iter(family.cells(experiment, learner_class.card)))
    try:
        if data_dir is not None and not _linked(experiment, data_dir):
            return None
        problem = family.problem(play_cell, experiment, draws)
    except (ValueError, OSError):  # a stream that has no such size, or data that are not there
        return None
    return family.learner(learner_class, problem, play_cell, experiment, variant)


def _linked(experiment: Any, folder: Path) -> bool:
    """Link the prepared data of an experiment into a folder; whether they are there, or could be prepared here."""
    if not data_of(experiment):
        return True
    from dpregret.workflows.plan.make import data_files  # late: most streams read no data

    files = data_files(experiment)
    if here := all(store.at_hand(name, Path(file)) for name, file in files.items()):
        store.link(files, folder)
    return here


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def advise(request: Request, cells: pd.DataFrame, source: str, data_dir: Path | None = None) -> Advice:
    """Raises ConfigError in one line where nothing fits."""
    family = family_of(request.feedback)
    measured = cells.loc[cells["feedback"] == request.feedback]
    problems, rows = _problems(request, measured, family)
    stream, set_name, options = problems[0]
    private = rows.loc[rows["private"]]
    left_out: dict[str, str] = {}
    laws, (constant, shared) = stored_laws(source), _constant(request, rows)
    advised: list[Advised] = []
    for (learner, pure), part in private.groupby(["learner", private["delta"] == 0], sort=True):
        answer = _advised(request, str(learner), bool(pure), part, data_dir, laws)
        if isinstance(answer, str):
            left_out[str(learner)] = answer
        else:
            advised.append(answer)
    for learner in sorted(set(measured.loc[measured["private"], "learner"]) - set(rows["learner"])):
        left_out[learner] = f"not measured on {stream}, {set_name}"
    if not advised:
        reason = next(iter(left_out.items()), ("", "nothing was measured"))
        raise ConfigError(f"no learner fits; {': '.join(reason)} ({len(left_out)} left out)")
    losses = stream_facts(family, FAMILIES[family].streams[stream]).losses
    least = math.inf if constant is None else constant
    worse = f"no better than the fixed-point baseline, {significant(least)}"
    left_out |= {item.learner: f"{worse}: ~{significant(item.regret)}" for item in advised if item.regret >= least}
    better = [item for item in advised if item.regret < least]
    ranked = tuple(sorted(better, key=lambda item: (item.guessed, item.regret, item.learner)))
    others = tuple(dict.fromkeys(name for name, *_ in problems if name != stream))
    free = _free(request, rows if shared else _with_baseline(request, rows, constant), laws)
    advice = Advice(request, source, stream, set_name, options, losses, constant, ranked, free, left_out, others)
    best = advice.recommended
    return advice if best is None else replace(advice, **_assured(request, best, family, private, data_dir))


def _assured(
    request: Request, best: Advised, family: str, cells: pd.DataFrame, data_dir: Path | None
) -> dict[str, Any]:
    """Noise and guarantee of the recommended learner, made for the request; nothing where that is too large."""
    cell = cells.loc[(cells["learner"] == best.learner) & (cells["barred"] == "")].iloc[0]
    name, variant = best.learner.split(".", 1)
    window = request.served if FAMILIES[family].learners[name].card.windowed else 0
    instance = _made(cell, name, variant, request, window, data_dir)
    if instance is None:
        return {}
    account, delta = account_of(instance, 0), instance.deltas[0]
    spread = deviation(account.law, account.scale, request.dimension)
    noise = Noise(account.law, spread) if math.isfinite(spread) else None
    accounted = float(instance.delivered_epsilon()[0])
    return {"noise": noise, "guarantee": sentence(family, account, accounted, delta, window, request.epsilon)}


@cache
def stored_laws(source: str) -> dict[str, Chosen]:
    """What the fits of laws chose, by the digest of their cells; none where a folder has no such table.

    Raises ConfigError in one line for a damaged one.
    """
    file = Path(source) / FOLDER / LAWS
    if not file.is_file():
        return {}
    try:
        return by_digest(stored(file))
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{file}: not a table of laws: {one_line(error)}") from error


def _law(cells: pd.DataFrame, laws: Mapping[str, Chosen]) -> Law:
    return Law(cells, laws.get(digest(cells)))


def _problems(request: Request, cells: pd.DataFrame, family: str) -> tuple[list[tuple[str, ...]], pd.DataFrame]:
    """(stream, set, options) of the problems that fit, that on which most algorithms are within their ranges first,
    and its cells."""
    if cells.empty:
        raise ConfigError(f"nothing was measured with feedback {request.feedback!r}")
    played = set(cells["stream"])
    streams = {name: kind for name, kind in FAMILIES[family].streams.items() if name in played}
    facts = {name: stream_facts(family, kind) for name, kind in streams.items()}
    labels = {name: {name, *fact.losses.split(", ")} for name, fact in facts.items()}
    for name, value, measured in (
        ("set", request.set, set(cells["set"])),
        ("loss", request.loss, {label for names in labels.values() for label in names}),
    ):
        if value is not None and value not in measured:
            listed = f"measured with this feedback are {', '.join(sorted(measured))}"
            raise ConfigError(f"advise: --{name}: {value!r}: {listed}{nearest(value, measured)}")
    allowed = {
        name
        for name, kind in streams.items()
        if request.loss in (None, *labels[name])
        if request.kind is None or facts[name].kind not in {STOCHASTIC, OBLIVIOUS} - {request.kind}
        if kind.columns in (None, request.dimension)
    }
    keys = ["stream", "set", "options"]
    suitable = cells["private"] & (cells["barred"] == "") & ((cells["delta"] == 0) | (request.delta > 0))
    known = within(cells.loc[suitable], request.row, [*keys, "learner"]).groupby(keys).agg(["sum", "size"])
    in_range = {tuple(map(str, key)): (int(count), int(of)) for key, count, of in known.itertuples()}
    ranked = []
    for key in cells[keys].drop_duplicates().itertuples(index=False, name=None):
        stream, set_name, _ = problem = tuple(map(str, key))
        if stream in allowed and request.set in (None, set_name):
            inside, learners = in_range.get(problem, (0, 0))
            ranked.append(((-inside, -learners, not streams[stream].tight), problem))
    if not any(order[1] for order, _ in ranked):  # no private learner anywhere
        pairs = ("feedback", request.feedback), ("set", request.set), ("losses", request.loss), ("", request.kind)
        terms = ", ".join(f"{name} {value}".strip() for name, value in pairs if value)
        where = f"d = {request.dimension}, delta = {request.delta:g}"
        raise ConfigError(f"nothing that fits was measured: {terms}, {where}")
    problems = [problem for _, problem in sorted(ranked)]
    return problems, cells.loc[cells[keys].eq(list(problems[0])).all(axis=1)]


def _advised(
    request: Request,
    learner: str,
    pure: bool,
    cells: pd.DataFrame,
    data_dir: Path | None,
    laws: Mapping[str, Chosen],
) -> Advised | str:
    """The row of a learner, or why it is left out."""
    family, (name, variant) = family_of(request.feedback), learner.split(".", 1)
    learner_class = FAMILIES[family].learners.get(name)
    if learner_class is None or variant not in learner_class.card.variants:
        return "not among the learners of this version"
    usable = cells.loc[cells["barred"] == ""]
    if variant.startswith(AS_PRINTED) and not learner_class.card.usual.startswith(AS_PRINTED):
        return f"not corrected, as {name}.{learner_class.card.usual} is"
    if usable.empty:
        return f"not private as claimed: {cells['barred'].iloc[0]}"
    if request.delta == 0 and not pure:
        return "needs delta > 0"
    if learner_class.stochastic_only and request.kind != STOCHASTIC:
        return "promises nothing against an adversary: ask with --stochastic"
    if (usable["regret"] > 0).sum() < FEWEST:
        return f"fewer than {FEWEST} cells were measured"
    window = request.served if learner_class.card.windowed else 0
    try:
        bound = bound_of(usable.iloc[0], name, variant, request, window, data_dir)
    except ValueError as refusal:
        return one_line(refusal)
    predicted = _law(usable, laws).predict(request.row)
    deltas = sorted(set(usable["delta"]))
    if not pure and not any(math.isclose(request.delta, delta) for delta in deltas):
        predicted.beyond["delta"] = "only " + ", ".join(f"{delta:g}" for delta in deltas)
    if window and not (usable["window"] > 0).any():
        predicted.beyond["window"] = "only the whole sequence"
    needs = sorted(learner_class.card.needs & {"best-loss", "linear", "smooth", "quadratic", "rank-one"})
    notes = (*(f"needs {need}" for need in needs), *["as printed"] * variant.startswith("printed"))
    protects = "window" if window and not learner_class.card.permanent else "all"
    return _row(request, learner, predicted, usable, bound, protects=protects, pure=pure, notes=notes)


def _row(
    request: Request,
    learner: str,
    predicted: Prediction,
    cells: pd.DataFrame,
    bound: float | None = None,
    protects: str = "none",
    pure: bool = False,
    notes: tuple[str, ...] = (),
) -> Advised:
    """A learner's regret, at most its bound; calls of the nearest cell that was measured."""
    distance = np.abs(np.log(cells["rounds"].to_numpy(dtype=float) / request.rounds))
    distance = distance + np.abs(np.log(cells["dimension"].to_numpy(dtype=float) / request.dimension))
    closest = cells.iloc[int(np.argmin(distance))]
    ceiling = math.inf if bound is None else max(bound, predicted.low)
    return Advised(
        learner=learner,
        regret=min(predicted.regret, ceiling),
        low=predicted.low,
        high=min(predicted.high, ceiling),
        bound=bound,
        protects=protects,
        pure=pure,
        calls={name: float(closest[name]) for name in CALLS if name in closest and closest[name] > 0},
        extrapolated=predicted.beyond,
        notes=notes,
    )


STEADY: Final = 0.1
"""Relative difference of the baseline a round, at most, of losses that are not aimed at T or epsilon: other runs and
records."""


def _constant(request: Request, cells: pd.DataFrame) -> tuple[float | None, bool]:
    """Regret of the fixed-point baseline on losses of this T and eps, from cells of the nearest dimension, and whether
    the losses are the same at every eps.

    A stream may be aimed at T and eps. Where the baseline a round (an excess risk as it is) is the same at all eps of
    each dimension and T, of which one has several, it is interpolated between T, and beyond them where it is the same
    at every T; otherwise only cells of this eps count. None where that gives nothing.
    """
    length = 1 if request.feedback in AVERAGES else cells["rounds"]
    cells = cells.assign(level=cells["trivial"] / length)
    of_size = cells.groupby(["dimension", "rounds"])
    shared = bool((of_size["epsilon"].nunique() > 1).any()) and all(_steady(part) for _, part in of_size["level"])
    cells = _nearest(request, cells)
    levels = cells.loc[shared | same_setting(cells["epsilon"], request.epsilon)].groupby("rounds")["level"].median()
    within_range = levels.index.min() <= request.rounds <= levels.index.max()
    if request.rounds not in levels.index and not (len(levels) > 1 and (_steady(levels) or (shared and within_range))):
        return None, shared
    level = float(np.interp(math.log(request.rounds), np.log(levels.index.to_numpy(dtype=float)), levels))
    return level * (1 if request.feedback in AVERAGES else request.rounds), shared


def _nearest(request: Request, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells of the nearest dimension."""
    distance = np.abs(np.log(cells["dimension"] / request.dimension))
    return cells.loc[distance <= distance.min() + 1e-9]


def _steady(levels: pd.Series) -> bool:
    return bool(levels.max() - levels.min() <= STEADY * levels.abs().max())


def _with_baseline(request: Request, cells: pd.DataFrame, constant: float | None) -> pd.DataFrame:
    """Those of learners that met losses of this baseline, where losses depend on eps."""
    cells_at = _nearest(request, cells.loc[cells["rounds"] == request.rounds])
    known = math.nan if constant is None else constant
    same = (cells_at["trivial"] - known).abs() <= STEADY * abs(known)
    met = set(cells_at.loc[same & ~cells_at["private"], "learner"])
    return cells.loc[cells["private"] | cells["learner"].isin(met)]


def _free(request: Request, cells: pd.DataFrame, laws: Mapping[str, Chosen]) -> Advised | None:
    """The best learner without privacy on the same losses, or a private one without noise."""
    free, private = [], set(cells.loc[cells["private"], "learner"])
    for learner, part in cells.loc[~cells["private"]].groupby("learner", sort=True):
        if (part["regret"] > 0).sum() >= FEWEST:
            name = f"{learner} without noise" if learner in private else str(learner)
            free.append(_row(request, name, _law(part, laws).predict(request.row), part))
    return min(free, key=lambda row: row.regret, default=None)


def _argument(allowed: Callable[[float], bool], expected: str, name: str, text: str) -> float:
    """The number of an option, such as 0.5, 1e5 or 2^17. Raises ConfigError."""
    try:
        value = size_of(text)
    except (ValueError, OverflowError):
        value = math.nan
    if not allowed(value):
        raise ConfigError(f"advise: --{name}: {text!r}: give {expected}")
    return value


def _whole(name: str, text: str, most: float = 2.0**40) -> int:
    expected = f"a whole number up to {formats.size(most)}, such as 1000, 1e5 or 2^17"
    return int(_argument(lambda value: 1 <= value <= most and value == math.floor(value), expected, name, text))


READ: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "rounds": _whole,
    "dimension": partial(_whole, most=2.0**1000),
    "window": _whole,
    "epsilon": partial(
        _argument,
        lambda value: 1 / MOST_EPSILON <= value <= MOST_EPSILON,
        f"a number from {1 / MOST_EPSILON:g} to {MOST_EPSILON:g}",
    ),
    "delta": partial(_argument, lambda value: 0 <= value < 1, "a number from 0 (pure privacy) to below 1"),
}
"""What reads the text of an option, of those that are numbers."""


@dataclass(frozen=True)
class OfStudy:
    """Records of a study: their name, their number n and d, the streams that play them, and the sets of these plays."""

    name: str
    records: int
    features: int
    streams: tuple[str, ...]
    sets: tuple[str, ...] = ()

    def serves(self, learner: str) -> bool:
        """Whether the losses of a stream have what a learner needs."""
        kind = FAMILIES["online"].learners.get(learner.partition(".")[0])
        needs = frozenset() if kind is None else FAMILIES["online"].needs(kind)
        kinds = [FAMILIES["online"].streams[name] for name in self.streams]
        return any(needs <= stream.traits | {"local-oracle", "solver"} for stream in kinds)


def _of_study(name: str) -> OfStudy:
    """The records of a name, or the only ones. Raises ConfigError where there are none, or several."""
    from dpregret.datasets.records import declared
    from dpregret.workflows.run.data import plays_of

    files = declared()
    if not files:
        file = shlex.quote(name) if Path(name).is_file() else "my.csv"
        raise ConfigError(
            f"advise: --data: {name!r} is no folder of a study with records; `dpregret new pay --data {file}` writes "
            "one of a CSV file"
        )
    if name and name not in files:
        raise ConfigError(f"advise: --data: {not_allowed('data set', name, files)}")
    if not name and len(files) > 1:
        raise ConfigError(f"advise: --data: give one of {', '.join(files)}, as in `--data {next(iter(files))}`")
    name = name or next(iter(files))
    features, _ = files[name].read()
    usual = LOGISTIC if files[name].range is None else SQUARED
    plays = [(stream, one) for stream, one in plays_of(name) if stream in FAMILIES["online"].streams]
    streams = tuple(dict.fromkeys(stream for stream, _ in plays)) or (usual,)
    sets = tuple(dict.fromkeys(one for _, one in plays))
    return OfStudy(name, features.shape[0], features.shape[1], streams, sets)


def main(
    stochastic: bool = False,
    adversarial: bool = False,
    data: str | None = None,
    results: Path | None = None,
    long: bool = False,
    in_json: bool = False,
    **asked: str,
) -> int:
    """The command `dpregret advise`. asked: fields of `Request`, as text. data: a name of records of the study; empty
    for the only ones."""
    if stochastic and adversarial:
        raise ConfigError("advise: --stochastic and --adversarial: give one of them")
    if (feedback := asked.get("feedback", FEEDBACKS[0])) not in FEEDBACKS:
        raise ConfigError(f"advise: --feedback: {not_allowed('feedback', feedback, FEEDBACKS)}")
    fields: dict[str, Any] = {name: READ[name](name, text) if name in READ else text for name, text in asked.items()}
    own = None if data is None else _of_study(data)
    if own is not None:
        fields = {"rounds": own.records, "dimension": own.features, **fields}
    for name in ("rounds", "dimension"):
        if name not in fields:
            raise ConfigError(f"advise: --{name}: give it, or records by --data")
    request = Request(**fields, kind=STOCHASTIC if stochastic else OBLIVIOUS if adversarial else None)
    cells, source = read_cells(results, ROOT)
    if own is not None:
        # records are not known to have a point without loss
        easy = cells["stream"].isin(
            [name for name, kind in FAMILIES["online"].streams.items() if "best-loss" in kind.traits]
        )
        cells = cells.loc[~easy & cells["learner"].map(lambda learner: own.serves(str(learner)))]
        if request.set is None and own.sets[:1] and own.sets[0] in set(cells["set"]):
            request = replace(request, set=own.sets[0])
    # small systems: threads would wait longer than they work
    with threadpool_limits(1), TemporaryDirectory(prefix="dpregret-") as folder:
        advice = advise(request, cells, source, Path(folder))
    record = None
    if own is not None:
        from dpregret.workflows.run.data import planned_at  # late: most advice is about no records

        record = planned_at("records", request.rounds, own.records, request.epsilon, request.delta)
    print((_json if in_json else _text)(advice, long, own, record), end="")
    return 0


def _json(advice: Advice, why: bool, own: OfStudy | None = None, record: Planned | None = None) -> str:
    content = plain(advice) | ({"data": plain(own), "record": plain(record)} if own else {})
    if not why:
        del content["left_out"]
    return as_json(content)


def _text(advice: Advice, why: bool, own: OfStudy | None = None, record: Planned | None = None) -> str:
    request, average = advice.request, advice.request.feedback in AVERAGES
    window = f"windows of {request.served} rounds" if request.served else "everything"
    privacy = "pure eps-DP" if request.delta == 0 else f"eps at delta = {request.delta:g}"
    sizes = f"{'n' if average else 'T'} = {request.rounds}, d = {formats.size(request.dimension)}"
    title = f"{sizes}, eps = {request.epsilon:g} ({privacy}), protecting {window}"
    options = f" ({advice.options})" if advice.options else ""
    problem = f"the stream {advice.stream}{options}, set {advice.set}: {advice.losses}"
    lines = [title, f"Predicted on {problem}. From {advice.source}.", "", *_answer(advice)]
    shown = advice.learners if why else advice.further
    ranks = {item.learner: str(rank) for rank, item in enumerate(advice.learners, 1)}
    rows = [_line(ranks[item.learner], item, advice, why) for item in shown]
    rows += [_line("", advice.free, advice, why)] if advice.free else []
    if rows:
        headings = {(True, True): "Next, and without privacy", (True, False): "Next", (False, True): "Without privacy"}
        heading = "All" if why else headings[bool(shown), advice.free is not None]
        lines += ["", formats.terminal(pd.DataFrame(rows), heading)]
    if advice.possible and not why:
        guesses = [_line("?", item, advice, why) for item in advice.possible]
        note = (
            "Extrapolated: measured at one value of a parameter, their power in it is a guess; could have less regret"
        )
        lines += ["", formats.terminal(pd.DataFrame(guesses), note)]
    if not why:
        lines.append("")
        lines.append("~ extrapolated. --long adds ranges, the cost of a round, remarks, and why others are not listed.")
    if own and record:
        from dpregret.workflows.run.data import of_record  # late, as above

        lines.append(f"Learners that need more than the losses of {own.name} have ({_losses(own)}) are left out.")
        lines.append(f"The eps asked for is that of a round. {of_record(record)}.")
        lines.append(
            f"Predicted regret is that of {advice.stream}, not of {own.name}: `dpregret run` on the study plays the "
            "records themselves, with the fixed-point baseline in the report."
        )
    if advice.others:
        lines.append(f"Also measured: {', '.join(advice.others)} (--loss NAME).")
    if request.window is not None and request.window < request.rounds and request.served != request.window:
        wide = request.served or "one that protects all rounds"
        lines.append(f"Windows are powers of two: {wide} serves {request.window}.")
    if why:
        lines += ["\nNot listed:", *(f"  {name}: {text}" for name, text in advice.left_out.items())]
    parts = [part for text in lines for part in text.splitlines() or [""]]
    return "".join(f"{line}\n" for part in parts for line in formats.folded(part))


COVERAGE: Final = "coverage.md"
LEFT_OUT: Final = {"each cell": "the settings left out", "largest T": "those at the largest T"}
"""What was left out of the fits, in the table of coverage -> its words."""


def _answer(advice: Advice) -> list[str]:
    """The recommended algorithm: regret, noise and guarantee, a line each."""
    best, word = advice.recommended, "excess risk" if advice.request.feedback in AVERAGES else "regret"
    baseline = "fixed-point baseline not measured"
    if advice.constant is not None:
        baseline = f"fixed-point baseline {significant(advice.constant)}"
    if best is None:
        where = f"On {advice.stream} no algorithm is predicted to have less {word}"
        return [f"Recommended: a fixed point. {where} ({baseline})."]
    bound = f"; upper bound {significant(best.bound)}" if best.bound is not None else ""
    interval = (
        f"{'~' * bool(best.extrapolated)}{significant(best.regret)} [{significant(best.low)}, {significant(best.high)}]"
    )
    noise = "of choices, not added to sums" if advice.guarantee else ""
    if advice.noise is not None:
        law = {"gaussian": "Gaussian", "laplace": "Laplace", "gumbel": "Gumbel"}.get(advice.noise.law, "norm-Gamma")
        noise = f"{law}, standard deviation {significant(advice.noise.deviation)} a coordinate, where it is drawn"
    guess = "; ".join(f"{SYMBOLS[name]} measured: {text}" for name, text in best.extrapolated.items())
    rows = {
        "Recommended": best.learner,
        word.capitalize(): f"{interval}{bound}; {baseline}",
        "Interval": _covered(advice, word),
        "Noise": noise,
        "Guarantee": advice.guarantee
        or f"not computed: {advice.stream} is too large at this size, or its data are not here",
        "Extrapolated": guess if best.guessed else "",
    }
    return [f"{name}: {text}" for name, text in rows.items() if text]


def _covered(advice: Advice, word: str) -> str:
    """What the interval is of, and how often such intervals held what was measured: the table of coverage."""
    of = f"95 %, of the mean {word} on this stream"
    file = Path(advice.source) / FOLDER / COVERAGE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    feedback = advice.request.feedback
    held = {row[1]: row[3] for row in rows if row[0] == CLASSES.get(feedback, feedback)}
    told = [f"{held[name]} of {what}" for name, what in LEFT_OUT.items() if name in held]
    return f"{of}; held {', '.join(told)}" if told else of


def _losses(own: OfStudy) -> str:
    """`stream: traits` of the streams that play the records."""
    return "; ".join(
        f"{name}: {stream_facts('online', FAMILIES['online'].streams[name]).losses}" for name in own.streams
    )


def _line(rank: str, row: Advised, advice: Advice, long: bool) -> dict[str, str]:
    average = advice.request.feedback in AVERAGES
    shown = {
        "": rank or "-",
        "learner": row.learner,
        "excess risk" if average else "regret": "~" * bool(row.extrapolated and not long) + significant(row.regret),
        "95 % interval": f"{significant(row.low)} to {significant(row.high)}",
        "proved bound": significant(row.bound) if row.bound is not None else DASH,
    }
    if advice.request.served:  # not everybody uses the window
        window = f"{advice.request.served} rounds"
        shown["protects"] = {"all": "everything", "none": "nothing"}.get(row.protects, window)
    if not long:
        return shown
    calls = [(f"{value:.3g}", name.replace("_", " ")) for name, value in row.calls.items()]
    cost = [f"{count} {unit.removesuffix('s') if count == '1' else unit}" for count, unit in calls]
    remarks = {
        "not private": not rank,
        "pure": row.pure and advice.request.delta > 0,
    }
    notes = [*row.notes, *(remark for remark, applies in remarks.items() if applies)]
    cost_of = "cost of a fit" if average else "cost of a round"
    beyond = "; ".join(f"{SYMBOLS[name]} measured: {text}" for name, text in row.extrapolated.items())
    return shown | {cost_of: ", ".join(cost) or DASH, "extrapolated": beyond, "remarks": "; ".join(notes)}
