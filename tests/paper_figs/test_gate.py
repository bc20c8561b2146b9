from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpregret.paper_figs.gate import GateError, compare, main, simulate_gate


def reference(count: int = 10, half: float = 0.02) -> pd.DataFrame:
    rows = [
        {"claim": f"c{index}", "learner": "l", "variant": "v", "experiment": "e", "stream": "s",
         "parameter": "horizon", "response": "regret", "fitted": 0.5, "fitted_low": 0.5 - half,
         "fitted_high": 0.5 + half, "runs": 16}
        for index in range(count)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_equal_files_pass_and_a_drift_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    reference().to_csv(old, index=False)
    reference().to_csv(new, index=False)
    assert main(["compare", str(new), str(old)]) == 0
    drifted = reference()
    drifted.loc[3, "fitted"] += 0.15
    drifted.to_csv(new, index=False)
    assert main(["compare", str(new), str(old)]) == 1
    output = capsys.readouterr()
    assert "c3" in output.err
    assert "moved" in output.out
    assert main(["compare", str(tmp_path / "none.csv"), str(old)]) == 2


def test_a_vanished_exponent_fails_and_a_changed_claim_is_refused() -> None:
    gone = reference().assign(fitted=float("nan"))
    assert set(compare(gone, reference())["status"]) == {"missing"}
    assert set(compare(reference().iloc[:0], reference())["status"]) == {"missing"}
    with pytest.raises(GateError, match="another stream"):
        compare(reference().assign(stream="t"), reference())
    with pytest.raises(GateError, match="no fitted exponent"):
        compare(reference(), gone)


def test_allowance_grows_with_the_number_of_exponents() -> None:
    few, many = (compare(reference(count), reference(count))["allowed"].iloc[0] for count in (1, 50))
    assert many > few


def test_false_alarms_keep_their_rate_and_a_drift_is_noticed() -> None:
    loud = simulate_gate(false_alarm=0.1, common=0.0)
    assert loud.false_alarm <= 0.1 + 3 * (0.1 * 0.9 / 400) ** 0.5
    paired, independent = (simulate_gate(common=share) for share in (0.9, 0.0))
    assert paired.false_alarm == 0.0
    assert paired.power > 0.95
    assert independent.power > 0.9
    assert independent.false_alarm <= 0.02 + 3 * (0.02 * 0.98 / 400) ** 0.5


def test_without_noise_only_rounding_is_forgiven() -> None:
    exact = reference(half=0.0)
    assert set(compare(exact.assign(fitted=0.5 + 1e-7), exact)["status"]) == {"ok"}
    assert set(compare(exact.assign(fitted=0.501), exact)["status"]) == {"moved"}


@pytest.mark.parametrize("count", [1, 10])
def test_allowance_is_the_stated_quantile(count: int) -> None:
    """q sqrt(2) s: s from the reference's 95 % interval, q for a rate of 1 % over all exponents, both of a t law."""
    law = stats.t(15)
    error = 0.02 / law.ppf(0.975)
    wanted = law.ppf(1 - 0.01 / (2 * count)) * np.sqrt(2) * error + 2e-5
    assert compare(reference(count), reference(count))["allowed"].tolist() == pytest.approx([wanted] * count)


@pytest.mark.parametrize("column", ["learner", "variant", "experiment", "stream", "parameter", "response"])
def test_a_claim_that_measures_something_else_is_refused(column: str) -> None:
    changed = reference().assign(**{column: "other"})
    with pytest.raises(GateError, match=f"claim 'c0' has another {column} than the reference"):
        compare(changed, reference())


def test_claims_without_an_exponent_in_the_reference_are_left_out() -> None:
    old = reference()
    old.loc[0, "fitted"] = float("nan")
    found = compare(reference(), old)
    assert found["claim"].tolist() == [f"c{number}" for number in range(1, 10)]
    assert set(found["status"]) == {"ok"}


def test_the_same_claim_twice_is_refused() -> None:
    for pair in ((pd.concat([reference(), reference()]), reference()), (reference(), pd.concat([reference()] * 2))):
        with pytest.raises(GateError, match="claim 'c0' stands twice"):
            compare(*pair)


def test_what_is_printed_counts_the_exponents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, fitted in (("old", 0.5), ("new", 0.9)):
        frame = reference()
        frame.loc[3, "fitted"] = fitted
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    assert main(["compare", str(tmp_path / "new.csv"), str(tmp_path / "old.csv"), "--false-alarm", "0.5"]) == 1
    printed = capsys.readouterr()
    assert printed.out.endswith("9 of 10 exponents agree with the reference\n")
    assert "   c3     0.5000   0.9000  0.4000" in printed.out
    assert printed.err == "gate: moved or missing: c3\n"


def test_simulations_are_the_same_every_time_and_know_the_direction_of_a_drift() -> None:
    settings = {"runs": 8, "spread": 0.3, "exponents": 3, "simulations": 60}
    assert simulate_gate(**settings) == simulate_gate(**settings)
    assert simulate_gate(**settings, seed=8) != simulate_gate(**settings)
    powers = [simulate_gate(**settings, drift=drift).power for drift in (0.0, 0.1, 0.3)]
    assert powers[0] < 0.1 < powers[1] < powers[2]
