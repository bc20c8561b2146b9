"""Strongly convex online Frank-Wolfe, plain and on windowed sums: works on any set with a linear oracle.

Problem     As in ftal.py, on a set that is reachable only through a linear oracle (no local oracle, no projection).
Algorithm   With F_t(x) = <G_t + z_t, x> + (mu/2) sum_{s<=t} |x - x_s|^2: v_t = LO(grad F_t(x_t)),
            x_{t+1} = x_t + s_t (v_t - x_t), s_t = clip( <-grad F_t(x_t), v_t - x_t> / (mu t |v_t - x_t|^2), 0, 1 ),
            the exact line search. Wan & Zhang 2021 for z = 0, regret O(T^(2/3)) on general sets.
Privacy     Unit and neighbours as in wdp_cocop.py: replace one loss that is younger than the window; only the noisy
            gradient sums touch the data. z_t is the noise of the window tree, or with Gaussian noise that of the
            variant's mechanism.
Guarantee   Without noise that of Wan & Zhang; none is proved for the private version.
Deviations  The private version is ours. Han et al. (ICML 2022; their abstract was read) have another private online
            Frank-Wolfe method: recursive gradients of records from one distribution, a point released at each record,
            and a bound on excess risk in place of regret.
"""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, NoiseDistribution, window_sums
from dpregret.core.oracles import inner, step, vertex
from dpregret.numerics.arrays import Array

TINY = float(np.finfo(float).tiny)

VARIANTS = {"corrected": "tight calibration"}


class FrankWolfe(NamedTuple):
    """gradients, points (d, runs): sums over rounds; slope, direction (d, runs), descent (runs,): scratch."""

    gradients: Array
    points: Array
    slope: Array
    direction: Array
    descent: Array
    mu: float


@step.add
def _step_frank_wolfe(learner: FrankWolfe, loss, domain, t, x, gradient, noise, scratch):
    """One Frank-Wolfe step with exact line search on the (private) F_t."""
    mu, slope, direction, descent = learner.mu, learner.slope, learner.direction, learner.descent
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            learner.gradients[k, r] += gradient[k, r]
            learner.points[k, r] += x[k, r]
            slope[k, r] = (learner.gradients[k, r] + noise[k, r]) + mu * (t * x[k, r] - learner.points[k, r])
    vertex(domain, slope, direction, scratch)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            direction[k, r] -= x[k, r]
    inner(slope, direction, descent, scratch)
    inner(direction, direction, scratch[8], scratch)
    for r in range(x.shape[1]):
        scratch[8, r] = min(max(-descent[r] / max(mu * t * scratch[8, r], TINY), 0.0), 1.0)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[k, r] += scratch[8, r] * direction[k, r]


class StronglyConvexFrankWolfe(Learner):
    """Non-private; subclasses add a noise plan."""

    card = Card(
        name="scofw",
        title="SC-OFW",
        paper="Wan & Zhang 2021",
        reference="Online Frank-Wolfe with line search",
        variants={"plain": "its usual form"},
        private=False,
    )
    oracle = "vertex"

    def state(self, setting: int, runs: int) -> Any:
        """Nothing summed yet."""
        sums = np.zeros((4, self.domain.dimension, runs))
        return FrankWolfe(sums[0], sums[1], sums[2], sums[3], np.zeros(runs), self.strong_convexity)


class WdpScofwGaussian(StronglyConvexFrankWolfe):
    """Window (epsilon, delta)-DP with Gaussian noise."""

    distribution: ClassVar[NoiseDistribution] = "gaussian"
    card = Card(
        name="wdp-scofw-gaussian",
        title="WDP-SC-OFW (Gaussian)",
        paper="dpregret",
        reference="strongly convex OFW on the window tree",
        variants={**VARIANTS, **ALTERNATIVES},
        windowed=True,
    )

    def prepare(self) -> None:
        sums = [window_sums(self.variant, setting.window) for setting in self.settings]
        self.noise_plan = gradient_sums(self.distribution, sums, self.problem, self.settings)


class WdpScofwGamma(WdpScofwGaussian):
    """Pure window epsilon-DP with norm-Gamma noise."""

    distribution = "gamma"
    card = replace(
        WdpScofwGaussian.card,
        name="wdp-scofw-gamma",
        title="WDP-SC-OFW (Gamma)",
        variants={**VARIANTS, **PURE_ALTERNATIVES},
    )
