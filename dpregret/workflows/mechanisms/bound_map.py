"""Maps over (T, W, d, eps) from exact bounds: the mechanism of least noise, and the learner of least explicit bound.

Learners play strongly convex losses on the unit ball, with the constants of the stream `norm-kink`; their bounds are
those of their own `bound`. Without a tree the noise of every gradient stays: its bound has d / mu_gdp^2 where sums with
correlated noise have sqrt(d) / mu_gdp times what the mechanism costs.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.online.baselines import NoisePerGradient, NoisePerSum, Stay
from dpregret.algorithms.online.wdp_cocop import WdpCocopGamma, WdpCocopGaussian
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.buffers import WindowBuffers
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, NoisePerPrefix, PrefixSums
from dpregret.algorithms.privacy.toeplitz import NormalisedRoot, WindowRoot
from dpregret.algorithms.privacy.trees import DecodedWindowTree, WindowTree
from dpregret.datasets.streams import make_stream
from dpregret.numerics.arrays import Array

DELTA = 1e-6
STREAM = "norm-kink"
HORIZONS = (2**6, 2**8, 2**10, 2**12)
DIMENSIONS = tuple(2**power for power in (1, 2, 3, 4, 5, 6, 7, 9, 11, 13))
WINDOWS = tuple(4**power for power in range(6))
LEARNERS = {
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
SHOWN = ("tree", "root", "buffers")


def _mechanisms(window: int) -> dict[str, PrefixSums]:
    """All that protect the last `window` rounds."""
    return {
        "window tree": WindowTree(window), "window tree, best decoder": DecodedWindowTree(window),
        "window root": WindowRoot(window), "3 buffers": WindowBuffers(window), "noise on every item": NoisePerItem(),
        "noise on every prefix": NoisePerPrefix(window),
    }  # fmt: skip


def _mean_error(mechanism: PrefixSums, horizon: int) -> float:
    return float((mechanism.nodes_per_item * mechanism.noisy_nodes(horizon - 1)).mean())


def noise(horizons: Sequence[int] = HORIZONS, windows: Sequence[int] = WINDOWS) -> pd.DataFrame:
    """Mean error over rounds 1..T-1 of every mechanism; d and eps multiply all of them alike. W = T: whole sequences.

    Where several are equal, at W = 1, the first is named. A mechanism for whole sequences protects every window.
    """
    rows = []
    for horizon in horizons:
        whole = {"normalised root over T": _mean_error(NormalisedRoot(horizon), horizon)}
        for window in (*(each for each in windows if each < horizon), horizon):
            means = whole | {name: _mean_error(each, horizon) for name, each in _mechanisms(window).items()}
            first, second = sorted(means, key=lambda name: means[name])[:2]
            rows.append({"T": horizon, "W": window, "least noise": first, "mean error": means[first], "next": second,
                         "next / least": means[second] / means[first],
                         "window tree / least": means["window tree"] / means[first]})  # fmt: skip
    return pd.DataFrame(rows)


def bounds(
    horizons: Sequence[int] = (2**8, 2**12, 2**16),
    windows: Sequence[int] = (1, 16, 256, 4096),
    dimensions: Sequence[int] = DIMENSIONS,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
) -> pd.DataFrame:
    """One row per (T, W, d, eps): the explicit bound of every learner on the total regret."""
    frames = []
    for dimension in dimensions:
        domain = make_set("ball", dimension)
        stream = make_stream(STREAM, domain)
        for horizon in horizons:
            own = [window for window in windows if window <= horizon]
            settings = [Setting(window, Budget(epsilon, DELTA)) for window in own for epsilon in epsilons]
            visible = Problem(domain, horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
            frame = pd.DataFrame({
                "T": horizon, "W": [each.window for each in settings], "d": dimension,
                "eps": [each.budget.epsilon for each in settings],
            })  # fmt: skip
            for name, (learner, variant) in LEARNERS.items():
                frame[name] = _last(learner(visible, settings, 1, variant).bound(horizon))
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _last(bound: Array) -> Array:
    return np.asarray(bound[:, -1], dtype=np.float64)


def switches(found: pd.DataFrame, against: Iterable[str] = SHOWN) -> pd.DataFrame:
    """One row per (T, W, eps): the largest d at which noise on every gradient has a smaller bound than the tree, the
    root, the buffers; and from which d on no bound beats the constant point. found: from `bounds`.
    """
    rows = []
    free = "noise on every gradient"
    for (horizon, window, epsilon), group in found.groupby(["T", "W", "eps"], sort=True):
        rows.append({
            "T": horizon, "W": window, "eps": epsilon,
            **{f"no tree beats {name} up to d =": _most(group, group[free] < group[name]) for name in against},
            "root below constant point up to d =": _most(group, group["root"] < group["constant point"]),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _most(group: pd.DataFrame, holds: "pd.Series[bool]") -> int:
    """The last d of those that hold without a gap from the smallest one on; 0 where the smallest one does not."""
    ordered = holds.to_numpy()[np.argsort(group["d"].to_numpy())]
    count = int(np.argmin(ordered)) if not ordered.all() else len(ordered)
    return int(np.sort(group["d"].to_numpy())[count - 1]) if count else 0
