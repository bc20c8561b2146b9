"""What the audits of all families share: pairs of neighbouring inputs, their transcripts, and the noise that arrives.

How much of the plan's noise reaches what is played: what is released of sums is a function of (sum + noise). So a loss
that moves the sum by v from its round on, and noise that is v larger from that round on, lead to the same points: the
learner cannot tell them apart. Both are played with the same draws. A learner that adds half of its noise answers the
second move half as much as the first: 0.5.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from dpregret.algorithms.privacy import Budget, Joint, NoisePlan, gaussian_epsilon, smallest_epsilon
from dpregret.algorithms.privacy.audit import SIGNIFICANCE, audit, item_mu, item_pure_loss, told_for_certain
from dpregret.algorithms.privacy.prefix_sums import BLOCK
from dpregret.numerics.arrays import Array

ROUNDS = 11
"""Default number of rounds: odd; its log2 rounds up to 4, down and to the nearest to 3."""
WATCHED_RUNS = 64
"""Runs whose noise is followed, at each of two scales."""
BOTH_SCALES = 2 * WATCHED_RUNS
"""Runs of one play: those with the noise of the plan, then the same with small noise."""
FEWEST = 8
"""Runs that must carry information in a round."""
TELLING = 1e-6
"""A smaller move of a point, as a share of the largest one, carries no information."""
QUIET = 0.1
"""Scale of small noise, in units of the sensitivity: that of the plan may drive all points to the boundary."""
Runs = Annotated[int, Field(ge=100)]


class Special(BaseModel):
    """The settings of one learner, beyond the defaults of its family; see settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    losses: Literal["kink", "quadratic", "flat", "square", "squared"] = "kink"
    rounds: PositiveInt | None = None
    most_runs: Runs | dict[str, Runs] = {}
    variants: tuple[str, ...] | None = None
    skip: str = ""

    def runs(self, variant: str, usual: int) -> int:
        """Runs of an input of a variant, where `usual` are requested."""
        most = self.most_runs if isinstance(self.most_runs, int) else self.most_runs.get(variant, usual)
        return min(usual, most)


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs and what a learner released on each, (runs, features), one row a run."""

    name: str
    first: Array
    second: Array


class Refused(ValueError):  # noqa: N818  (what a learner does)
    """A learner does not take the inputs of an audit."""


class Audited(ABC):
    """One learner and variant on inputs chosen to expose it. Raises what the learner raises.

    claimed: the requested epsilon. delta: 0 where the guarantee is pure. accounted: by its ledger.
    exact: the loss of the whole transcript of its mechanism on neighbours like those of the audit, for the
    worst protected item; NaN where no closed form is known. gaussian: everything released is post-processing of
    Gaussian noise, so that the audited mu may be turned into an epsilon.
    """

    usual_rounds: ClassVar[int] = ROUNDS
    exact: float = math.nan
    gaussian: bool = False
    again: bool = False
    """At another horizon, where an exact loss of many rounds would be dear: it need not be known."""

    def __init__(
        self,
        learner_class: type[Any],
        variant: str,
        budget: Budget,
        special: Special,
        seed: Sequence[int],
        again: bool = False,
    ) -> None:
        self.learner_class, self.variant, self.budget, self.seed = learner_class, variant, budget, seed
        self.rounds, self.again = special.rounds or self.usual_rounds, again
        try:
            self.prepare(special)
            learner = self.make(1)
        except ValueError as fault:
            raise Refused(str(fault)) from fault
        self.claimed, self.delta = budget.epsilon, 0.0 if learner.pure else budget.delta
        self.accounted: float = learner.delivered_epsilon()[0]
        self.inspect(learner)

    def prepare(self, special: Special) -> None:  # noqa: B027  (most need nothing)
        """Set what `make` needs beyond the arguments."""

    @abstractmethod
    def make(self, runs: int) -> Any:
        """A learner ready to play."""

    @abstractmethod
    def inspect(self, learner: Any) -> None:
        """Set `exact` and `gaussian` where they are known for the learner."""

    @abstractmethod
    def pairs(self, runs: int) -> Iterator[Pair]:
        """At least three."""

    @abstractmethod
    def transcript(self, neighbour: Any, runs: int, seed: Sequence[int]) -> Array:
        """What the learner releases on an input, (runs, features)."""

    def pair(self, number: int, name: str, inputs: Sequence[Any], runs: int) -> Pair:
        """Two inputs with their transcripts, each by its own generators."""
        first, second = (self.transcript(item, runs, (*self.seed, number, side)) for side, item in enumerate(inputs))
        return Pair(name, first, second)

    def closer(self) -> Iterator[Audited]:
        """The same learner on further inputs, where these show less than is lost."""
        yield from ()

    def reached(self) -> float:
        """The share of the plan's noise that reaches what is played; NaN where no plan is known."""
        return math.nan


def rows(audited: Audited, runs: int) -> pd.DataFrame:
    """One row a pair: claimed, accounted, exact and audited epsilon, audited mu, and the operating point."""
    records, reached = [], audited.reached()
    constants = {name: getattr(audited, name) for name in ("claimed", "delta", "accounted", "exact")}
    for pair in audited.pairs(runs):
        evidence = audit(pair.first, pair.second, audited.delta)
        proved, event = evidence.epsilon, evidence.event
        if audited.gaussian and (converted := gaussian_epsilon(evidence.mu, audited.delta)) > proved:
            proved, event = converted, evidence.mu_event
        records.append(
            {
                "pair": pair.name,
                **constants,
                "audited": proved,
                "audited_mu": evidence.mu,
                "power": event[0],
                "false_positive_rate": event[1],
                "runs": evidence.samples,
                "significance": SIGNIFICANCE,
                "reached": reached,
            }
        )
    return pd.DataFrame(records)


def exact_epsilon(
    plan: NoisePlan, rounds: int, protected: Sequence[int], budget: Budget, attained: float = 1.0
) -> float:
    """Loss of all outputs of the plan's first setting for the worst of the protected items (counted from 1).

    attained: how far the changed item moves, as a share of the sensitivity.
    Gaussian: exact at the budget's delta. Gamma and Laplace: pure. Infinite where outputs tell a protected item for
    certain, NaN where they tell others.
    """
    mechanism, scale = plan.mechanisms[0], plan.scales[0]
    items = np.asarray(protected) - 1
    if scale == 0 or (certain := told_for_certain(mechanism, rounds))[items].any():
        return math.inf
    if certain.any():
        return math.nan
    gaussian = plan.distribution == "gaussian"
    losses = item_mu(mechanism, rounds) if gaussian else item_pure_loss(mechanism, rounds)
    loss = float(losses[items].max()) * attained * plan.sensitivity / scale
    return gaussian_epsilon(loss, budget.delta) if gaussian else loss


def table_epsilon(first_law: Array, second_law: Array, delta: float) -> float:
    """Smallest epsilon at delta between two laws on the same events, in both directions; pure for delta = 0."""
    possible = np.maximum(first_law, second_law) > 0
    first, second = first_law[possible], second_law[possible]
    if max(first[second == 0].sum(), second[first == 0].sum()) > delta:  # events that tell one law for certain
        return math.inf
    if delta == 0:
        with np.errstate(divide="ignore"):
            return float(np.abs(np.log(first) - np.log(second)).max())

    def excess(epsilon: float) -> float:
        factor = np.exp(epsilon)
        return float(max(np.maximum(p - factor * q, 0).sum() for p, q in ((first, second), (second, first))))

    return smallest_epsilon(excess, delta)


def generators(label: Sequence[int], runs: int) -> Joint:
    """One generator for all runs; labels of numbers keep inputs, pairs and learners apart."""
    return Joint(np.random.default_rng(np.random.SeedSequence(list(label))), runs)


def watched_generators(label: Sequence[int]) -> list[np.random.Generator]:
    """Those of a play whose noise is followed: the same draws at both scales."""
    return [generator for _ in range(2) for generator in generators(label, WATCHED_RUNS)]


def tree_differences(values: Array) -> Array:
    """Of values (runs, rounds): their differences to the prefix whose nodes they share, t & (t - 1)."""
    rounds = np.arange(1, values.shape[1] + 1)
    return values - np.pad(values, ((0, 0), (1, 0)))[:, rounds & (rounds - 1)]


def along_tree(values: Array) -> Array:
    """Values (runs, rounds) beside their `tree_differences`."""
    return np.concatenate([values, tree_differences(values)], axis=1)


@dataclass(frozen=True)
class Moved(NoisePlan):
    """A plan of one setting whose draws are `factor` (runs, 1) times as large, and then moved by `shift`, (rounds,
    runs, d)."""

    factor: Array = field(default_factory=lambda: np.ones((1, 1)))
    shift: Array = field(default_factory=lambda: np.zeros((0, 1, 1)))

    def correlated(self, generators: Sequence[np.random.Generator], rounds: int = BLOCK) -> Iterator[list[Array]]:
        """The blocks before they are scaled."""
        first = 0
        for (units,) in super().correlated(generators, rounds):
            moved, part = self.factor * units, self.shift[first : first + rounds]
            moved[: len(part)] += part / self.scales[0]
            first += rounds
            yield [moved]


def share(plan: NoisePlan, play: Callable[[NoisePlan, bool], Array], move: Callable[[Array], Array]) -> float:
    """Of the plan's noise: the worst over rounds of the median over runs; NaN where no round carries information, or
    where a class derived from the plan's may draw other noise.

    Once with the noise of the plan and once with small noise, in the two halves of `BOTH_SCALES` runs. play: (plan,
    whether the loss is turned) -> what is played, (rounds, runs). move: what the turned loss moves, (rounds, runs, d),
    given what is played without.
    """
    if type(plan) is not NoisePlan or not plan.scales[0] > 0:
        return math.nan
    factors = np.repeat([1.0, QUIET * plan.sensitivity / plan.scales[0]], WATCHED_RUNS)[:, None]
    quiet, shares = Moved(**vars(plan), factor=factors), [math.nan]
    baseline = play(quiet, False)
    both_turned = play(quiet, True) - baseline
    both_moved = play(replace(quiet, shift=move(baseline)), False) - baseline
    for turned, moved in zip(*(np.hsplit(both, 2) for both in (both_turned, both_moved)), strict=True):
        telling = np.abs(turned) > TELLING * max(np.abs(turned).max(), TELLING)
        for now in np.flatnonzero(telling.sum(axis=1) >= FEWEST):
            runs = telling[now]
            shares.append(float(np.median(moved[now, runs] / turned[now, runs])))
    return worst(shares)


def worst(shares: Sequence[float]) -> float:
    """The share that is farthest from 1; NaN where there is none."""
    finite = [value for value in shares if not math.isnan(value)]
    return max(finite, key=lambda value: abs(value - 1), default=math.nan)
