"""Private switching between the points of a set: over a net, or over a whole ball by hit-and-run.

Algorithm   Asi et al. 2023, Section 4.1: Algorithm 1 with the points of the set as experts. The text of the box is
            lost: the lines below are reconstructed, as in dpregret.algorithms.experts.sparse_vector.
            line 1  draw x with density exp(-eta max(0, L*) / 2), that is uniformly
            line 2  open a threshold test
            line 3  for t = 1..T
            line 4    if fewer than K draws were spent and the test halts at the loss of x since it was drawn:
            line 5      draw x with density exp(-eta max(C(x), L*) / 2), C the losses so far
            line 6      open a new test; the loss of the new x begins at 0
            line 7    play x; add the loss to C and to what x has lost
            `observe` ends a round and calls the test of the next one: lines 7, 4, 6, 5.
            net-sparse-vector: line 5 draws from a net that covers the set within `radius`, by the exponential
            mechanism, for sets of dimension 1 to 3. sampled-sparse-vector: from a whole ball of any dimension, by
            hit-and-run, for losses whose sums are quadratic forms.
Privacy     Unit: one loss; neighbours: it is replaced by another. Losses are divided by L D, the largest value of an
            L-Lipschitz loss that vanishes somewhere on the set, and clipped to [0, 1]; then that of
            dpregret.algorithms.privacy.switching. Pure up to delta = 1e-14 (switching.py). Sampled: only up to
            the total variation between the hit-and-run samples and the law that they approximate: nothing here
            bounds it.
Guarantee   Asi et al. 2023, Thm 3. Net: L D times that of Algorithm 1 for N experts of which one loses at most
            (L* + radius L T) / (L D), N the points of the net. Sampled: none; the constants are those of a net of the
            radius 1/(L T).
Deviations  The division by L D is missing as reconstructed (A4). The net is coarser than 1/(L T), which would have
            (L D T)^d points: radius D d^1.5 / T, which costs less than privacy does, but not below `FINEST`, where
            memory ends.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss, Setting
from dpregret.algorithms.online.kept_points import TOGETHER, StayingPoints
from dpregret.algorithms.privacy import keyed_generators
from dpregret.algorithms.privacy.selection import draw_group
from dpregret.algorithms.privacy.switching import Switching, Watch
from dpregret.core.losses import Losses, as_columns, copy_round, together
from dpregret.core.oracles import SCRATCH, slope_at
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, specialised
from dpregret.numerics.elementary import exp_of
from dpregret.numerics.intrinsics import next_double
from dpregret.numerics.random import address, normal
from dpregret.numerics.sums import dot

FINEST = {1: 1 / 4096, 2: 1 / 48, 3: 1 / 12}
"""Smallest covering radius of a net by dimension, in diameters of the set."""
LARGEST_NET = 2**22  # points times runs
NUMBERS = 2**14  # losses that are counted at once
COLUMNS = 256  # the same in compiled loops
GRID = np.linspace(0.0, 1.0, 257)  # positions on a chord
STEPS = 20  # of hit-and-run, times the squared dimension


class SwitchingLearner(StayingPoints):
    """Base of both learners: tests and switches, one plan a setting."""

    plans: list[Switching]
    sums: "NetSums | QuadraticSums"

    def prepare(self) -> None:
        self.unit = self.lipschitz * self.domain.diameter
        self.queries = np.zeros((len(self.settings), self.runs))
        self.switches = np.zeros((len(self.settings), self.runs), dtype=np.int64)

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Every setting has its own generators."""
        self.rngs = generators_by_setting(generators, self.settings)
        self.watches = [Watch(plan.test(), rngs) for plan, rngs in zip(self.plans, self.rngs, strict=True)]  # line 2
        for setting, run in np.ndindex(self.queries.shape):
            self.move(setting, run)  # line 1

    @property
    def pure(self) -> bool:
        """Whether the draws compose purely."""
        return self.variant == "pure"

    def delivered_epsilon(self) -> list[float]:
        """Of the tests and the draws."""
        return [plan.delivered_epsilon() for plan in self.plans]

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta."""
        return [plan.epsilon_at(delta) for plan in self.plans]

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:  # line 3
        """Count the loss, call the tests of the next round, and move where they halt."""
        self.sums.add(loss)
        self.queries += np.clip(self.paid(loss) / self.unit, 0.0, 1.0)  # line 7
        for setting, watch in enumerate(self.watches):
            halted = watch.step(self.queries[setting])  # line 4
            if not halted.any():
                continue
            halted &= self.switches[setting] < self.plans[setting].switches
            for run in np.flatnonzero(halted):
                self.queries[setting, run] = 0.0  # line 6
                self.switches[setting, run] += 1
                watch.open(int(run))
                self.move(setting, int(run))  # line 5

    def move(self, setting: int, run: int) -> None:
        """Draw a new point from the sums so far."""
        plan, generator = self.plans[setting], self.rngs[setting][run]
        self.go(setting, run, self.sums.draw(generator, run, plan.draw_scale, plan.best_loss))  # line 5


def generators_by_setting(
    generators: Sequence[np.random.Generator], settings: Sequence[Setting]
) -> list[list[np.random.Generator]]:
    """Generators of each setting, one a run, keyed by its epsilon."""
    keys = [int(np.float64(setting.budget.epsilon).view(np.uint64)) for setting in settings]
    return [keyed_generators(generators, key) for key in keys]


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

    def prepare(self) -> None:
        super().prepare()
        share = self.domain.dimension**1.5 / self.horizon
        self.sums = NetSums(self, self.unit, share, "sampled-sparse-vector")
        assert self.problem.best_loss is not None  # the card needs it
        best = (self.problem.best_loss + self.sums.radius * self.lipschitz * self.horizon) / self.unit
        candidates = len(self.sums.net)
        self.plans = [Switching(candidates, self.horizon, best, budget, self.variant) for budget in self.budgets]

    def bound(self, rounds: int) -> Array:
        """L D times the bound of Algorithm 1 over the net, at the horizon."""
        return np.array([[self.unit * plan.bound()] * rounds for plan in self.plans])


class NetSums:
    """(f - f(origin)) / unit at the points of a net, clipped to [least, least + 1] and summed; without origin f / unit.

    The net covers the set of the learner within `radius`: that share of its diameter, or `FINEST`. net: (N, d), total:
    (N, runs). Raises ValueError for a dimension above 3, naming the learner to use there, and where memory ends.
    """

    def __init__(
        self, learner: Learner, unit: float, share: float, instead: str, least: float = 0.0, origin: Array | None = None
    ):
        name, domain, runs = learner.card.name, learner.domain, learner.runs
        if domain.dimension not in FINEST:
            raise ValueError(f"{name} needs dimension 1, 2 or 3, got {domain.dimension}: use {instead}")
        self.radius = domain.diameter * max(FINEST[domain.dimension], share)
        self.net, self.unit, self.least = covering(domain, self.radius), unit, least
        if len(self.net) * runs > LARGEST_NET:
            raise ValueError(
                f"{name}: a net of {len(self.net)} points for {runs} runs is more than {LARGEST_NET} numbers"
            )
        self.origin = np.empty(0) if origin is None else origin
        self.some = max(1, NUMBERS // runs)
        self.alike, self.total = np.ones(len(self.net)), np.zeros((len(self.net), runs))

    def draw(
        self,
        generator: np.random.Generator,
        run: int,
        scale: float,
        floor: float = -math.inf,
        sizes: Array | None = None,
    ) -> Array:
        """The exponential mechanism over the net, (d,): P ~ size * exp(-max(total, floor) / scale)."""
        alike = self.alike if sizes is None else sizes
        return self.net[draw_group(generator, alike, np.maximum(self.total[:, run], floor), scale)]

    def add(self, loss: Loss) -> None:
        """Count a loss."""
        if type(loss) in slope_at.kinds:
            alike = Losses.alike(loss, 1)
            runs = self.total.shape[1]
            data = as_columns(alike.kind, alike.laid(), alike.shared, runs * max(1, COLUMNS // runs))
            specialised(add_losses, alike.kind)(*data, self.unit, self.least, self.origin, self.net, self.total)
            return
        base = loss.value(self.origin) if len(self.origin) else 0.0
        for first in range(0, len(self.net), self.some):  # a few points at a time stay in the processor's cache
            losses = (loss.value(self.net[first : first + self.some, None]) - base) / self.unit
            self.total[first : first + self.some] += np.clip(losses, self.least, self.least + 1, out=losses)


def add_losses(loss, buffers, rows, unit, least, origin, net, sums):
    """The loop of `NetSums.add`; origin is empty where there is none. See core.losses.as_columns: columns are all runs
    at a point of the net, then at the next."""
    runs, d, columns = sums.shape[1], net.shape[1], buffers[0].shape[1]
    x, gradient, value = np.empty((d, columns)), np.empty((d, columns)), np.empty(columns)
    base, scratch = np.zeros(columns), np.empty((SCRATCH, columns))
    some = columns // runs
    copy_round(rows, buffers, 0, 0)
    for first in range(-some if len(origin) else 0, len(net), some):
        for point in range(some):
            for k in range(d):
                at = origin[k] if first < 0 else net[min(first + point, len(net) - 1), k]
                for r in range(runs):
                    x[k, point * runs + r] = at
        slope_at(loss, x, gradient, value, scratch)
        if first < 0:
            base[:] = value
            continue
        for r in range(columns):
            value[r] = min(max((value[r] - base[r]) / unit, least), least + 1.0)
        for point in range(min(some, len(net) - first)):
            for r in range(runs):
                sums[first + point, r] += value[point * runs + r]


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

    def prepare(self) -> None:
        super().prepare()
        self.sums = QuadraticSums(self, self.unit)
        assert self.problem.best_loss is not None  # the card needs it
        points = 1 + 2 * self.lipschitz * self.horizon * self.domain.diameter  # a dimension, of a net of 1/(L T)
        candidates, best = math.ceil(points) ** self.domain.dimension, (self.problem.best_loss + 1) / self.unit
        self.plans = [Switching(candidates, self.horizon, best, budget, self.variant) for budget in self.budgets]


class QuadraticSums:
    """Losses f(x) = <x, A x>/2 - <b, x> + c on a ball, over a unit: matrix, linear, constant are the sums of each run.

    Raises ValueError, with the name of the learner, where the set is no ball and for losses without such a form.
    """

    def __init__(self, learner: Learner, unit: float):
        self.name, self.unit, domain = learner.card.name, unit, learner.domain
        if domain.name != "ball":
            raise ValueError(f"{self.name} samples from a ball, not from the set {domain.name!r}")
        self.center, self.radius = domain.center(), domain.diameter / 2
        self.matrix = np.zeros((learner.runs, domain.dimension, domain.dimension))
        self.linear, self.constant = np.zeros((learner.runs, domain.dimension)), np.zeros(learner.runs)
        self.coming: list[Any] = []  # losses that are not in the sums yet

    def add(self, loss: Any) -> None:
        """Count a loss, at the next draw at the latest."""
        if not hasattr(loss, "quadratic_form"):
            raise ValueError(f"{self.name} needs losses with a quadratic form")
        self.coming.append(loss)
        if len(self.coming) == TOGETHER:
            self.count()

    def count(self) -> None:
        """Count the losses to come, one after the other."""
        alike = together(self.coming) if self.coming else None
        for loss in [alike.whole()] if alike else self.coming:
            for total, part in zip((self.matrix, self.linear, self.constant), loss.quadratic_form(), strict=True):
                for of_round in np.broadcast_to(part / self.unit, (len(alike or [loss]), *total.shape)):
                    total += of_round
        self.coming.clear()

    def draw(
        self, generator: np.random.Generator, run: int, scale: float, floor: float = -math.inf, weight: float = 0.0
    ) -> Array:
        """A point, (d,), of density exp(-max(q, floor) / scale), by hit-and-run from the center.

        q: the sum of the run and weight |x - center|^2/2, up to what is the same for all x where there is no floor.
        """
        self.count()
        matrix = self.matrix[run] + weight * np.eye(len(self.center))
        linear = self.linear[run] + weight * self.center
        constant = float(self.constant[run]) if floor > -math.inf else 0.0
        steps = STEPS * len(self.center) ** 2
        form = Form(matrix, linear, constant, float(floor))
        return hit_and_run(address(generator), steps, self.center, self.radius, form, scale)


class Form(NamedTuple):
    """q(x) = <x, matrix x>/2 - <linear, x> + constant, and the smallest value that counts."""

    matrix: Array
    linear: Array
    constant: float
    floor: float


@compiled
def hit_and_run(generator: int, steps: int, center: Array, radius: float, form: Form, scale: float) -> Array:
    """Walk from the center of a ball, (d,): each step draws a point of a random chord, exactly up to a fine grid.

    Its density is exp(-max(q, floor) / scale); scale 0: uniform on the points of smallest max(q, floor).
    """
    dimension, most = len(center), len(GRID)
    matrix, linear = form.matrix, form.linear
    point, direction, offset = center.copy(), np.empty(dimension), np.empty(dimension)
    pull, turned = np.empty(dimension), np.empty(dimension)
    distances, scores, weight = np.empty(most), np.empty(most), np.empty(most)
    for _ in range(steps):
        for k in range(dimension):
            direction[k] = normal(generator)
        length = np.sqrt(dot(direction, direction))
        for k in range(dimension):
            direction[k] /= length
            offset[k] = point[k] - center[k]
        for k in range(dimension):
            pull[k], turned[k] = dot(matrix[k], point), dot(matrix[k], direction)
        along = dot(direction, offset)
        half_chord = math.sqrt(max(0.0, along * along + radius * radius - dot(offset, offset)))
        begin = 0.5 * dot(point, pull) - dot(linear, point) + form.constant
        for k in range(dimension):
            pull[k] -= linear[k]
        slope, bend = dot(direction, pull), dot(direction, turned)
        least = np.inf
        for k in range(most):
            distances[k] = -along - half_chord + 2 * half_chord * GRID[k]
            scores[k] = max(begin + distances[k] * slope + 0.5 * (distances[k] * distances[k]) * bend, form.floor)
        for k in range(most):
            least = min(least, scores[k])
        if scale > 0.0:
            for k in range(most):
                scores[k] = exp_of(-(scores[k] - least) / scale)
        else:
            for k in range(most):
                scores[k] = 1.0 if scores[k] <= least else 0.0
        weight[0] = 0.0
        for k in range(1, most):
            weight[k] = weight[k - 1] + (scores[k] + scores[k - 1])
        target = next_double(generator) * weight[most - 1]
        k = min(np.searchsorted(weight, target, side="right") - 1, most - 2)
        moved = (distances[k + 1] - distances[k]) / (weight[k + 1] - weight[k]) * (target - weight[k]) + distances[k]
        for k in range(dimension):
            point[k] += moved * direction[k]
    return point
