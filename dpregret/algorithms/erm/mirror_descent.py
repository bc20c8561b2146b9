"""Noisy mirror descent: full gradients with Gaussian noise, Bregman steps, the average of the iterates.

Problem     min over a convex set C of L(theta) = (1/n) sum_i loss(theta; d_i), losses L-Lipschitz in l2.
Algorithm   Talwar, Thakurta & Zhang 2015, Alg. 1, with a potential Psi:
            line 1  sigma, the standard deviation of the noise
            line 2  theta_1 in the set: the minimum of Psi
            line 3  for t = 1..T
            line 4    theta_{t+1} = argmin_{u in C} < eta_t (grad L(theta_t) + b_t) - grad Psi(theta_t), u > + Psi(u),
                      b_t ~ N(0, sigma^2 I) in the ambient space
            line 5  release the average of theta_1..theta_T
            A learner is its potential, its T and its step sizes: noisy_descent.py, strongly_convex_descent.py, sgd.py.
Privacy     Unit: one record; neighbours: it is replaced by another; (epsilon, delta)-DP. T - 1 noisy gradients are
            used, each moves by at most 2 L / n.
Guarantee   With Psi of modulus a in |.|_Q, V = L^2 R^2 + sigma^2 (G^2 + R^2), R = max_Q |q|_2 and G the Gaussian
            width of Q: E L(released) - min L <= max Psi / (eta T) + eta V / a, since the noise has
            E |b|_{Q*}^2 <= sigma^2 (G^2 + R^2) (Gaussian Poincare inequality). Theorem 3.2 is its order.
            |.|_Q is the gauge of the potential's body Q, and decides T and eta: the unit ball of l2 for the Euclidean
            potential (R = 1, G of order sqrt(d)), whatever C is; the l1 ball for the q-norm, the symmetric hull of the
            vertices for the entropy, and C itself for the grouped and the nuclear norm.
Deviations  corrected: sigma = (2 L / n) sqrt(T - 1) / mu(epsilon, delta), exact Gaussian DP;
              T = R^2 n^2 mu^2 / (4 (G^2 + R^2)), where the noise weighs as much as the gradients;
              eta = sqrt(a max Psi / (T V)), which makes the guarantee 2 sqrt(max Psi V / (a T)).
            printed: sigma^2 = 32 L^2 T ln^2(T / delta) / (epsilon n)^2, T and eta of Theorem 3.2 as stated (T with a
              factor 1 / L^2 that does not belong there, eta without sqrt(max Psi)), R for its 'diameter' |Q|_2, and the
              printed potential. The printed line 4 puts eta and the gradient operator around the wrong terms; the
              step above is meant.
            T is rounded down, at least 1 (theta_1, which reads no data) and at most MAX_ITERATIONS;
            sigma and eta are those of the T in use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from time import process_time
from typing import Any, ClassVar

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner
from dpregret.algorithms.geometry import ConstraintSet, CountedSet, Potential, gaussian_width, make_potential
from dpregret.algorithms.geometry.potential import Euclidean
from dpregret.algorithms.learner import FEWEST, MOST, NUMBERS
from dpregret.algorithms.privacy import Budget, Release, calibrate, gaussian_mu
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.losses import NO_ROWS, Losses, as_columns, copy_round, in_columns
from dpregret.core.oracles import SCRATCH, ByMethods, by_methods, mirror_step, point_of, slope_at
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import kinds_of, specialised

CHUNK_ENTRIES = 1 << 17
"""Random numbers held at a time, which stay in the processor's cache; no result depends on it."""


def descend(
    risk: Any,
    buffers: Any,
    rows: Any,
    potential: Any,
    steps: Array,
    noise: Array,
    units: Array,
    first: int,
    averaged: bool,
    state: Array,
    output: Array,
) -> None:
    """Some steps of columns first, first + 1, ..., in place: column c is run c % runs of setting c // runs.

    risk: a loss of as many columns; buffers, rows: see `losses.as_columns`, for a risk that changes from step to step.
    steps (T, settings): their lengths. noise (settings,) times units (T or 0, runs, d) is added to gradients.
    state (k, columns): of the potential; output (d, columns): the sum of the points so far, or the last one.
    """
    (d, columns), runs = output.shape, units.shape[1]
    x, gradient, fresh = np.empty((d, columns)), np.empty((d, columns)), np.zeros((d, columns))
    value, length, scratch = np.empty(columns), np.empty(columns), np.empty((SCRATCH, columns))
    for now in range(len(steps)):  # line 3
        if now == 0 or rows[0].shape[0] > 1:
            copy_round(rows, buffers, now, first)  # type: ignore[no-untyped-call]
        for c in range(columns):
            setting, run = (first + c) // runs, (first + c) % runs
            length[c] = steps[now, setting]
            for k in range(d if len(units) else 0):
                fresh[k, c] = noise[setting] * units[now, run, k]
        point_of(potential, state, x, scratch)
        slope_at(risk, x, gradient, value, scratch)
        for k in range(d):
            for c in range(columns):
                output[k, c] = x[k, c] + (output[k, c] if averaged else 0.0)  # line 5
                gradient[k, c] = (gradient[k, c] + fresh[k, c]) * length[c]
        mirror_step(potential, state, gradient, scratch)  # line 4


_READY: set[Any] = set()
"""Loops that have been compiled."""


@dataclass
class Tile:
    """Columns first, first + 1, ...: states (k, columns), output (d, columns), and the risk as the loop takes it."""

    first: int
    state: Array
    output: Array
    risk: tuple[Any, ...]


class Descent:
    """States (settings, runs, k) on their way; output (settings, runs, d) is the sum of the points, or the last one.

    risk: what gradients are of, namely a loss, one for each step (`Losses`), or a function that gives gradients
    (settings, runs, d) at points (settings, runs, d).
    """

    def __init__(
        self, risk: Any, domain: ConstraintSet, potential: Potential, states: Array, output: Array, averaged: bool
    ):
        self.domain, self.potential, self.averaged = domain, potential, averaged
        self.step = potential.data
        self.lead, dimension = output.shape[:2], output.shape[2]
        self.risk = _Rows(risk, self.lead) if callable(risk) else risk  # kept alive while its number is in use
        columns, wide = output.shape[0] * output.shape[1], max(FEWEST, min(MOST, NUMBERS // dimension))
        if callable(risk) or ByMethods in kinds_of(self.step):
            wide = columns  # all at once: the oracle is called through NumPy
        self.tiles = []
        for first in range(0, columns, wide):
            state, released = (
                np.array(array.reshape(columns, -1)[first : first + wide].T, order="C") for array in (states, output)
            )
            self.tiles.append(Tile(first, state, released, self._columns(first, state.shape[1])))

    def _columns(self, first: int, columns: int) -> tuple[Any, ...]:
        """The risk of some columns."""
        if isinstance(self.risk, Losses):
            return as_columns(self.risk.kind, self.risk.laid(), self.risk.shared, columns)
        risk = (
            by_methods(self.risk)
            if isinstance(self.risk, _Rows)
            else in_columns(self.risk, np.arange(first, first + columns) % self.lead[1])
        )
        return risk, (np.zeros((1, columns)),), NO_ROWS

    def follow(self, steps: Array, noise: Array, units: Array) -> float:
        """Take steps of lengths (T, settings); noise: its standard deviations (settings,), units (T or 0, runs, d).

        Returns the CPU seconds of compiling the loop, which are no cost of the steps.
        """
        started, apart, units = process_time(), 0.0, without_gaps(units)
        loop = specialised(descend, *kinds_of(self.tiles[0].risk[0]), *kinds_of(self.step))

        def take(tile: Tile, some: Array) -> None:
            arguments = (*tile.risk, self.step, some, noise, units, tile.first, self.averaged)
            loop(*arguments, tile.state, tile.output)

        if loop not in _READY:
            began = process_time()
            take(self.tiles[0], steps[:0])
            _READY.add(loop)
            apart = process_time() - began
        for tile in self.tiles:
            take(tile, steps)
        closed = isinstance(self.step, Euclidean) and not isinstance(self.step.domain, ByMethods)
        if closed and isinstance(self.domain, CountedSet):  # its seconds are those of the whole loop
            seconds = process_time() - started - apart
            self.domain.projections.add(steps.shape[0] * self.lead[0] * self.lead[1], seconds)
        return apart

    def states(self) -> Array:
        """The states, (settings, runs, k)."""
        return self._gathered([tile.state for tile in self.tiles])

    def output(self) -> Array:
        """The released points, (settings, runs, d)."""
        return self._gathered([tile.output for tile in self.tiles])

    def _gathered(self, columns: list[Array]) -> Array:
        return np.concatenate(columns, axis=1).T.reshape(*self.lead, -1)


class _Rows:
    """Gradients at points (1, settings * runs, d), of a function of points (settings, runs, d)."""

    def __init__(self, gradient: Callable[[Array], Array], lead: tuple[int, ...]):
        self.gradient, self.lead = gradient, lead

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """Values are not used."""
        slopes = self.gradient(points.reshape(*self.lead, points.shape[-1]))
        return np.zeros(points.shape[:-1]), np.broadcast_to(slopes, (*self.lead, points.shape[-1])).reshape(
            points.shape
        )


@dataclass(frozen=True)
class Plan:
    """The run of a setting: step sizes (T,), and standard deviation of the noise."""

    steps: Array
    noise: float

    @property
    def iterations(self) -> int:
        """T."""
        return len(self.steps)


class MirrorDescent(ErmLearner):
    """The loop of every noisy descent."""

    gaussian = True
    MAX_ITERATIONS: ClassVar[int] = 65536
    potential_name: ClassVar[str | None]
    """None: the potential of the set's geometry."""
    averaged: ClassVar[bool] = True
    """Release the average of the iterates; else the last one."""

    def prepare(self) -> None:
        self.potential = make_potential(self.domain, self.potential_name)
        self.sensitivity = 2.0 * self.risk.lipschitz / self.risk.samples
        body = self.potential.body
        self.radius = 0.5 * body.diameter
        self.dual_square = gaussian_width(body)[0] ** 2 + self.radius**2
        self.check_budgets()

    @cached_property
    def plans(self) -> list[Plan]:
        """One a setting."""
        return [self.plan(budget) for budget in self.budgets]  # line 1

    def check_budgets(self) -> None:
        """Raise ValueError for a budget that has no plan."""
        len(self.plans)

    def plan(self, budget: Budget) -> Plan:
        """T, noise and step sizes for a budget."""
        iterations = self.capped(budget)
        noise = self.noise(budget, iterations)
        return Plan(self.steps(noise, iterations), noise)

    def capped(self, budget: Budget) -> int:
        """T."""
        return max(1, int(min(self.uncapped(budget), self.MAX_ITERATIONS)))

    def uncapped(self, budget: Budget) -> float:
        """T before rounding down to an integer between 1 and the cap; inf without privacy."""
        share = (self.radius * self.risk.samples) ** 2 / self.dual_square
        if self.variant != "printed":
            return share * gaussian_mu(budget) ** 2 / 4.0
        if math.isinf(budget.epsilon):
            return math.inf
        log = budget.log_over_delta(self.risk.samples)
        return share * (budget.epsilon / (self.risk.lipschitz * log)) ** 2

    def noise(self, budget: Budget, iterations: int) -> float:
        """Standard deviation of the noise on the gradient of the average loss."""
        if self.variant != "printed":
            return calibrate("gaussian", budget, self.sensitivity, iterations - 1)
        if math.isinf(budget.epsilon):
            return 0.0
        log = budget.log_over_delta(iterations)
        return math.sqrt(32.0 * iterations) * self.risk.lipschitz * log / (budget.epsilon * self.risk.samples)

    def steps(self, noise: float, iterations: int) -> Array:
        """Step sizes (T,); a potential that is printed too small by a factor is one whose steps are larger by it."""
        if self.variant == "printed":
            step = self.potential.over_printed / (self.risk.lipschitz * self.radius * math.sqrt(iterations))
        else:
            potential = self.potential
            step = math.sqrt(potential.modulus * potential.maximum / (iterations * self.second_moment(noise)))
        return np.full(iterations, step)

    def second_moment(self, noise: float) -> float:
        """V = L^2 R^2 + sigma^2 (G^2 + R^2), half of a bound on E |gradient + noise|_{Q*}^2."""
        return (self.risk.lipschitz * self.radius) ** 2 + noise**2 * self.dual_square

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p). Settings share their unit noises (common random numbers)."""
        lengths, units = [plan.iterations for plan in self.plans], self._units(generators)
        states = np.tile(self.potential.start, (len(self.plans), self.runs, 1))  # line 2
        released = np.zeros((len(self.plans), self.runs, self.domain.dimension))
        for begun, end in pairwise([0, *sorted(set(lengths))]):
            rows = [row for row, length in enumerate(lengths) if length >= end]
            noise = np.array([self.plans[row].noise for row in rows])
            steps = np.stack([self.plans[row].steps[begun:end] for row in rows], axis=1)
            loss = getattr(self.risk, "loss", None) or self.risk.gradient
            descent = Descent(loss, self.domain, self.potential, states[rows], released[rows], self.averaged)
            while len(steps):
                drawn = units.take(len(steps)) if noise.any() else np.zeros((0, self.runs, self.domain.dimension))
                taken = len(drawn) or len(steps)
                self.apart += descent.follow(steps[:taken], noise, drawn)
                steps = steps[taken:]
            states[rows], released[rows] = descent.states(), descent.output()
        if self.averaged:
            released /= np.array(lengths, dtype=float)[:, None, None]  # line 5
        return released

    def _units(self, generators: Sequence[np.random.Generator]) -> Normals:
        """The noise, in units of its largest standard deviation."""
        return Normals(generators, self.domain.dimension)

    def iterations(self) -> list[int]:
        """T of each setting."""
        return [plan.iterations for plan in self.plans]

    def uncapped_iterations(self) -> list[float]:
        """T without MAX_ITERATIONS (below 1: no step is worth its noise); inf without privacy."""
        return [self.uncapped(budget) for budget in self.budgets]

    def ledger(self) -> list[Release]:
        """T - 1 Gaussian releases, one line a setting."""
        return [Release("gaussian", plan.noise, self.sensitivity, plan.iterations - 1) for plan in self.plans]

    def bound(self) -> list[float]:
        """max Psi / (eta T) + eta V / a, for the eta in use."""
        return [self._bound(plan) for plan in self.plans]

    def _bound(self, plan: Plan) -> float:
        step = float(plan.steps[0])
        drift = step * self.second_moment(plan.noise) / self.potential.modulus
        return self.potential.maximum / (step * plan.iterations) + drift


class Normals:
    """Endless normal vectors (runs, dimension), drawn in chunks; a run draws from its generator only.

    deviations: their standard deviations, 1 or one a coordinate.
    """

    def __init__(self, generators: Sequence[np.random.Generator], dimension: int, deviations: Array | float = 1.0):
        self.deviations = deviations
        self.rounds = max(1, CHUNK_ENTRIES // (len(generators) * dimension))
        self._draw = UnitNoise("gaussian", generators, dimension)
        self._left = np.empty((0, len(generators), dimension))

    def take(self, most: int) -> Array:
        """Those of the next rounds, at least one and at most `most`: (rounds, runs, dimension)."""
        if not len(self._left):
            self._left = self._draw(self.rounds)
            if not isinstance(self.deviations, float):
                self._left *= self.deviations
        taken, self._left = self._left[:most], self._left[most:]
        return taken
