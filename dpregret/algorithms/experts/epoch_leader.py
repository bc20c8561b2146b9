"""Epoch leader: play the noisy leader of the epoch before. For independent losses of one law only.

Algorithm   Asi, Feldman, Koren & Talwar, COLT 2023, Algorithm 2 (Section 3.2), whose private choice is here the
            exponential mechanism on the losses of the epoch before; in our own lines:
            line 1  draw x uniformly and play it in round 1; S = l_1
            line 2  for epochs k = 1, 2, ...: rounds 2^k .. 2^(k+1) - 1
            line 3    draw x as argmin_i (S(i) - Gumbel(2/eps)), that is, P(x) ~ exp(-eps S(x) / 2)
            line 4    S = 0; play x and add the losses of the epoch to S
            Losses are expectations over the draws, exact: every draw has the law of line 3, whatever was drawn before.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others, so every sum moves by at most 1,
            two of them apart by 2. A loss enters one choice: eps-DP, and of bounded range eps, hence eps^2/8-zCDP,
            without composition, whatever the horizon. It holds for all losses.
Guarantee   Stochastic only: for rounds drawn independently from one law. With n rounds in the epoch before,
            a round of the next one costs at most
              2 ln(d)/(eps n) + sqrt(ln(d)/(2n)): <P, S> <= min S + (2/eps) ln d, then Hoeffding for the d sums;
              (d - 1) gap exp(-n theta (gap - theta/2)), theta = min(eps/2, gap): P(i) <= exp(-theta (S(i) - S(*))) and
              Hoeffding's lemma; a larger gap costs less where n gap theta >= 1.
            `bound` adds the smallest of these and 1 over the epochs, and what the best expert in hindsight is ahead of
            the best of the law: sqrt(2 T ln d) or (d - 1) exp(-T gap^2/2)/gap.
            So O(sqrt(T ln d) + ln(d) ln(T)/eps), and O(ln(d)/gap + ln(d)/eps) with equal gaps, whatever T.
            Without independence there is none: on `leader-swap` regret is 2T/3.
Deviations  The choice is ours: Corollary 8 takes another one, of the same rate. So are the constants.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertLearner, Play
from dpregret.algorithms.experts.hedge import marginals_of
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy.selection import Selection
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


class EpochLeader(ExpertLearner):
    """One choice an epoch."""

    exact = by_epochs = stochastic_only = pure = True
    card = Card(
        name="epoch-leader",
        title="epoch leader",
        paper="Asi et al., COLT 2023",
        reference="Algorithm 2, our private choice",
        variants={"pure": "Gumbel noise, eps-DP; its guarantee is for independent losses of one law only"},
    )

    def ledger(self) -> list[Selection]:
        """A loss is in one choice."""
        return [Selection("gumbel", 2 / self.budget.epsilon, 1.0, 1)]

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses; the generators are not used."""
        law, total = self.sizes / float(self.experts), np.zeros(1)  # line 1
        for lost, ended in epoch_parts(blocks):  # line 2
            total = total + vecdot(law, lost)
            if ended is not None:
                law = self.law(ended)
        return Play(np.broadcast_to(total, (self.runs,)), np.full(self.runs, float(len(lengths(self.horizon)))))

    def law(self, sums: Array) -> Array:
        """P of the groups from their sums over an epoch, over the last axis."""
        return marginals_of(sums, self.sizes, self.budget.epsilon / 2)  # line 3

    def bound(self) -> list[float]:
        """See Guarantee; NaN where no law was declared."""
        if self.problem.gap is None:
            return [math.nan]
        rounds = [float(length) for length in lengths(self.horizon)]
        spent = sum(length * self._round(before) for before, length in pairwise(rounds))
        return [min(float(self.horizon), rounds[0] + spent + self._ahead())]

    def _round(self, before: float) -> float:
        """Expected regret of one round, after an epoch of `before` full rounds."""
        log_experts, epsilon, gap = math.log(self.experts), self.budget.epsilon, self.problem.gap or 0.0
        costs = [1.0, 2 * log_experts / (epsilon * before) + math.sqrt(log_experts / (2 * before))]
        slope = min(epsilon / 2, gap)
        if before * gap * slope >= 1:
            costs.append((self.experts - 1) * gap * math.exp(-before * slope * (gap - slope / 2)))
        return min(costs)

    def _ahead(self) -> float:
        """Of the best expert in hindsight over the best one of the law."""
        gap, horizon = self.problem.gap or 0.0, self.horizon
        free = math.sqrt(2 * horizon * math.log(self.experts))
        return min(free, (self.experts - 1) * math.exp(-horizon * gap**2 / 2) / gap) if gap else free


def lengths(horizon: int) -> list[int]:
    """Rounds of the epochs 1, 2, 4, ...; the last may be shorter."""
    starts = [2**k for k in range(horizon.bit_length())]
    return [min(start, horizon + 1 - start) for start in starts]


def epoch_parts(blocks: Iterable[Block]) -> Iterator[tuple[Array, Array | None]]:
    """Losses (runs | 1, groups) summed over rounds of one block and epoch, and the epoch's sums where it ends."""
    length = remaining = 1
    seen = np.zeros(())
    for block in blocks:
        first = 0
        while first < block.rounds:
            last = min(block.rounds, first + remaining)
            alike = len(block.losses) == 1
            lost = block.losses[0] * float(last - first) if alike else block.losses[first:last].sum(axis=0)
            seen, remaining, first = seen + lost, remaining - (last - first), last  # line 4
            yield lost, seen if remaining == 0 else None
            if remaining == 0:
                length *= 2
                remaining, seen = length, np.zeros(())
