"""Window-private constrained online convex optimisation with projection (WDP-COCOP).

Problem     As in ftal.py.
Algorithm   Lou & Cheung 2020, Alg. 1:
            line 1  for t = 1..T
            line 2    hat g_t = sum_{s<=t} grad f_s(x_s) + z_t, z_t the noise of the window tree:
                      option I norm-Gamma (window eps-DP), option II Gaussian (window (eps, delta)-DP)
            line 3    x_{t+1} = Proj( (sum_{s<=t} x_s - hat g_t / mu) / t )
            line 4    release x_{t+1}
Privacy     Unit: one loss that is younger than the window; neighbours: it is replaced by another. The released points
            are protected, at the horizon at which they are looked at. After expiry nothing is promised. An item lies
            in log2 W + 1 nodes and moves each by at most 2 L.
Guarantee   See ftal.py; printed: Theorems 3 and 4.
Deviations  corrected: division by t (line 3 is printed without), sensitivity 2 L instead of L + mu D, exact
            Gaussian-DP calibration. printed-noise: only the step is corrected. printed: to the letter.
            root, buffers (Gaussian): as corrected, z_t of that mechanism instead of the tree's; an item is charged
            the squared weights of what is released of it within the window, and the guarantee has E|z_t| of the
            mechanism. blocks, items (norm-Gamma): the same with a tree a block, or one noise an item.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader, gradient_sums
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, NoiseDistribution, window_sums
from dpregret.numerics.arrays import Array

VARIANTS = {
    "corrected": "average over t, sensitivity 2 L, tight calibration",
    "printed-noise": "average over t, noise scales as printed",
    "printed": "Alg. 1 to the letter: no division by t, noise scales as printed",
}


class WdpCocopGamma(FollowTheApproximateLeader):
    """Option I: norm-Gamma noise, pure window epsilon-DP."""

    distribution: ClassVar[NoiseDistribution] = "gamma"
    card = Card(
        name="wdp-cocop-gamma",
        title="WDP-COCOP (Gamma)",
        paper="Lou & Cheung 2020",
        reference="Alg. 1, option I",
        variants={**VARIANTS, **PURE_ALTERNATIVES},
        windowed=True,
    )

    def prepare(self) -> None:
        sums = [window_sums(self.variant, setting.window) for setting in self.settings]
        printed = self.variant.startswith("printed")
        self.noise_plan = gradient_sums(self.distribution, sums, self.problem, self.settings, printed)

    def state(self, setting: int, runs: int) -> Any:
        """That of FTAL, whose round is that of Alg. 1."""
        return super().state(setting, runs)._replace(averaged=self.variant != "printed")

    def bound(self, rounds: int) -> Array:
        """That of ftal.py; NaN for the printed step."""
        return np.full((len(self.settings), rounds), np.nan) if self.variant == "printed" else super().bound(rounds)


class WdpCocopGaussian(WdpCocopGamma):
    """Option II: Gaussian noise, window (epsilon, delta)-DP."""

    distribution = "gaussian"
    card = replace(
        WdpCocopGamma.card,
        name="wdp-cocop-gaussian",
        title="WDP-COCOP (Gaussian)",
        reference="Alg. 1, option II",
        variants={**VARIANTS, **ALTERNATIVES},
    )


class WdpCocopSolver(WdpCocopGaussian):
    """The same learner where every projection is a call of a convex solver: a row of the cost table, not a method."""

    card = replace(
        WdpCocopGaussian.card,
        name="wdp-cocop-solver",
        title="WDP-COCOP (solver)",
        variants={"corrected": VARIANTS["corrected"]},
        needs=frozenset({"solver"}),
        same_as="wdp-cocop-gaussian, but for the rounding of the solver",
    )
