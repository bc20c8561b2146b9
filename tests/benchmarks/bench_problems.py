"""Every learner of every catalogue on a problem that it can serve, at a size of choice, ready to be timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import process_time
from types import MappingProxyType
from typing import Any

import numpy as np
from bench_draws import Call, plain, recording, replay

from dpregret.algorithms.bandits.base import BanditProblem
from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.geometry.counted import CountedSet, SolvedSet
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.bandit_streams import make_bandit_stream
from dpregret.datasets.expert_streams import make_expert_stream
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
SETS = MappingProxyType(
    {
        "sampled-sparse-vector": "ball", "private-fw": "l1-ball", "fw": "l1-ball", "noisy-eg": "l1-ball",
        "noisy-qnorm": "l1-ball", "noisy-grouped": "grouped-l1", "noisy-nuclear": "nuclear",
        "wdp-cocol-gamma": "simplex", "wdp-cocol-gaussian": "simplex", "lloo-ftal": "simplex",
    }
)  # fmt: skip
"""Where a learner is at home; all others play on the ball."""
RISKS = MappingProxyType(
    {
        "private-fw": "hetero-consensus", "fw": "hetero-consensus", "private-fw-general": "quadratic-risk",
        "noisy-gd-strong": "quadratic-risk", "output-perturbation": "quadratic-risk",
        "projected-gradient": "quadratic-risk", "objective-perturbation": "logistic-risk",
        "chaudhuri": "logistic-risk",
    }
)  # fmt: skip


def every(family: str) -> list[tuple[str, str]]:
    """(family, name) of all learners of a catalogue."""
    return [(family, name) for name in learners(family)]


def within(name: str, size: Size) -> Size:
    """The size, cut to what the learner can play in a fraction of a second."""
    runs, dimension, rounds = LIMITS.get(name, (size.runs, size.dimension, size.rounds))
    domain = size.domain or SETS.get(name, "ball")
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
        self.size = within(self.name, self.size)
        if self.family == "experts":
            self.size = replace(self.size, domain="")
        self.kind = learners(self.family)[self.name]
        variants = list(self.kind.card.variants)
        self.variant = self.variant or ("corrected" if "corrected" in variants else variants[0])
        epsilons = self.size.epsilons if self.kind.card.private else (math.inf,)
        self.budgets = [Budget(epsilon, DELTA) for epsilon in epsilons]
        self._play = getattr(self, f"_{self.family}")

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
        size, needs = self.size, self.kind.card.needs
        domain = make_set(size.domain, size.dimension)
        name = "lasso" if "quadratic" in needs else "smooth-quadratic" if "smooth" in needs else "norm-kink"
        if "best-loss" in needs:
            name = "realizable-direction" if "smooth" in needs else "half-space"
        stream = make_stream(name, domain)
        problem = Problem(
            SolvedSet(domain) if "solver" in needs else CountedSet(domain), size.rounds, stream.lipschitz,
            stream.strong_convexity, stream.smoothness, getattr(stream, "best_loss", None),
        )  # fmt: skip
        losses = stream.rounds(plain(DATA, size.runs), size.rounds)
        return problem, losses if self.lazy else list(losses)  # making data is not the learner's work

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
        stream = make_bandit_stream("linear", make_set(size.domain, size.dimension))
        problem = BanditProblem(stream.domain, size.rounds, stream.lipschitz, stream.linear)
        learner = self.kind(problem, self.budgets, size.runs, self.variant)
        source = stream.source(plain(DATA, size.runs))
        directions, noise = make(DIRECTIONS, size.runs), make(NOISE, size.runs)
        self.steps = size.rounds * size.runs * len(self.budgets)
        started = process_time()
        learner.play(source, directions, noise)
        return process_time() - started

    def _erm(self, make: Maker) -> float:
        size = self.size
        domain = make_set(size.domain, size.dimension)
        risk = make_risk(RISKS.get(self.name, "norm-kink-risk"), domain, SAMPLES, plain(DATA, size.runs))
        kind = self.kind
        if hasattr(kind, "MAX_ITERATIONS"):  # rounds: a cap, where a learner iterates
            kind = type(kind.__name__, (kind,), {"MAX_ITERATIONS": size.rounds})
        learner = kind(ErmProblem(domain, risk), self.budgets, size.runs, self.variant)
        generators = make(NOISE, size.runs)
        self.steps = max(1, sum(learner.iterations())) * size.runs
        started = process_time()
        learner.fit(generators)
        return process_time() - started
