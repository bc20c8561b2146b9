"""Does a mechanism keep a curve of expiry? Exact loss of an item by its age, held against what a curve allows.

A curve g says how much of the squared Gaussian-DP parameter mu^2 an item may cost when it is seen at age a: kept if
mu(a)^2 <= mu^2 g(a) for every age. Losses are those of formula (1), sums of squared strategy coefficients; of trees,
which are not Toeplitz, they are read off the running code, the worst item of every age.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy.audit import materialise, transcript_losses
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, NoisePerPrefix, PrefixSums
from dpregret.algorithms.privacy.toeplitz import Toeplitz, WindowBuffers, WindowRoot
from dpregret.algorithms.privacy.trees import DecodedWindowTree, WindowTree
from dpregret.numerics.arrays import Array

WINDOWS_SEEN = 16
DENSE = 64  # largest window whose trees are read off the code
ROUNDING = 1e-9

# age in rounds, window -> allowed share of mu^2
CURVES: dict[str, Callable[[Array, int], Array]] = {
    "step": lambda age, window: np.where(age < window, 1.0, np.inf),
    "linear after W": lambda age, window: np.maximum(1.0, (age + 1) / window),
    "power 1/2 after W": lambda age, window: np.sqrt(np.maximum(1.0, (age + 1) / window)),
    "logarithmic after W": lambda age, window: 1 + np.log2(np.maximum(1.0, (age + 1) / window)),
    "linear": lambda age, window: (age + 1) / window,
    "power 1/2": lambda age, window: np.sqrt((age + 1) / window),
    "logarithmic": lambda age, window: (1 + np.log2(age + 1)) / (1 + np.log2(window)),
}
"""The first four allow a young item what a window does; the others let the loss begin small. All are 1 at age W - 1."""
MECHANISMS: dict[str, Callable[[int], PrefixSums]] = {
    "window tree": WindowTree,
    "window tree, best decoder": DecodedWindowTree,
    "window root": WindowRoot,
    "1 buffer": lambda window: WindowBuffers(window, 1),
    "3 buffers": WindowBuffers,
    "noise on every prefix": NoisePerPrefix,
    "noise on every item": lambda window: NoisePerItem(),
}


def squared_losses(mechanism: PrefixSums, window: int, ages: int) -> Array:
    """Largest squared loss of an item at age 0..ages-1, in units of what a protected one is charged."""
    if isinstance(mechanism, Toeplitz):
        return np.square(mechanism.loss_by_age(ages))
    if isinstance(mechanism, NoisePerItem):  # h = 1, 1, 1, ...: c = 1, 0, 0, ...
        return np.ones(ages)
    if isinstance(mechanism, NoisePerPrefix):  # h = 1, 0, 0, ...: c = 1, 1, 1, ...
        return np.arange(1.0, ages + 1) / mechanism.nodes_per_item
    losses = transcript_losses(materialise(mechanism, ages + window)) / mechanism.nodes_per_item
    return np.array([np.diagonal(losses, -age).max() for age in range(ages)])


def losses(windows: Sequence[int] = (16, 64, 256)) -> pd.DataFrame:
    """One row per window, mechanism and age, ages up to `WINDOWS_SEEN` windows: `loss` = mu(a)^2 / mu^2."""
    rows = []
    for window in windows:
        ages = WINDOWS_SEEN * window
        for name, make in MECHANISMS.items():
            mechanism = make(window)
            if window > DENSE and isinstance(mechanism, WindowTree):
                continue
            loss = squared_losses(mechanism, window, ages)
            rows.append(pd.DataFrame({"W": window, "mechanism": name, "age": np.arange(ages), "loss": loss}))
    return pd.concat(rows, ignore_index=True)


def curves(found: pd.DataFrame) -> pd.DataFrame:
    """One row per window, mechanism and curve: kept or not, the worst age, and the factor on the noise's standard
    deviation from which on the curve is kept at all ages seen. found: from `losses`.
    """
    rows = []
    for (window, name), group in found.groupby(["W", "mechanism"], sort=False):
        size = int(group["W"].iloc[0])
        age = group["age"].to_numpy(dtype=float)
        for curve, allowed in CURVES.items():
            excess = group["loss"].to_numpy() / allowed(age, size)
            worst = int(np.argmax(excess > excess.max() * (1 - ROUNDING)))
            kept = "yes" if excess[worst] <= 1 + ROUNDING else "no"
            rows.append((window, name, curve, kept, worst, worst / size, float(np.sqrt(excess[worst]))))
    columns = ["W", "mechanism", "curve", "kept", "worst age", "worst age / W", "noise factor"]
    return pd.DataFrame(rows, columns=columns)
