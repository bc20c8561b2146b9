"""Synthetic results of empirical risk minimisation with planted laws, in the columns of real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.runs import check_columns

SAMPLES = tuple(2**k for k in range(8, 17))
Law = Callable[[dict[str, object]], float]
BASE = {
    "paper": "talwar_2015", "set": "ball", "tight": True, "anytime": False, "dimension": 16, "window": 0,
    "epsilon": 1.0, "delta": 1e-6, "mu_gdp": 0.2367, "trivial_regret": 1.0, "displacement": 0.0, "noise_norm": 0.0,
    "comparator_gap": 0.0, "violation": 0.0, "noise_scale": 1.0, "noise_distribution": "gaussian",
    "delivered_epsilon": 1.0,
    "status": "ok", "config_hash": "c", "code_hash": "k", "iterations": 64, "capped": False, "width": 4.0,
    "width_error": 0.0, "projections": 64.0, "linear_oracles": 0.0, "local_oracles": 0.0, "solves": 0.0,
    "seconds": 6.4e-4, "seconds_projection": 1e-4, "seconds_linear_oracle": 0.0, "seconds_local_oracle": 0.0,
}  # fmt: skip


def risk_frame(
    law: Law, cells: Iterable[dict[str, object]], runs: int = 16, spread: float = 0.1, **fixed: object
) -> pd.DataFrame:
    """Rows of one learner: `law` maps the settings of a cell to its mean excess risk; `n` is the number of records."""
    shift = np.random.default_rng(1).normal(size=runs)
    shift -= shift.mean()
    frames = []
    for cell in cells:
        row = {"learner": "noisy-gd", "variant": "corrected", "experiment": "gd-samples", "stream": "norm-kink-risk",
               "n": 4096, **BASE, **fixed, **cell}  # fmt: skip
        mean = law(row)
        samples = row.pop("n")
        frames.append(pd.DataFrame({**row, "horizon": samples, "checkpoint": samples, "run": np.arange(runs),
                                    "regret": mean * (1 + spread * shift), "bound": 2 * mean}))  # fmt: skip
    return check_columns(pd.concat(frames, ignore_index=True), "test")


def risk_claim(**changes: object) -> Claim:
    base: dict[str, object] = {
        "id": "test", "source": "nowhere", "says": "a planted law", "learner": "noisy-gd", "variant": "corrected",
        "experiment": "gd-samples", "stream": "norm-kink-risk", "parameter": "samples", "response": "excess",
        "rate": "n^-1",
    }  # fmt: skip
    changes = {"from" if key == "asymptotic_from" else key: each for key, each in changes.items()}
    return Claim.model_validate({**base, **changes})


def by_samples(samples: Iterable[int] = SAMPLES, **settings: object) -> list[dict[str, object]]:
    return [{"n": number, **settings} for number in samples]


SETS = {"ball": 0.5, "l1-ball": 0.2, "simplex": 0.15, "grouped-l1": 0.3}


def width_cells() -> list[dict[str, object]]:
    return [{"set": name, "dimension": p, "width": p**power, "width_error": 0.01}
            for name, power in SETS.items() for p in (16, 64, 256, 1024)]  # fmt: skip


def planted_risk_paper() -> pd.DataFrame:
    """A small second paper: every experiment that has a figure, with the laws of its corrected algorithms."""

    def rate(power: float, scale: float = 20.0) -> Law:
        return lambda row: min(0.9, scale * float(str(row["n"])) ** power)

    plain: dict[str, object] = {"variant": "plain", "epsilon": np.inf, "delta": 0.0, "delivered_epsilon": np.inf}
    fw: dict[str, object] = {
        "learner": "private-fw",
        "experiment": "lasso-samples",
        "stream": "lasso-easy",
        "set": "l1-ball",
    }
    large = [2**k for k in range(12, 21)]
    l1: dict[str, object] = {"experiment": "l1-dimension", "set": "l1-ball"}
    powers = [{"dimension": 2**k, "width": np.sqrt(2 * k)} for k in range(4, 13)]
    frames = [
        risk_frame(rate(-1), by_samples()),
        risk_frame(rate(-1, 100), by_samples(), variant="printed"),
        risk_frame(lambda row: 1.0, by_samples(), spread=0.0, **{**plain, "learner": "stay-at-zero"}),
        risk_frame(rate(-2 / 3, 200), by_samples(large), **{**fw, "variant": "corrected"}),
        risk_frame(lambda row: 0.27, by_samples(large), delivered_epsilon=2.07, **{**fw, "variant": "printed"}),
        risk_frame(lambda row: 1e-5, by_samples(large), **{**fw, **plain, "learner": "fw"}),
        risk_frame(lambda row: 0.01 * np.log(2 * row["dimension"]), powers, learner="noisy-eg", **l1),
        risk_frame(lambda row: 0.002 * row["dimension"] ** 0.5, powers, **l1),
        risk_frame(lambda row: 0.01 * row["width"], width_cells(), experiment="width"),
        risk_frame(
            lambda row: 1 / (1 + (row["active"] * 0.2367 / (2 * row["dimension"] ** 0.5)) ** 2),
            [{"dimension": p, "n": n, "active": k} for p in (16, 64) for n in (1000, 8000) for k in (16, 64, 256)],
            experiment="collapse", stream="collapse",
        ),
    ]  # fmt: skip
    budgets: list[dict[str, object]] = [{"epsilon": 1.0}, {"epsilon": 4.0}]
    for stream in ("diabetes-risk", "digits-risk"):
        real: dict[str, object] = {"experiment": "real-digits", "stream": stream}
        frames.append(risk_frame(lambda row: 0.1, budgets, **real))
        frames.append(risk_frame(lambda row: 1e-4, [{}], **{**plain, **real, "learner": "projected-gradient"}))
    return pd.concat(frames, ignore_index=True)
