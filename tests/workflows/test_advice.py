"""Advice on the terminal: from the committed reference on a fresh clone, with the learner's own bound, or one line."""

import json
import shutil
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer import TyperException

import dpregret as dp
from dpregret.algorithms.online.wdp_cocop import WdpCocopGaussian
from dpregret.cli import parsed
from dpregret.core import boundary
from dpregret.core.errors import ConfigError
from dpregret.datasets import fetch
from dpregret.paper_figs.winners import laws
from dpregret.workflows import advice
from dpregret.workflows.advice import Request, advise, bound_of, read_cells
from dpregret.workflows.plan.fingerprint import ROOT
from dpregret.workflows.plan.make import data_file
from dpregret.workflows.run import store
from dpregret.workflows.run.account import deviation
from dpregret.workflows.run.data import planned_at

REFERENCE = ROOT / "results" / "reference"
Tables = tuple[pd.DataFrame, str]
FEW = (
    "wdp-cocop-gaussian.corrected",
    "wdp-cocop-gamma.corrected",
    "pftal.corrected",
    "wdp-cocop-gamma.printed",
    "ftal.plain",
)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_cells(REFERENCE, ROOT)


@pytest.fixture(scope="module")
def few(tables: Tables) -> Tables:
    """Some learners on two streams: laws of all take seconds."""
    cells, source = tables
    kept = cells["learner"].isin(FEW) & cells["stream"].isin(["norm-kink", "random-kink"]) & (cells["set"] == "ball")
    kept &= (cells["options"] == "strong_convexity=1") & cells["rounds"].isin([2**10, 2**14])
    return cells.loc[kept], source


def test_learners_are_ranked_and_each_says_how_far_it_was_measured(few: Tables) -> None:
    found = advise(Request(100_000, 32, 1.0, 1000), *few)
    told = json.loads(advice._json(found, why=False))
    assert (told["request"]["rounds"], told["source"], told["stream"]) == (100_000, str(REFERENCE), "norm-kink")
    assert [each.guessed for each in found.learners] == sorted(each.guessed for each in found.learners)
    known = [each.regret for each in found.learners if not each.guessed]
    assert known == sorted(known)
    assert {each.learner for each in found.learners} == {*FEW[:3]}
    assert all(each.low <= each.regret <= each.high <= max(each.bound or np.inf, each.low) for each in found.learners)
    assert found.free is not None
    assert found.free.regret < min(known)
    assert "wdp-cocop-gamma.printed" in advice._text(found, why=True)


def test_one_is_recommended_and_no_guess_or_loser_stands_above_the_rule(few: Tables) -> None:
    cells, source = few
    request = Request(100_000, 32, 1.0, 1000)
    found = advise(request, cells, source)
    best = found.recommended
    assert best is not None
    assert best is found.learners[0]
    assert [each.learner for each in found.further] == [
        each.learner for each in found.learners[1:3] if not each.guessed
    ]
    assert all(each.guessed and each.low < best.regret for each in found.possible)
    assert found.constant is not None
    assert all(each.regret < found.constant for each in found.learners)
    page = advice._text(found, why=False)
    assert page.index("Predicted on the stream norm-kink") < page.index(f"Recommended: {best.learner}")
    assert "not corrected, as wdp-cocop-gamma.corrected" in found.left_out["wdp-cocop-gamma.printed"]
    learner = WdpCocopGaussian.card
    assert best.learner == f"{learner.name}.corrected"
    alone = dp.play(best.learner, stream="norm-kink", rounds=2048, dimension=32, window=1024, runs=2)
    assert found.noise is not None
    assert (found.noise.law, found.noise.deviation) == ("gaussian", pytest.approx(alone.noise_scale))
    assert found.guarantee == alone.guarantee
    poor = cells.assign(trivial=cells["trivial"] * 1e-6)
    nothing = advise(request, poor, source)
    assert nothing.learners == ()
    assert "Recommended: a fixed point. On norm-kink no algorithm" in advice._text(nothing, why=False)
    assert "no better than the fixed-point baseline" in nothing.left_out[best.learner]


AIMED = ("switch-epochs", "gap-hard", "hard-arms", "linear-population", "collapse")


@pytest.mark.parametrize("stream", AIMED)
def test_a_baseline_is_that_of_the_losses_of_this_t_and_epsilon(stream: str, tables: Tables) -> None:
    """Streams that are aimed at T or epsilon: at every measured setting it is the cell's own."""
    cells = tables[0].loc[tables[0]["stream"] == stream]
    own = list[tuple[float, float]]()
    for _, problem in cells.groupby(["set", "options"]):
        private = problem.loc[problem["private"]]
        for (rounds, dimension, epsilon), rows in private.groupby(["rounds", "dimension", "epsilon"]):
            asked = Request(int(rounds), int(dimension), float(epsilon), feedback=str(rows["feedback"].iloc[0]))
            constant, _ = advice._constant(asked, problem)
            assert constant is not None
            own.append((constant, rows["trivial"].median()))
    assert len(own) > 3
    np.testing.assert_allclose(*zip(*own, strict=True), rtol=1e-3)


def levels(law: Callable[[float, float], float], epsilons: Sequence[float] = (1.0, 4.0, np.inf)) -> pd.DataFrame:
    """Cells at three T and some epsilons; law: (T, eps) -> regret of the fixed point."""
    rows = [
        {"learner": "free" if np.isinf(epsilon) else "own", "private": np.isfinite(epsilon), "rounds": rounds,
         "dimension": 4, "epsilon": epsilon, "trivial": law(rounds, epsilon), "regret": 1.0}
        for rounds in (256, 1024, 4096)
        for epsilon in epsilons
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("law", "epsilons", "rounds", "epsilon", "expected"),
    [
        (lambda t, _: t / 2, (1.0, 4.0), 10**6, 2.0, 5e5),  # linear in T, whatever eps
        (lambda t, _: t * np.log(t), (1.0, 4.0), 512, 2.0, 512 * np.log(512)),
        (lambda t, _: t * np.log(t), (1.0, 4.0), 10**6, 2.0, None),  # beyond the largest T
        (lambda t, e: (t / e) ** 0.5, (1.0, 4.0), 1024, 4.0, 16.0),  # aimed: where it was measured
        (lambda t, e: (t / e) ** 0.5, (1.0, 4.0), 1024, 2.0, None),
        (lambda t, e: (t / e) ** 0.5, (1.0, 4.0), 512, 4.0, None),
        (lambda t, e: (t / e) ** 0.5, (1.0,), 1024, 2.0, None),  # one eps: it may depend on it
        (lambda t, _: t / 2, (1.0,), 10**6, 1.0, 5e5),
    ],
)
def test_a_baseline_is_known_or_absent(
    law: Callable[[float, float], float], epsilons: Sequence[float], rounds: int, epsilon: float, expected: float | None
) -> None:
    found, _ = advice._constant(Request(rounds, 4, epsilon), levels(law, epsilons))
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("law", "known"), [(lambda t, _: t / 2, True), (lambda t, e: (t / e) ** 0.5, False)])
def test_another_dimension_shows_whether_losses_depend_on_epsilon(
    law: Callable[[float, float], float], known: bool
) -> None:
    """Dimension 64 was measured at one eps alone, dimension 4 at two; the level is that of the nearest one."""
    far = levels(lambda t, e: 3 * law(t, e), (1.0,)).assign(dimension=64)
    constant, shared = advice._constant(Request(1024, 64, 2.0), pd.concat([levels(law, (1.0, 4.0)), far]))
    assert (constant, shared) == (pytest.approx(3 * 512.0) if known else None, known)


def test_a_learner_without_privacy_met_the_same_losses_or_is_absent() -> None:
    def names(law: Callable[[float, float], float], epsilon: float, rounds: int = 1024) -> set[str]:
        request, cells = Request(rounds, 4, epsilon), levels(law)
        constant, shared = advice._constant(request, cells)
        return set((cells if shared else advice._with_baseline(request, cells, constant))["learner"])

    assert names(lambda t, e: t / min(e, 4.0), 1.0) == {"own"}
    assert names(lambda t, e: t / min(e, 4.0), 4.0) == {"own", "free"}  # aimed at 4 as at no privacy
    assert names(lambda t, e: t / min(e, 4.0), 2.0) == names(lambda t, e: t / e, 4.0, 512) == {"own"}
    assert names(lambda t, _: t, 2.0, 512) == {"own", "free"}


def test_advice_says_that_no_baseline_was_measured(tables: Tables) -> None:
    cells, source = tables
    asked = {"feedback": "experts", "loss": "switch-epochs", "set": "experts"}
    known = advise(Request(2**18, 16, 1 / 64, **asked), cells, source)  # type: ignore[arg-type]
    assert known.constant == pytest.approx(856.555, rel=1e-4)
    assert "fixed-point baseline 857" in advice._text(known, why=False)
    other = advise(Request(2**18, 16, 1.0, **asked), cells, source)  # type: ignore[arg-type]
    assert (other.constant, other.free) == (None, None)
    assert json.loads(advice._json(other, why=False))["constant"] is None
    assert "fixed-point baseline not measured" in advice._text(other, why=True)
    assert not any("no better than" in reason for reason in other.left_out.values())


def test_what_the_fits_chose_is_stored_for_exactly_these_cells(tables: Tables) -> None:
    """Of every law; and of two small ones the stored point is that of a new fit."""
    cells, source = tables
    known = advice.stored_laws(source)
    usable = cells.loc[cells["barred"] == ""].assign(pure=cells["delta"] == 0)
    parts = [part for _, part in usable.groupby(list(laws.OF_LAW)) if (part["regret"] > 0).sum() >= laws.FEWEST]
    assert {laws.digest(part) for part in parts} == {*known}
    row = pd.DataFrame([{"rounds": 5e4, "dimension": 8, "epsilon": 2.0, "window": 64}])
    for part in sorted(parts, key=len)[:2]:
        stored, new = laws.Law(part, known[laws.digest(part)]), laws.Law(part)
        assert stored.fit[:3] == new.fit[:3]
        assert stored.predict(row)[:3] == pytest.approx(new.predict(row)[:3], rel=1e-4)
        assert laws.digest(part.assign(regret=part["regret"] * 1.001)) not in known


@pytest.mark.parametrize(("law", "factor"), [("gaussian", 1.0), ("laplace", 2.0**0.5), ("gamma", 3.0), ("", np.nan)])
def test_the_deviation_of_noise_is_that_of_one_coordinate(law: str, factor: float) -> None:
    """A norm-Gamma vector in d dimensions has E|z|^2 = d (d + 1)."""
    assert deviation(law, 2.0, 8) == pytest.approx(2 * factor, nan_ok=True)


def test_the_bound_is_that_of_the_learner_as_it_was_played(tables: Tables) -> None:
    cells = tables[0]
    small = (cells["rounds"] <= 2**14) & (cells["dimension"] <= 64)
    known = cells.loc[cells["private"] & cells["bound"].notna() & small]
    for feedback, rows in known.groupby("feedback"):
        row = rows.sort_values(["stream", "learner", "rounds"]).iloc[len(rows) // 2]
        learner, variant = str(row["learner"]).split(".")
        asked = Request(int(row["rounds"]), int(row["dimension"]), float(row["epsilon"]), delta=float(row["delta"]))
        found = bound_of(row, learner, variant, asked, int(row["window"]))
        if found is not None:  # data that are not there
            np.testing.assert_allclose(found, row["bound"], rtol=1e-4, err_msg=f"{feedback} {row['learner']}")


def test_a_learner_for_stochastic_losses_is_not_advised_against_an_adversary(
    few: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{WdpCocopGaussian.card.name}.corrected"
    requests = [Request(4096, 4, 1.0, 16, set="ball", kind=kind) for kind in (None, "oblivious", "stochastic")]
    assert all(name in {each.learner for each in advise(request, *few).learners} for request in requests)
    monkeypatch.setattr(WdpCocopGaussian, "stochastic_only", True)
    found = [advise(request, *few) for request in requests]
    assert [name in {each.learner for each in one.learners} for one in found] == [False, False, True]
    assert "--stochastic" in found[0].left_out[name]


def test_less_is_served_by_more_but_not_more_by_less(few: Tables) -> None:
    whole_, pure = (
        advise(request, *few)
        for request in (Request(4096, 4, 1.0, set="ball"), Request(4096, 4, 1.0, 16, delta=0.0, set="ball"))
    )
    assert all(each.protects == "all" for each in whole_.learners)
    assert all(each.pure for each in pure.learners)
    assert {"needs delta > 0"} <= set(pure.left_out.values())
    cells, source = few
    lying = cells.assign(barred=np.where(cells["learner"] == "wdp-cocop-gamma.corrected", "refuted", cells["barred"]))
    refused = advise(Request(4096, 4, 1.0, 16, delta=0.0, set="ball"), lying, source)
    assert refused.left_out["wdp-cocop-gamma.corrected"] == "not private as claimed: refuted"


def test_a_window_whose_power_of_two_reaches_all_rounds_is_served_by_all(few: Tables) -> None:
    served = {window: Request(1000, 4, 1.0, window).served for window in (None, 500, 512, 513, 1000, 4096)}
    assert served == {None: 0, 500: 512, 512: 512, 513: 0, 1000: 0, 4096: 0}
    found = advise(Request(1000, 4, 1.0, 600, set="ball"), *few)
    assert found.learners == advise(Request(1000, 4, 1.0, set="ball"), *few).learners
    assert "one that protects all rounds serves 600" in " ".join(advice._text(found, why=False).split())


GOOD = {"--rounds": "64", "--dimension": "4", "--epsilon": "1"}


@pytest.mark.parametrize(
    "changes",
    [{"--rounds": "1.5"}, {"--epsilon": "-1"}, {"--delta": "1"}, {"--epsilon": ""}, {"--set": "bal"},
     {"--loss": "smoth"}, {"--feedback": "bandits"}, {"--dimension": "5", "--loss": "real data"}],
)  # fmt: skip
def test_bad_input_is_refused(changes: dict[str, str]) -> None:
    words = chain(*(pair for pair in {**GOOD, **changes}.items() if pair[1]))
    with pytest.raises((ConfigError, TyperException)) as stopped:
        parsed(["advise", "--results", str(REFERENCE), *words])
    assert any(name.strip("-") in boundary.as_text(stopped.value) for name in changes)


def test_a_folder_without_cells_or_with_damaged_ones_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        parsed(["advise", "--results", str(tmp_path), *chain(*GOOD.items())])
    (tmp_path / "winners").mkdir()
    (tmp_path / "winners" / "cells.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError):
        parsed(["advise", "--results", str(tmp_path), *chain(*GOOD.items())])


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("laws.csv", "\n0,", "\n-1,"), ("laws.csv", "learner", "learners"), ("cells.csv", "law,", "laws,")],
)
def test_cells_without_their_law_are_refused(tmp_path: Path, name: str, old: str, new: str) -> None:
    """A cell is never given to another learner."""
    shutil.copytree(REFERENCE / "winners", tmp_path / "winners")
    file = tmp_path / "winners" / name
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(ConfigError, match="not tables of cells"):
        read_cells(tmp_path, ROOT)


def test_data_of_a_bound_are_those_of_runs_of_the_working_folder(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written beside the code, which another user may own; a download that is not here is not made."""
    cells, _ = tables
    monkeypatch.chdir(tmp_path)
    linked = tmp_path / "linked"
    linked.mkdir()
    on_digits = cells.loc[(cells["stream"] == "digits") & cells["private"]].iloc[0]
    name, variant = str(on_digits["learner"]).split(".")
    request = Request(1024, 64, 1.0)
    assert advice._made(on_digits, name, variant, request, 0, linked) is not None
    assert {path.name for path in linked.iterdir()} == {"digits.npz"}
    kept = (linked / "digits.npz").resolve()
    assert kept == tmp_path / data_file("digits")
    fetched = on_digits.copy()
    fetched["stream"], fetched["options"] = "fetched", "source=adult " + str(on_digits["options"])
    monkeypatch.setattr(store, "ROOT", tmp_path)
    monkeypatch.setattr(fetch, "download", lambda *_: pytest.fail("a download"))
    assert advice._made(fetched, name, variant, request, 0, linked) is None
    assert [path for path in (tmp_path / "results").rglob("*") if path.is_file()] == [kept]


@pytest.mark.parametrize(
    ("label", "played", "streams", "refused"),
    [
        ("positive: yes", [], ("records-logistic",), {"wdp-cocop-gaussian", "pqftl", "pftal", "ogd"}),
        ("range: [0, 9]", [], ("fetched-regression",), {"ogd-small-loss"}),
        ("positive: yes", ["fetched", "records-logistic", "my-own"], ("fetched", "records-logistic"), {"pqftl"}),
        ("positive: yes", ["fetched", "fetched"], ("fetched",), {"pqftl"}),
    ],
)
def test_records_are_advised_no_learner_that_their_losses_refuse(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    label: str,
    played: list[str],
    streams: tuple[str, ...],
    refused: set[str],
) -> None:
    """The losses are those of the streams that play the records, else of their label."""
    words = ("1", "2", "3") if "range" in label else ("yes", "no", "no")
    (tmp_path / "own.csv").write_text("a,b,y\n1,2,{}\n3,4,{}\n5,6,{}\n".format(*words))
    (tmp_path / "data.yaml").write_text(f"own:\n  file: own.csv\n  label: y\n  {label}\n  norm: 1\n")
    monkeypatch.setenv("DPREGRET_STUDY", str(tmp_path))
    monkeypatch.setattr("dpregret.workflows.run.data.plays_of", lambda name: [(stream, "simplex") for stream in played])
    own = advice._of_study("own")
    assert own == advice._of_study("")
    assert (own.records, own.features, own.streams, own.sets) == (3, 2, streams, ("simplex",) if played else ())
    served = {name for name in advice.FAMILIES["online"].learners if own.serves(f"{name}.x")}
    assert {"dp-ftrl", "dp-ftrl-lipschitz", "projected-descent"} <= served
    assert not served & (refused | {"sampled-sparse-vector", "net-sparse-vector"})
    assert ("wdp-cocop-gaussian" in served) == ("wdp-cocop-gaussian" not in refused)


def test_advice_on_several_files_is_asked_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.csv").write_text("a,b,y\n1,2,yes\n3,4,no\n")
    one = "  file: own.csv\n  label: y\n  positive: yes\n  norm: 1\n"
    (tmp_path / "data.yaml").write_text(f"own:\n{one}other:\n{one}")
    monkeypatch.setenv("DPREGRET_STUDY", str(tmp_path))
    assert advice._of_study("other").name == "other"
    with pytest.raises(ConfigError, match="give one of own, other"):
        advice._of_study("")
    with pytest.raises(ConfigError, match="did you mean 'other'"):
        advice._of_study("oter")


def test_advice_on_records_names_the_epsilon_of_a_record_and_who_protects_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred records in 400 rounds: four rounds each, of pure privacy four times the eps."""
    (tmp_path / "own.csv").write_text("a,b,y\n" + "1,2,yes\n3,4,no\n" * 50)
    (tmp_path / "data.yaml").write_text("own:\n  file: own.csv\n  label: y\n  positive: yes\n  norm: 1\n")
    monkeypatch.setenv("DPREGRET_STUDY", str(tmp_path))
    words = [
        "advise",
        "--results",
        str(REFERENCE),
        "--data",
        "",
        "--rounds",
        "400",
        "--dimension",
        "4",
        "--epsilon",
        "0.5",
    ]
    assert parsed([*words, "--window", "64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["record"]["participations"] == 4
    fresh, grouped = found["record"]["record_epsilon"]
    assert 0.5 < fresh < grouped
    assert parsed([*words, "--window", "64"]) == 0
    page = capsys.readouterr().out
    assert f"eps {fresh:.3g}" in page
    assert ", not of own: `dpregret run` on the study plays" in " ".join(page.split())
    assert "realizable" not in page
    protected = {each["protects"] for each in found["learners"]}
    assert ("everything" in page) == ("all" in protected)
    assert (page.count("64 rounds") > 1) == ("window" in protected), "once in the title"
    assert planned_at("own", 400, 100, 0.5, 0.0).record_epsilon == (2.0, 2.0)
