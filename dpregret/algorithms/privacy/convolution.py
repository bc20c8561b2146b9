"""Convolution of a stream of unit noises with fixed coefficients, block by block: z_t = sum_j h_j eps_{t-j}.

  `Streamed`    short h: products with the last vectors. Rational h, and h = f up to any length: the first products,
                then a sum of decays, one vector each; what leaves the window is subtracted.
  `Halving`     long or endless h: the noise of every aligned stretch of 2^l blocks is sent once, as a whole, to the
                stretch that follows it: O(log^2 length) a round, as many vectors as h is long (endless h: as there are
                rounds). Long stretches go by the Fourier transform.

The blocks may have any size, which stays the same during a stream; the noise does not depend on it but by rounding.

In compiled sums rows are rounds, columns are coordinates of runs; only columns go side by side. Every output is a sum
in the order that is written here, of products that are added with one rounding (`fused`), so its bits do not depend on
how many columns there are. Vectors that are looked back on lie in a ring of rows.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dpregret.algorithms.privacy.series import FIRST, longest, power, root_coefficients, root_decays
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.intrinsics import WIDTH, fused, load, spread, store
from dpregret.numerics.sums import add_product

Coefficients = Callable[[int], Array]  # count -> h_0..h_{count-1}
Waves = npt.NDArray[np.complex128]
DIRECT = 16  # longest h that is multiplied out directly
SHORT = 256  # stretches up to this many rounds are sent by a matrix
LOST = 1e-17  # a decay that has fallen to this share of 1 when its window ends is not subtracted


def convolution(coefficients: Coefficients, length: int | None, rounds: int, width: int) -> "Streamed | Halving":
    """With h_0..h_{length-1}, 0 after that; None: endless. rounds: of a block; width: runs times d."""
    if length is not None and length <= DIRECT:
        return Streamed(coefficients(length), rounds, width)
    return Halving(coefficients, length, rounds, width)


def root_convolution(length: int, rounds: int, width: int, lasting: bool = False) -> "Streamed | Halving":
    """With f_0..f_{length-1}; lasting: no round after the first `length` is requested, so nothing ends.

    A slow decay is subtracted when its window ends.
    """
    if not max(DIRECT, FIRST) < length <= longest():
        return convolution(root_coefficients, length, rounds, width)
    decays, weights = root_decays(length)
    shares = np.array([power(decay, length - FIRST) for decay in decays])
    ending = 0 if lasting else -(-int(np.sum(weights * shares > LOST)) // 4) * 4
    return Streamed(root_coefficients(FIRST), rounds, width, decays, weights, shares[:ending], length)


def toeplitz(lags: Array, rows: int) -> Array:
    """The matrix (rows, len(lags) - rows + 1) of lags[row - column + columns - 1]: constant along its diagonals."""
    columns = len(lags) - rows + 1
    return np.asarray(lags[np.arange(rows)[:, None] - np.arange(columns) + columns - 1])


def spaced_rows(rows: int, width: int) -> Array:
    """Zeros (rows, at least width), an odd number of pairs of lanes: so that no column meets itself in the cache."""
    return np.zeros((rows, 2 * WIDTH * (-(-width // (2 * WIDTH)) | 1)))


class Streamed:
    """z_t = sum_{j<n} first_j eps_{t-j} + sum_i weights_i y_i, then y_i <- decays_i y_i + eps_{t+1-n}.

    A decay that has a share ends after `length` rounds: y_i <- y_i - shares_i eps_{t+1-length} in the same step.
    """

    def __init__(
        self,
        first: Sequence[float] | Array,
        rounds: int,
        width: int,
        decays: Sequence[float] | Array = (),
        weights: Sequence[float] | Array = (),
        shares: Sequence[float] | Array = (),
        length: int = 0,
    ):
        padding = np.zeros(-len(decays) % 4)  # decays go by fours
        self.first, self.shares = np.array(first), np.array(shares)
        self.decays, self.weights = np.append(decays, padding), np.append(weights, padding)
        self.back = max(len(first), length if len(shares) else 0) - 1  # rounds back that are needed
        self.state, self.end = spaced_rows(len(self.decays), width), 0
        self.ring = spaced_rows(self.back + rounds, width)

    def next(self, units: Array) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        block, width, shape = len(units), units[0].size, (-1, *units.shape[1:])
        start, end = self.end, self.end + block
        before = min(block, len(self.ring) - start)
        self.ring[start:end, :width].reshape(shape)[...] = units[:before]
        self.ring[: block - before, :width].reshape(shape)[...] = units[before:]
        self.end = end % len(self.ring)
        noise = np.empty((block, self.ring.shape[1]))
        convolve(self.first, self.ring, start, noise)
        new, old = ((start - age) % len(self.ring) for age in (len(self.first) - 1, self.back))
        add_decays(self.decays, self.weights, self.shares, self.state, self.ring, new, old, noise)
        return noise[:, :width].reshape(units.shape)


class Halving:
    """The carry from each stretch of rounds to the next one, computed once."""

    def __init__(self, coefficients: Coefficients, length: int | None, rounds: int, width: int):
        self.coefficients, self.length, self.block, self.done = coefficients, length, rounds, 0
        self.longest = 1 if length is None else 1 << (-(-(length - 1) // rounds) - 1).bit_length()
        self.past, self.coming = np.zeros((2, self.longest * rounds, width))
        self.senders: dict[int, Callable[[Array, Array], None]] = {}
        self.within = toeplitz(np.concatenate([np.zeros(rounds - 1), self._lags(rounds)]), rounds)

    def next(self, units: Array) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        block, flat = len(units), np.ascontiguousarray(units).reshape(len(units), -1)
        at = self.done % self.longest * block
        noise = self.coming[at : at + block].copy()
        add_product(self.within, flat, noise)
        self.past[at : at + block] = flat
        self.coming[at : at + block] = 0.0
        self.done += 1
        if self.length is None and self.done == self.longest:  # endless: room for as many blocks again
            self.longest *= 2
            self.past, self.coming = (np.concatenate([old, np.zeros_like(old)]) for old in (self.past, self.coming))
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
        self.senders[stretch](self.past[end - rounds : end], self.coming[begin : begin + rounds])

    def _sender(self, rounds: int) -> Callable[[Array, Array], None]:
        if rounds <= SHORT:
            matrix = toeplitz(self._lags(2 * rounds)[1:], rounds)
            return lambda units, coming: add_product(matrix, units, coming)
        from scipy.fft import irfft, rfft  # late, as in series.py

        spectrum = rfft(self._lags(2 * rounds))

        def send(units: Array, coming: Array) -> None:
            waves = rfft(units, 2 * rounds, axis=0)
            multiply(spectrum, waves)
            coming += irfft(waves, axis=0)[rounds:]

        return send

    def _lags(self, count: int) -> Array:
        known = self.coefficients(count if self.length is None else min(count, self.length))
        return np.concatenate([known, np.zeros(count - len(known))])


@compiled
def convolve(lags: Array, ring: Array, first: int, into: Array) -> None:
    """into[t] = sum_j lags[j] ring[first + t - j]; ring: (at least len(lags) - 1 + rounds, width), modulo its rows.

    width: a multiple of 2 `WIDTH`.
    """
    width = into.shape[1]
    for column in range(0, width, 2 * WIDTH):
        for t in range(len(into)):
            one, two, row = spread(0.0), spread(0.0), (first + t) % len(ring)
            for j in range(len(lags)):
                lag, at = spread(lags[j]), row * width + column
                one, two = fused(lag, load(ring, at), one), fused(lag, load(ring, at + WIDTH), two)
                row = row - 1 if row else len(ring) - 1
            store(into, t * width + column, one)
            store(into, t * width + column + WIDTH, two)


@compiled
def add_decays(
    decays: Array, weights: Array, shares: Array, state: Array, ring: Array, new: int, old: int, into: Array
) -> None:
    """into[t] += sum_i weights_i y_i, then y_i <- decays_i y_i + ring[new + t] - shares_i ring[old + t].

    decays, weights: (k,), k a multiple of 4; state: the y_i, (k, width), updated; ring: (at least rounds, width),
    indices modulo that; into: (rounds, width), width a multiple of `WIDTH`. shares: (n,) with n <= k a multiple of 4, 0
    for the others.
    """
    for column in range(0, into.shape[1], WIDTH):
        for i in range(0, len(decays), 4):
            _add_four(
                decays[i : i + 4], weights[i : i + 4], shares[i : i + 4], state[i : i + 4], ring, new, old, into, column
            )


@inlined
def _add_four(
    decays: Array,
    weights: Array,
    shares: Array,
    state: Array,
    ring: Array,
    new: int,
    old: int,
    into: Array,
    column: int,
) -> None:
    """Four decays, of which all end or none, in eight columns."""
    width, ends = into.shape[1], len(shares) > 0
    a, b, c, d = decays[0], decays[1], decays[2], decays[3]
    p, q, r, s = weights[0], weights[1], weights[2], weights[3]
    e, f, g, h = (-shares[0], -shares[1], -shares[2], -shares[3]) if ends else (0.0, 0.0, 0.0, 0.0)
    y, u = load(state, column), load(state, width + column)
    v, w = load(state, 2 * width + column), load(state, 3 * width + column)
    for t in range(len(into)):
        at = t * width + column
        store(into, at, fused(s, w, fused(r, v, fused(q, u, fused(p, y, load(into, at))))))
        fed = load(ring, new * width + column)
        one, two, three, four = fed, fed, fed, fed
        if ends:
            gone = load(ring, old * width + column)
            one, two, three, four = fused(e, gone, fed), fused(f, gone, fed), fused(g, gone, fed), fused(h, gone, fed)
        y, u, v, w = fused(a, y, one), fused(b, u, two), fused(c, v, three), fused(d, w, four)
        new = new + 1 if new + 1 < len(ring) else 0
        old = old + 1 if old + 1 < len(ring) else 0
    store(state, column, y)
    store(state, width + column, u)
    store(state, 2 * width + column, v)
    store(state, 3 * width + column, w)


@compiled
def multiply(spectrum: Waves, rows: Waves) -> None:
    """rows *= spectrum, complex; spectrum: (n,), rows: (n, width)."""
    for n in range(len(spectrum)):
        real, imaginary = spectrum[n].real, spectrum[n].imag
        for at in range(rows.shape[1]):
            x, y = rows[n, at].real, rows[n, at].imag
            rows[n, at] = complex(real * x - imaginary * y, real * y + imaginary * x)
