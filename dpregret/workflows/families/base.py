"""The interface of a kind of problem: its experiments, cells, problems, learners, plays and audit.

Every job of a run reads the configuration, and with it the modules of this folder. So these import the learners, the
sets and the streams where they need them, not at their tops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from dpregret.core.yaml_source import KeyPath
from dpregret.workflows.families.fields import Experiment
from dpregret.workflows.run.comparators import comparator
from dpregret.workflows.run.seeds import generators

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dpregret.algorithms.learner import BaseLearner, Card
    from dpregret.datasets.base import Source
    from dpregret.workflows.audit.neighbours import Audited
    from dpregret.workflows.audit.settings import Special

E = TypeVar("E", bound=Experiment)
C = TypeVar("C")
P = TypeVar("P")
T = TypeVar("T")
Advance = Callable[[int], None]
MEGABYTE = 2**20 / 8
"""Floating-point numbers of a megabyte."""


class HasTraits(Protocol):
    """The fields of a card that cells and settings use."""

    @property
    def private(self) -> bool:
        """Whether it adds noise."""

    @property
    def windowed(self) -> bool:
        """Whether it has windows."""

    @property
    def anytime(self) -> bool:
        """Whether one run serves every shorter horizon."""


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


class Family(ABC, Generic[E, C, P]):
    """A kind of problem. A cell is one play of a sweep; the privacy settings of a play are batched where they can be.

    name: of the folder of learners, in configurations and in results. experiment: the model of its experiments, whose
    ``family`` is a literal of the name. seed_word: keys the draws of the audit, where that is
    not the name. anytime: a
    play is recorded on the way, so that a learner which does not know the horizon needs one play for all horizons.
    compared: its learners compete, and take part in the page of winners.
    """

    name: ClassVar[str]
    experiment: ClassVar[type[Experiment]]
    seed_word: ClassVar[str] = ""
    anytime: ClassVar[bool] = False
    compared: ClassVar[bool] = True

    @cached_property
    def learners(self) -> Mapping[str, type[Any]]:
        """The classes of algorithms/<name>, by the names on their cards."""
        from dpregret.algorithms.catalogue import learners

        return learners(self.name)

    @cached_property
    def streams(self) -> Mapping[str, type[Source]]:
        """The classes of datasets/ that learners of this family are played on, by their names."""
        from dpregret.datasets.base import sources

        return sources(self.source())

    @abstractmethod
    def source(self) -> type[Source]:
        """The base class of all streams of this family."""

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
    def play(self, learner: Any, problem: P, cell: C, draws: Draws, advance: Advance) -> pd.DataFrame:
        """One row per setting and run (and checkpoint); columns as in docs/architecture.md. Tells its `steps`.

        Runs are counted from 0, whichever is the first.
        """

    @abstractmethod
    def neighbours(
        self,
        learner_class: type[Any],
        variant: str,
        epsilon: float,
        delta: float,
        special: Special,
        seed: Sequence[int],
    ) -> Audited:
        """The learner on neighbouring inputs chosen to expose it."""

    def needs(self, learner_class: type[Any]) -> frozenset[str]:
        """Traits that a learner requires of a stream."""
        needs: frozenset[str] = learner_class.card.all_needs
        return needs

    def steps(self, cell: C) -> int:
        """The total that `play` reports to `advance`."""
        return 1

    def trial(self, experiment: E) -> E:
        """The part of an experiment whose problems and learners are built to check it, before any work starts."""
        return experiment

    def describe(self, cell: C) -> str:
        """A cell in a message."""
        return f"on {cell}"

    def blame(self, error: BaseException, cell: C, experiment: E) -> KeyPath | None:
        """The key of the experiment that the refusal of a problem is about; None: that of the learner."""
        return ("options",) if "option" in str(error) or isinstance(error, TypeError) else (experiment.key("streams"),)

    def blame_learner(self, error: BaseException, cell: C, experiment: E) -> KeyPath | None:
        """The key that the refusal of a learner is about; None: that of the learner."""
        return None

    def doubt(self, learner: Any) -> str | None:
        """Why a learner that could be made should not be run, if there is a reason."""
        return None
