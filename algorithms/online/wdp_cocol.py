"""Window-private constrained online convex optimisation with a linear oracle (WDP-COCOL).

Problem     As in ftal.py, on a polytope that is reachable only through a (local) linear oracle.
Algorithm   Lou & Cheung 2020, Alg. 2, after Garber & Hazan 2016: with
              F_t(x) = <G_t + z_t, x> + (mu/2) sum_{s<=t} |x - x_s|^2 + (mu C0/2) |x - x_1|^2
            one step x_{t+1} = (1 - alpha) x_t + alpha p_t, p_t = LLOO(x_t, r_t, grad F_t(x_t)), where LLOO minimises
            over the points of the set within r_t and moves at most rho r_t.
Privacy     As WDP-COCOP: only the noisy gradient sums touch the data.
Guarantee   `proved` and `unsquared` keep F_t(x_{t+1}) - min F_t <= K^2 / (mu (t + C0)) for |z_t| <= N, hence
            regret <= mu C0 D^2 / 2 + (L / mu) (2 L + sqrt(2) K) ln(1 + T / C0). Unbounded noise exceeds any N at
            times: with N its root mean square, as here, this is the size to expect, not a theorem.
            Printed: Theorems 6 and 7.
Deviations  The cost of line 7 has the wrong sign and lacks (t + C0) x_t; C0 = (25 rho^2)^2 is squared needlessly;
            both are corrected but in the variants that say so. C_W of the (eps, delta) option is read as
            2 alpha sqrt(d) log2^1.5 W ln(1/delta) sqrt(ln(1/beta)) / ((1 - alpha) eps), consistent with Lemma 4.
            State lives in the weights of the local oracle (see dpregret.algorithms.geometry).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss, Problem, Setting
from dpregret.algorithms.online.noise import gradient_sums
from dpregret.algorithms.privacy import NoiseDistribution, WindowTree, root_mean_square_norm
from dpregret.core.arrays import Array

FAILURE = 0.05  # beta of the printed constants

VARIANTS = {
    "practical": "corrected step, alpha = 1/(2 rho^2), C0 = 1, radius from the expected drift",
    "proved": "corrected step, constants that close the induction with the fewest assumptions",
    "unsquared": "corrected step, printed alpha, C0 = 25 rho^2",
    "paper": "corrected step, printed constants",
    "printed": "Alg. 2 to the letter, wrong sign in line 7 included",
}


@dataclass(frozen=True)
class Schedule:
    """Step alpha, regulariser C0 and gap constant K (arrays (settings, 1)) of the induction."""

    alpha: float
    regulariser: Array
    gap: Array


class LocalOracleFtal(Learner):
    """LLOO-FTAL of Garber & Hazan 2016, without privacy; subclasses add a noise plan."""

    distribution: ClassVar[NoiseDistribution] = "gaussian"
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
        self.oracle = problem.domain.local_oracle()
        self.start = self.point
        self.weights = self.oracle.lift(self.point)
        self.gradient_sum = np.zeros_like(self.point)
        self.point_sum = np.zeros_like(self.point)
        self.schedule = self._schedule()

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """x_{t+1} = (1 - alpha) x_t + alpha LLOO(x_t, r_t, c_t), in the oracle's weights."""
        self.gradient_sum += gradient
        self.point_sum += self.point
        private_sum = self.gradient_sum if noise is None else self.gradient_sum + noise
        answer = self.oracle.answer(self.weights, self._radius(), self._cost(private_sum))
        self.weights = self.weights + self.schedule.alpha * (answer - self.weights)
        self.point = self.oracle.point(self.weights)

    def _cost(self, private_sum: Array) -> Array:
        """Gradient at x_t of the private F_t, or what line 7 prints in its place."""
        regulariser = self.schedule.regulariser[..., None]
        anchors = self.point_sum + regulariser * self.start
        if self.variant == "printed":
            return anchors - private_sum / self.strong_convexity
        return private_sum + self.strong_convexity * ((self.round + regulariser) * self.point - anchors)

    def _radius(self) -> Array:
        """r_t, shape (settings, 1)."""
        mu, lipschitz, diameter = self.strong_convexity, self.lipschitz, self.domain.diameter
        ratio, regulariser, gap = self.oracle.ratio, self.schedule.regulariser, self.schedule.gap
        if self.variant in ("paper", "printed"):
            radius = 2 * (gap + lipschitz + mu * diameter) / (mu * (self.round + regulariser))
        elif self.variant == "practical":
            radius = (ratio**2 * lipschitz + self._noise_norm()) / (mu * (self.round + 1))
        else:
            curvature = self.round + regulariser
            growth = np.sqrt(curvature / (curvature - 1))
            radius = math.sqrt(2) * (math.sqrt(2) * lipschitz + gap * growth) / (mu * curvature)
        return np.minimum(diameter, radius)

    def _noise_norm(self) -> Array:
        """N: bound on the root mean square of |z_t| over all rounds, (settings, 1)."""
        plan = self.noise_plan
        if plan is None:
            return np.zeros((len(self.settings), 1))
        unit = root_mean_square_norm(plan.distribution, plan.dimension)
        pairs = zip(plan.scales, plan.mechanisms, strict=True)
        return np.array([[scale * unit * math.sqrt(sums.nodes_per_item)] for scale, sums in pairs])

    def _schedule(self) -> Schedule:
        square, lipschitz, noise = self.oracle.ratio**2, self.lipschitz, self._noise_norm()
        spread = 1 + self.oracle.ratio
        noisy = noise > 0
        if self.variant == "proved":
            regulariser = np.where(noisy, 16 * square, 8 * square)
            factor = np.where(noisy, 32 * math.sqrt(2), 16 * math.sqrt(2))
            return Schedule(
                1 / (2 * square),
                regulariser,
                np.maximum(factor * square * lipschitz, 4 * math.sqrt(2) * spread * noise),
            )
        if self.variant == "unsquared":
            clean = np.where(noisy, 35.4, 26.0) * square * lipschitz
            gap = np.maximum(clean, 7.1 * spread * noise)
            return Schedule(1 / (5 * square), np.full_like(noise, 25 * square), gap)
        if self.variant == "practical":
            return Schedule(1 / (2 * square), np.ones_like(noise), np.zeros_like(noise))
        alpha = 1 / (5 * square)
        surrogate = lipschitz + self.strong_convexity * self.domain.diameter
        gap = 26 * square * surrogate * (1 + self._printed_window_constant(alpha))
        return Schedule(alpha, np.full_like(noise, (25 * square) ** 2), gap)

    def _printed_window_constant(self, alpha: float) -> Array:
        """C_W of Lou & Cheung 2020, Alg. 2, line 2, at failure probability FAILURE."""
        dimension = self.domain.dimension
        constants = []
        for setting in self.settings:
            depth, epsilon = math.log2(setting.window) ** 1.5, setting.budget.epsilon
            if self.noise_plan is None or math.isinf(epsilon):
                constants.append([0.0])
            elif self.distribution == "gamma":
                constants.append([dimension * depth * math.log(dimension / FAILURE) / epsilon])
            else:
                tail = math.log(1 / setting.budget.delta) * math.sqrt(math.log(1 / FAILURE))
                constants.append([math.sqrt(dimension) * depth * tail / epsilon])
        return 2 * alpha / (1 - alpha) * np.array(constants)

    def bound(self, rounds: int) -> Array:
        """mu C0 D^2 / 2 + (L/mu) (2 L + sqrt(2) K) ln(1 + t/C0) for `proved` and `unsquared`, NaN else.

        Proven without noise; with noise N is its root mean square.
        """
        if self.variant not in ("proved", "unsquared"):
            return super().bound(rounds)
        mu, lipschitz = self.strong_convexity, self.lipschitz
        regulariser, gap = self.schedule.regulariser, self.schedule.gap
        growth = np.log1p(np.arange(1.0, rounds + 1) / regulariser)
        slope = (lipschitz / mu) * (2 * lipschitz + math.sqrt(2) * gap)
        return mu * regulariser * self.domain.diameter**2 / 2 + slope * growth


class WdpCocolGaussian(LocalOracleFtal):
    """Option II: Gaussian noise, window (epsilon, delta)-DP."""

    card = Card(
        name="wdp-cocol-gaussian",
        title="WDP-COCOL (Gaussian)",
        paper="Lou & Cheung 2020",
        reference="Alg. 2, option II",
        variants=VARIANTS,
        windowed=True,
        needs=frozenset({"local-oracle"}),
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        trees = [WindowTree(setting.window) for setting in settings]
        printed = variant in ("paper", "printed")
        self.noise_plan = gradient_sums(self.distribution, trees, problem, settings, printed)
        super().__init__(problem, settings, runs, variant)


class WdpCocolGamma(WdpCocolGaussian):
    """Option I: norm-Gamma noise, pure window epsilon-DP."""

    distribution = "gamma"
    card = Card(
        name="wdp-cocol-gamma",
        title="WDP-COCOL (Gamma)",
        paper="Lou & Cheung 2020",
        reference="Alg. 2, option I",
        variants=VARIANTS,
        windowed=True,
        needs=frozenset({"local-oracle"}),
    )
