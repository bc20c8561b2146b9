"""Private switching between the points of a net, for sets of dimension 1 to 3.

Algorithm   Asi et al. 2023, Section 4.1: private_switching.py, where line 5 draws from a net that covers the set
            within `radius`, by the exponential mechanism.
Privacy     Unit: one loss; neighbours: it is replaced by another. As in private_switching.py.
Guarantee   Asi et al. 2023, Thm 3: L D times that of Algorithm 1 for N experts of which one loses at most
            (L* + radius L T) / (L D), N the points of the net.
Deviations  The net is coarser than 1/(L T), which would have (L D T)^d points: radius D d^1.5 / T, which costs less
            than privacy does, but not below `FINEST`, where memory ends.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card, Loss, Problem, Setting
from dpregret.algorithms.online.private_switching import SwitchingLearner
from dpregret.algorithms.privacy.selection import draw_group
from dpregret.algorithms.privacy.switching import Switching
from dpregret.core.losses import Losses, laid_out, lay_out
from dpregret.core.oracles import SCRATCH, slope_at
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import specialised

FINEST = {1: 1 / 4096, 2: 1 / 48, 3: 1 / 12}
"""Smallest covering radius of a net by dimension, in diameters of the set."""
LARGEST_NET = 2**22  # points times runs
NUMBERS = 2**14  # losses that are counted at once


class NetExperts(SwitchingLearner):
    """Algorithm 1 over a net, for sets of dimension 1 to 3."""

    card = Card(
        name="net-sparse-vector",
        title="sparse vector on a net",
        paper="Asi et al. 2023",
        reference="Thm 3",
        variants={"pure": "pure eps-DP up to 1e-14", "zcdp": "draws priced by zCDP"},
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
        check_net(self.card.name, self.net, runs)
        assert problem.best_loss is not None  # the card needs it
        best = (problem.best_loss + self.radius * self.lipschitz * self.horizon) / self.unit
        self.plans = [Switching(len(self.net), self.horizon, best, setting.budget, variant) for setting in settings]
        self.sums = NetSums(self.net, runs, self.unit, 0.0)
        self.chosen = np.zeros((len(settings), runs), dtype=np.int64)

    def count(self, loss: Loss) -> Array:
        """Losses of all points of the net, once for all settings."""
        self.sums.add(loss)
        return np.clip(loss.value(self.point) / self.unit, 0.0, 1.0)

    def move(self, setting: int, run: int) -> None:
        """The exponential mechanism over the net."""
        plan = self.plans[setting]
        scores = np.maximum(self.sums.total[:, run], plan.best_loss)
        drawn = draw_group(self.own[setting][run], np.ones(len(self.net)), scores, plan.draw_scale)  # line 5
        self.chosen[setting, run] = drawn
        self.point[setting, run] = self.net[drawn]

    def bound(self, rounds: int) -> Array:
        """L D times the bound of Algorithm 1 over the net, at the horizon."""
        return np.array([[self.unit * plan.bound()] * rounds for plan in self.plans])


class NetSums:
    """(f - f(origin)) / unit at the points of a net, clipped to [least, least + 1] and summed; without origin f / unit.

    net: (N, d). total: (N, runs).
    """

    def __init__(self, net: Array, runs: int, unit: float, least: float, origin: Array | None = None):
        self.net, self.unit, self.least = net, unit, least
        self.origin = np.empty(0) if origin is None else origin
        self.some = max(1, NUMBERS // runs)
        self.total = np.zeros((len(net), runs))

    def add(self, loss: Loss) -> None:
        """Count a loss."""
        if type(loss) in slope_at.kinds:
            alike = Losses.alike(loss, 1)
            data = laid_out(alike.kind, alike.laid(), alike.shared, self.total.shape[1])
            specialised(add_losses, alike.kind)(*data, self.unit, self.least, self.origin, self.net, self.total)
            return
        base = loss.value(self.origin) if len(self.origin) else 0.0
        for first in range(0, len(self.net), self.some):  # a few points at a time stay in the processor's cache
            losses = (loss.value(self.net[first : first + self.some, None]) - base) / self.unit
            self.total[first : first + self.some] += np.clip(losses, self.least, self.least + 1, out=losses)


def add_losses(loss, held, rows, unit, least, origin, net, sums):
    """The loop of `NetSums.add`; origin is empty where there is none. See core.losses.laid_out."""
    runs, d = sums.shape[1], net.shape[1]
    x, gradient, value, s = np.empty((d, runs)), np.empty((d, runs)), np.empty(runs), np.empty((SCRATCH, runs))
    base = np.zeros(runs)
    lay_out(rows, held, 0, 0)
    for each in range(-1 if len(origin) else 0, len(net)):
        for k in range(d):
            for r in range(runs):
                x[k, r] = origin[k] if each < 0 else net[each, k]
        slope_at(loss, x, gradient, value, s)
        for r in range(runs):
            if each < 0:
                base[r] = value[r]
            else:
                sums[each, r] += min(max((value[r] - base[r]) / unit, least), least + 1.0)


def check_net(name: str, net: Array, runs: int) -> None:
    """Raises ValueError for a net that is too large for memory."""
    if len(net) * runs > LARGEST_NET:
        raise ValueError(f"{name}: a net of {len(net)} points for {runs} runs is more than {LARGEST_NET} numbers")


def covering(domain: ConstraintSet, radius: float) -> Array:
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
