"""Dartboards on a net of a convex set: the points of a cover are experts, one of which is kept for long.

Algorithm   Asi, Feldman, Koren & Talwar, COLT 2023, Theorem 12 and its proof (Appendix D.1), in our own lines:
            line 1  draw x uniformly from a net that covers the set within r; k = 1
            line 2  for t = 1..T: play x; add the losses of all points, divided by L D, to their sums C
            line 3    with probability (1 - p) exp(-eta l_t(x)) keep x
            line 4    otherwise, if k < K: draw x with P(x) ~ exp(-eta C(x)); k = k + 1
            That is Algorithm 1 (dpregret.algorithms.experts.shrinking_dartboard), whose box has the same lines in
            finer steps; with batches, lines 3 and 4 come at their ends, with the sum of x in the batch.
Privacy     Unit: one loss; neighbours: it is replaced by another; (eps, delta)-DP. A loss counts as its difference from
            its value at the center, divided by L D, clipped to [-1/2, 1/2] and moved by 1/2: in [0, 1] without trust in
            L. Then that of the dartboards.
Guarantee   L D times that of the dartboards for N experts, and r L T, N the points of the net.
Deviations  The proof has r = 1/T, for r = D/T here, and any dimension; the net has 1 to 3 and no radius below `FINEST`.
            `printed`: p, eta and K of Corollary 3 with ln N for ln d. `tuned` is ours: (B, p, eta) by our ledger.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.experts.shrinking_dartboard import Tuning, corollary_3, running_out
from dpregret.algorithms.learner import Card, Loss, Setting
from dpregret.algorithms.online.kept_points import KeptPoints, clipped
from dpregret.algorithms.online.private_switching import NetSums, generators_by_setting
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp


class DartboardNet(KeptPoints):
    """One expert a point of the net."""

    card = Card(
        name="dartboard-net",
        title="dartboard on a net",
        paper="Asi et al., COLT 2023",
        reference="Thm 12",
        variants={
            "tuned": "ours: (B, p, eta) that minimise the guarantee by our ledger",
            "printed": "p, eta and K of Corollary 3, on the points of the net",
        },
        anytime=False,
        convex=True,
    )

    def prepare(self) -> None:
        super().prepare()
        self.sums = NetSums(self, self.unit, 1 / self.horizon, "l2p-sampled", -0.5, self.center)
        self.plans = [self._plan(setting) for setting in self.settings]
        self.most = np.array([plan.most_draws(self.horizon) for plan in self.plans])
        self.draws = np.zeros((len(self.settings), self.runs), dtype=np.int64)
        self.lost = np.zeros((len(self.settings), self.runs))

    def _plan(self, setting: Setting) -> Tuning:
        points, epsilon, delta = len(self.sums.net), setting.budget.epsilon, setting.budget.delta
        if self.variant == "printed" and math.isfinite(epsilon):
            return corollary_3(self.horizon, points, epsilon, delta)
        return self.tuned(setting, points, Tuning)

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Every setting has its own generators."""
        self.rngs = generators_by_setting(generators, self.settings)
        for setting, run in np.ndindex(self.draws.shape):
            self.go(setting, run, self._drawn(setting, run))  # line 1

    def _drawn(self, setting: int, run: int) -> Array:
        """The exponential mechanism over the net."""
        return self.sums.draw(self.rngs[setting][run], run, 1 / self.plans[setting].eta)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Count the loss; at the end of a batch, keep or draw."""
        self.sums.add(loss)  # line 2
        self.lost += clipped(self.paid(loss), loss.value(self.center), self.unit) + 0.5
        for setting, plan in enumerate(self.plans):
            if self.round % plan.batch or self.round >= self.horizon:
                continue
            coins = np.array([generator.random() for generator in self.rngs[setting]])
            drop = coins >= (1 - plan.keep_away) * exp(-plan.eta * self.lost[setting])  # line 3
            for run in np.flatnonzero(drop & (self.draws[setting] < self.most[setting])):
                self.draws[setting, run] += 1
                self.go(setting, int(run), self._drawn(setting, int(run)))  # line 4
            self.lost[setting] = 0.0

    def bound(self, rounds: int) -> Array:
        """L D times the guarantee of the dartboard, what running out costs, and r L T, at the horizon."""
        points, cover = len(self.sums.net), self.sums.radius * self.lipschitz * self.horizon
        ended = 0.0 if self.variant == "printed" else self.horizon * running_out(self.horizon)
        most = [self.unit * (plan.guarantee(self.horizon, points) + ended) + cover for plan in self.plans]
        return np.array([[value] * rounds for value in most])
