"""The validation at a small size, and stated resolutions against brute force: a law that is off by just that."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpregret.paper_figs.judge.cells import collect_cells
from dpregret.paper_figs.judge.verdicts import AIM, NOTICED, Judgement, critical_value, judge, log_leverage, rate_of
from dpregret.paper_figs.validation import simulate
from dpregret.paper_figs.validation.simulate import Sweep, make_claim


def otherwise(found: Judgement, tolerance: float = 0.1) -> bool:
    """Whether the interval lies beyond the tolerance; a power of a logarithm that is off also bends the law."""
    return found.normalised.low > tolerance or found.normalised.high < -tolerance


@pytest.mark.parametrize("runs", [3, 7, 16, 41])
def test_reach_is_what_brute_force_finds(runs: int) -> None:
    """Normal slopes at an offset, with estimated errors, twice: what one states, the other notices on the far side."""
    generator = np.random.default_rng(runs)
    freedom, count = runs - 1, 200_000
    stated, found = (np.sqrt(generator.chisquare(freedom, count) / freedom) for _ in range(2))
    offset = 0.07 + 0.01 * generator.normal(size=(2, count))
    change = 0.1 + np.abs(offset[0]) + 0.01 * critical_value(runs) * stated
    noticed = (offset[1] - change + 0.01 * stats.t.ppf(0.975, freedom) * found < -0.1).mean()
    assert noticed == pytest.approx(AIM, abs=0.003)


def test_many_runs_need_the_sum_of_two_normal_quantiles() -> None:
    assert critical_value(20_000) == pytest.approx(stats.norm.ppf(0.975) + np.sqrt(2) * stats.norm.ppf(AIM), abs=5e-3)
    reaches = [critical_value(runs) for runs in (2, 3, 5, 9, 33)]
    assert reaches == sorted(reaches, reverse=True)


@pytest.mark.parametrize("runs", [2, 16])
def test_the_scatter_of_the_cells_resolves_alike_whatever_the_runs(runs: int) -> None:
    """Its error has cells - 2 degrees of freedom, however many runs agree in each cell."""

    def law(checkpoints: np.ndarray, value: float) -> np.ndarray:
        return checkpoints**0.51 * (1 + 0.05 * (-1.0) ** np.log2(checkpoints))

    found = judge(Sweep(law, spread=0.0, runs=runs).frame(), make_claim())
    assert (found.interval_over, found.runs) == ("cells", runs)
    horizons = np.array(found.cells_used.split("; "), dtype=float)
    line = stats.linregress(np.log(horizons), np.log(law(horizons, 0) / horizons**0.5))
    change = 0.1 + abs(line.slope) + critical_value(len(horizons) - 1) * line.stderr
    assert found.resolution == pytest.approx(change, rel=1e-6)


def test_a_slope_that_sits_off_has_further_to_go_to_the_other_side() -> None:
    claim = make_claim(tol=0.03, tol_reason="no noise")
    sits = judge(Sweep(lambda t, v: t**0.52, spread=0.0).frame(), claim)
    assert (sits.verdict, sits.resolution) == ("reproduced", pytest.approx(0.05))
    outside = judge(Sweep(lambda t, v: t**0.3, spread=0.0).frame(), claim)
    assert outside.resolution == pytest.approx(0.06), "beyond the tolerance the offset counts no further"
    for change, noticed in ((0.0499, False), (0.0501, True)):
        off = Sweep(lambda t, v, less=change: t ** (0.52 - less), spread=0.0, seed=2)
        assert otherwise(judge(off.frame(), claim), 0.03) == noticed


LAWS: list[tuple[dict[str, Any], Any, Any]] = [
    ({"rate": "T^0.5 ln T"}, lambda t, v: t**0.5 * np.log(t), lambda t, v: np.log(t)),
    ({"rate": "T^0.5"}, lambda t, v: t**0.5, lambda t, v: np.log(t)),
    ({"rate": "T^0.5 ln(T/delta)^2"}, lambda t, v: t**0.5 * np.log(t / 1e-6) ** 2, lambda t, v: np.log(t / 1e-6)),
    (
        {"rate": "d", "parameter": "dimension", "experiment": "dimension"},
        lambda t, v: 1e-2 * v * t**0.3,
        lambda t, v: np.log2(v),
    ),
]


@pytest.mark.parametrize(("changes", "law", "log"), LAWS)
def test_the_resolution_of_the_logarithm_is_where_the_verdict_turns(
    changes: dict[str, Any], law: Any, log: Any
) -> None:
    """Runs differ by a level: a little less than the stated powers of the logarithm is not noticed, more is."""
    claim = make_claim(**changes)
    grid = {"experiment": claim.experiment, "parameter": claim.parameter, "spread": 0.1, "stay": 1e300}
    values = {"values": (2, 3, 5, 8, 13, 21)} if claim.parameter == "dimension" else {}

    def judged(powers: float) -> bool:
        sweep = Sweep(lambda t, v: law(t, v) * log(t, v) ** powers, **grid, **values)  # type: ignore[arg-type]
        return otherwise(judge(sweep.frame().assign(bound=np.nan), claim))

    stated = judge(Sweep(law, **grid, **values).frame(), claim).resolution_log  # type: ignore[arg-type]
    assert 0 < stated < 5
    assert judged(1.001 * stated)
    assert judged(-1.001 * stated)
    assert not judged(0.999 * stated)
    assert not judged(-0.999 * stated)


def test_the_logarithm_of_a_log_slope_is_differenced_like_the_response() -> None:
    claim = make_claim(response="log_slope", rate="ln T")
    cells = collect_cells(Sweep(lambda t, v: 5 * np.log(t)).frame(), claim).fitted()
    law = (np.log(cells.values) ** 2 - np.log(cells.values / 8) ** 2) / np.log(8)
    axis = np.log(cells.values)
    assert log_leverage(claim, rate_of(claim), cells) == pytest.approx(np.polyfit(axis, np.log(law), 1)[0])


@pytest.mark.parametrize(
    ("parameter", "rate"), [("window", "(log2 W + 1)"), ("epsilon", "eps^-1"), ("mu", "mu_gdp^-1")]
)
def test_parameters_without_a_logarithm_have_no_resolution_of_one(parameter: str, rate: str) -> None:
    sweep = Sweep(lambda t, v: t**0.3 * v**-1.0, experiment="e", parameter=parameter, values=(1, 2, 4, 8, 16))
    found = judge(sweep.frame(), make_claim(parameter=parameter, rate=rate, experiment="e"))
    assert (found.resolution > 0, np.isnan(found.resolution_log)) == (True, True)


def test_a_logarithm_that_is_not_resolved_is_said() -> None:
    law = Sweep(lambda t, v: 0.05 * t**0.5 * np.log(t / 1e-6)).frame()
    for runs, changes, verdict in (
        (law, {}, "reproduced up to logs"),
        (law.assign(tight=False), {}, "consistent on typical data"),
        (law, {"tol": 0.01, "tol_reason": "no noise to speak of"}, "reproduced"),
        (Sweep(lambda t, v: 0.01 * np.log(t / 1e-6)).frame(), {"rate": "ln(T/delta)"}, "reproduced up to logs"),
    ):
        found = judge(runs, make_claim(**{"rate": "T^0.5 ln(T/delta)", **changes}))
        resolved = "log power not resolved" not in found.reason
        assert (found.verdict, found.resolution_log < 1) == (verdict, resolved)


def test_an_exact_accountant_resolves_a_factor_of_eps() -> None:
    for off, verdict in ((1 + 2e-6, "violated"), (1 + 5e-7, "reproduced")):
        found = judge(Sweep(lambda t, v: t**0.5, delivered=off).frame(), make_claim(type="private", rate=None))
        assert (found.verdict, found.resolution, found.resolution_of) == (verdict, 1e-6, "factor of eps")


def test_stated_resolutions_are_noticed_as_often_as_they_say() -> None:
    found = simulate.resolutions(600)
    assert len(found) == 12 * len(simulate.OFFSETS)
    shares = found.groupby("offset")[["noticed_power", "noticed_log"]].mean().mean(axis=1)
    assert shares[0.05] == pytest.approx(0.967, abs=0.01)
    assert shares[0.0] == pytest.approx(0.989, abs=0.01)
    assert (found[["noticed_power_high", "noticed_log_high"]] >= NOTICED).all(axis=None)
    assert (found["resolution"] > 0.1).all()
    wide: pd.Series[float] = found.set_index(["runs", "spread", "cells", "offset"])["resolution"]
    assert wide[6, 0.5, 4, 0] > wide[6, 0.1, 4, 0] > wide[32, 0.1, 4, 0] > wide[32, 0.1, 8, 0]
    assert wide[32, 0.1, 8, 0.05] == pytest.approx(wide[32, 0.1, 8, 0] + 0.05, abs=0.01)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    found = simulate.intervals(600)
    assert len(found) == 12
    assert found["coverage"].mean() == pytest.approx(0.945, abs=0.01)
    assert found["coverage"].between(0.915, 0.98).all()  # 600 simulations: a standard error of 0.9 %
    assert found["error"].abs().max() < 0.01
    wide = found.set_index(["runs", "spread", "cells"])["half_width"]
    assert wide[8, 0.5, 4] > wide[8, 0.2, 4] > wide[32, 0.2, 4] > wide[32, 0.2, 8]


def test_planted_curves_get_the_verdict_that_they_deserve() -> None:
    found = simulate.verdicts(10).set_index("curve")
    assert set(found.index) == set(simulate.CASES)
    assert (found["right"] >= 0.9).all(), found


def test_a_curve_that_deserves_another_verdict_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"liar": simulate.Case(lambda checkpoints, value: 3 * checkpoints**0.3, "violated")}
    monkeypatch.setattr(simulate, "CASES", wrong)
    found = simulate.verdicts(2)
    assert found[["right", "else"]].to_numpy().tolist() == [[0.0, "below bound"]]


def test_tables_are_the_same_every_time(tmp_path: Path) -> None:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        simulate.write_validation(folder, 4)
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == two
    assert set(one) == {f"{name}.{form}" for name in simulate.CAPTIONS for form in ("csv", "md")}
