"""PrivateBandit: private bandits with one linear oracle call a round.

Algorithm   Ene, Nguyen & Vladu 2021, Alg. 1: noisy_leader.py, which has the whole box, with
            line 1  sqrt(T) batches of sqrt(T) rounds, zeta = D sqrt(n)/T^(1/4), eta = D/(T^(3/4) sqrt(n) L)
            line 2  open a tree over the batches, with Laplace or Gaussian noise (root, buffers, blocks: that mechanism)
            line 4  lag 1: while batch R is played, the point of batch R + 1 is computed from the sums before batch R
            line 14 that point by conditional gradient, with no more linear oracle calls than the batch has rounds
Privacy     Unit: one round; neighbours: its loss is replaced by any other admissible one. corrected: a leaf moves by
            (n/zeta) L (D + 2 zeta), see noisy_leader.py. printed: the paper's scales, from a bound on the norm of the
            whole batch: Laplace sqrt(T) n L ln T/eps a coordinate (Lemma 7), Gaussian T^(1/4) sqrt(n) L ln T
            ln(T/delta)/eps ( ln((n+T)/delta) + sqrt((1 + sqrt(T)/n) ln((n+T)/delta)) ) (Lemma 10). Laplace noise is
            drawn coordinate by coordinate in the basis of the set's affine hull, and is not rotation invariant:
            another basis keeps the same privacy, and has another regret.
Guarantee   docs/proofs/private_bandit_bound.md: the privacy term is of the order of sqrt(T), lower than T^(3/4).
Deviations  corrected: the regulariser is centered in the set, and the sign of the linear term is that of NoisyOCO;
            conditional gradient runs to a gap of D^2/T or sqrt(T) calls. paper-tolerance: to 10 D^2/sqrt(T), a
            distance of sqrt(20) D/T^(1/4). padded: every sum has ceil(log2 sqrt(T)) node noises. scaled: feasible
            play, the paper's scaling trick, for zeta below the inner radius. printed: the ascending sign, the
            regulariser centered at 0, padded, the paper's noise and tolerance.
"""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from dpregret.algorithms.bandits.noisy_leader import NoisyLeader
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import ALTERNATIVES, PURE_ALTERNATIVES, Budget, NoiseDistribution

VARIANTS = {
    "corrected": "valid noise, conditional gradient to the full budget",
    "paper-tolerance": "the same, conditional gradient stopped at the paper's tolerance",
    "projection": "the same, exact projection in place of conditional gradient",
    "padded": "the same on a padded tree",
    "scaled": "the same on the set shrunk so that every played point lies in it",
    "printed-noise": "as corrected, with the printed noise",
    "printed": "Alg. 1 to the letter: ascending sign, printed noise",
}


class PrivateBanditGaussian(NoisyLeader):
    """Gaussian noise, (eps, delta)-DP."""

    distribution: ClassVar[NoiseDistribution] = "gaussian"
    lag = 1  # line 4
    card = Card(
        name="private-bandit-gaussian",
        title="PrivateBandit (Gaussian)",
        paper="Ene, Nguyen & Vladu 2021",
        reference="Alg. 1, Thm 1",
        variants={**VARIANTS, **ALTERNATIVES},
    )

    def prepare(self) -> None:
        self.by_projection = self.variant == "projection"
        loose = self.variant in ("paper-tolerance", "printed")
        self.tolerance = 10 / math.sqrt(self.horizon) if loose else 1 / self.horizon
        self.feasible = self.variant == "scaled"
        super().prepare()
        if self.variant == "printed":
            self.center = np.zeros_like(self.center)  # of the regulariser; play starts at the set's center
            self.sign = -1.0  # line 14

    @property
    def padded(self) -> bool:
        """Padded, and as printed."""
        return self.variant in ("padded", "printed", "printed-noise")  # line 2

    def batch_length(self) -> int:
        """sqrt(T)."""
        root = math.isqrt(self.horizon)  # line 1
        if root**2 != self.horizon:
            raise ValueError(
                f"{self.card.name} needs a horizon that is a perfect square, got {self.horizon}; the nearest are "
                f"{root**2} and {(root + 1) ** 2}"
            )
        return root

    def constants(self) -> tuple[float, float]:
        """D sqrt(n)/T^(1/4) and D/(T^(3/4) sqrt(n) L)."""
        if self.horizon < self.hull**2:
            raise ValueError(
                f"{self.card.name}: zeta would exceed the diameter of the set {self.domain.name!r}: a horizon of at "
                f"least {self.hull**2} is needed, got {self.horizon}"
            )
        zeta = self.diameter * math.sqrt(self.hull) / self.horizon**0.25
        return zeta, self.diameter / (self.horizon**0.75 * math.sqrt(self.hull) * self.lipschitz)

    def node_scale(self, budget: Budget) -> float:
        """printed, printed-noise: Lemmas 7 and 10."""
        if not self.variant.startswith("printed") or math.isinf(budget.epsilon):
            return super().node_scale(budget)
        rounds, steep, epsilon = float(self.horizon), self.lipschitz, budget.epsilon
        if self.distribution == "laplace":
            return float(math.sqrt(rounds) * self.hull * steep * math.log(rounds) / epsilon)
        tail = budget.log_over_delta(self.hull + rounds)
        spread = tail + math.sqrt((1 + math.sqrt(rounds) / self.hull) * tail)
        size = rounds**0.25 * math.sqrt(self.hull) * steep * math.log(rounds) * budget.log_over_delta(rounds)
        return float(size / epsilon * spread)

    def bound(self, rounds: int | None = None) -> list[float]:
        """That of NoisyOCO; none for the ascending sign."""
        return [math.nan] * len(self.budgets) if self.variant == "printed" else super().bound(rounds)


class PrivateBanditLaplace(PrivateBanditGaussian):
    """Laplace noise, pure eps-DP."""

    distribution = "laplace"
    card = replace(
        PrivateBanditGaussian.card,
        name="private-bandit-laplace",
        title="PrivateBandit (Laplace)",
        variants={**VARIANTS, "blocks": PURE_ALTERNATIVES["blocks"]},
    )
