"""Real data in the form that streams read: an .npz of ``features`` (n, d) and ``labels`` (n,).

scikit-learn takes two seconds to import, so its bundled sets are converted once and the sweep jobs read the copy.
Every record is prepared by itself, by public constants: a range for each column, beyond which values are clipped. So
neighbouring data stay neighbouring. The ranges are round numbers, chosen with those at hand that are published with the
sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from dpregret.datasets import fetch
from dpregret.datasets.examples import Examples, check_finite, read, save
from dpregret.numerics.arrays import Array

CELL: Final = (50.0, 50.0, 300.0, 5_000.0, 0.25, 2.0, 2.0, 0.5, 1.0, 0.25)
"""Radius, texture, perimeter, area, smoothness, compactness, concavity, concave points, symmetry, fractal dimension of
a nucleus, up to so much in the mean and in the worst one; standard errors up to a tenth."""
DARKEST: Final = 16.0
"""A pixel of a digit counts the dark ones among sixteen."""
PATIENT: Final = (
    (0.0, 100.0), (1.0, 2.0), (10.0, 50.0), (40.0, 160.0), (0.0, 400.0), (0.0, 300.0), (0.0, 120.0), (0.0, 10.0),
    (2.0, 8.0), (40.0, 200.0),
)  # fmt: skip
"""Years, sex, body mass index, mean blood pressure (mm Hg), total, low- and high-density cholesterol (mg/dl), their
ratio, log triglycerides (mg/dl), blood sugar (mg/dl)."""
WORST: Final = 400.0
"""Progression of diabetes after a year is a number from 0 to this."""


def _breast_cancer() -> tuple[Array, Array]:
    from sklearn.datasets import load_breast_cancer

    features, benign = load_breast_cancer(return_X_y=True)
    largest = np.array(CELL)
    return _between(features, 0.0, np.concatenate([largest, largest / 10, largest])), np.where(benign == 0, 1.0, -1.0)


def _digits() -> tuple[Array, Array]:
    from sklearn.datasets import load_digits

    features, digit = load_digits(return_X_y=True)
    return _between(features, 0.0, DARKEST), np.where(digit % 2 == 1, 1.0, -1.0)


def _diabetes() -> tuple[Array, Array]:
    from sklearn.datasets import load_diabetes

    features, progression = load_diabetes(return_X_y=True, scaled=False)
    low, high = np.array(PATIENT).T
    return _between(features, low, high), _between(progression, 0.0, WORST)


def _between(values: Array, low: Array | float, high: Array | float) -> Array:
    """Columns of numbers in [low, high] as numbers in [-1, 1]; what lies outside is clipped."""
    return np.clip((2.0 * values - low - high) / (high - low), -1.0, 1.0)


BUNDLED: Mapping[str, Callable[[], tuple[Array, Array]]] = {
    "breast-cancer": _breast_cancer,
    "digits": _digits,
    "diabetes": _diabetes,
}
"""Names of the sets that scikit-learn carries, with how to read them: features and labels in [-1, 1]."""


def prepare(name: str, path: Path) -> None:
    """Convert a bundled set to ``path`` (an .npz), atomically.

    Rows of d features in [-1, 1] are divided by sqrt(d), so that no norm exceeds 1. Raises ValueError for values that
    are not finite.
    """
    features, labels = BUNDLED[name]()
    check_finite(features, labels, f"bundled data {name!r}")
    save(path, features=features / np.sqrt(features.shape[1]), labels=labels)


def load(name: str, cache_dir: Path) -> Examples:
    """Read ``cache_dir/name.npz``, making it first if it is missing.

    A name that is not bundled is looked up among the declared downloads: its file must have been fetched or placed
    into ``cache_dir``, and is verified before it is converted.
    Raises ValueError naming the file (and the row and column) if it is damaged or has values out of range.
    """
    path = cache_dir / f"{name}.npz"
    if not path.exists():
        if name in BUNDLED:
            prepare(name, path)
        else:
            fetch.convert(fetch.Source.find(name), cache_dir)
    return read(path)
