"""Compiled sums of convolutions: rows are rounds, columns are coordinates of runs; only columns go side by side.

Every output is a sum in the order that is written here, four terms at a time, so its bits do not depend on how many
columns there are or how many of them a processor takes at once. Columns are taken in panels that fit its cache.
"""

from dpregret.core.arrays import Array
from dpregret.core.compiled import compiled

PANEL = 256


@compiled
def _four(into: Array, a: Array, b: Array, c: Array, d: Array, p: float, q: float, r: float, s: float) -> None:
    for at in range(len(into)):
        into[at] += (p * a[at] + q * b[at]) + (r * c[at] + s * d[at])


@compiled
def _one(into: Array, a: Array, p: float) -> None:
    for at in range(len(into)):
        into[at] += p * a[at]


@compiled
def add_product(matrix: Array, rows: Array, into: Array) -> None:
    """into += matrix @ rows; matrix: (n, m), rows: (m, width)."""
    terms = matrix.shape[1]
    fours = terms - terms % 4
    for low in range(0, rows.shape[1], PANEL):
        high = min(low + PANEL, rows.shape[1])
        for n in range(len(matrix)):
            line, m = into[n, low:high], matrix[n]
            for i in range(0, fours, 4):
                _four(
                    line, rows[i, low:high], rows[i + 1, low:high], rows[i + 2, low:high], rows[i + 3, low:high],
                    m[i], m[i + 1], m[i + 2], m[i + 3],
                )  # fmt: skip
            for i in range(fours, terms):
                _one(line, rows[i, low:high], m[i])


@compiled
def convolve(lags: Array, rows: Array, into: Array) -> None:
    """into[t] = sum_j lags[j] rows[t + len(lags) - 1 - j]; rows: (len(lags) - 1 + rounds, width)."""
    terms, last = len(lags), len(lags) - 1
    fours = terms - terms % 4
    for low in range(0, rows.shape[1], PANEL):
        high = min(low + PANEL, rows.shape[1])
        for t in range(len(into)):
            line, now = into[t, low:high], t + last
            line[:] = 0.0
            for j in range(0, fours, 4):
                _four(
                    line, rows[now - j, low:high], rows[now - j - 1, low:high], rows[now - j - 2, low:high],
                    rows[now - j - 3, low:high], lags[j], lags[j + 1], lags[j + 2], lags[j + 3],
                )  # fmt: skip
            for j in range(fours, terms):
                _one(line, rows[now - j, low:high], lags[j])


@compiled
def _decay_four(
    into: Array, new: Array, y: Array, u: Array, v: Array, w: Array,
    a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float,
) -> None:  # fmt: skip
    for at in range(len(into)):
        fed, yy, uu, vv, ww = new[at], y[at], u[at], v[at], w[at]
        into[at] += (p * yy + q * uu) + (r * vv + s * ww)
        y[at] = a * yy + fed
        u[at] = b * uu + fed
        v[at] = c * vv + fed
        w[at] = d * ww + fed


@compiled
def _decay_one(into: Array, new: Array, y: Array, a: float, p: float) -> None:
    for at in range(len(into)):
        yy = y[at]
        into[at] += p * yy
        y[at] = a * yy + new[at]


@compiled
def _expire_four(
    into: Array, new: Array, old: Array, y: Array, u: Array, v: Array, w: Array,
    a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float,
    e: float, f: float, g: float, h: float,
) -> None:  # fmt: skip
    for at in range(len(into)):
        fed, gone, yy, uu, vv, ww = new[at], old[at], y[at], u[at], v[at], w[at]
        into[at] += (p * yy + q * uu) + (r * vv + s * ww)
        y[at] = a * yy + (fed - e * gone)
        u[at] = b * uu + (fed - f * gone)
        v[at] = c * vv + (fed - g * gone)
        w[at] = d * ww + (fed - h * gone)


@compiled
def add_decays(decays: Array, weights: Array, state: Array, new: Array, into: Array) -> None:
    """into[t] += sum_i weights_i y_i, then y_i <- decays_i y_i + new[t]; state: the y_i, (k, width), kept up to date."""
    count = len(decays)
    fours = count - count % 4
    for low in range(0, new.shape[1], PANEL):
        high = min(low + PANEL, new.shape[1])
        for i in range(0, fours, 4):
            for t in range(len(new)):
                _decay_four(
                    into[t, low:high], new[t, low:high],
                    state[i, low:high], state[i + 1, low:high], state[i + 2, low:high], state[i + 3, low:high],
                    decays[i], decays[i + 1], decays[i + 2], decays[i + 3],
                    weights[i], weights[i + 1], weights[i + 2], weights[i + 3],
                )  # fmt: skip
        for i in range(fours, count):
            for t in range(len(new)):
                _decay_one(into[t, low:high], new[t, low:high], state[i, low:high], decays[i], weights[i])


@compiled
def add_expiring_decays(
    decays: Array, weights: Array, shares: Array, state: Array, new: Array, old: Array, into: Array
) -> None:
    """The same with y_i <- decays_i y_i + new[t] - shares_i old[t]; the number of decays is a multiple of 4."""
    for low in range(0, new.shape[1], PANEL):
        high = min(low + PANEL, new.shape[1])
        for i in range(0, len(decays), 4):
            for t in range(len(new)):
                _expire_four(
                    into[t, low:high], new[t, low:high], old[t, low:high],
                    state[i, low:high], state[i + 1, low:high], state[i + 2, low:high], state[i + 3, low:high],
                    decays[i], decays[i + 1], decays[i + 2], decays[i + 3],
                    weights[i], weights[i + 1], weights[i + 2], weights[i + 3],
                    shares[i], shares[i + 1], shares[i + 2], shares[i + 3],
                )  # fmt: skip


@compiled
def multiply(spectrum: Array, rows: Array) -> None:
    """rows *= spectrum, complex; spectrum: (n,), rows: (n, width)."""
    for n in range(len(spectrum)):
        real, imaginary = spectrum[n].real, spectrum[n].imag
        for at in range(rows.shape[1]):
            x, y = rows[n, at].real, rows[n, at].imag
            rows[n, at] = complex(real * x - imaginary * y, real * y + imaginary * x)
