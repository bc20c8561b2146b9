"""Laws in every parameter are told from their neighbours: delta, beta, windows, strong convexity, Landau's constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpregret.paper_figs.judge.cells import BATCH, ODDS, mean_root, quantiles
from dpregret.paper_figs.judge.verdicts import judge
from dpregret.paper_figs.validation.simulate import Sweep, make_claim

WINDOWS = (1, 2, 4, 8, 64, 1024)


def swept(column: str, values: tuple[float, ...], law: Any) -> pd.DataFrame:
    """Regret law(T, value) of runs up to T = 4096."""
    frames = []
    for value in values:
        frame = Sweep(lambda checkpoints, _, value=value: law(checkpoints, value) + 0 * checkpoints, values=(4096,))
        frames.append(frame.frame().assign(**{column: value, "trivial_regret": 1e9}))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize(
    ("power", "over", "rate", "verdict"),
    [
        (1.0, 1.0, "(ln 1/delta)", "reproduced"), (0.5, 1.0, "(ln 1/delta)", "below bound"),
        (1.25, 1.0, "(ln 1/delta)", "steeper"), (2.0, 4096.0, "ln(T/delta)^2", "reproduced"),
        (1.5, 4096.0, "ln(T/delta)^2", "below bound"), (2.5, 4096.0, "ln(T/delta)^2", "steeper"),
        (1.0, 4096.0, "ln(n/delta)", "reproduced"), (0.5, 4096.0, "ln(n/delta)", "below bound"),
    ],
)  # fmt: skip
def test_planted_laws_in_delta_get_their_verdicts(power: float, over: float, rate: str, verdict: str) -> None:
    runs = swept("delta", (1e-3, 1e-6, 1e-12, 1e-24, 1e-48), lambda _, delta: np.log(over / delta) ** power)
    found = judge(runs, make_claim(parameter="delta", rate=rate, response="regret"))
    assert (found.verdict, found.cells_used.split("; ")[-1]) == (verdict, "1e+48")


def test_regret_like_one_over_mu_is_told_from_regret_that_does_not_care() -> None:
    runs = swept("strong_convexity", (0.01, 0.02, 0.04, 0.08), lambda checkpoints, mu: np.log(checkpoints) / mu)
    found = judge(runs, make_claim(parameter="convexity", rate="mu^-1", response="log_slope"))
    assert (found.verdict, found.fitted) == ("reproduced", pytest.approx(-1.0, abs=1e-9))
    assert judge(runs, make_claim(parameter="convexity", rate="mu^-2", response="log_slope")).verdict == "below bound"


def nodes(window: float) -> float:
    return float(mean_root(np.array([window]))[0])


@pytest.mark.parametrize(
    ("rate", "law"),
    [
        ("(log2 W + 1)^1.5", lambda window: (np.log2(window) + 1) ** 1.5),
        ("(log2 W + 1) A_W", lambda window: (np.log2(window) + 1) * nodes(window)),
        ("(log2 W + 1)^0.5 A_W", lambda window: (np.log2(window) + 1) ** 0.5 * nodes(window)),
    ],
)
def test_laws_in_the_window_are_met_without_a_slope_left(rate: str, law: Any) -> None:
    runs = Sweep(lambda checkpoints, window: law(window) * np.log(checkpoints), parameter="window",
                 values=WINDOWS, experiment="window").frame()  # fmt: skip
    claim = make_claim(
        experiment="window", parameter="window", rate=rate, response="log_slope", asymptotic_from={"windows": 16}
    )  # fmt: skip
    found = judge(runs, claim)
    assert found.normalised == pytest.approx(0.0, abs=1e-9)
    assert found.cells_excluded == "pre-asymptotic: 1024"  # at T / 8, where the slope starts


@pytest.mark.parametrize(
    ("rate", "response", "law"),
    [
        ("T^0.5 ln(T/delta)^2", "regret", lambda t, value: 1e-3 * np.sqrt(t) * np.log(t / 1e-6) ** 2),
        ("ln(T)^2.5", "log_slope", lambda t, value: np.log(t) ** 2.5),
    ],
)
def test_logarithms_are_divided_out(rate: str, response: str, law: Any) -> None:
    found = judge(Sweep(law).frame(), make_claim(rate=rate, response=response))
    assert found.normalised == pytest.approx(0.0, abs=1e-9)


def tailed(tail: str, count: int) -> pd.DataFrame:
    """One setting at T = 64; regret a power of an exponential variable."""
    sweep = Sweep(lambda checkpoints, value: 0 * checkpoints + 100.0, runs=count, values=(64,), experiment="tails")
    rows = sweep.frame()
    rows = rows.loc[rows["checkpoint"] == rows["horizon"]].reset_index(drop=True)
    drawn = np.random.default_rng(7).exponential(size=len(rows))
    regret = {"exponential": drawn, "root": np.sqrt(drawn), "constant": 1 + 0.001 * drawn}[tail]
    return rows.assign(regret=1e-3 * regret, trivial_regret=1e6)


@pytest.mark.parametrize(
    ("tail", "rate", "verdict"),
    [
        ("exponential", "(ln 1/beta)", "reproduced"),
        ("root", "(ln 1/beta)^0.5", "reproduced"),
        ("constant", "ln(d/beta)", "below bound"),
    ],
)
def test_planted_tails_get_their_verdicts(tail: str, rate: str, verdict: str) -> None:
    claim = make_claim(experiment="tails", parameter="beta", response="regret", rate=rate)
    found = judge(tailed(tail, 40 * BATCH), claim)
    assert (found.verdict, found.runs, found.cells_used) == (verdict, 40, "; ".join(map(str, ODDS)))


def test_quantiles_are_those_of_whole_batches() -> None:
    rows = tailed("exponential", 2 * BATCH + 5).assign(response=lambda frame: frame["regret"])
    found = quantiles(rows)
    assert len(found) == 2 * len(ODDS)
    first = found.loc[(found["run"] == 0) & (found["odds"] == 8), "response"].item()
    assert first == pytest.approx(np.quantile(rows.loc[rows["run"] < BATCH, "response"], 1 - 1 / 8))
    assert set(quantiles(rows.assign(status="failed"))["status"]) == {"failed"}
