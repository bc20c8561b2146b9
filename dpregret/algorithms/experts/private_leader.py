"""Leaders on private sums of losses: regularised by entropy, or perturbed by the noise itself.

Algorithm   Agarwal & Singh 2017, full information. A binary tree releases noisy sums of the loss vectors.
            FTRL: P ~ exp(-eta * noisy sums), eta = sqrt(ln(d) / (2 T)). FTPL: the expert of the smallest noisy sum,
            with a padded tree, so that the perturbation has the same distribution in every round.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others. A vector in [0, 1]^d moves by at
            most d in l1 and sqrt(d) in l2 norm. Laplace noise is eps-DP, Gaussian noise (eps, delta)-DP by exact
            Gaussian DP; what is played is post-processing.
Guarantee   FTRL: sqrt(2 T ln d) plus twice the expected largest error of a sum: the leader on wrong sums.
Deviations  FTRL plays on a plain tree (padded and variance-reduced ones are variants; root and buffers replace it under
            Gaussian noise, laplace-blocks, a tree a block, under Laplace noise; eta does not depend on the noise). FTPL
            does not take root and buffers: its perturbation must have the same distribution in every round, and theirs
            grows. So does that of laplace-blocks, within a block and from block to block: it is played to be measured.

FTRL is charged with its expected loss given the noise.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertLearner, Play, rechunk
from dpregret.algorithms.experts.hedge import exponentiate
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import (
    ALTERNATIVES,
    BLOCK,
    PURE_ALTERNATIVES,
    NoiseDistribution,
    NoisePlan,
    Release,
    calibrate,
    horizon_sums,
)
from dpregret.algorithms.privacy.prefix_sums import by_run
from dpregret.algorithms.privacy.trees import BinaryTree, PaddedTree, VarianceReducedTree
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.sums import dot

LARGEST = 2**22  # noises of a round: experts times runs


@compiled
def lead(
    losses: Array, member: Any, units: Array, scale: float, eta: float, seen: Array, last: Array, total: Array
) -> None:
    """Play some rounds: every round sees the noise of the one before.

    losses (rounds, runs | 1, groups), member (d,): the group of each expert. units (runs, at least rounds, d), times
    scale: noise. Changed in place: seen (runs, d), the losses so far; last (runs, d), noise of the last round; total
    (runs,), what is lost.
    """
    experts = len(member)
    lost, weights, ones = np.empty(experts), np.empty(experts), np.ones(experts)
    for run in range(len(seen)):
        sums, noise, column = seen[run], last[run], min(run, losses.shape[1] - 1)
        for now in range(len(losses)):
            row, unit = losses[now, column], units[run, now]
            for expert in range(experts):
                lost[expert] = row[member[expert]]
            if np.isinf(eta):
                best = 0
                for expert in range(experts):
                    weights[expert] = sums[expert] + noise[expert]
                    best = expert if weights[expert] < weights[best] else best
                total[run] += lost[best]
            else:
                for expert in range(experts):
                    weights[expert] = -eta * (sums[expert] + noise[expert])
                exponentiate(weights)
                total[run] += dot(weights, lost) / dot(weights, ones)
            for expert in range(experts):
                sums[expert] += lost[expert]
                noise[expert] = scale * unit[expert]


class PrivateLeader(ExpertLearner):
    """Base of both leaders: the noisy sums. plain: the tree of variants that name none."""

    plain: ClassVar[type[BinaryTree]] = BinaryTree

    def prepare(self) -> None:
        if self.experts * self.runs > LARGEST:
            raise ValueError(
                f"{self.card.name} draws a noise per expert: {self.experts} experts times {self.runs} runs are more "
                f"than {LARGEST}"
            )
        self.distribution: NoiseDistribution = "laplace" if self.variant.startswith("laplace") else "gaussian"
        tree = {"padded": PaddedTree, "reduced": VarianceReducedTree}.get(self.variant.partition("-")[2], self.plain)
        sums = horizon_sums(self.variant.removeprefix("laplace-"), self.horizon, tree(self.horizon))
        sensitivity = float(self.experts) if self.pure else math.sqrt(self.experts)
        scale = calibrate(self.distribution, self.budget, sensitivity, sums.nodes_per_item)
        self.plan = NoisePlan(self.distribution, [sums], [scale], sensitivity, self.experts)

    @property
    def pure(self) -> bool:
        """Laplace noise."""
        return self.distribution == "laplace"

    def ledger(self) -> list[Release]:
        """Of all nodes that hold a loss."""
        return self.plan.releases()

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Losses of all runs."""
        member = np.repeat(np.arange(len(self.sizes)), self.sizes.astype(np.int64))
        seen, last = np.zeros((2, self.runs, self.experts))
        total, scale = np.zeros(self.runs), self.plan.scales[0]
        for losses, (units,) in zip(rechunk(blocks, BLOCK), self.plan.correlated(generators), strict=False):
            losses = np.require(losses, np.float64, ["C", "W"])  # one kind of array: one compilation
            lead(losses, member, by_run(units), scale, self.sharpness, seen, last, total)
        return Play(total, np.full(self.runs, np.nan))

    def noisy_sums(
        self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]
    ) -> Iterator[tuple[Array, Array]]:
        """Pieces of up to BLOCK rounds: losses, and noisy sums of the losses before each round; (rounds, runs, d)."""
        repeats = self.sizes.astype(np.int64)
        seen = np.zeros((1, len(self.sizes)))
        last = np.zeros((1, self.runs, self.experts))  # no sums and no noise before the first round
        for losses, block in zip(rechunk(blocks, BLOCK), self.plan.blocks(generators), strict=False):
            before = np.zeros_like(losses)
            np.cumsum(losses[:-1], axis=0, out=before[1:])
            noise = np.concatenate([last, block[:-1, 0]])[: len(losses)]
            yield np.repeat(losses, repeats, axis=-1), np.repeat(seen + before, repeats, axis=-1) + noise
            seen, last = seen + losses.sum(axis=0), block[-1:, 0].copy()

    @property
    @abstractmethod
    def sharpness(self) -> float:
        """eta of P ~ exp(-eta * noisy sums), which is charged with its expected loss; inf: the leader."""


class PrivateFtrl(PrivateLeader):
    """Follow the regularised leader."""

    card = Card(
        name="private-ftrl",
        title="private FTRL",
        paper="Agarwal & Singh 2017",
        reference="full information, entropy",
        variants={
            "laplace": "Laplace noise, eps-DP",
            "gaussian": "Gaussian noise",
            "gaussian-padded": "Gaussian noise, padded tree",
            "gaussian-reduced": "Gaussian noise, variance-reduced tree",
            "laplace-blocks": PURE_ALTERNATIVES["blocks"],
            **ALTERNATIVES,
        },
    )

    @property
    def sharpness(self) -> float:
        """sqrt(ln(d) / (2 T))."""
        return math.sqrt(math.log(self.experts) / (2 * self.horizon))


class PrivateFtpl(PrivateLeader):
    """Follow the perturbed leader."""

    plain = PaddedTree
    card = Card(
        name="private-ftpl",
        title="private FTPL",
        paper="Agarwal & Singh 2017",
        reference="full information, perturbation",
        variants={
            "laplace": "Laplace noise, eps-DP",
            "gaussian": "Gaussian noise",
            "laplace-blocks": PURE_ALTERNATIVES["blocks"],
        },
    )

    @property
    def sharpness(self) -> float:
        """The leader alone; ties go to the first."""
        return math.inf
