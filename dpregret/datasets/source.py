"""Streams and risks by name: what all declare, how they are looked up, and how one is built."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpregret.core.discovery import discover
from dpregret.core.errors import not_allowed
from dpregret.core.sets import ConstraintSet
from dpregret.numerics.arrays import Array

Generators = Sequence[np.random.Generator]
"""One generator for each run."""


class Source:
    """The class attributes of every stream and risk.

    name: what configurations call it. title: what people write, where it is not the name. traits: needs of learners
    (words of their cards) that it serves and others do not. tight: first-order effects of noise show on it. real:
    measured data, not drawn from a model. data: the name of the prepared data that it reads. columns: their number of
    features, the only dimension of a set on which they fit. drawn: rounds have random parameters, which are held in
    blocks. stochastic: rounds are draws from one law, or records of one pool in random order; else the sequence is
    fixed, drifts, or was built against learners. costly: many records take long to draw, and no constant depends on
    them.
    """

    name: str
    title: ClassVar[str] = ""
    traits: ClassVar[frozenset[str]] = frozenset()
    tight: ClassVar[bool] = False
    real: ClassVar[bool] = False
    data: ClassVar[str | None] = None
    columns: ClassVar[int | None] = None
    drawn: ClassVar[bool] = True
    stochastic: ClassVar[bool] = False
    costly: ClassVar[bool] = False

    @property
    def pool_size(self) -> int | None:
        """How many records are presented pass after pass, in a fresh order each; None: every round has its own."""
        return None

    def participations(self, rounds: int, window: int | None = None) -> int:
        """The most rounds, of `rounds` in all, that one record is in; window: of that many rounds in a row.

        This is the number by which the loss of a round grows to that of a record (`BaseLearner.record_epsilon`). A pass
        may end with a record and the next one begin with it, so a window touches one pass more than it is long.
        """
        if self.pool_size is None:
            return 1
        passes = -(-rounds // self.pool_size)
        return passes if window is None or window >= rounds else min(passes, -(-(window - 1) // self.pool_size) + 1)

    def certain_participations(self, rounds: int, window: int | None = None) -> int:
        """The rounds that one record, or another, is in whatever the order: records that few rounds hold repeat."""
        return 1 if self.pool_size is None else -(-min(rounds, window or rounds) // self.pool_size)


class Quantities(Source):
    """Whatever a lemma bounds: no losses, but noise and vectors that the lemma itself draws."""


class Noise(Quantities):
    """Noise, or random vectors, drawn from the law that the lemma states."""

    name = "noise"
    tight = True
    stochastic = True


class UnreadDataError(ValueError):
    """The data of a stream or risk are in a file, and the folder of prepared data was not given."""


@cache
def sources(base: Any) -> dict[str, Any]:
    """All named classes of this package that derive from `base`, by their names."""
    return discover(__package__ or "", base, "name")


def build(
    noun: str,
    base: Any,
    name: str,
    arguments: Sequence[object],
    options: Mapping[str, object],
    data_dir: str | Path | None,
) -> Any:
    """Make the stream or risk of a name from its leading arguments and its options.

    base: the class that all of them derive from. data_dir: the folder of prepared data, for those that read some.
    Raises ValueError, naming the nearest and the allowed, for an unknown name or option and a missing option;
    `UnreadDataError` where everything fits but there is no folder.
    """
    known = sources(base)
    maker = known.get(name)
    if maker is None:
        raise ValueError(not_allowed(noun, name, known))
    parameters = dict([*inspect.signature(maker).parameters.items()][len(arguments) :])
    reads = parameters.pop("data_dir", None) is not None
    for option in options:
        if option not in parameters:
            raise ValueError(f"{noun} {name!r} has no option {option!r}; allowed: {', '.join(parameters) or 'none'}")
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in options:
            raise ValueError(f"{noun} {name!r} needs the option {option!r}")
    if not reads:
        return maker(*arguments, **options)
    if data_dir is None:
        raise UnreadDataError(f"{noun} {name!r} needs the option 'data_dir'")
    return maker(*arguments, data_dir=data_dir, **options)


def positive(**options: float) -> None:
    """Raise ValueError for an option that is not positive and finite."""
    for name, value in options.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} must be positive and finite, got {value}")


def sparse_truth(generator: np.random.Generator, dimension: int, sparsity: int, norm: float) -> Array:
    """A vector of that l1 norm, (n,), with `sparsity` equal entries of random sign at random places."""
    if not 1 <= sparsity <= dimension:
        raise ValueError(f"sparsity must lie in 1..{dimension}, got {sparsity}")
    truth = np.zeros(dimension)
    positions = generator.choice(dimension, size=sparsity, replace=False)
    truth[positions] = generator.choice([-1.0, 1.0], size=sparsity) * (norm / sparsity)
    return truth


def towards_vertex(domain: ConstraintSet, share: float, towards: int) -> Array:
    """The point a `share` of the way from the center to the vertex of least cost, (n,).

    The costs are normal draws with the seed `towards`. A search for worse streams chose both (docs/authors.md).
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"option share must lie in [0, 1], got {share}")
    vertex = domain.linear_oracle(np.random.default_rng(towards).standard_normal(domain.dimension))
    return (1 - share) * domain.center() + share * vertex
