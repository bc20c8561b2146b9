"""A small paper of planted laws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.core import parquet
from dpregret.paper_figs.validation.simulate import Law, Sweep


def planted_paper() -> pd.DataFrame:
    """A small paper: gamma corrected and printed, its counterpart, in all four sweeps."""

    def logarithmic(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return 10 + 20 * np.log(checkpoints)

    def counterpart(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return 1 + np.log(checkpoints)

    def powered(power: float) -> Law:
        return lambda checkpoints, value: 1 + (1 + value**power) * np.log(checkpoints)

    sweeps = [
        Sweep(logarithmic),
        Sweep(counterpart, learner="ftal", variant="plain", settings={"window": 32768, "epsilon": np.inf}),
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
        sweeps.append(
            Sweep(counterpart, learner="ftal", variant="plain", settings=plain, **{**common, "values": values})
        )
    return pd.concat([sweep.frame() for sweep in sweeps], ignore_index=True)


def write_runs(frame: pd.DataFrame, folder: Path) -> Path:
    for (experiment, learner, variant), rows in frame.groupby(["experiment", "learner", "variant"]):
        path = folder / str(experiment) / f"{learner}.{variant}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write(rows, path, parquet.Stamp("planted", "planted"))
    return folder
