"""Projected gradient with momentum: the exact minimum of a smooth risk, certified.

Algorithm   Accelerated projected gradient (Nesterov 1983; Beck & Teboulle 2009), momentum restarted where it points
            uphill (O'Donoghue & Candes 2015), each data set by itself.
Privacy     None.
Guarantee   On a set the Frank-Wolfe gap max_{v in C} <grad f(x), x - v> >= f(x) - min f. A data set's answer is its
            first iterate whose gap is at most TOLERANCE (absolute, in units of the risk), so that it does not depend
            on the other data sets.
"""

from collections.abc import Callable, Sequence

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner, ErmProblem
from dpregret.algorithms.learner import Card
from dpregret.core.sets import minimise
from dpregret.numerics.arrays import Array

TOLERANCE = 1e-8


def minimum_of(
    problem: ErmProblem, gradient: Callable[[Array], Array], start: Array, tolerance: float, ridge: float | Array = 0.0
) -> tuple[Array, Array, int]:
    """`minimise` from points (settings or 1, runs, p) to gaps of at most the tolerance: of the risk with a ridge."""
    # where the risk is linear any small positive number serves
    smoothness = max(problem.risk.smoothness, 1e-6 * problem.risk.lipschitz / problem.domain.diameter) + ridge
    return minimise(problem.domain, gradient, start, smoothness, goal=tolerance, allowed=tolerance)


class ProjectedGradient(ErmLearner):
    """Minimum of the risk, with a certified gap."""

    card = Card(
        name="projected-gradient",
        title="exact minimiser",
        paper="Beck & Teboulle 2009",
        reference="Accelerated projected gradient",
        variants={"plain": "momentum with restarts, certified gap"},
        private=False,
        needs=frozenset({"smooth"}),
    )
    steps_taken = 0

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """The same points for every setting; nothing is drawn."""
        start = np.tile(self.domain.center(), (1, self.runs, 1))
        points, _, self.steps_taken = minimum_of(self.problem, self.risk.gradient, start, TOLERANCE)
        return np.repeat(points, len(self.budgets), axis=0)

    def iterations(self) -> list[int]:
        """Steps until the last data set was done; 0 before `fit`."""
        return [self.steps_taken] * len(self.budgets)

    def bound(self) -> list[float]:
        """The certified gap."""
        return [TOLERANCE] * len(self.budgets)
