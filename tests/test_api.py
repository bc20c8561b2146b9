"""The Python API and answers in JSON: examples as they are written, what is returned, what is said of mistakes."""

import doctest
import inspect
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import notebooks
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpregret as dp
from dpregret import api, cli
from dpregret.algorithms.privacy import Budget, gaussian_epsilon, gaussian_mu
from dpregret.core import parquet
from dpregret.core.boundary import as_json, plain
from dpregret.core.errors import ConfigError
from dpregret.core.learner_output import StreamFault
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.cells import EARLY, USED, Cells
from dpregret.paper_figs.judge.verdicts import judge_bounded
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.mechanisms.own_mechanism import OwnNoiseError
from dpregret.workflows.run import check, sweep

ROOT = Path(__file__).resolve().parents[1]
SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", ROOT / "docs" / "api.md", ROOT / "docs" / "guarantee.md"]
SMALL = {"stream": "norm-kink", "rounds": 128, "dimension": 2, "runs": 3}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_package_lists_what_it_offers() -> None:
    assert dir(dp) == sorted(dp.__all__)
    errors = {name for name in dp.__all__ if name[0].isupper()}
    assert errors == set(dp._ERRORS)
    assert all(issubclass(getattr(dp, name), ValueError | RuntimeError) for name in errors)
    assert all(getattr(dp, name) is getattr(api, name) for name in set(dp.__all__) - errors)
    assert all(getattr(api, name).__doc__.count(">>>") for name in set(dp.__all__) - errors)
    with pytest.raises(AttributeError):
        dp.nothing  # noqa: B018


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint32, np.float64, float])
def test_whole_numbers_of_numpy_are_whole_numbers(kind: Any) -> None:
    sizes = {name: kind(value) for name, value in (("rounds", 64), ("dimension", 2), ("runs", 2), ("seed", 5))}
    plain = dp.play("wdp-cocop-gaussian", stream="norm-kink", rounds=64, dimension=2, runs=2, seed=5, window=8)
    other = dp.play(
        "wdp-cocop-gaussian", stream="norm-kink", window=kind(8), strong_convexity=kind(1), epsilon=kind(1), **sizes
    )
    assert other.regret == plain.regret
    assert (other.rounds, other.window) == (64, 8)


def test_losses_without_ridge_have_strong_convexity_0() -> None:
    setting = {"stream": "records-logistic", "source": "breast-cancer", "dimension": 30, "rounds": 64, "runs": 2}
    assert dp.play("dp-ftrl-lipschitz", **setting, strong_convexity=0).family == "online"


def interrupting(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_is_no_fault_of_a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FAMILIES["online"].streams["norm-kink"], "comparator", interrupting)
    with pytest.raises(KeyboardInterrupt):
        dp.play("ftal", **SMALL)


def test_a_best_point_that_is_not_found_is_a_fault_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        raise FloatingPointError("no certified minimum")

    monkeypatch.setattr(FAMILIES["online"].streams["norm-kink"], "comparator", lost)
    with pytest.raises(StreamFault, match=r"the best fixed point of the stream 'norm-kink': .*no certified minimum"):
        dp.play("ftal", **SMALL)


def test_every_example_of_the_docstrings_gives_what_it_shows() -> None:
    for module in (dp, api):
        found = doctest.testmod(module)
        assert found.attempted
        assert not found.failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_session_of_a_page_gives_what_it_shows(page: Path) -> None:
    sessions = SESSION.findall(page.read_text(encoding="utf-8"))
    assert sessions
    parsed = doctest.DocTestParser().get_doctest("".join(sessions), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(parsed)
    assert runner.summarize(verbose=False).failed == 0


def test_the_notebook_shows_what_its_cells_give() -> None:
    """Text to the letter; of pictures, that they are drawn again."""
    notebook = notebooks.read(ROOT / "docs" / "first_steps.ipynb")
    cells = notebooks.code_cells(notebook)
    for cell, outputs in zip(cells, notebooks.executed(notebook), strict=True):
        kept, now = (notebooks.shown(each) for each in (cell["outputs"], outputs))
        assert kept == now, "".join(cell["source"])
    assert len(cells) > 4


@pytest.mark.parametrize("name", ["own_algorithm", "csv_to_choice"])
def test_longer_notebooks_are_kept_executed(name: str) -> None:
    """Every cell compiles and was run in order, without an error; `make nightly` runs them again."""
    cells = notebooks.code_cells(notebooks.read(ROOT / "docs" / f"{name}.ipynb"))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        compile("".join(cell["source"]), name, "exec")
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert sum(picture for _, picture in notebooks.shown(outputs)) == 1
    assert not [output for output in outputs if output["output_type"] == "error"]


TESTED = re.compile(r"^(dpregret [^#\n]*?) +# tested", re.MULTILINE)
"""Commands of AGENTS.md that a test runs."""


@pytest.mark.parametrize("command", TESTED.findall((ROOT / "AGENTS.md").read_text(encoding="utf-8")))
def test_a_command_for_agents_does_what_it_says(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(command.split()[1:])
    assert not ended.value.code
    assert capfd.readouterr().out


def test_pure_learners_take_delta_0_and_say_so() -> None:
    for delta in (0, 1e-6):
        played = dp.play("wdp-cocop-gamma", window=16, delta=delta, **SMALL)
        assert played.delta == 0
        assert "at delta = 0" in repr(played)


@pytest.mark.parametrize("rounds", [1, 64])
@pytest.mark.parametrize("name", ["l2p", "sparse-vector", "shrinking-dartboard", "tree-counters", "private-ftrl"])
def test_the_usual_variant_keeps_its_budget(name: str, rounds: int) -> None:
    options = {"best_loss": [1.0]} if name == "sparse-vector" else {}
    for epsilon in (0.5, 8.0):
        played = dp.play(name, stream="bernoulli", rounds=rounds, dimension=3, epsilon=epsilon, runs=2, **options)
        assert played.accounted_epsilon <= epsilon
        assert "asked" not in repr(played)


def test_no_usual_variant_is_one_that_a_text_prints() -> None:
    listed = dp.learners()
    assert all(row["default"] in row["variants"] for row in listed.to_dict("records"))
    assert not listed.loc[listed["private"], "default"].str.startswith(("printed", "paper", "reconstructed")).any()


def test_a_printed_variant_says_what_it_delivers() -> None:
    played = dp.play("l2p.printed", stream="bernoulli", rounds=1, dimension=3, runs=2)
    accounted, refuted = repr(played).splitlines()[-2:]
    assert re.fullmatch(r"accounted eps = \S+ at delta = 1e-06: more than the 1 that was asked for", accounted)
    assert re.fullmatch(r"the claim of this variant is refuted: exact privacy loss eps = \S+, claimed \S+", refuted)


def test_the_epsilon_of_a_record_stands_beside_that_of_a_round() -> None:
    """One record in all 256 rounds of a play, and one in no more than one."""
    setting = {"stream": "ridge-logistic", "dimension": 2, "runs": 2, "epsilon": 8.0}
    played = dp.play("noise-per-gradient", rounds=256, pool_size=1, **setting)
    assert played.participations == 256
    assert played.record_epsilon == pytest.approx(gaussian_epsilon(16 * gaussian_mu(Budget(8.0, 1e-6)), 1e-6))
    assert "eps = 8 of a round" in repr(played)
    assert repr(played).endswith(f"a record is in 256 rounds: eps = {played.record_epsilon:.4g} of a record")
    tree = dp.play("dp-ftrl", rounds=256, pool_size=1, **setting)
    assert "a record is in 256 rounds: at most eps = " in repr(tree)
    once = dp.play("noise-per-gradient", rounds=256, pool_size=256, **setting)
    assert (once.participations, once.record_epsilon) == (1, once.accounted_epsilon)
    assert "record" not in repr(once)


def test_a_play_has_its_interval_its_curve_and_its_ledger() -> None:
    played = dp.play("wdp-cocop-gaussian", window=16, epsilon=8.0, **SMALL)
    assert played.regret.low <= played.regret.value <= played.regret.high
    assert played.regret.value == pytest.approx(played.last["regret"].mean())
    assert list(played.curve["rounds"]) == [16, 32, 64, 128]
    assert played.accounted_epsilon == pytest.approx(8.0, rel=1e-6)
    free = dp.play("ftal", **SMALL)
    assert math.isinf(free.epsilon)
    assert free.window == 0
    assert math.isinf(free.accounted_epsilon)


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"rounds": 2**40}, "memory_gb"), ({"runs": 10**6, "dimension": 2**20}, "memory_gb"),
        ({"rounds": 2**27, "runs": 10**6, "dimension": 2**10}, "hours"),
    ],
)  # fmt: skip
def test_a_play_has_the_limits_of_a_profile(change: dict[str, Any], limit: str) -> None:
    """Refused before anything of that size is made, in the line of a profile."""
    given = {"stream": "norm-kink", "rounds": 256, "dimension": 4, "window": 16, **change}
    with pytest.raises(ConfigError, match=rf"^play: .*limit {limit}") as refused:
        dp.play("wdp-cocop-gaussian", **given)
    assert f"limits='{limit}:" in str(refused.value)
    assert "--config" not in str(refused.value)


def test_a_play_without_curves_that_would_take_days_is_refused() -> None:
    """An expert learner keeps no number a round, so that no limit of memory ends it."""
    given = {"stream": "bernoulli", "rounds": 10**12, "dimension": 16, "epsilon": 1.0}
    with pytest.raises(ConfigError, match=r"^play: [\d,.e+]+ minutes is more than the limit play_minutes, 120"):
        dp.play("l2p", **given)


def test_a_sweep_adds_up_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "predicted", lambda experiment: (0.0, 3600.0))
    with pytest.raises(ConfigError, match=r"^sweep: 3 CPU hours is more than the limit hours, 2"):
        dp.sweep("ftal", **{**SMALL, "rounds": [16, 32, 64]}, limits="hours:2")


@pytest.mark.parametrize("limit", ["memory_gb", "hours", "cells", "play_minutes", "play_gb"])
@pytest.mark.parametrize("call", [dp.play, dp.sweep])
def test_limits_of_a_play_are_changed_by_name(call: Any, limit: str) -> None:
    small = {"stream": "norm-kink", "rounds": 64, "dimension": 2, "window": 4, "runs": 2}
    with pytest.raises(ConfigError, match=rf"^{call.__name__}: .* is more than the limit {limit}, 1e-12 \(to lift it"):
        call("wdp-cocop-gaussian", **small, limits=f"{limit}:1e-12")
    with pytest.raises(ConfigError, match="unknown key"):
        call("wdp-cocop-gaussian", **small, limits="hour:1")


def test_a_claim_that_is_played_gets_the_verdict_of_a_run(elsewhere: Path) -> None:
    """The plays lie in the store under the keys of a run; the number and the verdict are those of the reference."""
    found = dp.check("lou_cheung", "lem2-eps")
    row = dp.load().lines.set_index(["paper", "claim"]).loc[("lou_cheung_2020", "lem2-eps")]
    assert found.verdict == row["verdict"]
    assert found.measured == pytest.approx(row["log_aware"], abs=1e-5)
    assert found.interval == pytest.approx((row["log_aware_low"], row["log_aware_high"]), abs=1e-5)
    assert found.stated == row["rate"]
    (stored,) = (elsewhere / "results" / "store").glob("*/*.parquet")
    rows = parquet.read(stored)
    rows = rows.loc[rows["epsilon"] == rows["epsilon"].min()]
    same = {"rounds": "horizon", "dimension": "dimension", "window": "window"}
    settings: dict[str, Any] = {name: int(rows[column].iloc[0]) for name, column in same.items()}
    settings |= {"epsilon": float(rows["epsilon"].iloc[0]), "runs": rows["run"].nunique()}
    alone = dp.play("wdp-cocop-gamma", stream="norm-kink", **settings)
    assert alone.rows["regret"].tolist() == rows["regret"].tolist()  # the same draws: the same bits
    assert found.figure is not None
    assert found.figure.read_bytes().startswith(b"\x89PNG")
    assert {"value", "mean", "low", "high", "bound", "law", "status"} == set(found.cells)
    assert found.source in str(found)


def test_a_claim_that_is_refuted_exactly_is_not_played(elsewhere: Path) -> None:
    found = dp.claim("lou_cheung", "thm5-printed").measure()
    assert (found.verdict, found.decided_by) == ("violated", "exact computation")
    assert found.measured > 1
    assert dp.check("lou_cheung", "thm5-printed").figure is None
    assert not (elsewhere / "results").exists()
    drawn = dp.check("lou_cheung", "thm5-printed", figure="one.png").figure
    assert drawn is not None
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("profile", ["ful", "./no.yaml", Path("no.yaml"), "profiles/", "", None, b"full"])
@pytest.mark.parametrize("name", ["thm5-printed", "thm3-T"])
def test_a_claim_without_a_profile_is_refused_however_it_is_decided(name: str, profile: Any) -> None:
    with pytest.raises(ConfigError, match=r"^profile: .*(full|no such file|YAML)"):
        dp.claim("lou_cheung", name).measure(profile)


def test_a_claim_of_another_profile_is_not_run() -> None:
    """Nor is one whose learner, or whose setting, a profile leaves out; and nothing is said to be measured."""
    for name in ("lem2-eps", "stay-T", "thm2-printed"):
        found = dp.check("lou_cheung", name, profile="smoke")
        assert found.verdict == NOT_RUN
        assert found.profile == "smoke"
        assert math.isnan(found.measured)
        assert found.figure is None
        assert found.reason


@pytest.mark.parametrize(
    ("paper", "name", "said"),
    [
        ("lou_chung", "thm3-T", r"unknown paper 'lou_chung'.*did you mean 'lou_cheung_2020'\?"),
        ("", "thm3-T", "unknown paper ''"),
        ("lou_cheung", "thm3-t", r"unknown claim 'thm3-t'; did you mean 'thm3-T'\? `dpregret claims lou_cheung_2020`"),
        ("lou_cheung", "*", r"lou_cheung_2020: unknown claim '\*'; `dpregret claims lou_cheung_2020` lists all"),
    ],
)
def test_a_claim_that_there_is_not_is_told(paper: str, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        dp.claim(paper, name)


@pytest.mark.parametrize(
    "figure", [".", "x.docx", "x" * 5000 + ".png", "/proc/x.png", "folder.png", "file/x.png", "nowhere/../file/x.png"]
)
def test_the_place_of_a_figure_is_judged_before_anything_is_played(
    figure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check.ClaimOf, "_played", lambda *arguments: pytest.fail("something was played"))
    Path("file").touch()
    Path("folder.png").mkdir()
    with pytest.raises(ConfigError) as caught:
        dp.check("lou_cheung", "thm3-T", figure=figure)
    assert len(caught.value.problems) == 1


def test_an_audit_is_exact() -> None:
    """Fresh Gaussian noise in each of T sums: the first item is in all of them, mu = sqrt(T) / sd."""
    sd, rounds = 50.0, 16
    found = dp.audit(lambda generator, rounds, dimension: sd * generator.standard_normal((rounds, dimension)), rounds)
    assert found.mu == pytest.approx(math.sqrt(rounds) / sd)
    assert found.kept
    assert len(found.by_age) == rounds
    assert found.by_age["mu"].is_monotonic_increasing
    with pytest.raises(OwnNoiseError, match="there is no such file"):
        dp.audit("nowhere.py:make")


def test_plays_are_compared_run_by_run() -> None:
    first, second = dp.play("ftal", **SMALL), dp.play("stay", **SMALL)
    found = dp.compare(first, second)
    assert list(found["rounds"]) == [16, 32, 64, 128]
    assert found["difference"].to_numpy() == pytest.approx((found[second.learner] - found[first.learner]).to_numpy())
    assert (found["low"] <= found["difference"]).all()
    with pytest.raises(ConfigError, match="not one of each"):
        dp.compare(first, "reference")


def test_the_budgets_of_plays_that_are_compared_are_named_where_they_differ() -> None:
    loose, tight = (dp.play("wdp-cocop-gaussian", **SMALL, epsilon=epsilon) for epsilon in (8.0, 1.0))
    pure, free = dp.play("wdp-cocop-gamma", **SMALL, epsilon=8.0), dp.play("ftal", **SMALL)
    gaussian, gamma = loose.learner, pure.learner
    pairs = {
        (loose, tight): [f"{gaussian}, epsilon = 8", f"{gaussian}, epsilon = 1"],
        (loose, pure): [f"{gaussian}, delta = 1e-06", f"{gamma}, delta = 0"],
        (free, loose): ["ftal.plain, epsilon = inf", f"{gaussian}, epsilon = 8"],
    }
    for (first, second), heads in pairs.items():
        assert list(dp.compare(first, second))[1:3] == heads


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 5}, "their seeds or options differ"),
        ({"stream": "random-kink"}, "stream differ"),
        ({"stream": "random-kink", "dimension": 3}, "stream, dimension differ"),
    ],
)
def test_plays_on_other_losses_are_not_compared(changes: dict[str, Any], named: str) -> None:
    """Their difference, run by run, is not one of algorithms."""
    random = {**SMALL, "stream": "random-kink", "seed": 1}
    first = dp.play("ftal", **(SMALL if "stream" in changes else random))
    with pytest.raises(ConfigError, match=f"compare: the plays met other losses: {named}"):
        dp.compare(first, dp.play("ftal", **{**random, **changes}))


def test_runs_are_compared_and_loaded() -> None:
    kept = dp.load("reference/ci")
    assert set(kept.papers) <= set(dp.papers())
    assert dp.compare(kept, "reference/ci").empty
    moved = dp.compare("reference", kept)
    assert set(moved["paper"]) <= set(kept.papers)
    assert set(kept.lines["kind"]) == {"claim", "check"}
    assert len(kept.table("lou_cheung_2020"))
    with pytest.raises(ConfigError, match="unknown table"):
        kept.table("lou_cheung_2020", 9)
    with pytest.raises(ConfigError, match="nowhere"):
        dp.load("nowhere")


# What commands print with --json is as the schema says

SCHEMA = json.loads((ROOT / "workflows" / "schemas" / "answers.schema.json").read_text(encoding="utf-8"))
NOISE = f"{ROOT / 'docs' / 'examples' / 'my_noise.py'}:right"
REFERENCE = str(ROOT / "results" / "reference")


def test_each_command_that_answers_in_json_has_a_schema() -> None:
    answering = {
        each.name or each.callback.__name__
        for each in cli.app.registered_commands
        if each.callback and "in_json" in inspect.signature(each.callback).parameters
    }
    assert answering == SCHEMA["$defs"].keys() - {"verdict"}


@pytest.mark.parametrize(
    "words",
    [
        ["table", "lou"],
        ["table", "talwar", "--number", "2", "--all"],
        ["claims", "talwar"],
        ["claims", "lou", "--checks"],
        ["compare", REFERENCE, f"{REFERENCE}/ci"],
        ["audit", NOISE, "--rounds", "32"],
        ["audit", NOISE, "--rounds", "32", "--epsilon", "0.1"],
        ["advise", "--rounds", "1e5", "--dimension", "32", "--epsilon", "1", "--window", "1024", "--why"],
        ["check", "lou_cheung", "thm1-printed"],
        ["check", "lou_cheung", "lem2-eps", "--profile", "smoke"],
    ],
    ids=lambda words: " ".join(word.removeprefix(str(ROOT)) for word in words),
)
def test_an_answer_is_as_its_schema_says(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([*words, "--json"])
    told = capfd.readouterr()
    answer = json.loads(told.out)
    command = words[0]
    schema = {**SCHEMA, "$ref": f"#/$defs/{command}"}
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(answer, schema)
    rows = answer.get("rows", answer.get("moved", answer.get("learners", answer.get("by_age", answer.get("cells")))))
    assert rows or command == "check"
    assert told.err.count("\n") == (answer.get("verdict") == NOT_RUN)  # a claim that could not be decided


def cells_of(responses: Array, bounds: Array, status: tuple[str, ...] = (USED, USED)) -> Cells:
    """A sweep of two cells; responses (runs, cells)."""
    sizes = np.array([64.0, 128.0])
    return Cells(sizes, responses, bounds, responses.mean(axis=0), sizes, sizes, np.zeros(2), status, sizes, True)


@pytest.mark.parametrize(("side", "worst"), [("upper", 0.9), ("lower", 0.3)])
def test_the_number_of_a_bound_is_that_of_its_worst_cell(side: str, worst: float) -> None:
    """The cell that comes next to the bound, from below or from above; its interval is that of the runs' mean."""
    claim: Any = SimpleNamespace(type="stated", side=side, response="regret")
    runs = np.array([[2.9, 8.0], [3.1, 10.0]])  # two runs, two cells
    cells = cells_of(runs, np.array([10.0, 10.0]))
    quantity, value, low, high = check.number_of(claim, None, cells)  # type: ignore[arg-type]
    assert quantity == "regret / bound, worst cell"
    assert value == pytest.approx(worst)
    half = stats.t.ppf(0.975, 1) * {"upper": 0.1, "lower": 0.01}[side]
    assert (value - low, high - value) == pytest.approx((half, half))


@pytest.mark.parametrize(("side", "number"), [("lower", 1.71), ("upper", 0.855)])
def test_the_number_of_a_bound_is_that_of_its_reason(side: str, number: float) -> None:
    """A lower bound is judged in the asymptotic cells: the number is of these, too."""
    claim: Any = SimpleNamespace(type="below", side=side, response="noise", parameter="window")
    bounds = np.full(2, 1.0 if side == "lower" else 2.0)
    cells = cells_of(np.array([[0.99, 1.70], [1.01, 1.72]]), bounds, (EARLY, USED))
    judgement = judge_bounded(claim, cells)
    _, value, _, _ = check.number_of(claim, judgement, cells)
    assert value == pytest.approx(number)
    assert f" {value:.3g} of the bound" in judgement.reason
    none = replace(cells, status=(EARLY, EARLY))
    assert math.isnan(check.number_of(claim, judgement, none)[1]) == (side == "lower")


@pytest.mark.parametrize("in_json", [False, True])
def test_a_claim_that_was_not_decided_is_no_success(
    in_json: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is played: the experiment is not in the profile. A play that failed has the same verdict."""
    profile = tmp_path / "window.yaml"
    profile.write_text(
        "profile: window\nextends: ci\nonly: listed\npapers: {lou_cheung_2020: {experiments: {window: {}}}}\n"
    )
    assert check.main("lou_cheung", "thm3-T", str(profile), in_json=in_json) == 2
    told = capfd.readouterr()
    assert told.err.count("\n") == 1
    assert "could not be decided: experiment horizon is not in the profile" in told.err
    assert (json.loads(told.out)["verdict"] == "not run") if in_json else told.out == ""


def test_numbers_that_json_has_not_are_null() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [math.nan, 0.5]})
    found = plain({"frame": frame, "array": np.array([1.0, np.inf]), "flag": np.bool_(True), "path": Path("a/b")})
    assert found == {
        "frame": [{"a": 1, "b": None}, {"a": 2, "b": 0.5}],
        "array": [1.0, None],
        "flag": True,
        "path": "a/b",
    }
    assert json.loads(as_json(found)) == found
