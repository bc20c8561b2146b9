"""Convolution of a stream of unit noises with fixed coefficients, block by block: z_t = sum_j h_j eps_{t-j}.

Three ways to the same sums, all products of matrices with whole blocks:

  `direct`      the last length - 1 vectors are kept; products with them, in the middle of h by a few singular vectors.
  `halving`     long or endless h: the noise of every aligned stretch of 2^l blocks is sent once, as a whole, to the
                stretch that follows it, short ones by a matrix and long ones by the Fourier transform:
                O(log^2 length) a round, as many vectors as h is long (endless h: as there are rounds).
  `buffered`    rational h: one vector a pole.

The blocks may have any size, which stays the same during a stream; the noise does not depend on it but by rounding. On
other streams that pass at the same time it does not depend at all: `product` keeps them apart to the last bit.
"""

from collections.abc import Callable

import numpy as np
from scipy.fft import irfft, rfft

from dpregret.algorithms.privacy.prefix_sums import Arrange, Fresh
from dpregret.algorithms.privacy.series import Rational
from dpregret.core.arrays import Array

Coefficients = Callable[[int], Array]  # count -> h_0..h_{count-1}
DIRECT = 4096  # longest h for products with all that is kept
ROUNDING = 1e-16  # share of the largest singular value below which one is dropped
SHORT = 256  # stretches up to this many rounds are sent by a matrix
AHEAD = 16  # blocks between two moves of the kept vectors to the front
WIDTH = 16  # columns of a product: a multiple of what the inner loops of linear algebra libraries take at once


def convolution(coefficients: Coefficients, length: int | None) -> Arrange:
    """The arranger of h_0..h_{length-1}, 0 after that; None: endless."""
    if length is not None and length <= DIRECT:
        return _Direct(coefficients(length))
    return _Halving(coefficients, length)


def toeplitz(lags: Array, rows: int) -> Array:
    """The matrix (rows, len(lags) - rows + 1) of lags[row - column + columns - 1]: constant along its diagonals."""
    columns = len(lags) - rows + 1
    return np.asarray(lags[np.arange(rows)[:, None] - np.arange(columns) + columns - 1])


def product(matrix: Array, columns: Array) -> Array:
    """matrix @ columns, every column the same to the last bit whatever stands beside it.

    Libraries add up the last columns in another order than those before them; in slices of WIDTH none is last.
    """
    rows, count = columns.shape
    slices = -(-count // WIDTH)
    if slices * WIDTH != count:
        columns = np.concatenate([columns, np.zeros((rows, slices * WIDTH - count))], axis=1)
    found = np.empty((len(matrix), slices * WIDTH))
    into = found.reshape(-1, slices, WIDTH).swapaxes(0, 1)
    np.matmul(matrix, columns.reshape(rows, slices, WIDTH).swapaxes(0, 1), out=into)
    return found[:, :count]


class _Recent:
    """The last rows of a stream, in order; moved to the front now and then."""

    def __init__(self, rows: int, width: int, ahead: int):
        self.rows, self.end = rows, rows
        self.data = np.zeros((rows + ahead, width))

    def push(self, new: Array) -> None:
        if self.end + len(new) > len(self.data):
            self.data[: self.rows] = self.data[self.end - self.rows : self.end]
            self.end = self.rows
        self.data[self.end : self.end + len(new)] = new
        self.end += len(new)

    def view(self, oldest: int, newest: int) -> Array:
        """Rows that are between `oldest` (with) and `newest` (without) rows old."""
        return self.data[self.end - oldest : self.end - newest]


class _Direct:
    """Products with the blocks of one matrix, (rounds of a block, lags): columns from the oldest vector to the newest.

    The newest two blocks and the end of h are full matrices. Blocks in between see smooth stretches of h: to rounding,
    all of them are left core_d right^T with few columns left and right, so that of a block right^T units is enough.
    """

    def __init__(self, lags: Array):
        self.lags = lags
        self.kept: _Recent | None = None

    def _prepare(self, block: int, width: int) -> _Recent:
        older, nothing = len(self.lags) - 1, np.zeros(block - 1)
        matrix = toeplitz(np.concatenate([nothing, self.lags, nothing]), block)
        columns = older + block
        middle = max(0, (columns - block + 1) // block - 2)
        self.left = self.right = np.zeros((0, 0))
        if middle:
            edge = columns - (middle + 2) * block
            parts = matrix[:, edge : edge + middle * block].reshape(block, middle, block)
            self.left, self.right = (
                _basis(parts.reshape(block, -1)),
                _basis(parts.transpose(2, 0, 1).reshape(block, -1)),
            )
            ranks = self.left.shape[1], self.right.shape[1]
            if max(ranks) > block // 3:
                middle = 0
            else:
                cores = np.einsum("bl,bmc,cr->lmr", self.left, parts, self.right)
                self.cores = cores.reshape(ranks[0], middle * ranks[1])
                self.moments = _Recent((middle + 2) * ranks[1], width, max(AHEAD, middle // 2) * ranks[1])
        self.middle = middle
        self.newest = 2 * block if middle else columns
        self.oldest = columns - (middle + 2) * block if middle else 0
        self.matrix, self.columns = matrix, columns
        return _Recent(columns, width, max(AHEAD, columns // block // 2) * block)

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        flat = units.reshape(len(units), -1)
        if self.kept is None:
            self.kept = self._prepare(*flat.shape)
        self.kept.push(flat)
        noise = product(self.matrix[:, self.columns - self.newest :], self.kept.view(self.newest, 0))
        if self.middle:
            rank = self.right.shape[1]
            noise += product(self.matrix[:, : self.oldest], self.kept.view(self.columns, self.columns - self.oldest))
            self.moments.push(product(self.right.T, flat))
            moments = self.moments.view((self.middle + 2) * rank, 2 * rank)
            noise += product(self.left, product(self.cores, moments))
        return np.asarray(noise).reshape(units.shape)


def _basis(matrix: Array) -> Array:
    """Left singular vectors that matter beyond rounding, (rows, rank)."""
    vectors, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(vectors[:, sizes > ROUNDING * sizes[0]])


class _Halving:
    def __init__(self, coefficients: Coefficients, length: int | None):
        self.coefficients, self.length, self.done = coefficients, length, 0

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        block, flat = len(units), units.reshape(len(units), -1)
        if self.done == 0:
            self.block = block
            self.longest = 1 if self.length is None else 1 << (-(-(self.length - 1) // block) - 1).bit_length()
            self.kept = np.zeros((self.longest * block, flat.shape[1]))
            self.coming = np.zeros_like(self.kept)
            self.senders: dict[int, Callable[[Array], Array]] = {}
            self.within = toeplitz(np.concatenate([np.zeros(block - 1), self._lags(block)]), block)
        at = self.done % self.longest * block
        noise = product(self.within, flat) + self.coming[at : at + block]
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
        self.coming[begin : begin + rounds] += self.senders[stretch](self.kept[end - rounds : end])

    def _sender(self, rounds: int) -> Callable[[Array], Array]:
        if rounds <= SHORT:
            matrix = toeplitz(self._lags(2 * rounds)[1:], rounds)
            return lambda units: product(matrix, units)
        spectrum = rfft(self._lags(2 * rounds))[:, None]
        return lambda units: np.asarray(irfft(spectrum * rfft(units, 2 * rounds, axis=0), axis=0)[rounds:])

    def _lags(self, count: int) -> Array:
        known = self.coefficients(count if self.length is None else min(count, self.length))
        return np.concatenate([known, np.zeros(count - len(known))])


class Buffered:
    """Convolution with a rational h: y_i <- poles_i y_i + eps_t after z_t = eps_t + sum_i weights_i y_i."""

    def __init__(self, symbol: Rational):
        self.symbol = symbol
        self.state: Array | None = None  # (poles, runs * d)

    def __call__(self, units: Array, fresh: Fresh) -> Array:
        """The noise of one block, (rounds, runs, d)."""
        block, flat = len(units), units.reshape(len(units), -1)
        if self.state is None:
            poles, order = np.array(self.symbol.poles), np.arange(float(block))
            lags = np.concatenate([np.zeros(block - 1), self.symbol.coefficients(block)])
            into = poles[:, None] ** order[::-1]
            self.within = np.concatenate([toeplitz(lags, block), into])
            self.out = poles ** order[:, None] * self.symbol.weights
            self.decay = poles[:, None] ** block
            self.state = np.zeros((len(poles), flat.shape[1]))
        both = product(self.within, flat)
        noise = both[:block]
        noise += product(self.out, self.state)
        self.state *= self.decay
        self.state += both[block:]
        return noise.reshape(units.shape)
