"""Private switching over a ball of any dimension, for losses whose sums are quadratic forms.

Algorithm   Asi et al. 2023, end of Section 4.1: private_switching.py, where line 5 draws from the whole ball, by
            hit-and-run.
Privacy     Unit: one loss; neighbours: it is replaced by another. That of private_switching.py, but only up to the
            total variation between the hit-and-run samples and the law that they approximate: nothing here bounds it.
Guarantee   None. The constants are those of a net of the radius 1/(L T).
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from dpregret.algorithms.learner import Card, Loss, Problem, Setting
from dpregret.algorithms.online.private_switching import SwitchingLearner
from dpregret.algorithms.privacy.switching import Switching
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp
from dpregret.numerics.random import addresses
from dpregret.numerics.sums import vecdot

GRID = np.linspace(0.0, 1.0, 257)
STEPS = 20  # of hit-and-run, times the squared dimension


class QuadraticLoss(Protocol):
    """A loss whose sums are quadratic forms."""

    def quadratic_form(self) -> tuple[Array, Array, Array]:
        """(A, b, c) with f(x) = <x, A x>/2 - <b, x> + c."""


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
        if not hasattr(loss, "quadratic_form"):
            raise ValueError(f"{self.card.name} needs losses with a quadratic form")
        matrix, linear, constant = cast(QuadraticLoss, loss).quadratic_form()
        self.matrix += matrix / self.unit
        self.linear += linear / self.unit
        self.constant += constant / self.unit
        return np.clip(loss.value(self.point) / self.unit, 0.0, 1.0)

    def move(self, setting: int, run: int) -> None:
        """Hit-and-run from the center, compiled where a generator is NumPy's own."""
        plan, generator = self.plans[setting], self.own[setting][run]
        address = addresses([generator])
        if address is None:
            self.point[setting, run] = self.walk_plainly(plan, run, generator)
            return
        from dpregret.algorithms.online.hit_and_run import hit_and_run

        center = self.domain.center()
        self.point[setting, run] = hit_and_run(
            address[0], STEPS * len(center) ** 2, center, self.domain.diameter / 2,
            self.matrix[run], self.linear[run], self.constant[run], plan.best_loss, plan.draw_scale, GRID,
        )  # fmt: skip

    def walk_plainly(self, plan: Switching, run: int, generator: np.random.Generator) -> Array:
        """Each step draws from the density on a random chord, exact up to a fine grid; the point where it ends."""
        center, radius = self.domain.center(), self.domain.diameter / 2
        point = center.copy()
        for _ in range(STEPS * len(center) ** 2):  # line 5
            direction = generator.standard_normal(len(center))
            direction /= np.sqrt(vecdot(direction, direction))
            offset = point - center
            along = vecdot(direction, offset)
            reach = math.sqrt(max(0.0, float(along**2 + radius**2 - vecdot(offset, offset))))
            places = -along - reach + 2 * reach * GRID
            scores = self._on_line(run, point, direction, places)
            excess = np.maximum(scores, plan.best_loss) - max(float(scores.min()), plan.best_loss)
            density = exp(-excess / plan.draw_scale) if plan.draw_scale else (excess <= 0) * 1.0
            weight = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
            point = point + np.interp(generator.random() * weight[-1], weight, places) * direction
        return point

    def _on_line(self, run: int, point: Array, direction: Array, places: Array) -> Any:
        """Sum of the losses at point + place * direction."""
        pull = vecdot(self.matrix[run], point)
        slope = vecdot(direction, pull - self.linear[run])
        bend = vecdot(direction, vecdot(self.matrix[run], direction))
        start = 0.5 * vecdot(point, pull) - vecdot(self.linear[run], point) + self.constant[run]
        return start + places * slope + 0.5 * places**2 * bend
