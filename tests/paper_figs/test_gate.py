from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

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
