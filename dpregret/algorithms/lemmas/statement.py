"""A lemma as the benchmark tests it: a quantity, and its stated bound."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.learner import BaseLearner
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class Case:
    """size: W, k or T, whatever the lemma counts. failure: delta or beta. epsilon: of privacy, or as a card says."""

    dimension: int
    size: int
    epsilon: float
    failure: float


class Statement(BaseLearner):
    """A lemma; nothing is private here, and nothing plays. Its problem is a `Case`."""

    def __init__(self, case: Case, runs: int, variant: str):
        super().__init__(case, [], runs, variant)
        self.case = case

    @abstractmethod
    def attained(self, generators: Sequence[np.random.Generator]) -> Array:
        """The quantity, one number a run: (runs,)."""

    def stated(self) -> float:
        """The upper bound of the lemma, with its constants; NaN where the lemma has none."""
        return math.nan

    def everywhere(self, value: float) -> Array:
        """A number that is computed, in every run."""
        return np.full(self.runs, value)
