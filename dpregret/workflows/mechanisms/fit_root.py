"""Derive `root_decays.json` again: `python -m dpregret.workflows.mechanisms.fit_root` (minutes).

f_j is the integral of e^(-s j) over a positive measure, here summed with s = e^(u - e^(-u)) / length at even steps of
u; some 70 rates are as good as all. A symmetric system of that many states is cut down to k (balanced truncation over
`length` rounds; Moore 1981): the k leading eigenvectors of its Gramian. Everything is done to 40 digits.
The number of decays is the least multiple of 4 that keeps the error of every coefficient below `ERROR`.
"""

import json
import sys
from collections.abc import Sequence

import mpmath as mp
import numpy as np

from dpregret.algorithms.privacy.series import FIRST, PARAMETERS, root_coefficients
from dpregret.numerics.arrays import Array

LENGTHS = tuple(2**power for power in range(5, 21))
ERROR = 1e-14
STEP, LEAST, NEGLIGIBLE = 0.2, -4.6, 1e-22
SAMPLES = 4000  # coefficients at which the error of a long series is taken


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


def error(decays: Array, weights: Array, length: int) -> float:
    """Largest error of a coefficient."""
    lags = np.arange(FIRST, length)
    if len(lags) > SAMPLES:
        lags = np.unique(np.concatenate([lags[: SAMPLES // 2], np.geomspace(FIRST, length - 1, SAMPLES).astype(int)]))
    powers = np.exp(np.log(decays) * (lags - FIRST)[:, None])
    return float(np.abs(powers @ weights - root_coefficients(length)[lags]).max())


def fit(length: int) -> tuple[Array, Array]:
    """(decays, weights), decays falling."""
    with mp.workdps(40):
        rates, weights = zip(*measure(length), strict=True)
        size = range(len(rates))
        inputs = [mp.sqrt(weight) for weight in weights]
        gramian = mp.matrix(len(rates), len(rates))
        for i in size:
            for j in size:
                pair = rates[i] + rates[j]
                gramian[i, j] = inputs[i] * inputs[j] * mp.expm1(-(length - FIRST) * pair) / mp.expm1(-pair)
        sizes, vectors = mp.eigsy(gramian)
        leading = sorted(size, key=lambda i: -sizes[i])
        factors = [mp.exp(-rate) for rate in rates]
        for count in range(4, len(rates), 4):
            chosen = leading[:count]
            cut = mp.matrix(count, count)
            for row, p in enumerate(chosen):
                for column, q in enumerate(chosen):
                    cut[row, column] = mp.fsum(vectors[i, p] * vectors[i, q] * factors[i] for i in size)
            entering = [mp.fsum(vectors[i, p] * inputs[i] for i in size) for p in chosen]
            decays, turned = mp.eigsy(cut)
            shares = [mp.fsum(turned[row, m] * entering[row] for row in range(count)) ** 2 for m in range(count)]
            pairs = sorted(((float(a), float(w)) for a, w in zip(decays, shares, strict=True)), reverse=True)
            found = np.array([a for a, _ in pairs]), np.array([w for _, w in pairs])
            if found[0].min() > 0 and found[0].max() < 1 and error(*found, length) < ERROR:
                return found
    raise RuntimeError(f"no sum of decays is within {ERROR} of the root up to {length}")


def main(lengths: Sequence[int] = LENGTHS) -> int:
    """Write the table."""
    rows = []
    for length in lengths:
        decays, weights = fit(length)
        rows.append({"length": length, "decays": decays.tolist(), "weights": weights.tolist()})
        print(length, len(decays), error(decays, weights, length), file=sys.stderr, flush=True)
    PARAMETERS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
