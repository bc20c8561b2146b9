"""What a configuration may name: learners with their variants and needs, streams with their traits, sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KINKED_STREAMS = frozenset({"norm-kink", "random-kink"})
SQUARED_LOSS_STREAMS = frozenset({"lasso", "diabetes"})
DATA_DIMENSIONS = {"breast-cancer": 30, "digits": 64, "diabetes": 10}
PAPERS = frozenset({"lou_cheung_2020"})
_TRIAL_DIMENSION = 12  # every family of sets has a member of this dimension


@dataclass(frozen=True)
class LearnerEntry:
    """What a configuration has to know about a learner: its variants, its needs, and its module's name."""

    variants: tuple[str, ...]
    needs: frozenset[str]  # of 'local-oracle', 'smooth', 'quadratic'
    module: str = ""


@dataclass(frozen=True)
class StreamEntry:
    """What a configuration has to know about a stream.

    smooth: finite smoothness. quadratic: squared loss of a linear prediction. dimension: the number of features
    where data decide it. bundled: data that the workflow prepares.
    """

    smooth: bool
    quadratic: bool
    dimension: int | None = None
    bundled: bool = False


def _fits(*_: Any, **__: Any) -> None:
    """Find nothing wrong."""


@dataclass(frozen=True)
class Registry:
    """Everything that a configuration may name.

    ``sets`` tells whether a set has a local linear optimisation oracle. ``try_set(name, dimension)`` and
    ``try_stream(name, set, dimension, strong_convexity, options)`` raise ValueError where the values do not fit.
    """

    papers: frozenset[str]
    learners: Mapping[str, LearnerEntry]
    streams: Mapping[str, StreamEntry]
    sets: Mapping[str, bool]
    try_set: Callable[[str, int], object] = _fits
    try_stream: Callable[[str, str, int, float, Mapping[str, Any]], object] = _fits


def load_registry() -> Registry:
    """Collect what the installed learners, streams and sets offer."""
    from dpregret.algorithms.coco import catalogue
    from dpregret.algorithms.geometry import SETS, make_set
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

    return Registry(
        papers=PAPERS,
        learners={
            name: LearnerEntry(tuple(learner.card.variants), learner.card.needs, learner.__module__)
            for name, learner in catalogue().items()
        },
        streams={
            name: StreamEntry(
                smooth=name not in KINKED_STREAMS,
                quadratic=name in SQUARED_LOSS_STREAMS,
                dimension=DATA_DIMENSIONS.get(name),
                bundled=name in DATA_DIMENSIONS,
            )
            for name in STREAMS
        },
        sets={name: has_local_oracle(name) for name in SETS},
        try_set=make_set,
        try_stream=try_stream,
    )
