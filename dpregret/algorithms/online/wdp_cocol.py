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
            Lines 1 to 3 and 6 are a `Schedule`, one class a variant.
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
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, Budget, NoiseDistribution, window_sums
from dpregret.core.oracles import local_step, step
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined
from dpregret.numerics.elementary import log

FAILURE = 0.05  # beta of the printed constants


@dataclass(frozen=True)
class Terms:
    """The quantities that define a schedule. ratio: rho; noise: N, (settings, 1); window_constant: see
    `window_constant`."""

    lipschitz: float
    strong_convexity: float
    diameter: float
    ratio: float
    noise: Array
    window_constant: Array


class Schedule(NamedTuple):
    """Step `alpha`, regulariser C0, gap constant K and radius, every constant with its source.

    Setting. F_t has the Hessian mu S_t I, S_t = t + C0, a = alpha, r = rho of the local oracle, |z_t| <= N.
    h_t = F_t - min F_t with clean sums. The invariant h_{t-1}(x_t) <= K^2 / (mu S_{t-1}) holds at t = 1, since x_1
    minimises the regulariser. It is kept as follows.

    Drift. F_t adds a loss whose gradient is at most L, so h_t(x_t) <= h_{t-1}(x_t) + L |x_t - argmin F_t|, a distance
    of at most sqrt(2 h_t(x_t) / (mu S_t)). Hence sqrt(h_t(x_t)) <= sqrt(h_{t-1}(x_t)) + L sqrt(2 / (mu S_t)), at most
    A / sqrt(mu S_t) with A = g K + sqrt(2) L, g = sqrt(S_t / S_{t-1}) <= 1 + 1 / (2 C0), and the minimiser is within
    the radius r_t = sqrt(2) A / (mu S_t) of x_t.
    Step. The oracle's answer p costs at most as much as the minimiser for the noisy gradient and |p - x_t| <= r r_t, so
      h_t(x_{t+1}) <= (1 - a) h_t(x_t) + a (1 + r) N r_t + (a r)^2 mu S_t r_t^2 / 2,
    and with M = (1 + r) N the invariant is kept where
      (1 - a + a^2 r^2) A^2 + sqrt(2) a M A <= K^2.                                                                 (*)

    regulariser, gap (settings, 1): C0 and K. inner, growing (settings, 1), outer: of `local_radius`.
    """

    alpha: float
    regulariser: Array
    gap: Array
    inner: Array
    growing: Array
    outer: float

    def at(self, setting: int) -> Any:
        """Its numbers in one setting."""
        numbers: Any = (float(part[setting, 0] if isinstance(part, np.ndarray) else part) for part in self)
        return Schedule(*numbers)


@inlined
def local_radius(t, mu, schedule):
    """r_t = outer (inner + growing sqrt(S_t / S_{t-1})) / (mu S_t), S_t = t + C0; not yet capped by the diameter."""
    curvature = t + schedule.regulariser
    growing = schedule.growing * np.sqrt(curvature / (curvature - 1.0))
    return schedule.outer * (schedule.inner + growing) / (mu * curvature)


def inductive(terms: Terms, alpha: float, regulariser: Array, gap: Array) -> Schedule:
    """With the radius of the proof, sqrt(2) (sqrt(2) L + K sqrt(S_t / S_{t-1})) / (mu S_t)."""
    inner = np.full_like(gap, math.sqrt(2) * terms.lipschitz)
    return Schedule(alpha, regulariser, gap, inner, growing=gap, outer=math.sqrt(2))


def unsquared(terms: Terms) -> Schedule:
    """The printed alpha = 1 / (5 r^2) with C0 = 25 r^2 = 5 / a; the printed square on C0 is not needed.

    Then a^2 r^2 = a / 5 and g <= 1 + a / 10. Without noise (*) needs K (0.4 a - a / 10) >= sqrt(2) L, that is
    K >= 23.6 r^2 L: the printed factor 26 is enough. With noise K >= 25 sqrt(2) r^2 L makes sqrt(2) L <= a K / 5 and
    K >= 5 sqrt(2) M makes sqrt(2) M <= K / 5, so A <= (1 + 0.3 a) K and the left side of (*) is at most
    (1 - 0.8 a) (1 + 0.3 a)^2 + (a / 5) (1 + 0.3 a) < 1 - 0.3 a^2 in units of K^2. Rounded up: 35.4 and 7.1.
    """
    square = terms.ratio**2
    clean = np.where(terms.noise > 0, 35.4, 26.0) * square * terms.lipschitz
    gap = np.maximum(clean, 7.1 * (1 + terms.ratio) * terms.noise)
    return inductive(terms, 1 / (5 * square), np.full_like(terms.noise, 25 * square), gap)


def proved(terms: Terms) -> Schedule:
    """alpha = 1 / (2 r^2), which minimises 1 - a + a^2 r^2 = 1 - a / 2.

    Without noise C0 = 8 r^2 = 4 / a and K = 16 sqrt(2) r^2 L: g <= 1 + a / 8, sqrt(2) L = a K / 8, and
    (1 - a / 2) (1 + a / 4)^2 <= 1. With noise C0 = 16 r^2 and K >= 32 sqrt(2) r^2 L, both terms half as large, and
    K >= 4 sqrt(2) M, so sqrt(2) M <= K / 4: (1 - a / 2) (1 + a / 8)^2 + (a / 4) (1 + a / 8) < 1 - a^2 / 13.
    """
    square, noisy = terms.ratio**2, terms.noise > 0
    factor = np.where(noisy, 32 * math.sqrt(2), 16 * math.sqrt(2))
    spread = 4 * math.sqrt(2) * (1 + terms.ratio) * terms.noise
    gap = np.maximum(factor * square * terms.lipschitz, spread)
    return inductive(terms, 1 / (2 * square), np.where(noisy, 16 * square, 8 * square), gap)


def practical(terms: Terms) -> Schedule:
    """Ours, without a theorem: the alpha of `proved`, C0 = 1, the radius in its order, (rho^2 L + N) / (mu (t + 1))."""
    square, zeros = terms.ratio**2, np.zeros_like(terms.noise)
    inner = square * terms.lipschitz + terms.noise
    return Schedule(1 / (2 * square), np.ones_like(terms.noise), zeros, inner, growing=zeros, outer=1.0)


def paper(terms: Terms) -> Schedule:
    """Lines 1 to 3 and 6 as printed: alpha, C0 = (25 rho^2)^2, C1 = 26 rho^2 (L + mu D) (1 + C_W), called gap.

    The radius is sqrt(4 eta_t / (mu (t + C0))) + 2 (L + mu D) / (mu (t + C0)) with eta_t = C1^2 / (mu (t + C0)).
    """
    square = terms.ratio**2
    alpha = 1 / (5 * square)
    surrogate = terms.lipschitz + terms.strong_convexity * terms.diameter
    window = 2 * alpha / (1 - alpha) * terms.window_constant
    gap = 26 * square * surrogate * (1 + window)
    regulariser = np.full_like(terms.noise, (25 * square) ** 2)
    return Schedule(alpha, regulariser, gap, gap + surrogate, growing=np.zeros_like(terms.noise), outer=2.0)


SCHEDULES = {"practical": practical, "proved": proved, "unsquared": unsquared, "paper": paper, "printed": paper}
PROVEN = ("proved", "unsquared")
"""Schedules for which (*) holds, and with it the guarantee."""
VARIANTS = {
    "practical": "corrected step, alpha = 1/(2 rho^2), C0 = 1, radius from the expected drift",
    "proved": "corrected step, constants that close the induction with the fewest assumptions",
    "unsquared": "corrected step, printed alpha, C0 = 25 rho^2",
    "paper": "corrected step, printed constants",
    "printed": "Alg. 2 to the letter, wrong sign in line 7 included",
}


def window_constant(distribution: NoiseDistribution, window: int, budget: Budget, dimension: int) -> float:
    """C_W (1 - alpha) / (2 alpha) of line 2, at failure probability FAILURE; 0 without privacy.

    norm-Gamma: d log2^1.5 W ln(d/beta) / eps. Gaussian: sqrt(d) log2^1.5 W ln(1/delta) sqrt(ln(1/beta)) / eps.
    """
    if math.isinf(budget.epsilon):
        return 0.0
    depth = float(math.log2(window) ** 1.5)
    if distribution == "gamma":
        return dimension * depth * math.log(dimension / FAILURE) / budget.epsilon
    tail = budget.log_over_delta() * math.sqrt(math.log(1 / FAILURE))
    return math.sqrt(dimension) * depth * tail / budget.epsilon


class Local(NamedTuple):
    """gradients, points, cost (d, runs): sums over rounds, and scratch; weights (k, runs): of the oracle; start (d,).

    schedule: of the setting; the radius is at most the diameter. printed: whether line 7 is as printed.
    """

    gradients: Array
    points: Array
    cost: Array
    weights: Array
    start: Array
    mu: float
    diameter: float
    schedule: Schedule
    printed: bool


@step.add
def _step_local(learner: Local, loss, domain, t, x, gradient, noise, scratch):  # line 4
    """x_{t+1} = (1 - alpha) x_t + alpha LLOO(x_t, r_t, c_t), in the oracle's weights."""
    mu, regulariser, cost = learner.mu, learner.schedule.regulariser, learner.cost
    radius = min(learner.diameter, local_radius(t, mu, learner.schedule))  # line 6
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
    local_step(domain, learner.weights, radius, learner.schedule.alpha, cost, x, scratch)  # lines 7, 8, 9


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

    def prepare(self) -> None:
        self.local = self.domain.local_oracle()
        self.schedule = SCHEDULES.get(self.variant, practical)(self._terms())  # lines 1, 2, 3

    def state(self, setting: int, runs: int) -> Any:
        """Nothing summed yet."""
        start, mu, diameter = self.point[setting, 0].copy(), self.strong_convexity, float(self.domain.diameter)
        gradients, points, cost = np.zeros((3, len(start), runs))
        weights = np.tile(self.local.lift(start[None])[0][:, None], (1, runs))
        schedule, printed = self.schedule.at(setting), self.variant == "printed"
        return Local(gradients, points, cost, weights, start, mu, diameter, schedule, printed)

    def _terms(self) -> Terms:
        """N is the root mean square of |z_t| at its largest over all rounds."""
        constants = self.lipschitz, self.strong_convexity, self.domain.diameter, self.local.ratio
        plan, noise, window = self.noise_plan, np.zeros(len(self.settings)), np.zeros(len(self.settings))
        if plan is not None:
            noise = plan.largest_norm()
            law, dimension = plan.distribution, plan.dimension
            window = np.array([window_constant(law, s.window, s.budget, dimension) for s in self.settings])
        return Terms(*constants, noise[:, None], window[:, None])

    def bound(self, rounds: int) -> Array:
        """mu C0 D^2 / 2 + (L/mu) (2 L + sqrt(2) K) ln(1 + t/C0) for `proved` and `unsquared`, NaN else.

        Proven without noise; with noise N is its root mean square.
        """
        if self.variant not in PROVEN:
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

    def prepare(self) -> None:
        sums = [window_sums(self.variant, setting.window) for setting in self.settings]
        printed = self.variant in ("paper", "printed")
        self.noise_plan = gradient_sums(self.distribution, sums, self.problem, self.settings, printed)
        super().prepare()


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
