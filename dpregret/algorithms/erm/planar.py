"""Gaussian noise whose shift may depend on the noise itself, within a plane: what objective perturbation costs."""

import math

from scipy.special import log_ndtr

from dpregret.algorithms.privacy import largest_within, smallest_epsilon


def planar_delta(epsilon: float, shift: float) -> float:
    """Delta of standard Gaussian noise whose shift may depend on the noise, within a fixed plane.

    With |shift| <= u the privacy loss is at most u r + u^2 / 2, r = |projection of the noise on the plane| ~ chi_2.
    So delta(epsilon) <= E(1 - e^(epsilon - u r - u^2 / 2))_+, which is, with r0 = max(0, epsilon / u - u / 2),
    e^(-r0^2 / 2) - e^epsilon (e^(-(r0 + u)^2 / 2) - u sqrt(2 pi) Phi(-(r0 + u))). epsilon any real number.
    """
    least = max(0.0, epsilon / shift - 0.5 * shift)
    # both exponents are at most 0 although e^epsilon alone may overflow
    first = math.exp(epsilon - 0.5 * (least + shift) ** 2)
    second = math.exp(epsilon + float(log_ndtr(-least - shift))) * shift * math.sqrt(2 * math.pi)
    return math.exp(-0.5 * least**2) - first + second


def planar_shift(epsilon: float, delta: float) -> float:
    """The largest shift with planar_delta(epsilon, shift) <= delta. Raises ValueError for delta = 0."""
    if delta == 0:
        raise ValueError("Gaussian noise needs delta > 0")
    return largest_within(lambda shift: planar_delta(epsilon, shift), delta)


def planar_epsilon(shift: float, delta: float) -> float:
    """The smallest epsilon >= 0 with planar_delta(epsilon, shift) <= delta."""
    return smallest_epsilon(lambda epsilon: planar_delta(epsilon, shift), delta)
