"""Convolution of a stream of unit noises with fixed coefficients, block by block: z_t = sum_j h_j eps_{t-j}.

Four ways to the same sums, all in compiled loops of fixed order (`convolution_kernels.py`) or, for long stretches,
by the Fourier transform:

  `Direct`      short h: products with the last vectors.
  `RootSums`    h = f up to any length: the first products, then a sum of decays; a window's end is taken out again.
  `Halving`     long or endless h: the noise of every aligned stretch of 2^l blocks is sent once, as a whole, to the
                stretch that follows it: O(log^2 length) a round, as many vectors as h is long (endless h: as there are
                rounds).
  `Buffered`    rational h: one vector a pole.

The blocks may have any size, which stays the same during a stream; the noise does not depend on it but by rounding.
"""

from collections.abc import Callable

import numpy as np
from scipy.fft import irfft, rfft

from dpregret.algorithms.privacy.root_sums import FIRST, longest, power, root_decays
from dpregret.algorithms.privacy.series import Rational, root_coefficients
from dpregret.numerics.arrays import Array, without_gaps

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
        from dpregret.algorithms.privacy.convolution_kernels import convolve

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
        from dpregret.algorithms.privacy.convolution_kernels import add_decays, convolve

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
        from dpregret.numerics.sums import add_product

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
        from dpregret.algorithms.privacy.convolution_kernels import multiply
        from dpregret.numerics.sums import add_product

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
        from dpregret.algorithms.privacy.convolution_kernels import add_decays

        flat = without_gaps(units.reshape(len(units), -1))
        noise = flat.copy()
        add_decays(self.poles, self.weights, np.zeros(0), self.state, flat, 0, 0, noise)
        return noise.reshape(units.shape)
