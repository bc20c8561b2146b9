"""DP-FTRL: follow the regularised leader on private sums of gradients.

Algorithm   Asi et al. 2023, Alg. 4 (after Kairouz et al. 2021, Alg. 1). The text of the box is lost: the lines below
            are reconstructed from the proof of Theorem 4.
            line 1  x_1 = x_0, lambda, a binary tree over T leaves
            line 2  for t = 1..T: play x_t, receive l_t
            line 3    s_t = sum_{s<=t} grad l_s(x_s)
            line 4    hat s_t = s_t + b_t, released by the tree
            line 5    x_{t+1} = argmin over the set of <hat s_t, x> + (lambda/2) |x - x_0|^2,
                      which is Proj(x_0 - hat s_t / lambda)
Privacy     Unit: one loss; neighbours: it is replaced by another. A gradient moves by at most 2 L and lies in
            q = ceil(log2 T) nodes; Gaussian noise calibrated by exact Gaussian DP. root, buffers: the nodes are the
            squared weights of what is released of it, sum_{j<T-1} c_j^2; T need not be a power of two.
Guarantee   With V_t = E|b_t|^2, for losses that are non-negative and beta-smooth on the whole space and lambda >= 4
              beta, sum l_t(x_t) <= 2 L* + lambda D^2 + 4 beta sum_t V_t / lambda^2.
            FTRL without noise has regret lambda D^2 / 2 + sum |g_t|^2 / (2 lambda), the noise moves x_t by |b_t| /
            lambda, |g||b|/lambda <= |g|^2/(8 beta) + 2 beta |b|^2/lambda^2 and |g|^2 <= 2 beta l leave half of the
            loss. Of the mechanism it uses V_t alone, which is exact for all of them: how b_t depends on b_s is free.
Deviations  corrected: lambda = max(4 beta, (8 beta T V / D^2)^(1/3)), which minimises the bound, V the mean of
            V_t over t = 1..T with V_1 = 0, since no noise is in the first point.
            printed-lambda: 32 beta + (beta (L/D)^2 T d ln T ln(1/delta) / eps^2)^(1/3) with valid noise. printed: the
            same lambda and the noise for losses set to zero, L sqrt(2 q ln(1/delta)) / eps a node: reconstructed, the
            text at hand has lost the scale, and this is that of Kairouz et al. as we know it. root, buffers:
            as corrected, b_t of that mechanism instead of the tree's and lambda from its own V.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.privacy import ALTERNATIVES, Budget, NoisePlan, calibrate, horizon_sums
from dpregret.algorithms.privacy.trees import BinaryTree, VarianceReducedTree
from dpregret.core.oracles import project, step
from dpregret.numerics.arrays import Array

MULTIPLES = {
    "lambda-sixteenth": 1 / 16,
    "lambda-eighth": 1 / 8,
    "lambda-quarter": 1 / 4,
    "lambda-half": 1 / 2,
    "lambda-double": 2.0,
    "lambda-fourfold": 4.0,
    "lambda-eightfold": 8.0,
}
"""Variants that play a multiple of the corrected lambda: they test whether it is the best one."""


class Regularised(NamedTuple):
    """total (d, runs): s_t; start (d,): x_0; regularisation: lambda."""

    total: Array
    start: Array
    regularisation: float


@step.add
def _step_regularised(leader: Regularised, loss, domain, t, x, gradient, noise, scratch):  # line 2
    """x_(t+1) = Proj(x_0 - (s_t + b_t) / lambda)."""
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            leader.total[k, r] += gradient[k, r]  # line 3
            released = leader.total[k, r] + noise[k, r]  # line 4
            x[k, r] = leader.start[k] - released / leader.regularisation  # line 5
    project(domain, x, scratch)


class FollowTheRegularisedLeader(Learner):
    """Base of both regularisations (see dp_ftrl_lipschitz.py). `regularisation` is lambda, one a setting."""

    regularisation: Array

    def prepare(self) -> None:
        tree = VarianceReducedTree if self.variant.endswith("reduced") else BinaryTree
        sums = horizon_sums(self.variant, self.horizon, tree(self.horizon))  # line 1
        scales = [self.node_scale(budget, sums.nodes_per_item) for budget in self.budgets]
        dimension = self.domain.dimension
        self.noise_plan = NoisePlan("gaussian", [sums] * len(self.settings), scales, 2 * self.lipschitz, dimension)

    def node_scale(self, budget: Budget, nodes: float) -> float:
        """Standard deviation of a node's noise."""
        return calibrate("gaussian", budget, 2 * self.lipschitz, nodes)

    def variances(self, rounds: int) -> Array:
        """V_t = E|b_t|^2 of the noise in the point of rounds 1..rounds, (settings, rounds): none in the first."""
        assert self.noise_plan is not None
        after = np.square(self.noise_plan.expected_norm(rounds))
        return np.concatenate([np.zeros((len(after), 1)), after[:, :-1]], axis=1)

    def state(self, setting: int, runs: int) -> Any:
        """No gradient yet."""
        start = self.point[setting, 0].copy()
        return Regularised(np.zeros((len(start), runs)), start, float(self.regularisation[setting]))

    def displacement(self, rounds: int) -> Array:
        """sqrt(V_t) / lambda."""
        return np.sqrt(self.variances(rounds)) / self.regularisation[:, None]


class SmoothLeader(FollowTheRegularisedLeader):
    """Algorithm 4: regularised for smooth losses with a point of little loss."""

    card = Card(
        name="dp-ftrl",
        title="DP-FTRL (realizable)",
        paper="Asi et al. 2023",
        reference="Alg. 4",
        variants={
            "corrected": "lambda that minimises the proven bound, exact noise",
            "corrected-reduced": "the same on the variance-reduced tree",
            "printed-lambda": "lambda of the proof, exact noise",
            "printed": "reconstructed: the same lambda, noise for a loss set to zero",
            **{name: f"{multiple:g} times the corrected lambda" for name, multiple in MULTIPLES.items()},
            **ALTERNATIVES,
        },
        anytime=False,
        needs=frozenset({"smooth"}),
        convex=True,
    )

    def prepare(self) -> None:
        super().prepare()
        if self.variant in ("printed", "printed-lambda"):
            self.regularisation = np.array([self._printed_lambda(budget) for budget in self.budgets])
        else:
            noise = self.variances(self.horizon).sum(axis=1)
            best = np.array([math.cbrt(8 * self.problem.smoothness * v / self.domain.diameter**2) for v in noise])
            self.regularisation = np.maximum(4 * self.problem.smoothness, best) * MULTIPLES.get(self.variant, 1.0)

    def node_scale(self, budget: Budget, nodes: float) -> float:
        """printed: L sqrt(2 q ln(1/delta)) / eps (Kairouz et al. 2021), for a loss that is set to zero."""
        if self.variant != "printed" or math.isinf(budget.epsilon):
            return super().node_scale(budget, nodes)
        return self.lipschitz * math.sqrt(2 * nodes * budget.log_over_delta()) / budget.epsilon

    def _printed_lambda(self, budget: Budget) -> float:
        beta, steep = self.problem.smoothness, self.lipschitz / self.domain.diameter
        if math.isinf(budget.epsilon):
            return 32 * beta
        logs = math.log(self.horizon) * budget.log_over_delta()
        return 32 * beta + math.cbrt(beta * steep**2 * self.horizon * self.domain.dimension * logs / budget.epsilon**2)

    def bound(self, rounds: int) -> Array:
        """L* + lambda D^2 + 4 beta sum_t V_t / lambda^2; NaN where lambda < 4 beta or L* is not declared."""
        beta, best = self.problem.smoothness, self.problem.best_loss
        noise = 4 * beta * np.cumsum(self.variances(rounds), axis=1) / self.regularisation[:, None] ** 2
        fixed = self.regularisation * self.domain.diameter**2 + (np.nan if best is None else best)
        return np.where((self.regularisation >= 4 * beta)[:, None], fixed[:, None] + noise, np.nan)
