"""Every learner of every catalogue on a problem that it can serve, at a size of choice, ready to be timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from bench_draws import Call, plain, recording, replay

from dpregret.algorithms.bandits.base import BanditProblem, Given
from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.geometry.counted import CountedSet, SolvedSet
from dpregret.algorithms.learner import Card, Problem, Setting, play
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.core.losses import Rounds
from dpregret.datasets.bandit_streams import BanditStream, make_bandit_stream
from dpregret.datasets.base import Source, Stream
from dpregret.datasets.catalogue import sources
from dpregret.datasets.expert_streams import make_expert_stream
from dpregret.datasets.risk_base import RiskSource
from dpregret.datasets.risk_population import Pass, PopulationRisk
from dpregret.datasets.risks import make_risk
from dpregret.datasets.streams import make_stream

Maker = Callable[[int, int], Sequence[np.random.Generator]]
"""(seed, runs) -> one generator a run."""
FAMILIES = ("online", "experts", "bandits", "erm")
NOISE, DIRECTIONS, DATA = 1, 2, 3
WINDOW, DELTA, SAMPLES = 256, 1e-6, 4096


@dataclass(frozen=True)
class Size:
    """How much is played; `epsilons` are settings of one play where the family batches them."""

    runs: int
    dimension: int
    rounds: int
    domain: str = ""
    epsilons: tuple[float, ...] = (8.0,)
    window: int = WINDOW

    def __str__(self) -> str:
        place = f"{self.domain}, " if self.domain else ""
        return f"{place}{self.runs} runs, d = {self.dimension}, T = {self.rounds}"


LIMITS = MappingProxyType(
    {
        "net-sparse-vector": (16, 2, 64), "sampled-sparse-vector": (2, 3, 64), "wdp-cocop-solver": (2, 32, 16),
        "pqftl": (32, 32, 128), "tree-counters": (4, 32, 1024), "objective-perturbation": (16, 32, 0),
        "chaudhuri": (16, 32, 0),
    }
)  # fmt: skip
"""Most runs, dimension and rounds of learners whose single round is dear."""
SETS = MappingProxyType({"fw": "l1-ball"})
"""Where a learner stands beside another one; all others play on the set that they are made for."""
SOURCES: Mapping[str, type[Source]] = MappingProxyType({"online": Stream, "bandits": BanditStream, "erm": RiskSource})
PLAYED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "online": ("norm-kink", "smooth-quadratic", "lasso", "half-space", "realizable-direction"),
        "bandits": ("linear", "arms"),
        "erm": (
            "norm-kink-risk", "linear-population", "hetero-consensus", "lasso-population", "quadratic-risk",
            "quadratic-population", "logistic-risk",
        ),
    }
)  # fmt: skip
"""What is played: a learner meets the first that serves all its needs."""
SHAPES = MappingProxyType(
    {
        "hetero-consensus": {"smooth"}, "lasso-population": {"smooth"}, "quadratic-risk": {"smooth", "strongly-convex"},
        "quadratic-population": {"smooth", "strongly-convex"}, "logistic-risk": {"smooth", "rank-one"},
    }
)  # fmt: skip
"""Needs that a risk serves besides the traits of its class."""
ONLY_ON = MappingProxyType({"hetero-consensus": "l1-ball", "lasso-population": "l1-ball"})
"""The set of data that are meant for one alone."""


def home(family: str, name: str) -> str:
    """The set that a learner plays on: the one that it is made for, or a ball."""
    kind = learners(family)[name]
    if kind.card.needs & {"local-oracle", "arms"}:
        return "simplex"
    return SETS.get(name) or str(getattr(kind, "natural_set", "ball"))


def needs(family: str, kind: Any) -> frozenset[str]:
    """What a learner asks of losses, of records and of sets; curvature only where cards say who does without it."""
    card: Card = kind.card
    wanted = card.all_needs if family == "online" else card.needs
    return wanted | getattr(kind, "reads", frozenset())


def data_for(family: str, name: str, domain: str) -> str:
    """The first data that serve a learner on a set; needs that no data serve are those of sets."""
    kinds = sources(SOURCES[family])
    served = {each: kinds[each].traits | SHAPES.get(each, set()) for each in PLAYED[family]}
    asked = needs(family, learners(family)[name]) & frozenset().union(*served.values())
    fitting = [each for each in PLAYED[family] if asked <= served[each] and ONLY_ON.get(each, domain) == domain]
    if not fitting:
        raise LookupError(f"no data of the benchmarks serve {name} on {domain}: {sorted(asked)}")
    return fitting[0]


def one_pass(kind: Any) -> bool:
    """Whether a learner meets fresh records: as many as there are rounds."""
    return "fresh" in getattr(kind, "reads", ())


class Drawn:
    """A population whose records are there before the clock starts: they are no work of the learner, nor its noise."""

    def __init__(self, risk: PopulationRisk) -> None:
        self.risk, self._records = risk, risk.stream().take(risk.samples)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.risk, name)

    def stream(self) -> Pass:
        """A pass over the same records."""
        count = self._records.shape[2]
        whole = Pass(lambda taken: self._records[:, :, count - whole.left - taken : count - whole.left].copy(), count)
        return whole


def every(family: str) -> list[tuple[str, str]]:
    """(family, name) of all learners of a catalogue."""
    return [(family, name) for name in learners(family)]


def within(family: str, name: str, size: Size) -> Size:
    """The size, cut to what the learner can play in a fraction of a second."""
    runs, dimension, rounds = LIMITS.get(name, (size.runs, size.dimension, size.rounds))
    domain = size.domain or home(family, name)
    cut = min(dimension, size.dimension)
    if domain == "nuclear":
        cut = math.isqrt(cut) ** 2
    return Size(min(runs, size.runs), cut, min(rounds or size.rounds, size.rounds), domain, size.epsilons, size.window)


@dataclass
class Case:
    """One learner at work on one problem; `play` answers the CPU seconds of its loop alone."""

    family: str
    name: str
    size: Size
    variant: str = ""
    lazy: bool = False  # make the data during the play, so that memory holds the learner's work alone
    steps: float = math.nan  # round-runs of the last play: rounds (or iterations) times runs times settings

    def __post_init__(self) -> None:
        self.size = within(self.family, self.name, self.size)
        if self.family == "experts":
            self.size = replace(self.size, domain="")
        self.kind = learners(self.family)[self.name]
        variants = list(self.kind.card.variants)
        self.variant = self.variant or ("corrected" if "corrected" in variants else variants[0])
        epsilons = self.size.epsilons if self.kind.card.private else (math.inf,)
        self.budgets = [Budget(epsilon, DELTA) for epsilon in epsilons]
        self._play = getattr(self, f"_{self.family}")
        self.data = data_for(self.family, self.name, self.size.domain) if self.family in PLAYED else ""
        self.population = self._population() if one_pass(self.kind) else None

    def play(self, make: Maker = plain) -> float:
        """Play once, from new generators on."""
        return float(self._play(make))

    def draws(self) -> list[Call]:
        """What one play asks of its generators."""
        log: list[Call] = []
        with recording(log) as make:
            self.play(make)
        return log

    def bare(self) -> Callable[[], None]:
        """The same random numbers, drawn and thrown away."""
        return replay(self.draws())

    def online(self) -> tuple[Problem, Iterable[Any]]:
        """What an online learner is told, and the losses it meets."""
        size = self.size
        domain = make_set(size.domain, size.dimension)
        stream = make_stream(self.data, domain)
        problem = Problem(
            (SolvedSet if "solver" in self.kind.card.needs else CountedSet)(domain), size.rounds, stream.lipschitz,
            stream.strong_convexity, stream.smoothness, getattr(stream, "best_loss", None),
        )  # fmt: skip
        losses = stream.rounds(plain(DATA, size.runs), size.rounds)
        # making data is not the learner's work; they come in blocks, as those of a stream do
        return problem, losses if self.lazy else Rounds([list(losses)])

    def _online(self, make: Maker) -> float:
        problem, losses = self.online()
        settings = [Setting(self.size.window, budget) for budget in self.budgets]
        learner = self.kind(problem, settings, self.size.runs, self.variant)
        self.steps = self.size.rounds * self.size.runs * len(settings)
        return play(learner, losses, make(NOISE, self.size.runs), [self.size.rounds]).seconds

    def _experts(self, make: Maker) -> float:
        size = self.size
        (budget,) = self.budgets
        stream = make_expert_stream("bernoulli", size.dimension, size.rounds, best_loss=0.0, probability=0.5)
        problem = ExpertProblem(stream.sizes, size.rounds, stream.best_loss)
        learner = self.kind(problem, budget, size.runs, self.variant)
        blocks = list(stream.blocks(plain(DATA, size.runs)))
        generators = make(NOISE, size.runs)
        self.steps = size.rounds * size.runs
        started = process_time()
        learner.play(blocks, generators)
        return process_time() - started

    def _bandits(self, make: Maker) -> float:
        size = self.size
        domain = make_set(size.domain, size.dimension)
        stream = make_bandit_stream(self.data, domain)
        problem = BanditProblem(domain, size.rounds, stream.lipschitz, stream.linear, "arms" in stream.traits)
        learner = self.kind(problem, self.budgets, size.runs, self.variant)
        source = stream.source(plain(DATA, size.runs))
        directions, noise = make(DIRECTIONS, size.runs), make(NOISE, size.runs)
        self.steps = size.rounds * size.runs * len(self.budgets)
        started = process_time()
        learner.play(Given(source, directions, noise))
        return process_time() - started

    def _population(self) -> Drawn:
        """Of as many records as there are rounds, made hard for the budgets; drawn before anybody records draws."""
        size = self.size
        domain = make_set(size.domain, size.dimension)
        risk: PopulationRisk = make_risk(self.data, domain, size.rounds, plain(DATA, size.runs))
        return Drawn(risk.facing([gaussian_mu(budget) for budget in self.budgets]))

    def _erm(self, make: Maker) -> float:
        size = self.size
        domain = make_set(size.domain, size.dimension)
        risk = self.population or make_risk(self.data, domain, SAMPLES, plain(DATA, size.runs))
        kind = self.kind
        if hasattr(kind, "MAX_ITERATIONS"):  # rounds: a cap, where a learner iterates
            kind = type(kind.__name__, (kind,), {"MAX_ITERATIONS": size.rounds})
        learner = kind(ErmProblem(domain, risk), self.budgets, size.runs, self.variant)
        generators = make(NOISE, size.runs)
        met = size.rounds * len(self.budgets)  # a record is a round, where each is met once
        self.steps = (met if self.population else max(1, sum(learner.iterations()))) * size.runs
        started = process_time()
        learner.fit(generators)
        return process_time() - started
