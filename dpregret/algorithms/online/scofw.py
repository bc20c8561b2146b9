"""Strongly convex online Frank-Wolfe, plain and on windowed sums: works on any set with a linear oracle.

Problem     As in ftal.py, on a set that is reachable only through a linear oracle (no local oracle, no projection).
Algorithm   With F_t(x) = <G_t + z_t, x> + (mu/2) sum_{s<=t} |x - x_s|^2: v_t = LO(grad F_t(x_t)),
            x_{t+1} = x_t + s_t (v_t - x_t), s_t = clip( <-grad F_t(x_t), v_t - x_t> / (mu t |v_t - x_t|^2), 0, 1 ),
            the exact line search. Wan & Zhang 2021 for z = 0, regret O(T^(2/3)) on general sets.
Privacy     Unit and neighbours as in wdp_cocop.py: replace one loss that is younger than the window; only the noisy
            gradient sums touch the data. The private version is ours; z_t is the noise of the window tree, or with
            Gaussian noise that of the variant's mechanism.
Guarantee   Without noise that of Wan & Zhang; none is proved for the private version.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss, Problem, Setting
from dpregret.algorithms.online.noise import gradient_sums
from dpregret.algorithms.privacy import ALTERNATIVES, NoiseDistribution, window_sums
from dpregret.algorithms.rounds import FrankWolfe
from dpregret.core.arrays import Array
from dpregret.core.sums import vecdot

VARIANTS = {"corrected": "tight calibration"}


class StronglyConvexFrankWolfe(Learner):
    """Non-private; subclasses add a noise plan."""

    card = Card(
        name="scofw",
        title="SC-OFW",
        paper="Wan & Zhang 2021",
        reference="Online Frank-Wolfe with line search",
        variants={"plain": "as published"},
        private=False,
    )
    kernel = FrankWolfe()

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.gradient_sum = np.zeros_like(self.point)
        self.point_sum = np.zeros_like(self.point)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """One Frank-Wolfe step with exact line search on the (private) F_t."""
        self.gradient_sum += gradient
        self.point_sum += self.point
        slope = self.gradient_sum + self.strong_convexity * (self.round * self.point - self.point_sum)
        if noise is not None:
            slope += noise
        direction = self.domain.linear_oracle(slope) - self.point
        descent = -vecdot(slope, direction)
        curvature = self.strong_convexity * self.round * vecdot(direction, direction)
        step = np.clip(descent / np.maximum(curvature, np.finfo(float).tiny), 0.0, 1.0)
        self.point = self.point + step[..., None] * direction


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

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        sums = [window_sums(variant, setting.window) for setting in settings]
        self.noise_plan = gradient_sums(self.distribution, sums, problem, settings)


class WdpScofwGamma(WdpScofwGaussian):
    """Pure window epsilon-DP with norm-Gamma noise."""

    distribution = "gamma"
    card = replace(WdpScofwGaussian.card, name="wdp-scofw-gamma", title="WDP-SC-OFW (Gamma)", variants=VARIANTS)
