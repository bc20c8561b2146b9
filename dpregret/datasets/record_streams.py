"""Logistic losses of records without ridge: convex, and not strongly convex."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.datasets.bundled import load
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.records import norm_of


class RecordsLogistic(PoolStream):
    """f_t(x) = ln(1 + exp(-y <a, x>)) for the records of a study, the option ``source``; |a| is at most their `norm`.

    Lipschitz constant: the norm, a public constant that the user states, whatever the set. Smoothness: norm^2 / 4. The
    losses have no strong convexity: learners need a card that says ``convex``.
    """

    name = "records-logistic"
    title = "logistic regression of records"
    traits = frozenset({"smooth"})
    real = True

    def __init__(self, domain: ConstraintSet, strong_convexity: float, source: str, data_dir: str | Path) -> None:
        self.name = source  # what messages call it
        examples, norm = load(source, Path(data_dir)), norm_of(Path(data_dir) / f"{source}.npz")
        if not np.isin(examples.labels, (-1.0, 1.0)).all():
            raise ValueError(f"{source!r} has other labels than -1 and +1: give `positive` in its data.yaml")
        scaled = Examples(norm * examples.features, examples.labels)
        super().__init__(domain, 0.0, scaled, RidgeLogistic)  # a ridge of weight 0
        self.lipschitz, self.smoothness = norm, 0.25 * norm**2
