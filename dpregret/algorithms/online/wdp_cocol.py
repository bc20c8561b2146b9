"""Window-private constrained online convex optimisation with a linear oracle (WDP-COCOL).

Problem     As in ftal.py, on a polytope that is reachable only through a (local) linear oracle.
Algorithm   Lou & Cheung 2020, Alg. 2, after Garber & Hazan 2016: one step a round towards the minimiser of
              F_t(x) = <hat g_t, x> + (mu/2) sum_{s<=t} |x - x_s|^2 + (mu C0/2) |x - x_1|^2.
            line 1  rho of the local oracle; step alpha, regulariser C0
            line 2  C_W, what the noise adds to the gap
            line 3  gap constant C1 (here K)
            line 4  for t = 1..T
            line 5    hat g_t = sum_{s<=t} grad f_s(x_s) + z_t, z_t the noise of the window tree:
                      option I norm-Gamma, option II Gaussian
            line 6    radius r_t
            line 7    p_t = LLOO(x_t, r_t, grad F_t(x_t)): at most as costly as every point of the set within r_t,
                      and at most rho r_t away
            line 8    x_{t+1} = (1 - alpha) x_t + alpha p_t
            line 9    release x_{t+1}
            Lines 1 to 3 and 6 are a schedule, one class a variant, in cocol_schedules.py.
Privacy     Unit and neighbours as in wdp_cocop.py: replace one loss; only the noisy gradient sums touch the data.
Guarantee   `proved` and `unsquared` keep F_t(x_{t+1}) - min F_t <= K^2 / (mu (t + C0)) for |z_t| <= N, hence
            regret <= mu C0 D^2 / 2 + (L / mu) (2 L + sqrt(2) K) ln(1 + T / C0). Unbounded noise exceeds any N at
            times: with N its root mean square, as here, this is the size to expect, not a theorem. Of the mechanism
            the schedules use N alone: sigma sqrt(d) times the root of the most noises in a sum, which is log2 W + 1
            for the tree, G_W for `root`, sum h_j^2 over all j for `buffers`, W for `items`, and for `blocks` the most
            squared weights of a sum.
            Printed: Theorems 6 and 7.
Deviations  The cost of line 7 has the wrong sign and lacks (t + C0) x_t; C0 = (25 rho^2)^2 is squared needlessly;
            both are corrected but in the variants that say so. C_W of the (eps, delta) option is read as
            2 alpha sqrt(d) log2^1.5 W ln(1/delta) sqrt(ln(1/beta)) / ((1 - alpha) eps), consistent with Lemma 4.
            paper: printed constants and, as `printed`, the printed noise (eq. (15), (16)).
            root, buffers (Gaussian), blocks, items (norm-Gamma): as practical, with z_t of that mechanism and N from
            its own noise.
            State lives in the weights of the local oracle (see dpregret.algorithms.geometry).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Problem, Setting
from dpregret.algorithms.online.cocol_schedules import SCHEDULES, Practical, Terms, local_radius, window_constant
from dpregret.algorithms.online.noise import gradient_sums
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, NoiseDistribution, window_sums
from dpregret.core.oracles import local_step, step
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import log

VARIANTS = {name: schedule.text for name, schedule in SCHEDULES.items()}


class Local(NamedTuple):
    """gradients, points, cost (d, runs): sums over rounds, and room; weights (k, runs): of the oracle; start (d,).

    alpha, regulariser: step and C0. inner, gap, outer: the radius is outer (inner + gap sqrt(S_t / S_{t-1})) / (mu S_t)
    with S_t = t + C0, and at most the diameter. printed: whether line 7 is as printed.
    """

    gradients: Array
    points: Array
    cost: Array
    weights: Array
    start: Array
    mu: float
    diameter: float
    alpha: float
    regulariser: float
    inner: float
    growing: float
    outer: float
    printed: bool


@step.add
def _(learner: Local, loss, domain, t, x, gradient, noise, s):  # line 4
    """x_{t+1} = (1 - alpha) x_t + alpha LLOO(x_t, r_t, c_t), in the oracle's weights."""
    mu, regulariser, cost = learner.mu, learner.regulariser, learner.cost
    radius = local_radius(t, mu, regulariser, learner.outer, learner.inner, learner.growing)
    radius = min(learner.diameter, radius)  # line 6
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            learner.gradients[k, r] += gradient[k, r]
            learner.points[k, r] += x[k, r]
            private_sum = learner.gradients[k, r] + noise[k, r]  # line 5
            anchors = learner.points[k, r] + regulariser * learner.start[k]
            if learner.printed:
                cost[k, r] = anchors - private_sum / mu
            else:  # the gradient at x_t of the private F_t
                cost[k, r] = private_sum + mu * ((t + regulariser) * x[k, r] - anchors)
    local_step(domain, learner.weights, radius, learner.alpha, cost, x, s)  # lines 7, 8, 9


class LocalOracleFtal(Learner):
    """LLOO-FTAL of Garber & Hazan 2016, without privacy; subclasses add a noise plan."""

    distribution: ClassVar[NoiseDistribution] = "gaussian"
    oracle = "local"
    card = Card(
        name="lloo-ftal",
        title="LLOO-FTAL",
        paper="Garber & Hazan 2016",
        reference="Online conditional gradient for strongly convex losses",
        variants={name: text for name, text in VARIANTS.items() if name != "printed"},
        private=False,
        needs=frozenset({"local-oracle"}),
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.local = problem.domain.local_oracle()
        self.schedule = SCHEDULES.get(variant, Practical)(self._terms())  # lines 1, 2, 3

    def state(self, setting: int, runs: int) -> Any:
        """Nothing summed yet."""
        start, schedule = self.point[setting, 0].copy(), self.schedule
        sums = np.zeros((3, len(start), runs))
        weights = np.tile(self.local.lift(start[None])[0][:, None], (1, runs))
        return Local(
            sums[0],
            sums[1],
            sums[2],
            weights,
            start,
            mu=self.strong_convexity,
            diameter=float(self.domain.diameter),
            alpha=float(schedule.alpha),
            regulariser=float(schedule.regulariser[setting, 0]),
            inner=float(schedule.inner[setting, 0]),
            growing=float(schedule.growing[setting, 0]),
            outer=schedule.outer,
            printed=self.variant == "printed",
        )

    def _terms(self) -> Terms:
        """N is the root mean square of |z_t| at its largest over all rounds."""
        lipschitz, mu, diameter = self.lipschitz, self.strong_convexity, self.domain.diameter
        plan, ratio = self.noise_plan, self.local.ratio
        if plan is None:
            nothing = np.zeros((len(self.settings), 1))
            return Terms(lipschitz, mu, diameter, ratio, noise=nothing, window_constant=nothing)
        window = [
            [window_constant(plan.distribution, each.window, each.budget.epsilon, each.budget.delta, plan.dimension)]
            for each in self.settings
        ]
        return Terms(lipschitz, mu, diameter, ratio, plan.largest_norm()[:, None], np.array(window))

    def bound(self, rounds: int) -> Array:
        """mu C0 D^2 / 2 + (L/mu) (2 L + sqrt(2) K) ln(1 + t/C0) for `proved` and `unsquared`, NaN else.

        Proven without noise; with noise N is its root mean square.
        """
        if not self.schedule.proven:
            return super().bound(rounds)
        mu, lipschitz = self.strong_convexity, self.lipschitz
        regulariser, gap = self.schedule.regulariser, self.schedule.gap
        growth: Array = log(1 + np.arange(1.0, rounds + 1) / regulariser)
        slope = (lipschitz / mu) * (2 * lipschitz + math.sqrt(2) * gap)
        return mu * regulariser * self.domain.diameter**2 / 2 + slope * growth


class WdpCocolGaussian(LocalOracleFtal):
    """Option II: Gaussian noise, window (epsilon, delta)-DP."""

    card = Card(
        name="wdp-cocol-gaussian",
        title="WDP-COCOL (Gaussian)",
        paper="Lou & Cheung 2020",
        reference="Alg. 2, option II",
        variants={**VARIANTS, **ALTERNATIVES},
        windowed=True,
        needs=frozenset({"local-oracle"}),
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        sums = [window_sums(variant, setting.window) for setting in settings]
        printed = variant in ("paper", "printed")
        self.noise_plan = gradient_sums(self.distribution, sums, problem, settings, printed)
        super().__init__(problem, settings, runs, variant)


class WdpCocolGamma(WdpCocolGaussian):
    """Option I: norm-Gamma noise, pure window epsilon-DP."""

    distribution = "gamma"
    card = replace(
        WdpCocolGaussian.card,
        name="wdp-cocol-gamma",
        title="WDP-COCOL (Gamma)",
        reference="Alg. 2, option I",
        variants={**VARIANTS, **PURE_ALTERNATIVES},
    )
