"""Quantiles over runs as responses, and laws in beta, in mu and with the exact number of nodes."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from dpregret.paper_figs.judge.cells import BATCH, ODDS, mean_root, quantiles
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.rates import parse
from dpregret.paper_figs.judge.verdicts import judge
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim


def runs_of(tail: str, count: int, dimension: int = 4) -> pd.DataFrame:
    """One setting at T = 64; regret 100 + 1000 times a power of an exponential variable."""
    frame = Sweep(lambda checkpoints, value: 0 * checkpoints + 100.0, runs=count, values=(64,), experiment="tails")
    rows = frame.frame()
    rows = rows.loc[rows["checkpoint"] == rows["horizon"]].reset_index(drop=True)
    drawn = np.random.default_rng(7).exponential(size=len(rows))
    regret = {"exponential": drawn, "root": np.sqrt(drawn), "constant": 1 + 0.001 * drawn}[tail]
    return rows.assign(regret=1e-3 * regret, trivial_regret=1e6, dimension=dimension)


def claim(rate: str) -> Claim:
    return make_claim(experiment="tails", parameter="beta", response="regret", rate=rate, counterpart=None)


@pytest.mark.parametrize(
    ("tail", "rate", "verdict"),
    [
        ("exponential", "(ln 1/beta)", "reproduced"), ("root", "(ln 1/beta)^0.5", "reproduced"),
        ("constant", "ln(d/beta)", "below bound"),
    ],
)  # fmt: skip
def test_planted_tails_get_their_verdicts(tail: str, rate: str, verdict: str) -> None:
    found = judge(runs_of(tail, 40 * BATCH), claim(rate))
    assert found.verdict == verdict
    assert found.runs == 40
    assert found.cells_used == "; ".join(str(odds) for odds in ODDS)


def test_quantiles_are_those_of_whole_batches() -> None:
    rows = runs_of("exponential", 2 * BATCH + 5).assign(response=lambda frame: frame["regret"])
    found = quantiles(rows)
    assert len(found) == 2 * len(ODDS)
    first = found.loc[(found["run"] == 0) & (found["odds"] == 8), "response"].item()
    assert first == pytest.approx(np.quantile(rows.loc[rows["run"] < BATCH, "response"], 1 - 1 / 8))
    failed = quantiles(rows.assign(status="failed"))
    assert set(failed["status"]) == {"failed"}


def test_rates_with_the_number_of_nodes_are_read_and_belong_to_windows() -> None:
    rate = parse("(log2 W + 1)^0.5 A_W")
    assert (rate.power, rate.nodes, str(rate)) == (0.5, True, "(log2 W + 1)^0.5 A_W")
    with pytest.raises(ValidationError, match="A_W is a factor of parameter window only"):
        make_claim(parameter="dimension", rate="d A_W")


@pytest.mark.parametrize(("power", "rate"), [(1.0, "(log2 W + 1) A_W"), (0.5, "(log2 W + 1)^0.5 A_W")])
def test_the_exact_law_of_the_tree_is_met_without_a_slope_left(power: float, rate: str) -> None:
    windows = (1.0, 2.0, 4.0, 8.0, 64.0, 1024.0)

    def law(checkpoints: np.ndarray, window: float) -> np.ndarray:
        nodes = float(mean_root(np.array([window]))[0])
        return np.asarray((np.log2(window) + 1) ** power * nodes * np.log(checkpoints))

    frame = Sweep(law, parameter="window", values=windows, experiment="window").frame()
    found = judge(frame, make_claim(experiment="window", parameter="window", rate=rate, response="log_slope"))
    assert found.normalised == pytest.approx(0.0, abs=1e-9)


def test_regret_like_one_over_mu_is_told_from_regret_that_does_not_care() -> None:
    frames = []
    for mu in (0.01, 0.02, 0.04, 0.08):
        frame = Sweep(lambda checkpoints, value, mu=mu: np.log(checkpoints) / mu, values=(4096,)).frame()
        frames.append(frame.assign(strong_convexity=mu, trivial_regret=1e9))
    runs = pd.concat(frames, ignore_index=True)
    found = judge(runs, make_claim(parameter="convexity", rate="mu^-1", response="log_slope"))
    assert (found.verdict, found.fitted) == ("reproduced", pytest.approx(-1.0, abs=1e-9))
    assert judge(runs, make_claim(parameter="convexity", rate="mu^-2", response="log_slope")).verdict == "below bound"
