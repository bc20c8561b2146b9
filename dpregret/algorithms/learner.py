"""A learner, its input, and the loops that play it against a stream of losses.

Rounds written as plain loops are played in tiles of runs, each with its part of the learner's state. That loop is
compiled for each combination of learner, loss and set; see core/oracles.py.
"""

from __future__ import annotations

import math
from abc import ABC
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, partial
from itertools import repeat
from time import process_time
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from dpregret.algorithms.geometry.set_kinds import data_of
from dpregret.algorithms.privacy import BLOCK, Budget, NoisePlan, Release
from dpregret.algorithms.privacy.budget import group_epsilon
from dpregret.algorithms.privacy.prefix_sums import by_run
from dpregret.algorithms.privacy.selection import Selection
from dpregret.core.discovery import discover
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.learner_output import FLOAT, check_inside, check_near, check_shape
from dpregret.core.losses import NO_ROWS, Losses, as_columns, copy_round, in_rounds, together
from dpregret.core.losses import Loss as Loss
from dpregret.core.oracles import SCRATCH, by_methods, inner, local_step, project, slope_at, step, vertex
from dpregret.core.sets import ConstraintSet
from dpregret.core.sets import LocalOracle as LocalOracle
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import specialised
from dpregret.numerics.sums import sum_rows, vecdot

CHECK_EVERY = 1024  # most rounds between two checks that the points lie in their set
CHECKED_NUMBERS = 2048  # most numbers of a point, of all settings and runs, where rounds in between are checked too:
CHECKED_FIRST, CHECKED_OF = 4, 4  # all of the first blocks, then of every fourth
NUMBERS = 2048  # of a tile's points: what a round touches stays in the processor's first caches
FEWEST, MOST = 16, 256  # columns of a tile
SHARED = 32  # up to so many, settings whose states are alike share one: narrower loops begin more often than they run
PRICED = 0.002  # CPU seconds spent on pricing an oracle
TOGETHER, FEW = 4, 1024  # blocks of noise played at a time, where a round has so few numbers: changes no bit


@dataclass(frozen=True)
class Problem:
    """The problem that a learner receives before the first round.

    horizon: number of rounds; only learners whose card declares `anytime = False` may use it.
    lipschitz, strong_convexity, smoothness: of every loss on the domain, l2 norm (smoothness inf at kinks).
    best_loss: public bound L* on the total loss of the best point, where losses are non-negative; None: not declared.
    """

    domain: ConstraintSet
    horizon: int
    lipschitz: float
    strong_convexity: float
    smoothness: float = np.inf
    best_loss: float | None = None


@dataclass(frozen=True)
class Setting:
    """One privacy setting of a batch: protect the last `window` losses with `budget`."""

    window: int
    budget: Budget


_OF_CARDS: Final[dict[str, tuple[type, str]]] = {
    "str": (str, "text"),
    "bool": (bool, "True or False"),
    "Mapping[str, str]": (Mapping, "names with one line each, as in {'plain': 'as it is'}"),
    "frozenset[str]": (Set, "a set of needs, as in frozenset({'smooth'})"),
}


@dataclass(frozen=True)
class Card:
    """The description of a learner in tables; a name and a title are enough.

    name: permanent identifier. title: short, as legends and tables show it. variants: name -> one line. private: it
    receives a budget; what it protects is decided by its ledger alone, and is nothing without one. default: the
    variant that is played where none is named, which keeps its budget (left out: the first one). needs:
    requirements on the problem beyond convexity, of 'local-oracle', 'smooth', 'quadratic', 'best-loss' (an input L*),
    and 'solver' where it projects by a general solver. windowed: it receives a window, after which privacy expires.
    permanent: it does not, since that window shapes the algorithm alone. anytime: one run of an online learner serves
    every shorter horizon. convex: strong convexity is not needed. same_as: name of another learner whose points its
    own are, and where, in words; empty where there is none.

    Raises ConfigError for a value of another type, and where there is no variant, or none of the name `default`.
    """

    name: str
    title: str
    paper: str = "mine"
    reference: str = "-"
    variants: Mapping[str, str] = field(default_factory=lambda: {"plain": "as it is"})
    private: bool = True
    windowed: bool = False
    permanent: bool = False
    anytime: bool = True
    convex: bool = False
    needs: frozenset[str] = field(default_factory=frozenset)
    default: str = ""
    same_as: str = ""

    def __post_init__(self) -> None:
        for entry in fields(self):
            kind, words = _OF_CARDS[str(entry.type)]
            if not isinstance(value := getattr(self, entry.name), kind):
                raise ConfigError(f"Card: {entry.name}: must be {words}, not {value!r}")
        if not self.variants or any(not isinstance(word, str) for pair in self.variants.items() for word in pair):
            raise ConfigError(f"Card: variants: must be {_OF_CARDS['Mapping[str, str]'][1]}, not {self.variants!r}")
        if self.usual not in self.variants:
            raise ConfigError(f"Card: default: {not_allowed('variant', self.usual, self.variants)}")

    @property
    def usual(self) -> str:
        """The variant that is played where none is named."""
        return self.default or next(iter(self.variants))

    @property
    def all_needs(self) -> frozenset[str]:
        """The needs, strong convexity among them where there are streams without it."""
        return self.needs if self.convex else self.needs | {"strongly-convex"}


LedgerLine = Release | Selection
"""A line of a privacy ledger: what was released, and what it costs."""


class BaseLearner(ABC):
    """Base of the learners of all families. Lists have one entry a setting, that is, a privacy budget.

    budgets: one a setting; Budget(inf) means no privacy. Raises ValueError for an unknown variant, or for a problem
    that the learner cannot serve, with one line that says why.
    """

    card: ClassVar[Card]
    stochastic_only: ClassVar[bool] = False
    """The guarantee is for rounds that are independent draws of one law; elsewhere regret may be linear."""
    noise_plan: NoisePlan | None = None
    """The noise that it draws from a mechanism for prefix sums, which its ledger then describes."""

    def __init__(self, problem: Any, budgets: Sequence[Budget], runs: int, variant: str):
        if variant not in self.card.variants:
            raise ValueError(f"{self.card.name} has no variant {variant!r}: allowed are {list(self.card.variants)}")
        self.budgets, self.runs, self.variant = budgets, runs, variant

    def prepare(self) -> None:  # noqa: B027  (many have nothing to prepare)
        """Compute all that a learner needs before the first round or fit: the last step of its constructor."""

    @property
    def pure(self) -> bool:
        """Whether the guarantee holds with delta = 0."""
        return False

    def ledger(self) -> Sequence[LedgerLine]:
        """The privacy ledger, one line a setting; empty where there is none."""
        return []

    def delivered_epsilon(self) -> list[float]:
        """The epsilon that the ledger of each setting proves at its delta, or purely; inf without privacy."""
        lines = self.ledger()
        if not lines:
            return [math.inf] * len(self.budgets)
        return [line.epsilon(delta) for line, delta in zip(lines, self.deltas, strict=True)]

    @property
    def deltas(self) -> list[float]:
        """The delta of each setting: 0 where the guarantee is pure."""
        return [0.0 if self.pure else budget.delta for budget in self.budgets]

    def epsilon_at(self, delta: float) -> list[float]:
        """The epsilon that each setting proves at another delta; inf where that is not known.

        To be given by a learner that states `delivered_epsilon` by other means than its ledger, and is not pure.
        """
        lines = self.ledger() if type(self).delivered_epsilon is BaseLearner.delivered_epsilon else ()
        return [line.epsilon(delta) for line in lines] or [math.inf] * len(self.budgets)

    def record_epsilon(self, participations: Sequence[int]) -> list[float]:
        """An epsilon of a record that is in several rounds, at the delta of each setting.

        participations: the most rounds of a record, one number a setting (`Source.participations`). Exact where every
        round has Gaussian noise of its own (mu grows like the root of the rounds); elsewhere an upper bound by group
        privacy: mu, or the epsilon of a pure guarantee, times the rounds.
        """
        delivered, lines = self.delivered_epsilon(), self.ledger()
        of_lines = type(self).delivered_epsilon is BaseLearner.delivered_epsilon and len(lines) > 0
        found = []
        for setting, (rounds, delta) in enumerate(zip(participations, self.deltas, strict=True)):
            if rounds == 1 or math.isinf(delivered[setting]):
                found.append(delivered[setting])
            elif of_lines:
                found.append(lines[setting].of_record(rounds).epsilon(delta))
            else:
                found.append(group_epsilon(self._at(setting, delivered[setting]), rounds, delta))
        return found

    def least_record_epsilon(self, participations: Sequence[int]) -> list[float]:
        """An epsilon below which no record's lies, as far as the ledger of a round is exact.

        participations: rounds that some record is in for certain (`Source.certain_participations`). Of a ledger whose
        lines do not compose exactly that of a round: a record that moves one round only is a record too.
        """
        found = self.delivered_epsilon()
        if type(self).delivered_epsilon is BaseLearner.delivered_epsilon:
            for setting, (line, rounds, delta) in enumerate(
                zip(self.ledger(), participations, self.deltas, strict=False)
            ):
                if line.composes_exactly(delta):
                    found[setting] = line.of_record(rounds).epsilon(delta)
        return found

    def _at(self, setting: int, delivered: float) -> Callable[[float], float]:
        delta = self.deltas[setting]
        return lambda other: delivered if other >= delta else self.epsilon_at(other)[setting]


@cache
def learners(family: str) -> dict[str, type[BaseLearner]]:
    """All learners of the folder algorithms/<family> by their card's name; a new file there needs no registration."""
    return discover(f"dpregret.algorithms.{family}", BaseLearner, "card")


class Learner(BaseLearner):
    """Plays `point`, then learns from the round's loss. All settings and runs advance together.

    A round is written in one of two ways. Either as plain loops: `state` gives the learner's state for some runs of a
    setting as a NamedTuple, whose class has a `step` (core/oracles.py); it is compiled, and calls the set `calls` times
    for its `oracle`, 'project', 'vertex' or 'local'. Or as `observe`, on whole batches: state arrays have shape
    (settings, runs, d). `solves` counts linear systems or eigenvalue problems, of all settings and runs together;
    `regularisation` is the lambda that a learner was tuned to, one a setting.
    """

    known: tuple[Loss | None, Array] = (None, np.empty(0))
    solves: int = 0
    regularisation: Array | None = None
    oracle: ClassVar[str] = "project"
    calls: ClassVar[int] = 1

    @property
    def most_calls(self) -> float:
        """Upper bound on the expected calls of oracles a round, over a whole play; NaN where none is known."""
        return math.nan

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, variant: str):
        super().__init__(problem, [setting.budget for setting in settings], runs, variant)
        if type(self).state is Learner.state and type(self).observe is Learner.observe:
            raise ValueError(f"{type(self).__name__} has neither state nor observe: give one of the two")
        if "smooth" in self.card.needs and not np.isfinite(problem.smoothness):
            raise ValueError(f"{self.card.name} needs smooth losses")
        if not self.card.convex and not problem.strong_convexity > 0:
            raise ValueError(f"{self.card.name} needs strongly convex losses")
        if "best-loss" in self.card.needs and problem.best_loss is None:
            raise ValueError(f"{self.card.name} needs a bound on the loss of the best point")
        self.problem, self.settings = problem, settings
        self.domain, self.horizon = problem.domain, problem.horizon
        self.lipschitz, self.strong_convexity = problem.lipschitz, problem.strong_convexity
        self.round = 0
        start = problem.domain.center()
        self.point: Array = np.tile(start, (len(settings), runs, 1))
        self.prepare()

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Draw what is needed from the runs' generators before the first round (nothing, where noise has a plan)."""

    def state(self, setting: int, runs: int) -> Any:
        """The state of `runs` runs of a setting, before the first round."""
        raise NotImplementedError(f"{type(self).__name__} has neither `state` nor `observe`")

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """Learn from the round's loss: its gradient at `point`, and the mechanism's noise of this round."""
        self.compiled.observe(loss, gradient, noise)
        self.point = self.compiled.points()

    @property
    def fixed_rounds(self) -> int:
        """How many of the rounds to come are likely played at `point`, which is replaced where it moves: at least 1.

        For `observe`; the losses of these rounds are evaluated together, and those after a move again.
        """
        return 1

    def paid(self, loss: Loss) -> Array:
        """The round's loss at `point`, (settings, runs), for `observe`; a play has just computed it."""
        known, value = self.known
        return value if known is loss else loss.value(self.point)

    @cached_property
    def compiled(self) -> CompiledRounds:
        """The rounds of a learner with a `state`."""
        return CompiledRounds(self)

    @classmethod
    def is_compiled(cls) -> bool:
        """Whether the round is written as plain loops; the class that defines either way decides."""
        return next("state" in vars(kind) for kind in cls.__mro__ if {"state", "observe"} & vars(kind).keys())

    def displacement(self, rounds: int) -> Array:
        """Expected distance (an upper bound) by which the noise of rounds 1..rounds moves the point, if unconstrained.

        Shape (settings, rounds). For noise z_s in sums of gradients: max over s <= t of E|z_s|, over mu t.
        """
        if self.noise_plan is None:
            return np.zeros((len(self.settings), rounds))
        noise = np.maximum.accumulate(self.noise_plan.expected_norm(rounds), axis=1)
        return noise / (self.strong_convexity * np.arange(1.0, rounds + 1))

    @property
    def protected(self) -> list[int]:
        """Rounds in a row, any of whose losses each setting protects: its window, or all of the horizon."""
        return [max(one.window, self.horizon) if self.card.permanent else one.window for one in self.settings]

    @property
    def pure(self) -> bool:
        return self.noise_plan is None or self.noise_plan.distribution != "gaussian"

    def ledger(self) -> Sequence[Release]:
        """Of all releases that an item enters."""
        return self.noise_plan.releases() if self.noise_plan is not None else []

    def bound(self, rounds: int) -> Array:
        """Explicit bound on the expected regret after 1..rounds rounds, (settings, rounds); NaN where none is known."""
        return np.full((len(self.settings), rounds), np.nan)


@dataclass
class Record:
    """The record of a play, with its cost.

    losses: cumulative, (settings, runs, checkpoints). noise_norms: mean of |z_t| over the rounds so far, same shape.
    violation: largest constraint violation seen at a checkpoint, (settings,). seconds: CPU seconds in the loop, of all
    runs together.
    """

    losses: Array
    noise_norms: Array
    violation: Array
    seconds: float

    @classmethod
    def joined(cls, parts: Sequence[Record]) -> Record:
        """Of groups of runs that were played one after the other."""
        losses, noise_norms = (
            np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("losses", "noise_norms")
        )
        violation = np.max([part.violation for part in parts], axis=0)
        return cls(losses, noise_norms, violation, sum(part.seconds for part in parts))


def play(
    learner: Learner,
    losses: Iterable[Loss],
    noise_generators: Sequence[np.random.Generator],
    checkpoints: Sequence[int],
) -> Record:
    """Play the learner for max(checkpoints) rounds.

    losses: one per round; those of a list are played several at a time. noise_generators: one per run. checkpoints:
    increasing rounds after which the cumulative loss of the released points is recorded.
    Raises FloatingPointError when a cumulative loss is not finite, LearnerFault when a point is of another type or
    shape than it has to be, or lies outside the set (checked at checkpoints and every 1024th round; in `_plain`,
    in the first 256 rounds and a quarter of the others, for whether it is no farther than the set is wide).
    """
    domain = learner.problem.domain
    shape = settings, runs, _ = len(learner.settings), len(noise_generators), domain.dimension
    check_shape(learner.point, shape)
    cumulative, norms = sums = np.zeros((2, settings, runs))
    recorded = np.empty((settings, runs, len(checkpoints)))
    noise_norms = np.empty_like(recorded)
    learner.begin(noise_generators)
    rounds = learner.compiled if learner.is_compiled() else None
    violation, now = np.zeros(settings), 0
    where = {checkpoint: index for index, checkpoint in enumerate(checkpoints)}
    coming = in_rounds(losses)
    started = process_time()
    few = rounds is not None and settings * runs * domain.dimension <= FEW
    blocks = min(TOGETHER, -(-max(checkpoints) // BLOCK)) if few else 1
    for noise in _noise(learner, noise_generators, blocks):
        first, more = now, True
        for end in _ends(now, noise.rounds, checkpoints):
            while now < end and (chunk := coming.take(end - now)):
                begun, now = now - first, now + len(chunk)
                check_shape(learner.point, shape)
                if now in where:
                    violation = np.maximum(violation, check_inside(learner.point, domain).max(axis=1))
                if rounds and (alike := together(chunk)):
                    rounds.play(alike, first + begun, noise, begun, sums)
                    learner.round, learner.point = now, rounds.points()
                else:
                    checked = first // BLOCK < CHECKED_FIRST or first // BLOCK % CHECKED_OF == 0
                    _plain(learner, chunk, noise.scaled(begun, len(chunk)), cumulative, norms, checked)
                if now in where:
                    recorded[:, :, where[now]] = cumulative
                    noise_norms[:, :, where[now]] = norms / now
            more = now == end
        if now % CHECK_EVERY == 0:
            check_shape(learner.point, shape)
            check_inside(learner.point, domain)
        if now >= max(checkpoints) or not more:
            break
    if rounds:
        rounds.finish()
    seconds = process_time() - started - (rounds.apart if rounds else 0.0)
    if not np.isfinite(recorded).all():
        raise FloatingPointError(f"{learner.card.name} ({learner.variant}) reached a loss that is not finite")
    return Record(recorded, noise_norms, violation, seconds)


def _plain(
    learner: Learner, losses: Sequence[Loss], noise: Array | None, cumulative: Array, norms: Array, checked: bool = True
) -> None:
    """The definition of the next rounds, one call of `observe` each; noise (rounds, settings, runs, d).

    checked: whether points are stored, and checked at the end.
    """
    if noise is not None:
        norms += sum_rows(np.sqrt(vecdot(noise, noise)))
    shape, domain = learner.point.shape, learner.problem.domain
    visited = np.empty((len(losses), *shape)) if checked and learner.point.size <= CHECKED_NUMBERS else None
    for index, (loss, value, gradient) in enumerate(_evaluated(learner, losses, shape)):
        if visited is not None:
            visited[index] = learner.point
        learner.known = loss, value
        cumulative += value
        learner.round += 1
        learner.observe(loss, gradient, None if noise is None else noise[index])
    learner.known = Learner.known
    if visited is not None:
        check_near(visited, domain.center(), domain)


def _evaluated(learner: Learner, losses: Sequence[Loss], shape: tuple[int, ...]) -> Iterator[tuple[Loss, Array, Array]]:
    """Each loss with its value and its gradient at the point of its round, of that shape."""
    index = 0
    while index < len(losses):
        point, fixed = learner.point, learner.fixed_rounds
        if type(point) is not np.ndarray or point.shape != shape or point.dtype is not FLOAT:
            check_shape(point, shape)
        some = losses[index : index + fixed] if fixed > 1 else ()
        if some and (alike := together(some)):
            values, gradients = alike.value_and_gradient(point[:, :, None])
            gradients.setflags(write=False)
            point.setflags(write=False)  # a move within it would go unseen
            for now, loss in enumerate(some):
                if learner.point is not point:
                    break
                yield loss, values[..., now], gradients[..., now, :]
                index += 1
        else:
            loss = losses[index]
            value, gradient = loss.value_and_gradient(point)
            gradient.setflags(write=False)  # it may be the stream's array
            yield loss, value, gradient
            index += 1


def _ends(done: int, most: int, checkpoints: Sequence[int]) -> list[int]:
    """Where parts of the next `most` rounds end; each checkpoint is a part by itself."""
    near = checkpoints[bisect(checkpoints, done) : bisect(checkpoints, done + most + 1)]
    ends = {done + most, *near, *(end - 1 for end in near)}
    return sorted(end for end in ends if done < end <= done + most)


@dataclass
class _Block:
    """The noise of some rounds: units (mechanisms, runs, rounds, d), of no rounds where there is none; of each setting
    its mechanism, and its scale."""

    units: Array
    mechanisms: Sequence[int]
    scales: Sequence[float] | None
    rounds: int = BLOCK

    def scaled(self, first: int, count: int) -> Array | None:
        """The noise of some rounds, (count, settings, runs, d); None for a learner without a plan."""
        if self.scales is None:
            return None
        _, runs, left, dimension = self.units.shape
        noise = np.zeros((count, len(self.scales), runs, dimension))
        if left:
            for setting, (mechanism, scale) in enumerate(zip(self.mechanisms, self.scales, strict=True)):
                units = self.units[mechanism, :, first : first + count]
                np.multiply(units.swapaxes(0, 1), scale, out=noise[:, setting])
        return noise


def _noise(learner: Learner, generators: Sequence[np.random.Generator], blocks: int) -> Iterator[_Block]:
    """The learner's noise, `blocks` blocks at a time; nothing is drawn where all scales are zero."""
    plan, (settings, runs, _) = learner.noise_plan, learner.point.shape
    if plan is None or not any(plan.scales):
        dimension = learner.point.shape[-1] if plan is None else plan.dimension
        scales = None if plan is None else plan.scales
        yield from repeat(_Block(np.empty((1, runs, 0, dimension)), [0] * settings, scales, blocks * BLOCK))
        return
    rounds, distinct = plan.block(runs), list(dict.fromkeys(plan.mechanisms))
    of_settings = [distinct.index(mechanism) for mechanism in plan.mechanisms]
    if blocks == len(distinct) == 1:
        for unscaled in plan.correlated(generators, rounds):
            yield _Block(by_run(unscaled[0])[None], of_settings, plan.scales, rounds)
    joined = np.empty((len(distinct), runs, blocks * rounds, plan.dimension))
    for number, unscaled in enumerate(plan.correlated(generators, rounds), 1):
        end = rounds * ((number - 1) % blocks + 1)
        for mechanism in range(len(distinct)):
            units = unscaled[of_settings.index(mechanism)]
            joined[mechanism, :, end - rounds : end] = units.swapaxes(0, 1)
        if number % blocks == 0:
            yield _Block(joined, of_settings, plan.scales, blocks * rounds)


def play_rounds(
    learner, loss, domain, buffers, rows, units, mechanisms, scales, begun, first, done, rounds, x, losses, norms
):
    """Play `rounds` rounds after the first `done` of the columns first, first + 1, ... whose points are x (d, runs).

    A column is a run of a setting: all runs of the first setting, then of the next. buffers, rows: see
    `losses.as_columns`. units (mechanisms, runs in all, rounds, d) from round `begun` on, of each setting those of its
    mechanism, times its scale: noise; no rounds where there is none. losses, norms (runs,): running sums of losses and
    of |noise|; changed in place, as x is.
    """
    (d, runs), every, loud = x.shape, units.shape[1], units.shape[2] > 0
    gradient, noise, value, scratch = (
        np.empty((d, runs)),
        np.zeros((d, runs)),
        np.empty(runs),
        np.empty((SCRATCH, runs)),
    )
    for now in range(rounds):
        if now == 0 or rows[0].shape[0] > 1:
            copy_round(rows, buffers, now, first)
        slope_at(loss, x, gradient, value, scratch)
        for r in range(runs):
            losses[r] += value[r]
        if loud:
            setting, run = first // every, first % every
            for r in range(runs):
                mechanism, scale = mechanisms[setting], scales[setting]
                for k in range(d):
                    noise[k, r] = scale * units[mechanism, run, begun + now, k]
                run += 1
                if run == every:
                    setting, run = setting + 1, 0
            inner(noise, noise, value, scratch)
            for r in range(runs):
                norms[r] += np.sqrt(value[r])
        step(learner, loss, domain, float(done + now + 1), x, gradient, noise, scratch)


def play_round(learner, loss, domain, buffers, rows, first, t, x, slopes, noises, rounds):
    """Round t alone, with the gradients and the noise of all columns, (columns, d); without noise these are zeros.

    rounds: 1, or 0 where it is only compiled.
    """
    d, runs = x.shape
    gradient, noise, scratch = np.empty((d, runs)), np.empty((d, runs)), np.empty((SCRATCH, runs))
    for _ in range(rounds):
        copy_round(rows, buffers, 0, first)
        for k in range(d):
            for r in range(runs):
                gradient[k, r], noise[k, r] = slopes[first + r, k], noises[first + r, k]
        step(learner, loss, domain, t, x, gradient, noise, scratch)


def ask_project(domain, points, weights, repeats):
    """Project points (d, runs) `repeats` times: measures the cost of a projection within rounds."""
    x, scratch = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        for k in range(x.shape[0]):
            for r in range(x.shape[1]):
                x[k, r] = points[k, r]
        project(domain, x, scratch)


def ask_vertex(domain, points, weights, repeats):
    """The same for the linear oracle."""
    x, scratch = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        vertex(domain, points, x, scratch)


def ask_local(domain, points, weights, repeats):
    """The same for the local oracle, from weights (k, runs) on."""
    x, scratch = np.empty(points.shape), np.empty((SCRATCH, points.shape[1]))
    for _ in range(repeats):
        moved = weights.copy()
        local_step(domain, moved, 1.0 / points.shape[0], 0.5, points, x, scratch)


class Oracle(NamedTuple):
    """An oracle: its function, what prices it, and its tally of a counted set."""

    function: Any
    ask: Callable[..., None]
    tally: str


ORACLES = {
    "project": Oracle(project, ask_project, "projections"),
    "vertex": Oracle(vertex, ask_vertex, "linear_oracles"),
    "local": Oracle(local_step, ask_local, "local_oracles"),
}


def compiled_data_of(domain: Any, oracle: str) -> Any:
    """A set, counted or not, as compiled rounds know it; None where it has no compiled oracle of that kind."""
    data = data_of(domain)
    return data if type(data) in ORACLES[oracle].function.kinds else None


_PRICES: dict[Any, float] = {}
"""What was measured in this process, by what decides it."""


def price_of(oracle: str, domain: Any, x: Array, weights: Array) -> float:
    """CPU seconds that the oracle takes for one of the points x (d, runs).

    Measured once in a process for each kind and size of set and points: what a play of milliseconds takes is not spent
    on what it costs.
    """
    key = oracle, type(domain), _sizes((*domain, x, weights))
    if key not in _PRICES:
        serve = specialised(ORACLES[oracle].ask, type(domain))
        repeats, seconds = 1, 0.0
        serve(domain, x, weights, 1)
        while seconds < PRICED:
            repeats *= 4
            started = process_time()
            serve(domain, x, weights, repeats)
            seconds = process_time() - started
        _PRICES[key] = float(seconds / (repeats * x.shape[1]))
    return _PRICES[key]


def _sizes(data: Any) -> Any:
    """Shapes of the arrays of a set, as compiled loops know it."""
    return tuple(map(_sizes, data)) if isinstance(data, tuple) else np.shape(data)


@dataclass
class Tile:
    """Some columns, see `play_rounds`. state: the learner's; x (d, runs): their points; sums (2, runs)."""

    first: int
    state: Any
    x: Array
    sums: Array

    @property
    def columns(self) -> slice:
        """Where they are among all."""
        return slice(self.first, self.first + self.x.shape[1])


class _Part:
    """A loss without a compiled text, for some columns, which are evaluated among those of their setting, or of all."""

    def __init__(self, loss: Loss, columns: slice, settings: int, runs: int):
        first, last = columns.start // runs, (columns.stop - 1) // runs
        begun = first * runs if first == last else 0
        self.loss, self.columns, self.here = loss, columns, slice(columns.start - begun, columns.stop - begun)
        self.shape = 1 if first == last else settings, runs

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """That of the whole loss, at the points of these columns."""
        value, gradient = self.loss.value_and_gradient(self._among_all(points))
        return self._here(value), self._here(gradient)

    def prox(self, points: Array, step: float) -> Array:
        """That of the whole loss, of the points of these columns."""
        return self._here(self.loss.prox(self._among_all(points), step))

    def _here(self, answer: Array) -> Array:
        """Of these columns, also where the loss differs by setting."""
        flat = answer.reshape(1, -1, *answer.shape[2:])
        return flat[:, self.here if len(answer) == self.shape[0] else self.columns]

    def _among_all(self, points: Array) -> Array:
        every = np.zeros((1, math.prod(self.shape), points.shape[2]))
        every[:, self.here] = points
        return every.reshape(*self.shape, -1)


def _alike(learner: Any, settings: int, most: int) -> Iterator[tuple[int, int]]:
    """First and end of at most so many settings, one after the other, whose states begin alike: one serves all."""
    states = [learner.state(setting, 1) for setting in range(settings)] if most > 1 else []
    first = 0
    while first < settings:
        end = first + 1
        while end < min(settings, first + most) and _equal(states[first], states[end]):
            end += 1
        yield first, end
        first = end


def _equal(one: Any, other: Any) -> bool:
    """Whether two states hold the same numbers."""
    return all(map(_equal, one, other)) if isinstance(one, tuple) else np.array_equal(one, other)


class CompiledRounds:
    """The rounds of one learner. apart: CPU seconds that were not part of them, for compiling and for prices."""

    played = staticmethod(play_rounds)

    def __init__(self, learner: Any):
        self.learner = learner
        domain = learner.domain
        self.tally: Any = getattr(domain, ORACLES[learner.oracle].tally, None)
        self.referenced = (
            learner.local if learner.oracle == "local" else domain
        )  # kept alive while its number is in use
        data = compiled_data_of(domain, learner.oracle)
        self.counted = data is not None
        self.domain = data if self.counted else by_methods(self.referenced)
        settings, runs, d = learner.point.shape
        wide = min(runs, max(FEWEST, min(MOST, NUMBERS // d))) if self.counted else runs
        most = max(1, max(FEWEST, min(SHARED, NUMBERS // d)) // runs) if self.counted and wide == runs else 1
        self.tiles = []
        for setting, end in _alike(learner, settings, most):
            for first in range(setting * runs, end * runs, wide * most):
                points = learner.point[setting:end].reshape(-1, d)[first - setting * runs :][: wide * most]
                x = np.ascontiguousarray(points.T)
                state = learner.state(setting, x.shape[1])
                self.tiles.append(Tile(first, state, x, np.zeros((2, x.shape[1]))))
        self.ready: set[Any] = set()
        self.ready_alone: set[Any] = set()
        self.rows, self.apart = 0, 0.0

    def kinds(self, loss: type[Any]) -> tuple[type[Any], ...]:
        """The types for which a loop over rounds is compiled."""
        return type(self.tiles[0].state), loss, type(self.domain)

    def play(self, losses: Losses, done: int, noise: _Block, begun: int, sums: Array) -> None:
        """Play some rounds after the first `done`, with the noise from round `begun` of its block on.

        sums (2, settings, runs): of losses and of |noise|, added to.
        """
        settings, _, _ = self.learner.point.shape
        scales = np.array(noise.scales or [0.0] * settings, dtype=np.float64)
        mechanisms, columns = np.array(noise.mechanisms, dtype=np.int64), sums.reshape(2, -1)
        rows, loops = losses.laid() or NO_ROWS, specialised(self.played, *self.kinds(losses.kind))
        for tile in self.tiles:
            loss, buffers, _ = as_columns(losses.kind, rows if losses.per_run else (), losses.shared, tile.x.shape[1])
            totals = columns[:, tile.columns]
            tile.sums[...] = totals
            before = tile.state, loss, self.domain, buffers, rows, noise.units, mechanisms, scales
            play = partial(loops, *before, begun, tile.first, done)
            if losses.kind not in self.ready:  # zero rounds: compile, and count that time apart
                started = process_time()
                play(0, tile.x, *tile.sums)
                self.ready.add(losses.kind)
                self.apart += process_time() - started
            play(len(losses), tile.x, *tile.sums)
            totals[...] = tile.sums
        self._count(len(losses))

    def observe(self, loss: Any, gradient: Array, noise: Array | None) -> None:
        """Play one round with the gradients and the noise of all settings and runs."""
        shape = self.learner.point.shape
        slopes, noises = (
            np.ascontiguousarray(np.broadcast_to(array, shape), dtype=np.float64).reshape(-1, shape[2])
            for array in (gradient, 0.0 if noise is None else noise)
        )
        alike = Losses.alike(loss, 1) if hasattr(type(loss), "per_run") else None
        laid = () if alike is None else alike.laid()
        for tile in self.tiles:
            if alike is not None:
                laid_loss, buffers, rows = as_columns(alike.kind, laid, alike.shared, tile.x.shape[1])
            else:
                part = _Part(loss, tile.columns, *shape[:2])
                laid_loss, buffers, rows = by_methods(part), (np.zeros((1, tile.x.shape[1])),), NO_ROWS
            loop, before = specialised(play_round, *self.kinds(kind := type(laid_loss))), (tile.state, laid_loss)
            after = tile.first, float(self.learner.round), tile.x, slopes, noises
            play = partial(loop, *before, self.domain, buffers, rows, *after)
            if kind not in self.ready_alone:  # likewise
                started = process_time()
                play(0)
                self.ready_alone.add(kind)
                self.apart += process_time() - started
            play(1)
        self._count(1)
        self.finish()

    def points(self) -> Array:
        """The learner's points, (settings, runs, d)."""
        return self._gathered([tile.x for tile in self.tiles])

    def state_field(self, name: str) -> Array:
        """The field of the tiles' states with this name, (settings, runs, ...)."""
        return self._gathered([getattr(tile.state, name) for tile in self.tiles])

    def _gathered(self, columns: Sequence[Array]) -> Array:
        settings, runs, _ = self.learner.point.shape
        out = np.empty((settings * runs, len(columns[0])))
        for tile, column in zip(self.tiles, columns, strict=True):
            out[tile.columns] = column.T
        return out.reshape(settings, runs, -1)

    def finish(self) -> None:
        """Add to the set's tally how many points its oracle served, at a separately measured price, once."""
        if self.rows:
            self.tally.rows += self.rows
            self.tally.seconds += self.rows * self.price
            self.rows = 0

    @cached_property
    def price(self) -> float:
        """CPU seconds that the oracle takes for a point."""
        began, tile = process_time(), self.tiles[0]
        price = price_of(self.learner.oracle, self.domain, tile.x, getattr(tile.state, "weights", tile.x))
        self.apart += process_time() - began
        return price

    def _count(self, rounds: int) -> None:
        if self.counted and self.tally is not None:
            settings, runs, _ = self.learner.point.shape
            self.tally.calls += self.learner.calls * rounds
            self.rows += self.learner.calls * rounds * settings * runs
