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
Deviations  corrected: sigma = (2 L / n) sqrt(T - 1) / mu(epsilon, delta), exact Gaussian DP;
              T = R^2 n^2 mu^2 / (4 (G^2 + R^2)), where the noise weighs as much as the gradients;
              eta = sqrt(a max Psi / (T V)), which makes the guarantee 2 sqrt(max Psi V / (a T)).
            printed: sigma^2 = 32 L^2 T ln^2(T / delta) / (epsilon n)^2, T and eta of Theorem 3.2 as stated (T with a
              factor 1 / L^2 that does not belong there, eta without sqrt(max Psi)) and the printed potential. The
              printed line 4 puts the gradient operator around the wrong terms; the step above is meant.
            T is rounded down, at least 1 (theta_1, which reads no data) and at most MAX_ITERATIONS;
            sigma and eta are those of the T in use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dpregret.algorithms.erm.base import ErmLearner, ErmProblem
from dpregret.algorithms.erm.descent import Descent
from dpregret.algorithms.geometry import gaussian_width, make_potential
from dpregret.algorithms.privacy import Budget, Release, calibrate, gaussian_mu
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.numerics.arrays import Array

CHUNK_ENTRIES = 1 << 17
"""Random numbers held at a time, which stay in the processor's cache; no result depends on it."""


@dataclass(frozen=True)
class Plan:
    """The run of a setting: step sizes (T,), standard deviation of the noise, and T before it was capped."""

    steps: Array
    noise: float
    wanted: float

    @property
    def iterations(self) -> int:
        """T."""
        return len(self.steps)


class MirrorDescent(ErmLearner):
    """The loop of every noisy descent."""

    MAX_ITERATIONS: ClassVar[int] = 65536
    potential_name: ClassVar[str | None]
    """None: the potential made for the set's geometry."""
    averaged: ClassVar[bool] = True
    """Release the average of the iterates; else the last one."""

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        self.potential = make_potential(self.domain, self.potential_name)
        self.sensitivity = 2.0 * self.risk.lipschitz / self.risk.samples
        body = self.potential.body
        self.radius = 0.5 * body.diameter
        self.dual_square = gaussian_width(body)[0] ** 2 + self.radius**2
        self.plans = [self.plan(budget) for budget in budgets]  # line 1

    def plan(self, budget: Budget) -> Plan:
        """T, noise and step sizes for a budget."""
        wanted = self.wanted_iterations(budget)
        iterations = max(1, int(min(wanted, self.MAX_ITERATIONS)))
        noise = self.noise(budget, iterations)
        return Plan(self.steps(noise, iterations), noise, wanted)

    def wanted_iterations(self, budget: Budget) -> float:
        """T before rounding down to an integer between 1 and the cap; inf without privacy."""
        share = (self.radius * self.risk.samples) ** 2 / self.dual_square
        if self.variant != "printed":
            return share * gaussian_mu(budget) ** 2 / 4.0
        if math.isinf(budget.epsilon):
            return math.inf
        log = _log_over_delta(self.risk.samples, budget)
        return share * (budget.epsilon / (self.risk.lipschitz * log)) ** 2

    def noise(self, budget: Budget, iterations: int) -> float:
        """Standard deviation of the noise on the gradient of the average loss."""
        if self.variant != "printed":
            return calibrate("gaussian", budget, self.sensitivity, iterations - 1)
        if math.isinf(budget.epsilon):
            return 0.0
        log = _log_over_delta(iterations, budget)
        return math.sqrt(32.0 * iterations) * self.risk.lipschitz * log / (budget.epsilon * self.risk.samples)

    def steps(self, noise: float, iterations: int) -> Array:
        """Step sizes (T,); a potential that is printed too small by a factor is one whose steps are larger by it."""
        if self.variant == "printed":
            step = self.printed_factor() / (self.risk.lipschitz * self.radius * math.sqrt(iterations))
        else:
            potential = self.potential
            step = math.sqrt(potential.modulus * potential.maximum / (iterations * self.second_moment(noise)))
        return np.full(iterations, step)

    def printed_factor(self) -> float:
        """Our potential over the printed one."""
        return 1.0

    def second_moment(self, noise: float) -> float:
        """V = L^2 R^2 + sigma^2 (G^2 + R^2), half of a bound on E |gradient + noise|_{Q*}^2."""
        return (self.risk.lipschitz * self.radius) ** 2 + noise**2 * self.dual_square

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, p). Settings share their unit noises (common random numbers).

        Raises FloatingPointError when a released point is not finite.
        """
        lengths, units = [plan.iterations for plan in self.plans], self._units(generators)
        states = np.tile(self.potential.start(), (len(self.plans), self.runs, 1))  # line 2
        released = np.zeros((len(self.plans), self.runs, self.domain.dimension))
        for begun, end in pairwise([0, *sorted(set(lengths))]):
            rows = [row for row, length in enumerate(lengths) if length >= end]
            noise = np.array([self.plans[row].noise for row in rows])
            steps = np.stack([self.plans[row].steps[begun:end] for row in rows], axis=1)
            loss = getattr(self.risk, "loss", None) or self.risk.gradient
            descent = Descent(loss, self.domain, self.potential, states[rows], released[rows], self.averaged)
            while len(steps):
                some = units.take(len(steps)) if noise.any() else np.zeros((0, self.runs, self.domain.dimension))
                taken = len(some) or len(steps)
                self.apart += descent.follow(steps[:taken], noise, some)
                steps = steps[taken:]
            states[rows], released[rows] = descent.states(), descent.output()
        if self.averaged:
            released /= np.array(lengths, dtype=float)[:, None, None]  # line 5
        return self._checked(released)

    def _checked(self, released: Array) -> Array:
        if not np.isfinite(released).all():
            raise FloatingPointError(f"{self.card.name} ({self.variant}) released a point that is not finite")
        return released

    def _units(self, generators: Sequence[np.random.Generator]) -> Normals:
        """The noise, in units of its largest standard deviation."""
        return Normals(generators, self.domain.dimension)

    def iterations(self) -> list[int]:
        """T of each setting."""
        return [plan.iterations for plan in self.plans]

    def uncapped_iterations(self) -> list[float]:
        """T without MAX_ITERATIONS (below 1: no step is worth its noise); inf without privacy."""
        return [plan.wanted for plan in self.plans]

    @property
    def gaussian(self) -> bool:
        """Every gradient is one."""
        return True

    def ledger(self) -> list[Release]:
        """T - 1 Gaussian releases, one line a setting."""
        return [Release("gaussian", plan.noise, self.sensitivity, plan.iterations - 1) for plan in self.plans]

    def delivered_epsilon(self) -> list[float]:
        """Exact Gaussian DP of the T - 1 releases; 0 where there is none."""
        return [
            line.epsilon(budget.delta) if line.nodes else 0.0
            for line, budget in zip(self.ledger(), self.budgets, strict=True)
        ]

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


def _log_over_delta(number: float, budget: Budget) -> float:
    if budget.delta == 0:
        raise ValueError("Gaussian noise needs delta > 0")
    return math.log(number / budget.delta)
