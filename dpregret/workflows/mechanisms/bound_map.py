"""Who has less noise, or the smaller explicit bound: maps over T, W, d and eps, in closed form.

Noise: the mechanism of least mean error. Bounds: learners that play strongly convex losses on the unit ball, with the
constants of the stream `norm-kink`; their bounds are those of their own `bound`. Without a tree the noise of every
gradient stays: its bound has d / mu_gdp^2 where sums with correlated noise have sqrt(d) / mu_gdp times what the
mechanism costs.

Crossing. Both bounds grow like c ln T once T is far beyond W. With s = 2 L / mu_gdp the noise of one gradient and
y = s sqrt(d) / L = 2 sqrt(d) / mu_gdp, the coefficients are, in units of L^2 / mu,

    noise on every gradient   1 + y^2                  (E|h|^2 = L^2 + d s^2)
    window tree               1 + mu D / L + y V_W     (mean of E|z_t| at most s sqrt(d) V_W)

where V_W = sqrt(log2 W + 1) A_W, A_W the mean root of the number of noisy nodes in a sum. They are equal at the
positive root of y^2 - V_W y - mu D / L = 0: a curve in sqrt(d) / mu_gdp, W and mu D / L alone. Exact are the two
coefficients, not the regret: on a given stream both learners may stay below their bounds by different factors.

Crossover, of bandits: where a tree over batches begins to beat noise on every observed value. All is for T = 4^m rounds
with D = L = 1 (both bounds are multiples of L D); `NoisyLeader.bound` is the definition, and a test holds both
together. Shorter horizons than n^2 are refused by the learners.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.stats import binom

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.baselines import NoisePerGradient, NoisePerSum, Stay
from dpregret.algorithms.online.wdp_cocop import WdpCocopGamma, WdpCocopGaussian
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, NoisePerPrefix, PrefixSums
from dpregret.algorithms.privacy.toeplitz import NormalisedRoot, WindowBuffers, WindowRoot
from dpregret.algorithms.privacy.trees import DecodedWindowTree, WindowTree
from dpregret.datasets.streams import make_stream
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.cells import mean_root

DELTA: Final = 1e-6
STREAM: Final = "norm-kink"
DIMENSIONS = tuple(2**power for power in (1, 2, 3, 4, 5, 6, 7, 9, 11, 13))
LEARNERS: Mapping[str, tuple[Any, str]] = {
    "constant point": (Stay, "plain"),  # first: other bounds are never above it, only equal
    "tree": (WdpCocopGaussian, "corrected"),
    "root": (WdpCocopGaussian, "root"),
    "buffers": (WdpCocopGaussian, "buffers"),
    "tree, pure": (WdpCocopGamma, "corrected"),
    "blocks, pure": (WdpCocopGamma, "blocks"),
    "items, pure": (WdpCocopGamma, "items"),
    "noise on every gradient": (NoisePerGradient, "corrected"),
    "noise on every sum": (NoisePerSum, "corrected"),
}
CROSSED: Final = tuple(2**power for power in (*range(9), 10, 12, 14, 16, 20))
"""Windows of the curve; the last of its epsilons is that of finite horizons."""
CROSSED_EPSILONS: Final = (1.0, 8.0)
CROSSED_HORIZONS: Final = (2**14, 2**17)
LARGEST: Final = 2**10
"""No larger dimension is tried."""
BANDIT_DIMENSIONS: Final = (2, 4, 8, 16, 32)
BANDIT_EPSILONS: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST: Final = 200  # T = 4^200 is looked at no more
SHOWN: Final = 10  # T = 2^20, where bounds are shown side by side
NOISES: Final = ("every value", "Laplace tree", "Gaussian tree")


def _mean_error(mechanism: PrefixSums, horizon: int) -> float:
    return float((mechanism.nodes_per_item * mechanism.noisy_nodes(horizon - 1)).mean())


def noise(
    horizons: Sequence[int] = (2**6, 2**8, 2**10, 2**12), windows: Sequence[int] = (1, 4, 16, 64, 256, 1024)
) -> pd.DataFrame:
    """Mean error over rounds 1..T-1 of every mechanism; d and eps multiply all of them alike. W = T: whole sequences.

    Where several are equal, at W = 1, the first is named. A mechanism for whole sequences protects every window.
    """
    rows = []
    for horizon in horizons:
        for window in (*(each for each in windows if each < horizon), horizon):
            mechanisms = {
                "normalised root over T": NormalisedRoot(horizon),
                "window tree": WindowTree(window),
                "window tree, best decoder": DecodedWindowTree(window),
                "window root": WindowRoot(window),
                "3 buffers": WindowBuffers(window),
                "noise on every item": NoisePerItem(),
                "noise on every prefix": NoisePerPrefix(window),
            }
            means = {name: _mean_error(mechanism, horizon) for name, mechanism in mechanisms.items()}
            first, second = sorted(means, key=lambda name: means[name])[:2]
            row = {"T": horizon, "W": window, "least noise": first, "mean error": means[first], "next": second}
            row["next / least"] = means[second] / means[first]
            row["window tree / least"] = means["window tree"] / means[first]
            rows.append(row)
    return pd.DataFrame(rows)


def _totals(names: Iterable[str], dimension: int, horizon: int, settings: Sequence[Setting]) -> dict[str, Array]:
    """The explicit bounds on the total regret by learner, (settings,)."""
    domain = make_set("ball", dimension)
    stream = make_stream(STREAM, domain)
    problem = Problem(domain, horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
    totals = {}
    for name in names:
        learner, variant = LEARNERS[name]
        totals[name] = np.asarray(learner(problem, settings, 1, variant).bound(horizon)[:, -1], dtype=np.float64)
    return totals


def bounds(
    horizons: Sequence[int] = (2**8, 2**12, 2**16),
    windows: Sequence[int] = (1, 16, 256, 4096),
    dimensions: Sequence[int] = DIMENSIONS,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
) -> pd.DataFrame:
    """One row per (T, W, d, eps): the explicit bound of every learner on the total regret."""
    frames = []
    for dimension in dimensions:
        for horizon in horizons:
            pairs = [(window, epsilon) for window in windows if window <= horizon for epsilon in epsilons]
            settings = [Setting(window, Budget(epsilon, DELTA)) for window, epsilon in pairs]
            frame = pd.DataFrame(pairs, columns=["W", "eps"])
            frame.insert(0, "T", horizon)
            frame.insert(2, "d", dimension)
            frames.append(frame.assign(**_totals(LEARNERS, dimension, horizon, settings)))
    return pd.concat(frames, ignore_index=True)


def switches(found: pd.DataFrame, against: Iterable[str] = ("tree", "root", "buffers")) -> pd.DataFrame:
    """One row per (T, W, eps): the largest d at which noise on every gradient has a smaller bound than the tree, the
    root, the buffers; and from which d on no bound beats the constant point. found: from `bounds`.
    """
    rows = []
    free = "noise on every gradient"
    for (horizon, window, epsilon), group in found.groupby(["T", "W", "eps"], sort=True):
        row = {"T": horizon, "W": window, "eps": epsilon}
        for name in against:
            row[f"no tree beats {name} up to d ="] = _most(group, group[free] < group[name])
        row["root below constant point up to d ="] = _most(group, group["root"] < group["constant point"])
        rows.append(row)
    return pd.DataFrame(rows)


def _most(group: pd.DataFrame, holds: "pd.Series[bool]") -> int:
    """The last d of those that hold without a gap from the smallest one on; 0 where the smallest one does not."""
    ordered = holds.to_numpy()[np.argsort(group["d"].to_numpy())]
    count = int(np.argmin(ordered)) if not ordered.all() else len(ordered)
    return int(np.sort(group["d"].to_numpy())[count - 1]) if count else 0


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
    last = CROSSED_EPSILONS[-1]
    rows = []
    for window in CROSSED:
        row: dict[str, float | str] = {
            "W": window,
            "mu D << L": meeting(window, 0.0),
            "mu D = 0.8 L": meeting(window, bend),
        }
        for epsilon in CROSSED_EPSILONS:
            row[f"d, eps = {epsilon:g}"] = (meeting(window, bend) * gaussian_mu(Budget(epsilon, DELTA))) ** 2
        for horizon in CROSSED_HORIZONS:
            shown = largest_dimension(window, horizon, last) if 8 * window <= horizon else ""
            row[f"d, eps = {last:g}, T = 2^{horizon.bit_length() - 1}"] = shown
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


def totals(dimension: int, window: int, horizon: int, epsilon: float) -> tuple[float, float]:
    """The explicit bounds on the total regret of the tree, and of noise on every gradient."""
    setting = Setting(window, Budget(epsilon, DELTA))
    tree, free = _totals(("tree", "noise on every gradient"), dimension, horizon, [setting]).values()
    return float(tree[0]), float(free[0])


@dataclass(frozen=True)
class Place:
    """T = 4^levels rounds in dimension n with budget (epsilon, DELTA)."""

    levels: int
    dimension: int
    epsilon: float

    @property
    def batch(self) -> float:
        """Rounds of a batch, and number of batches."""
        return float(2**self.levels)

    @property
    def zeta(self) -> float:
        """That of PrivateBandit."""
        return math.sqrt(self.dimension / self.batch)

    def bound(self, noise: str) -> float:
        """The explicit bound for one of `NOISES`; docs/proofs/private_bandit_bound.md."""
        zeta, eta = self.zeta, 1 / (self.batch**1.5 * math.sqrt(self.dimension))
        variance = drift = 0.0
        if noise == "every value":
            growth = 1 + 2 / self.epsilon**2
            stretch = min(max(1.0, growth**0.25 / math.sqrt(2)), 1 / zeta)
            zeta, eta = zeta * stretch, eta * stretch / math.sqrt(growth)
            variance = 2 * ((1 + 2 * zeta) / self.epsilon) ** 2
        else:
            drift = self._tree_noise(noise)
        kappa = math.sqrt(self.batch * (self.dimension / zeta) ** 2 * ((1 + zeta) ** 2 + variance) + self.batch**2)
        horizon, error = self.batch**2, max(2 / math.sqrt(self.batch + 2), math.sqrt(2) / self.batch)
        leader = 1 / (2 * eta) + eta * self.batch * kappa**2 / 2
        return float(2 * zeta * horizon + leader + horizon * (eta * (kappa + drift) + error))

    def _tree_noise(self, noise: str) -> float:
        """Mean over the batches of the root mean square norm of a sum's noise."""
        nodes, leaf = max(1, self.levels), self.dimension / self.zeta * (1 + 2 * self.zeta)
        if noise == "Laplace tree":
            norm = nodes * math.sqrt(self.dimension) * leaf / self.epsilon * math.sqrt(2 * self.dimension)
        else:
            norm = math.sqrt(nodes * self.dimension) * leaf / gaussian_mu(Budget(self.epsilon, DELTA))
        held = np.arange(self.levels + 1)  # nodes of a prefix: popcount of a number of that many bits
        mean = float(binom.pmf(held, self.levels, 0.5) @ np.sqrt(held)) + 1 / self.batch
        return norm * mean


def crossover() -> pd.DataFrame:
    """A row per n and eps: log2 of the horizon from which each tree has the smaller bound, and bounds at T = 2^20.

    The horizon is a power of four; `limit` is what the quotient of the bounds, every value over tree, tends to.
    """
    rows = []
    for dimension in BANDIT_DIMENSIONS:
        for epsilon in BANDIT_EPSILONS:
            every, *trees = (Place(SHOWN, dimension, epsilon).bound(noise) for noise in NOISES)
            row: dict[str, float] = {"n": dimension, "eps": epsilon}
            row |= {f"log2 T*, {noise}": first_better(noise, dimension, epsilon) for noise in NOISES[1:]}
            for noise, tree in zip(NOISES[1:], trees, strict=True):
                row[f"every value / {noise}, T = 2^20"] = every / tree
            row["limit"] = leading(dimension, epsilon) / leading(dimension, math.inf)
            rows.append(row)
    return pd.DataFrame(rows)


def leading(dimension: int, epsilon: float) -> float:
    """The limit of the bound of noise on every value, in units of L D T^(3/4); trees tend to that of eps = inf."""
    growth, root = 1 + 2 / epsilon**2, math.sqrt(dimension)
    far = max(1.0, growth**0.25 / math.sqrt(2))
    step, kappa = far / math.sqrt(growth), math.sqrt(dimension * growth / far**2 + 1)
    return float(2 * far * root + root / (2 * step) + step * kappa**2 / (2 * root) + step * kappa / root + 2)


def first_better(noise: str, dimension: int, epsilon: float) -> float:
    """log2 of the smallest T = 4^m from which a tree's bound stays below that of noise on every value; inf: none."""
    first = max(1, math.ceil(math.log2(dimension)))
    better = [
        Place(levels, dimension, epsilon).bound(noise) < Place(levels, dimension, epsilon).bound(NOISES[0])
        for levels in range(first, MOST + 1)
    ]
    if not better[-1]:
        return math.inf
    worse = [index for index, each in enumerate(better) if not each]
    return 2.0 * (first + (worse[-1] + 1 if worse else 0))
