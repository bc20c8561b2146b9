"""Compiled sums of convolutions: rows are rounds, columns are coordinates of runs; only columns go side by side.

Every output is a sum in the order that is written here, of products that are added with one rounding (`fused`), so its
bits do not depend on how many columns there are or how many of them a processor takes at once. Two rounds are taken
together, and four terms, so that a number that was read is used several times. Vectors that are looked back on lie in
a ring of rows.
"""

import numpy as np
import numpy.typing as npt

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.intrinsics import fused
from dpregret.numerics.sums import PANEL, add_one

Waves = npt.NDArray[np.complex128]


@compiled
def _four_twice(
    into: Array, later: Array, new: Array, a: Array, b: Array, c: Array, d: Array,
    p: float, q: float, r: float, s: float,
) -> None:  # fmt: skip
    for at in range(len(into)):
        aa, bb, cc = a[at], b[at], c[at]
        into[at] = fused(s, d[at], fused(r, cc, fused(q, bb, fused(p, aa, into[at]))))
        later[at] = fused(s, cc, fused(r, bb, fused(q, aa, fused(p, new[at], later[at]))))


@compiled
def _first_four_twice(
    into: Array, later: Array, new: Array, a: Array, b: Array, c: Array, d: Array,
    p: float, q: float, r: float, s: float,
) -> None:  # fmt: skip
    for at in range(len(into)):
        aa, bb, cc = a[at], b[at], c[at]
        into[at] = fused(s, d[at], fused(r, cc, fused(q, bb, p * aa)))
        later[at] = fused(s, cc, fused(r, bb, fused(q, aa, p * new[at])))


@compiled
def _columns(ring: Array, at: int, low: int, high: int) -> Array:
    return ring[at if at < len(ring) else at - len(ring), low:high]


@compiled
def convolve(lags: Array, ring: Array, first: int, into: Array) -> None:
    """into[t] = sum_j lags[j] ring[first + t - j]; ring: (at least len(lags) - 1 + rounds, width), modulo its rows."""
    rounds = len(into)
    pairs, fours = rounds - rounds % 2, len(lags) - len(lags) % 4
    for low in range(0, into.shape[1], PANEL):
        high = min(low + PANEL, into.shape[1])
        for t in range(pairs if fours else 0, rounds):
            into[t, low:high] = 0.0
        for t in range(0, pairs, 2):
            for j in range(0, fours, 4):
                at = first + t - j - 3
                at += len(ring) if at < 0 else 0
                at -= len(ring) if at >= len(ring) else 0
                into_now, into_next, new = into[t, low:high], into[t + 1, low:high], _columns(ring, at + 4, low, high)
                a, b = _columns(ring, at + 3, low, high), _columns(ring, at + 2, low, high)
                c, d = _columns(ring, at + 1, low, high), _columns(ring, at, low, high)
                p, q, r, s = lags[j], lags[j + 1], lags[j + 2], lags[j + 3]
                if j:
                    _four_twice(into_now, into_next, new, a, b, c, d, p, q, r, s)
                else:
                    _first_four_twice(into_now, into_next, new, a, b, c, d, p, q, r, s)
        for t in range(rounds):
            for j in range(fours if t < pairs else 0, len(lags)):
                add_one(into[t, low:high], ring[(first + t - j) % len(ring), low:high], lags[j])


@compiled
def _decayadd_one(into: Array, new: Array, old: Array, y: Array, a: float, p: float, share: float) -> None:
    for at in range(len(into)):
        yy = y[at]
        into[at] = fused(p, yy, into[at])
        y[at] = fused(a, yy, fused(-share, old[at], new[at]))


@compiled
def _decay_four_twice(
    into: Array, later: Array, new: Array, newest: Array, y: Array, u: Array, v: Array, w: Array,
    a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float,
) -> None:  # fmt: skip
    for at in range(len(into)):
        fed, yy, uu, vv, ww = new[at], y[at], u[at], v[at], w[at]
        into[at] = fused(s, ww, fused(r, vv, fused(q, uu, fused(p, yy, into[at]))))
        yy, uu, vv, ww = fused(a, yy, fed), fused(b, uu, fed), fused(c, vv, fed), fused(d, ww, fed)
        fed = newest[at]
        later[at] = fused(s, ww, fused(r, vv, fused(q, uu, fused(p, yy, later[at]))))
        y[at], u[at], v[at], w[at] = fused(a, yy, fed), fused(b, uu, fed), fused(c, vv, fed), fused(d, ww, fed)


@compiled
def _expire_four_twice(
    into: Array, later: Array, new: Array, newest: Array, oldest: Array, old: Array,
    y: Array, u: Array, v: Array, w: Array,
    a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float,
    e: float, f: float, g: float, h: float,
) -> None:  # fmt: skip
    for at in range(len(into)):
        fed, gone, yy, uu, vv, ww = new[at], -oldest[at], y[at], u[at], v[at], w[at]
        into[at] = fused(s, ww, fused(r, vv, fused(q, uu, fused(p, yy, into[at]))))
        yy, uu = fused(a, yy, fused(e, gone, fed)), fused(b, uu, fused(f, gone, fed))
        vv, ww = fused(c, vv, fused(g, gone, fed)), fused(d, ww, fused(h, gone, fed))
        fed, gone = newest[at], -old[at]
        later[at] = fused(s, ww, fused(r, vv, fused(q, uu, fused(p, yy, later[at]))))
        y[at], u[at] = fused(a, yy, fused(e, gone, fed)), fused(b, uu, fused(f, gone, fed))
        v[at], w[at] = fused(c, vv, fused(g, gone, fed)), fused(d, ww, fused(h, gone, fed))


@compiled
def add_decays(
    decays: Array, weights: Array, shares: Array, state: Array, ring: Array, new: int, old: int, into: Array
) -> None:
    """into[t] += sum_i weights_i y_i, then y_i <- decays_i y_i + ring[new + t] - shares_i ring[old + t].

    decays, weights: (k,); state: the y_i, (k, width), kept up; ring: (at least rounds, width), indices modulo that;
    into: (rounds, width). shares: (n,) with n <= k a multiple of 4, 0 for the others.
    """
    rounds, count, ending = len(into), len(decays), len(shares)
    pairs, fours = rounds - rounds % 2, count - count % 4
    for low in range(0, into.shape[1], PANEL):
        high = min(low + PANEL, into.shape[1])
        for i in range(0, ending, 4):
            for t in range(0, pairs, 2):
                _expire_four_twice(
                    into[t, low:high], into[t + 1, low:high],
                    _columns(ring, new + t, low, high), _columns(ring, new + t + 1, low, high),
                    _columns(ring, old + t, low, high), _columns(ring, old + t + 1, low, high),
                    state[i, low:high], state[i + 1, low:high], state[i + 2, low:high], state[i + 3, low:high],
                    decays[i], decays[i + 1], decays[i + 2], decays[i + 3],
                    weights[i], weights[i + 1], weights[i + 2], weights[i + 3],
                    shares[i], shares[i + 1], shares[i + 2], shares[i + 3],
                )  # fmt: skip
        for i in range(ending, fours, 4):
            for t in range(0, pairs, 2):
                _decay_four_twice(
                    into[t, low:high], into[t + 1, low:high],
                    _columns(ring, new + t, low, high), _columns(ring, new + t + 1, low, high),
                    state[i, low:high], state[i + 1, low:high], state[i + 2, low:high], state[i + 3, low:high],
                    decays[i], decays[i + 1], decays[i + 2], decays[i + 3],
                    weights[i], weights[i + 1], weights[i + 2], weights[i + 3],
                )  # fmt: skip
        for i in range(count):
            for t in range(0 if i >= fours else pairs, rounds):
                _decayadd_one(
                    into[t, low:high], _columns(ring, new + t, low, high), _columns(ring, old + t, low, high),
                    state[i, low:high], decays[i], weights[i], shares[i] if i < ending else 0.0,
                )  # fmt: skip


@compiled
def multiply(spectrum: Waves, rows: Waves) -> None:
    """rows *= spectrum, complex; spectrum: (n,), rows: (n, width)."""
    for n in range(len(spectrum)):
        real, imaginary = spectrum[n].real, spectrum[n].imag
        for at in range(rows.shape[1]):
            x, y = rows[n, at].real, rows[n, at].imag
            rows[n, at] = complex(real * x - imaginary * y, real * y + imaginary * x)
