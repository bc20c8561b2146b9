"""Objective perturbation with norm-Gamma noise.

Problem     As in objective_perturbation.py.
Algorithm   Chaudhuri, Monteleoni & Sarwate 2011, Alg. 2: minimise the risk with a ridge R and <b, theta>,
            |b|_2 ~ Gamma(p, 2 L / (n e)), e = epsilon - ln(1 + 2 c / (n R) + c^2 / (n R)^2), c the smoothness.
Privacy     Unit: one record; neighbours: it is replaced by another; pure epsilon-DP. As in objective_perturbation.py
            the exact minimiser is assumed.
Guarantee   See `PerturbedObjective.bound`.
Deviations  The original leaves R to the user and raises it to c / (n (e^(epsilon/4) - 1)) where it is too small; here,
            where the set replaces a regulariser, it is that, and e = epsilon / 2. The original minimises over
            all of R^p.
"""

import math

from dpregret.algorithms.erm.objective_perturbation import PerturbedObjective
from dpregret.algorithms.learner import Card


class Chaudhuri(PerturbedObjective):
    """Norm-Gamma b, pure epsilon-DP."""

    distribution = "gamma"
    pure = True
    card = Card(
        name="chaudhuri",
        title="objective perturbation (pure)",
        paper="Chaudhuri, Monteleoni & Sarwate 2011",
        reference="Alg. 2",
        variants={"plain": "norm-Gamma noise, minimum over the set"},
        needs=frozenset({"rank-one", "smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        smoothness, samples = self.risk.smoothness, self.risk.samples
        self.ridges = [smoothness / (samples * math.expm1(min(budget.epsilon / 4.0, 700.0))) for budget in self.budgets]
        self.scales = [
            self.sensitivity / (budget.epsilon - self._jacobian_epsilon(ridge))
            for budget, ridge in zip(self.budgets, self.ridges, strict=True)
        ]

    def _jacobian_epsilon(self, ridge: float) -> float:
        """ln(1 + 2 c / (n R) + c^2 / (n R)^2), twice what losses of rank one need."""
        return 2.0 * super()._jacobian_epsilon(ridge)

    def delivered_epsilon(self) -> list[float]:
        """The Jacobian's share and the noise's."""
        return [
            line.epsilon(0.0) + self._jacobian_epsilon(ridge)
            for line, ridge in zip(self.ledger(), self.ridges, strict=True)
        ]
