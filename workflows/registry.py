"""What a configuration may name: learners with their variants and needs, streams with their traits, sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LearnerEntry:
    """What a configuration has to know about a learner."""

    variants: tuple[str, ...]
    needs: frozenset[str]  # of 'local-oracle', 'smooth', 'quadratic'


@dataclass(frozen=True)
class StreamEntry:
    """What a configuration has to know about a stream of losses."""

    smooth: bool
    quadratic: bool


@dataclass(frozen=True)
class Registry:
    """Everything that a configuration may name."""

    papers: frozenset[str]
    learners: Mapping[str, LearnerEntry]
    streams: Mapping[str, StreamEntry]
    sets: Mapping[str, bool]  # name -> whether it has a local linear optimisation oracle
