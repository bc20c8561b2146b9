"""Projection-free bandits without privacy: what PrivateBandit builds on.

Algorithm   Garber & Kretzu 2020: noisy_leader.py in batches of sqrt(T) rounds, one linear oracle call a round. No lag:
            batches alternate.
Privacy     None.
Guarantee   Regret T^(3/4) with T oracle calls in all.
Deviations  The constants are those of PrivateBandit, on the set shrunk so that every played point lies in it;
            conditional gradient runs to 10 D^2/sqrt(T).
"""

import math

from dpregret.algorithms.bandits.noisy_leader import NoisyLeader
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian
from dpregret.algorithms.learner import Card


class GarberKretzu(NoisyLeader):
    """Projection-free bandits without privacy: batches, one linear oracle call a round, feasible play."""

    distribution = "gaussian"
    by_projection = False
    feasible = True
    card = Card(
        name="garber-kretzu",
        title="Garber-Kretzu",
        paper="Garber & Kretzu 2020",
        reference="our constants",
        variants={"plain": "blocks of sqrt(T) rounds"},
        private=False,
    )

    def prepare(self) -> None:
        self.tolerance = 10 / math.sqrt(self.horizon)
        super().prepare()

    batch_length = PrivateBanditGaussian.batch_length
    constants = PrivateBanditGaussian.constants
