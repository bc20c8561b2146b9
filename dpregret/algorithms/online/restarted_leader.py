"""FTAL that forgets: it restarts every B rounds, and each block's tree protects its losses permanently.

Problem     As in ftal.py; B is the `window` of the setting.
Algorithm   line 1  for t = 1..T
            line 2    hat g_t = sum_{s<=t} grad f_s(x_s) + z_t, z_t the noise of one tree a block of B rounds
            line 3    b = the last round of the block before
            line 4    if t ends a block: x_{t+1} = x_1
            line 5    else x_{t+1} = Proj( (sum_{b<s<=t} x_s - (hat g_t - hat g_b) / mu) / (t - b) )
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves one summand by at most
            2 L. It lies in log2 B + 1 nodes, all of its own block, and later points are functions of later sums: what
            is forgotten needs no expiry. (epsilon, delta)-DP for all rounds, at what WDP-COCOP pays for a window W = B.
            A record that is in several rounds is charged all of them, not those of one block.
Guarantee   In each block that of ftal.py, against the best point of the block, with the noise of hat g_t - hat g_b; so
            the sum over blocks bounds the regret against points that change at block ends, and against fixed ones.
Deviations  None: ours. Restarts against drift are folklore (Besbes, Gur & Zeevi 2015 tune B to a known variation). For
            private experts Asi, Raman & Saha (ICML 2025; their abstract was read) reduce regret against S switches of
            the best expert to static regret; theirs are linear losses on the simplex, these are strongly convex.
"""

from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.ftal import FollowTheApproximateLeader, gradient_sums
from dpregret.algorithms.privacy.noise import root_mean_square_norm
from dpregret.algorithms.privacy.trees import BlockTrees
from dpregret.core.oracles import project, step
from dpregret.numerics.arrays import Array
from dpregret.numerics.quotients import divisor


class Restarted(NamedTuple):
    """total, begun (d, runs): sum of the block's points and -gradients / mu, the noise when it began; start (d,)."""

    total: Array
    begun: Array
    start: Array
    mu: float
    length: float


@step.add
def _step_restarted(leader: Restarted, loss, domain, t, x, gradient, noise, scratch):  # line 1
    """One round of a block."""
    mu, total, begun = divisor(leader.mu), leader.total, leader.begun
    position = (t - 1.0) % leader.length + 1.0  # line 3
    over = divisor(position)
    for k in range(x.shape[0]):
        for r in range(x.shape[1]):
            total[k, r] += x[k, r] - gradient[k, r] / mu  # line 2
            x[k, r] = (total[k, r] - (noise[k, r] - begun[k, r]) / mu) / over
    project(domain, x, scratch)  # line 5
    if position == leader.length:  # line 4
        for k in range(x.shape[0]):
            for r in range(x.shape[1]):
                total[k, r], begun[k, r], x[k, r] = 0.0, noise[k, r], leader.start[k]


class RestartedLeader(FollowTheApproximateLeader):
    """FTAL that restarts."""

    card = Card(
        name="restarted-ftal",
        title="restarted FTAL",
        paper="dpregret",
        reference="restarts",
        variants={"corrected": "one tree a block of B rounds, exact calibration"},
        windowed=True,
        permanent=True,
        same_as="wdp-cocop-gaussian, where all rounds are protected",
    )

    def prepare(self) -> None:
        self.blocks = [BlockTrees(setting.window) for setting in self.settings]
        self.noise_plan = gradient_sums("gaussian", self.blocks, self.problem, self.settings)
        self.lengths = np.array([setting.window for setting in self.settings])

    def state(self, setting: int, runs: int) -> Any:
        """A block that begins."""
        total, begun = np.zeros((2, self.domain.dimension, runs))
        return Restarted(
            total, begun, self.point[setting, 0].copy(), self.strong_convexity, float(self.lengths[setting])
        )

    def block_noise(self, rounds: int) -> Array:
        """Root of E|z_t - z_b|^2 in rounds 1..rounds, (settings, rounds)."""
        assert self.noise_plan is not None
        nodes = np.array([blocks.nodes_since_block(rounds) for blocks in self.blocks])
        scales = np.array(self.noise_plan.scales)[:, None]
        return scales * root_mean_square_norm("gaussian", self.domain.dimension) * np.sqrt(nodes)

    def displacement(self, rounds: int) -> Array:
        """E|z_t - z_b| / (mu (t - b)) at most, in the last round of the longest block so far."""
        longest = np.minimum(np.arange(1.0, rounds + 1), self.lengths[:, None])
        return np.maximum.accumulate(self.block_noise(rounds), axis=1) / (self.strong_convexity * longest)

    def bound(self, rounds: int) -> Array:
        """The sum over blocks of the guarantee of ftal.py."""
        diameter, lengths = self.domain.diameter, self.lengths[:, None]
        position = np.arange(rounds) % lengths + 1
        drift = (self.lipschitz / self.strong_convexity + diameter) / position
        before = np.concatenate([np.zeros((len(lengths), 1)), self.block_noise(rounds)[:, :-1]], axis=1)
        noise = before / (self.strong_convexity * np.maximum(position - 1, 1))
        distance = np.where(position == 1, diameter, np.minimum(diameter, drift + noise))
        return self.lipschitz * np.cumsum(distance, axis=1)
