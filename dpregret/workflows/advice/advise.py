"""Which learner for a setting: regret predicted from what was measured, and the learner's own explicit bound.

A request names T, d, eps, and what is known besides. What fits is looked for on one problem (stream, set, options), so
that learners are compared on the same losses: that on which most algorithms were measured, those within the measured
ranges first. Regret and its interval are `paper_figs.winners.laws`; the bound is that of the learner itself, made for
the request; where it lies below, it ends the interval. Learners that were measured at one value only of a parameter
are behind the others, since their power in it is a guess. A learner fits unless

* its ledger or the audit denies it the privacy it claims, or it needs delta > 0 and the request says 0;
* it promises nothing against an adversary (`stochastic_only`), and the request does not say stochastic;
* too few cells were measured, or it refuses the setting when it is made.

Pure privacy, and protection of the whole sequence, are more than an approximate guarantee or a window: such learners
are listed for less, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.core.answers import plain
from dpregret.core.errors import ConfigError, nearest, one_line
from dpregret.core.files import reference
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.winners.cells import CALLS, OBLIVIOUS, STOCHASTIC
from dpregret.paper_figs.winners.laws import AVERAGES, FEWEST, Law, Prediction, beyond, setting
from dpregret.paper_figs.winners.write import CELLS, FOLDER, TIMES
from dpregret.workflows.advice.bounds import Bounds
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.facts import FEEDBACK, POPULATION, family_of, stream_facts

PROBLEM: Final = ["stream", "set", "options"]
WORDS: Final = {"rounds": "T", "dimension": "d", "epsilon": "eps", "window": "W", "delta": "delta"}


@dataclass(frozen=True)
class Request:
    """window None: the whole sequence. delta 0: pure privacy only. kind: stochastic, oblivious, or None for any."""

    rounds: int
    dimension: int
    epsilon: float
    window: int | None = None
    delta: float = 1e-6
    feedback: str = "full"
    set: str | None = None
    loss: str | None = None
    kind: str | None = None

    @property
    def served(self) -> int:
        """The window that mechanisms are made for: the next power of two; 0 for the whole sequence."""
        if self.window is None or self.window >= self.rounds:
            return 0
        return 1 << (self.window - 1).bit_length()

    @property
    def row(self) -> pd.DataFrame:
        """The predicted quantity."""
        return setting(self.rounds, self.dimension, self.epsilon, self.served)


@dataclass(frozen=True)
class Advised:
    """One learner: regret, low, high; its explicit bound (None: unknown); calls and microseconds of a round.

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
    microseconds: float | None
    extrapolated: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def guessed(self) -> bool:
        """Whether it was measured at one value only of a parameter, so that its power in it is a guess."""
        return any(text.startswith("only") for text in self.extrapolated.values())


@dataclass(frozen=True)
class Advice:
    """Learners by predicted regret, the best one without privacy, and why others are left out (learner -> reason)."""

    request: Request
    source: str
    stream: str
    set: str
    options: str
    losses: str
    constant: float
    learners: tuple[Advised, ...]
    free: Advised | None
    left_out: Mapping[str, str]
    others: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """For JSON: infinite and unknown numbers are null."""
        found: dict[str, Any] = plain(asdict(self))
        return found


def read_cells(results: Path | None, root: Path) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Cells, times and the folder: `results` where it is given, else a finished run, else the committed reference.

    Raises ConfigError in one line.
    """
    tried = [results] if results is not None else [Path("results"), root / "results", reference()]
    for folder in tried:
        file = folder / FOLDER / CELLS
        if not file.exists():
            continue
        try:
            cells = formats.read_csv(file, keep_default_na=False, na_values=[""])
            cells = cells.assign(**{name: cells[name].fillna("").astype(str) for name in ("options", "barred")})
            cells = cells.assign(dimension=cells["dimension"].map(_size), private=cells["private"].astype(bool))
            times = folder / FOLDER / TIMES
            return cells, formats.read_csv(times) if times.exists() else pd.DataFrame(), str(folder)
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"{file}: not a table of cells: {one_line(error)}") from error
    raise ConfigError(f"no {FOLDER}/{CELLS} in {' or '.join(map(str, tried))}: run `make reproduce` first")


def _size(text: object) -> float:
    """2^100 is written so."""
    base, _, power = str(text).partition("^")
    return float(base) ** float(power) if power else float(base)


def advise(request: Request, cells: pd.DataFrame, times: pd.DataFrame, source: str, bounds: Bounds) -> Advice:
    """Raises ConfigError in one line where nothing fits."""
    family = family_of(request.feedback)
    if family not in FAMILIES:
        raise ConfigError(f"--feedback {request.feedback!r}: allowed are {', '.join(_feedbacks())}")
    own = cells.loc[cells["feedback"] == request.feedback]
    problems = [*_problems(request, own, family)]
    (stream, set_name, options), rows = problems[0]
    left_out: dict[str, str] = {}
    found = []
    for learner, group in rows.loc[rows["private"]].groupby("learner", sort=True):
        for pure, part in group.groupby(group["delta"] == 0, sort=True):
            try:
                found.append(_advised(request, str(learner), bool(pure), part, times, bounds))
            except _UnfitError as reason:
                left_out[str(learner)] = str(reason)
    everywhere = set(own.loc[own["private"], "learner"])
    for learner in sorted(everywhere - set(rows["learner"])):
        left_out[learner] = f"not measured on {stream}, {set_name}"
    if not found:
        first = next(iter(left_out.items()), ("", "nothing was measured"))
        raise ConfigError(f"no learner fits; {': '.join(first)} ({len(left_out)} left out)")
    found.sort(key=lambda each: (each.guessed, each.regret, each.learner))
    others = dict.fromkeys(key[0] for key, _ in problems if key[0] != stream)
    losses = stream_facts(family, FAMILIES[family].streams[stream]).losses if stream in FAMILIES[family].streams else ""
    return Advice(
        request, source, stream, set_name, options, losses, _constant(request, rows), tuple(found),
        _free(request, rows, times), left_out, tuple(others),
    )  # fmt: skip


def _feedbacks() -> list[str]:
    return [*(FEEDBACK.get(name, name) for name in FAMILIES), POPULATION]


def _problems(
    request: Request, cells: pd.DataFrame, family: str
) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Problems that fit, the one on which most algorithms are within their ranges first."""
    if cells.empty:
        raise ConfigError(f"nothing was measured with feedback {request.feedback!r}")
    streams = FAMILIES[family].streams
    for name, asked in (("set", request.set), ("loss", request.loss)):
        known = set(cells["set"]) if name == "set" else _loss_words(cells, family)
        if asked is not None and asked not in known:
            raise ConfigError(
                f"--{name} {asked!r}: measured with this feedback are {', '.join(sorted(known))}{nearest(asked, known)}"
            )
    ranked: list[tuple[tuple[Any, ...], tuple[tuple[str, str, str], pd.DataFrame]]] = []
    for key, rows in cells.groupby(PROBLEM, sort=True):
        stream, set_name, options = map(str, key)
        source = streams.get(stream)
        if source is None or (request.set is not None and set_name != request.set):
            continue
        facts = stream_facts(family, source)
        if request.loss is not None and request.loss not in {stream, *facts.losses.split(", ")}:
            continue
        if request.kind is not None and facts.kind in (STOCHASTIC, OBLIVIOUS) and facts.kind != request.kind:
            continue
        if source.columns is not None and source.columns != request.dimension:
            continue
        fitting = rows.loc[rows["private"] & (rows["barred"] == "") & ((rows["delta"] == 0) | (request.delta > 0))]
        groups = [own for _, own in fitting.groupby("learner") if len(own) >= FEWEST]
        within = sum(not beyond(own, request.row) for own in groups)
        order = -within, -len(groups), not source.tight, stream, set_name, options
        ranked.append((order, ((stream, set_name, options), rows)))
    if not any(order[1] for order, _ in ranked):  # no private learner anywhere
        named = ("feedback", request.feedback), ("set", request.set), ("losses", request.loss), ("", request.kind)
        wanted = ", ".join(f"{name} {value}".strip() for name, value in named if value)
        raise ConfigError(
            f"nothing that fits was measured: {wanted}, d = {request.dimension}, delta = {request.delta:g}"
        )
    yield from (problem for _, problem in sorted(ranked, key=lambda each: each[0]))


def _loss_words(cells: pd.DataFrame, family: str) -> set[str]:
    streams = {name: each for name, each in FAMILIES[family].streams.items() if name in set(cells["stream"])}
    words = {word for each in streams.values() for word in stream_facts(family, each).losses.split(", ")}
    return words | set(streams)


class _UnfitError(Exception):
    """Why a learner is left out."""


def _advised(
    request: Request, learner: str, pure: bool, cells: pd.DataFrame, times: pd.DataFrame, bounds: Bounds
) -> Advised:
    family, (name, variant) = family_of(request.feedback), learner.split(".", 1)
    learner_class = FAMILIES[family].learners.get(name)
    if learner_class is None or variant not in learner_class.card.variants:
        raise _UnfitError("not among the learners of this version")
    fine = cells.loc[cells["barred"] == ""]
    if fine.empty:
        raise _UnfitError(f"not private as claimed: {cells['barred'].iloc[0]}")
    if request.delta == 0 and not pure:
        raise _UnfitError("needs delta > 0")
    if learner_class.stochastic_only and request.kind != STOCHASTIC:
        raise _UnfitError("promises nothing against an adversary: ask with --stochastic")
    windowed = bool(learner_class.card.windowed)
    if (fine["regret"] > 0).sum() < FEWEST:
        raise _UnfitError(f"fewer than {FEWEST} cells were measured")
    try:
        bound = bounds.of(fine.iloc[0], name, variant, request, request.served if windowed else 0)
    except ValueError as refusal:
        raise _UnfitError(one_line(refusal)) from refusal
    found = Law(fine).predict(request.row)
    ranges = dict(found.beyond)
    deltas = sorted(set(fine["delta"]))
    if not pure and not any(math.isclose(request.delta, each) for each in deltas):
        ranges["delta"] = "only " + ", ".join(f"{each:g}" for each in deltas)
    if windowed and request.served and not (fine["window"] > 0).any():
        ranges["window"] = "only the whole sequence"
    needs = sorted(learner_class.card.needs & {"best-loss", "linear", "smooth", "quadratic", "rank-one"})
    notes = [f"needs {each}" for each in needs] + ["as printed"] * variant.startswith("printed")
    protects = "window" if windowed and request.served else "all"
    return _row(request, learner, found, bound, fine, times, pure, protects, ranges, tuple(notes))


def _row(
    request: Request, learner: str, found: Prediction, bound: float | None, cells: pd.DataFrame, times: pd.DataFrame,
    pure: bool, protects: str, ranges: Mapping[str, str], notes: tuple[str, ...],
) -> Advised:  # fmt: skip
    apart = np.abs(np.log(cells["rounds"].to_numpy(dtype=float) / request.rounds))
    apart = apart + np.abs(np.log(cells["dimension"].to_numpy(dtype=float) / request.dimension))
    close = cells.iloc[int(np.argmin(apart))]
    calls = {name: float(close[name]) for name in CALLS if name in close and close[name] > 0}
    spent = _microseconds(learner.split()[0], str(close["feedback"]), str(close["set"]), request.dimension, times)
    most = math.inf if bound is None else max(bound, found.low)
    return Advised(
        learner, min(found.regret, most), found.low, min(found.high, most), bound, protects, pure, calls, spent, ranges,
        notes,
    )  # fmt: skip


def _microseconds(learner: str, feedback: str, set_name: str, dimension: int, times: pd.DataFrame) -> float | None:
    """Of the nearest dimension that was timed."""
    if times.empty:
        return None
    own = times.loc[(times["learner"] == learner) & (times["feedback"] == feedback) & (times["set"] == set_name)]
    if own.empty:
        return None
    sizes = own["dimension"].map(_size).to_numpy(dtype=float)
    return float(own["microseconds"].to_numpy()[int(np.argmin(np.abs(np.log(sizes / dimension))))])


def _constant(request: Request, cells: pd.DataFrame) -> float:
    """Regret of the constant point: linear in T, from the cells of the nearest dimension; excess risk as it is."""
    apart = np.abs(np.log(cells["dimension"] / request.dimension))
    near = cells.loc[apart <= apart.min() + 1e-9]
    if request.feedback in AVERAGES:
        return float(near["trivial"].median())
    return float((near["trivial"] / near["rounds"]).median() * request.rounds)


def _free(request: Request, cells: pd.DataFrame, times: pd.DataFrame) -> Advised | None:
    """The best learner without privacy on the same losses, or a private one without noise."""
    found, private = [], set(cells.loc[cells["private"], "learner"])
    for learner, own in cells.loc[~cells["private"]].groupby("learner", sort=True):
        if (own["regret"] > 0).sum() >= FEWEST:
            ahead = Law(own).predict(request.row)
            name = f"{learner} without noise" if learner in private else str(learner)
            found.append(_row(request, name, ahead, None, own, times, False, "none", ahead.beyond, ()))
    return min(found, key=lambda each: each.regret, default=None)
