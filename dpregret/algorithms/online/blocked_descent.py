"""Blocked descent with infeasible projection: a linear oracle, about once a block.

Algorithm   After Garber & Kretzu 2022, simplified. D is the diameter of the set, R its reach from its center.
            line 1  y = x the center, K = ceil(sqrt(T)), tolerance e = D^2/sqrt(T), eta = D / (B_K sqrt(T))
            line 2  for every block of K rounds: play x in all of them, release hat G = sum of its gradients + noise
            line 3    y <- y - eta hat G (within the hull), scaled into the ball of radius R around the center
            line 4    while the gap max_v <x - y, x - v> is above e, v by the linear oracle:
            line 5      x <- the nearest point to y on the segment from x to v
            line 6    where |x - y|^2 > e: y <- x + (e / |x - y|^2) (y - x)
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves a gradient, hence one sum
            of a block, by at most 2 L. The sum of a block is the one Gaussian release of its items; all else is
            post-processing. per-gradient: every gradient is a separate release. (epsilon, delta)-DP, exact.
Guarantee   By the gap <y - x, y - z> >= |x - y|^2 - e for z of the set, so line 6 moves y away from none, and
            |x - y| <= sqrt(e) after it. Hence E[regret] <= D^2/(2 eta) + eta t B_K^2/2 + L t sqrt(e), where
            B_K^2 = K L^2 + s/K (per-gradient: + s), s = d' sigma^2, d' the dimension of the hull, for losses chosen
            in advance. After T rounds D B_K sqrt(T) + D L T^(3/4): without noise 2 D L T^(3/4) for square T.
            Calls, without noise: y moves by at most m = D sqrt(K/T) a block, so line 4 begins with at most
            (sqrt(e) + m)^2/2 to gain, and a step gains at least e^2/(2 D^2): at most 1 + (T^(1/4) + sqrt(K))^2 calls
            a block, for square T 4 + 1/K a round.
Deviations  One block length, e as in the proof. The private versions are ours; a block's noise is its last round's.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dpregret.algorithms.geometry.ball import BallData
from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.projected_descent import GradientDescent, columns, noised
from dpregret.algorithms.privacy import Release
from dpregret.core.oracles import projected
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


class BlockedDescent(GradientDescent):
    """A linear oracle, a few times a block of sqrt(T) rounds."""

    card = Card(
        name="blocked-descent",
        title="blocked descent",
        paper="Garber & Kretzu 2022",
        reference="New projection-free algorithms for online convex optimization, linear oracle, simplified",
        variants={"plain": "K = sqrt(T), tolerance D^2 / sqrt(T)"},
        private=False,
        anytime=False,
        convex=True,
    )

    def prepare(self) -> None:
        super().prepare()
        self.length = math.isqrt(self.horizon - 1) + 1  # line 1
        self.tolerance = self.domain.diameter**2 / math.sqrt(self.horizon)
        self.infeasible = self.point.copy()  # y
        self.block_sum = np.zeros_like(self.point)

    @property
    def spread(self) -> Array:
        """B_K, (settings,): B_K^2 K is the mean square of a released sum of K gradients."""
        noise = self.variance if self.variant == "per-gradient" else self.variance / self.length
        return np.sqrt(self.length * self.lipschitz**2 + noise)

    @cached_property
    def step(self) -> Array:
        """D / (B_K sqrt(T))."""
        return self.domain.diameter / (self.spread * np.sqrt(self.horizon))

    @property
    def most_calls(self) -> float:
        """(1 + (T^(1/4) + sqrt(K))^2) / K; NaN with noise."""
        steps = (self.horizon**0.25 + math.sqrt(self.length)) ** 2
        return math.nan if self.card.private else (1 + steps) / self.length

    @property
    def fixed_rounds(self) -> int:
        """To the end of the block."""
        return self.length - self.round % self.length

    def receive(self, gradient: Array, fresh: Array | None) -> None:
        """The sum of the block, released at its end."""
        self.block_sum += gradient
        ends = self.round % self.length == 0
        if fresh is not None and (ends or self.variant == "per-gradient"):
            self.block_sum += fresh
        if ends:
            released, self.block_sum = self.block_sum, np.zeros_like(gradient)
            self.descend(released)

    def descend(self, released: Array) -> None:  # line 2
        """One step a block, and the infeasible projection."""
        moved = self.infeasible - columns(self.step) * self.domain.along_hull(released)
        moved = self.center + projected(BallData(self.outer_radius), moved - self.center)  # line 3
        self.point = self._approach(moved)
        apart = self.point - moved
        square = vecdot(apart, apart)
        pull = np.minimum(1.0, self.tolerance / np.maximum(square, self.tolerance))
        self.infeasible = self.point - pull[..., None] * apart  # line 6

    def _approach(self, goal: Array) -> Array:
        """Frank-Wolfe from the point towards the goal, each row until its gap is small."""
        rows, goals = (points.reshape(-1, points.shape[-1]).copy() for points in (self.point, goal))
        active = np.arange(len(rows))
        while len(active):
            slope = rows[active] - goals[active]
            towards = self.domain.linear_oracle(slope) - rows[active]
            gap = -vecdot(slope, towards)
            wide = gap > self.tolerance  # line 4
            active, towards = active[wide], towards[wide]
            share = np.minimum(1.0, gap[wide] / vecdot(towards, towards))
            rows[active] += share[:, None] * towards  # line 5
        return rows.reshape(goal.shape)

    def displacement(self, rounds: int) -> Array:
        """eta times the root mean square of the noise in the sums of t rounds."""
        factor = 1.0 if self.variant == "per-gradient" else 1.0 / math.sqrt(self.length)
        return factor * super().displacement(rounds)

    def bound(self, rounds: int) -> Array:
        """D^2/(2 eta) + eta t B_K^2/2 + L t sqrt(e)."""
        apart = self.lipschitz * np.arange(1.0, rounds + 1) * math.sqrt(self.tolerance)
        return self.descended(self.domain.diameter, self.spread, rounds) + apart


class PrivateBlockedDescent(BlockedDescent):
    """Every sum of a block noised once, or every gradient."""

    card = noised(
        BlockedDescent.card,
        "blocked descent on noisy sums",
        {
            "per-block": "noise on the sum of every block, standard deviation 2 L / mu(eps, delta)",
            "per-gradient": "noise on every gradient",
        },
    )

    def ledger(self) -> Sequence[Release]:
        """Rounds of a block share its one release, so a record in several of them moves it as often."""
        shared = self.variant == "per-block"
        return [replace(line, apart=False) if shared else line for line in super().ledger()]
