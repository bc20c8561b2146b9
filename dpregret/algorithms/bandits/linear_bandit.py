"""Private linear bandits on a ball: a bandit algorithm that is told each loss with noise of its own.

Algorithm   SCRiBLe (Abernethy, Hazan & Rakhlin 2008) with the barrier -ln(1 - |x|^2) of the unit ball, in lines of our
            own; s is the sum of estimates.
            line 1  for t = 1..T: x minimises eta <s, x> plus the barrier
            line 2    e a random axis of the Dikin ellipsoid at x, lambda its eigenvalue; sigma = +-1 by a fair coin
            line 3    play x + sigma e / sqrt(lambda)
            line 4    see f plus Laplace(range / eps)
            line 5    s = s + n f sigma sqrt(lambda) e
Privacy     Unit: one round; neighbours: its loss is replaced by another. f + Laplace(range / eps) is all that the
            learner sees of a round (Agarwal & Singh 2017), so the whole run is eps-DP without composition (even
            locally).
Guarantee   Of the order of n^1.5 sqrt(T ln T) / eps, for linear losses only.
Deviations  Values are clipped to [0, L D], their range on the ball. eta = sqrt(2 ln(T)/T) / (n sqrt(1 + 2
            (range/eps)^2)) for losses in units of their range.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.bandits.base import BanditLearner, BanditProblem, LossSource, Record, affine_rule
from dpregret.algorithms.bandits.directions import unit_sphere
from dpregret.algorithms.bandits.single_kernels import play_linear
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, Release, calibrate, unit_noise
from dpregret.core.arrays import Array, without_gaps
from dpregret.core.losses import LossBatch
from dpregret.core.sums import vecdot

BLOCK = 256  # rounds whose random numbers are drawn together


class PrivateLinearBandit(BanditLearner):
    """Pure eps-DP, for linear losses on a ball."""

    card = Card(
        name="private-linear-bandit",
        title="private SCRiBLe",
        paper="Agarwal & Singh 2017",
        reference="bandit reduction, our base learner",
        variants={"corrected": "Laplace noise on every observed loss"},
        needs=frozenset({"linear"}),
        anytime=False,
    )

    def __init__(self, problem: BanditProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        if self.domain.name != "ball":
            raise ValueError(f"{self.card.name} plays on a ball, not on the set {self.domain.name!r}")
        self.size = self.domain.dimension
        self.radius = self.domain.diameter / 2
        self.range = self.lipschitz * self.domain.diameter
        self.scales = np.array([calibrate("laplace", budget, 1.0, 1) for budget in budgets])  # in units of the range
        growth = math.sqrt(2 * math.log(self.horizon) / self.horizon) / self.size
        self.eta = growth / np.sqrt(1 + 2 * np.square(self.scales))

    @property
    def pure(self) -> bool:
        """Always."""
        return True

    def delivered_epsilon(self) -> list[float]:
        """A loss is released once."""
        return [Release("laplace", float(scale), 1.0, 1).epsilon(0.0) for scale in self.scales]

    def play(
        self,
        losses: LossSource,
        directions: Sequence[np.random.Generator],
        noise: Sequence[np.random.Generator],
        advance: Callable[[int], None] = lambda rounds: None,
    ) -> Record:
        """A round by the definition, the others by the compiled loop where losses have a rule."""
        shape = (len(self.budgets), self.runs)
        self.sums, self.played = np.zeros((*shape, self.size)), np.zeros((*shape, self.size))
        self.total, self.clipped = np.zeros(shape), np.zeros(shape)
        done, ahead, worst = 0, 1, 0.0
        while done < self.horizon:
            place = done % BLOCK
            if place == 0:
                drawn = min(BLOCK, self.horizon - done)
                axes = unit_sphere(directions, drawn, self.size)
                coins = np.stack([generator.random((drawn, 2)) for generator in directions])
                fresh = unit_noise("laplace", noise, drawn, 1)[..., 0]
            rounds = min(ahead, drawn - place)
            batch, now = losses(rounds), slice(place, place + rounds)
            rule = affine_rule(batch)
            if rule is not None and done > 0:
                play_linear(
                    *rule[1:], without_gaps(axes[:, now]), without_gaps(coins[:, now]), without_gaps(fresh[now]),
                    self.domain.center(), self.radius, self.range, self.scales, self.eta, self.sums, self.played,
                    self.total, self.clipped,
                )  # fmt: skip
            else:
                self.play_plainly(batch, axes[:, place], coins[:, place], fresh[place])
            ahead = 1 if rule is None else BLOCK
            done += rounds
            if done % BLOCK == 0 or done == self.horizon:
                worst = max(worst, float(self.domain.violation(self.played).max()))
            advance(rounds)
        return Record(self.total, self.clipped / self.horizon, np.zeros(len(self.budgets)), worst)

    def play_plainly(self, losses: LossBatch, axes: Array, coins: Array, noise: Array) -> None:
        """One round. axes (runs, n), coins (runs, 2), noise (runs,)."""
        inner, axis, eigenvalue = self._dikin(self.sums, axes, coins[:, 0] < 1 / self.size)  # line 1
        sign = np.where(coins[:, 1] < 0.5, 1.0, -1.0)  # line 2
        reach = sign[None, :, None] * axis / np.sqrt(eigenvalue)[..., None]
        self.played = self.domain.center() + self.radius * (inner + reach)  # line 3
        value = losses.value(self.played[:, :, None])[..., 0]
        self.total += value
        kept = np.clip(value, 0.0, self.range)
        self.clipped += kept != value
        seen = kept / self.range + self.scales[:, None] * noise  # line 4
        self.sums += (self.size * seen * sign * np.sqrt(eigenvalue))[..., None] * axis  # line 5

    def _dikin(self, sums: Array, axes: Array, radial: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """Point of the unit ball, axis of its Dikin ellipsoid, eigenvalue: along the point where `radial`, else across.

        2 (1 + r^2)/(1 - r^2)^2 along and 2/(1 - r^2) across, at radius r.
        """
        lengths = np.sqrt(vecdot(sums, sums))
        pull = self.eta[:, None] * lengths
        radius = pull / (1 + np.sqrt(1 + np.square(pull)))  # (-1 + sqrt(1 + a^2))/a without cancellation
        fallback = np.eye(self.size)[0]
        outward = np.where(lengths[..., None] > 0, sums / np.maximum(lengths, 1e-300)[..., None], fallback)
        across = axes - vecdot(axes, outward)[..., None] * outward
        norm = np.sqrt(vecdot(across, across))[..., None]
        alone = self.size == 1
        axis = outward if alone else np.where(radial[None, :, None], outward, across / np.maximum(norm, 1e-300))
        left = 1 - np.square(radius)
        along = np.broadcast_to(True if alone else radial, left.shape)
        eigenvalue = np.where(along, 2 * (1 + np.square(radius)) / np.square(left), 2 / left)
        return -radius[..., None] * outward, axis, eigenvalue
