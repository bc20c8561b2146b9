"""Experts by private switching with a binary tree counter instead of the sparse vector.

Algorithm   Asi et al. 2023, Alg. 3 is a sketch whose text is lost; the lines below are our instantiation of it, with
            one candidate a phase and at most P = 3 ceil(log2 d) draws, after which the last expert stays.
            line 1  draw x uniformly; open a binary tree counter
            line 2  for t = 1..T
            line 3    if fewer than P draws were spent and the noisy count of the losses of x in its phase exceeds the
                      threshold:
            line 4      draw x with P(x) ~ exp(-eta C(x) / 2), C the losses so far; a new phase and counter
            line 5    play x; the counter takes l_t(x)
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; pure eps-DP. Counters of
            different phases see different rounds: eps/2 with Laplace noise of scale 2 q/eps a node,
            q = ceil(log2 T). The draws have eps/(2 P) each. blocks: q is the number of nodes that hold an item there.
Guarantee   None proven (Section 3.2 states a regret, lost in our text, without a proof). The threshold 4/eta + error
            is above the noise at all times with probability 1 - beta: |sum of up to q Laplace variates of scale b| <=
            b sqrt(8 max(q, l) l), l = ln(2 T/beta), for one round with probability 1 - beta/T (Chan, Shi & Song 2011,
            Lemma 2.8). The lemma is one on weighted sums, squared weights instead of their number: so for blocks,
            where no weight is above 1.
Deviations  See Algorithm; the paper draws several candidates a phase. blocks: a tree a block, read off by least
            squares, instead of the binary tree.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertLearner, Play, RunOfBlock, play_runs
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import PURE_ALTERNATIVES, PrefixSums, Release, horizon_sums
from dpregret.algorithms.privacy.budget import SPACING
from dpregret.algorithms.privacy.selection import Selection, draw_group
from dpregret.algorithms.privacy.trees import Tree
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled

CHUNK = 1024  # prefixes whose noise is drawn together
ENDLESS = 2**48  # rounds of a tree that no play can exhaust


@compiled
def first_above(
    count: float, losses: Array, rounds: int, unasked: int, noise: Array, threshold: float
) -> tuple[int, float]:
    """The first of some rounds whose noisy count, of the losses before it, is above the threshold; and the last count.

    losses: (rounds,), or (1,) where all are alike; count: before the first of them. The first `unasked` rounds have no
    count; noise (rounds - unasked,). -1: there is none.
    """
    lost = 0.0
    for now in range(rounds):
        if now >= unasked and count + lost + noise[now - unasked] > threshold:
            return now, count + lost
        lost += losses[0] if len(losses) == 1 else losses[now]
    return -1, count + lost


class TreeCounterExperts(ExpertLearner):
    """Algorithm 3 with one candidate at a time."""

    pure = True
    card = Card(
        name="tree-counters",
        title="binary tree counters",
        paper="Asi et al. 2023",
        reference="Alg. 3, our instantiation",
        variants={"single": "one candidate a phase", "blocks": PURE_ALTERNATIVES["blocks"]},
    )

    def prepare(self) -> None:
        self.sums = horizon_sums(self.variant, self.horizon)
        self.levels = int(self.sums.nodes_per_item)
        self.most_draws = 3 * math.ceil(math.log2(self.experts))
        private = math.isfinite(self.budget.epsilon)
        self.scale = 2 * self.levels / self.budget.epsilon if private else 0.0
        draw_scale = 4 * self.most_draws / self.budget.epsilon if private else 0.0  # 2 / eta
        self.draw_scale = draw_scale * (1 + 8 * SPACING)  # the two halves add up to no more than the whole
        log_term = math.log(2 * self.horizon / self.problem.failure)
        squares = self.levels if self.variant == "single" else self.sums.noisy_nodes(max(1, self.horizon - 1)).max()
        self.error = self.scale * math.sqrt(8 * max(squares, log_term) * log_term)
        self.threshold = 2 * self.draw_scale + self.error

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Total losses of the played experts and numbers of draws."""
        return play_runs([_Counting(self, generator) for generator in generators], blocks, len(self.sizes))

    def delivered_epsilon(self) -> list[float]:
        """Counters plus draws."""
        if math.isinf(self.budget.epsilon):
            return [math.inf]
        counters = Release("laplace", self.scale, 1.0, self.levels).epsilon(0.0)
        return [counters + Selection("gumbel", self.draw_scale, 1.0, self.most_draws).epsilon(0.0)]


class CounterNoise:
    """Noise of the prefixes 1, 2, ... of sums of numbers, Laplace(scale) a node, any number at a time.

    sums: the mechanism; None: a binary tree.
    """

    def __init__(self, generator: np.random.Generator, scale: float, sums: PrefixSums | None = None):
        self.generator, self.scale, self.sums = generator, scale, sums
        self.state = Tree.begun(ENDLESS, 1, 1) if sums is None else sums.init(CHUNK, 1, 1)
        self.pending = np.empty(0)

    def take(self, count: int) -> Array:
        """The noise of the next `count` prefixes."""
        while len(self.pending) < count:
            noise = self._drawn(CHUNK)
            if self.sums is None:
                self.state.next(noise[None, :, None])
            else:
                noise = self.sums.next(self.state, noise[:, None, None], lambda k: self._drawn(k)[:, None, None])
                noise = noise[:, 0, 0]
            self.pending = np.concatenate([self.pending, noise]) if len(self.pending) else noise
        taken, self.pending = self.pending[:count], self.pending[count:]
        return taken

    def _drawn(self, count: int) -> Array:
        return self.generator.laplace(scale=self.scale, size=count) if self.scale else np.zeros(count)


class _Counting:
    """One run of the learner. The count before a round holds the losses since the phase began, up to the last round."""

    def __init__(self, learner: TreeCounterExperts, generator: np.random.Generator):
        self.learner, self.generator = learner, generator
        self.group = draw_group(generator, learner.sizes, np.zeros(len(learner.sizes)), 1.0)  # line 1
        self.draws, self.total = 0, 0.0
        self._begin()

    def _begin(self) -> None:
        self.count, self.fresh = 0.0, True
        sums = None if self.learner.variant == "single" else self.learner.sums
        self.noise = CounterNoise(self.generator, self.learner.scale, sums)

    def play_block(self, losses: RunOfBlock, before: Array) -> None:
        now = 0
        while now < losses.rounds:  # line 2
            stop = min(losses.rounds, now + CHUNK)
            halt = None if self.draws >= self.learner.most_draws else self._halt(losses, now, stop)  # line 3
            reached = stop if halt is None else halt
            self.total += losses.total(self.group, now, reached)  # line 5
            now = reached
            if halt is None:
                continue
            scores = before + losses.before(now)
            self.group = draw_group(self.generator, self.learner.sizes, scores, self.learner.draw_scale)  # line 4
            self.draws += 1
            self._begin()

    def _halt(self, losses: RunOfBlock, start: int, stop: int) -> int | None:
        """The first round of the block whose count, known before it, is above the threshold; None if there is none."""
        first = 1 if self.fresh else 0  # the round in which a phase begins has no count yet
        column = losses.losses[:, self.group]
        ahead = without_gaps(column if losses.constant else column[start:stop])
        noise = self.noise.take(stop - start - first)
        index, count = first_above(self.count, ahead, stop - start, first, noise, self.learner.threshold)
        if index >= 0:
            return start + index
        self.count, self.fresh = count, False
        return None
