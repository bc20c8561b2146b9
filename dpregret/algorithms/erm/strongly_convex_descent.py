"""Noisy projected gradient descent for D-strongly convex losses.

Algorithm   Talwar, Thakurta & Zhang 2015, Theorem A.1: Alg. 1, see mirror_descent.py, with the Euclidean potential
            and steps that shrink like 1 / t.
Privacy     Unit: one record; neighbours: it is replaced by another. As in mirror_descent.py.
Guarantee   sum_t eta_t (L^2 + sigma^2 p) / (2 T): the Bregman distances telescope, since 1 / eta_t - 1 / eta_{t-1} <= D
            and 1 / eta_1 <= D. Theorem A.1 is its order.
Deviations  corrected: eta_t = 1 / (D t), the proof's, at its own round; T and noise as in Alg. 1.
            printed: eta_{t+1} with eta_t = 2 / (D t), T = (R n epsilon)^2 / (G^2 + R^2), noise of Alg. 1.
"""

import numpy as np

from dpregret.algorithms.erm.mirror_descent import MirrorDescent, Plan
from dpregret.algorithms.erm.noisy_descent import talwar_card
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array


class NoisyStronglyConvexDescent(MirrorDescent):
    """Projected gradient descent with steps that shrink like 1 / t."""

    MAX_ITERATIONS = 1 << 23
    potential_name = "euclidean"
    card = talwar_card("noisy-gd-strong", "noisy GD (strongly convex)", "Thm. A.1", "strongly-convex")

    def uncapped(self, budget: Budget) -> float:
        """As Alg. 1; printed: (R n epsilon)^2 / (G^2 + R^2)."""
        if self.variant != "printed":
            return super().uncapped(budget)
        return (self.radius * self.risk.samples * budget.epsilon) ** 2 / self.dual_square

    def steps(self, noise: float, iterations: int) -> Array:
        """1 / (D t), printed 2 / (D (t + 1))."""
        rounds = np.arange(1.0, iterations + 1)
        inverse = 0.5 * (rounds + 1.0) if self.variant == "printed" else rounds
        return 1.0 / (self.risk.strong_convexity * inverse)

    def _bound(self, plan: Plan) -> float:
        square = self.risk.lipschitz**2 + plan.noise**2 * self.domain.dimension
        return 0.5 * square * float(plan.steps.mean())
