"""The price of Gaussian noise whose shift may depend on the noise, within a fixed plane: objective perturbation."""

import math

from dpregret.algorithms.privacy.budget import CALIBRATED, SPACING, largest_within, mills, smallest_epsilon


def planar_delta(epsilon: float, shift: float) -> float:
    """Delta of standard Gaussian noise whose shift may depend on the noise, within a fixed plane.

    With |shift| <= u the privacy loss is at most u r + u^2 / 2, r = |projection of the noise on the plane| ~ chi_2.
    So delta(epsilon) <= E(1 - e^(epsilon - u r - u^2 / 2))_+. By parts this is u e^(-r0^2 / 2) R(r0 + u) where
    r0 = epsilon / u - u / 2 >= 0, R Mills' ratio, and 1 - e^(epsilon - u^2 / 2) (1 - u R(u)) where r0 < 0: sums of
    positive numbers, which lose no digits. epsilon any real number.
    """
    return math.exp(_log_delta(epsilon, shift, 0.0)) if shift > 0 else 0.0


def _log_delta(epsilon: float, shift: float, errors: float) -> float:
    """ln(planar_delta), and so many rounding errors that it may have."""
    least = epsilon / shift - 0.5 * shift
    if least > 40:  # below all numbers
        return -math.inf
    if shift > 1e150:  # all is lost, up to rounding
        return 0.0
    if least >= 0:
        found = math.log(shift) - 0.5 * least**2 + math.log(mills(least + shift)[0])
    else:
        exponent = epsilon - 0.5 * shift**2
        found = math.log(math.exp(exponent) * shift * mills(shift)[0] - math.expm1(exponent))
    size = abs(epsilon) / shift + 0.5 * shift
    return found + math.log1p(errors * SPACING * (3 * size * (1 + min(abs(least), 40.0)) + 128))


def planar_shift(epsilon: float, delta: float) -> float:
    """The largest shift with planar_delta(epsilon, shift) <= delta. Raises ValueError for delta = 0."""
    if delta == 0:
        raise ValueError("Gaussian noise needs delta > 0")
    return largest_within(lambda shift: _log_delta(epsilon, shift, CALIBRATED), math.log(delta))


def planar_epsilon(shift: float, delta: float) -> float:
    """The smallest epsilon >= 0 with planar_delta(epsilon, shift) <= delta, from above; inf at delta = 0."""
    if shift == 0 or delta >= 1:
        return 0.0
    if delta == 0:
        return math.inf
    return smallest_epsilon(lambda epsilon: _log_delta(epsilon, shift, 1.0), math.log(delta))
