"""Test vectors for other implementations: `python -m dpregret.workflows.mechanisms.vectors [--check] [FILE]`.

Exact numbers of Gaussian prefix-sum mechanisms as JSON (`results/reference/test_vectors.json`; the schema lies beside
it). That file says which mechanisms there are, by name and parameters; all numbers are made again, and written or, with
--check, compared to a billionth. Errors are variances in units of (sensitivity / mu)^2; h are the coefficients of the
noise, c those of the strategy.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dpregret.algorithms.privacy import toeplitz, trees
from dpregret.algorithms.privacy.budget import Budget, gaussian_mu
from dpregret.algorithms.privacy.series import inverse_root_coefficients, landau, root_coefficients
from dpregret.core import boundary
from dpregret.core.files import opened

TARGET = Path(__file__).resolve().parents[3] / "results" / "reference" / "test_vectors.json"
TOLERANCE = 1e-9
FIRST = 8  # coefficients printed


def make() -> dict[str, Any]:
    """The file, with all of its numbers computed."""
    document: dict[str, Any] = json.loads(TARGET.read_text(encoding="utf-8"))
    for row in document["gaussian_mu"]:
        row["mu"] = gaussian_mu(Budget(row["epsilon"], row["delta"]))
    document["root"]["coefficients"] = root_coefficients(4 * FIRST).tolist()
    document["root"]["inverse"] = inverse_root_coefficients(4 * FIRST).tolist()
    document["trees"] = {
        "tree": trees.BinaryTree(64).noisy_nodes(63).tolist(),
        "reduced_tree": trees.VarianceReducedTree(64).noisy_nodes(63).tolist(),
    }
    window, horizon = document["lower_bounds"]["window"], document["lower_bounds"]["horizon"]
    for table, function in (
        (document["root"]["landau"], landau),
        (window, toeplitz.window_optimum),
        (horizon, lambda size: toeplitz.sequence_lower_bound(size - 1)),
    ):
        table.update({size: function(int(size)) for size in table})
    for kind in ("window", "horizon"):
        document[f"{kind}s"] = [entry(row, kind) for row in document[f"{kind}s"]]
    return document


def entry(values: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The numbers of one mechanism over a horizon, or after its first windows; kind: `horizon` or `window`."""
    maker: Any = {**vars(trees), **vars(toeplitz)}[values["mechanism"]]
    parameters = {field.name: values[field.name] for field in fields(maker) if field.name in values}
    mechanism, size = maker(**parameters), values[kind]
    variances = mechanism.noisy_nodes(size - 1) if kind == "horizon" else mechanism.noisy_nodes(2 * size)[size:]
    most, mean = float(variances.max()), float(variances.mean())
    if isinstance(mechanism, toeplitz.WindowBuffers):  # fading, so they keep creeping up
        most = mean = mechanism.symbol().square_sum()
    charged = float(mechanism.nodes_per_item)
    row = {"mechanism": values["mechanism"], kind: size, "charged": charged, "max_variance": most}
    row |= {"mean_variance": mean, "max_error": charged * most, "mean_error": charged * mean}
    if isinstance(mechanism, toeplitz.Toeplitz):
        row["h"] = mechanism.noise_coefficients(FIRST).tolist()
        row["c"] = mechanism.strategy_coefficients(FIRST).tolist()
        if kind == "window":
            losses = np.square(mechanism.loss_by_age(4 * size)) * mechanism.nodes_per_item
            row["squared_loss_at_ages"] = {str(age - 1): float(losses[age - 1]) for age in range(size, 5 * size, size)}
    if isinstance(mechanism, toeplitz.WindowBuffers | toeplitz.BufferedToeplitz):
        fitted = mechanism.symbol() if isinstance(mechanism, toeplitz.WindowBuffers) else mechanism.strategy()
        row |= {"buffers": mechanism.buffers, "decays": list(fitted.poles), "zeros": list(fitted.zeros)}
        row["weights"] = fitted.weights.tolist()
    return row | parameters


def differences(actual: Any, expected: Any, path: str = "") -> Iterator[str]:
    """One line for each path at which two documents differ by more than the tolerance."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in sorted(actual.keys() ^ expected.keys()):
            yield f"{path}.{key}: stands in one only"
        for key in actual.keys() & expected.keys():
            yield from differences(actual[key], expected[key], f"{path}.{key}")
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        for position, pair in enumerate(zip(actual, expected, strict=True)):
            yield from differences(*pair, f"{path}[{position}]")
    elif isinstance(actual, float) and isinstance(expected, float | int):
        if abs(actual - expected) > TOLERANCE * max(1.0, abs(expected)):
            yield f"{path}: {actual!r}, should be {expected!r}"
    elif actual != expected:
        yield f"{path}: {actual!r}, should be {expected!r}"


def main(
    file: Annotated[Path, typer.Argument(help="The JSON file.")] = TARGET,
    check: Annotated[bool, typer.Option("--check", help="Compare the file with this code.")] = False,
) -> int:
    """Write or check test vectors; 1 where something differs, 2 where the file cannot be read."""
    if not check:
        file.write_text(json.dumps(make(), indent=1) + "\n", encoding="utf-8")
        return 0
    try:
        with opened(file) as plain:
            vectors = json.load(plain)
    except (OSError, ValueError) as error:
        print(f"{file}: cannot be read: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    problems = list(differences(vectors, make()))
    print("\n".join(problems[:20]) if problems else f"{file}: agrees")
    return 1 if problems else 0


if __name__ == "__main__":
    boundary.run(main)
