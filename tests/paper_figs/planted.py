"""Results with planted laws, in the columns of real ones: online learning, experts and smooth realizable losses,
empirical risk minimisation; how they are written, and figures for tests that look at few of their forms."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpregret.core import parquet
from dpregret.paper_figs.figures import grammar
from dpregret.paper_figs.figures.grammar import PanelFigure
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.runs import check_columns
from dpregret.paper_figs.validation.simulate import Law, Sweep, make_claim


def logarithmic(checkpoints: np.ndarray, value: float) -> np.ndarray:
    return 10 + 20 * np.log(checkpoints)


def root(checkpoints: np.ndarray, value: float) -> np.ndarray:
    return np.sqrt(checkpoints)


def planted_paper() -> pd.DataFrame:
    """A small paper: gamma corrected and printed, its counterpart, in all four sweeps."""

    def counterpart(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return 1 + np.log(checkpoints)

    def linear(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return 0.4 * checkpoints

    def powered(power: float) -> Law:
        return lambda checkpoints, value: 1 + (1 + value**power) * np.log(checkpoints)

    plain: dict[str, Any] = {"learner": "ftal", "variant": "plain"}
    free: dict[str, Any] = {**plain, "settings": {"window": 32768, "epsilon": np.inf}}
    gaussian = "wdp-cocop-gaussian"
    by_d: dict[str, Any] = {"experiment": "dimension", "parameter": "dimension", "values": (2, 4, 8, 16, 32)}
    by_eps: dict[str, Any] = {"experiment": "epsilon", "parameter": "epsilon"}
    sweeps = [
        Sweep(logarithmic),
        Sweep(counterpart, **free),
        Sweep(linear, variant="printed", experiment="errata"),
        Sweep(linear, learner=gaussian, variant="printed", experiment="errata", spread=0.05),
        Sweep(logarithmic, learner=gaussian, experiment="errata"),
        Sweep(logarithmic, variant="printed-noise", experiment="errata", delivered=10 / 9),
        Sweep(logarithmic, experiment="errata"),
        Sweep(logarithmic, experiment="typical", settings={"window": 64}),
        Sweep(powered(1.0), settings={"window": 1}, **by_d),
        Sweep(counterpart, **free, **by_d),
        Sweep(powered(-1.0), settings={"window": 1}, values=(0.5, 1.0, 2.0, 4.0, 8.0), **by_eps),
        Sweep(counterpart, **plain, settings={"window": 32768}, values=(np.inf,), **by_eps),
    ]
    return pd.concat([sweep.frame() for sweep in sweeps], ignore_index=True)


def write_runs(frame: pd.DataFrame, folder: Path) -> Path:
    for (experiment, learner, variant), rows in frame.groupby(["experiment", "learner", "variant"]):
        path = folder / str(experiment) / f"{learner}.{variant}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write(rows, path, parquet.Stamp("planted", "planted"))
    return folder


def only_png(monkeypatch: pytest.MonkeyPatch, *further: str) -> None:
    """From now on figures are saved as PNG, and in `further` forms."""
    monkeypatch.setattr(grammar, "FORMS", ("png", *further))


def figures_of(monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]) -> dict[str, PanelFigure]:
    """What would be saved, by its name."""
    found: dict[str, PanelFigure] = {}
    monkeypatch.setattr(PanelFigure, "save", lambda figure, stem: [found.setdefault(stem.name, figure)])
    monkeypatch.setattr(PanelFigure, "save_card", lambda figure, path: path)
    write(Path())
    return found


def at_the_end(mean: float, horizon: int, **settings: Any) -> pd.DataFrame:
    """Rows of plays whose mean regret is a number; no checkpoints on the way, no displacement."""
    still: dict[str, Any] = {"anytime": False, "displacement": lambda checkpoints, _: 0.0 * checkpoints}
    sweep = Sweep(lambda checkpoints, _: np.full(checkpoints.shape, mean), horizon=horizon, **still, **settings)
    return sweep.frame().loc[lambda rows: rows["checkpoint"] == horizon]


def expert_sweep(
    law: Callable[[float], float],
    parameter: str,
    values: tuple[float, ...],
    variant: str,
    experiment: str,
    learner: str = "sparse-vector",
    stream: str = "halving",
    spread: float = 0.05,
    **settings: object,
) -> pd.DataFrame:
    """One row per value and run: mean regret law(value), no checkpoints on the way."""
    column = {"experts": "dimension", "horizon": "horizon"}.get(parameter, parameter)
    names = {"learner": learner, "variant": variant, "experiment": experiment, "stream": stream}
    frames = []
    for value in values:
        fixed: dict[str, object] = {"dimension": 1024, "epsilon": 1.0, "best_loss": 0.0, "draws": 5.0, **settings}
        fixed[column] = value
        horizon = int(fixed.pop("horizon", 2**18))  # type: ignore[call-overload]
        frame = at_the_end(law(value), horizon, runs=12, spread=spread, **names)
        frames.append(frame.assign(paper="asi_et_al_2023", set="experts", window=0, mu_gdp=np.nan, **fixed))
    rows = pd.concat(frames, ignore_index=True)
    return rows.astype({"dimension": "int64" if rows["dimension"].max() < 2**53 else "float64"})


def lambda_grid(best: Callable[[float], float], horizons: tuple[int, ...], spread: float = 0.05) -> pd.DataFrame:
    """Regret lambda + best^2 / lambda for seven multiples of the best lambda's neighbourhood: smallest at `best`."""
    names = ("sixteenth", "eighth", "quarter", "half", "double", "fourfold", "eightfold")
    whose: dict[str, Any] = {"learner": "dp-ftrl", "stream": "realizable-direction", "spread": spread}
    frames = []
    for name, power in zip(names, (-4, -3, -2, -1, 1, 2, 3), strict=True):
        for horizon in horizons:
            tried = 1.7 * best(horizon) * 2.0**power
            regret = tried + best(horizon) ** 2 / tried
            swept = "horizon", (horizon,), f"lambda-{name}", "smooth-lambda"
            part = expert_sweep(lambda _, mean=regret: mean, *swept, **whose)
            frames.append(part.assign(regularisation=tried, dimension=4, set="ball"))
    return pd.concat(frames, ignore_index=True)


SAMPLES = tuple(2**k for k in range(8, 17))
RiskLaw = Callable[[dict[str, object]], float]
BASE = {
    "paper": "talwar_2015", "dimension": 16, "window": 0, "epsilon": 1.0, "mu_gdp": 0.2367, "trivial_regret": 1.0,
    "noise_norm": 0.0, "noise_distribution": "gaussian", "delivered_epsilon": 1.0, "iterations": 64, "capped": False,
    "width": 4.0, "width_error": 0.0, "projections": 64.0, "seconds": 6.4e-4, "seconds_projection": 1e-4,
}  # fmt: skip


def risk_frame(
    law: RiskLaw, cells: Iterable[dict[str, object]], runs: int = 16, spread: float = 0.1, **fixed: object
) -> pd.DataFrame:
    """Rows of one learner: `law` maps the settings of a cell to its mean excess risk; `n` is the number of records."""
    frames = []
    for cell in cells:
        row = {"learner": "noisy-gd", "variant": "corrected", "experiment": "gd-samples", "stream": "norm-kink-risk",
               "set": "ball", "delta": 1e-6, "n": 4096, **BASE, **fixed, **cell}  # fmt: skip
        mean, samples = law(row), int(str(row.pop("n")))
        frames.append(at_the_end(mean, samples, runs=runs, spread=spread).assign(**row))
    return check_columns(pd.concat(frames, ignore_index=True), "test")


def risk_claim(**changes: object) -> Claim:
    own = {"learner": "noisy-gd", "experiment": "gd-samples", "stream": "norm-kink-risk", "rate": "n^-1", "from": 0}
    return make_claim(**{**own, "parameter": "samples", "response": "excess", **changes})


def by_samples(samples: Iterable[int] = SAMPLES, **settings: object) -> list[dict[str, object]]:
    return [{"n": number, **settings} for number in samples]


SETS = {"ball": 0.5, "l1-ball": 0.2, "simplex": 0.15, "grouped-l1": 0.3}


def width_cells() -> list[dict[str, object]]:
    return [
        {"set": name, "dimension": p, "width": p**power, "width_error": 0.01}
        for name, power in SETS.items()
        for p in (16, 64, 256, 1024)
    ]


def planted_risk_paper() -> pd.DataFrame:
    """A small second paper: every experiment that has a figure, with the laws of its corrected algorithms."""

    def rate(power: float, scale: float = 20.0) -> RiskLaw:
        return lambda row: min(0.9, scale * float(str(row["n"])) ** power)

    def constant(value: float) -> RiskLaw:
        return lambda row: value

    plain: dict[str, Any] = {"variant": "plain", "epsilon": np.inf, "delta": 0.0, "delivered_epsilon": np.inf}
    fw: dict[str, Any] = {"learner": "private-fw", "experiment": "lasso-samples", "stream": "lasso-easy",
                          "set": "l1-ball"}  # fmt: skip
    large = by_samples(2**k for k in range(12, 21))
    l1: dict[str, Any] = {"experiment": "l1-dimension", "set": "l1-ball"}
    powers = [{"dimension": 2**k, "width": np.sqrt(2 * k)} for k in range(4, 13)]
    frames = [
        risk_frame(rate(-1), by_samples()),
        risk_frame(rate(-1, 100), by_samples(), variant="printed"),
        risk_frame(constant(1.0), by_samples(), spread=0.0, **plain, learner="stay-at-zero"),
        risk_frame(rate(-2 / 3, 200), large, **fw),
        risk_frame(constant(0.27), large, delivered_epsilon=2.07, **fw, variant="printed"),
        risk_frame(constant(1e-5), large, **{**fw, **plain, "learner": "fw"}),
        risk_frame(lambda row: 0.01 * np.log(2 * row["dimension"]), powers, learner="noisy-eg", **l1),
        risk_frame(lambda row: 0.002 * row["dimension"] ** 0.5, powers, **l1),
    ]
    for stream in ("diabetes-risk", "digits-risk"):
        real: dict[str, Any] = {"experiment": "real-digits", "stream": stream}
        frames.append(risk_frame(constant(0.1), [{"epsilon": 1.0}, {"epsilon": 4.0}], **real))
        frames.append(risk_frame(constant(1e-4), [{}], **plain, **real, learner="projected-gradient"))
    return pd.concat(frames, ignore_index=True)
