"""Derive the parameters of `buffers.json` again: `python -m dpregret.workflows.mechanisms.fit_buffers [--check]`.

Windows minimise (sum over all j of h_j^2)(sum_{j<W} c_j^2), horizons (sum_{j<n} h_j^2)(sum_{j<n} c_j^2) with
n = T - 1. Both are smooth in ln(-ln decay) of the interlacing decays and zeros, all sums are geometric. A fit starts
from that of half the size; --check derives a few again and compares the errors.
"""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from dpregret.algorithms.privacy.buffers import PARAMETERS, stored
from dpregret.core import boundary
from dpregret.numerics.arrays import Array

WINDOWS = tuple(2**power for power in range(1, 17))
HORIZONS = tuple(2**power for power in range(3, 21))
BUFFERS = {"windows": (1, 2, 3, 4), "horizons": (1, 2, 3, 4, 5)}
GAIN = 1e-6  # a further buffer must lower the error by this share
DIGITS = 12


def weights(poles: Array, zeros: Array) -> Array:
    """Partial fractions, as `series.Rational` has them."""
    apart = poles[:, None] - poles
    np.fill_diagonal(apart, 1.0)
    found: Array = (poles[:, None] - zeros).prod(axis=1) / apart.prod(axis=1)
    return found


def geometric(products: Array, count: float) -> Array:
    """1 + q + ... + q^(count-1) for products q in [0, 1]; count may be infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(products == 1, count, (1 - products**count) / (1 - products))


def mixed_square_sum(constant: float, poles: Array, amounts: Array, count: float) -> float:
    """sum_{0<=j<count} (constant + sum_i amounts_i poles_i^j)^2."""
    total = amounts @ geometric(poles[:, None] * poles, count) @ amounts
    if constant:
        total += constant**2 * count + 2 * constant * (amounts @ geometric(poles, count))
    return float(total)


def window_error(decays: Array, zeros: Array, window: int) -> float:
    """Variance times squared sensitivity of window buffers."""
    noise = 1 + mixed_square_sum(0.0, decays, weights(decays, zeros), np.inf)
    slopes = weights(zeros, decays) / (1 - zeros)  # c_j = 1 + sum_i slopes_i (1 - zeros_i^j)
    return noise * mixed_square_sum(1 + slopes.sum(), zeros, -slopes, window)


def horizon_error(decays: Array, zeros: Array, horizon: int) -> float:
    """The same of a buffered linear Toeplitz mechanism over prefixes 1..T-1."""
    last = horizon - 2  # coefficients after the first
    strategy = 1 + mixed_square_sum(0.0, decays, weights(decays, zeros), last)
    slopes = weights(zeros, decays) / (1 - zeros)
    return strategy * mixed_square_sum(1 + slopes.sum(), zeros, -slopes, last + 1)


ERRORS: dict[str, Callable[[Array, Array, int], float]] = {"windows": window_error, "horizons": horizon_error}


def fit(kind: str, size: int, buffers: int, start: Array | None = None) -> tuple[Array, Array, float]:
    """(decays, zeros, error), decays falling; the best of a few starts."""
    error = ERRORS[kind]

    def unpack(point: Array) -> tuple[Array, Array]:
        rates = np.exp(np.sort(point))  # decay, zero, decay, zero, ...: the slowest is a decay
        return np.exp(-rates[::2]), np.exp(-rates[1::2])

    def cost(point: Array) -> float:
        with np.errstate(all="ignore"):
            found = np.log(error(*unpack(point), size))
        return float(found) if np.isfinite(found) else 1e3

    starts = [np.linspace(-np.log(size) - 0.5 + shift, shift, 2 * buffers) for shift in (0.0, 0.7)]
    points: list[Array] = []
    for first in starts if start is None else [start, *starts]:
        point = minimize(cost, first, method="BFGS", options={"gtol": 1e-9}).x
        for _ in range(2):
            point = minimize(
                cost, point, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 4000}
            ).x
        points.append(point)
    best = min(points, key=cost)
    decays, zeros = unpack(best)
    return decays, zeros, float(np.exp(cost(best)))


def derive(kind: str, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each size and number of buffers, rounded to `DIGITS` digits; useless buffers are left out."""
    rows = []
    starts: dict[int, Array] = {}
    for size in sizes:
        least = np.inf
        for buffers in BUFFERS[kind]:
            decays, zeros, error = fit(kind, size, buffers, starts.get(buffers))
            if not error < least * (1 - GAIN):
                break
            least = error
            starts[buffers] = np.log(-np.log(np.stack([decays, zeros], axis=1).ravel())) - np.log(2) * np.linspace(
                1, 0, 2 * buffers
            )
            row = {"kind": kind, "size": size, "buffers": buffers}
            for name, values in (("decays", decays), ("zeros", zeros)):
                row[name] = [round(float(each), DIGITS) for each in values]
            rows.append(row)
            print(kind, size, buffers, error, file=sys.stderr)
    return rows


def check(sizes: Sequence[int] = (16, 256)) -> bool:
    """Whether fits made now have the stored errors, to a millionth."""
    good = True
    for kind, error in ERRORS.items():
        for size in sizes:
            for buffers, kept in stored()[kind][size].items():
                old = error(np.array(kept["decays"]), np.array(kept["zeros"]), size)
                new = fit(kind, size, buffers)[2]
                good &= old <= new * (1 + 1e-6)
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table, or check a few of its entries."""
    parser = boundary.Parser(prog="python -m dpregret.workflows.mechanisms.fit_buffers", description=__doc__)
    parser.add_argument("--check", action="store_true", help="derive a few entries again and compare their errors")
    if parser.parse_args(arguments).check:
        return 0 if check() else 1
    rows = derive("windows", WINDOWS) + derive("horizons", HORIZONS)
    PARAMETERS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
