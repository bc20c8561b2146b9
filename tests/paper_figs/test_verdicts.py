"""The rules of verdicts: planted curves get the verdict that they deserve, in every parameter, for the right reason."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted import logarithmic, root

from dpregret.algorithms.privacy.series import landau as landau_of
from dpregret.paper_figs.figures.compare import crossover
from dpregret.paper_figs.figures.grammar import Source, Theme
from dpregret.paper_figs.judge import cells, result_tables
from dpregret.paper_figs.judge.cells import BATCH, ODDS, best_regularisation, collect_cells, mean_root, quantiles
from dpregret.paper_figs.judge.claims import Claim, ClaimsError, ClaimsFile, FigureEntry, Gain, Measure
from dpregret.paper_figs.judge.fits import Estimate, mean_interval
from dpregret.paper_figs.judge.result_tables import ExactLoss, gains, ratio, write_exact_losses, write_gains
from dpregret.paper_figs.judge.runs import check_columns, rows_at
from dpregret.paper_figs.judge.verdicts import Judgement, decide, judge, judge_claims, rate_text
from dpregret.paper_figs.judge.vocabulary import SEEN_HERE, STEEPER, STEEPER_HELD, VALUE_COLUMN
from dpregret.paper_figs.tables.write_tables import measure
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.validation.simulate import Sweep, make_claim

Law = Callable[[np.ndarray, float], np.ndarray]
BELOW: dict[str, Any] = {"type": "below", "bound": "explicit", "rate": None}
PRIVATE: dict[str, Any] = {"type": "private", "rate": None}
CHECK: dict[str, Any] = {"check": "the stream dictates it"}
FREE: dict[str, object] = {"window": 2**15, "epsilon": np.inf}


def together(*sweeps: Sweep) -> pd.DataFrame:
    return pd.concat([sweep.frame() for sweep in sweeps], ignore_index=True)


def verdict(runs: pd.DataFrame, **changes: Any) -> str:
    return judge(runs, make_claim(**changes)).verdict


@pytest.mark.parametrize("text", [True, False])
def test_every_column_reads_back_as_it_was_judged(text: bool, tmp_path: Path) -> None:
    frame = Sweep(root, scatter=0.1).frame()
    changes: dict[str, dict[str, Any]] = {
        "whole": {"errata": ["L1"]}, "absent": {"experiment": "elsewhere"}, "logarithm": {"rate": "ln T"},
        "kept": PRIVATE, "dictated": CHECK, "held": BELOW,
    }  # fmt: skip
    claims = [make_claim(id=name, **each) for name, each in changes.items()]
    judged = judge_claims(frame, ClaimsFile.model_construct(claims=tuple(claims)), {"horizon"})
    result_tables.write_judged(judged, tmp_path)
    lines = result_tables.read_judged(tmp_path, text=text)
    assert lines["kind"].tolist() == ["claim"] * 4 + ["check"] * 2
    assert judged["fitted"].tolist()[0] == pytest.approx(judge(frame, claims[0]).fitted.value, abs=1e-9)
    for name in judged.columns.drop("why"):
        shown = lines[name].replace("", np.nan)
        if pd.api.types.is_numeric_dtype(judged[name]):
            np.testing.assert_allclose(pd.to_numeric(shown), judged[name], rtol=1e-5, atol=1e-8, err_msg=name)
        else:
            assert shown.fillna("").tolist() == judged[name].tolist(), name
    assert lines["why"].tolist()[4:] == [CHECK["check"], "an explicit bound"]


def test_a_matching_law_on_a_tight_stream_is_reproduced() -> None:
    found = judge(Sweep(root).frame(), make_claim())
    assert (found.verdict, found.runs) == ("reproduced", 16)
    assert found.fitted.value == pytest.approx(0.5, abs=1e-9)
    assert found.cells_used == "256; 512; 1024; 2048; 4096; 8192; 16384; 32768"
    assert found.cells_excluded == "pre-asymptotic: 16; 32; 64; 128"
    explicit = judge(Sweep(root).frame(), make_claim(bound="explicit"))
    assert (explicit.verdict, explicit.normalised.value) == ("reproduced", pytest.approx(0.0, abs=1e-9))


@pytest.mark.parametrize(("moved", "ends"), [(0.749, "[0.000, 0.116]"), (-0.749, "[-0.116, 0.000]")])
def test_a_slope_that_needs_an_end_cell_is_no_power_of_the_parameter(moved: float, ends: str) -> None:
    """The last cell moves the slope by 0.09 from its law, within the tolerance; without the first it is 0.116."""
    law = Sweep(lambda checkpoints, _: np.sqrt(checkpoints) * np.where(checkpoints == 2**15, np.exp(moved), 1.0))
    found = judge(law.frame(), make_claim())
    assert found.verdict == "inconclusive"
    assert f"but not without an end cell: {ends}" in found.reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, SEEN_HERE), ({"scope": "instance"}, SEEN_HERE), ({"origin": "derived"}, SEEN_HERE),
        ({"scope": "instance", "origin": "derived"}, "reproduced"), ({"origin": "baseline"}, SEEN_HERE),
        ({"scope": "instance", "origin": "baseline"}, "reproduced"), ({"response": "noise"}, "reproduced"),
    ],
)  # fmt: skip
def test_the_same_on_an_easy_stream_proves_nothing(changes: dict[str, Any], said: str) -> None:
    runs = Sweep(root, tight=False).frame()
    assert verdict(runs.assign(noise_norm=np.sqrt(runs["checkpoint"])), **changes) == said


@pytest.mark.parametrize(
    ("changes", "rule", "said"),
    [
        ({"displacement": lambda checkpoints, value: 8192.0 / checkpoints}, {}, "saturated: 16; 32;"),
        ({"stay": 0.01}, {}, "saturated: 16; 32;"),
        ({"stay": 0.0}, {}, "saturated: 16; 32;"),  # who stays has no regret: no T is long enough
        ({}, {"windows": 1024}, "pre-asymptotic: 16; 32;"),
    ],
)
def test_saturated_and_early_cells_are_kept_marked_and_not_fitted(changes: Any, rule: Any, said: str) -> None:
    found = judge(Sweep(root, **changes).frame(), make_claim(asymptotic_from=rule))
    assert (found.verdict, np.isnan(found.fitted.value)) == ("inconclusive", True)
    assert found.cells_excluded.startswith(said)
    late = Sweep(root, displacement=lambda checkpoints, value: 100.0 / checkpoints).frame()
    cells = collect_cells(late, make_claim(asymptotic_from={"noise_times": 30}))
    assert list(cells.values[cells.used]) == [4096.0, 8192.0, 16384.0, 32768.0]


def test_log_slope_of_logarithmic_regret_is_constant() -> None:
    claim, runs = make_claim(response="log_slope", rate="ln T"), Sweep(logarithmic).frame()
    found = judge(runs, claim)
    assert (found.verdict, found.fitted.value) == ("reproduced", pytest.approx(0.0, abs=1e-9))
    assert (found.delta_aic > 10, found.per_octave) == (True, pytest.approx(20 * np.log(2)))
    assert collect_cells(runs, claim).responses.mean(axis=0) == pytest.approx(20)
    assert judge(Sweep(root).frame(), make_claim(rate="ln T")).delta_aic < 0


def test_an_overhead_slope_recovers_its_power() -> None:
    common: dict[str, Any] = {"experiment": "mu", "parameter": "mu"}
    private = Sweep(lambda t, mu: 1 + (1 + 1 / mu) * np.log(t), values=(0.1, 0.2, 0.4, 0.8), **common)
    plain = Sweep(lambda t, _: 1 + np.log(t), learner="ftal", variant="plain", settings=FREE, experiment="mu")
    claim = make_claim(response="log_slope", counterpart="ftal", rate="mu_gdp^-1", **common)
    found = judge(together(private, plain), claim)
    assert (found.verdict, found.fitted.value) == ("reproduced", pytest.approx(-1.0, abs=0.02))


def test_growth_is_judged_towards_small_epsilon() -> None:
    """eps^-0.5 stays below eps^-1, although response / bound rises with eps; eps^-1 outgrows eps^-0.5."""
    grid: dict[str, Any] = {"experiment": "e", "parameter": "epsilon", "values": tuple(2.0**k for k in range(-3, 4))}

    def found(law: Law, rate: str, **changes: Any) -> Judgement:
        return judge(Sweep(law, **grid, **changes).frame(), make_claim(parameter="epsilon", experiment="e", rate=rate))

    slow = found(lambda t, value: value**-0.5 * np.log(t), "eps^-1")
    assert (slow.fitted.value, slow.normalised.value) == pytest.approx((-0.5, -0.5), abs=1e-9)
    assert slow.verdict == "below bound"
    bound: dict[str, Any] = {"spread": 0.0, "bound": lambda t, value: 64 * value**-0.5 * np.log(t)}
    assert found(lambda t, value: value**-1.0 * np.log(t), "eps^-0.5", **bound).verdict == STEEPER_HELD
    bent = found(lambda t, value: 1e-3 * t**0.3 * (value**-1.0 if value < 1 else value**-0.5), "eps^-1", spread=0.01)
    assert bent.late.value == pytest.approx(0, abs=0.05), "the half with the small eps"
    assert bent.bend.value > 0.3


def test_linear_regret_is_recognised_although_it_saturates() -> None:
    linear: dict[str, Any] = {"type": "linear", "rate": None, "scope": "instance"}
    assert verdict(Sweep(lambda checkpoints, value: 0.4 * checkpoints).frame(), **linear) == "reproduced"
    assert verdict(Sweep(root).frame(), **linear) == "below bound"


MIDDLE = 2.0**11.5


@pytest.mark.parametrize(
    ("early", "late", "verdict", "said"),
    [
        (0.2, 0.5, "inconclusive", "rises into the tolerance: not below the bound yet"),
        (0.0, 0.65, "inconclusive", "rises through the tolerance: not below the bound yet"),
        (0.9, 0.5, "inconclusive", "falls into the tolerance: not above the bound yet"),
        (1.1, 0.3, "inconclusive", "falls through the tolerance: not above the bound yet"),
        (0.6, 1.2, "inconclusive", "no power on this grid"),
        (0.62, 0.38, "inconclusive", "outside the tolerance: not one power on this grid"),
        (0.1, 0.3, "below bound", "the law bends: slope -0.400, then -0.200"),
    ],
)
def test_the_late_half_has_to_agree_with_the_whole(early: float, late: float, verdict: str, said: str) -> None:
    """A law of T with one power below the middle of the horizons, and another one above it."""
    law = Sweep(lambda t, value: 1e-3 * (t / MIDDLE) ** np.where(t < MIDDLE, early, late), spread=0.01)
    judged = judge(law.frame().assign(bound=np.nan), make_claim())
    assert (judged.verdict, said in judged.reason) == (verdict, True), judged.reason
    assert judged.late.value == pytest.approx(late - 0.5, abs=0.05)
    assert judged.bend.value == pytest.approx(late - early, abs=0.08)
    assert judged.interval_over == "runs"


def test_checks_hold_when_they_match_and_fail_on_either_side() -> None:
    runs, more = Sweep(root).frame(), Sweep(root, delivered=1.5).frame()
    stated = {**BELOW, "type": "stated"}
    for frame, changes, said in (
        (runs, {}, "holds"), (runs.assign(tight=False), {}, "holds"), (runs, {"rate": "T^0.75"}, "fails"),
        (runs, {"rate": "T^0.25"}, "fails"), (runs, {"from": 2**13}, "inconclusive"),
        (runs, {"experiment": "window"}, "not run"), (runs, stated, "holds"), (runs, PRIVATE, "holds"),
        (more, PRIVATE, "fails"), (more, {**PRIVATE, "accounting": "upper"}, "fails"),  # it is about the ledger
    ):  # fmt: skip
        assert verdict(frame, **CHECK, **changes) == said, changes
    assert verdict(runs, **stated) == "reproduced"
    exceeded = judge(runs.assign(bound=runs["bound"].where(runs["checkpoint"] < 2**14, 1.0)), make_claim(**stated))
    assert exceeded.verdict == "violated"
    assert exceeded.reason.endswith("exceeded at T = 16384; 32768")


def test_a_failure_probability_has_the_letter_of_its_paper() -> None:
    """A paper's ln(1/beta) is swept as delta; numbers of one cell have one form."""
    values = tuple(1e-1**power for power in (1, 2, 3, 6, 12, 24))
    grid: dict[str, Any] = {"experiment": "delta", "parameter": "delta", "values": values}
    runs = Sweep(
        lambda t, value: np.log(1 / value) + 0 * t, bound=lambda t, value: 0.5 * np.log(1 / value) + 0 * t, **grid
    )
    swept: dict[str, Any] = {"experiment": "delta", "parameter": "delta", "failure": "beta"}
    found = judge(runs.frame(), make_claim(**{**BELOW, "type": "stated"}, **swept))
    assert found.reason.endswith("exceeded at 1/beta = 10; 100; 1000; 1e+06; 1e+12; 1e+24")
    assert found.cells_used == "10; 100; 1000; 1e+06; 1e+12; 1e+24"
    assert rate_text(make_claim(rate="(ln 1/delta)^0.5", **swept)) == "(ln 1/beta)^0.5"
    with pytest.raises(ValueError, match="failure beta needs parameter delta, not horizon"):
        make_claim(failure="beta")


def steeper(bound: float, **changes: Any) -> tuple[str, str]:
    """A claim of T^0.3 beside regret of T^0.5 under a bound of `bound` T^0.3; the interval has no length."""
    runs = Sweep(root, bound=lambda checkpoints, value: bound * checkpoints**0.3, **{"spread": 0.0, **changes})
    found = judge(runs.frame(), make_claim(rate="T^0.3"))
    return found.verdict, found.reason.split("; ", 1)[1]


def test_a_steeper_slope_is_a_violation_only_where_the_bound_is_crossed() -> None:
    """T^0.5 meets c T^0.3 at T = c^5: 2^15 is the last cell."""
    last = 2.0**15
    assert steeper(7.9) == ("violated", "the explicit bound is crossed at T = 32768")
    near = steeper(7.9, spread=0.3, runs=3)  # the interval of the last mean holds the bound
    assert near == (STEEPER, "at up to 1 of the explicit bound, which an interval contains")
    assert steeper(1.001 * last**0.2) == (STEEPER_HELD, "at most 1 of the explicit bound")
    assert steeper(2.01 * last**0.2) == (STEEPER_HELD, "at most 0.5 of the explicit bound")
    assert steeper(2.0**10)[0] == STEEPER_HELD
    assert steeper(np.nan) == (STEEPER, "there is no explicit bound to compare with")


def test_an_overhead_is_held_against_the_bound_of_all_regret() -> None:
    """The overhead grows faster than claimed; crossed is the bound when the whole regret is above it."""
    private = Sweep(lambda t, v: 10 * t**0.25 + 0.01 * t**0.5, spread=0.0)
    clean = Sweep(lambda t, v: 10 * t**0.25, learner="ftal", variant="plain", spread=0.0, settings=FREE)
    runs = together(private, clean)
    claim = make_claim(response="overhead", counterpart="ftal", rate="T^0.25")
    assert judge(runs.assign(bound=20 * runs["checkpoint"] ** 0.25), claim).verdict == STEEPER_HELD
    near = judge(runs.assign(bound=10.01 * runs["checkpoint"] ** 0.25), claim)
    assert (near.verdict, "crossed at T = " in near.reason) == ("violated", True)


def test_joint_intervals_decide_about_explicit_bounds() -> None:
    """Twelve intervals hold together with 95 %: a bound between the single and the joint one decides nothing."""
    claim = make_claim(**BELOW)
    assert judge(Sweep(root, bound_factor=np.nan).frame(), claim).reason == "the runs carry no explicit bound"
    frame = Sweep(root, scatter=0.3, spread=0.0, seed=3).frame()
    worst = collect_cells(frame, claim).responses[:, -1]
    single, joint = (mean_interval(worst, count).high for count in (1, 12))
    last = frame["checkpoint"] == frame["checkpoint"].max()

    def verdict(bound: float) -> str:
        return judge(frame.assign(bound=frame["bound"].where(~last, bound)), claim).verdict

    assert verdict((single + joint) / 2) == "inconclusive"
    assert verdict(joint * 1.001) == "holds"
    assert verdict(worst.mean() * 0.999) == "inconclusive"  # the mean is above it, its interval not


def test_privacy_is_judged_by_what_is_delivered() -> None:
    runs = Sweep(root).frame()
    assert verdict(runs, **PRIVATE) == "reproduced"
    assert verdict(Sweep(root, delivered=10 / 9).frame(), **PRIVATE) == "violated"
    one = runs.assign(delivered_epsilon=np.where(runs["run"] == 0, 9.0, 4.0))  # below eps on the mean
    assert verdict(one, **PRIVATE) == "violated"
    assert verdict(Sweep(root, delivered=1.5).frame(), **PRIVATE, accounting="upper") == "inconclusive"
    assert verdict(runs.assign(delivered_epsilon=np.inf), **PRIVATE) == "inconclusive"


def test_a_claim_on_records_is_judged_by_the_epsilon_of_a_record() -> None:
    """A stream that repeats its records: a claim on rounds names what a record loses, a claim on records needs it."""
    runs = Sweep(root).frame()
    assert verdict(runs, **PRIVATE, unit="record") == "reproduced"  # every round has its own record
    repeated = check_columns(runs.assign(participations=26, record_epsilon=66.8), "as files are read")
    of_round = judge(repeated, make_claim(**PRIVATE))
    assert of_round.verdict == "reproduced"
    assert "of a round; a record in 26 rounds: at most 8.35 times" in of_round.reason
    assert verdict(repeated, **PRIVATE, unit="record") == "inconclusive"  # group privacy: an upper bound
    assert verdict(runs.assign(participations=26, record_epsilon=7.9), **PRIVATE, unit="record") == "reproduced"
    assert verdict(runs.assign(participations=26, record_epsilon=np.nan), **PRIVATE, unit="record") == "inconclusive"
    planted = runs.assign(delivered_epsilon=1.0, participations=26, record_epsilon=66.8)
    for least, found in ((66.8, "violated"), (8.1, "violated"), (7.9, "inconclusive"), (np.nan, "inconclusive")):
        assert verdict(planted.assign(record_least=least), **PRIVATE, unit="record") == found, least
        upper = judge(planted.assign(record_least=least), make_claim(**PRIVATE, unit="record", accounting="upper"))
        assert (upper.verdict, upper.resolution_of) == ("inconclusive", "none: the ledger is an upper bound")
    exactly = judge(planted.assign(record_least=66.8), make_claim(**PRIVATE, unit="record"))
    assert (exactly.resolution, "at least" in exactly.reason) == (1e-6, False)
    bounded = judge(planted.assign(record_least=8.1), make_claim(**PRIVATE, unit="record")).reason
    assert "at most 8.35 times, at least 1.01 times" in bounded
    above = planted.assign(delivered_epsilon=9.0, record_least=np.nan)  # a round alone loses more
    assert verdict(above, **PRIVATE, unit="record") == "violated"
    beside = runs.assign(participations=np.nan, record_epsilon=np.nan)  # no record repeats, in other files some do
    assert verdict(beside, **PRIVATE, unit="record") == "reproduced"


def test_privacy_looks_at_the_rows_of_its_claim_only() -> None:
    good, bad = Sweep(root).frame(), Sweep(root, delivered=3.0).frame()
    for other in ({"learner": "x"}, {"variant": "x"}, {"stream": "x"}, {"experiment": "x"}, {"epsilon": np.inf}):
        runs = pd.concat([good, bad.assign(**other)], ignore_index=True)
        assert verdict(runs, **PRIVATE, where={"epsilon": 8.0}) == "reproduced", other


def test_an_exact_loss_above_its_promise_refutes_the_claim_that_names_it(tmp_path: Path) -> None:
    runs = Sweep(root, delivered=1.5).frame()
    claim = make_claim(**PRIVATE, accounting="upper", exact="found")
    above, within = ExactLoss(4.0, 4.18, "two data sets, T = 100", 2.7), ExactLoss(4.0, 4.0, "two data sets")
    found = judge(runs, claim, exact={"found": above})
    assert (found.verdict, found.resolution) == ("violated", 1e-6)
    assert found.reason.startswith("exact privacy loss eps = 4.18, claimed 4: two data sets, T = 100; ")
    for exact in ({"found": within}, {"other": above}, {}):
        assert judge(runs, claim, exact=exact).verdict == "inconclusive"
    assert judge(runs, make_claim(**PRIVATE, accounting="upper"), exact={"found": above}).verdict == "inconclusive"
    for missing in (["dimension"], None):  # an exact loss needs no runs
        rows = runs if missing else runs.loc[runs["learner"] != claim.learner]
        found = judge(rows, claim, missing, exact={"found": above})
        assert (found.verdict, found.runs) == ("violated", 0)
        assert "; in the runs nothing: " in found.reason
        assert judge(rows, claim, missing, exact={"found": within}).verdict == "not run"
    write_exact_losses({"a.b": above}, tmp_path / "exact.csv")
    assert ExactLoss.read(tmp_path / "exact.csv") == {"a.b": above}


def test_what_was_not_run_is_said() -> None:
    runs = Sweep(root).frame()
    for changes, missing in (
        ({"experiment": "window"}, "experiment = window"),
        ({"response": "overhead", "counterpart": "ftal"}, "learner = ftal"),
        ({"where": {"set": 4.0}}, "set = 4"),  # a word
        ({"where": {"window": "16"}}, "window = 16"),  # a number
    ):
        found = judge(runs, make_claim(**changes))
        assert (found.verdict, missing in found.reason) == ("not run", True)
    assert judge(runs, make_claim(), ["dimension"]).verdict == "not run"


def test_several_settings_in_one_cell_are_refused() -> None:
    runs = together(Sweep(root), Sweep(root, settings={"window": 1}))
    with pytest.raises(ClaimsError, match=r"window \(1, 16\)"):
        judge(runs, make_claim())
    assert verdict(runs, where={"window": 1}) == "reproduced"


def test_a_fixed_number_is_another_where_its_relative_difference_is_large() -> None:
    numbers = pd.Series([1e-24, 1e-12, 1.000001e-12, 1.1e-12, 0.0, np.inf, np.nan])
    assert rows_at(numbers, 1e-12).tolist() == [False, True, True, *[False] * 4]
    assert [np.flatnonzero(rows_at(numbers, value)).tolist() for value in (1e-24, 0.0, np.inf)] == [[0], [4], [5]]
    runs = together(Sweep(root, settings={"delta": 1e-12}), Sweep(logarithmic, settings={"delta": 1e-24}))
    assert [verdict(runs, where={"delta": delta}) for delta in (1e-12, 1e-24)] == ["reproduced", "below bound"]


def test_learners_that_are_told_the_horizon_have_one_run_a_cell() -> None:
    runs = together(*(Sweep(root, anytime=False, horizon=2**k, settings={"window": 2**k}) for k in range(8, 15)))
    assert judge(runs, make_claim()).cells_used == "256; 512; 1024; 2048; 4096; 8192; 16384"
    again = judge(runs, make_claim(response="log_slope", rate="T^0.5"))
    assert (again.verdict, again.cells_used) == ("reproduced", "2048; 4096; 8192; 16384")


def test_failed_runs_take_their_cell_out() -> None:
    runs = Sweep(root).frame()
    broken = (runs["checkpoint"] == 1024) & (runs["run"] == 3)
    runs.loc[broken, ["status", "regret"]] = ["diverged", np.nan]
    found = judge(runs, make_claim())
    assert ("failed: 1024" in found.cells_excluded, found.runs) == (True, 16)


@pytest.mark.parametrize("left", [np.nan, 1e-3])
def test_a_bound_is_not_kept_where_a_run_failed(left: float) -> None:
    """Whatever number the failed run left."""
    runs = Sweep(root).frame()
    assert verdict(runs, **BELOW) == "holds"
    broken = (runs["checkpoint"] == 1024) & (runs["run"] == 3)
    runs.loc[broken, "status"], runs.loc[broken, "regret"] = "diverged", left
    assert verdict(runs, **BELOW) == "inconclusive"


def test_wide_intervals_decide_nothing_and_say_what_would() -> None:
    estimates = Estimate(0.0, -0.3, 0.3), Estimate(0.09, 0.05, 0.13), Estimate(-0.12, -0.18, -0.06)
    (wide, reason), *others = (decide(each, 0.1, 16) for each in estimates)
    assert [wide, *(side for side, _ in others)] == ["open"] * 3
    assert "about 144 runs would decide" in reason


def test_calls_are_counted_over_the_play_and_held_to_their_own_bound() -> None:
    frame = Sweep(root, bound_factor=0.1).frame()  # regret is above its own bound, which is another
    frame = frame.assign(projections=2 * frame["checkpoint"] ** -0.5, gauges=frame["checkpoint"] ** -0.5)
    found = judge(frame, make_claim(response="calls", rate="T^0.5"))
    assert (found.verdict, round(found.fitted.value, 6)) == ("reproduced", 0.5)
    assert judge(frame, make_claim(response="calls", rate="T^0.25")).verdict == STEEPER
    below = make_claim(response="calls", **BELOW)
    for most, verdict in ((0.2, "holds"), (0.01, "fails")):  # of T = 2^8 and more, 3/16 a round at most
        assert judge(frame.loc[frame["checkpoint"] >= 256].assign(most_calls=most), below).verdict == verdict
    assert "no explicit bound" in judge(frame, below).reason


def swept(parameter: str, values: Iterable[float], law: Law) -> pd.DataFrame:
    """Regret law(T, value) of runs up to T = 2^15."""
    column, frames = "delta" if parameter == "delta" else VALUE_COLUMN[parameter], []
    for value in values:
        frame = Sweep(lambda checkpoints, _, value=value: law(checkpoints, value) + 0 * checkpoints).frame()
        frames.append(frame.assign(**{column: value, "trivial_regret": 1e9}))
    return pd.concat(frames, ignore_index=True)


DELTAS, MUS, SIZES = 10.0 ** -np.array([3, 6, 12, 24, 48]), (0.01, 0.02, 0.04, 0.08), 4.0 ** np.arange(2, 8)
PLANTED: list[tuple[str, str, Iterable[float], Any, str, str]] = [
    *(
        ("delta", "regret", DELTAS, lambda t, delta, power=power: np.log(1 / delta) ** power, "(ln 1/delta)", said)
        for power, said in ((1.0, "reproduced"), (0.5, "below bound"), (1.25, STEEPER))
    ),
    *(
        ("delta", "regret", DELTAS, lambda t, delta, power=power: np.log(t / delta) ** power, rate, said)
        for power, rate, said in (
            (2.0, "ln(T/delta)^2", "reproduced"),
            (1.5, "ln(T/delta)^2", "below bound"),
            (2.25, "ln(T/delta)^2", STEEPER),
            (1.0, "ln(n/delta)", "reproduced"),
            (0.5, "ln(n/delta)", "below bound"),
        )
    ),
    ("convexity", "log_slope", MUS, lambda t, mu: np.log(t) / mu, "mu^-1", "reproduced"),
    ("convexity", "log_slope", MUS, lambda t, mu: np.log(t) / mu, "mu^-2", "below bound"),
    ("experts", "regret", SIZES, lambda t, size: 7 * np.log2(size), "(log2 d)", "reproduced"),
    ("experts", "regret", SIZES, lambda t, size: 7 * np.log2(size) ** 1.5, "(log2 d)^1.5", "reproduced"),
    ("experts", "regret", SIZES, lambda t, size: 7 * np.log2(size) ** 2, "(log2 d)^2", "reproduced"),
    ("corners", "excess", (8, 64, 512, 4096), lambda t, k: np.log(k), "(log2 k)", "reproduced"),
    ("curvature", "excess", (0.125, 0.5, 1.0, 4.0), lambda t, bend: np.cbrt(bend), "Gamma^(1/3)", "reproduced"),
    ("smoothness", "excess", (3.0, 9.0, 30.0, 70.0), lambda t, bend: bend, "lambda", "reproduced"),
    ("dimension", "excess", (12, 40, 100, 1000), lambda t, p: np.log(p / 4), "ln(p/4)", "reproduced"),
]


@pytest.mark.parametrize(("parameter", "response", "values", "law", "rate", "said"), PLANTED)
def test_planted_laws_get_their_verdicts(
    parameter: str, response: str, values: Iterable[float], law: Law, rate: str, said: str
) -> None:
    found = judge(swept(parameter, values, law), make_claim(parameter=parameter, rate=rate, response=response))
    assert (found.verdict, len(found.cells_used.split("; "))) == (said, len(list(values)))
    if said == "reproduced":
        assert found.normalised.value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("rate", "powers"), [
    ("(log2 W + 1)^1.5", (1.5, 0)), ("(log2 W + 1) A_W", (1, 1)), ("(log2 W + 1)^0.5 A_W", (0.5, 1)),
])  # fmt: skip
def test_laws_in_the_window_are_met_without_a_slope_left(rate: str, powers: tuple[float, float]) -> None:
    def law(checkpoints: np.ndarray, window: float) -> np.ndarray:
        nodes = float(mean_root(np.array([window]))[0])
        return np.asarray((np.log2(window) + 1) ** powers[0] * nodes ** powers[1] * np.log(checkpoints))

    runs = Sweep(law, parameter="window", values=(1, 2, 4, 8, 64, 1024), experiment="window").frame()
    early: dict[str, Any] = {"asymptotic_from": {"windows": 16}, "response": "log_slope"}
    found = judge(runs, make_claim(experiment="window", parameter="window", rate=rate, **early))
    assert found.normalised.value == pytest.approx(0.0, abs=1e-9)
    assert found.cells_excluded == "pre-asymptotic: 1024"  # at T / 8, where the slope starts


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


@pytest.mark.parametrize("bound", [1.2e-3, 1.0])
def test_a_bound_on_the_mean_neither_refutes_nor_holds_for_a_quantile(bound: float) -> None:
    """The mean is 1e-3 and the quantile at 1/64 is four times as large."""
    runs = tailed("exponential", 40 * BATCH).assign(bound=bound)
    found = judge(runs, make_claim(experiment="tails", parameter="beta", rate="(ln 1/beta)^0.5"))
    assert (found.verdict, "no explicit bound to compare with" in found.reason) == (STEEPER, True)


def test_a_logarithm_of_beta_or_delta_has_a_resolution_where_it_is_not_the_parameter() -> None:
    tails = {"experiment": "tails", "parameter": "beta"}
    runs, odds = tailed("constant", 40 * BATCH), np.array(ODDS)
    found = judge(runs, make_claim(rate="ln(d/beta)", **tails))
    leverage = np.polyfit(np.log(np.log(odds)), np.log(np.log(4 * odds)), 1)[0]
    assert found.resolution_log == pytest.approx(found.resolution / leverage)
    assert np.isnan(judge(runs, make_claim(rate="(ln 1/beta)", **tails)).resolution_log)
    deltas = 10.0 ** -np.array([2, 4, 8, 16, 32])
    swept: dict[str, Any] = {"experiment": "delta", "parameter": "delta"}
    grid = Sweep(lambda t, value: np.log(t / value) ** 2, values=tuple(deltas), anytime=False, **swept).frame()
    found = judge(grid, make_claim(rate="ln(T/delta)^2", **swept))
    leverage = np.polyfit(np.log(np.log(1 / deltas)), np.log(np.log(2**15 / deltas)), 1)[0]
    assert (found.verdict, found.resolution_log) == ("reproduced", pytest.approx(found.resolution / leverage))


def test_quantiles_are_those_of_whole_batches() -> None:
    rows = tailed("exponential", 2 * BATCH + 5).assign(response=lambda frame: frame["regret"])
    found = quantiles(rows)
    assert len(found) == 2 * len(ODDS)
    first = found.loc[(found["run"] == 0) & (found["odds"] == 8), "response"].item()
    assert first == pytest.approx(np.quantile(rows.loc[rows["run"] < BATCH, "response"], 1 - 1 / 8))
    assert set(quantiles(rows.assign(status="failed"))["status"]) == {"failed"}


# Gains, Landau's constant as a swept variable, and explicit lower bounds on noise


WINDOWS = (1.0, 4.0, 16.0, 64.0, 256.0)
CONSTANTS = np.array([landau_of(int(window)) for window in WINDOWS])


def sweep(factor: float, variant: str = "root", noise: float = 1.0, **settings: object) -> pd.DataFrame:
    """Regret factor * G_W sqrt(T), noise `noise` * G_W."""
    constant = dict(zip(WINDOWS, CONSTANTS, strict=True))
    swept: dict[str, Any] = {"parameter": "window", "values": WINDOWS, "experiment": "window", **settings}
    frame = Sweep(lambda t, value: factor * constant[value] * np.sqrt(t), variant=variant, **swept).frame()
    law = frame["window"].map(lambda window: constant[float(window)])
    spread = 1 + 0.01 * np.sin(frame["run"] + 1.0)
    return frame.assign(noise_norm=noise * law * spread, noise_floor=law)


def claim(**changes: object) -> Claim:
    return make_claim(**{"variant": "root", "experiment": "window", "parameter": "landau", "rate": "G_W", **changes})


def test_landaus_constant_is_that_of_the_mechanisms() -> None:
    windows = [1, 2, 7, 4096]
    assert cells.landau(np.array(windows, dtype=float)) == pytest.approx(list(map(landau_of, windows)))
    assert np.exp(cells.coordinate(claim(), np.array(WINDOWS))) == pytest.approx(CONSTANTS)


def test_a_response_like_landaus_constant_is_told_from_one_like_a_tree() -> None:
    runs = sweep(1.0)
    found = judge(runs, claim(scope="instance"))
    assert (found.verdict, found.fitted.value) == ("reproduced", pytest.approx(1.0, abs=1e-9))
    noise = claim(response="noise", tol=0.02, tol_reason="exact", scope="instance")
    assert judge(runs, noise).verdict == "reproduced"
    tree = judge(runs, noise.model_copy(update={"parameter": "window"}))
    assert tree.fitted.value < 0.75  # against log2 W + 1 the same noise has another power


@pytest.mark.parametrize(("noise", "verdict"), [(1.1, "holds"), (0.9, "fails"), (1.0, "inconclusive")])
def test_noise_is_held_against_an_explicit_lower_bound(noise: float, verdict: str) -> None:
    bounded: dict[str, object] = {"rate": None, "type": "below", "side": "lower", "bound": "explicit"}
    lower = claim(parameter="window", response="noise", **bounded)
    assert (judge(sweep(1.0, noise=noise), lower).verdict, rate_text(lower)) == (verdict, ">= explicit bound")
    assert judge(sweep(1.0).drop(columns="noise_floor"), lower).verdict == "inconclusive"


def test_ratio_of_means_and_its_interval() -> None:
    generator = np.random.default_rng(5)
    first = generator.normal(10, 1, 16)
    exact = ratio(first, first / 4)
    assert (exact.value, exact.low, exact.high) == pytest.approx((4, 4, 4))
    held = 0
    for _ in range(400):
        common = generator.normal(0, 1, 16)
        above, below = (mean + common + generator.normal(0, 0.5, 16) for mean in (12.0, 6.0))
        estimate = ratio(above, below)
        held += estimate.low <= 2 <= estimate.high
    assert 0.91 < held / 400 < 0.98


def test_gains_of_a_chapter(tmp_path: Path) -> None:
    """`variants` may name learner.variant; those that were not played have no row."""
    corrected, other = sweep(3.0, "corrected", noise=5.0), sweep(2.0, "plain", learner="ftal")
    runs = pd.concat([corrected, sweep(1.0), other], ignore_index=True)
    write_gains(runs, chapter("root", "absent", "ftal.plain", "ftal.absent"), tmp_path)
    found = pd.read_csv(tmp_path / "gains.csv").pivot(index="value", columns="with", values=["ratio", "noise"])
    assert found.index.tolist() == list(WINDOWS)
    assert found["ratio"].columns.tolist() == ["ftal.plain", "root"]
    assert found["ratio"].to_numpy() == pytest.approx(np.array([[1.5, 3.0]] * len(WINDOWS)))
    assert found["noise"]["root"].to_numpy() == pytest.approx(5.0)
    page = (tmp_path / "gains.md").read_text()
    assert "| 3.00 (no spread) |" in page
    assert re.search(r"\| mechanism +\| replaced mechanism ", page)
    assert re.search(r"\| root +\| corrected +\| window +\| norm-kink +\| W ", page), "no selection: no column of one"
    gain = chapter("root").gains[0].model_copy(update={"where": {"epsilon": 8.0}})
    write_gains(runs.assign(epsilon=8.0), ClaimsFile.model_construct(gains=(gain, *chapter("root").gains)), tmp_path)
    rows = (tmp_path / "gains.md").read_text().splitlines()[4:]
    assert {row.split("|")[5].strip() for row in rows} == {"epsilon = 8", "-"}


def chapter(*variants: str) -> ClaimsFile:
    """Texts that compare the corrected learner with some others."""
    compared = {"learner": "wdp-cocop-gamma.corrected", "variants": variants, "experiment": "window"}
    return ClaimsFile.model_construct(gains=(Gain.model_validate({**compared, "parameter": "window"}),))


def test_a_gain_has_the_cells_that_both_mechanisms_have() -> None:
    whole, few = sweep(3.0, "corrected"), sweep(1.0)
    few = few.loc[~few["window"].isin(WINDOWS[:1])]
    for first, second in ((whole, few), (few.assign(variant="corrected"), whole.assign(variant="root"))):
        found = gains(pd.concat([first, second], ignore_index=True), chapter("root"))
        assert found["value"].tolist() == list(WINDOWS[1:])
        assert found["ratio"].to_numpy() == pytest.approx(3.0 if first is whole else 1 / 3)


@pytest.mark.parametrize("broken", ["corrected", "root"])
def test_a_cell_in_which_either_mechanism_failed_is_no_gain(broken: str) -> None:
    runs = pd.concat([sweep(3.0, "corrected"), sweep(1.0)], ignore_index=True)
    fails = (runs["variant"] == broken) & (runs["window"] == WINDOWS[2]) & (runs["run"] == 0)
    found = gains(runs.assign(status=np.where(fails, "failed", "ok")), chapter("root"))
    assert found["value"].tolist() == [*WINDOWS[:2], *WINDOWS[3:]]
    assert set(found["cell"]) == {"used"}
    assert found["ratio"].to_numpy() == pytest.approx(3.0)


def test_saturated_cells_of_a_gain_are_marked() -> None:
    runs = pd.concat([sweep(3.0, "corrected", stay=1e-3), sweep(1.0, stay=1e-3)], ignore_index=True)
    assert set(gains(runs, chapter("root"))["cell"]) == {"saturated"}
    assert collect_cells(runs, claim()).status == ("saturated",) * len(WINDOWS)
    for stays in ((0.5, 1e-3), (1e-3, 0.5)):
        runs = pd.concat([sweep(1.0, name, stay=stay) for name, stay in zip(("corrected", "root"), stays, strict=True)])
        assert set(gains(runs, chapter("root"))["cell"]) == {"saturated"}, "of either mechanism"
    assert set(gains(runs.assign(trivial_regret=1e9), chapter("root"))["cell"]) == {"used"}


def test_a_crossover_is_drawn_where_it_was_computed_and_measured(tmp_path: Path) -> None:
    """A line a dimension, a panel a tree, horizons in rounds; cells in dimension four with who was ahead."""
    table = pd.DataFrame({"n": [2, 2, 8, 8], "eps": [1.0, 2.0] * 2, "log2 T*, Laplace tree": [30.0, 36.0, 34.0, 38.0],
                          "log2 T*, Gaussian tree": [24.0, 30.0, 22.0, 28.0], "limit": 1.1})  # fmt: skip
    means = {"noisy-value-bandit": (5.0, 5.0, 5.0), "private-bandit-laplace": (6.0, 4.0, 5.0)}
    runs = pd.DataFrame(
        [
            (*cell, run, mean + 0.1 * (run % 2))
            for learner, each in means.items()
            for horizon, mean in zip((16, 64, 256), each, strict=True)
            for cell in product([learner], [horizon], (1.0, np.inf), (2, 4))
            for run in range(8)
        ],
        columns=["learner", "horizon", "epsilon", "dimension", "run", "regret"],
    ).assign(experiment="a", variant="corrected", status="ok", set="ball", stream="cone")
    formats.write_csv(table, tmp_path / "crossover.csv")
    unused: Any = None
    source = Source(Theme(), runs, unused, FigureEntry(type="crossover"), tmp_path / "crossover.csv")
    figure = crossover(source)
    assert [panel.title for panel in figure.panels] == ["Laplace tree", "Gaussian tree"]
    data = figure.data()
    assert list(data.loc[data["panel"] == "2 Gaussian tree", "y"]) == [2**24, 2**30, 2**22, 2**28]
    measured = data.loc[data["what"] == "who had the smaller regret"].set_index("series")["y"]
    found = [measured[f"measured, {word}"] for word in ("tree ahead", "every value ahead", "undecided")]
    assert found == [64, 16, 256]
    assert crossover(replace(source, runs=pd.DataFrame())).panels


def private(runs: int, **settings: object) -> pd.DataFrame:
    return Sweep(lambda checkpoints, value: 10 * checkpoints**0.5, runs=runs, scatter=0.1, seed=5, **settings).frame()


def free(runs: int, scatter: float) -> pd.DataFrame:
    who: dict[str, Any] = {"learner": "ftal", "variant": "plain", "settings": FREE}
    return Sweep(lambda t, value: 2 * t**0.5, runs=runs, scatter=scatter, spread=scatter, seed=6, **who).frame()


def responses(*frames: pd.DataFrame) -> np.ndarray:
    overhead = make_claim(response="overhead", counterpart="ftal")
    return collect_cells(pd.concat(frames, ignore_index=True), overhead).responses


def test_a_counterpart_may_have_more_runs_and_no_fewer() -> None:
    mine, others = private(9), free(24, 0.3)
    assert responses(mine, others).shape == (9, 12)
    assert (responses(mine, others) == responses(mine, others.query("run < 9"))).all()
    for fewer in (free(6, 0.3), free(9, 0.1).query("checkpoint < 1024")):
        with pytest.raises(cells.NotRun, match=r"counterpart ftal\.plain lacks rows"):
            responses(mine, fewer)


def with_losses(rows: pd.DataFrame, *best: float) -> pd.DataFrame:
    """The same at several losses of the best expert, which add to every regret."""
    parts = [rows.assign(best_loss=loss, regret=rows["regret"] + loss * np.sqrt(rows["checkpoint"])) for loss in best]
    return pd.concat(parts, ignore_index=True)


def test_a_counterpart_is_that_of_the_same_options_of_the_stream() -> None:
    mine, others = private(9).assign(best_loss=2.0), free(9, 0.3)
    plain = responses(mine, others.assign(best_loss=2.0))
    less = others.assign(regret=others["regret"] - 2 * np.sqrt(others["checkpoint"]))
    assert responses(mine, with_losses(less, 2.0, 5.0)) == pytest.approx(plain, abs=1e-9)
    with pytest.raises(cells.NotRun, match=r"counterpart ftal\.plain lacks rows"):
        responses(mine, with_losses(others, 0.0, 5.0))


@pytest.mark.parametrize("response", ["overhead", "log_slope"])
def test_a_counterpart_on_other_losses_is_none(response: str) -> None:
    claim = make_claim(response=response, counterpart="ftal", rate="T^0.5")
    mine, others = private(9), free(9, 0.3)
    assert collect_cells(pd.concat([mine, others]), claim).values.size
    aimed = others.assign(trivial_regret=others["trivial_regret"] * (1 + 1e-6))
    with pytest.raises(cells.NotRun, match="met other losses"):
        collect_cells(pd.concat([mine, aimed], ignore_index=True), claim)


def test_a_counterpart_whose_rows_differ_by_a_budget_has_to_name_one() -> None:
    mine, others = private(9), free(9, 0.3)
    twice = pd.concat([others.assign(delta=1e-12), others])
    assert responses(mine, twice) == pytest.approx(responses(mine, others))
    twice.loc[twice["delta"] == 1e-12, "regret"] += 1.0
    with pytest.raises(ClaimsError, match="depends on delta"):
        responses(mine, twice)


def test_ratios_errata_and_best_regularisations_use_the_runs_that_both_have() -> None:
    first, second = np.arange(2.0, 14.0), np.arange(1.0, 9.0)
    assert ratio(first, second) == ratio(first[:8], second)
    runs = pd.concat([private(12), private(5, variant="printed")], ignore_index=True)
    what = Measure.model_validate(
        {"quantity": "regret_ratio", "learner": "wdp-cocop-gamma", "variant": "printed", "against": "corrected",
         "stream": "norm-kink"}
    )  # fmt: skip
    same = runs.loc[runs["run"] < 5]
    assert measure(runs, what, "horizon") == measure(same, what, "horizon")
    tried = [
        pd.DataFrame({"run": np.arange(many), "regularisation": tuned, "regret": (np.log(tuned) - 0.2) ** 2 + 3})
        for tuned, many in ((0.5, 4), (1.0, 9), (2.0, 6), (4.0, 4))
    ]
    samples, inside = best_regularisation(pd.concat(tried))
    assert inside
    assert len(samples) == 4
