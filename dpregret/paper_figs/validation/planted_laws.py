"""Synthetic results with planted laws, in the columns of real ones: what the validation is checked with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.runs import COLUMNS, COST_COLUMNS, check_columns

HORIZONS = tuple(2**k for k in range(8, 16))
Law = Callable[[Array, float], Array]
"""(checkpoints, swept value) -> mean regret."""


def own_and_common(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Normal numbers (..., runs, cells) of variance 2, half of it common to the cells of a run."""
    return generator.normal(size=shape) + generator.normal(size=(*shape[:-1], 1))


@dataclass
class Sweep:
    """One learner in one experiment; `law` gives the mean regret.

    The explicit bound is `bound`, without one `bound_factor` times the mean. A run lies off by `spread` times one
    normal number in all cells, and by a log-normal factor of its own, of deviation `scatter`, in each cell.
    """

    law: Law
    learner: str = "wdp-cocop-gamma"
    variant: str = "corrected"
    experiment: str = "horizon"
    stream: str = "norm-kink"
    tight: bool = True
    parameter: str = "horizon"
    values: tuple[float, ...] = (0,)
    horizon: int = HORIZONS[-1]
    anytime: bool = True
    runs: int = 16
    spread: float = 0.1
    displacement: Law = field(default=lambda checkpoints, value: 1.0 / checkpoints)
    stay: float = 0.5
    bound_factor: float = 2.0
    bound: Law | None = None
    delivered: float = 1.0
    settings: dict[str, object] = field(default_factory=dict)
    scatter: float = 0.0
    seed: int | list[int] = 1

    def frame(self) -> pd.DataFrame:
        """Rows as `read_runs` gives them."""
        frames = [self._cell(value) for value in self.values]
        whole = pd.concat(frames, ignore_index=True).assign(regret=self.regrets())
        return check_columns(whole, "planted")

    def regrets(self) -> Array:
        """Regrets of all rows in their order: all that depends on the seed."""
        run, checkpoint = self._index()
        generator = np.random.default_rng(self.seed)
        shift = generator.normal(size=self.runs)  # common to all cells of a run
        shift -= shift.mean()
        found = []
        for value in self.values:
            own = np.exp(self.scatter * generator.normal(size=checkpoint.shape) - self.scatter**2 / 2)
            found.append(self.law(checkpoint, value) * (1 + self.spread * shift[run]) * own)
        return np.concatenate(found)

    def _index(self) -> tuple[Any, Any]:
        """Run and checkpoint of every row of a cell."""
        checkpoints = np.array([2**k for k in range(4, int(np.log2(self.horizon)) + 1)])
        run, position = (index.ravel() for index in np.indices((self.runs, len(checkpoints))))
        return np.asarray(run), checkpoints[position]

    def _cell(self, value: float) -> pd.DataFrame:
        run, checkpoint = self._index()
        rows = {
            "paper": "lou_cheung_2020", "experiment": self.experiment, "learner": self.learner,
            "variant": self.variant, "stream": self.stream, "set": "ball", "tight": self.tight,
            "horizon": self.horizon, "anytime": self.anytime, "dimension": 4, "window": 16, "epsilon": 8.0,
            "delta": 1e-6, "mu_gdp": 1.5, "run": run, "checkpoint": checkpoint,
            "regret": 0.0, "trivial_regret": self.stay * checkpoint, "bound": (
                self.bound(checkpoint, value) if self.bound else self.bound_factor * self.law(checkpoint, value)
            ),
            "displacement": self.displacement(checkpoint, value), "noise_norm": 1.0, "comparator_gap": 0.0,
            "violation": 0.0,
            "noise_scale": 1.0, "noise_distribution": "gamma", "delivered_epsilon": 8.0 * self.delivered,
            **dict.fromkeys(COST_COLUMNS, 0.0), "projections": 1.0, "seconds": 1e-5, "seconds_projection": 2e-6,
            "status": "ok", "config_hash": "c", "code_hash": "k",
        }  # fmt: skip
        swept: dict[str, float] = {} if self.parameter == "horizon" else {self.parameter: value}
        if self.parameter == "mu":
            swept = {"mu_gdp": value, "epsilon": 8 * value}
        frame = pd.DataFrame({**rows, **self.settings, **swept})[[*COLUMNS, *COST_COLUMNS]]
        integers = ["horizon", "dimension", "window", "run", "checkpoint"]
        return frame.astype(dict.fromkeys(integers, "int64"))


def make_claim(**changes: object) -> Claim:
    """A claim of regret T^0.5 from T = 256 on, with changes."""
    base: dict[str, object] = {
        "id": "test", "source": "nowhere", "says": "a planted law", "learner": "wdp-cocop-gamma",
        "variant": "corrected", "experiment": "horizon", "stream": "norm-kink", "parameter": "horizon",
        "rate": "T^0.5", "from": 256,
    }  # fmt: skip
    changes = {{"asymptotic_from": "from", "statement": "says"}.get(key, key): each for key, each in changes.items()}
    return Claim.model_validate({**base, **changes})
