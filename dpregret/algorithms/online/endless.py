"""FTAL that protects every loss permanently and needs no horizon.

Algorithm   FTAL of ftal.py on gradient sums from the unbounded Toeplitz mechanism (Jacobsen & Fawaz 2025): trees, roots
            and buffers are scaled for the rounds there will be, this one has one scale for all rounds.
Privacy     Unit: one loss, whole sequence of any length; neighbours: it is replaced by another, which moves a gradient
            by at most 2 L. (epsilon, delta)-DP by exact Gaussian DP, approached as the sequence grows.
Guarantee   See ftal.py. E|z_t|^2 grows like (ln t)^(1 + 2 beta), regret like (ln T)^(3/2 + beta), beta = 3/4.
"""

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader, gradient_sums
from dpregret.algorithms.privacy.toeplitz import UnboundedToeplitz


class EndlessLeader(FollowTheApproximateLeader):
    """Beside `NoisePerGradient` the other anytime learner that protects whole sequences."""

    card = Card(
        name="ftal-endless",
        title="FTAL (endless)",
        paper="dpregret",
        reference="FTAL on the unbounded Toeplitz mechanism",
        variants={"corrected": "one noise scale for all rounds"},
    )

    def prepare(self) -> None:
        sums = [UnboundedToeplitz()] * len(self.settings)
        self.noise_plan = gradient_sums("gaussian", sums, self.problem, self.settings)
