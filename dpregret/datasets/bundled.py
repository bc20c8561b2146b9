"""Real data in the form the streams want: an .npz of ``features`` (n, d) and ``labels`` (n,).

scikit-learn takes two seconds to import, so its bundled sets are converted once and the sweep jobs read the copy.
Their preparation uses means, deviations and the largest norm of the data themselves, which no budget pays for; that of
fetched sets (``prepared``) uses public constants only. docs/data.md says what the former would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dpregret.core.files import atomic_write
from dpregret.datasets.files import read_arrays
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


@dataclass(frozen=True, slots=True)
class Examples:
    """A pool of examples: ``features`` (n, d) with rows of norm at most 1, ``labels`` (n,) in [-1, 1]."""

    features: Array
    labels: Array


def _breast_cancer() -> tuple[Array, Array]:
    from sklearn.datasets import load_breast_cancer

    features, benign = load_breast_cancer(return_X_y=True)
    return features, np.where(benign == 0, 1.0, -1.0)


def _digits() -> tuple[Array, Array]:
    from sklearn.datasets import load_digits

    features, digit = load_digits(return_X_y=True)
    return features, np.where(digit % 2 == 1, 1.0, -1.0)


def _diabetes() -> tuple[Array, Array]:
    from sklearn.datasets import load_diabetes

    features, progression = load_diabetes(return_X_y=True, scaled=False)
    centered = progression - progression.mean()
    return features, centered / np.abs(centered).max()


BUNDLED: Mapping[str, Callable[[], tuple[Array, Array]]] = MappingProxyType(
    {"breast-cancer": _breast_cancer, "digits": _digits, "diabetes": _diabetes}
)
"""Names of the sets that scikit-learn carries, with how to read them."""


def prepare(name: str, path: Path) -> None:
    """Convert a bundled set to ``path`` (an .npz), atomically.

    Columns are standardised (a constant column becomes 0), then all rows are divided by the largest row norm;
    regression labels are centered and divided by the largest magnitude. Raises ValueError for an unknown name and
    for values that are not finite.
    """
    if name not in BUNDLED:
        raise ValueError(f"unknown bundled data {name!r}; allowed: {', '.join(BUNDLED)}")
    features, labels = BUNDLED[name]()
    check_finite(features, labels, f"bundled data {name!r}")
    centered = features - features.mean(axis=0)
    deviations = centered.std(axis=0)
    save(path, scale_rows(centered / np.where(deviations > 0.0, deviations, 1.0), name), labels)


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
            from dpregret.datasets import fetch, sources

            fetch.convert(sources.find_source(name), cache_dir)
    return read(path)


def read(path: Path) -> Examples:
    """Read and check one .npz of examples; see ``load``."""
    features, labels = read_arrays(path, "features and labels", "features", "labels")
    for array in (features, labels):
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{path}: features and labels are numbers, not {array.dtype}")
    features, labels = features.astype(np.float64), labels.astype(np.float64)
    if features.ndim != 2 or labels.shape != features.shape[:1] or not features.size:
        raise ValueError(f"{path}: features {features.shape} and labels {labels.shape} do not fit together")
    check_finite(features, labels, str(path))
    norms = np.sqrt(vecdot(features, features))
    if norms.max() > 1.0 + 1e-12 or np.abs(labels).max() > 1.0:
        raise ValueError(
            f"{path}: largest feature norm {norms.max():.6g} or label {np.abs(labels).max():.6g} exceeds 1"
        )
    return Examples(features, labels)


def save(path: Path, features: Array, labels: Array) -> None:
    """Write examples as an .npz, atomically; equal arrays give equal bytes."""
    with atomic_write(path) as temporary, temporary.open("xb") as file:
        np.savez(file, features=features, labels=labels)


def scale_rows(features: Array, where: str) -> Array:
    """Divide all rows by the largest row norm. Raises ValueError if every feature is 0."""
    largest = np.sqrt(vecdot(features, features)).max()
    if largest == 0.0:
        raise ValueError(f"{where}: every feature is 0")
    scaled: Array = features / largest
    return scaled


def unit_rows(features: Array, where: str) -> Array:
    """Divide each row by its own norm; a row of zeros stays.

    Raises ValueError if every feature is 0, and naming a row whose norm is too large a number.
    """
    with np.errstate(over="ignore"):
        norms = np.sqrt(vecdot(features, features))
    if not np.isfinite(norms).all():
        raise ValueError(f"{where}: the norm of row {np.argmin(np.isfinite(norms))} is too large a number")
    if not norms.any():
        raise ValueError(f"{where}: every feature is 0")
    units: Array = features / np.where(norms > 0.0, norms, 1.0)[:, None]
    return units


def check_finite(features: Array, labels: Array, where: str) -> None:
    """Raise ValueError naming the first row and column (counted from 0) that is NaN or infinite."""
    bad = np.argwhere(~np.isfinite(features))
    if bad.size:
        row, column = bad[0]
        raise ValueError(f"{where}: feature in row {row}, column {column} is {features[row, column]}")
    bad = np.argwhere(~np.isfinite(labels))
    if bad.size:
        raise ValueError(f"{where}: label in row {bad[0, 0]} is {labels[bad[0, 0]]}")
