"""The same work done by others: a textbook loop, and thin wrappers of libraries that are no dependencies of ours."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest


def textbook(
    generator: np.random.Generator, anchor: np.ndarray, rounds: int, scale: float, strong_convexity: float
) -> tuple[np.ndarray, float]:
    """COCOP of one run on the unit ball, W >= T, round by round as a paper prints it: last point and total loss.

    The tree keeps a noise a level; round t replaces the level of its lowest set bit and drops the finer ones. Losses
    are |x - anchor| + (mu/2) |x - anchor|^2.
    """
    dimension = len(anchor)
    levels = np.zeros((64, dimension))
    point, total, loss = np.zeros(dimension), np.zeros(dimension), 0.0
    for now in range(1, rounds + 1):
        offset = point - anchor
        distance = np.sqrt(np.sum(offset * offset))
        loss += distance * (1.0 + 0.5 * strong_convexity * distance)
        gradient = offset * (1.0 / max(distance, 1e-300) + strong_convexity)
        total += point - gradient / strong_convexity
        lowest = 0
        while not (now >> lowest) & 1:
            lowest += 1
        levels[:lowest] = 0.0
        levels[lowest] = scale * generator.standard_normal(dimension)
        noise = levels.sum(axis=0)
        leader = (total - noise / strong_convexity) / now
        point = leader / max(np.sqrt(np.sum(leader * leader)), 1.0)
    return point, loss


def fused(
    generator: np.random.Generator, anchor: np.ndarray, rounds: int, scale: float, strong_convexity: float
) -> tuple[np.ndarray, float]:
    """The same written for a compiler: coordinate by coordinate, and one addition a round for the tree.

    The noise of prefix t is that of prefix t & (t - 1) plus a fresh one, so a level keeps the noise of a prefix.
    """
    dimension = len(anchor)
    prefix = np.zeros((64, dimension))
    point, total, loss = np.zeros(dimension), np.zeros(dimension), 0.0
    for now in range(1, rounds + 1):
        square = 0.0
        for each in range(dimension):
            square += (point[each] - anchor[each]) ** 2
        distance = np.sqrt(square)
        loss += distance * (1.0 + 0.5 * strong_convexity * distance)
        slope = (1.0 / max(distance, 1e-300) + strong_convexity) / strong_convexity
        lowest = 0
        while not (now >> lowest) & 1:
            lowest += 1
        older = now & (now - 1)
        above = lowest
        while older and not (older >> above) & 1:
            above += 1
        square = 0.0
        for each in range(dimension):
            total[each] += point[each] - slope * (point[each] - anchor[each])
            noise = scale * generator.standard_normal() + (prefix[above, each] if older else 0.0)
            prefix[lowest, each] = noise
            point[each] = (total[each] - noise / strong_convexity) / now
            square += point[each] ** 2
        length = max(np.sqrt(square), 1.0)
        for each in range(dimension):
            point[each] /= length
    return point, loss


class DenseSquares:
    """|A theta - b|^2 / (2 n) of one dense data set for all runs: as a risk of ours, and as a function for copt."""

    lipschitz = lipschitz_l1 = curvature = smoothness = 1.0
    strong_convexity = 0.0
    hessian_rank = 1

    def __init__(self, samples: int, dimension: int):
        generator = np.random.default_rng(5)
        self.samples, self.dimension = samples, dimension
        self.features = generator.standard_normal((samples, dimension))
        self.labels = self.features[:, 0] - self.features[:, 1] + generator.standard_normal(samples)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """Gradients at points (runs, p)."""
        found: np.ndarray = (points @ self.features.T - self.labels) @ self.features / self.samples
        return found

    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Both at one point (p,)."""
        rest = self.features @ point - self.labels
        return float(rest @ rest) / (2 * self.samples), self.features.T @ rest / self.samples


def need(name: str, distribution: str = "") -> tuple[Any, str]:
    """The module and its version; skips the test where it is not installed."""
    module = pytest.importorskip(name)
    return module, metadata.version(distribution or name)


def package_folder(name: str) -> Path:
    """Where a package lies, without importing it; skips the test where it is not installed."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{name} is not installed")
    return Path(found.submodule_search_locations[0])


def tree_aggregation() -> ModuleType:
    """tensorflow-privacy's module of that name, alone: the package itself asks for parts of old TensorFlows."""
    folder = package_folder("tensorflow_privacy")
    pytest.importorskip("tensorflow")
    found = importlib.util.spec_from_file_location(
        "tree_aggregation", folder / "privacy" / "dp_query" / "tree_aggregation.py"
    )
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def diffprivlib_mechanisms() -> ModuleType:
    """Its mechanisms without its models, which ask for an older scikit-learn."""
    package_folder("diffprivlib")
    found = importlib.util.find_spec("diffprivlib")
    assert found is not None
    sys.modules["diffprivlib"] = importlib.util.module_from_spec(found)  # its folder, nothing in it run
    return importlib.import_module("diffprivlib.mechanisms")


def buffered_toeplitz(jax: Any, coordinates: int, rounds: int) -> Callable[[], Any]:
    """jax_privacy's streamed noise of a buffered Toeplitz factorisation, compiled; the last round's noise is kept."""
    from jax_privacy.matrix_factorization import buffered_toeplitz as blt  # pyright: ignore[reportMissingImports]

    matrix = blt.BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=4).inverse_as_streaming_matrix()

    @jax.jit  # type: ignore[untyped-decorator]
    def noise(key: Any) -> Any:
        def one(carried: Any, each: Any) -> tuple[Any, None]:
            state, total = carried
            mixed, state = matrix.multiply_next(jax.random.normal(each, (coordinates,)), state)
            return (state, total + mixed), None

        zero = jax.numpy.zeros(coordinates)
        (_, total), _ = jax.lax.scan(one, (matrix.init_multiply(zero), zero), jax.random.split(key, rounds))
        return total

    return lambda: noise(jax.random.key(0)).block_until_ready()
