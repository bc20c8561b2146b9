"""EXP3 on batches: a private bandit for K arms that uses each loss once.

Algorithm   After Asi, Raman & Talwar 2025: a bandit algorithm receives the noisy mean loss of a batch. Beneath it EXP3
            (Auer, Cesa-Bianchi, Freund & Schapire 2002) with exploration gamma.
            line 1  tau = ceil(1/eps), M = ceil(T/tau) batches, b = 1/(tau eps); eta and gamma as below; S = 0
            line 2  for every batch
            line 3    draw an arm A from p = (1 - gamma) q + gamma/K, q proportional to exp(-eta S)
            line 4    play A in all rounds of the batch
            line 5    v = mean of the losses, clipped to [0, 1], plus Laplace(b)
            line 6    S_A = S_A + v/p_A
Privacy     Unit: one round; neighbours: its loss is replaced by any other one. It enters one mean and moves it by 1/tau
            at most, Laplace(1/(tau eps)) is the noise of that; arms are post-processing of the v. Pure eps-DP, whatever
            T, without composition. The mean of the last batch is never used.
Guarantee   For any k in (0, 1), with gamma = eta b K/k and c = 1/2 + b^2/(1 - k^2), expected regret is at most
            tau ( (1 - gamma) ln(K)/eta + eta c K M + gamma M ): line 1 takes eta = sqrt( ln K / ((c + b/k) K M) ), at
            most k/(b K), and the k of least c + b/k. Since b <= 1 that is at most 3.87 tau sqrt(K M ln K), of the
            order of sqrt(K T ln(K) max(1, 1/eps)); the proof is in docs/proofs/private_bandit_bound.md.
Deviations  The paper's base algorithm has no logarithm of K. every-round: tau = 1, so b = 1/eps (noise on every
            observed loss, even locally private; the reduction of Agarwal & Singh 2017). unmixed: gamma = 0, and eta as
            if losses with noise were non-negative ones of the same second moment. No bound is known: one v below zero
            over a small p_A makes a bad arm look best, again and again.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.bandits.bandit_learner import BLOCK, BanditLearner, Given, Record, are_compiled
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Release, calibrate
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.losses import copy_round
from dpregret.core.oracles import arm_at
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, specialised
from dpregret.numerics.elementary import exp_of
from dpregret.numerics.random import Uniforms

SHARES = np.arange(1, 100) / 100  # values of k that are tried


@compiled
def draw_arm(sums: Array, eta: float, mix: float, coin: float, weights: Array, below: Array) -> tuple[int, float]:
    """The arm whose share of [0, 1] the coin falls into, and p of it; sums, weights, below (K,)."""
    size, least = len(sums), sums[0]
    for arm in range(1, size):
        least = min(least, sums[arm])
    for arm in range(size):
        weights[arm] = exp_of(-eta * (sums[arm] - least))
    whole = 0.0
    for arm in range(size):
        whole += weights[arm]
        below[arm] = whole
    drawn = 0
    for arm in range(size):  # shares grow from arm to arm: counting needs no branch
        drawn += (1 - mix) * (below[arm] / whole) + mix * ((arm + 1) / size) <= coin
    drawn = min(drawn, size - 1)
    return drawn, (1 - mix) * (weights[drawn] / whole) + mix / size


def play_arms(
    loss, buffers, rows, coins, units, done, lengths, scales, etas, mixes, sums, arms, chances, batched, total, clipped
):
    """Some rounds after the first `done`; the state, from `sums` on, is changed in place.

    buffers, rows: see `core.losses.as_columns`; columns are all runs of the first setting, then of the next. coins,
    units (runs, rounds); sums (columns, K), all others (columns,).
    """
    (columns, size), (runs, rounds) = sums.shape, coins.shape
    weights, below, position = np.empty(size), np.empty(size), done % lengths
    for now in range(rounds):
        if now == 0 or rows[0].shape[0] > 1:
            copy_round(rows, buffers, now, 0)
        for c in range(columns):
            if position[c] == 0:  # line 2
                coin = coins[c % runs, now]
                batched[c] = 0.0
                arms[c], chances[c] = draw_arm(sums[c], etas[c], mixes[c], coin, weights, below)  # line 3
            value = arm_at(loss, arms[c], c)  # line 4
            clip = min(max(value, 0.0), 1.0)
            total[c] += value
            clipped[c] += clip != value
            batched[c] += clip
            position[c] += 1
            if position[c] == lengths[c]:
                position[c] = 0
                mean = batched[c] / lengths[c] + scales[c] * units[c % runs, now]  # line 5
                sums[c, arms[c]] += mean / chances[c]  # line 6


class BatchedArms(BanditLearner):
    """Pure eps-DP. State: `sums` S (settings, runs, K), `arms` and their `chances` p_A (settings, runs).

    Raises ValueError for a single arm.
    """

    pure = True
    card = Card(
        name="batched-arms",
        title="batched K-arm bandit",
        paper="Asi, Raman & Talwar 2025",
        reference="batches of 1/eps rounds, EXP3 beneath",
        variants={
            "corrected": "batches of 1/eps rounds, exploration that bounds what noise can do",
            "every-round": "the same with batches of one round: noise on every observed loss",
            "unmixed": "batches of 1/eps rounds, EXP3 without exploration",
        },
        needs=frozenset({"arms"}),
    )

    def prepare(self) -> None:
        self.size = self.domain.dimension
        if self.size < 2:
            raise ValueError(f"at least 2 arms are needed, got {self.size}")
        longest = 1 if self.variant == "every-round" else self.horizon
        lengths = [max(1, math.ceil(min(longest, 1 / budget.epsilon))) for budget in self.budgets]
        self.lengths = np.array(lengths)  # line 1
        self.scales = np.array(
            [calibrate("laplace", budget, 1 / length, 1) for budget, length in zip(self.budgets, lengths, strict=True)]
        )
        self.batches = -(-self.horizon // self.lengths)
        self.etas, self.mixes, self.squares = self._constants()

    def _constants(self) -> tuple[Array, Array, Array]:
        """eta, gamma and c of every setting."""
        noise = self.scales
        square, price = 0.5 + np.square(noise), np.zeros_like(noise)
        if self.variant != "unmixed":
            tried = 0.5 + np.square(noise)[:, None] / (1 - np.square(SHARES))
            best = (tried + noise[:, None] / SHARES).argmin(axis=1)
            square, price = tried[np.arange(len(best)), best], noise / SHARES[best]
        eta = np.sqrt(math.log(self.size) / ((square + price) * self.size * self.batches))
        mix = np.minimum(1.0, eta * price * self.size)
        return np.where(mix < 1, eta, 1 / np.maximum(price * self.size, 1e-300)), mix, square

    def ledger(self) -> Sequence[Release]:
        """A mean is released once."""
        return [
            Release("laplace", float(scale), 1 / float(length), 1)
            for scale, length in zip(self.scales, self.lengths, strict=True)
        ]

    def play(self, inputs: Given) -> Record:
        """Some rounds at a time. Raises ValueError for losses whose kind has no `arm_at`.

        Each round has one uniform number for the draw of an arm, and one for noise, whether or not a setting uses it.
        """
        shape = (len(self.budgets), self.runs)
        self.sums, self.arms = np.zeros((*shape, self.size)), np.zeros(shape, dtype=np.int64)
        self.chances, self.batched, self.total, self.clipped = (np.zeros(shape) for _ in range(4))
        fixed = [np.repeat(numbers, self.runs) for numbers in (self.lengths, self.scales, self.etas, self.mixes)]
        states = [numbers.reshape(-1) for numbers in (self.arms, self.chances, self.batched, self.total, self.clipped)]
        sums = self.sums.reshape(-1, self.size)
        uniforms, laplace = Uniforms(inputs.directions), UnitNoise("laplace", inputs.noise, 1)
        for done, losses in self.pieces(inputs):
            if not are_compiled(losses, arm_at):
                raise ValueError(f"{self.card.name} needs losses of a kind that has an arm_at (core/oracles.py)")
            offset = done % BLOCK
            if offset == 0:
                coins, units = uniforms.draw(BLOCK), laplace(BLOCK)[..., 0].T.copy()
            now = slice(offset, offset + losses.rounds)
            none, data = slice(0), self.as_columns(losses, len(sums))
            idle, drawn = ((without_gaps(coins[:, part]), without_gaps(units[:, part])) for part in (none, now))
            loop, after = specialised(play_arms, type(data[0])), (done, *fixed, sums, *states)
            self.compiled_apart(loop, *data, *idle, *after)(*data, *drawn, *after)
        return Record(self.total, self.clipped / self.horizon, np.zeros(len(self.budgets)), 0.0)

    def bound(self) -> list[float]:
        """tau ( (1 - gamma) ln(K)/eta + eta c K M + gamma M ), or T; unmixed with noise: none is known."""
        first = (1 - self.mixes) * math.log(self.size) / self.etas
        total = first + self.batches * (self.etas * self.squares * self.size + self.mixes)
        bounds = np.minimum(self.lengths * total, self.horizon)
        unknown = (self.variant == "unmixed") & (self.scales > 0)
        return list(np.where(unknown, np.nan, bounds).tolist())
