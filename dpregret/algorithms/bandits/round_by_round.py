"""Bandits with a projection in every round: the baselines that projection-free methods are compared with.

Algorithm   zeta = D sqrt(n)/T^(1/4), and feasible play: points of the shrunk set (1 - zeta/r) C, r the inner radius.
            FKM: y_(t+1) = Proj(y_t - nu g_t), g_t = (n/zeta) F_t u_t. Thakurta-Smith: y_(t+1) = Proj(x_0 - nu (s_t +
            b_t)), s_t the sum of the g and b_t the noise of a binary tree over T leaves (root, buffers: of that
            mechanism).
Privacy     FKM: none. Thakurta-Smith: unit: one round; neighbours: its loss is replaced by another; a leaf moves by
            (n/zeta) times the range of a loss, which is L D since all that is played lies in the set.
Guarantee   FKM: sqrt(n) T^(3/4) (Flaxman, Kalai & McMahan 2005, for Lipschitz losses). Thakurta & Smith 2013 as quoted
            by Ene et al.: n T^(3/4)/eps pure, sqrt(n) T^(3/4)/eps approximate; `bound` is that of noisy_leader.py.
Deviations  nu = D zeta/(n B sqrt(T)), B the largest loss; the algorithm of Thakurta & Smith is reconstructed from its
            rate.
"""

import math
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpregret.algorithms.bandits.noisy_leader import NoisyLeader, into_set, nearest
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, NoiseDistribution
from dpregret.core.oracles import step
from dpregret.numerics.arrays import Array

VARIANTS = {"corrected": "tree over single rounds, exact calibration"}


class Descent(NamedTuple):
    """See `into_set` for the basis; etas (columns,)."""

    basis: Array
    etas: Array
    solver: Any


@step.add
def _step_descent(learner: Descent, loss, domain, t, x, estimate, noise, scratch):
    """y_(t+1) = Proj(y_t - nu g_t)."""
    goal = np.empty(x.shape)
    into_set(learner.basis, estimate, goal)
    for k in range(goal.shape[0]):
        for c in range(goal.shape[1]):
            goal[k, c] = x[k, c] - learner.etas[c] * goal[k, c]
    nearest(learner.solver, domain, goal, x, scratch)


class ThakurtaSmithGaussian(NoisyLeader):
    """(eps, delta)-DP."""

    distribution: ClassVar[NoiseDistribution] = "gaussian"
    feasible = True
    card = Card(
        name="thakurta-smith-gaussian",
        title="Thakurta-Smith (Gaussian)",
        paper="Thakurta & Smith 2013",
        reference="reconstructed",
        variants={**VARIANTS, **ALTERNATIVES},
    )

    def constants(self) -> tuple[float, float]:
        """D sqrt(n)/T^(1/4) and D zeta/(n B sqrt(T))."""
        zeta = self.diameter * math.sqrt(self.hull) / self.horizon**0.25
        largest = self.lipschitz * self.diameter
        return zeta, self.diameter * zeta / (self.hull * largest * math.sqrt(self.horizon))


class ThakurtaSmithLaplace(ThakurtaSmithGaussian):
    """Pure eps-DP."""

    distribution = "laplace"
    card = replace(
        ThakurtaSmithGaussian.card,
        name="thakurta-smith-laplace",
        title="Thakurta-Smith (Laplace)",
        variants={**VARIANTS, "blocks": PURE_ALTERNATIVES["blocks"]},
    )


class Fkm(ThakurtaSmithGaussian):
    """Descent without a gradient, not private."""

    card = Card(
        name="fkm",
        title="FKM",
        paper="Flaxman, Kalai & McMahan 2005",
        reference="Fig. 1",
        variants={"plain": "one projection a round"},
        private=False,
    )

    def state(self) -> Descent:
        """From the last point on."""
        return Descent(self.embedding, np.repeat(self.etas, self.runs), self.solver())
