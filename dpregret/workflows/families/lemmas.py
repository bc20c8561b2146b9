"""Lemmas: quantities that are computed or drawn, beside what is stated of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from dpregret.core.learner_output import finite
from dpregret.workflows.families.interface import Draws, Experiment, Family, Integers

if TYPE_CHECKING:
    from dpregret.algorithms.learner import Card
    from dpregret.algorithms.lemmas.statements import Case, Statement


class LemmaExperiment(Experiment):
    """One sweep of lemmas; ``family: lemmas``.

    ``horizon`` is what the lemma counts (W, k or T), ``delta`` its failure probability.
    """

    family: Literal["lemmas"]
    sweep: Literal["horizon", "dimension", "epsilon", "delta", "none"]
    dimension: Integers
    sets: Literal["vectors"] = Field(default="vectors", alias="set")


class Lemmas(Family[LemmaExperiment, Any, Any]):
    """Statements of algorithms/lemmas: `regret` is what is attained, `bound` what is stated; nothing saturates."""

    name = "lemmas"
    experiment = LemmaExperiment
    source = "dpregret.datasets.source:Quantities"
    compared = False

    def cells(self, experiment: LemmaExperiment, card: Card) -> Iterator[Case]:
        """Every combination."""
        from dpregret.algorithms.lemmas.statements import Case

        lists = (experiment.dimension, experiment.horizon, experiment.epsilon, experiment.deltas)
        yield from itertools.starmap(Case, itertools.product(*lists))

    def problem(self, cell: Case, experiment: LemmaExperiment, draws: Draws) -> Case:
        """The case itself."""
        return cell

    def learner(
        self, learner_class: type[Any], problem: Case, cell: Case, experiment: LemmaExperiment, variant: str
    ) -> Statement:
        """The statement."""
        return learner_class(problem, experiment.runs, variant)

    def play(self, learner: Statement, problem: Case, cell: Case, draws: Draws) -> pd.DataFrame:
        attained = finite("attained", learner.attained(draws.generators("noise")), (draws.runs,))
        rows = pd.DataFrame({"run": np.arange(draws.runs), "regret": attained, "trivial_regret": 4 * attained})
        return rows.assign(
            bound=learner.stated(),
            stream="noise",
            set="vectors",
            tight=True,
            dimension=cell.dimension,
            horizon=cell.size,
            checkpoint=cell.size,
            epsilon=cell.epsilon,
            delta=cell.failure,
            delivered_epsilon=math.inf,
        )
