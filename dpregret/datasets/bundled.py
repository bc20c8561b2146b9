"""Real data in the form the streams want: an .npz of ``features`` (n, d) and ``labels`` (n,).

scikit-learn takes two seconds to import, so its bundled sets are converted once and the sweep jobs read the copy.
Their preparation uses means, deviations and the largest norm of the data themselves, which no budget pays for; that of
fetched sets (``prepared``) uses public constants only. docs/data.md says what the former would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dpregret.datasets.examples import Examples, check_finite, read, save, scale_rows
from dpregret.numerics.arrays import Array


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
            from dpregret.datasets import fetch, sources  # what loads over the network, where it is needed

            fetch.convert(sources.find_source(name), cache_dir)
    return read(path)
