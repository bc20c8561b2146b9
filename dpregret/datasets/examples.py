"""Prepared data: reading and writing .npz files, and checks of labelled examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpregret.core.files import atomic_write, opened
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


def read_arrays(path: Path, what: str, *names: str) -> list[np.ndarray[Any, Any]]:
    """Arrays of an .npz by name. Raises ValueError that names the file and `what` it should hold."""
    try:
        with opened(path) as file, np.load(file, allow_pickle=False) as archive:
            return [np.asarray(archive[name]) for name in names]
    except Exception as error:  # a damaged archive may raise anything
        raise ValueError(f"{path}: not a readable .npz of {what} ({error})") from error


def norm_of(file: Path) -> float:
    """The public norm that norm 1 of prepared features stands for; 1 for data sets outside a study."""
    with np.load(file, allow_pickle=False) as archive:
        norm = float(archive["norm"]) if "norm" in archive else 1.0
    if not (0 < norm < math.inf):
        raise ValueError(f"{file}: the norm {norm} must be positive and finite")
    return norm


def prepared(name: str, cache_dir: Path, prepare: Callable[[str, Path], None]) -> Path:
    """The file `cache_dir/name.npz`, prepared first if it is missing."""
    path = cache_dir / f"{name}.npz"
    if not path.exists():
        prepare(name, path)
    return path


def save(path: Path, **arrays: Any) -> None:
    """Write arrays as an .npz, atomically; equal arrays give equal bytes."""
    with atomic_write(path) as temporary, temporary.open("xb") as file:
        np.savez(file, **arrays)


@dataclass(frozen=True, slots=True)
class Examples:
    """A pool of examples: ``features`` (n, d) with rows of norm at most 1, ``labels`` (n,) in [-1, 1]."""

    features: Array
    labels: Array


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
    return features / np.where(norms > 0.0, norms, 1.0)[:, None]


def check_finite(features: Array, labels: Array, where: str) -> None:
    """Raise ValueError naming the first row and column (counted from 0) that is NaN or infinite."""
    bad = np.argwhere(~np.isfinite(features))
    if bad.size:
        row, column = bad[0]
        raise ValueError(f"{where}: feature in row {row}, column {column} is {features[row, column]}")
    bad = np.argwhere(~np.isfinite(labels))
    if bad.size:
        raise ValueError(f"{where}: label in row {bad[0, 0]} is {labels[bad[0, 0]]}")
