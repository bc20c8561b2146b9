"""The interface of a kind of problem: its experiments, cells, problems, learners, plays and audit.

Every job of a run reads the configuration, and with it the modules of this folder. So these import the learners, the
sets and the streams where they need them, not at their tops.
"""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from dpregret.core.checks import LearnerFault, finite, numbers
from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families.fields import Experiment
from dpregret.workflows.run.comparators import comparator

if TYPE_CHECKING:
    from dpregret.algorithms.geometry import CountedSet
    from dpregret.algorithms.learner import BaseLearner, Card, Spent
    from dpregret.algorithms.privacy import Budget
    from dpregret.datasets.base import Source
    from dpregret.numerics.arrays import Array
    from dpregret.workflows.audit.neighbours import Audited

E = TypeVar("E", bound=Experiment)
C = TypeVar("C")
P = TypeVar("P")
T = TypeVar("T")
LARGEST_HELD = 2**16  # numbers of an array whose content is compared before and after a play
ROUNDING = 1e-9


def generators(seed: int, purpose: str, runs: int) -> list[np.random.Generator]:
    """Where every random number of the benchmark comes from: one generator a run, equal for all learners.

    purpose: what is drawn, e.g. 'noise' or 'data norm-kink ball 4'.
    """
    key = zlib.crc32(purpose.encode())
    return [np.random.default_rng(np.random.SeedSequence([seed, key, run])) for run in range(runs)]


@dataclass(frozen=True)
class Draws:
    """Where a play takes what it does not compute: random numbers from a seed, and prepared data from a folder.

    data_dir None: no file is read; `UnreadDataError` is raised where one would be needed. kept: where plays
    of one job leave comparators for each other.
    """

    seed: int
    runs: int
    data_dir: Path | None = None
    kept: Path | None = None

    def generators(self, purpose: str) -> list[np.random.Generator]:
        """One generator a run for a purpose, equal for all learners."""
        return generators(self.seed, purpose, self.runs)

    def comparator(self, kind: type[T], stream: Any, generators: Sequence[np.random.Generator], *asked: Any) -> T:
        """`stream.comparator(generators, *asked)`, a `kind`, unless another play of the job has left it."""
        return comparator(kind, stream, generators, *asked, folder=self.kept)


@dataclass(frozen=True)
class Cell:
    """One play of a sweep: everything but the privacy settings, which are batched where they can be."""

    stream: str
    set_name: str
    dimension: int
    horizon: int

    def __str__(self) -> str:
        """In a message."""
        return f"{self.stream!r}, set {self.set_name!r}, dimension {self.dimension}, T = {self.horizon}"

    def columns(self) -> dict[str, Any]:
        """Of a run."""
        places = {"stream": self.stream, "set": self.set_name, "dimension": self.dimension, "horizon": self.horizon}
        return places | {"checkpoint": self.horizon}


@dataclass(frozen=True)
class Posed:
    """A constraint set, where there is one, and a stream of losses; None where its data have not been read."""

    domain: Any
    stream: Any


def budgets_of(experiment: Experiment, card: Card) -> list[Budget]:
    """Epsilons x deltas; without privacy epsilon is infinite."""
    from dpregret.algorithms.privacy import Budget

    if not card.private:
        return [Budget(math.inf)]
    return [Budget(epsilon, delta) for epsilon in experiment.epsilon for delta in experiment.deltas]


def frame(shape: tuple[int, ...], of_settings: Mapping[str, Any], **columns: Any) -> pd.DataFrame:
    """One row for each setting, run (and checkpoint), with the column `run`.

    of_settings: arrays whose first axis is the setting, and whose second, if any, the checkpoint. columns: a value for
    all rows, or arrays that are broadcast to the shape.
    """

    def per_row(values: Any) -> Any:
        array = np.asarray(values)
        between = (1,) * (len(shape) - array.ndim)
        return np.broadcast_to(array.reshape(array.shape[:1] + between + array.shape[1:]), shape).ravel()

    rows = {name: per_row(values) for name, values in of_settings.items()}
    rows["run"] = np.indices(shape)[1].ravel()
    for name, values in columns.items():
        rows[name] = values if np.ndim(values) == 0 else np.broadcast_to(values, shape).ravel()
    return pd.DataFrame(rows)


def costs(domain: CountedSet, seconds: float, served: int) -> dict[str, float]:
    """Calls of oracles and CPU seconds, for each of the rounds of all runs and settings that were served."""
    return (
        {name: rows / served for name, rows in domain.calls().items()}
        | {"seconds": seconds / served}
        | {name: spent / served for name, spent in domain.seconds().items()}
    )


class Accounts(NamedTuple):
    """The ledger of a learner: its lines (one a setting, or none), delivered epsilons, scales and mu, (settings,)."""

    lines: list[Spent]
    delivered: Array
    scales: Array
    mus: Array

    def columns(self, learner: BaseLearner) -> dict[str, Any]:
        """Of a run, by setting: the budgets, and what they bought."""
        return {
            "epsilon": [budget.epsilon for budget in learner.budgets],
            "delta": [0.0 if learner.pure else budget.delta for budget in learner.budgets],
            "delivered_epsilon": self.delivered,
            "noise_scale": self.scales,
            "mu_gdp": self.mus,
        }


def accounts(learner: BaseLearner, summed: bool = False) -> Accounts:
    """The privacy that a learner states; NaN for scales and mu where it has no ledger.

    summed: what is released are sums with noise, so that it costs at least what the lines say (sampling of records,
    which makes a release cheaper, is not known there).
    """
    settings = len(learner.budgets)
    lines = list(learner.ledger())
    if len(lines) not in (0, settings):
        raise LearnerFault(f"ledger: {len(lines)} lines, expected one a setting, {settings}")
    unknown, plan = np.full(settings, math.nan), getattr(learner, "noise_plan", None)
    scales = finite("noise scale", [line.scale for line in lines], (settings,), 0.0) if lines else unknown
    if lines and plan is not None and list(plan.scales) != scales.tolist():
        raise LearnerFault(f"its ledger says noise of scale {scales.tolist()}, but it draws {list(plan.scales)}")
    parameters = [line.mu() if hasattr(line, "mu") else math.nan for line in lines]
    mus = numbers("mu", parameters, (settings,), 0.0, unknown=True) if lines else unknown
    delivered = numbers("delivered epsilon", learner.delivered_epsilon(), (settings,), 0.0)
    if summed and lines:
        for said, line, budget in zip(delivered, lines, learner.budgets, strict=True):
            least = line.epsilon(budget.delta)
            if not said >= least * (1 - ROUNDING):
                raise LearnerFault(f"delivered epsilon: {said:.6g}, but its ledger says at least {least:.6g}")
    return Accounts(lines, delivered, scales, mus)


@contextmanager
def untouched(**given: Any) -> Iterator[None]:
    """Raise LearnerFault where numbers or small arrays of what a learner was given are others after its play."""
    before = {name: _content(item) for name, item in given.items()}
    yield
    for name, item in given.items():
        now = _content(item)
        changed = [key for key, value in before[name].items() if now.get(key) != value]
        if changed:
            raise LearnerFault(f"it changed {changed[0]!r} of the {name} that it was given")


def _content(item: Any) -> Mapping[str, Any]:
    """Attributes of an object that are numbers, words or arrays, as values that can be compared."""
    found: dict[str, Any] = {}
    for name, value in getattr(item, "__dict__", {}).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            part = value if value.size <= LARGEST_HELD else value.reshape(-1)[:LARGEST_HELD]
            found[name] = value.shape, part.tobytes()
        elif isinstance(value, (bool, int, float, str)):
            found[name] = repr(value)
    return found


class Family(ABC, Generic[E, C, P]):
    """A kind of problem. A cell is one play of a sweep; the privacy settings of a play are batched where they can be.

    name: of the folder of learners, in configurations and in results. experiment: the model of its experiments, whose
    ``family`` is a literal of the name. source: module and name of the base class of its streams. seed_word: keys the
    draws of the audit, where that is not the name. anytime: a play is recorded on the way, so that a learner which does
    not know the horizon needs one play for all horizons. compared: its learners compete, and take part in the page of
    winners.
    """

    name: ClassVar[str]
    experiment: ClassVar[type[Experiment]]
    source: ClassVar[str]
    seed_word: ClassVar[str] = ""
    anytime: ClassVar[bool] = False
    compared: ClassVar[bool] = True

    @cached_property
    def learners(self) -> Mapping[str, type[Any]]:
        """The classes of algorithms/<name>, by the names on their cards."""
        from dpregret.algorithms.learner import learners

        return learners(self.name)

    @cached_property
    def streams(self) -> Mapping[str, type[Source]]:
        """The classes of datasets/ that learners of this family are played on, by their names."""
        from dpregret.datasets.base import sources

        return sources(resolve_name(self.source))

    @abstractmethod
    def cells(self, experiment: E, card: Card) -> Iterator[C]:
        """The plays of a learner in an experiment."""

    @abstractmethod
    def problem(self, cell: C, experiment: E, draws: Draws) -> P:
        """The problem of a cell, the same for all learners. ValueError says what does not fit."""

    @abstractmethod
    def learner(self, learner_class: type[Any], problem: P, cell: C, experiment: E, variant: str) -> BaseLearner:
        """A learner ready to play. ValueError says what does not fit."""

    @abstractmethod
    def play(self, learner: Any, problem: P, cell: C, draws: Draws) -> pd.DataFrame:
        """One row per setting and run (and checkpoint); columns as in docs/architecture.md. Runs count from 0."""

    def audited(self, learner_class: type[Any]) -> type[Audited]:
        """The audit of a private learner, on neighbouring inputs chosen to expose it."""
        raise NotImplementedError(f"no learner of {self.name} is private")

    def needs(self, learner_class: type[Any]) -> frozenset[str]:
        """Traits that a learner requires of a stream."""
        return learner_class.card.all_needs

    def trial(self, experiment: E) -> E:
        """The part of an experiment whose problems and learners are built to check it, before any work starts."""
        return experiment

    def blame(self, error: BaseException, cell: C, experiment: E) -> KeyPath | None:
        """The key of the experiment that the refusal of a problem is about; None: that of the learner."""
        return ("options",) if "option" in str(error) or isinstance(error, TypeError) else (experiment.key("streams"),)

    def blame_learner(self, error: BaseException, cell: C, experiment: E) -> KeyPath | None:
        """The key that the refusal of a learner is about; None: that of the learner."""
        return None

    def doubt(self, learner: Any) -> str | None:
        """Why a learner that could be made should not be run, if there is a reason."""
        return None
