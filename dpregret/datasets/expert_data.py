"""Experts from measured data: many simple classifiers, and which held-out samples each of them gets wrong.

Half of the samples train, the other half are the rounds. A classifier sees a random part of the training half and of
the features; the seed is fixed, so that the table is the same everywhere. Whether a digit is a zero is a task with a
nearly perfect expert (one error in 899 samples); the tumours have none (six errors in 285).

Preparation uses the data themselves, the ranking of the experts included, and is not covered by any privacy guarantee:
only the losses of the rounds are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpregret.datasets.examples import prepared, read_arrays, save

Table = NDArray[np.uint8]
"""Errors of classifiers, (samples, experts): 1 is wrong, 0 is right."""
EXPERTS = 256
"""Classifiers of a table, ordered from the best to the worst on the held-out half."""

_SEED = 20230228
_FEWEST_ROWS = 16  # in training: keeps the experts apart, down to those that hardly beat guessing


def _zeros() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    features, digit = load_digits(return_X_y=True)
    return features, (digit == 0).astype(np.int64)


def _tumours() -> tuple[Any, Any]:
    from sklearn.datasets import load_breast_cancer

    features, benign = load_breast_cancer(return_X_y=True)
    return features, benign


TASKS: Mapping[str, Callable[[], tuple[Any, Any]]] = {"digits-experts": _zeros, "breast-cancer-experts": _tumours}
"""Table -> how to read its features and 0/1 labels: is this digit a zero, is this tumour benign."""


def prepare(name: str, path: Path) -> None:
    """Train the classifiers of a task and write their errors, (samples, EXPERTS), to `path` (an .npz), atomically."""
    features, labels = TASKS[name]()
    generator = np.random.default_rng(_SEED)
    order = generator.permutation(len(labels))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    width = features.shape[1]
    errors = np.empty((len(test), EXPERTS), dtype=np.uint8)
    for expert in range(EXPERTS):
        columns = generator.choice(width, size=generator.integers(1, width + 1), replace=False)
        rows = generator.permutation(train)[: generator.integers(_FEWEST_ROWS, len(train) + 1)]
        if np.ptp(labels[rows]) == 0:  # a classifier needs both classes
            rows = train
        model = _model(expert).fit(features[np.ix_(rows, columns)], labels[rows])
        errors[:, expert] = model.predict(features[np.ix_(test, columns)]) != labels[test]
    ranked = errors[:, np.argsort(errors.sum(axis=0, dtype=np.int64), kind="stable")]
    save(path, errors=ranked)


def _model(expert: int) -> Any:
    """The classifier of an expert: four kinds in turn."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    kinds: tuple[Callable[[], Any], ...] = (
        lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
        lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
        lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
        GaussianNB,
    )
    return kinds[expert % len(kinds)]()


def load(name: str, cache_dir: Path) -> Table:
    """Read `cache_dir/name.npz`, making it first if it is missing; (samples, EXPERTS).

    Raises ValueError naming the file if it is damaged or holds anything but losses 0 and 1.
    """
    path = prepared(name, cache_dir, prepare)
    (errors,) = read_arrays(path, "errors", "errors")
    if errors.ndim != 2 or errors.shape[1] != EXPERTS or not len(errors):
        raise ValueError(f"{path}: errors of shape {errors.shape}, expected (samples, {EXPERTS})")
    for row, column in np.argwhere(~np.isin(errors, (0, 1))):
        raise ValueError(f"{path}: loss in row {row}, column {column} is {errors[row, column]}, neither 0 nor 1")
    return errors.astype(np.uint8)


def subset(table: Table, experts: int) -> Table:
    """The best expert and others spread evenly over the ranking, (samples, experts)."""
    return table[:, np.arange(experts) * table.shape[1] // experts]
