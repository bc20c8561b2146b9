"""Private quadratic follow the leader (PQFTL): for squared losses the sums that define the leader are small.

Problem     f_t(x) = (y_t - <v_t, x>)^2 / 2 + (mu/2) |x|^2, |v_t| <= 1, |y_t| <= 1, so that R = 1 in the paper.
Algorithm   Jain, Kothari & Thakurta 2012, Alg. 4:
            line 3  hat x_1, here the center of the set
            line 4  two binary trees of partial sums, for hat V_t and for hat u_t
            line 5  for t = 1..T-1
            line 6    pay f_t(hat x_t)
            line 7    hat V_t = sum_{s<=t} v_s v_s^T, by Alg. 5 with R^2, epsilon/2 and delta/2
            line 8    hat u_t = sum_{s<=t} y_s v_s, by Alg. 5 with R, epsilon/2 and delta/2
            line 9    hat x_{t+1} = (t mu I + hat V_t)^(-1) hat u_t
            line 10   release hat x_{t+1}
            Alg. 5 keeps a binary tree over T leaves, adds N(0, sigma^2 I) to each node as soon as its leaves are there,
            sigma = (R/epsilon) log(T) sqrt(log(log(T)/delta)), and answers with the fewest nodes that cover 1..t.
Privacy     Unit: one (v, y), whole sequence; neighbours: it is replaced by another (w, u); (epsilon, delta)-DP. With
            c = <v, w> the stacked item (v v^T, y v) moves by at most sqrt(2 - 2 c^2 + 2 + 2 |c|), at most 3 / sqrt(2),
            where |c| = 1/2: sqrt(2) in the matrix, 2 in the vector, and not both. The paper has 1 for both (Lemma 6).
            An item lies in as many nodes as a tree over T leaves has levels. Symmetrising V_t, clipping its negative
            eigenvalues and projecting are post-processing.
Guarantee   Theorem 3: (epsilon, delta)-DP. Theorem 4: regret O~( sqrt(d) ln(1/delta) ln^1.5 T / epsilon ) with
            probability at least 1 - exp(-d/2).
Deviations  corrected: exact Gaussian-DP calibration; V_t is symmetrised and clipped at 0, so that line 9 is the leader
            of noisy quadratics, and x_{t+1} is projected.
            printed: log T is log2 T, since a sum of Theorem 11 has up to ceil(log2 T) nodes; the logarithm of log(T) /
            delta is natural, as in the proof of Lemma 6. printed-ln: all logarithms are natural. Line 9 is solved as it
            stands, without symmetry or sign; then the point is projected, as here points lie in the set. Without a
            projection E|hat x|^2 is infinite at d = 1: the density of t mu + hat V_t is positive at 0.
"""

import math
from typing import Any

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.privacy import Budget, NoisePlan, WindowTree, calibrate
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled
from dpregret.numerics.orthogonal import decomposed
from dpregret.numerics.sums import dot

SENSITIVITY = 3 / math.sqrt(2)


@compiled
def lead(moment: Array, response: Array, noise: Array, ridge: float, symmetrised: bool, leaders: Array) -> None:
    """Write the leaders (settings, runs, d) of moments (runs, d, d) and responses (runs, d), before the projection.

    noise (settings, runs, d (d + 1)): of the matrix, row by row, then of the vector. ridge: t mu.
    """
    settings, runs, d = leaders.shape
    matrices, vector, coordinates = np.empty((settings * runs, d, d)), np.empty(d), np.empty(d)
    for n in range(settings * runs):
        sums, noises = moment[n % runs], noise[n // runs, n % runs]
        for i in range(d):
            for k in range(d):
                entry = sums[i, k] + noises[i * d + k]  # line 7
                if symmetrised:
                    matrices[n, i, k] = (entry + (sums[k, i] + noises[k * d + i])) / 2.0
                else:
                    matrices[n, i, k] = entry + (ridge if i == k else 0.0)
    values, left, right = decomposed(matrices, symmetrised)
    for n in range(settings * runs):
        setting, run = n // runs, n % runs
        for k in range(d):
            vector[k] = response[run, k] + noise[setting, run, d * d + k]  # line 8
        for k in range(d):
            value = values[n, k]
            curvature = (0.0 if value < 0.0 else value) + ridge if symmetrised else value
            coordinates[k] = dot(left[n, k], vector) / curvature
        for i in range(d):
            for k in range(d):
                vector[k] = right[n, k, i]
            leaders[setting, run, i] = dot(vector, coordinates)  # line 9


class Pqftl(Learner):
    """Exact leader of privately summed quadratics: one d x d eigen-solve and one projection a round.

    Raises ValueError for a printed variant and a horizon of 1, which gets no noise.
    """

    card = Card(
        name="pqftl",
        title="PQFTL",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Alg. 4, private quadratic FTL",
        variants={
            "corrected": "tight Gaussian-DP calibration",
            "printed": "noise of Alg. 5, log2 T and natural logarithms inside; no symmetry",
            "printed-ln": "as printed, every logarithm natural",
        },
        anytime=False,
        needs=frozenset({"quadratic"}),
    )

    def prepare(self) -> None:
        dimension = self.domain.dimension
        self.moment = np.zeros((self.runs, dimension, dimension))
        self.response = np.zeros((self.runs, dimension))
        tree = WindowTree(2 ** max(1, math.ceil(math.log2(self.horizon))))  # line 4
        if self.variant == "corrected":
            scales = [calibrate("gaussian", budget, SENSITIVITY, tree.nodes_per_item) for budget in self.budgets]
        elif self.horizon < 2:
            raise ValueError(f"{self.card.name}.{self.variant} needs a horizon of at least 2, got {self.horizon}")
        else:
            log = math.log if self.variant == "printed-ln" else math.log2
            depth = log(self.horizon)
            scales = [private_sum_scale(Budget(b.epsilon / 2, b.delta / 2), depth) for b in self.budgets]
        stacked = dimension * (dimension + 1)
        self.noise_plan = NoisePlan("gaussian", [tree] * len(self.settings), scales, SENSITIVITY, stacked)
        self.solves = 0

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:  # lines 3, 5, 6
        """Leader of the noisy quadratics."""
        squared: Any = loss
        self.moment += squared.features[..., :, None] * squared.features[..., None, :]
        self.response += squared.labels[..., None] * squared.features
        shape, dimension = (len(self.settings), self.runs), self.domain.dimension
        noises = np.zeros((*shape, dimension * (dimension + 1))) if noise is None else noise
        leaders, ridge = np.empty((*shape, dimension)), float(self.strong_convexity * self.round)
        lead(self.moment, self.response, without_gaps(noises), ridge, self.variant == "corrected", leaders)
        self.solves += len(self.settings) * self.runs
        self.point = self.domain.project(leaders)  # line 10

    def displacement(self, rounds: int) -> Array:
        """Noise of u and of V (operator norm about sqrt(2 d) a node, |x| <= 1) over the curvature mu t."""
        dimension = self.domain.dimension
        share = (1 + math.sqrt(2)) * math.sqrt(dimension / (dimension * (dimension + 1)))
        return share * super().displacement(rounds)


def private_sum_scale(budget: Budget, depth: float) -> float:
    """sigma of Algorithm 5 for items of norm at most 1; depth: log T."""
    if math.isinf(budget.epsilon):
        return 0.0
    return 1.0 / budget.epsilon * depth * math.sqrt(budget.log_over_delta(depth))
