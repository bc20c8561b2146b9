"""Toeplitz mechanisms: noise that is correlated over rounds, for sums that expire and for whole-sequence sums.

Released is S_t + z_t with S_t the running sum of the items and z = sigma H eps, eps_t independent N(0, I), H the lower
triangular Toeplitz matrix of h (h_0 = 1). With c(x) = 1 / ((1 - x) h(x)) the outputs of rounds 1..t are a bijection of
sum_{i<=s} c_{s-i} v_i + sigma eps_s, s <= t, whatever adaptive rule makes the items. An item that is replaced, and
moves by at most Delta, therefore costs in Gaussian differential privacy, seen a rounds after its own,

    mu(a)^2 = (Delta / sigma)^2 sum_{j<=a} c_j^2 exactly,      and Var(z_t) = sigma^2 sum_{j<t} h_j^2.

An item is charged for its first `protected` ages: the window, or all the rounds there are. So `nodes_per_item` is
sum_{j<protected} c_j^2 and `noisy_nodes` the sum of h_j^2.

  WindowRoot           h_j = f_j for j < W, 0 after that: the best for a window of W (`window_optimum`)
  Root                 h = c = f over a known horizon (Bennett 1977; Fichtenberger, Henzinger & Upadhyay 2023)
  BandedInverseRoot    1 / c has the first p coefficients of the inverse root (Kalinin et al. 2025)
  UnboundedToeplitz    no horizon, one scale for all rounds (Jacobsen & Fawaz 2025)
  BandedRoot           c has the first p coefficients of the root (Kalinin & Lampert 2024)
  NormalisedRoot       errors alone; not Toeplitz: the root with columns of equal norm (Henzinger et al. 2025)
  WindowBuffers, BufferedToeplitz   rational h, so that k vectors of state serve any window and any horizon:
    WindowBuffers     h(x) = prod(1 - b_i x) / prod(1 - a_i x), c = 1 / ((1 - x) h); sum_{j<W} c_j^2 is charged.
    BufferedToeplitz  C(x) = prod(1 - zeros_i x) / prod(1 - decays_i x) (Dvijotham, McMahan, Pillutla, Steinke &
                      Thakurta 2024), h = 1 / ((1 - x) C): one pole of h is 1, so k + 1 vectors.

The parameters (`buffers.json`) make the largest error small for powers of two: windows minimise (sum over all j of
h_j^2)(sum_{j<W} c_j^2), horizons (sum_{j<n} h_j^2)(sum_{j<n} c_j^2) with n = T - 1, in ln(-ln decay) of the interlacing
decays and zeros, each from the fit of half the size (`workflows/mechanisms/fits.py` of commit ab1dfd7c). They are taken
from the nearest one, and the sensitivity is computed for the window or horizon there is: any parameters are private,
only the error depends on the fit.

Only Gaussian noise: a pure loss adds up |c_j|, and sum_{j<W} f_j = 2 W f_W ~ 2 sqrt(W / pi) is far above the nodes of
a tree.

How little noise is possible: `window_lower_bound` and `sequence_lower_bound`, per coordinate. Errors are variances in
units of (sensitivity / mu)^2, the square of what `nodes_per_item` times `noisy_nodes` measures.
`docs/proofs/window_optimum.md` has the proofs.
"""

import json
import math
import zlib
from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpregret.algorithms.privacy import series
from dpregret.algorithms.privacy.convolution import Streamed, convolution, root_convolution
from dpregret.algorithms.privacy.noise import NoiseDistribution
from dpregret.algorithms.privacy.prefix_sums import Fresh, HorizonSums, PrefixSums, WindowSums
from dpregret.numerics.arrays import Array

PARAMETERS = Path(__file__).with_name("buffers.json")
Decays = tuple[float, ...]


class Toeplitz(PrefixSums):
    """z = H eps, by its coefficients. Its draws are weighted, so that only Gaussian noise keeps its price."""

    distributions: ClassVar[tuple[NoiseDistribution, ...]] = ("gaussian",)

    @property
    def key(self) -> int:
        """Of the mechanism's name and parameters: the number of nodes is not whole."""
        return zlib.crc32(repr(self).encode())

    def refusal(self, distribution: NoiseDistribution) -> str:
        """Names the l1 norm that a pure loss would have to pay."""
        if distribution in self.distributions:
            return ""
        return (
            f"{type(self).__name__} takes Gaussian noise only, not {distribution}: a pure loss charges the l1 norm of "
            "what an item moves, 2 sqrt(W / pi) for the root and log2(W) + 1 for a tree; use the tree"
        )

    @property
    @abstractmethod
    def protected(self) -> int | None:
        """For how many ages an item is charged; None: for all."""

    @abstractmethod
    def noise_coefficients(self, count: int) -> Array:
        """h_0..h_{count-1}."""

    def strategy_coefficients(self, count: int) -> Array:
        """c_0..c_{count-1}, c = 1 / ((1 - x) h)."""
        return series.running_sum_strategy(self.noise_coefficients(count), count)

    @property
    def nodes_per_item(self) -> float:
        """sum_{j<protected} c_j^2."""
        if self.protected is None:
            raise NotImplementedError(f"{type(self).__name__} must sum its strategy itself")
        return float(np.square(self.strategy_coefficients(self.protected)).sum())

    def noisy_nodes(self, rounds: int) -> Array:
        """sum_{j<t} h_j^2 at round t."""
        return np.cumsum(np.square(self.noise_coefficients(rounds)))

    def loss_by_age(self, ages: int) -> Array:
        """Exact Gaussian-DP parameter of an item at age 0..ages-1, where a protected one costs at most 1."""
        return np.sqrt(np.cumsum(np.square(self.strategy_coefficients(ages))) / self.nodes_per_item)

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """A convolution with h."""
        return convolution(self.noise_coefficients, None, rounds, runs * dimension)

    def next(self, state: Any, units: Array, fresh: Fresh) -> Array:
        """The convolution goes on."""
        return state.next(units)


@dataclass(frozen=True)
class OverWindow(WindowSums, Toeplitz):
    """The last `window` items are protected."""

    @property
    def protected(self) -> int:
        """The window."""
        return self.window


@dataclass(frozen=True)
class WindowRoot(OverWindow):
    """z_t = sigma sum_{j<W} f_j eps_{t-j}: `nodes_per_item` = G_W, and Var = sigma^2 G_W from round W on.

    c_j = f_j for j < W, since c is 1 / ((1 - x) h) modulo x^W and f * f = 1 / (1 - x). Coefficients of an item that
    has expired are free, so the noise is dropped with it. Expired items lose W / (sum_{j<W} f_j)^2 -> pi / 4 more
    (times Delta^2 / sigma^2) with every further window. Raises ValueError for a window below 1.
    """

    @property
    def nodes_per_item(self) -> float:
        """Landau's constant G_W."""
        return series.landau(self.window)

    @property
    def most_noisy_nodes(self) -> float:
        """G_W, from round W on."""
        return series.landau(self.window)

    def noise_coefficients(self, count: int) -> Array:
        """f_j for j < W, 0 after that."""
        known = series.root_coefficients(min(count, self.window))
        return np.concatenate([known, np.zeros(count - len(known))])

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """State of W - 1 vectors, and a few that decay."""
        return root_convolution(self.window, rounds, runs * dimension)


@dataclass(frozen=True)
class OverHorizon(HorizonSums, Toeplitz):
    """A known horizon T: prefixes 1..T-1 are released, as by the trees."""

    @property
    def protected(self) -> int:
        """n = T - 1, at least 1."""
        return max(1, self.horizon - 1)


@dataclass(frozen=True)
class Root(OverHorizon):
    """h = c = f: `nodes_per_item` = G_{T-1}, variance sigma^2 G_t. It is the window root of a window T - 1."""

    @property
    def nodes_per_item(self) -> float:
        """Landau's constant."""
        return series.landau(self.protected)

    def noise_coefficients(self, count: int) -> Array:
        """f_j as long as there are prefixes to release."""
        return WindowRoot(self.protected).noise_coefficients(count)

    def init(self, rounds: int, runs: int, dimension: int) -> Any:
        """No item expires before the horizon, so the state is a few vectors that decay."""
        return root_convolution(self.protected, rounds, runs * dimension, lasting=True)


@dataclass(frozen=True)
class Banded(OverHorizon):
    """With so many coefficients. Raises ValueError for fewer than one."""

    bands: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bands < 1:
            raise ValueError(f"bands must be at least 1, got {self.bands}")


@dataclass(frozen=True)
class BandedInverseRoot(Banded):
    """Made for many participations; for one it is poor unless the band is about the horizon.

    1 / c(x) = g_0 + ... + g_{p-1} x^(p-1), so h_j = sum_{i<=min(j, p-1)} g_i = f_{min(j, p-1)}. Raises ValueError
    for fewer than one band.
    """

    def noise_coefficients(self, count: int) -> Array:
        """f_j for j < p, f_{p-1} after that."""
        return series.root_coefficients(self.bands)[np.minimum(np.arange(count), self.bands - 1)]

    def strategy_coefficients(self, count: int) -> Array:
        """1 / (first p terms of the inverse root)."""
        return series.reciprocal(series.inverse_root_coefficients(self.bands), count)


@dataclass(frozen=True)
class UnboundedToeplitz(Toeplitz):
    """For learners without a horizon: h = (1 - x)^(-1/2) l^beta, c = (1 - x)^(-1/2) l^-beta, l = ln(1 / (1 - x)) / x.

    c_j ~ (pi j)^(-1/2) (ln j)^-beta is square summable for beta > 1/2, so one scale serves all rounds; the variance
    grows like (ln t)^(1 + 2 beta). The state grows by a vector a round. Raises ValueError unless beta > 1/2.
    """

    beta: float = 0.75

    def __post_init__(self) -> None:
        if not self.beta > 0.5:
            raise ValueError(f"beta must be above 1/2, got {self.beta}")

    protected = None

    @property
    def nodes_per_item(self) -> float:
        """sum_j c_j^2 = (1/pi) int_0^pi |c(e^(i t))|^2 dt (Parseval); near 0 in w, -ln t = w^(-1/(2 beta - 1))."""
        from scipy.integrate import quad  # slow to import, and only this mechanism needs it

        power = 2 * self.beta - 1

        def density(angle: float) -> float:
            chord = 2 * math.sin(angle / 2)
            return float((math.log(chord) ** 2 + ((math.pi - angle) / 2) ** 2) ** -self.beta / chord)

        def near_zero(w: float) -> float:
            depth = w ** (-1 / power) if w > 0 else math.inf
            if depth > 700:  # angle e^-depth: the chord is the angle
                return float((1 + (math.pi / 2 / depth) ** 2) ** -self.beta / power)
            return float(density(math.exp(-depth)) * math.exp(-depth) * depth ** (1 + power) / power)

        edge = math.exp(-1.0)
        parts = [quad(density, edge, math.pi, epsabs=1e-13), quad(near_zero, 0, 1, epsabs=1e-13, limit=200)]
        return float(sum(part[0] for part in parts) / math.pi)

    def noise_coefficients(self, count: int) -> Array:
        """By Cauchy's integral."""
        return series.taylor(lambda x: (1 - x) ** -0.5 * _log_ratio(x) ** self.beta, count)

    def strategy_coefficients(self, count: int) -> Array:
        """By Cauchy's integral."""
        return series.taylor(lambda x: (1 - x) ** -0.5 * _log_ratio(x) ** -self.beta, count)


def _log_ratio(x: Array) -> Array:
    return np.asarray(-np.log1p(-x) / x)


@dataclass(frozen=True)
class BandedRoot(Banded):
    """c_j = f_j for j < p, 0 after that (Kalinin & Lampert 2024), h = 1 / ((1 - x) c): `nodes_per_item` = G_p.

    An item is in p measurements only, so that items p rounds apart share none. For one participation it is poor
    unless the band is about the horizon. Raises ValueError for fewer than one band.
    """

    def strategy_coefficients(self, count: int) -> Array:
        """f_j for j < p, 0 after that."""
        return WindowRoot(self.bands).noise_coefficients(count)

    def noise_coefficients(self, count: int) -> Array:
        """Running sums of the coefficients of 1 / c."""
        return np.cumsum(series.reciprocal(self.strategy_coefficients(count), count))


@dataclass(frozen=True)
class NormalisedRoot:
    """The errors of the normalised root over a known horizon: not Toeplitz, below the root for whole sequences.

    C = F D^-1 with F the Toeplitz matrix of the root and D = diag(d_i) its column norms, d_i = sqrt(G_{n-i}) for i =
    0..n-1. Every column of C has norm 1, so an item is one node. Since F F is the matrix of running sums, z = B eps
    with B = F F C^-1 = F F D F^-1:

        z_t = sum_{i<=t} d_i (F^-1 eps)_i,          F^-1 the Toeplitz matrix of the inverse root g.
    """

    horizon: int
    nodes_per_item: ClassVar = 1.0

    def noisy_nodes(self, rounds: int) -> Array:
        """Squared row norms of B, row by row: b_t = b_{t-1} + d_t (g_t, ..., g_0); O(rounds^2) steps, rounds < T."""
        last = max(1, self.horizon - 1)
        lengths = np.sqrt(series.landau_constants(last)[::-1])
        reversed_inverse = series.inverse_root_coefficients(rounds)[::-1].copy()
        row, squares = np.zeros(rounds), np.empty(rounds)
        for t in range(rounds):
            row[: t + 1] += lengths[t] * reversed_inverse[rounds - 1 - t :]
            squares[t] = row[: t + 1] @ row[: t + 1]
        return squares


@cache
def stored() -> dict[str, dict[int, dict[int, Any]]]:
    """kind (`windows`, `horizons`) -> size -> number of buffers -> {decays, zeros}."""
    table: dict[str, dict[int, dict[int, Any]]] = {}
    for row in json.loads(PARAMETERS.read_text(encoding="utf-8")):
        table.setdefault(row["kind"], {}).setdefault(row["size"], {})[row["buffers"]] = row
    return table


def parameters(kind: str, size: int, buffers: int) -> tuple[Decays, Decays]:
    """(decays, zeros) fitted for the power of two that is nearest to size, in proportion.

    Where more buffers gain nothing (windows of few rounds) fewer are stored, and the most there are serve.
    Raises ValueError for a number of buffers that is stored for no size.
    """
    table = stored()[kind]
    most = max(max(fits) for fits in table.values())
    if not 1 <= buffers <= most:
        raise ValueError(f"buffers must be 1 to {most}, got {buffers}")
    nearest = min(table, key=lambda stored_size: abs(np.log2(stored_size / size)))
    fit = table[nearest][min(buffers, max(table[nearest]))]
    return tuple(fit["decays"]), tuple(fit["zeros"])


@dataclass(frozen=True)
class WindowBuffers(OverWindow):
    """Geometric decays instead of the window root: 2 to 5 % above its variance with 3 buffers, at less cost.

    z_t = eps_t + sum_i weights_i y_i, then y_i <- a_i y_i + eps_t. The noise of an expired item fades instead of
    ending, so no number of buffers reaches the optimum. Raises ValueError for a window below 1.
    """

    buffers: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.symbol()

    def symbol(self) -> series.Rational:
        """h; 1 for a window of one round, where nothing can be gained."""
        fitted = parameters("windows", self.window, self.buffers) if self.window > 1 else ((), ())
        return series.Rational(*fitted)

    @property
    def most_noisy_nodes(self) -> float:
        """Sum of h_j^2 over all j, approached as t grows."""
        return self.symbol().square_sum()

    def noise_coefficients(self, count: int) -> Array:
        """h_0 = 1, h_j = sum_i weights_i a_i^(j-1)."""
        return self.symbol().coefficients(count)

    def strategy_coefficients(self, count: int) -> Array:
        """Running sums of the coefficients of 1 / h."""
        return np.cumsum(self.symbol().inverse.coefficients(count))

    def init(self, rounds: int, runs: int, dimension: int) -> Streamed:
        """k vectors of state."""
        return Streamed([1.0], rounds, runs * dimension, self.symbol().poles, self.symbol().weights)


@dataclass(frozen=True)
class BufferedToeplitz(OverHorizon):
    """The buffered linear Toeplitz mechanism over a known horizon: near the root with a few buffers.

    Of a horizon T the prefixes 1..T-1 are released, so `nodes_per_item` is what T - 1 outputs cost.
    """

    buffers: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.strategy()

    def strategy(self) -> series.Rational:
        """C."""
        return series.Rational(*parameters("horizons", self.protected + 1, self.buffers))

    def symbol(self) -> series.Rational:
        """h = 1 / ((1 - x) C)."""
        strategy = self.strategy()
        return series.Rational((1.0, *strategy.zeros), (0.0, *strategy.poles))

    def noise_coefficients(self, count: int) -> Array:
        """h_0 = 1, then one geometric series a buffer and a constant."""
        return self.symbol().coefficients(count)

    def strategy_coefficients(self, count: int) -> Array:
        """c_0 = 1, then one geometric series a buffer."""
        return self.strategy().coefficients(count)

    def init(self, rounds: int, runs: int, dimension: int) -> Streamed:
        """k + 1 vectors of state."""
        return Streamed([1.0], rounds, runs * dimension, self.symbol().poles, self.symbol().weights)


def window_optimum(window: int) -> float:
    """G_W^2: what the window root reaches, and the limit of `window_lower_bound` as rounds grow."""
    return series.landau(window) ** 2


def window_lower_bound(window: int, rounds: int) -> float:
    """Least mean variance of Gaussian noise of any covariance over `rounds`: (1 - (W - 1) / T) G_W^2."""
    return max(0.0, 1 - (window - 1) / rounds) * window_optimum(window)


def norm_floor(window: int, rounds: int, dimension: int) -> float:
    """Mean norm of d-dimensional noise from which on `window_lower_bound` is shown, in units of sensitivity / mu.

    A normal vector of standard deviation s a coordinate has mean norm k s, k = sqrt(2) Gamma((d+1)/2) / Gamma(d/2). So
    the mean variance is at least the square of (mean norm / k), and equal where the variance is constant in time.
    """
    unit = math.sqrt(2) * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))
    return unit * math.sqrt(window_lower_bound(window, rounds))


def pure_norm_floor(window: int, rounds: int, dimension: int) -> float:
    """The same for norm-Gamma noise in any linear mechanism, in units of sensitivity / epsilon.

    An item that moves nodes of scales s_u by C_u is charged sum |C_u| / s_u, at least the root of sum (C_u / s_u)^2: so
    Gaussian noise of the same scales is mu-GDP with mu = epsilon, and `window_lower_bound` holds for it. A coordinate
    of norm-Gamma noise has d + 1 times its variance. Shown by the mean norm, which is at most the root of E|z|^2.
    """
    return math.sqrt(dimension * (dimension + 1) * window_lower_bound(window, rounds))


def sequence_lower_bound(rounds: int) -> float:
    """(trace norm of running sums / n)^2, for the mean and so for the largest variance over n rounds.

    Singular values of the lower triangular matrix of ones: 1 / (2 sin((2 k - 1) pi / (4 n + 2))).
    """
    angles = (2 * np.arange(1, rounds + 1) - 1) * np.pi / (4 * rounds + 2)
    return float((0.5 / np.sin(angles)).mean() ** 2)
