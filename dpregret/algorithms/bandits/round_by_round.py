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
from collections.abc import Sequence
from dataclasses import replace
from time import process_time
from typing import ClassVar

import numpy as np

from dpregret.algorithms.bandits.base import Given, Record
from dpregret.algorithms.bandits.directions import Directions
from dpregret.algorithms.bandits.kernels import in_coordinates
from dpregret.algorithms.bandits.noisy_leader import NoisyLeader, mean_norms
from dpregret.algorithms.bandits.single_kernels import DESCENT, LEADER, play_singly
from dpregret.algorithms.geometry import CountedSet
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, NoiseDistribution
from dpregret.core.kernels import kernel_of
from dpregret.core.losses import LossRule
from dpregret.numerics.arrays import Array

VARIANTS = {"corrected": "tree over single rounds, exact calibration"}


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
        anytime=False,
    )

    single: ClassVar[int | None] = LEADER
    """The rule of `play_singly` that does what `step` does; a subclass has to say it again."""

    def play_some(self, horizon: int, given: Given) -> Record:
        """By the compiled loop where losses have a rule and the set, of full dimension, a kernel; else as defined."""
        batch = given.losses(1)
        kernel, single = kernel_of(getattr(self.domain, "inner", self.domain)), vars(type(self)).get("single")
        flat = self.hull < self.domain.dimension  # the loop knows no coordinates but those of the set
        if getattr(batch, "rule", None) is None or kernel is None or single is None or flat:
            first = [batch]
            rest = given._replace(losses=lambda rounds: first.pop() if first else given.losses(rounds))
            return super().play_some(horizon, rest)
        shape, done, worst = (len(self.budgets), self.runs), 0, 0.0
        played = np.tile(self.domain.center(), (1, *shape, 1))
        sums, before = np.zeros((*shape, self.hull)), np.zeros((*shape, self.hull))
        total, clipped, moved = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
        sphere = Directions(given.directions, self.hull, horizon, self.batch)
        for block in self.plan.blocks(given.noise):
            sizes, at = mean_norms(block), 0
            while at < len(block) and done < horizon:
                rounds, started = batch.rounds, process_time()
                rule: LossRule = batch.rule  # type: ignore[attr-defined]
                points = np.concatenate([played[-1:], np.empty((rounds, *played.shape[1:]))])
                play_singly(
                    *rule, sphere.take(rounds), block[at : at + rounds], kernel.code, kernel.numbers(self.domain),
                    single, self.center, self.shrink, self.zetas, self.etas, self.low, self.high, points, sums,
                    before, total, clipped,
                )  # fmt: skip
                self._count(rounds, process_time() - started)
                for size in sizes[at : at + rounds]:
                    moved += size
                played, at, done = points[1:], at + rounds, done + rounds
                worst = max(worst, float(self.domain.violation(played).max()))
                if done < horizon:
                    batch = given.losses(min(len(block) - at or len(block), horizon - done))
                given.advance(rounds)
            if done == horizon:
                break
        return Record(total, clipped / horizon, self.etas * moved / horizon / (self.diameter / 2), worst)

    def _count(self, rounds: int, seconds: float) -> None:
        """Every round projects once; the seconds are those of the whole loop."""
        if isinstance(self.domain, CountedSet):
            self.domain.projections.add(rounds * len(self.budgets) * self.runs, seconds)

    def constants(self) -> tuple[float, float]:
        """D sqrt(n)/T^(1/4) and D zeta/(n B sqrt(T))."""
        zeta = self.diameter * math.sqrt(self.hull) / self.horizon**0.25
        largest = self.lipschitz * self.diameter
        return zeta, self.diameter * zeta / (self.hull * largest * math.sqrt(self.horizon))


class ThakurtaSmithLaplace(ThakurtaSmithGaussian):
    """Pure eps-DP."""

    distribution = "laplace"
    single = LEADER
    card = replace(
        ThakurtaSmithGaussian.card,
        name="thakurta-smith-laplace",
        title="Thakurta-Smith (Laplace)",
        variants={**VARIANTS, "blocks": PURE_ALTERNATIVES["blocks"]},
    )


class Fkm(ThakurtaSmithGaussian):
    """Descent without a gradient, not private."""

    single = DESCENT
    card = Card(
        name="fkm",
        title="FKM",
        paper="Flaxman, Kalai & McMahan 2005",
        reference="Fig. 1",
        variants={"plain": "one projection a round"},
        private=False,
        anytime=False,
    )

    def begin(self, noise: Sequence[np.random.Generator]) -> None:
        """From sums that begin at nothing."""
        self.before: Array | float = 0.0

    def step(self, point: Array, released: Array) -> Array:
        """One projected step with the newest estimate."""
        newest = released - self.before
        self.before = released.copy()
        return self._within(
            self.domain.project(self._without(point - self.etas[:, None, None] * in_coordinates(newest, self.basis)))
        )
