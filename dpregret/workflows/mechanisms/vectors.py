"""Test vectors for other implementations: `python -m dpregret.workflows.mechanisms.vectors [--check] [FILE]`.

Writes exact numbers of Gaussian prefix-sum mechanisms as JSON (`results/reference/test_vectors.json`; the schema lies
beside it). --check makes them again and compares to a billionth. Errors are variances in units of (sensitivity /
mu)^2; h are the coefficients of the noise, c those of the strategy.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpregret.algorithms.privacy import toeplitz
from dpregret.algorithms.privacy.budget import Budget, gaussian_mu
from dpregret.algorithms.privacy.prefix_sums import PrefixSums
from dpregret.algorithms.privacy.series import inverse_root_coefficients, landau, root_coefficients
from dpregret.algorithms.privacy.trees import BinaryTree, DecodedWindowTree, VarianceReducedTree, WindowTree
from dpregret.core import boundary
from dpregret.core.files import opened

TARGET = Path(__file__).resolve().parents[3] / "results" / "reference" / "test_vectors.json"
TOLERANCE = 1e-9
WINDOWS = (1, 2, 4, 16, 64, 256, 1024, 4096, 65536)
HORIZONS = (2**8, 2**10, 2**12, 2**14, 2**17, 2**20)
DENSE = 2**12  # largest horizon where row norms take quadratic time
FIRST = 8  # coefficients printed
CONVENTIONS = {
    "privacy": "one item replaced; an item moves by at most the l2 sensitivity; Gaussian noise; mu-GDP",
    "noise": "released is S_t + sigma z_t with Var z_t = variance; sigma = sensitivity sqrt(charged) / mu",
    "window": "item t is protected in the joint law of all outputs up to round t + W - 1",
    "horizon": "prefixes 1..T-1 are released",
    "error": "charged times variance: the variance in units of (sensitivity / mu)^2",
}


def make() -> dict[str, Any]:
    """All vectors."""
    return {
        "version": 1,
        "conventions": CONVENTIONS,
        "gaussian_mu": [
            {"epsilon": epsilon, "delta": delta, "mu": gaussian_mu(Budget(epsilon, delta))}
            for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
            for delta in (1e-5, 1e-6, 1e-9)
        ],
        "root": {
            "coefficients": root_coefficients(4 * FIRST).tolist(),
            "inverse": inverse_root_coefficients(4 * FIRST).tolist(),
            "landau": {str(count): landau(count) for count in (*range(1, 17), *WINDOWS[4:], 2**20)},
        },
        "windows": [entry(mechanism, "window", mechanism.window) for mechanism in window_mechanisms()],
        "horizons": [entry(mechanism, "horizon", horizon) for mechanism, horizon in horizon_mechanisms()],
        "trees": {
            "tree": BinaryTree(64).noisy_nodes(63).tolist(),
            "reduced_tree": VarianceReducedTree(64).noisy_nodes(63).tolist(),
        },
        "lower_bounds": {
            "window": {str(window): toeplitz.window_optimum(window) for window in WINDOWS},
            "horizon": {str(horizon): toeplitz.sequence_lower_bound(horizon - 1) for horizon in HORIZONS},
        },
    }


def window_mechanisms() -> Iterator[WindowTree | toeplitz.WindowRoot | toeplitz.WindowBuffers]:
    """For every window: both trees, the root, and each number of buffers that is stored."""
    for window in WINDOWS:
        yield WindowTree(window)
        yield DecodedWindowTree(window)
        yield toeplitz.WindowRoot(window)
        known: set[tuple[float, ...]] = set()
        for buffers in (1, 2, 3, 4):
            made = toeplitz.WindowBuffers(window, buffers)
            if made.symbol().poles and made.symbol().poles not in known:
                known.add(made.symbol().poles)
                yield made


def horizon_mechanisms() -> Iterator[tuple[PrefixSums, int]]:
    """For every horizon those over it."""
    for horizon in HORIZONS:
        yield from ((kind(horizon), horizon) for kind in (BinaryTree, VarianceReducedTree, toeplitz.Root))
        yield from ((toeplitz.BufferedToeplitz(horizon, buffers), horizon) for buffers in (1, 2, 3, 4, 5))
        if horizon <= 2**17:
            yield toeplitz.BandedInverseRoot(horizon, 64), horizon
            yield toeplitz.UnboundedToeplitz(), horizon
        if horizon <= DENSE:
            yield toeplitz.NormalisedRoot(horizon), horizon


def entry(mechanism: PrefixSums, kind: str, size: int) -> dict[str, Any]:
    """One mechanism over a horizon, or after its first windows; kind: `horizon` or `window`."""
    variances = mechanism.noisy_nodes(size - 1) if kind == "horizon" else mechanism.noisy_nodes(2 * size)[size:]
    most, mean = float(variances.max()), float(variances.mean())
    if isinstance(mechanism, toeplitz.WindowBuffers):  # fading, so they keep creeping up
        most = mean = mechanism.symbol().square_sum()
    charged = float(mechanism.nodes_per_item)
    made: dict[str, Any] = {
        "mechanism": type(mechanism).__name__,
        kind: size,
        "charged": charged,
        "max_variance": most,
        "mean_variance": mean,
        "max_error": charged * most,
        "mean_error": charged * mean,
    }
    if isinstance(mechanism, toeplitz.Toeplitz):
        made["h"] = mechanism.noise_coefficients(FIRST).tolist()
        made["c"] = mechanism.strategy_coefficients(FIRST).tolist()
        if kind == "window":
            losses = np.square(mechanism.loss_by_age(4 * size)) * mechanism.nodes_per_item
            made["squared_loss_at_ages"] = {str(age - 1): float(losses[age - 1]) for age in range(size, 5 * size, size)}
    if isinstance(mechanism, toeplitz.WindowBuffers | toeplitz.BufferedToeplitz):
        fitted = mechanism.symbol() if isinstance(mechanism, toeplitz.WindowBuffers) else mechanism.strategy()
        made |= {"buffers": mechanism.buffers, "decays": list(fitted.poles), "zeros": list(fitted.zeros)}
        made["weights"] = fitted.weights.tolist()
    made |= {name: getattr(mechanism, name) for name in ("bands", "beta") if hasattr(mechanism, name)}
    return made


def differences(found: Any, expected: Any, place: str = "") -> Iterator[str]:
    """One line for each place where two documents differ by more than the tolerance."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(found.keys() ^ expected.keys()):
            yield f"{place}.{key}: stands in one only"
        for key in found.keys() & expected.keys():
            yield from differences(found[key], expected[key], f"{place}.{key}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for position, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, f"{place}[{position}]")
    elif isinstance(found, float) and isinstance(expected, float | int):
        if abs(found - expected) > TOLERANCE * max(1.0, abs(expected)):
            yield f"{place}: {found!r}, should be {expected!r}"
    elif found != expected:
        yield f"{place}: {found!r}, should be {expected!r}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; 1 where something differs, 2 where the file cannot be read."""
    parser = boundary.Parser(prog="python -m dpregret.workflows.mechanisms.vectors")
    parser.add_argument("file", nargs="?", type=Path, default=TARGET, help="the JSON file")
    parser.add_argument("--check", action="store_true", help="compare the file with this code")
    given = parser.parse_args(arguments)
    if not given.check:
        given.file.write_text(json.dumps(make(), indent=1) + "\n", encoding="utf-8")
        return 0
    try:
        with opened(given.file) as file:
            vectors = json.load(file)
    except (OSError, ValueError) as error:
        print(f"{given.file}: cannot be read: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    found = list(differences(vectors, make()))
    print("\n".join(found[:20]) if found else f"{given.file}: agrees")
    return 1 if found else 0


if __name__ == "__main__":
    boundary.end(main)
