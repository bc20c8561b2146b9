"""Private linear bandits on a ball: a bandit algorithm that receives each loss with fresh noise.

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
from typing import Any

import numpy as np

from dpregret.algorithms.bandits.bandit_learner import BLOCK, TINY, BanditLearner, Given, Record, unit_sphere
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Release, calibrate, unit_noise
from dpregret.core.losses import copy_round
from dpregret.core.oracles import SCRATCH, value_at
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, specialised
from dpregret.numerics.sums import dot


@compiled
def dikin(eta: float, state: Array, drawn: Array, radial: bool, inner: Array, axis: Array) -> Any:
    """Minimise eta <s, x> plus the barrier over the unit ball; s is the state, vectors are (n,).

    `inner` becomes x, `axis` an axis of its Dikin ellipsoid: along x where `radial`, else across it, where `drawn`
    points. Returned is its eigenvalue, 2 (1 + r^2)/(1 - r^2)^2 along and 2/(1 - r^2) across, at radius r.
    """
    size = len(state)
    length = np.sqrt(dot(state, state))
    pull = eta * length
    radius = pull / (1.0 + np.sqrt(1.0 + pull * pull))  # (-1 + sqrt(1 + a^2))/a without cancellation
    slack = 1.0 - radius * radius
    for j in range(size):  # outward
        axis[j] = state[j] / max(length, TINY) if length > 0.0 else (1.0 if j == 0 else 0.0)
        inner[j] = -radius * axis[j]
    if size == 1 or radial:
        return 2.0 * (1.0 + radius * radius) / (slack * slack)
    along = dot(drawn, axis)
    for j in range(size):
        axis[j] = drawn[j] - along * axis[j]
    norm = max(np.sqrt(dot(axis, axis)), TINY)
    for j in range(size):
        axis[j] /= norm
    return 2.0 / slack


def play_linear(
    loss, buffers, rows, axes, coins, noise, center, radius, wide, scales, etas, sums, played, total, clipped
):
    """Some rounds; the state, from `sums` on, is changed in place, `played` becomes the points of the last round.

    buffers, rows: see `core.losses.as_columns`; columns are all runs of the first setting, then of the next. axes
    (runs, rounds, n), coins (runs, rounds, 2), noise (rounds, runs); wide: the range of a loss; scales, etas, total,
    clipped (columns,); sums (columns, n), played (n, columns).
    """
    (size, columns), (runs, rounds) = played.shape, axes.shape[:2]
    inner, along, steep, value = np.empty(size), np.empty(sums.shape), np.empty(columns), np.empty(columns)
    scratch = np.empty((SCRATCH, columns))
    for now in range(rounds):
        if now == 0 or rows[0].shape[0] > 1:
            copy_round(rows, buffers, now, 0)
        for c in range(columns):
            run = c % runs
            radial, sign = coins[run, now, 0] < 1.0 / size, 1.0 if coins[run, now, 1] < 0.5 else -1.0
            eigenvalue = dikin(etas[c], sums[c], axes[run, now], radial, inner, along[c])  # lines 1, 2
            steep[c] = sign * np.sqrt(eigenvalue)
            for j in range(size):
                played[j, c] = center[j] + radius * (inner[j] + along[c, j] / steep[c])  # line 3
        value_at(loss, played, value, scratch)
        for c in range(columns):
            clip = min(max(value[c], 0.0), wide)
            total[c] += value[c]
            clipped[c] += clip != value[c]
            seen = clip / wide + scales[c] * noise[now, c % runs]  # line 4
            step = size * seen * steep[c]
            for j in range(size):
                sums[c, j] += step * along[c, j]  # line 5


class PrivateLinearBandit(BanditLearner):
    """Pure eps-DP, for linear losses on a ball. State: `sums` s and the last points `played`, (settings, runs, n)."""

    pure = True
    card = Card(
        name="private-linear-bandit",
        title="private SCRiBLe",
        paper="Agarwal & Singh 2017",
        reference="bandit reduction, our base learner",
        variants={"corrected": "Laplace noise on every observed loss"},
        needs=frozenset({"linear"}),
    )

    def prepare(self) -> None:
        if self.domain.name != "ball":
            raise ValueError(f"{self.card.name} plays on a ball, not on the set {self.domain.name!r}")
        self.size = self.domain.dimension
        self.radius = self.domain.diameter / 2
        self.range = self.lipschitz * self.domain.diameter
        # in units of the range
        self.scales = np.array([calibrate("laplace", budget, 1.0, 1) for budget in self.budgets])
        growth = math.sqrt(2 * math.log(self.horizon) / self.horizon) / self.size
        self.eta = growth / np.sqrt(1 + 2 * np.square(self.scales))

    def delivered_epsilon(self) -> list[float]:
        """A loss is released once."""
        return [Release("laplace", float(scale), 1.0, 1).epsilon(0.0) for scale in self.scales]

    def play(self, inputs: Given) -> Record:
        """Some rounds at a time."""
        shape = (len(self.budgets), self.runs)
        self.sums, self.played = np.zeros((*shape, self.size)), np.zeros((*shape, self.size))
        self.total, self.clipped, worst = np.zeros(shape), np.zeros(shape), 0.0
        scales, etas = np.repeat(self.scales, self.runs), np.repeat(self.eta, self.runs)
        fixed = self.domain.center(), self.radius, self.range, scales, etas
        sums, columns = self.sums.reshape(-1, self.size), np.zeros((self.size, shape[0] * shape[1]))
        for done, losses in self.pieces(inputs):
            offset = done % BLOCK
            if offset == 0:
                drawn = min(BLOCK, self.horizon - done)
                axes = unit_sphere(inputs.directions, drawn, self.size)
                coins = np.stack([generator.random((drawn, 2)) for generator in inputs.directions])
                units = unit_noise("laplace", inputs.noise, drawn, 1)[..., 0]
            now = slice(offset, offset + losses.rounds)
            none, data = slice(0), self.as_columns(losses, len(sums))
            idle, randomness = (
                (without_gaps(axes[:, part]), without_gaps(coins[:, part]), without_gaps(units[part]))
                for part in (none, now)
            )
            state = sums, columns, self.total.reshape(-1), self.clipped.reshape(-1)
            loop = specialised(play_linear, type(data[0]))
            self.compiled_apart(loop, *data, *idle, *fixed, *state)(*data, *randomness, *fixed, *state)
            self.played = columns.T.reshape(self.sums.shape)
            if now.stop == drawn:
                worst = max(worst, float(self.domain.violation(self.played).max()))
        return Record(self.total, self.clipped / self.horizon, np.zeros(len(self.budgets)), worst)
