"""Test vectors held against libraries of others: what each of them computes of the same mechanisms.

A comparison takes the vectors and returns one line for each number that differs, or "not installed".
"""

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MISSING = ["not installed"]
LONGEST = 2**12  # horizon up to which peers are asked
TREE_ROUNDS = 63


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _far(what: str, theirs: float, ours: float, tolerance: float = 1e-9) -> list[str]:
    near = abs(float(theirs) - ours) <= tolerance * max(1.0, abs(ours))
    return [] if near else [f"{what}: {float(theirs)!r} there, {ours!r} here"]


def dp_accounting(vectors: Any) -> list[str]:
    """mu = 1 / sigma of the analytic Gaussian mechanism; the library stops its search at 1e-12 in sigma."""
    library = _module("dp_accounting")
    if library is None:
        return MISSING
    found = []
    for row in vectors["gaussian_mu"]:
        sigma = library.get_sigma_gaussian(row["epsilon"], row["delta"])
        found += _far(f"mu({row['epsilon']}, {row['delta']})", 1 / sigma, row["mu"], 1e-8)
    return found


def jax_privacy(vectors: Any) -> list[str]:
    """The root, Landau constants, and sensitivities and errors of Toeplitz and buffered strategies."""
    jax = _module("jax")
    toeplitz = _module("jax_privacy.matrix_factorization.toeplitz")
    buffered = _module("jax_privacy.matrix_factorization.buffered_toeplitz")
    if jax is None or toeplitz is None or buffered is None:
        return MISSING
    jax.config.update("jax_enable_x64", True)
    found = []
    root = vectors["root"]["coefficients"]
    for j, value in enumerate(toeplitz.optimal_max_error_strategy_coefs(len(root))):
        found += _far(f"f_{j}", value, root[j])
    for j, value in enumerate(toeplitz.optimal_max_error_noising_coefs(len(root))):
        found += _far(f"g_{j}", value, vectors["root"]["inverse"][j])
    for row in vectors["horizons"]:
        last, name = row["horizon"] - 1, f"{row['mechanism']}({row['horizon']})"
        if row["horizon"] > LONGEST:
            continue
        if row["mechanism"] == "Root":
            strategy = toeplitz.optimal_max_error_strategy_coefs(last)
            errors = toeplitz.per_query_error(strategy_coef=strategy, n=last)
            found += _far(f"{name} charged", toeplitz.sensitivity_squared(strategy, last), row["charged"])
            found += _far(f"{name} max variance", errors[-1], row["max_variance"])
            found += _far(f"{name} mean variance", errors.mean(), row["mean_variance"])
        if row["mechanism"] == "BandedInverseRoot":
            inverse = toeplitz.optimal_max_error_noising_coefs(row["bands"])
            strategy = toeplitz.inverse_coef(inverse, last)
            padded = toeplitz.pad_coefs_to_n(inverse, last)  # a short one is cut off, not continued
            errors = toeplitz.per_query_error(noising_coef=padded, n=last)
            found += _far(f"{name} charged", toeplitz.sensitivity_squared(strategy, last), row["charged"])
            found += _far(f"{name} max variance", errors[-1], row["max_variance"])
        if row["mechanism"] == "BufferedToeplitz":
            made = buffered.BufferedToeplitz.build(row["decays"], row["weights"])
            label = f"{name}, {row['buffers']} buffers"
            found += _far(f"{label} charged", buffered.sensitivity_squared(made, last), row["charged"])
            found += _far(f"{label} max error", buffered.max_loss(made, last), row["max_error"], 1e-6)
            for zero, value in zip(row["zeros"], made.inverse().buf_decay, strict=True):
                found += _far(f"{label} zero", value, zero, 1e-6)
    return found


def tensorflow_privacy(vectors: Any) -> list[str]:
    """Variances of its two trees, read off by unit vectors in place of noise; its module alone, not the package."""
    tensorflow, package = _module("tensorflow"), importlib.util.find_spec("tensorflow_privacy")
    if tensorflow is None or package is None or not package.submodule_search_locations:
        return MISSING
    path = Path(package.submodule_search_locations[0], "privacy", "dp_query", "tree_aggregation.py")
    spec = importlib.util.spec_from_file_location("tree_aggregation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    draws, found = 4 * (TREE_ROUNDS + 1), []

    class Units(module.ValueGenerator):  # type: ignore[misc, name-defined]
        """The n-th value is the n-th unit vector; the count is its state, as calls are compiled."""

        def initialize(self) -> Any:
            return tensorflow.constant(0)

        def next(self, state: Any) -> Any:
            return tensorflow.one_hot(state, draws), state + 1

    for ours, kind in (("tree", "TreeAggregator"), ("reduced_tree", "EfficientTreeAggregator")):
        aggregator = getattr(module, kind)(Units())
        state = aggregator.init_state()
        for t in range(TREE_ROUNDS):
            noise, state = aggregator.get_cumsum_and_update(state)
            expected = vectors["trees"][ours][t]
            found += _far(f"{kind}, round {t + 1}", np.square(np.asarray(noise)).sum(), expected, 1e-5)
    return found


PEERS: dict[str, Callable[[Any], list[str]]] = {
    "dp-accounting": dp_accounting,
    "jax-privacy": jax_privacy,
    "tensorflow-privacy": tensorflow_privacy,
}
