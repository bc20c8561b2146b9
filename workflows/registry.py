"""What a configuration may name: learners with their variants and needs, streams with their traits, sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

KINKED_STREAMS = frozenset({"norm-kink", "random-kink", "half-space"})
REALIZABLE_STREAMS = frozenset({"realizable-quadratic", "realizable-direction", "half-space"})
SQUARED_LOSS_STREAMS = frozenset({"lasso", "diabetes"})
DATA_DIMENSIONS = {"breast-cancer": 30, "digits": 64, "diabetes": 10}
DATA_RISKS = {"diabetes-risk": "diabetes", "breast-cancer-risk": "breast-cancer", "digits-risk": "digits"}
DATA_EXPERTS = frozenset({"digits-experts", "breast-cancer-experts"})
DATA_BANDITS = {"digits-completion": "digits"}
_TRIAL_DIMENSION = 12  # every family of sets has a member of this dimension


@dataclass(frozen=True)
class LearnerEntry:
    """What a configuration has to know about a learner: its variants, its needs, its module's name."""

    variants: tuple[str, ...]
    needs: frozenset[str]  # 'local-oracle', and traits of streams written with hyphens, such as 'strongly-convex'
    module: str = ""
    private: bool = True


@dataclass(frozen=True)
class StreamEntry:
    """What a configuration has to know about a stream.

    smooth: finite smoothness. quadratic: squared loss of a linear prediction. strongly_convex: learners are told so.
    best_loss: the loss L* of the best point is public. quadratic_sums: sums of losses are quadratic forms. dimension:
    the number of features where data decide it. bundled: data that the workflow prepares.
    """

    smooth: bool
    quadratic: bool
    strongly_convex: bool = True
    best_loss: bool = False
    quadratic_sums: bool = False
    dimension: int | None = None
    bundled: bool = False


def _fits(*_: Any, **__: Any) -> None:
    """Find nothing wrong."""


@dataclass(frozen=True)
class Registry:
    """Everything that a configuration may name.

    ``sets`` tells whether a set has a local linear optimisation oracle, ``risks`` which prepared data a risk needs.
    ``try_set(name, dimension)``, ``try_stream(name, set, dimension, strong_convexity, options)``,
    ``try_risk(set, risk, dimension, samples, options)`` (which returns the problem it built, None where data of a
    file are needed) and ``try_erm_learner(problem, learner, variant, epsilon, delta)`` (which returns the number of
    iterations that the theorem asks for, where there is one) raise ValueError where the values do not fit; likewise
    ``try_expert_stream(name, experts, horizon, epsilon, best_loss, options)``, which returns the problem, with
    ``try_expert_learner(problem, learner, variant, epsilon, delta, runs)``, and
    ``try_bandit_stream(name, set, dimension, horizon, options)`` with
    ``try_bandit_learner(problem, learner, variant, epsilons, delta, runs)``.
    """

    learners: Mapping[str, LearnerEntry]
    streams: Mapping[str, StreamEntry]
    sets: Mapping[str, bool]
    erm_learners: Mapping[str, LearnerEntry] = field(default_factory=dict)
    risks: Mapping[str, str | None] = field(default_factory=dict)
    expert_learners: Mapping[str, LearnerEntry] = field(default_factory=dict)
    expert_streams: frozenset[str] = frozenset()
    bandit_learners: Mapping[str, LearnerEntry] = field(default_factory=dict)
    bandit_streams: frozenset[str] = frozenset()
    try_set: Callable[[str, int], object] = _fits
    try_stream: Callable[[str, str, int, float, Mapping[str, Any]], object] = _fits
    try_risk: Callable[[str, str, int, int, Mapping[str, Any]], object] = _fits
    try_erm_learner: Callable[[object, str, str, float, float], float | None] = _fits
    try_expert_stream: Callable[[str, int, int, float, float | None, Mapping[str, Any]], object] = _fits
    try_expert_learner: Callable[[object, str, str, float, float, int], object] = _fits
    try_bandit_stream: Callable[[str, str, int, int, Mapping[str, Any]], object] = _fits
    try_bandit_learner: Callable[[object, str, str, Sequence[float], float, int], object] = _fits

    def trusting(self) -> Registry:
        """Return a copy that builds nothing: for jobs of a configuration that has been tried already."""
        return replace(
            self,
            try_set=_fits,
            try_stream=_fits,
            try_risk=_fits,
            try_erm_learner=_fits,
            try_expert_stream=_fits,
            try_expert_learner=_fits,
            try_bandit_stream=_fits,
            try_bandit_learner=_fits,
        )

    def module(self, learner: str) -> str:
        """Return the name of the module that holds a learner."""
        return {**self.learners, **self.erm_learners, **self.expert_learners, **self.bandit_learners}[learner].module


def load_registry() -> Registry:
    """Collect what the installed learners, streams and sets offer."""
    import numpy as np

    from dpregret.algorithms import bandits, erm, experts, online
    from dpregret.algorithms.bandits.base import BanditLearner, BanditProblem
    from dpregret.algorithms.erm.base import ErmProblem
    from dpregret.algorithms.experts.base import ExpertLearner, ExpertProblem
    from dpregret.algorithms.geometry import SETS, make_set
    from dpregret.algorithms.learner import Card
    from dpregret.algorithms.privacy import Budget
    from dpregret.datasets.bandit_streams import BANDIT_STREAMS, make_bandit_stream
    from dpregret.datasets.expert_data import EXPERTS as TABLE_EXPERTS
    from dpregret.datasets.expert_streams import EXPERT_STREAMS, make_expert_stream
    from dpregret.datasets.risks import RISKS, make_risk
    from dpregret.datasets.streams import STREAMS, make_stream

    def has_local_oracle(name: str) -> bool:
        try:
            make_set(name, _TRIAL_DIMENSION).local_oracle()
        except ValueError:
            return False
        return True

    def try_stream(name: str, set_name: str, dimension: int, mu: float, options: Mapping[str, Any]) -> None:
        if name not in DATA_DIMENSIONS and "source" not in options:
            make_stream(name, make_set(set_name, dimension), strong_convexity=mu, **options)

    def try_risk(
        set_name: str, name: str, dimension: int, samples: int, options: Mapping[str, Any]
    ) -> ErmProblem | None:
        domain = make_set(set_name, dimension)
        if name in DATA_RISKS:
            return None
        return ErmProblem(domain, make_risk(name, domain, samples, [np.random.default_rng(0)], **options))

    def try_erm_learner(problem: Any, learner: str, variant: str, epsilon: float, delta: float) -> float | None:
        built = erm.catalogue()[learner](problem, [Budget(epsilon, delta)], 1, variant)
        return float(built.uncapped_iterations()[0]) if hasattr(built, "uncapped_iterations") else None

    def try_expert_stream(
        name: str, size: int, horizon: int, epsilon: float, best_loss: float | None, options: Mapping[str, Any]
    ) -> ExpertProblem:
        if name in DATA_EXPERTS:  # only the job reads the table
            if options:
                raise ValueError(f"stream {name!r} has no option {next(iter(options))!r}; allowed: none")
            if size > TABLE_EXPERTS:
                raise ValueError(f"experts must lie between 2 and {TABLE_EXPERTS} for {name!r}, got {size}")
            return ExpertProblem(np.ones(size), horizon, best_loss)
        stream = make_expert_stream(name, size, horizon, epsilon=epsilon, best_loss=best_loss, **options)
        return ExpertProblem(stream.sizes, horizon, stream.best_loss)

    def try_expert_learner(
        problem: Any, learner: str, variant: str, epsilon: float, delta: float, runs: int
    ) -> ExpertLearner:
        kind = experts.catalogue()[learner]
        return kind(problem, Budget(epsilon, delta) if kind.card.private else Budget(math.inf), runs, variant)

    def try_bandit_stream(
        name: str, set_name: str, dimension: int, horizon: int, options: Mapping[str, Any]
    ) -> BanditProblem:
        domain = make_set(set_name, dimension)
        if name in DATA_BANDITS:  # only the job reads the data
            return BanditProblem(domain, horizon, 1.0)
        stream = make_bandit_stream(name, domain, **options)
        return BanditProblem(domain, horizon, stream.lipschitz, stream.linear)

    def try_bandit_learner(
        problem: Any, learner: str, variant: str, epsilons: Sequence[float], delta: float, runs: int
    ) -> BanditLearner:
        kind = bandits.catalogue()[learner]
        budgets = [Budget(epsilon, delta) for epsilon in epsilons] if kind.card.private else [Budget(math.inf)]
        return kind(problem, budgets, runs, variant)

    def online_needs(card: Card) -> frozenset[str]:
        return card.needs if card.convex else card.needs | {"strongly-convex"}

    def entries(
        learners: Mapping[str, Any], needs_of: Callable[[Card], frozenset[str]] = lambda card: card.needs
    ) -> dict[str, LearnerEntry]:
        return {
            name: LearnerEntry(
                tuple(learner.card.variants), needs_of(learner.card), learner.__module__, learner.card.private
            )
            for name, learner in learners.items()
        }

    return Registry(
        learners=entries(online.catalogue(), online_needs),
        erm_learners=entries(erm.catalogue()),
        expert_learners=entries(experts.catalogue()),
        expert_streams=frozenset(EXPERT_STREAMS),
        bandit_learners=entries(bandits.catalogue()),
        bandit_streams=frozenset(BANDIT_STREAMS),
        risks={name: DATA_RISKS.get(name) for name in RISKS},
        streams={
            name: StreamEntry(
                smooth=name not in KINKED_STREAMS,
                quadratic=name in SQUARED_LOSS_STREAMS,
                strongly_convex=name not in REALIZABLE_STREAMS,
                best_loss=name in REALIZABLE_STREAMS,
                quadratic_sums=name == "realizable-direction",
                dimension=DATA_DIMENSIONS.get(name),
                bundled=name in DATA_DIMENSIONS,
            )
            for name in STREAMS
        },
        sets={name: has_local_oracle(name) for name in SETS},
        try_set=make_set,
        try_stream=try_stream,
        try_risk=try_risk,
        try_erm_learner=try_erm_learner,
        try_expert_stream=try_expert_stream,
        try_expert_learner=try_expert_learner,
        try_bandit_stream=try_bandit_stream,
        try_bandit_learner=try_bandit_learner,
    )
