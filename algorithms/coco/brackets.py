"""Brackets: simple ways to be private that any mechanism must beat, and the learner that never moves."""

from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.arrays import Array
from dpregret.algorithms.coco.ftal import FollowTheApproximateLeader
from dpregret.algorithms.coco.noise import gradient_sums
from dpregret.algorithms.learner import Card, Learner, Loss, Problem, Setting
from dpregret.algorithms.privacy import NoisePerItem, NoisePerPrefix


class NoisePerGradient(FollowTheApproximateLeader):
    """FTAL whose every gradient is noised once: local-style privacy, the noise of the sum grows like sqrt(t).

    Privacy: replace one loss, whole sequence; one Gaussian release of sensitivity 2 L an item.
    """

    card = Card(
        name="noise-per-gradient",
        title="FTAL, every gradient noised",
        paper="bracket",
        place="no tree",
        variants={"corrected": "standard deviation 2 L / mu(eps, delta)"},
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        self.noise_plan = gradient_sums("gaussian", [NoisePerItem()] * len(settings), problem, settings)


class NoisePerSum(FollowTheApproximateLeader):
    """FTAL with fresh noise on every gradient sum: an item is released up to T times.

    Privacy: replace one loss, whole sequence; T Gaussian releases of sensitivity 2 L an item.
    """

    card = Card(
        name="noise-per-prefix",
        title="FTAL, every prefix sum noised afresh",
        paper="bracket",
        place="no tree",
        variants={"corrected": "standard deviation 2 L sqrt(T) / mu(eps, delta)"},
        anytime=False,
    )

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, settings, runs, variant)
        mechanisms = [NoisePerPrefix(problem.horizon)] * len(settings)
        self.noise_plan = gradient_sums("gaussian", mechanisms, problem, settings)


class Stay(Learner):
    """Never moves: perfectly private, linear regret L D T."""

    card = Card(
        name="stay",
        title="stay at x_1",
        paper="bracket",
        place="trivial learner",
        variants={"plain": "x_t = x_1"},
        private=False,
    )

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Nothing is learnt."""

    def bound(self, rounds: int) -> Array:
        """L D T."""
        return np.tile(self.lipschitz * self.domain.diameter * np.arange(1.0, rounds + 1), (len(self.settings), 1))
