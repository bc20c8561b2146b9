"""How little noise is possible: lower bounds for sums that expire and for whole sequences, per coordinate.

Errors are variances in units of (sensitivity / mu)^2, the square of what `nodes_per_item` times `noisy_nodes` measures.
`docs/proofs/window_optimum.md` has the proofs.
"""

import math

import numpy as np

from dpregret.algorithms.privacy.series import landau


def window_optimum(window: int) -> float:
    """G_W^2: what the window root reaches, and the limit of `window_lower_bound` as rounds grow."""
    return landau(window) ** 2


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
