"""Synthetic results of the third paper: experts and smooth realizable losses, with planted laws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from dpregret.paper_figs.validation.simulate import Sweep

RUNS = 12


def expert_sweep(
    law: Callable[[float], float], parameter: str, values: tuple[float, ...], variant: str, experiment: str,
    learner: str = "sparse-vector", stream: str = "halving", spread: float = 0.05, **settings: object,
) -> pd.DataFrame:  # fmt: skip
    """One row per value and run: mean regret law(value), no checkpoints on the way."""
    column = {"experts": "dimension", "horizon": "horizon"}.get(parameter, parameter)
    frames = []
    for value in values:
        mean = law(value)
        fixed: dict[str, object] = {"dimension": 1024, "epsilon": 1.0, "best_loss": 0.0, "draws": 5.0, **settings}
        fixed[column] = value
        horizon = int(fixed.pop("horizon", 2**18))  # type: ignore[call-overload]
        sweep = Sweep(
            lambda checkpoints, _, mean=mean: np.full(checkpoints.shape, mean),
            learner=learner, variant=variant, experiment=experiment, stream=stream, horizon=horizon,
            runs=RUNS, spread=spread, anytime=False, displacement=lambda checkpoints, _: 0.0 * checkpoints,
        )  # fmt: skip
        frame = sweep.frame()
        frame = frame.loc[frame["checkpoint"] == horizon]
        frames.append(frame.assign(paper="asi_et_al_2023", set="experts", window=0, mu_gdp=np.nan, **fixed))
    rows = pd.concat(frames, ignore_index=True)
    return rows.astype({"dimension": "int64" if rows["dimension"].max() < 2**53 else "float64"})


def lambda_grid(best: Callable[[float], float], horizons: tuple[int, ...], spread: float = 0.05) -> pd.DataFrame:
    """Regret lambda + best^2 / lambda for seven multiples of the best lambda's neighbourhood: smallest at `best`."""
    names = ("sixteenth", "eighth", "quarter", "half", "double", "fourfold", "eightfold")
    frames = []
    for name, power in zip(names, (-4, -3, -2, -1, 1, 2, 3), strict=True):
        for horizon in horizons:
            tried = 1.7 * best(horizon) * 2.0**power
            regret = tried + best(horizon) ** 2 / tried
            part = expert_sweep(
                lambda _, mean=regret: mean, "horizon", (horizon,), f"lambda-{name}", "smooth-lambda",
                learner="dp-ftrl", stream="realizable-direction", spread=spread,
            )  # fmt: skip
            frames.append(part.assign(regularisation=tried, dimension=4, set="ball"))
    return pd.concat(frames, ignore_index=True)
