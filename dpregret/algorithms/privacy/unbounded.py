"""The Toeplitz mechanism of learners that know no horizon (Jacobsen & Fawaz 2025): one scale serves all rounds."""

import math
from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy.series import taylor
from dpregret.algorithms.privacy.toeplitz import Toeplitz
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class UnboundedToeplitz(Toeplitz):
    """For learners without a horizon: h = (1 - x)^(-1/2) l^beta, c = (1 - x)^(-1/2) l^-beta, l = ln(1 / (1 - x)) / x.

    c_j ~ (pi j)^(-1/2) (ln j)^-beta is square summable for beta > 1/2, so one scale serves all rounds; the variance
    grows like (ln t)^(1 + 2 beta). As many vectors are kept as there are rounds. Raises ValueError unless beta > 1/2.
    """

    beta: float = 0.75

    def __post_init__(self) -> None:
        if not self.beta > 0.5:
            raise ValueError(f"beta must be above 1/2, got {self.beta}")

    @property
    def protected(self) -> None:
        """Permanently."""
        return

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
        return taylor(lambda x: (1 - x) ** -0.5 * _log_ratio(x) ** self.beta, count)

    def strategy_coefficients(self, count: int) -> Array:
        """By Cauchy's integral."""
        return taylor(lambda x: (1 - x) ** -0.5 * _log_ratio(x) ** -self.beta, count)


def _log_ratio(x: Array) -> Array:
    return np.asarray(-np.log1p(-x) / x)
