"""Private quadratic follow the leader (PQFTL): for squared losses the sums that define the leader are small.

Problem     f_t(x) = (y_t - <v_t, x>)^2 / 2 + (mu/2) |x|^2, |v_t| <= 1, |y_t| <= 1.
Algorithm   Jain, Kothari & Thakurta 2012: V_t = sum v v^T and u_t = sum y v by the binary tree mechanism;
            x_{t+1} = Proj( (V_t + mu t I)^+ u_t ).
Privacy     Unit: one (v, y), whole sequence; neighbours: it is replaced by another (w, u); (epsilon, delta)-DP. With
            c = <v, w> the stacked item (v v^T, y v) moves by at most sqrt(2 - 2 c^2 + 2 + 2 |c|), at most 3 / sqrt(2),
            where |c| = 1/2.
            Symmetrising V_t and clipping its negative eigenvalues is post-processing.
Guarantee   O( sqrt(d) ln(1/delta) ln^1.5 T / epsilon ) (Lou & Cheung 2020, Table I).
Deviations  corrected: exact Gaussian-DP calibration. reconstructed: Lou & Cheung 2020 print no scale for this
            algorithm; theirs of the window tree, eq. (13), with W = T.
"""

import math
from typing import Any

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.online.ftal import printed_scale
from dpregret.algorithms.privacy import NoisePlan, WindowTree, calibrate
from dpregret.numerics.arrays import Array
from dpregret.numerics.orthogonal import symmetric
from dpregret.numerics.sums import vecdot

SENSITIVITY = 3 / math.sqrt(2)


class Pqftl(Learner):
    """Exact leader of privately summed quadratics: one d x d eigen-solve and one projection a round."""

    card = Card(
        name="pqftl",
        title="PQFTL",
        paper="Jain, Kothari & Thakurta 2012",
        reference="Private quadratic FTL",
        variants={
            "corrected": "tight Gaussian-DP calibration",
            "reconstructed": "Gaussian scale of the window tree of Lou & Cheung 2020, eq. (13), W = T",
        },
        anytime=False,
        needs=frozenset({"quadratic"}),
    )

    def prepare(self) -> None:
        dimension = self.domain.dimension
        self.moment = np.zeros((self.runs, dimension, dimension))
        self.response = np.zeros((self.runs, dimension))
        tree = WindowTree(2 ** max(1, math.ceil(math.log2(self.horizon))))
        scale = printed_scale if self.variant == "reconstructed" else calibrate
        scales = [scale("gaussian", budget, SENSITIVITY, tree.nodes_per_item) for budget in self.budgets]
        stacked = dimension * (dimension + 1)
        self.noise_plan = NoisePlan("gaussian", [tree] * len(self.settings), scales, SENSITIVITY, stacked)
        self.solves = 0

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Leader of the noisy quadratics."""
        squared: Any = loss
        dimension = self.domain.dimension
        self.moment += squared.features[..., :, None] * squared.features[..., None, :]
        self.response += squared.labels[..., None] * squared.features
        moment, response = self.moment, self.response
        if noise is not None:
            matrix = noise[..., : dimension**2].reshape(*noise.shape[:-1], dimension, dimension)
            moment = moment + (matrix + matrix.swapaxes(-1, -2)) / 2
            response = response + noise[..., dimension**2 :]
        values, vectors = symmetric(moment)
        curvature = np.maximum(values, 0.0) + self.strong_convexity * self.round
        coordinates = vecdot(vectors.swapaxes(-1, -2), response[..., None, :]) / curvature
        self.solves += coordinates.size // dimension
        self.point = self.domain.project(vecdot(vectors, coordinates[..., None, :]))

    def displacement(self, rounds: int) -> Array:
        """Noise of u and of V (operator norm about sqrt(2 d) a node, |x| <= 1) over the curvature mu t."""
        dimension = self.domain.dimension
        share = (1 + math.sqrt(2)) * math.sqrt(dimension / (dimension * (dimension + 1)))
        return share * super().displacement(rounds)
