"""Confirmations: the rule, the table, coverage by simulation, and how later tables read it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpregret.paper_figs.confirm import fresh_seeds as confirm
from dpregret.paper_figs.confirm.fresh_seeds import Line
from dpregret.paper_figs.confirm.write_confirmation import write
from dpregret.paper_figs.judge import confirmed, fits
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.confirmed import Agreement, Confirmation
from dpregret.paper_figs.text.formats import DamageError

SAME = word.REPRODUCED


@pytest.mark.parametrize(
    ("own", "fresh", "status", "said"),
    [
        (SAME, [SAME] * 5, "confirmed", "5 of 5"),
        (SAME, [SAME] * 4 + [word.INCONCLUSIVE], "in part", "4 of 5, 1 inconclusive"),
        (SAME, [SAME] * 4 + [word.BELOW], "in part", f"4 of 5, 1 {word.BELOW}"),
        (SAME, [SAME] * 3 + [word.BELOW] * 2, "contradicted", f"3 of 5, 2 {word.BELOW}"),
        (SAME, [SAME] * 3 + [word.BELOW, word.STEEPER], "contradicted", f"3 of 5, 1 {word.BELOW}, 1 {word.STEEPER}"),
        (SAME, [word.UP_TO_LOGS] * 5, "in part", "0 of 5, 5 in other words"),
        (SAME, [word.INCONCLUSIVE] * 5, "in part", "0 of 5, 5 inconclusive"),
        (word.STEEPER_HELD, [word.VIOLATED] * 2, "contradicted", f"0 of 2, 2 {word.VIOLATED}"),
        (word.VIOLATED, [word.STEEPER_HELD] * 2, "contradicted", f"0 of 2, 2 {word.STEEPER_HELD}"),
        (word.INCONCLUSIVE, [SAME, SAME, word.BELOW], "undecided", "0 of 3, 3 decided"),
        (word.INCONCLUSIVE, [word.INCONCLUSIVE] * 2, "undecided", "2 of 2"),
        (word.HOLDS, [word.FAILS] * 2, "contradicted", f"0 of 2, 2 {word.FAILS}"),
    ],
)
def test_two_opposite_seeds_contradict_and_inconclusive_ones_do_not(
    own: str, fresh: list[str], status: str, said: str
) -> None:
    found = Agreement.of(own, fresh)
    assert (found.status, str(found)) == (status, said)


def test_every_verdict_that_decides_has_a_side() -> None:
    assert {*word.ORDER} - {*confirmed.SIDES} == {word.INCONCLUSIVE, word.NOT_RUN}


def judged(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    """Verdicts on one seed: claim, verdict, number, half of its interval."""
    frame = pd.DataFrame(rows, columns=["claim", "verdict", "number", "half"])
    frame = frame.assign(low=frame["number"] - frame["half"], high=frame["number"] + frame["half"])
    return frame.assign(quantity=confirm.POWER, over="runs", runs=16.0, largest_run=0.3, reason="because")


def lines(*claims: str, exact: tuple[str, ...] = ()) -> list[Line]:
    return [Line("p", claim, "claim", "paper", f"digest of {claim}", claim in exact) for claim in claims]


def test_what_no_seed_can_move_is_left_out() -> None:
    own = {"p": judged(("still", SAME, 0.5, 0.0), ("moves", SAME, 0.5, 0.0), ("open", word.NOT_RUN, 0.5, 0.0))}
    fresh = [
        {"p": judged(("still", SAME, 0.5, 0.0), ("moves", SAME, end, 0.0), ("open", SAME, 0.5, 0.0))}
        for end in (0.5, 0.51)
    ]
    table = confirm.compare(lines("still", "moves", "open", "ledger", exact=("ledger",)), own, fresh).set_index("claim")
    assert table["status"].to_dict() == {"still": "deterministic", "moves": "confirmed", "ledger": "exact"}


def test_a_line_that_a_seed_lacks_is_a_fault() -> None:
    with pytest.raises(KeyError):
        confirm.compare(lines("a"), {"p": judged(("a", SAME, 0.5, 0.1))}, [{"p": judged(("b", SAME, 0.5, 0.1))}])


def test_pooled_numbers_are_means_with_the_interval_that_follows() -> None:
    numbers = np.array([[1.0, 0.7, 1.3], [2.0, 1.6, 2.4]])
    assert confirm.pooled(numbers) == pytest.approx((1.5, 1.25, 1.75))
    assert np.isnan(confirm.pooled(np.array([[1.0, 0.7, 1.3], [np.nan] * 3])).value)
    assert np.isnan(confirm.pooled(np.empty((0, 3))).value)


@pytest.mark.parametrize(
    ("numbers", "largest", "said"),
    [
        ((0.59, 0.61), 0.3, confirm.EDGE),
        ((0.5, 0.9), 0.3, confirm.MOVED),
        ((0.5, 0.9), 0.95, confirm.RARE),
        ((0.5, np.nan), 0.3, confirm.ENDS),
    ],
)
def test_a_flip_has_a_cause(numbers: tuple[float, float], largest: float, said: str) -> None:
    seeds = [
        {"p": judged(("a", verdict, number, 0.05)).assign(largest_run=largest)}
        for verdict, number in zip((SAME, word.STEEPER), numbers, strict=True)
    ]
    (found,) = confirm.compare(lines("a"), seeds[0], seeds[1:])["cause"]
    assert found == said


def simulated(error: float, seeds: int = 5, count: int = 400) -> pd.DataFrame:
    """A table of numbers that scatter with `error` times the standard error that their intervals state."""
    draws = np.random.default_rng(5).normal(size=(seeds + 1, count))
    half = 0.01 * float(fits.t_quantile(16))
    tables = [
        {"p": judged(*((f"c{at}", SAME, 0.5 + 0.01 * error * draw, half) for at, draw in enumerate(row)))}
        for row in draws
    ]
    return confirm.compare(lines(*(f"c{at}" for at in range(count))), tables[0], tables[1:])


@pytest.mark.parametrize(("error", "least", "most"), [(1.0, 0.95, 0.985), (2.0, 0.6, 0.8)])
def test_coverage_between_seeds_is_that_of_honest_intervals(error: float, least: float, most: float) -> None:
    """A t interval of 16 runs covers a normal number of known error a little more often than 95 %."""
    found = confirm.deviations(simulated(error))
    assert len(found) == 5 * 400
    assert least <= found["covered"].mean() <= most
    assert np.sqrt((found["z"] ** 2).mean()) == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize(("error", "least", "most"), [(1.0, 0, 4), (3.0, 300, 400)])
def test_intervals_that_are_too_narrow_are_named(error: float, least: int, most: int) -> None:
    found = confirm.scattered(simulated(error))
    assert least <= len(found) <= most
    assert found["times"].is_monotonic_decreasing
    assert (found["chance"] < confirm.CHANCE).all()


@pytest.mark.parametrize("runs", [4, 8, 64])
def test_lines_of_right_intervals_are_named_at_the_stated_rate(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the runs behind each error are, whose own scatter a fixed border would take for the numbers'."""
    draws = np.random.default_rng(8)
    lines = [
        (
            {"paper": "p", "claim": str(line), "runs": runs},
            draws.normal(size=5),
            np.sqrt(draws.chisquare(runs - 1, 5) / (runs - 1)),
        )
        for line in range(4000)
    ]
    monkeypatch.setattr(confirm, "_fitted", lambda _: lines)
    monkeypatch.setattr(confirm, "CHANCE", 0.05)
    assert len(confirm.scattered(pd.DataFrame())) / 4000 == pytest.approx(0.05, abs=0.011)  # three standard errors


def test_counts_add_up_and_the_page_lists_what_differs(tmp_path: Path) -> None:
    flips = ((SAME, word.BELOW, word.BELOW, SAME), (SAME, word.STEEPER, word.INCONCLUSIVE, word.UP_TO_LOGS))
    own, *fresh = (
        {"p": judged(*((name, each, 0.5, 0.1) for name, each in zip("abcd", row, strict=True)))}
        for row in ((SAME, SAME, word.BELOW, SAME), *flips)
    )
    table = confirm.compare(lines("a", "b", "c", "d"), own, fresh)
    totals = confirm.counted(table, "verdict").set_index("verdict").loc["all"].to_dict()
    assert totals == {
        "decided": 4, "same on all seeds": 1, "inconclusive on some": 1, "the same side in another word": 1,
        "opposite on one": 0, "contradicted": 1,
    }  # fmt: skip
    write(table, [11, 12], "full", tmp_path)
    text = (tmp_path / "confirmation.md").read_text()
    assert "Of 4 claims with a verdict, 1 have the same verdict on 2 of 2 fresh seeds" in text
    assert "another word on some: 1; the other way on one: 0; contradicted (the other way on 2 or more): 1" in text
    listed = text.partition("## Claims and checks on which a fresh seed differs")[2]
    assert [f"| p {name} " in listed for name in "abc"] == [False, True, True]
    assert (tmp_path / "scatter.png").stat().st_size > 1000
    pd.testing.assert_frame_equal(confirm.read(tmp_path / confirmed.TABLE), table, check_dtype=False, rtol=1e-5)


@pytest.fixture
def committed(tmp_path: Path) -> Confirmation:
    own = {"p": judged(("a", SAME, 0.5, 0.1), ("b", SAME, 0.5, 0.1), ("c", SAME, 0.5, 0.1))}
    fresh = [{"p": judged(("a", SAME, 0.5, 0.1), ("b", word.BELOW, 0.5, 0.1), ("c", SAME, 0.5, 0.1))}] * 2
    table = confirm.compare(lines("a", "b", "c", "exact", exact=("exact",)), own, fresh)
    write(table, [11, 12], "full", tmp_path / confirmed.FOLDER)
    return Confirmation.read(tmp_path)


def test_a_contradicted_verdict_changes_its_word_and_a_changed_claim_is_not_confirmed(committed: Confirmation) -> None:
    now = pd.DataFrame({"claim": ["a", "b", "c", "exact", "new", "bound.e.l.v"], "verdict": SAME, "reason": "because"})
    digests = {name: f"digest of {name}" for name in ("a", "b", "exact", "new")} | {"c": "another"}
    found = committed.applied(now, "p", digests).set_index("claim")
    assert found["verdict"].to_dict() == {**dict.fromkeys(now["claim"], SAME), "b": word.INCONCLUSIVE}
    assert found["reason"]["b"].startswith("contradicted on fresh seeds")
    assert found["reason"]["b"].endswith("; because")
    lost = confirmed.NOT_CONFIRMED
    assert found["seeds"].tolist() == ["2 of 2", f"0 of 2, 2 {word.BELOW}", lost, "exact", lost, ""]
    assert confirmed.tally(found) == (1, 2, 2)


def test_without_a_confirmation_nothing_changes(tmp_path: Path) -> None:
    now = pd.DataFrame({"claim": ["a"], "verdict": SAME, "reason": "because"})
    found = Confirmation.read(tmp_path).applied(now, "p", {"a": "x"})
    assert found.to_dict("records") == [
        {"claim": "a", "verdict": SAME, "reason": "because", "frozen": "x", "seeds": ""}
    ]
    assert confirmed.tally(found) == (0, 0, 0)


def test_a_damaged_table_is_refused(committed: Confirmation, tmp_path: Path) -> None:
    file = tmp_path / confirmed.FOLDER / confirmed.TABLE
    file.write_text(file.read_text().replace(",confirmed,", ",perhaps,"))
    with pytest.raises(DamageError, match="perhaps"):
        Confirmation.read(tmp_path)


def claim(**changes: object) -> Claim:
    data = {"id": "a", "source": "Theorem 1", "says": "so", "learner": "l.v", "experiment": "e", "stream": "s"}
    return Claim.model_validate({**data, "parameter": "horizon", "rate": "T^0.5", **changes})


@pytest.mark.parametrize(
    "changes", [{"says": "thus"}, {"source": "Theorem 2"}, {"changed": "once"}, {"errata": ["E1"]}]
)
def test_prose_does_not_unfreeze_a_claim(changes: dict[str, object]) -> None:
    assert confirmed.digest(claim(**changes), "x") == confirmed.digest(claim(), "x")


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": "T^0.6"}, {"tol": 0.2, "tol_reason": "r"}, {"stream": "t"}, {"learner": "l.w"}, {"from": 64},
        {"where": {"window": 4}}, {"check": "dictated"}, {"scope": "instance"}, {"response": "log_slope"},
        {"origin": "derived"},
    ],
)  # fmt: skip
def test_what_decides_a_verdict_does(changes: dict[str, object]) -> None:
    assert confirmed.digest(claim(**changes), "x") != confirmed.digest(claim(), "x")
    assert confirmed.digest(claim(), "x") != confirmed.digest(claim(), "y")
