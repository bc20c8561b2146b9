"""Private switching over a ball of any dimension, for losses whose sums are quadratic forms.

Algorithm   Asi et al. 2023, end of Section 4.1: private_switching.py, where line 5 draws from the whole ball, by
            hit-and-run.
Privacy     Unit: one loss; neighbours: it is replaced by another. That of private_switching.py, but only up to the
            total variation between the hit-and-run samples and the law that they approximate: nothing here bounds it.
Guarantee   None. The constants are those of a net of the radius 1/(L T).
"""

import math
from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from dpregret.algorithms.learner import Card, Loss, Problem, Setting
from dpregret.algorithms.online.hit_and_run import Form, walk
from dpregret.algorithms.online.private_switching import SwitchingLearner
from dpregret.algorithms.privacy.switching import Switching
from dpregret.numerics.arrays import Array


class QuadraticLoss(Protocol):
    """A loss whose sums are quadratic forms."""

    def quadratic_form(self) -> tuple[Array, Array, Array]:
        """(A, b, c) with f(x) = <x, A x>/2 - <b, x> + c."""


def form_of(loss: Loss, name: str) -> tuple[Array, Array, Array]:
    """A, b and c of a loss. Raises ValueError that names the learner for a loss without them."""
    if not hasattr(loss, "quadratic_form"):
        raise ValueError(f"{name} needs losses with a quadratic form")
    return cast(QuadraticLoss, loss).quadratic_form()


class SampledExperts(SwitchingLearner):
    """Algorithm 1 over a ball of any dimension, for losses whose sums are quadratic forms."""

    card = Card(
        name="sampled-sparse-vector",
        title="sparse vector, hit-and-run",
        paper="Asi et al. 2023",
        reference="Section 4.1, closing remark",
        variants={"zcdp": "draws priced by zCDP; private up to the error of the sampler"},
        anytime=False,
        needs=frozenset({"best-loss", "smooth", "quadratic-sums"}),
        convex=True,
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        if problem.domain.name != "ball":
            raise ValueError(f"{self.card.name} samples from a ball, not from the set {problem.domain.name!r}")
        assert problem.best_loss is not None  # the card needs it
        dimension = problem.domain.dimension
        points = 1 + 2 * self.lipschitz * self.horizon * problem.domain.diameter  # a dimension, of a net of 1/(L T)
        best = (problem.best_loss + 1) / self.unit
        self.plans = [
            Switching(math.ceil(points) ** dimension, self.horizon, best, setting.budget, variant)
            for setting in settings
        ]
        self.matrix = np.zeros((runs, dimension, dimension))
        self.linear = np.zeros((runs, dimension))
        self.constant = np.zeros(runs)

    def count(self, loss: Loss) -> Array:
        """Quadratic forms add up."""
        matrix, linear, constant = form_of(loss, self.card.name)
        self.matrix += matrix / self.unit
        self.linear += linear / self.unit
        self.constant += constant / self.unit
        return np.clip(loss.value(self.point) / self.unit, 0.0, 1.0)

    def move(self, setting: int, run: int) -> None:
        """Hit-and-run from the center."""
        plan = self.plans[setting]
        form = Form(self.matrix[run], self.linear[run], self.constant[run], plan.best_loss)
        self.point[setting, run] = walk(self.own[setting][run], self.domain, form, plan.draw_scale)  # line 5
