"""What a learner draws, and what nothing but drawing it would cost.

A recorder takes the place of the generators during one play and notes every call. Replaying the same calls on a plain
generator, and throwing the numbers away, is the bare cost of that play's noise: no sum, no copy, no scale.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
DRAWS = (
    "standard_normal", "standard_exponential", "standard_gamma", "laplace", "random", "integers", "bytes", "normal",
    "exponential", "gamma", "uniform", "permutation", "choice", "gumbel",
)  # fmt: skip


class Recorder(np.random.Generator):
    """A generator that notes its calls in a log which its copies share."""

    def __init__(self, bit_generator: np.random.BitGenerator, log: list[Call]):
        super().__init__(bit_generator)
        self.log = log
        self.inside = False  # of a call: some methods use others

    def __deepcopy__(self, memo: dict[int, Any]) -> Recorder:
        return Recorder(copy.deepcopy(self.bit_generator, memo), self.log)


def _noted(name: str) -> Callable[..., Any]:
    plain = getattr(np.random.Generator, name)

    def draw(self: Recorder, *arguments: Any, **options: Any) -> Any:
        if self.inside:
            return plain(self, *arguments, **options)
        self.log.append((name, arguments, options))
        self.inside = True
        try:
            return plain(self, *arguments, **options)
        finally:
            self.inside = False

    return draw


for _name in DRAWS:
    setattr(Recorder, _name, _noted(_name))


def plain(seed: int, runs: int) -> list[np.random.Generator]:
    """One generator a run."""
    return [np.random.default_rng([seed, run]) for run in range(runs)]


@contextmanager
def recording(log: list[Call]) -> Iterator[Callable[[int, int], list[np.random.Generator]]]:
    """Makers of generators that record, also those which a mechanism derives from them (`keyed_generators`)."""
    usual = np.random.default_rng

    def make(seed: Any = None) -> np.random.Generator:  # derived ones are made from a seed sequence
        made = usual(seed)
        return Recorder(made.bit_generator, log) if isinstance(seed, np.random.SeedSequence) else made

    def many(seed: int, runs: int) -> list[np.random.Generator]:
        return [make(np.random.SeedSequence([seed, run])) for run in range(runs)]

    np.random.default_rng = make  # type: ignore[assignment]

    try:
        yield many
    finally:
        np.random.default_rng = usual


def replay(log: Sequence[Call]) -> Callable[[], None]:
    """Draw again what the log says, and nothing else."""
    generator = np.random.default_rng(0)
    calls = [(getattr(generator, name), arguments, options) for name, arguments, options in log]

    def draw() -> None:
        for call, arguments, options in calls:
            call(*arguments, **options)

    return draw
