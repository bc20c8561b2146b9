"""Learners of experts: released is the sequence of played experts, of two.

Neighbours differ in the losses of one round. Three kinds of learners are seen in three ways:

  chains     Hedge by composition or in batches, both dartboards, epoch leader, and each learner with a `chain` of its
             own: a play is (seen through) a Markov chain whose law is known, so the loss of whole sequences is exact;
             the audit also draws sequences from that law.
  leaders    FTRL and FTPL: all plays are functions of noisy sums of losses, which are audited in their place.
  switchers  sparse vector, tree counters: what is played in the changed round, the total loss of what is played in all
             others, and the number of draws. An expert loses in every round until it is left, so these reveal when.
             They get two switches with a low threshold (`Restless`), so that experts are left within a few rounds and a
             draw costs much; guarantees hold for any. Of Algorithm 1 the law on four rounds is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpregret.algorithms.experts.adaptive import AdaptiveExperts
from dpregret.algorithms.experts.base import ExpertLearner, ExpertProblem
from dpregret.algorithms.experts.counters import TreeCounterExperts
from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.experts.private_leader import PrivateLeader
from dpregret.algorithms.experts.shrinking_dartboard import LazyHedge
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import Budget, NoisePlan
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit import reached
from dpregret.workflows.audit.neighbours import Pair, along_tree, exact_epsilon, generators
from dpregret.workflows.audit.switching import Restless, restless, table_epsilon, worst_epsilon


@dataclass(frozen=True)
class Table:
    """Losses of all rounds, (rounds, 1, 2), as a block of a stream."""

    losses: Array

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.losses)


@dataclass(frozen=True)
class Neighbours:
    """Two tables of losses (rounds, 2) that differ in round `place`."""

    place: int
    first: Array
    second: Array


def loss_tables(rounds: int, decodable: bool = False) -> dict[str, Neighbours]:
    """One expert loses in every round, except for one; or both lose in turn.

    decodable: quarters in the changed round, so that a total loss reveals what was played there.
    """
    worse = np.tile([1.0, 0.0], (rounds, 1))
    turns = np.where(np.arange(rounds)[:, None] % 2, [0.0, 1.0], [1.0, 0.0])
    found = {}
    for name, base, place in (("first", worse, 0), ("middle", worse, rounds // 2), ("first alternating", turns, 0)):
        first, second = base.copy(), base.copy()
        first[place] = (1.0, 0.25) if decodable else (1.0, 0.0)
        second[place] = (0.0, 0.75) if decodable else (0.0, 1.0)
        found[f"the {name} loss replaced"] = Neighbours(place, first, second)
    return found


class AuditedExperts:
    """One learner over two experts. Raises what the learner raises."""

    def __init__(
        self, learner_class: type[ExpertLearner], variant: str, epsilon: float, delta: float, rounds: int,
        seed: Sequence[int],
    ):  # fmt: skip
        self.learner_class, self.variant, self.rounds, self.seed = learner_class, variant, rounds, seed
        self.budget = Budget(epsilon, delta)
        learner = self._learner(1)
        self.claimed, self.delta = epsilon, 0.0 if learner.pure else delta
        (self.accounted,), self.exact = learner.delivered_epsilon(), math.nan
        self.switches = not (learner.exact or isinstance(learner, PrivateLeader))
        self.tables = loss_tables(rounds, decodable=self.switches)
        self.gaussian = isinstance(learner, PrivateLeader) and learner.distribution == "gaussian"
        if isinstance(learner, PrivateLeader):
            self.exact = exact_epsilon(learner.plan, rounds - 1, range(1, rounds), self.budget)
        elif isinstance(learner, SparseVectorExperts):
            self.exact = worst_epsilon(restless(learner.plan), self.delta)
        elif learner.exact:
            self.exact = max(
                chain_epsilon(learner, each.first, each.second, self.delta) for each in self.tables.values()
            )

    def _learner(self, runs: int) -> ExpertLearner:
        # L* = 0 is public: the losses of the audit are chosen to expose the learner, not to please it
        problem = ExpertProblem(np.ones(2), self.rounds, 0.0)
        return self.learner_class(problem, self.budget, runs, self.variant)

    def pairs(self, runs: int) -> Iterator[Pair]:
        """See `loss_tables`."""
        for number, (name, each) in enumerate(self.tables.items()):
            inputs = [
                self._transcripts(losses, each.place, runs, (*self.seed, number, side))
                for side, losses in enumerate((each.first, each.second))
            ]
            yield Pair(name, *inputs)

    def reached(self) -> float:
        """See reached.py; of leaders, by the losses that they are charged with after the changed round."""
        learner = self._learner(1)
        if not isinstance(learner, PrivateLeader):
            return math.nan
        tables = enumerate(self.tables.values())
        return reached.worst([self._reached(learner.plan, each, number) for number, each in tables])

    def _reached(self, plan: NoisePlan, tables: Neighbours, number: int) -> float:
        runs = reached.RUNS
        moved = (tables.second - tables.first)[tables.place]

        def played(used: NoisePlan, turned: bool) -> Array:
            totals = []
            losses = tables.second if turned else tables.first
            for end in (tables.place + 1, self.rounds):
                learner = self._learner(runs)
                assert isinstance(learner, PrivateLeader)
                learner.plan = used
                drawn = generators((*self.seed, 3, number), runs)
                totals.append(learner.play([Table(losses[:end, None])], drawn).losses)
            return (totals[1] - totals[0])[None]

        def move(_: Array) -> Array:
            shift = np.zeros((self.rounds, runs, 2))
            shift[tables.place :] = moved
            return shift

        return reached.share(plan, played, move)

    def _transcripts(self, losses: Array, place: int, runs: int, seed: Sequence[int]) -> Array:
        learner = self._learner(runs)
        if learner.exact:
            return draw_chain(learner, losses, runs, np.random.default_rng(list(seed)))
        blocks = [Table(losses[:, None])]
        if isinstance(learner, PrivateLeader):
            pieces = list(learner.noisy_sums(blocks, generators(seed, runs)))
            sums = np.concatenate([piece for _, piece in pieces])[1:]  # before the first round nothing is summed
            return np.concatenate([along_tree(sums[:, :, expert].T) for expert in (0, 1)], axis=1)
        _make_restless(learner)
        play = learner.play(blocks, generators(seed, runs))
        played = (play.losses % 1 > 0).astype(np.int64)  # in the changed round: expert 1 alone has a fraction there
        return np.stack([play.losses - losses[place, played], played, play.draws], axis=1)


def _make_restless(learner: ExpertLearner) -> None:
    if isinstance(learner, SparseVectorExperts):
        learner.plan = restless(learner.plan)
    elif isinstance(learner, AdaptiveExperts):
        made = learner.plan
        vars(learner)["plan"] = lambda guess, epsilon=None: restless(made(guess, epsilon))
    elif isinstance(learner, TreeCounterExperts):
        draws = Restless.switches
        learner.draw_scale *= draws / learner.most_draws
        learner.threshold, learner.most_draws = Restless.threshold, draws


def chain(learner: ExpertLearner, losses: Array) -> tuple[Array, Array, Any]:
    """Law of the first state (states,), transitions (rounds - 1, from, to), and the expert that each state plays.

    States are the experts, except for a learner with a `chain` of its own. Raises TypeError for one whose plays are
    none.
    """
    own: Callable[[Array], tuple[Array, Array, Any]] | None = getattr(learner, "chain", None)
    return own(losses) if own else (*_chain_of_experts(learner, losses), np.arange(2))


def _chain_of_experts(learner: ExpertLearner, losses: Array) -> tuple[Array, Array]:
    if isinstance(learner, EpochLeader):
        return _epoch_chain(learner, losses)
    if not isinstance(learner, ExactHedge):
        raise TypeError(f"{learner.card.name} is no chain")
    seen = np.concatenate([np.zeros((1, 2)), np.cumsum(losses, axis=0)])[:-1]
    marginals = np.exp(-learner.eta * (seen - seen.min(axis=1, keepdims=True)))
    marginals /= marginals.sum(axis=1, keepdims=True)
    moves = np.repeat(marginals[1:, None, :], 2, axis=1)
    if isinstance(learner, LazyHedge):
        starts = np.arange(0, len(losses), learner.batch)
        lost = np.add.reduceat(losses, starts, axis=0)[(np.arange(1, len(losses)) - 1) // learner.batch]
        keep = (1 - learner.tuning.keep_away) * np.exp(-learner.eta * lost)
        moves = keep[:, :, None] * np.eye(2) + (1 - keep)[:, :, None] * moves
    later = np.arange(1, len(losses)) % learner.batch != 0
    moves[later] = np.eye(2)
    return marginals[0], moves


def _epoch_chain(learner: EpochLeader, losses: Array) -> tuple[Array, Array]:
    """A draw before each round 2^k, counted from 1, by the sums over rounds 2^(k-1) .. 2^k - 1."""
    moves = np.repeat(np.eye(2)[None], len(losses) - 1, axis=0)
    length = 1
    while 2 * length <= len(losses):
        moves[2 * length - 2] = learner.law(losses[length - 1 : 2 * length - 1].sum(axis=0))
        length *= 2
    return np.full(2, 0.5), moves


def chain_epsilon(learner: ExpertLearner, first: Array, second: Array, delta: float) -> float:
    """Exact epsilon at delta between the laws of the whole sequence on two tables, in both directions."""
    laws = []
    for losses in (first, second):
        start, moves, shown = chain(learner, losses)
        plays = shown == np.arange(2)[:, None]  # (experts, states)
        joint = plays * start  # of what was played, and of the state
        for move in moves:
            joint = (plays * (joint @ move)[:, None]).reshape(-1, len(start))
        laws.append(joint.sum(axis=1))
    return table_epsilon(laws[0], laws[1], delta)


def draw_chain(learner: ExpertLearner, losses: Array, runs: int, generator: np.random.Generator) -> Array:
    """Sequences drawn from the chain, (runs, rounds), and how often expert 0 was in play."""
    start, moves, shown = chain(learner, losses)
    states = np.empty((runs, len(losses)), dtype=np.int64)
    states[:, 0] = _drawn(start[None], generator.random(runs))
    for now, move in enumerate(moves):
        states[:, now + 1] = _drawn(move[states[:, now]], generator.random(runs))
    plays: Any = shown[states].astype(np.float64)
    return np.concatenate([plays, plays.sum(axis=1, keepdims=True)], axis=1)


def _drawn(laws: Array, numbers: Array) -> Any:
    """The state of each row of laws (runs | 1, states) whose upper tail a uniform number falls into."""
    tails = np.cumsum(laws[:, ::-1], axis=1)[:, -2::-1]
    return (numbers[:, None] < tails).sum(axis=1)
