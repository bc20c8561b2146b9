"""Step, regulariser, gap constant and radius of WDP-COCOL: one class a variant, every constant with its source.

Setting. F_t has the Hessian mu S_t I, S_t = t + C0, a = alpha, r = rho of the local oracle, |z_t| <= N.
h_t = F_t - min F_t with clean sums. The invariant h_{t-1}(x_t) <= K^2 / (mu S_{t-1}) holds at t = 1, since x_1
minimises the regulariser. It is kept as follows.

Drift. F_t adds a loss whose gradient is at most L, so h_t(x_t) <= h_{t-1}(x_t) + L |x_t - argmin F_t|, a distance of at
most sqrt(2 h_t(x_t) / (mu S_t)). Hence sqrt(h_t(x_t)) <= sqrt(h_{t-1}(x_t)) + L sqrt(2 / (mu S_t)) <= A / sqrt(mu S_t)
with A = g K + sqrt(2) L, g = sqrt(S_t / S_{t-1}) <= 1 + 1 / (2 C0), and the minimiser is within the radius
r_t = sqrt(2) A / (mu S_t) of x_t.
Step. The oracle's answer p costs at most as much as the minimiser for the noisy gradient and |p - x_t| <= r r_t, so
  h_t(x_{t+1}) <= (1 - a) h_t(x_t) + a (1 + r) N r_t + (a r)^2 mu S_t r_t^2 / 2,
and with M = (1 + r) N the invariant is kept where
  (1 - a + a^2 r^2) A^2 + sqrt(2) a M A <= K^2.                                                                 (*)
"""

import math
from abc import ABC
from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy import NoiseDistribution
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import inlined

FAILURE = 0.05  # beta of the printed constants


@dataclass(frozen=True)
class Terms:
    """The quantities that define a schedule. ratio: rho; noise: N, (settings, 1); window_constant: see
    `window_constant`."""

    lipschitz: float
    strong_convexity: float
    diameter: float
    ratio: float
    noise: Array
    window_constant: Array


@inlined
def local_radius(t, mu, regulariser, outer, inner, growing):
    """r_t = outer (inner + growing sqrt(S_t / S_{t-1})) / (mu S_t), S_t = t + C0; not yet capped by the diameter."""
    curvature = t + regulariser
    return outer * (inner + growing * np.sqrt(curvature / (curvature - 1.0))) / (mu * curvature)


class Schedule(ABC):
    """Step `alpha`, regulariser C0 and gap constant K; the last two are (settings, 1).

    inner, growing (settings, 1), outer: of `local_radius`.
    """

    text: str
    alpha: float
    regulariser: Array
    gap: Array
    inner: Array
    growing: Array
    outer: float
    proven = False
    """Whether (*) holds, so that the guarantee does."""

    def __init__(self, terms: Terms):
        self.terms, self.square = terms, terms.ratio**2


class Unsquared(Schedule):
    """The printed alpha = 1 / (5 r^2) with C0 = 25 r^2 = 5 / a; the printed square on C0 is not needed.

    Then a^2 r^2 = a / 5 and g <= 1 + a / 10. Without noise (*) needs K (0.4 a - a / 10) >= sqrt(2) L, that is
    K >= 23.6 r^2 L: the printed factor 26 is enough. With noise K >= 25 sqrt(2) r^2 L makes sqrt(2) L <= a K / 5 and
    K >= 5 sqrt(2) M makes sqrt(2) M <= K / 5, so A <= (1 + 0.3 a) K and the left side of (*) is at most
    (1 - 0.8 a) (1 + 0.3 a)^2 + (a / 5) (1 + 0.3 a) < 1 - 0.3 a^2 in units of K^2. Rounded up: 35.4 and 7.1.
    """

    text = "corrected step, printed alpha, C0 = 25 rho^2"
    proven = True

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self.alpha = 1 / (5 * self.square)
        self.regulariser = np.full_like(terms.noise, 25 * self.square)
        clean = np.where(terms.noise > 0, 35.4, 26.0) * self.square * terms.lipschitz
        self.gap = np.maximum(clean, 7.1 * (1 + terms.ratio) * terms.noise)

    outer = math.sqrt(2)

    @property
    def inner(self) -> Array:  # type: ignore[override]
        """Of sqrt(2) (sqrt(2) L + K sqrt(S_t / S_{t-1})) / (mu S_t)."""
        return np.full_like(self.gap, math.sqrt(2) * self.terms.lipschitz)

    @property
    def growing(self) -> Array:  # type: ignore[override]
        """K."""
        return self.gap


class Proved(Unsquared):
    """alpha = 1 / (2 r^2), which minimises 1 - a + a^2 r^2 = 1 - a / 2.

    Without noise C0 = 8 r^2 = 4 / a and K = 16 sqrt(2) r^2 L: g <= 1 + a / 8, sqrt(2) L = a K / 8, and
    (1 - a / 2) (1 + a / 4)^2 <= 1. With noise C0 = 16 r^2 and K >= 32 sqrt(2) r^2 L, both terms half as large, and
    K >= 4 sqrt(2) M, so sqrt(2) M <= K / 4: (1 - a / 2) (1 + a / 8)^2 + (a / 4) (1 + a / 8) < 1 - a^2 / 13.
    """

    text = "corrected step, constants that close the induction with the fewest assumptions"

    def __init__(self, terms: Terms):
        super().__init__(terms)
        noisy = terms.noise > 0
        self.alpha = 1 / (2 * self.square)
        self.regulariser = np.where(noisy, 16 * self.square, 8 * self.square)
        factor = np.where(noisy, 32 * math.sqrt(2), 16 * math.sqrt(2))
        spread = 4 * math.sqrt(2) * (1 + terms.ratio) * terms.noise
        self.gap = np.maximum(factor * self.square * terms.lipschitz, spread)


class Practical(Schedule):
    """Ours, without a theorem: the alpha of `Proved`, C0 = 1, the radius in its order, (rho^2 L + N) / (mu (t + 1))."""

    text = "corrected step, alpha = 1/(2 rho^2), C0 = 1, radius from the expected drift"

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self.alpha = 1 / (2 * self.square)
        self.regulariser, self.gap = np.ones_like(terms.noise), np.zeros_like(terms.noise)

        self.inner, self.growing = self.square * terms.lipschitz + terms.noise, np.zeros_like(terms.noise)
        self.outer = 1.0  # the radius is (rho^2 L + N) / (mu (t + 1))


class Paper(Schedule):
    """Lines 1 to 3 and 6 as printed: alpha, C0 = (25 rho^2)^2, C1 = 26 rho^2 (L + mu D) (1 + C_W), called gap."""

    text = "corrected step, printed constants"

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self.alpha = 1 / (5 * self.square)
        self.regulariser = np.full_like(terms.noise, (25 * self.square) ** 2)
        self.surrogate = terms.lipschitz + terms.strong_convexity * terms.diameter
        window = 2 * self.alpha / (1 - self.alpha) * terms.window_constant
        self.gap = 26 * self.square * self.surrogate * (1 + window)

        # sqrt(4 eta_t / (mu (t + C0))) + 2 (L + mu D) / (mu (t + C0)) with eta_t = C1^2 / (mu (t + C0))
        self.inner, self.growing, self.outer = self.gap + self.surrogate, np.zeros_like(terms.noise), 2.0


class Printed(Paper):
    """The constants of `Paper`, for a step whose sign in line 7 is as printed."""

    text = "Alg. 2 to the letter, wrong sign in line 7 included"


SCHEDULES: dict[str, type[Schedule]] = {
    "practical": Practical,
    "proved": Proved,
    "unsquared": Unsquared,
    "paper": Paper,
    "printed": Printed,
}


def window_constant(
    distribution: NoiseDistribution, window: int, epsilon: float, delta: float, dimension: int
) -> float:
    """C_W (1 - alpha) / (2 alpha) of line 2, at failure probability FAILURE; 0 without privacy.

    norm-Gamma: d log2^1.5 W ln(d/beta) / eps. Gaussian: sqrt(d) log2^1.5 W ln(1/delta) sqrt(ln(1/beta)) / eps.
    """
    if math.isinf(epsilon):
        return 0.0
    depth = float(math.log2(window) ** 1.5)
    if distribution == "gamma":
        return dimension * depth * math.log(dimension / FAILURE) / epsilon
    tail = math.log(1 / delta) * math.sqrt(math.log(1 / FAILURE))
    return math.sqrt(dimension) * depth * tail / epsilon
