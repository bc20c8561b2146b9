"""Private online convex programming (POCP): hidden iterates, each released once with fresh noise.

Problem     As in ftal.py.
Algorithm   Jain, Kothari & Thakurta 2012. Hidden x_t descends on f_t at the hidden point; what is played is
            xhat_{t+1} = Proj( x_{t+1} + N(0, (beta / t)^2 I) ).
            IGD, implicit:  x_{t+1} = Proj( prox of f_t at x_t with step eta_t ), eta_t = 1 / (mu t).
            GIGA, explicit: x_{t+1} = Proj( x_t - eta_t grad f_t(x_t) ), eta_t = 1 / (mu (t + t0)),
                            t0 = ceil(smoothness / mu) - 1, so that a step contracts by 1 - mu eta_t.
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another; (epsilon, delta)-DP. Two proximal
            steps from one point with different losses end within 2 L eta_s / (1 + mu eta_s) = 2 L / (mu (s + 1)) of
            each other, two explicit ones within 2 L eta_s; a later step j contracts by j / (j + 1), or by
            1 - mu eta_j. The products telescope: x_{t+1}, t >= s, moves by at most 2 L / (mu (t + 1)), or
            2 L / (mu (t + t0)). So there are T Gaussian releases of sensitivity at most lambda / t and standard
            deviation beta / t, lambda = 2 L / mu.
            L and mu are needed at the proximal point, which on all streams here lies in the set or where they hold.
Guarantee   O( sqrt(d T) ln^2(T / delta) / epsilon ) (Lou & Cheung 2020, Table I, where it is called POCG).
Deviations  The implicit step is the projection of the proximal point, not the proximal point of the set: both are
            contractions.
            corrected: beta = lambda sqrt(T) / mu(epsilon, delta).
            printed: the original calibration, which delivers a constant multiple of epsilon, beta = lambda T^(1/2+c)
            sqrt( (2/eps) (ln(T/delta) + sqrt(eps) / T^(1/2+c)) ) with T^c = sqrt( ln(2/delta) / (2 eps) ).
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.privacy import Budget, NoisePerPrefix, NoisePlan, calibrate
from dpregret.core.oracles import project, prox_at, slope_at, step
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined

VARIANTS = {"corrected": "tight Gaussian-DP calibration", "printed": "calibration of the original paper"}


class Implicit(NamedTuple):
    """hidden (d, runs): the iterate that is not released."""

    hidden: Array
    mu: float


class Explicit(NamedTuple):
    """hidden, gradient (d, runs), value (runs,): the iterate that is not released, and scratch for the loss there."""

    hidden: Array
    gradient: Array
    value: Array
    mu: float
    delay: float


@step.add
def _(learner: Implicit, loss, domain, t, x, gradient, noise, s):
    """A hidden proximal step, then one release with standard deviation beta / t."""
    prox_at(loss, learner.hidden, 1.0 / (learner.mu * t), s)
    release(learner.hidden, domain, t, x, noise, s)


@step.add
def _(learner: Explicit, loss, domain, t, x, gradient, noise, s):
    """A hidden gradient step, then the same release."""
    slope_at(loss, learner.hidden, learner.gradient, learner.value, s)
    eta = 1.0 / (learner.mu * (t + learner.delay))
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            learner.hidden[k, r] -= learner.gradient[k, r] * eta
    release(learner.hidden, domain, t, x, noise, s)


@inlined
def release(hidden, domain, t, x, noise, s):
    """Project the hidden iterate, and play it with fresh noise, projected again."""
    project(domain, hidden, s)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] = hidden[k, r] + noise[k, r] / t
    project(domain, x, s)


class PocpIgd(Learner):
    """POCP with implicit gradient descent (one proximal step, two projections)."""

    card = Card(
        name="pocp-igd",
        title="POCP (IGD)",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Implicit gradient descent",
        variants=VARIANTS,
        anytime=False,
    )
    calls = 2

    def prepare(self) -> None:
        sensitivity = 2 * self.lipschitz / self.strong_convexity
        mechanisms = [NoisePerPrefix(self.horizon)] * len(self.settings)
        if self.variant == "printed":
            scales = [sensitivity * printed_factor(self.horizon, budget) for budget in self.budgets]
        else:
            scales = [calibrate("gaussian", budget, sensitivity, self.horizon) for budget in self.budgets]
        self.noise_plan = NoisePlan("gaussian", mechanisms, scales, sensitivity, self.domain.dimension)

    def state(self, setting: int, runs: int) -> Any:
        """The first point."""
        return Implicit(np.tile(self.point[setting, 0][:, None], (1, runs)), self.strong_convexity)

    def displacement(self, rounds: int) -> Array:
        """beta sqrt(d) / t: the noise is added to the point itself."""
        return self.strong_convexity * super().displacement(rounds)


class PocpGiga(PocpIgd):
    """POCP with generalised infinitesimal gradient ascent (two projections, smooth losses only)."""

    card = replace(
        PocpIgd.card,
        name="pocp-giga",
        title="POCP (GIGA)",
        reference="Generalised infinitesimal gradient ascent",
        needs=frozenset({"smooth"}),
    )

    def state(self, setting: int, runs: int) -> Any:
        hidden = super().state(setting, runs).hidden
        delay = float(math.ceil(self.problem.smoothness / self.strong_convexity) - 1)
        return Explicit(hidden, np.zeros_like(hidden), np.zeros(runs), self.strong_convexity, delay)


def printed_factor(horizon: int, budget: Budget) -> float:
    """beta / lambda as calibrated by Jain, Kothari & Thakurta 2012; 0 for epsilon = inf."""
    if math.isinf(budget.epsilon):
        return 0.0
    growth = np.sqrt(horizon) * math.sqrt(budget.log_over_delta(2) / (2 * budget.epsilon))
    inside = budget.log_over_delta(horizon) + math.sqrt(budget.epsilon) / growth
    return float(growth * math.sqrt(2 / budget.epsilon * inside))
