"""Where noise on every gradient and the window tree change places, from their explicit bounds with all constants.

Both bounds grow like c ln T once T is far beyond W. With s = 2 L / mu_gdp the noise of one gradient and
y = s sqrt(d) / L = 2 sqrt(d) / mu_gdp, the coefficients are, in units of L^2 / mu,

    noise on every gradient   1 + y^2                  (E|h|^2 = L^2 + d s^2)
    window tree               1 + mu D / L + y V_W     (mean of E|z_t| at most s sqrt(d) V_W)

where V_W = sqrt(log2 W + 1) A_W, A_W the mean root of the number of noisy nodes in a sum. They are equal at the
positive root of y^2 - V_W y - mu D / L = 0: a curve in sqrt(d) / mu_gdp, W and mu D / L alone. Exact are the two
coefficients, not the regret: on a given stream both learners may stay below their bounds by different factors.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.baselines import NoisePerGradient
from dpregret.algorithms.online.wdp_cocop import WdpCocopGaussian
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.datasets.streams import make_stream
from dpregret.paper_figs.judge.cells import mean_root
from dpregret.workflows.mechanisms.bound_map import DELTA, STREAM

WINDOWS = tuple(2**power for power in (*range(9), 10, 12, 14, 16, 20))
EPSILONS = (1.0, 8.0)
HORIZONS = (2**14, 2**17)
LARGEST = 2**10
"""No larger dimension is tried."""


def meeting(window: int, bend: float) -> float:
    """sqrt(d) / mu_gdp at which both coefficients of ln T are equal; bend: mu D / L."""
    cost = np.sqrt(np.log2(window) + 1) * mean_root(np.array([float(window)]))[0]
    return float(cost + np.sqrt(cost**2 + 4 * bend)) / 4


def crossing() -> pd.DataFrame:
    """One row a window: the curve, what it means for d at some eps, and the same at finite T from the whole bounds.

    At finite T: the largest d at which noise on every gradient has the smaller bound; empty where T is below 8 W.
    """
    domain = make_set("ball", 2)
    stream = make_stream(STREAM, domain)
    bend = stream.strong_convexity * domain.diameter / stream.lipschitz
    rows = []
    for window in WINDOWS:
        row: dict[str, float | str] = {
            "W": window,
            "mu D << L": meeting(window, 0.0),
            "mu D = 0.8 L": meeting(window, bend),
        }
        for epsilon in EPSILONS:
            row[f"d, eps = {epsilon:g}"] = (meeting(window, bend) * gaussian_mu(Budget(epsilon, DELTA))) ** 2
        for horizon in HORIZONS:
            shown = largest_dimension(window, horizon, EPSILONS[-1]) if 8 * window <= horizon else ""
            row[f"d, eps = {EPSILONS[-1]:g}, T = 2^{horizon.bit_length() - 1}"] = shown
        rows.append(row)
    return pd.DataFrame(rows)


def largest_dimension(window: int, horizon: int, epsilon: float) -> int:
    """The largest d at which the whole bound of noise on every gradient is the smaller one, by bisection; 0: none."""
    low, high = 0, LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        tree, free = totals(middle, window, horizon, epsilon)
        low, high = (middle, high) if free < tree else (low, middle)
    return low


def totals(dimension: int, window: int, horizon: int, epsilon: float) -> Sequence[float]:
    """The explicit bounds on the total regret of the tree, and of noise on every gradient."""
    domain = make_set("ball", dimension)
    stream = make_stream(STREAM, domain)
    visible = Problem(domain, horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
    settings = [Setting(window, Budget(epsilon, DELTA))]
    learners = (WdpCocopGaussian, NoisePerGradient)
    return [float(learner(visible, settings, 1, "corrected").bound(horizon)[0, -1]) for learner in learners]
