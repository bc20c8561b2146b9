"""Derive the stored parameters again: `python -m dpregret.workflows.mechanisms.fits` (minutes).

`buffers.json`. Windows minimise (sum over all j of h_j^2)(sum_{j<W} c_j^2), horizons (sum_{j<n} h_j^2)(sum_{j<n} c_j^2)
with n = T - 1. Both are smooth in ln(-ln decay) of the interlacing decays and zeros, all sums are geometric. A fit
starts from that of half the size.

`root_decays.json`. f_j is the integral of e^(-s j) over a positive measure, here summed with s = e^(u - e^(-u)) /
length at even steps of u; some 70 rates are as good as all. A symmetric system of that many states is cut down to k
(balanced truncation over `length` rounds; Moore 1981): the k leading eigenvectors of its Gramian. Everything is done to
40 digits. The number of decays is the least multiple of 4 that keeps the error of every coefficient below `ERROR`.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
from scipy.optimize import minimize

from dpregret.algorithms.privacy import series, toeplitz
from dpregret.algorithms.privacy.series import FIRST, Rational, root_coefficients
from dpregret.numerics.arrays import Array

WINDOWS = tuple(2**power for power in range(1, 17))
HORIZONS = tuple(2**power for power in range(3, 21))
LENGTHS = tuple(2**power for power in range(5, 21))
BUFFERS = {"windows": (1, 2, 3, 4), "horizons": (1, 2, 3, 4, 5)}
GAIN = 1e-6  # a further buffer must lower the error by this share
DIGITS = 12
ERROR = 1e-14
STEP, LEAST, NEGLIGIBLE = 0.2, -4.6, 1e-22
SAMPLES = 4000  # coefficients at which the error of a long series is taken


def buffer_error(kind: str, decays: Iterable[float], zeros: Iterable[float], size: int) -> float:
    """Variance times squared sensitivity of buffers, over a window or the prefixes 1..T-1 of a horizon."""
    symbol = Rational(tuple(decays), tuple(zeros))
    sums = Rational((1.0, *zeros), (0.0, *decays))  # 1 / ((1 - x) symbol)
    if kind == "windows":
        return symbol.square_sum() * sums.square_sum(size)
    return symbol.square_sum(size - 1) * sums.square_sum(size - 1)


def fit_buffers(kind: str, size: int, count: int, start: Array | None = None) -> tuple[Array, Array, float]:
    """(decays, zeros, error), decays falling; the best of a few starts."""

    def unpack(point: Array) -> tuple[Array, Array]:
        rates = np.exp(np.sort(point))  # decay, zero, decay, zero, ...: the slowest is a decay
        return np.exp(-rates[::2]), np.exp(-rates[1::2])

    def cost(point: Array) -> float:
        with np.errstate(all="ignore"):
            try:
                found = np.log(buffer_error(kind, *unpack(point), size))
            except (ValueError, ZeroDivisionError):  # decays too near to each other
                return 1e3
        return float(found) if np.isfinite(found) else 1e3

    starts = [np.linspace(-np.log(size) - 0.5 + shift, shift, 2 * count) for shift in (0.0, 0.7)]
    points: list[Array] = []
    for first in starts if start is None else [start, *starts]:
        point = minimize(cost, first, method="BFGS", options={"gtol": 1e-9}).x
        for _ in range(2):
            point = minimize(
                cost, point, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 4000}
            ).x
        points.append(point)
    best = min(points, key=cost)
    return *unpack(best), float(np.exp(cost(best)))


def derive_buffers(kind: str, sizes: Iterable[int]) -> list[dict[str, Any]]:
    """A row for each size and number of buffers, rounded to `DIGITS` digits; useless buffers are left out."""
    rows = []
    starts: dict[int, Array] = {}
    for size in sizes:
        least = np.inf
        for count in BUFFERS[kind]:
            decays, zeros, error = fit_buffers(kind, size, count, starts.get(count))
            if not error < least * (1 - GAIN):
                break
            least = error
            rates = np.log(-np.log(np.stack([decays, zeros], axis=1).ravel()))
            starts[count] = rates - np.log(2) * np.linspace(1, 0, 2 * count)
            rounded = {
                name: np.round(values, DIGITS).tolist() for name, values in (("decays", decays), ("zeros", zeros))
            }
            rows.append({"kind": kind, "size": size, "buffers": count, **rounded})
            print(kind, size, count, error, file=sys.stderr)
    return rows


def measure(length: int) -> list[tuple[mp.mpf, mp.mpf]]:
    """Rates s and weights w with f_(FIRST + j) = sum w e^(-s j) for 0 <= j < length."""
    found = []
    for step in range(int((float(mp.log(mp.mpf(100) * length / FIRST)) - LEAST) / STEP)):
        u = mp.mpf(LEAST) + mp.mpf(STEP) * step
        back = mp.exp(-u)
        rate = mp.exp(u - back) / length
        weight = STEP / mp.pi * rate * (1 + back) * mp.exp(-rate * (FIRST + mp.mpf(1) / 2)) / mp.sqrt(-mp.expm1(-rate))
        if weight > NEGLIGIBLE:
            found.append((rate, weight))
    return found


def root_error(decays: Array, weights: Array, length: int) -> float:
    """Largest error of a coefficient."""
    lags = np.arange(FIRST, length)
    if len(lags) > SAMPLES:
        lags = np.unique(np.concatenate([lags[: SAMPLES // 2], np.geomspace(FIRST, length - 1, SAMPLES).astype(int)]))
    powers = np.exp(np.log(decays) * (lags - FIRST)[:, None])
    return float(np.abs(powers @ weights - root_coefficients(length)[lags]).max())


def fit_root(length: int) -> dict[str, list[float]]:
    """decays and weights, decays falling."""
    with mp.workdps(40):
        rates, masses = zip(*measure(length), strict=True)
        inputs = mp.matrix([mp.sqrt(mass) for mass in masses])
        gramian = inputs * inputs.T
        for i, rate in enumerate(rates):
            for j, other in enumerate(rates):
                gramian[i, j] *= mp.expm1(-(length - FIRST) * (rate + other)) / mp.expm1(-(rate + other))
        _, vectors = mp.eigsy(gramian)  # the largest eigenvalues come last
        factors = mp.diag([mp.exp(-rate) for rate in rates])
        for count in range(4, len(rates), 4):
            leading = vectors[:, len(rates) - count :]
            values, turned = mp.eigsy(leading.T * factors * leading)
            shares = turned.T * (leading.T * inputs)
            pairs = sorted(((float(a), float(w**2)) for a, w in zip(values, shares, strict=True)), reverse=True)
            decays, weights = np.array(pairs).T
            if decays.min() > 0 and decays.max() < 1 and root_error(decays, weights, length) < ERROR:
                return {"decays": decays.tolist(), "weights": weights.tolist()}
    raise RuntimeError(f"no sum of decays is within {ERROR} of the root up to {length}")


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One row a line."""
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


def main() -> int:
    """Write both tables."""
    write(toeplitz.PARAMETERS, derive_buffers("windows", WINDOWS) + derive_buffers("horizons", HORIZONS))
    write(series.PARAMETERS, ({"length": length, **fit_root(length)} for length in LENGTHS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
