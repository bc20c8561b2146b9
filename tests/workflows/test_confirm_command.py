"""Fresh seeds follow from the text of claims; what decides verdicts decides their keys; faults write no table."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from plays import small

from dpregret.core.errors import ConfigError
from dpregret.core.paper_names import meant, paper_of
from dpregret.paper_figs.judge.claims import ClaimsFile
from dpregret.workflows.plan import frozen
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run import confirm
from dpregret.workflows.run.freshness import Record, contents

CLAIM = {"id": "a", "source": "s", "says": "s", "learner": "ftal.plain", "experiment": "small", "stream": "norm-kink",
         "parameter": "horizon", "rate": "ln T"}  # fmt: skip
TABLE = {"caption": "c", "reference": {"experiment": "small", "stream": "norm-kink"}, "rows": [
    {"id": "r", "label": "r", "group": "g", "learner": "ftal.plain", "operation": "o", "bound_text": "b"}]}  # fmt: skip


def texts(**changes: Any) -> dict[str, ClaimsFile]:
    paper = next(iter(small("online")["papers"]))
    data = {"paper": paper, "title": "t", "claims": [{**CLAIM, **changes}], "tables": [TABLE]}
    return {paper: ClaimsFile.model_validate(data)}


def configured(seed: int = 7, **changes: Any) -> Config:
    return Config.model_validate({**small("online", **changes), "seed": seed})


def test_seeds_are_the_first_bits_of_a_digest_and_a_counter() -> None:
    text = frozen.text_of(configured(), texts())
    assert json.loads(text)["profile"] == "mine"
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert frozen.digest_of(configured(), texts()) == digest
    expected = [int(hashlib.sha256(f"{digest} {number}".encode()).hexdigest()[:8], 16) for number in (1, 2, 3)]
    assert frozen.fresh_seeds(digest, 3) == expected
    assert frozen.fresh_seeds(digest, 2) == expected[:2]
    days = [frozen.fresh_seeds(digest, 2, f"2026-11-{day}") for day in (27, 28)]
    assert len({*expected, *days[0], *days[1]}) == 7


def test_neither_prose_nor_the_master_seed_nor_a_title_moves_the_seeds() -> None:
    digest = frozen.digest_of(configured(), texts())
    same = [(configured(8), texts()), (configured(title="Another"), texts()), (configured(), texts(says="other"))]
    assert {frozen.digest_of(*each) for each in same} == {digest}
    other = [(configured(runs=4), texts()), (configured(), texts(rate="T^0.5")), (configured(), texts(**{"from": 64}))]
    assert len({digest, *(frozen.digest_of(*each) for each in other)}) == 4


def test_a_claim_is_unfrozen_by_its_experiment_but_not_by_another_learner() -> None:
    (paper,) = texts()
    first = frozen.digests(configured(), paper, texts()[paper])
    assert frozen.digests(configured(8, learners={"ftal": ["plain"]}), paper, texts()[paper]) == first
    assert frozen.digests(configured(runs=4), paper, texts()[paper]) != first


def unit(folder: Path, key: str = "k", seed: int = 1) -> confirm.Unit:
    file = folder / str(seed) / "p.csv"
    return confirm.Unit(seed, "p", (), frozenset(), (), Plan(Path(), {}), key, file)


def test_verdicts_are_fresh_as_they_were_written_under_their_key(tmp_path: Path) -> None:
    made = unit(tmp_path)
    assert not made.is_fresh
    confirm.keep_verdicts(made)
    assert made.is_fresh
    assert confirm.kept(made).empty
    assert not unit(tmp_path, key="other").is_fresh
    made.file.write_text(made.file.read_text() + "\n")
    assert not made.is_fresh
    made.file.unlink()
    assert not made.is_fresh


def test_kept_verdicts_are_read_as_they_were(tmp_path: Path) -> None:
    rows = [
        ("a", "reproduced", 0.5, 0.4, 0.6, "power", "runs", 16, 0.25, "because, nan"),
        ("b", "not run", *[None] * 8),
    ]
    made, table = unit(tmp_path), pd.DataFrame(rows, columns=[*confirm.JUDGED])
    confirm.formats.write_csv(table, made.file)
    Record("k", (made.file.as_posix(),), contents([made.file])).write(made.record)
    first, second = confirm.kept(made).to_dict("records")
    assert first == dict(zip(confirm.JUDGED, rows[0], strict=True))
    assert (second["verdict"], second["reason"], second["over"]) == ("not run", "", "")
    assert second["number"] != second["number"]


def test_every_set_of_seeds_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def of(digest: str, seeds: tuple[int, ...], whole: bool = True) -> confirm.Confirmation:
        return confirm.Confirmation(configured(), ("p", "q"), whole, digest, seeds, (), ())

    for each in (of("d1", (5, 6)), of("d1", (5, 6)), of("d1", (5, 6, 7)), of("d2", (8,), whole=False)):
        confirm.listed(each)
    file = Path("results/reference/mine/confirmation/seeds.csv")
    assert file.read_text().splitlines() == [
        "digest,number,seed,papers", "d1,1,5,all", "d1,2,6,all", "d1,3,7,all", "d2,1,8,p q",
    ]  # fmt: skip
    part = of("d1", (5,), whole=False)
    assert part.folder == Path("results/mine/confirmation/p+q")
    assert replace(part, date="2026-11-29").folder == Path("results/mine/confirmation/2026-11-29/p+q")


def test_seeds_of_a_date_write_over_no_other_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same date continues; its table is not that of the seeds without one."""
    monkeypatch.chdir(tmp_path)
    written: list[Path] = []
    monkeypatch.setattr(confirm, "confirm", lambda made, cores, out, on_progress: written.append(out) or [])
    monkeypatch.setattr(confirm, "load_config", lambda *_, **__: configured())
    monkeypatch.setattr(confirm.cross_references, "check_references", lambda _: texts())
    for date in ("", "2026-11-28", "2026-11-29", "2026-11-29"):
        assert confirm.main("smoke", 1, date=date) == 0
    whole = Path("results/mine/confirmation")
    assert written == [whole, whole / "2026-11-28", whole / "2026-11-29", whole / "2026-11-29"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_paper_is_judged_when_its_last_play_has_ended_and_not_where_one_failed(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = [SimpleNamespace(seed=seed, paper="p") for seed in range(3)]
    plays = {0: [(2.0, "e", 0), (1.0, "f", 0)], 1: [(1.0, "e", 0)], 2: []}
    ended: list[Any] = []

    def play(number: int, experiment: str, first: int, log: Path) -> list[str]:
        ended.append((number, experiment))
        return ["fault"] if fails and (number, experiment) == (0, "e") else []

    def judge(number: int, log: Path) -> list[str]:
        ended.append(number)
        return []

    monkeypatch.setattr(confirm, "_tasks", lambda unit: plays[unit.seed])
    monkeypatch.setattr(confirm, "_play", play)
    monkeypatch.setattr(confirm, "_judge", judge)
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        faults = confirm._run(pool, units, tmp_path, said.append)  # type: ignore[arg-type]
    assert faults == (["fault"] if fails else [])
    assert {each for each in ended if isinstance(each, int)} == ({1, 2} if fails else {0, 1, 2})
    for number in {0, 1} - ({0} if fails else set()):
        assert ended.index(number) > max(ended.index((number, name)) for _, name, _ in plays[number])
    assert len(said) == (2 if fails else 3)


def test_faults_write_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = confirm.Confirmation(configured(), ("p",), True, "d", (1,), (), (unit(tmp_path), unit(tmp_path, seed=7)))
    monkeypatch.setattr(confirm, "play_all", lambda *_: ["seed 1: p: l.v in e: it broke"])
    with pytest.raises(confirm.RunsError, match="it broke"):
        confirm.confirm(made, 1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("word", ["lou", "lou_cheung", "asi_et_al_2023", "asi_et_al_2023_e"])
def test_papers_are_named_in_full_in_short_or_by_beginnings(word: str) -> None:
    papers = ["asi_et_al_2023", "asi_et_al_2023_experts", "lou_cheung_2020"]
    assert paper_of(word, papers) == {"lou": papers[2], "lou_cheung": papers[2], papers[0]: papers[0]}.get(
        word, papers[1]
    )


@pytest.mark.parametrize("word", ["asi_et", "", "luo", 3])
def test_other_names_are_refused_in_one_line(word: object) -> None:
    with pytest.raises(ConfigError, match="may be any of" if word == "asi_et" else "unknown paper"):
        paper_of(word, ["asi_et_al_2023", "asi_et_al_2024", "lou_cheung_2020"])


def test_the_whole_name_of_a_paper_is_not_the_beginning_of_another() -> None:
    played = ["asi_et_al_2023_experts"]
    assert paper_of("asi_et_al_2023_e", played, ["asi_et_al_2023", *played]) == played[0]
    with pytest.raises(ConfigError, match="unknown paper 'asi_et_al_2023'"):
        paper_of("asi_et_al_2023", played, ["asi_et_al_2023", *played])


def test_what_a_name_means_is_not_what_it_also_begins() -> None:
    names = ["lou_2020", "louis_2021", "lou_again_2022"]
    assert meant("lou", names) == ["lou_2020"]
    assert meant("loui", names) == ["louis_2021"]
    assert meant("lo", names) == names
    assert meant("lou_2020", names[1:], names) == meant("", names) == []


@pytest.mark.parametrize("date", ["today", "2026-13-01", "2026-1-1", "20261129"])
def test_a_date_that_is_none_is_refused(date: str) -> None:
    with pytest.raises(ConfigError, match="YYYY-MM-DD"):
        confirm.main("smoke", 1, date=date)


def test_plays_are_those_that_decide_a_line() -> None:
    (paper,) = texts()
    both: Callable[..., Config] = lambda: configured(learners={"ftal": ["plain"], "wdp-cocop-gamma": ["corrected"]})  # noqa: E731
    made = confirm._unit(both(), paper, texts()[paper])
    assert [(play.learner, play.variant) for part in made.parts for play in part.plays] == [("ftal", "plain")]
    assert confirm._unit(configured(8), paper, texts()[paper]).key != made.key
    assert [first for _, _, first in confirm._tasks(made)] == [0]
