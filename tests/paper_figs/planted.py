"""Synthetic results with planted laws, in the columns of real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.paper_figs.claims import Claim
from dpregret.paper_figs.runs import COLUMNS, COST_COLUMNS, check_columns

HORIZONS = tuple(2**k for k in range(8, 16))
Law = Callable[[np.ndarray, float], np.ndarray]  # (checkpoints, swept value) -> mean regret


@dataclass
class Sweep:
    """One learner in one experiment; `law` gives the mean regret, runs scatter by `spread` around it."""

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
    delivered: float = 1.0
    settings: dict[str, object] = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        checkpoints = np.array([2**k for k in range(4, int(np.log2(self.horizon)) + 1)])
        shift = np.random.default_rng(1).normal(size=self.runs)  # common to all cells of a run
        shift -= shift.mean()
        frames = [self._cell(checkpoints, value, shift) for value in self.values]
        return check_columns(pd.concat(frames, ignore_index=True), "test")

    def _cell(self, checkpoints: np.ndarray, value: float, shift: np.ndarray) -> pd.DataFrame:
        run, position = (index.ravel() for index in np.indices((self.runs, len(checkpoints))))
        checkpoint = checkpoints[position]
        rows = {
            "paper": "lou_cheung_2020", "experiment": self.experiment, "learner": self.learner,
            "variant": self.variant, "stream": self.stream, "set": "ball", "tight": self.tight,
            "horizon": self.horizon, "anytime": self.anytime, "dimension": 4, "window": 16, "epsilon": 8.0,
            "delta": 1e-6, "mu_gdp": 1.5, "run": run, "checkpoint": checkpoint,
            "regret": self.law(checkpoint, value) * (1 + self.spread * shift[run]),
            "stay_regret": self.stay * checkpoint, "bound": self.bound_factor * self.law(checkpoint, value),
            "displacement": self.displacement(checkpoint, value), "noise_norm": 1.0, "comparator_gap": 0.0,
            "violation": 0.0,
            "noise_scale": 1.0, "noise_law": "gamma", "delivered_epsilon": 8.0 * self.delivered,
            "projections": 1.0, "linear_oracles": 0.0, "local_oracles": 0.0, "solves": 0.0, "seconds": 1e-5,
            "seconds_projection": 2e-6, "seconds_linear_oracle": 0.0, "seconds_local_oracle": 0.0,
            "status": "ok", "config_hash": "c", "code_hash": "k",
        }  # fmt: skip
        swept: dict[str, float] = {} if self.parameter == "horizon" else {self.parameter: value}
        if self.parameter == "mu":
            swept = {"mu_gdp": value, "epsilon": 8 * value}
        frame = pd.DataFrame({**rows, **self.settings, **swept})[[*COLUMNS, *COST_COLUMNS]]
        integers = ["horizon", "dimension", "window", "run", "checkpoint"]
        return frame.astype(dict.fromkeys(integers, "int64"))


def make_claim(**changes: object) -> Claim:
    base: dict[str, object] = {
        "id": "test", "source": "nowhere", "statement": "a planted law", "learner": "wdp-cocop-gamma",
        "variant": "corrected", "experiment": "horizon", "stream": "norm-kink", "parameter": "horizon",
        "predicted": {"power": 0.5}, "asymptotic_from": 256,
    }  # fmt: skip
    return Claim.model_validate({**base, **changes})


def planted_paper() -> pd.DataFrame:
    """A small paper: gamma corrected and printed, its twin, in all four sweeps."""

    def logarithmic(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return 10 + 20 * np.log(checkpoints)

    def twin(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return 1 + np.log(checkpoints)

    def powered(power: float) -> Law:
        return lambda checkpoints, value: 1 + (1 + value**power) * np.log(checkpoints)

    sweeps = [
        Sweep(logarithmic),
        Sweep(twin, learner="ftal", variant="plain", settings={"window": 32768, "epsilon": np.inf}),
        Sweep(lambda checkpoints, value: 0.4 * checkpoints, variant="printed", experiment="errata"),
        Sweep(lambda checkpoints, value: 0.4 * checkpoints, learner="wdp-cocop-gaussian", variant="printed",
              experiment="errata", spread=0.05),
        Sweep(logarithmic, learner="wdp-cocop-gaussian", experiment="errata"),
        Sweep(logarithmic, variant="printed-noise", experiment="errata", delivered=10 / 9),
        Sweep(logarithmic, experiment="errata"),
        Sweep(logarithmic, experiment="typical", settings={"window": 64}),
    ]  # fmt: skip
    grids = {"dimension": (2, 4, 8, 16, 32), "epsilon": (0.5, 1.0, 2.0, 4.0, 8.0)}
    for parameter, power in (("dimension", 1.0), ("epsilon", -1.0)):
        common = {"experiment": parameter, "parameter": parameter, "values": grids[parameter]}
        sweeps.append(Sweep(powered(power), settings={"window": 1}, **common))
        plain = {"window": 32768, "epsilon": np.inf} if parameter == "dimension" else {"window": 32768}
        values = grids[parameter] if parameter == "dimension" else (np.inf,)
        sweeps.append(Sweep(twin, learner="ftal", variant="plain", settings=plain, **{**common, "values": values}))
    return pd.concat([sweep.frame() for sweep in sweeps], ignore_index=True)


def write_runs(frame: pd.DataFrame, folder: Path) -> Path:
    for (experiment, learner, variant), rows in frame.groupby(["experiment", "learner", "variant"]):
        path = folder / str(experiment) / f"{learner}.{variant}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.to_parquet(path, index=False)
    return folder
