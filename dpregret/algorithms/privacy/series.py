"""Power series of Toeplitz mechanisms: a lower triangular Toeplitz matrix is its first column, x marks one round.

  (1 - x)^(-1/2) = sum_j f_j x^j,        f_j = C(2j, j) / 4^j ~ 1 / sqrt(pi j)                    (root)
  (1 - x)^(1/2)  = sum_j g_j x^j,        g_j = -f_j / (2j - 1): 1, -1/2, -1/8, -1/16, ...          (inverse root)
  G_n = sum_{j<n} f_j^2 = (ln n + gamma + 4 ln 2) / pi + O(1/n)                                   (Landau's constants)

f * f = (1, 1, 1, ...), so the matrix of f is the square root of that of running sums (Bennett 1977).

The root is a sum of decays, too (`root_decays`): f_j = sum_i weights_i decays_i^(j - FIRST) for FIRST <= j < length,
to 1e-14. For f_j = (1/pi) int_0^1 x^j (x (1 - x))^(-1/2) dx is a mixture of decays, and over a bounded range a few
serve: 16 for 128 rounds, 24 for 1024, 48 for a million. So the sum over all lags is a recursion with one vector a
decay, and what a window ends is taken out again: y <- a y + eps_(t+1-FIRST) - a^(length-FIRST) eps_(t+1-length).
The numbers (`root_decays.json`) come from an integral of decays, cut down by balanced truncation (Moore 1981) to 40
digits (`workflows/mechanisms/fits.py` of commit ab1dfd7c).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np

from dpregret.numerics.arrays import Array

OVERSAMPLING = 16  # points of the circle a coefficient; at radius r, r^(OVERSAMPLING n) = ALIASING
ALIASING = 1e-18
RECURSION = 2048  # coefficients of a reciprocal computed one by one


@lru_cache(maxsize=16)
def root_coefficients(count: int) -> Array:
    """f_0..f_{count-1}; read-only."""
    order = np.arange(1.0, count)
    coefficients = np.concatenate([np.ones(1), np.cumprod(1 - 0.5 / order)])[:count]
    coefficients.setflags(write=False)
    return coefficients


def inverse_root_coefficients(count: int) -> Array:
    """g_0..g_{count-1}."""
    return -root_coefficients(count) / (2 * np.arange(float(count)) - 1)


@lru_cache(maxsize=16)
def landau_constants(count: int) -> Array:
    """G_1..G_count; read-only."""
    constants: Array = np.cumsum(np.square(root_coefficients(count)))
    constants.setflags(write=False)
    return constants


def landau(count: int) -> float:
    """G_count, the squared norm of the first `count` coefficients of the root."""
    return float(landau_constants(count)[-1])


def reciprocal(series: Array, count: int) -> Array:
    """The first coefficients of 1 / s(x), s_0 not 0: by recursion, long ones by Newton's step r <- r (2 - s r)."""
    from scipy.signal import fftconvolve, lfilter  # a third of a second, which only these mechanisms need

    known = min(count, RECURSION)
    impulse = np.zeros(known)
    impulse[0] = 1.0
    inverse: Array = lfilter([1.0], series[:known], impulse)
    while known < count:
        known = min(2 * known, count)
        rest = -fftconvolve(inverse, series[:known])[:known]
        rest[0] += 2.0
        inverse = fftconvolve(inverse, rest)[:known]
    return inverse


def running_sum_strategy(noise: Array, count: int) -> Array:
    """c(x) = 1 / ((1 - x) h(x)): what is measured when z = H eps is added to running sums (H C = running sums)."""
    return np.cumsum(reciprocal(noise, count))


def taylor(function: Callable[[Any], Any], count: int) -> Array:
    """Coefficients of a function that is analytic in the open unit disc and real on the real line.

    Cauchy's integral on a circle of radius r < 1 by the fast Fourier transform; absolute error near 1e-15.
    """
    from scipy.fft import fft  # late: a twentieth of a second, which most learners do not need

    points = OVERSAMPLING * max(count, 4)
    radius = ALIASING ** (1 / points)
    values = function(radius * np.exp(2j * np.pi * np.arange(points) / points))
    return np.real(fft(values)[:count]) / points * radius ** -np.arange(float(count))


@dataclass(frozen=True)
class Rational:
    """s(x) = prod_i (1 - zeros_i x) / prod_i (1 - poles_i x) = 1 + sum_i weights_i x / (1 - poles_i x).

    poles, zeros: as many of each, in [0, 1]; poles distinct. Then s_j = sum_i weights_i poles_i^(j-1) for j >= 1, so
    that a convolution with s needs one vector of state a pole.
    """

    poles: tuple[float, ...]
    zeros: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(set(self.poles)) < len(self.poles):
            raise ValueError("poles must be distinct")

    @property
    def inverse(self) -> "Rational":
        """1 / s(x)."""
        return Rational(self.zeros, self.poles)

    @property
    def weights(self) -> Array:
        """weights_i = prod_j (poles_i - zeros_j) / prod_{j != i} (poles_i - poles_j)."""
        return np.array(
            [
                prod(pole - zero for zero in self.zeros) / prod(pole - other for other in self.poles if other != pole)
                for pole in self.poles
            ]
        )

    def coefficients(self, count: int) -> Array:
        """s_0..s_{count-1}."""
        values = np.zeros(max(count, 1))
        for pole, weight in zip(self.poles, self.weights, strict=True):  # by products alone: the same bits everywhere
            values[1:] += (
                weight * np.cumprod(np.concatenate([np.ones(1), np.full(max(count - 2, 0), pole)]))[: count - 1]
            )
        values[0] = 1.0
        return values[:count]

    def square_sum(self, count: float = inf) -> float:
        """sum_{j<count} s_j^2; poles are below 1 where count is infinite."""
        poles, weights = np.array(self.poles), self.weights
        products = poles[:, None] * poles
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.where(products == 1, count - 1, (1 - products ** (count - 1)) / (1 - products))
        return float(1 + weights @ sums @ weights)


PARAMETERS = Path(__file__).with_name("root_decays.json")
FIRST = 8  # coefficients that are taken as they are


@cache
def _stored() -> dict[int, dict[str, list[float]]]:
    """length -> {decays, weights}."""
    return {row.pop("length"): row for row in json.loads(PARAMETERS.read_text(encoding="utf-8"))}


def longest() -> int:
    """The most coefficients that the stored sums serve."""
    return max(_stored())


def root_decays(length: int) -> tuple[Array, Array]:
    """(decays, weights) for f_8..f_{length-1}, decays falling; length at most `longest`."""
    fit = _stored()[min(size for size in _stored() if size >= length)]
    return np.array(fit["decays"]), np.array(fit["weights"])


def power(base: float, exponent: int) -> float:
    """base^exponent, exponent >= 0, by squaring: products only, so the same bits everywhere."""
    result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result
