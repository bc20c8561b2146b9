"""Learners of experts: released is the sequence of played experts, of two.

Neighbours differ in the losses of one round. Three kinds of learners are seen in three ways:

  chains     Hedge by composition or in batches, both dartboards, epoch leader, and each learner with a `chain` of its
             own: a play is (seen through) a Markov chain whose law is known, so the loss of whole sequences is exact;
             the audit also draws sequences from that law.
  leaders    FTRL and FTPL: all plays are functions of noisy sums of losses, which are audited in their place.
  switchers  sparse vector, tree counters: what is played in the changed round, the total loss of what is played in all
             others, and the number of draws. An expert loses in every round until it is left, so these reveal when.
             They get two switches with a low threshold (`Restless`), so that experts are left within a few rounds and a
             draw costs much. Privacy must depend neither on the threshold nor on how often it is passed, so the
             smallest instances are the sharpest. Of Algorithm 1 of Asi et al. 2023 the law on four rounds is known.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.experts.adaptive import AdaptiveExperts
from dpregret.algorithms.experts.counters import TreeCounterExperts
from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.experts.expert_learner import ExpertLearner, ExpertProblem
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.experts.private_leader import PrivateLeader
from dpregret.algorithms.experts.shrinking_dartboard import LazyHedge
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.privacy import NoisePlan
from dpregret.algorithms.privacy.switching import Switching
from dpregret.datasets.expert_streams import ExpertBlock
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit import neighbours

FEW_ROUNDS = 4
"""Number of rounds for which the law of Algorithm 1 is known."""
SMALL = 1 / 8
"""Of the range of a loss: the noise may not depend on how large the losses are."""
Events = tuple[tuple[int, int], ...]  # (round of a draw, expert drawn); the first is the uniform one of round 0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


class Neighbours(NamedTuple):
    """Two tables of losses (rounds, 2) that differ in the round `position`."""

    position: int
    first: Array
    second: Array


def loss_tables(rounds: int, decodable: bool = False) -> dict[str, Neighbours]:
    """One expert loses in every round, except for one; or both lose in turn.

    decodable: quarters in the changed round, so that a total loss reveals what was played there.
    """
    worse = np.tile([1.0, 0.0], (rounds, 1))
    turns = np.where(np.arange(rounds)[:, None] % 2, [0.0, 1.0], [1.0, 0.0])
    tables = {}
    for name, base, position in (("first", worse, 0), ("middle", worse, rounds // 2), ("first alternating", turns, 0)):
        first, second = base.copy(), base.copy()
        first[position] = (1.0, 0.25) if decodable else (1.0, 0.0)
        second[position] = (0.0, 0.75) if decodable else (0.0, 1.0)
        tables[f"the {name} loss replaced"] = Neighbours(position, first, second)
    return tables


class AuditedExperts(neighbours.Audited):
    """One learner over two experts; see `loss_tables`."""

    def make(self, runs: int) -> ExpertLearner:
        # L* = 0 is public: the losses of the audit are chosen to expose the learner, not to please it
        problem = ExpertProblem(np.ones(2), self.rounds, 0.0)
        return self.learner_class(problem, self.budget, runs, self.variant)

    def inspect(self, learner: Any) -> None:
        self.tables = loss_tables(self.rounds, decodable=not (learner.exact or isinstance(learner, PrivateLeader)))
        if isinstance(learner, PrivateLeader):
            self.gaussian = learner.distribution == "gaussian"
            moves = [second[position] - first[position] for position, first, second in self.tables.values()]
            norms = [np.linalg.norm(moved, 2 if self.gaussian else 1) for moved in moves]
            attained = float(max(norms)) / learner.plan.sensitivity
            protected = range(1, self.rounds)
            self.exact = neighbours.exact_epsilon(learner.plan, self.rounds - 1, protected, self.budget, attained)
        elif self.again:
            return
        elif isinstance(learner, SparseVectorExperts):
            self.exact = worst_epsilon(restless(learner.plan), self.delta)
        elif learner.exact:
            pairs = [(pair.first, pair.second) for pair in self.tables.values()]
            self.exact = max(chain_epsilon(learner, *pair, self.delta) for pair in pairs)

    def pairs(self, runs: int) -> Iterator[neighbours.Pair]:
        for number, (name, (position, first, second)) in enumerate(self.tables.items()):
            yield self.pair(number, name, [(first, position), (second, position)], runs)

    def reached(self) -> float:
        """For leaders: by their losses after the changed round, of full tables and of tables with small losses."""
        learner = self.make(1)
        if not isinstance(learner, PrivateLeader):
            return math.nan
        shares = [
            self._reached(learner.plan, number, position, size * first, size * second)
            for number, (position, first, second) in enumerate(self.tables.values())
            for size in (1.0, SMALL)
        ]
        return neighbours.worst(shares)

    def _reached(self, plan: NoisePlan, number: int, position: int, first: Array, second: Array) -> float:
        def played(plan: NoisePlan, turned: bool) -> Array:
            totals = []
            for end in (position + 1, self.rounds):
                learner: Any = self.make(neighbours.BOTH_SCALES)
                learner.plan = plan
                blocks = [ExpertBlock((second if turned else first)[:end, None], end)]
                sources = neighbours.watched_generators((*self.seed, 3, number))
                totals.append(learner.play(blocks, sources).losses)
            return np.asarray(totals[1] - totals[0])[None]

        def move(_: Array) -> Array:
            shift = np.zeros((self.rounds, neighbours.BOTH_SCALES, 2))
            shift[position:] = (second - first)[position]
            return shift

        return neighbours.share(plan, played, move)

    def transcript(self, neighbour: tuple[Array, int], runs: int, seed: Sequence[int]) -> Array:
        learner, (losses, position) = self.make(runs), neighbour
        if learner.exact:
            return draw_chain(learner, losses, runs, np.random.default_rng(list(seed)))
        blocks = [ExpertBlock(losses[:, None], self.rounds)]
        if isinstance(learner, PrivateLeader):
            pieces = list(learner.noisy_sums(blocks, neighbours.generators(seed, runs)))
            sums = np.concatenate([piece for _, piece in pieces])[1:]  # before the first round nothing is summed
            return np.concatenate([neighbours.along_tree(sums[:, :, expert].T) for expert in (0, 1)], axis=1)
        _make_restless(learner)
        play = learner.play(blocks, neighbours.generators(seed, runs))
        played: Any = (play.losses % 1 > 0).astype(np.int64)  # in that round expert 1 alone has a fraction
        return np.stack([play.losses - losses[position, played], played, play.draws], axis=1)


def _make_restless(learner: ExpertLearner) -> None:
    if isinstance(learner, SparseVectorExperts):
        learner.plan = restless(learner.plan)
    elif isinstance(learner, AdaptiveExperts):
        make_plan = partial(type(learner).plan, weakref.proxy(learner))  # it may not hold itself: see `directions_of`
        vars(learner)["plan"] = lambda guess, epsilon=None: restless(make_plan(guess, epsilon))
    elif isinstance(learner, TreeCounterExperts):
        draws = Restless.switches
        learner.draw_scale *= draws / learner.most_draws
        learner.threshold, learner.most_draws = Restless.threshold, draws


def chain(learner: ExpertLearner, losses: Array) -> tuple[Array, Array, Any]:
    """Law of the first state (states,), transitions (rounds - 1, from, to), and the expert that each state plays.

    States are the experts, except for a learner with a `chain` of its own. Raises TypeError for one whose plays are
    none.
    """
    if hasattr(learner, "chain"):
        return tuple(learner.chain(losses))
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
    return marginals[0], moves, np.arange(2)


def _epoch_chain(learner: EpochLeader, losses: Array) -> tuple[Array, Array, Any]:
    """A draw before each round 2^k, counted from 1, by the sums over rounds 2^(k-1) .. 2^k - 1."""
    moves = np.repeat(np.eye(2)[None], len(losses) - 1, axis=0)
    length = 1
    while 2 * length <= len(losses):
        moves[2 * length - 2] = learner.law(losses[length - 1 : 2 * length - 1].sum(axis=0))
        length *= 2
    return np.full(2, 0.5), moves, np.arange(2)


def chain_epsilon(learner: ExpertLearner, first: Array, second: Array, delta: float) -> float:
    """Exact epsilon at delta between the laws of the whole sequence on two tables, in both directions."""
    first_law, second_law = (plays_law(*chain(learner, losses)) for losses in (first, second))
    return neighbours.table_epsilon(first_law, second_law, delta)


def plays_law(start: Array, moves: Array, played: Any) -> Array:
    """Probability of every sequence of the two experts that a chain plays, (2^rounds,); see `chain`."""
    plays = played == np.arange(2)[:, None]  # (experts, states)
    joint: Array = plays * start  # of what was played, and of the state
    for move in moves:
        joint = (plays * (joint @ move)[:, None]).reshape(-1, len(start))
    return np.asarray(joint.sum(axis=1))


def draw_chain(learner: ExpertLearner, losses: Array, runs: int, generator: np.random.Generator) -> Array:
    """Sequences drawn from the chain, (runs, rounds), and how often expert 0 was in play."""
    start, moves, played = chain(learner, losses)
    states = np.empty((runs, len(losses)), dtype=np.int64)
    states[:, 0] = _drawn(start[None], generator.random(runs))
    for now, move in enumerate(moves):
        states[:, now + 1] = _drawn(move[states[:, now]], generator.random(runs))
    plays: Any = played[states].astype(np.float64)
    return np.concatenate([plays, plays.sum(axis=1, keepdims=True)], axis=1)


def _drawn(laws: Array, numbers: Array) -> Any:
    """The state of each row of laws (runs | 1, states) whose upper tail a uniform number falls into."""
    tails = np.cumsum(laws[:, ::-1], axis=1)[:, -2::-1]
    return (numbers[:, None] < tails).sum(axis=1)


class Restless(Switching):
    """Two switches, and a threshold below the loss of one round."""

    threshold = 0.8
    switches = 2


def restless(switching: Switching) -> Restless:
    """The same budget and accounting, spent on two switches with a low threshold."""
    return Restless(**{field.name: getattr(switching, field.name) for field in fields(switching)})


@cache
def halting(epsilon: float, threshold: float, queries: tuple[float, ...]) -> tuple[float, ...]:
    """P(first, second, ..., no query halts): Gauss rules between the kinks of the Laplace laws."""
    from scipy import stats  # late: a plan names exact losses, and needs no law

    scale = 2 / epsilon
    kinks = [0.0, *(query - threshold for query in queries)]
    ends = np.unique([*kinks, *np.linspace(-40 * scale, 40 * scale, 41)])
    half = np.diff(ends)[:, None] / 2
    noise = (ends[:-1, None] + half * (1 + NODES)).ravel()
    alive = stats.laplace.pdf(noise, scale=scale) * (half * WEIGHTS).ravel()
    halts = []
    for query in queries:
        above = stats.laplace.sf(threshold + noise - query, scale=2 * scale)
        halts.append(float((alive * above).sum()))
        alive = alive * (1 - above)
    return (*halts, float(alive.sum()))


def law(switching: Switching, losses: Array) -> dict[Events, float]:
    """Probability of every sequence of draws, losses (rounds, experts): Algorithm 1 as it is written."""
    probabilities: dict[Events, float] = {}
    scores = [np.maximum(losses[:now].sum(axis=0), switching.best_loss) for now in range(len(losses))]
    weights = [np.exp(-switching.eta * score / 2) for score in scores]
    drawn = [(each / each.sum()).tolist() for each in weights]

    @cache
    def halts(start: int, first: int, expert: int) -> tuple[float, ...]:
        """In rounds `first` on, of a test that opens in round `start`; and never."""
        queries = tuple(float(losses[start:now, expert].sum()) for now in range(first, len(losses)))
        return halting(switching.threshold_epsilon, switching.threshold, queries)

    def go_on(events: Events, probability: float) -> None:
        start, expert = events[-1]
        if len(events) > switching.switches:
            probabilities[events] = probability
            return
        first = start + (len(events) > 1)  # a test is first applied in the round after it opens
        *chances, never = halts(start, first, expert)
        probabilities[events] = probability * never
        for now, chance in enumerate(chances, first):
            for other, weight in enumerate(drawn[now]):
                go_on((*events, (now, other)), probability * chance * weight)

    for expert in range(losses.shape[1]):
        go_on(((0, expert),), 1 / losses.shape[1])
    return probabilities


def worst_epsilon(switching: Switching, delta: float = 0.0) -> float:
    """Largest epsilon at delta over all neighbouring losses in {0, 1} of `FEW_ROUNDS` rounds and two experts.

    Draws that change nothing count as seen. delta = 0: the largest log ratio of an event.
    """
    tables = np.array(list(itertools.product([0.0, 1.0], repeat=2 * FEW_ROUNDS)))
    laws = [law(switching, table.reshape(FEW_ROUNDS, 2)) for table in tables]
    probabilities = np.array([[row[events] for events in laws[0]] for row in laws])
    largest = 0.0
    for index in range(FEW_ROUNDS):
        others = np.delete(tables, [2 * index, 2 * index + 1], axis=1)
        _, group = np.unique(others, axis=0, return_inverse=True)
        for number in range(4 ** (FEW_ROUNDS - 1)):
            same = probabilities[group.ravel() == number]
            if delta == 0:
                largest = max(largest, float(np.ptp(np.log(same), axis=0).max()))
                continue
            for first, second in itertools.permutations(same, 2):
                if np.maximum(first - np.exp(largest) * second, 0).sum() > delta:
                    largest = neighbours.table_epsilon(first, second, delta)
    return largest
