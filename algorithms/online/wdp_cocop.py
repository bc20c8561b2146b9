"""Window-private constrained online convex optimisation with projection (WDP-COCOP).

Algorithm   Lou & Cheung 2020, Alg. 1: FTAL on gradient sums from the window tree mechanism;
            option I norm-Gamma noise (window eps-DP), option II Gaussian noise (window (eps, delta)-DP).
Privacy     Replace one loss that is younger than the window; the released points are protected, at the horizon at
            which they are looked at. After expiry nothing is promised. An item lies in log2 W + 1 nodes and moves
            each by at most 2 L.
Guarantee   See ftal.py; printed: Theorems 3 and 4.
Deviations  corrected: division by t (the printed line 3 lacks it), sensitivity 2 L in place of L + mu D, exact
            Gaussian-DP calibration. printed-noise: only the step is corrected. printed: to the letter.
"""

from collections.abc import Sequence
from typing import ClassVar

from dpregret.algorithms.learner import Card, Problem, Setting
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader
from dpregret.algorithms.online.noise import gradient_sums
from dpregret.algorithms.privacy import NoiseDistribution, WindowTree

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
        variants=VARIANTS,
        windowed=True,
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.averaged = variant != "printed"
        trees = [WindowTree(setting.window) for setting in settings]
        self.noise_plan = gradient_sums(self.distribution, trees, problem, settings, printed=variant != "corrected")


class WdpCocopGaussian(WdpCocopGamma):
    """Option II: Gaussian noise, window (epsilon, delta)-DP."""

    distribution = "gaussian"
    card = Card(
        name="wdp-cocop-gaussian",
        title="WDP-COCOP (Gaussian)",
        paper="Lou & Cheung 2020",
        reference="Alg. 1, option II",
        variants=VARIANTS,
        windowed=True,
    )


class WdpCocopSolver(WdpCocopGaussian):
    """The same learner where every projection is a call of a convex solver: a row of the cost table, not a method."""

    card = Card(
        name="wdp-cocop-solver",
        title="WDP-COCOP (Gaussian), projection by a solver",
        paper="Lou & Cheung 2020",
        reference="Alg. 1, option II",
        variants={"corrected": VARIANTS["corrected"]},
        windowed=True,
        needs=frozenset({"solver"}),
    )
