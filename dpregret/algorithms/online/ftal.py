"""Follow the approximate leader, and everything that only changes the noise of its gradient sum.

Problem     Losses f_t, L-Lipschitz and mu-strongly convex on a convex set of diameter D, arrive one by one.
Algorithm   x_{t+1} = argmin over the set of sum_{s<=t} ( <g_s, x> + (mu/2) |x - x_s|^2 ), g_s = grad f_s(x_s),
            which is Proj( (sum_{s<=t} x_s - G_t / mu) / t ) with G_t = sum_{s<=t} g_s.
            Hazan, Agarwal & Kale 2007; the sum is (8) of Lou & Cheung 2020, whose (10) lacks the 1/t. In lines of their
            Alg. 1:
            line 1  for t = 1..T
            line 2    hat g_t = G_t + z_t, z_t the noise (none here)
            line 3    x_{t+1} = Proj( (sum_{s<=t} x_s - hat g_t / mu) / t )
            line 4    release x_{t+1}
Privacy     The points are a function of the (noisy) sums G_t alone. Unit: one loss; neighbours: it is replaced by
            another, which moves one summand by at most 2 L, whatever the points played: the points are public.
Guarantee   E[regret] <= L ( D + sum_{t=2}^T min( D, (L + mu D) / (mu t) + E|z_{t-1}| / (mu (t - 1)) ) ), z_t the
            noise in G_t: be-the-leader with gradients at the played points, and a projection is a contraction.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Problem, Setting
from dpregret.algorithms.privacy import Budget, NoiseDistribution, NoisePlan, PrefixSums, calibrate
from dpregret.core.oracles import project, step
from dpregret.numerics.arrays import Array
from dpregret.numerics.quotients import divisor


class Leader(NamedTuple):
    """total (d, runs): sum of points and of -gradients / mu. averaged: False where a box is printed without 1/t.

    noisy: whether there is noise to divide.
    """

    total: Array
    mu: float
    averaged: bool
    noisy: bool


@step.add
def _step_leader(leader: Leader, loss, domain, t, x, gradient, noise, scratch):  # line 1
    """x_{t+1} = Proj( (sum x_s - (G_t + z_t) / mu) / t )."""
    mu, total, over = divisor(leader.mu), leader.total, divisor(t if leader.averaged else 1.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            total[k, r] = (total[k, r] + x[k, r]) - gradient[k, r] / mu  # line 2, and the sum of line 3
            x[k, r] = (total[k, r] - noise[k, r] / mu if leader.noisy else total[k, r]) / over  # line 3
    project(domain, x, scratch)  # lines 3, 4


class FollowTheApproximateLeader(Learner):
    """Non-private FTAL; subclasses add a noise plan for the gradient sum."""

    card = Card(
        name="ftal",
        title="FTAL",
        paper="Hazan, Agarwal & Kale 2007",
        reference="Follow the approximate leader",
        variants={"plain": "its usual form"},
        private=False,
    )

    def state(self, setting: int, runs: int) -> Any:
        """Nothing summed yet."""
        return Leader(np.zeros((self.domain.dimension, runs)), self.strong_convexity, True, self.noise_plan is not None)

    def bound(self, rounds: int) -> Array:
        """The guarantee of the module."""
        time = np.arange(2, rounds + 1)
        diameter = self.domain.diameter
        drift = (self.lipschitz / self.strong_convexity + diameter) / time
        noise = np.zeros((len(self.settings), rounds - 1))
        if self.noise_plan is not None:
            noise = self.noise_plan.expected_norm(rounds - 1) / (self.strong_convexity * (time - 1))
        distance = np.minimum(diameter, drift + noise)
        first = np.full((len(self.settings), 1), diameter)
        return self.lipschitz * np.cumsum(np.concatenate([first, distance], axis=1), axis=1)


def gradient_sums(
    distribution: NoiseDistribution,
    mechanisms: Sequence[PrefixSums],
    problem: Problem,
    settings: Sequence[Setting],
    printed: bool = False,
) -> NoisePlan:
    """Noise for running sums of gradients; replacing a loss moves a gradient by at most 2 L, in l1 by 2 L sqrt(d).

    printed: the scales of Lou & Cheung 2020, eqs. (15) and (16): sensitivity L + mu D (the Lipschitz constant of the
    surrogate loss, not the distance between two gradients) and, for Gaussian noise, variance
    8 (L + mu D)^2 (log2 W + 1)^2 ln^2(2/delta) / eps^2.
    """
    norms = math.sqrt(problem.domain.dimension) if distribution == "laplace" else 1.0  # l1 over l2, at most
    sensitivity = 2 * problem.lipschitz * norms
    surrogate = problem.lipschitz + problem.strong_convexity * problem.domain.diameter
    scale, moved = (printed_scale, surrogate) if printed else (calibrate, sensitivity)
    scales = [
        scale(distribution, setting.budget, moved, mechanism.nodes_per_item)
        for setting, mechanism in zip(settings, mechanisms, strict=True)
    ]
    return NoisePlan(distribution, mechanisms, scales, sensitivity, problem.domain.dimension)


def printed_scale(distribution: NoiseDistribution, budget: Budget, sensitivity: float, nodes: float) -> float:
    """Node scale of Lou & Cheung 2020, Lemma 1 (gamma) and Lemma 3 (gaussian, standard deviation)."""
    if math.isinf(budget.epsilon):
        return 0.0
    if distribution == "gaussian":
        return math.sqrt(8) * sensitivity * nodes * budget.log_over_delta(2) / budget.epsilon
    return sensitivity * nodes / budget.epsilon
