"""Laws in delta: planted powers of ln(1/delta), ln(T/delta) and ln(n/delta) are told apart."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from dpregret.paper_figs.judge.verdicts import judge
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim

DELTAS = (1e-3, 1e-6, 1e-12, 1e-24, 1e-48)


def runs_like(power: float, over: float) -> pd.DataFrame:
    """Regret ln(over / delta)^power at T = 4096."""
    frames = []
    for delta in DELTAS:
        size = np.log(over / delta) ** power
        frame = Sweep(lambda checkpoints, value, size=size: size + 0 * checkpoints, values=(4096,)).frame()
        frames.append(frame.assign(delta=delta, trivial_regret=1e9))
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
    claim = make_claim(parameter="delta", rate=rate, response="regret", counterpart=None)
    found = judge(runs_like(power, over), claim)
    assert found.verdict == verdict
    assert found.cells_used.split("; ")[-1] == "1e+48"


def test_a_rate_in_delta_has_its_own_symbol() -> None:
    with pytest.raises(ValidationError, match=r"parameter delta sweeps \(ln 1/delta\)"):
        make_claim(parameter="delta", rate="(ln 1/beta)", response="regret")
    with pytest.raises(ValidationError, match=r"no logarithm of d/beta"):
        make_claim(parameter="delta", rate="ln(d/beta)", response="regret")
