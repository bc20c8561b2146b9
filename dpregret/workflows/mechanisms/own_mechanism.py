"""Bring your own mechanism: the linear map of correlated noise, read off code that this project has never seen.

The code may be one of three things, each made by a function of the user. Arguments are passed by name, those it has
of `OFFERED`.

  noise(generator, rounds, dimension)   the noise of the prefix sums of rounds 1.., shape (rounds, dimension), at full
                                        scale, drawn by generator.standard_normal(size) or
                                        generator.normal(0, sd, size), sizes (dimension,) or (k, dimension);
  (matrix, sd)                          a streaming matrix with init_multiply(x) and
                                        multiply_next(x, state) -> (row, state), and the standard deviation of what it
                                        is fed with. As in jax-privacy it makes the noise of single items, C^-1 z:
                                        running sums are taken (`per_item`);
  a PrefixSums of this project          calibrated here.

Each draw is replaced by a unit vector of a space with as many dimensions as there are draws: the output shows which
draws enter it and how much. Draws of a real generator follow, small and large ones, to see that the code is linear in
them: row by row, so that a row of large noise hides nothing of the others.
"""

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpregret.algorithms.privacy.audit import materialise
from dpregret.algorithms.privacy.budget import Budget, calibrate
from dpregret.algorithms.privacy.prefix_sums import PrefixSums
from dpregret.core.errors import one_line
from dpregret.numerics.arrays import Array

OFFERED = (
    "generator",
    "rounds",
    "dimension",
    "window",
    "sensitivity",
    "epsilon",
    "delta",
    "participations",
    "separation",
)
SIZES = np.array([1.0, 1e-3, 1e3])
"""Of real draws, one coordinate each."""
ROUNDING, SINGLE_ROUNDING = 1e-7, 1e-4
"""As a share of what a row adds up: of noise in double and in single precision."""


class OwnNoiseError(ValueError):
    """The fault of the user's file, in one line."""


@dataclass(frozen=True)
class Claim:
    """The claimed privacy of the mechanism. window: of the protected items; rounds or more: the whole sequence.

    participations: rounds that one record takes part in, `separation` rounds apart; more than one for whole sequences.
    """

    rounds: int
    window: int
    epsilon: float = 1.0
    delta: float = 1e-6
    sensitivity: float = 1.0
    participations: int = 1
    separation: int = 1

    def offered(self) -> dict[str, Any]:
        """Arguments of the user's functions by name."""
        return {name: getattr(self, name) for name in OFFERED if hasattr(self, name)}


def load(place: str) -> Callable[..., Any]:
    """The function named by `my_noise.py:make`."""
    path, _, name = place.rpartition(":")
    if not path or not name:
        raise OwnNoiseError(f"{place}: expected FILE.py:FUNCTION")
    if not Path(path).is_file():
        raise OwnNoiseError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location("own_noise", path)
    if spec is None or spec.loader is None:
        raise OwnNoiseError(f"{path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise OwnNoiseError(f"{path}: cannot be imported: {type(error).__name__}: {one_line(error)}") from error
    made = getattr(module, name, None)
    if not callable(made):
        functions = sorted(each for each, value in vars(module).items() if inspect.isfunction(value))
        raise OwnNoiseError(f"{path}: has no function {name!r}, there are: {', '.join(functions) or 'none'}")
    return made


def noise_matrix(make: Callable[..., Any], claim: Claim, per_item: bool = True) -> Array:
    """The matrix B, (rounds, draws): prefix sums leave with B times independent N(0, 1) draws added.

    per_item: a streaming matrix makes the noise of single items. Raises OwnNoiseError.
    """
    made = make if "generator" in _parameters(make) else _call(make, claim.offered())
    if isinstance(made, PrefixSums):
        budget = Budget(claim.epsilon, claim.delta)
        return calibrate("gaussian", budget, claim.sensitivity, made.nodes_per_item) * materialise(made, claim.rounds)
    if isinstance(made, tuple) and len(made) == 2 and hasattr(made[0], "multiply_next"):
        return _streamed(made[0], _number(made[1]), claim.rounds, per_item)
    if hasattr(made, "multiply_next"):
        raise OwnNoiseError("a streaming matrix comes with its standard deviation: return (matrix, sd)")
    if not callable(made):
        raise OwnNoiseError(
            f"expected a function of a generator, (streaming matrix, sd) or PrefixSums, got {type(made).__name__}"
        )
    return _read_off(made, claim)


def _streamed(matrix: Any, sd: float, rounds: int, per_item: bool) -> Array:
    if not 0 < sd < np.inf:
        raise OwnNoiseError(f"the standard deviation of a streaming matrix must be positive, got {sd}")

    def multiplied(draws: Array) -> Array:
        try:
            state, rows = matrix.init_multiply(draws[0]), []
            for draw in draws:
                row, state = matrix.multiply_next(draw, state)
                rows.append(row)
        except Exception as error:
            raise OwnNoiseError(f"the streaming matrix failed: {type(error).__name__}: {one_line(error)}") from error
        return _checked(rows, rounds, rounds)

    found = multiplied(np.eye(rounds))
    real = _real_draws(rounds, rounds)
    _check_linear(found, real, multiplied(real))
    return np.asarray(sd * (np.cumsum(found, axis=0, dtype=np.float64) if per_item else found), dtype=np.float64)


def _number(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise OwnNoiseError(f"the standard deviation is not a number: {one_line(error)}") from error


class _Probe:
    """Stands for a generator: hands out the rows of given draws, and counts them."""

    def __init__(self, draws: Array | None, dimension: int):
        self.draws, self.dimension, self.used = draws, dimension, 0

    def standard_normal(self, size: Any = None) -> Array:
        shape = (size,) if isinstance(size, int | np.integer) else tuple(size or ())
        if not shape or shape[-1] != self.dimension or len(shape) > 2:
            raise OwnNoiseError(f"sizes of draws must be (dimension,) or (k, dimension), got {size}")
        count = int(np.prod(shape[:-1], dtype=int))
        first, self.used = self.used, self.used + count
        if self.draws is None:
            return np.zeros(shape)
        return self.draws[first : self.used].reshape(shape).copy()

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Array:
        if np.any(np.asarray(loc) != 0):
            raise OwnNoiseError(f"normal draws must have mean 0, got loc={loc}: was the scale meant?")
        return np.asarray(scale * self.standard_normal(size))

    def __getattr__(self, name: str) -> Any:
        raise OwnNoiseError(f"noise must be drawn by standard_normal or normal, not by {name}")


def _read_off(noise: Callable[..., Any], claim: Claim) -> Array:
    counter = _Probe(None, 1)
    _noise(noise, claim, counter, 1)
    draws = counter.used
    if not draws:
        raise OwnNoiseError("the noise draws nothing from its generator")
    found = _noise(noise, claim, _Probe(np.eye(draws), draws), draws)
    real = _real_draws(draws, len(SIZES))
    _check_linear(found, real, _noise(noise, claim, _Probe(real, len(SIZES)), len(SIZES)))
    return found.astype(np.float64)


def _real_draws(draws: int, dimension: int) -> Array:
    """(draws, dimension); the coordinates have different sizes, so that clipped or rounded noise is seen."""
    drawn = np.random.default_rng(0).standard_normal((draws, dimension))
    return np.asarray(drawn * np.resize(SIZES, dimension))


def _check_linear(found: Array, draws: Array, played: Array) -> None:
    """Raise OwnNoiseError unless `played` is found @ draws, each number up to rounding of its own row."""
    rounding = ROUNDING if 4 not in (found.dtype.itemsize, played.dtype.itemsize) else SINGLE_ROUNDING
    size, found, played = np.abs(found) @ np.abs(draws), found.astype(np.float64), played.astype(np.float64)
    wrong = np.abs(played - found @ draws) > rounding * size
    if wrong.any():
        first = int(np.flatnonzero(wrong.any(axis=1))[0]) + 1
        raise OwnNoiseError(
            f"the noise is not a fixed linear map of its draws, coordinate by coordinate: not in round {first}"
        )


def _noise(noise: Callable[..., Any], claim: Claim, probe: _Probe, dimension: int) -> Array:
    drawn = _call(noise, {**claim.offered(), "generator": probe, "dimension": dimension})
    return _checked(drawn, claim.rounds, dimension)


def _checked(found: Any, rounds: int, dimension: int) -> Array:
    try:
        array = np.asarray(found)
    except ValueError as error:
        raise OwnNoiseError(f"the noise is not an array of numbers: {one_line(error)}") from error
    if array.dtype.kind not in "iuf" or array.dtype.itemsize < 4:
        raise OwnNoiseError(f"the noise must be numbers of at least single precision, got {array.dtype}")
    if array.shape != (rounds, dimension):
        raise OwnNoiseError(f"the noise must have shape (rounds, dimension) = {(rounds, dimension)}, got {array.shape}")
    if not np.isfinite(array).all():
        raise OwnNoiseError("the noise is not finite")
    return array


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _call(function: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    wanted = _parameters(function)
    unknown = [
        name
        for name, each in wanted.items()
        if name not in offered
        and each.default is each.empty
        and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    name = getattr(function, "__name__", type(function).__name__)
    if unknown:
        raise OwnNoiseError(f"{name} asks for {', '.join(unknown)}; it is given {', '.join(offered)}")
    try:
        return function(**{key: value for key, value in offered.items() if key in wanted})
    except OwnNoiseError:
        raise
    except Exception as error:
        raise OwnNoiseError(f"{name} failed: {type(error).__name__}: {one_line(error)}") from error
