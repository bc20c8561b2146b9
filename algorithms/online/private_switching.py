"""Private switching between the points of a set: over a net, or over the whole ball by sampling.

Algorithm   Asi et al. 2023, Section 4.1: Algorithm 1 with the points of the set as experts. Play a point until a
            threshold test says that its loss is large, then draw another with density exp(-eta max(C(x), L*) / 2), C
            the losses so far.
Privacy     Replace one loss. Losses are divided by L D, the largest value of an L-Lipschitz loss that vanishes
            somewhere on the set, and clipped to [0, 1]; then that of dpregret.algorithms.privacy.switching.
            The sampled learner is private only up to the total variation between its hit-and-run samples and the law
            that they approximate: nothing here bounds it.
Guarantee   Asi et al. 2023, Thm 3: L D times that of Algorithm 1 for N experts of which one loses at most
            (L* + radius L T) / (L D), N points covering the set within `radius`.
Deviations  The division by L D is missing in print. The net is coarser than 1/(L T), which would have (L D T)^d points:
            radius D d^1.5 / T, which costs less than privacy does, but not below `FINEST`, where memory ends.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from dpregret.algorithms.learner import Card, Domain, Learner, Loss, Problem, Setting
from dpregret.algorithms.privacy import keyed_generators
from dpregret.algorithms.privacy.selection import draw_group
from dpregret.algorithms.privacy.switching import Switching
from dpregret.algorithms.privacy.threshold import Watch
from dpregret.core.arrays import Array

FINEST = {1: 1 / 4096, 2: 1 / 48, 3: 1 / 12}
"""Smallest covering radius of a net by dimension, in diameters of the set."""
LARGEST_NET = 2**22  # points times runs
GRID = np.linspace(0.0, 1.0, 257)
STEPS = 20  # of hit-and-run, times the squared dimension


class SwitchingLearner(Learner):
    """What both learners share: tests and switches, one plan a setting."""

    plans: list[Switching]

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.runs = runs
        self.unit = problem.lipschitz * problem.domain.diameter
        self.queries = np.zeros((len(settings), runs))
        self.switches = np.zeros((len(settings), runs), dtype=np.int64)

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Every setting draws from generators of its own, keyed by its epsilon."""
        self.own = [
            keyed_generators(generators, int(np.float64(setting.budget.epsilon).view(np.uint64)))
            for setting in self.settings
        ]
        self.watches = [Watch(plan.test(), own) for plan, own in zip(self.plans, self.own, strict=True)]
        for setting, run in np.ndindex(self.queries.shape):
            self.move(setting, run)

    @property
    def pure(self) -> bool:
        """Whether the draws compose purely."""
        return self.variant == "pure"

    def delivered_epsilon(self) -> list[float]:
        """Of the tests and the draws."""
        return [plan.delivered_epsilon() for plan in self.plans]

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Count the loss, ask the tests, and move where they halt."""
        self.queries += self.count(loss)
        for setting, watch in enumerate(self.watches):
            halted = watch.step(self.queries[setting]) & (self.switches[setting] < self.plans[setting].switches)
            for run in np.flatnonzero(halted):
                self.queries[setting, run] = 0.0
                self.switches[setting, run] += 1
                watch.open(int(run))
                self.move(setting, int(run))

    def displacement(self, rounds: int) -> Array:
        """Nothing is added to a point."""
        return np.zeros((len(self.settings), rounds))

    @abstractmethod
    def count(self, loss: Loss) -> Array:
        """Add a loss to the sums of all points; the scaled losses of the points in play, (settings, runs)."""

    @abstractmethod
    def move(self, setting: int, run: int) -> None:
        """Draw a new point from the sums so far."""


class NetExperts(SwitchingLearner):
    """Algorithm 1 over a net, for sets of dimension 1 to 3."""

    card = Card(
        name="net-sparse-vector",
        title="Algorithm 1 over a net",
        paper="Asi et al. 2023",
        reference="Thm 3",
        variants={"pure": "pure eps-DP", "zcdp": "draws priced by zCDP"},
        anytime=False,
        needs=frozenset({"best-loss"}),
        convex=True,
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        dimension, diameter = problem.domain.dimension, problem.domain.diameter
        if dimension not in FINEST:
            raise ValueError(f"{self.card.name} needs dimension 1, 2 or 3, got {dimension}: use sampled-sparse-vector")
        self.radius = diameter * max(FINEST[dimension], dimension**1.5 / self.horizon)
        self.net = covering(problem.domain, self.radius)
        if len(self.net) * runs > LARGEST_NET:
            raise ValueError(
                f"{self.card.name}: a net of {len(self.net)} points for {runs} runs is more than {LARGEST_NET} numbers"
            )
        assert problem.best_loss is not None  # the card needs it
        best = (problem.best_loss + self.radius * self.lipschitz * self.horizon) / self.unit
        self.plans = [Switching(len(self.net), self.horizon, best, setting.budget, variant) for setting in settings]
        self.sums = np.zeros((len(self.net), runs))
        self.chosen = np.zeros((len(settings), runs), dtype=np.int64)

    def count(self, loss: Loss) -> Array:
        """Losses of all points of the net, once for all settings."""
        points = np.broadcast_to(self.net[:, None], (len(self.net), self.runs, self.domain.dimension))
        losses = np.clip(loss.value(points) / self.unit, 0.0, 1.0)
        self.sums += losses
        return losses[self.chosen, np.arange(self.runs)]

    def move(self, setting: int, run: int) -> None:
        """The exponential mechanism over the net."""
        plan = self.plans[setting]
        scores = np.maximum(self.sums[:, run], plan.best_loss)
        drawn = draw_group(self.own[setting][run], np.ones(len(self.net)), scores, plan.draw_scale)
        self.chosen[setting, run] = drawn
        self.point[setting, run] = self.net[drawn]

    def bound(self, rounds: int) -> Array:
        """L D times the bound of Algorithm 1 over the net, at the horizon."""
        return np.array([[self.unit * plan.bound()] * rounds for plan in self.plans])


def covering(domain: Domain, radius: float) -> Array:
    """Points of the set such that every point of it is within `radius` of one of them, (N, d).

    The grid of that radius around the set, projected: projection brings no two points further apart.
    """
    axes = np.eye(domain.dimension)
    highest = np.array([domain.linear_oracle(-axis) @ axis for axis in axes])
    lowest = np.array([domain.linear_oracle(axis) @ axis for axis in axes])
    step = 2 * radius / math.sqrt(domain.dimension)
    sides = [
        low + step * np.arange(math.ceil((high - low) / step) + 1) for low, high in zip(lowest, highest, strict=True)
    ]
    grid = np.array(list(itertools.product(*sides)))
    inside = domain.project(grid)
    near = np.linalg.norm(grid - inside, axis=1) <= radius * (1 + 1e-12)
    return np.unique(np.round(inside[near], 12), axis=0)


class QuadraticLoss(Protocol):
    """A loss whose sums are quadratic forms."""

    def quadratic_form(self) -> tuple[Array, Array, Array]:
        """(A, b, c) with f(x) = <x, A x>/2 - <b, x> + c."""


class SampledExperts(SwitchingLearner):
    """Algorithm 1 over a ball of any dimension, for losses whose sums are quadratic forms."""

    card = Card(
        name="sampled-sparse-vector",
        title="Algorithm 1 over the ball, by hit-and-run",
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
        """Hit-and-run from the center: each step draws from the density on a random chord, exact up to a fine grid."""
        plan, generator = self.plans[setting], self.own[setting][run]
        center, radius = self.domain.center(), self.domain.diameter / 2
        point = center.copy()
        for _ in range(STEPS * len(center) ** 2):
            direction = generator.standard_normal(len(center))
            direction /= np.linalg.norm(direction)
            along = direction @ (point - center)
            reach = math.sqrt(max(0.0, float(along**2 + radius**2 - (point - center) @ (point - center))))
            places = -along - reach + 2 * reach * GRID
            scores = self._on_line(run, point, direction, places)
            excess = np.maximum(scores, plan.best_loss) - max(float(scores.min()), plan.best_loss)
            density = np.exp(-excess / plan.draw_scale) if plan.draw_scale else (excess <= 0) * 1.0
            weight = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
            point = point + np.interp(generator.random() * weight[-1], weight, places) * direction
        self.point[setting, run] = point

    def _on_line(self, run: int, point: Array, direction: Array, places: Array) -> Any:
        """Sum of the losses at point + place * direction."""
        slope = direction @ (self.matrix[run] @ point - self.linear[run])
        bend = direction @ self.matrix[run] @ direction
        start = 0.5 * point @ self.matrix[run] @ point - self.linear[run] @ point + self.constant[run]
        return start + places * slope + 0.5 * places**2 * bend
