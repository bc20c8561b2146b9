"""Convolution of a stream of unit noises with fixed coefficients, block by block: z_t = sum_j h_j eps_{t-j}.

Four ways to the same sums, all in compiled loops of fixed order or, for long stretches, by the Fourier transform:

  `Direct`      short h: products with the last vectors.
  `RootSums`    h = f up to any length: the first products, then a sum of decays; a window's end is taken out again.
  `Halving`     long or endless h: the noise of every aligned stretch of 2^l blocks is sent once, as a whole, to the
                stretch that follows it: O(log^2 length) a round, as many vectors as h is long (endless h: as there are
                rounds).
  `Buffered`    rational h: one vector a pole.

The blocks may have any size, which stays the same during a stream; the noise does not depend on it but by rounding.

In compiled sums rows are rounds, columns are coordinates of runs; only columns go side by side.

Every output is a sum in the order that is written here, of products that are added with one rounding (`fused`), so its
bits do not depend on how many columns there are or how many of them a processor takes at once. Two rounds are taken
together, and four terms, so that a number that was read is used several times. Vectors that are looked back on lie in
a ring of rows.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, rfft

from dpregret.algorithms.privacy.series import FIRST, Rational, longest, power, root_coefficients, root_decays
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled
from dpregret.numerics.intrinsics import fused
from dpregret.numerics.sums import PANEL, add_one, add_product

Coefficients = Callable[[int], Array]  # count -> h_0..h_{count-1}
DIRECT = 16  # longest h for products with all that is kept
SHORT = 256  # stretches up to this many rounds are sent by a matrix
LOST = 1e-17  # a decay that has fallen to this share of 1 when its window ends need not be taken out


def convolution(coefficients: Coefficients, length: int | None, rounds: int, width: int) -> "Direct | Halving":
    """With h_0..h_{length-1}, 0 after that; None: endless. rounds: of a block; width: runs times d."""
    if length is not None and length <= DIRECT:
        return Direct(coefficients(length), rounds, width)
    return Halving(coefficients, length, rounds, width)


def root_convolution(length: int, rounds: int, width: int, lasting: bool = False) -> "Direct | Halving | RootSums":
    """With f_0..f_{length-1}; lasting: no round after the first `length` is requested, so nothing ends."""
    if max(DIRECT, FIRST) < length <= longest():
        return RootSums(length, lasting, rounds, width)
    return convolution(root_coefficients, length, rounds, width)


def toeplitz(lags: Array, rows: int) -> Array:
    """The matrix (rows, len(lags) - rows + 1) of lags[row - column + columns - 1]: constant along its diagonals."""
    columns = len(lags) - rows + 1
    return np.asarray(lags[np.arange(rows)[:, None] - np.arange(columns) + columns - 1])


class _Ring:
    """The last `back` rows before a block and the block itself; new rows take the place of the oldest."""

    def __init__(self, back: int, block: int, width: int):
        self.rows, self.end = np.zeros((back + block, width)), 0

    def push(self, units: Array) -> None:
        """Rows (rounds, runs, d)."""
        begin, shape = self.end, (-1, *units.shape[1:])
        first = min(len(units), len(self.rows) - begin)
        self.rows[begin : begin + first].reshape(shape)[...] = units[:first]
        self.rows[: len(units) - first].reshape(shape)[...] = units[first:]
        self.end = (begin + len(units)) % len(self.rows)

    def place(self, age: int) -> int:
        """Where the row is that was pushed as the age-th last, from 1."""
        return (self.end - age) % len(self.rows)


class Direct:
    """Products with the last vectors."""

    def __init__(self, lags: Array, rounds: int, width: int):
        self.lags = np.array(lags)
        self.kept = _Ring(len(self.lags) - 1, rounds, width)

    def next(self, units: Array) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        block, width = len(units), units[0].size
        self.kept.push(units)
        noise = np.empty((block, width))
        convolve(self.lags, self.kept.rows, self.kept.place(block), noise)
        return noise.reshape(units.shape)


class RootSums:
    """The first coefficients as they are, the others as a sum of decays.

    What decays slowly is taken out when its window ends. lasting: no window ends, so that no vectors are kept for it.
    """

    def __init__(self, length: int, lasting: bool, rounds: int, width: int):
        self.decays, self.weights = root_decays(length)
        shares = np.array([power(each, length - FIRST) for each in self.decays])
        ending = 0 if lasting else -(-int(np.sum(self.weights * shares > LOST)) // 4) * 4
        self.shares = shares[:ending]
        self.first = np.array(root_coefficients(FIRST))
        self.back = max(FIRST, length if ending else 0) - 1  # rounds that are looked back on
        self.state, self.kept = np.zeros((len(self.decays), width)), _Ring(self.back, rounds, width)

    def next(self, units: Array) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        block, width, ring = len(units), units[0].size, self.kept
        ring.push(units)
        noise = np.empty((block, width))
        convolve(self.first, ring.rows, ring.place(block), noise)
        new, old = ring.place(block + FIRST - 1), ring.place(block + self.back)
        add_decays(self.decays, self.weights, self.shares, self.state, ring.rows, new, old, noise)
        return noise.reshape(units.shape)


class Halving:
    """The carry from each stretch of rounds to the next one, computed once."""

    def __init__(self, coefficients: Coefficients, length: int | None, rounds: int, width: int):
        self.coefficients, self.length, self.block, self.done = coefficients, length, rounds, 0
        self.longest = 1 if length is None else 1 << (-(-(length - 1) // rounds) - 1).bit_length()
        self.kept, self.coming = np.zeros((2, self.longest * rounds, width))
        self.senders: dict[int, Callable[[Array, Array], None]] = {}
        self.within = toeplitz(np.concatenate([np.zeros(rounds - 1), self._lags(rounds)]), rounds)

    def next(self, units: Array) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        block, flat = len(units), np.ascontiguousarray(units).reshape(len(units), -1)
        at = self.done % self.longest * block
        noise = self.coming[at : at + block].copy()
        add_product(self.within, flat, noise)
        self.kept[at : at + block] = flat
        self.coming[at : at + block] = 0.0
        self.done += 1
        if self.length is None and self.done == self.longest:  # endless: room for as many blocks again
            self.longest *= 2
            self.kept, self.coming = (np.concatenate([each, np.zeros_like(each)]) for each in (self.kept, self.coming))
        self._send()
        return noise.reshape(units.shape)

    def _send(self) -> None:
        """From the longest aligned stretch that ends now to the equally long one that begins."""
        stretch = min(self.done & -self.done, self.longest)
        rounds = stretch * self.block
        begin = self.done % self.longest * self.block
        end = begin or self.longest * self.block
        if stretch not in self.senders:
            self.senders[stretch] = self._sender(rounds)
        self.senders[stretch](self.kept[end - rounds : end], self.coming[begin : begin + rounds])

    def _sender(self, rounds: int) -> Callable[[Array, Array], None]:
        if rounds <= SHORT:
            matrix = toeplitz(self._lags(2 * rounds)[1:], rounds)
            return lambda units, coming: add_product(matrix, units, coming)
        spectrum = rfft(self._lags(2 * rounds))

        def send(units: Array, coming: Array) -> None:
            waves = rfft(units, 2 * rounds, axis=0)
            multiply(spectrum, waves)
            coming += irfft(waves, axis=0)[rounds:]

        return send

    def _lags(self, count: int) -> Array:
        known = self.coefficients(count if self.length is None else min(count, self.length))
        return np.concatenate([known, np.zeros(count - len(known))])


class Buffered:
    """Convolution with a rational h: y_i <- poles_i y_i + eps_t after z_t = eps_t + sum_i weights_i y_i."""

    def __init__(self, symbol: Rational, width: int):
        self.poles, self.weights = np.array(symbol.poles), symbol.weights
        self.state = np.zeros((len(self.poles), width))

    def next(self, units: Array) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        flat = without_gaps(units.reshape(len(units), -1))
        noise = flat.copy()
        add_decays(self.poles, self.weights, np.zeros(0), self.state, flat, 0, 0, noise)
        return noise.reshape(units.shape)


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
