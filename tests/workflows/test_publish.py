"""The names that people read are copies of what the plan names, or nothing; rows are read as written, or not."""

from __future__ import annotations

import json
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from plays import NO_CODE, part_of, plan_of

from dpregret.core import parquet
from dpregret.core.files import checksum
from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run import store
from dpregret.workflows.run.publish import FAILED, forget_failed, publish

MADE, RESULTS = Path("results/made"), Path("results/mine")
RUNS = {name: MADE / "runs" / "p" / f"{name}.0123.parquet" for name in ("good", "bad")}
TABLES, FIGURES, AUDIT = MADE / "tables" / "p.0123", MADE / "figures" / "p.0123", MADE / "audit" / "all.0123.csv"
SHOWN = {
    **{f"p/runs/{name}.parquet": (str(file), "") for name, file in RUNS.items()},
    "p/claims.csv": (str(TABLES), "claims.csv"),
    "p/gains.csv": (str(TABLES), "gains.csv"),
    "p/figures": (str(FIGURES), ""),
    "audit.csv": (str(AUDIT), ""),
}


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose files are all made, but for one table that its paper does not have."""
    monkeypatch.chdir(tmp_path)
    for file in (*RUNS.values(), TABLES / "claims.csv", FIGURES / "a.png", FIGURES / "sub" / "b.csv", AUDIT):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{file}\n")
    (FIGURES / ".snakemake_timestamp").touch()
    made = {
        "tables/p": (str(TABLES), ["runs/p"], NO_CODE),
        "figures/p": (str(FIGURES), ["tables/p"], NO_CODE),
        "audit/all": (str(AUDIT), [], NO_CODE),
    }
    parts = {"p": {name: part_of(file, name) for name, file in RUNS.items()}}
    content = {"parts": parts, "made": made, "shown": SHOWN, "profile": "mine"}
    return plan_of(tmp_path, **content, everything=["tables/p", "figures/p", "audit/all"])


def tree(folder: Path) -> dict[str, str]:
    """File -> text, of all that are not about the whole folder."""
    about = {"plan.json", "SHA256SUMS", "origin.json"}
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_text() for name, path in found.items() if name not in about}


def test_copies_equal_their_originals(plan: Plan) -> None:
    publish(plan)
    assert tree(RESULTS) == {
        **{f"p/runs/{name}.parquet": f"{file}\n" for name, file in RUNS.items()},
        "p/claims.csv": f"{TABLES / 'claims.csv'}\n",
        "p/figures/a.png": f"{FIGURES / 'a.png'}\n",
        "p/figures/sub/b.csv": f"{FIGURES / 'sub/b.csv'}\n",
        "audit.csv": f"{AUDIT}\n",
    }
    assert Plan.read(RESULTS / "plan.json").content == plan.content
    before = {path: path.stat().st_mtime_ns for path in RESULTS.rglob("*")}
    publish(plan)
    assert {path: path.stat().st_mtime_ns for path in RESULTS.rglob("*")} == before


def test_the_list_follows_the_plan(plan: Plan) -> None:
    """A plan of another reference names the same files and has other words."""
    publish(plan)
    other = plan.file.with_name("other.json")
    other.write_text(json.dumps({**plan.content, "gate": "another"}))
    publish(Plan.read(other))
    listed = dict(reversed(line.split("  ")) for line in (RESULTS / "SHA256SUMS").read_text().splitlines())
    assert listed["plan.json"] == checksum(other)


def test_what_was_edited_by_hand_is_restored(plan: Plan) -> None:
    publish(plan)
    right = tree(RESULTS)
    sums = (RESULTS / "SHA256SUMS").read_bytes()
    claims, figures = RESULTS / "p" / "claims.csv", RESULTS / "p" / "figures"
    claims.write_text(claims.read_text().replace("claims", "clains"))
    os.utime(claims, ns=(TABLES.stat().st_atime_ns, TABLES.stat().st_mtime_ns))
    (figures / "a.png").unlink()
    (figures / "more.png").touch()
    (RESULTS / "audit.csv").unlink()
    (RESULTS / "audit.csv").mkdir()
    publish(plan)
    assert tree(RESULTS) == right
    assert (RESULTS / "SHA256SUMS").read_bytes().count(b"\n") == sums.count(b"\n")


def test_a_copy_without_an_original_is_removed(plan: Plan) -> None:
    publish(plan)
    before = tree(RESULTS)
    (FIGURES / "a.png").unlink()
    for path in (AUDIT, TABLES / "claims.csv"):
        path.unlink()
    (FIGURES / "sub" / "b.csv").unlink()
    publish(plan)
    assert set(before) - set(tree(RESULTS)) == {"p/figures/a.png", "p/figures/sub/b.csv", "audit.csv", "p/claims.csv"}
    assert not (RESULTS / "SHA256SUMS").exists(), "a list says that the run is whole"


def test_a_failed_play_takes_with_it_what_was_made_of_it(plan: Plan) -> None:
    publish(plan)
    mark = Path(f"{RUNS['bad']}{FAILED}")
    mark.write_text("l.v: it hangs\n")
    forget_failed(plan)
    publish(plan)
    assert not any(path.exists() for path in (RUNS["bad"], mark, TABLES, FIGURES))
    assert set(tree(RESULTS)) == {"p/runs/good.parquet", "audit.csv"}
    assert set(tree(MADE)) == {"runs/p/good.0123.parquet", "audit/all.0123.csv"}


def test_a_file_of_the_future_gets_the_date_of_today(plan: Plan) -> None:
    for path in (AUDIT, RUNS["good"], FIGURES):
        os.utime(path, (3786912000, 3786912000))  # 2090
    old = TABLES / "claims.csv"
    os.utime(old, (0, 0))
    publish(plan)
    assert all(path.stat().st_mtime <= time.time() for path in (AUDIT, RUNS["good"], FIGURES))
    assert old.stat().st_mtime == 0


def test_nothing_made_is_nothing_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = {"audit/all": (str(AUDIT), [], NO_CODE)}
    publish(plan_of(tmp_path, made=made, shown=SHOWN, profile="mine", everything=["audit/all"]))
    assert tree(tmp_path / "results") == {}


KEY, OTHER = store.key_of({"seed": 1}), store.key_of({"seed": 2})
ROWS = pd.DataFrame(
    {
        "regret": [0.1 + 0.2, -0.0, 5e-324, math.inf, math.nan],
        "horizon": [2**62, 1, 2, 3, 4],
        "stream": ["norm-kink", "", "é", "\n", "x" * 1000],
        "tight": [True, False, True, False, True],
        "seconds": [1e-9, 2.0, 3.0, 4.0, 5.0],
        "seconds_projection": 1.0,
    }
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of `KEY`."""
    store.write(ROWS, KEY, "5e77", "c0de", tmp_path)
    return store.file_of(KEY, tmp_path)


def test_keys_follow_content_and_not_its_order() -> None:
    assert store.key_of({"a": 1, "b": [1, 2]}) == store.key_of({"b": [1, 2], "a": 1})
    assert len({store.key_of(each) for each in ({"a": 1}, {"a": 1.0}, {"a": "1"}, {"b": 1}, [1], [[1]])}) == 6


def test_what_is_written_is_read_bit_for_bit(file: Path, tmp_path: Path) -> None:
    rows = store.read(KEY, tmp_path)
    assert rows is not None
    pd.testing.assert_frame_equal(rows, pd.read_parquet(file), check_exact=True)
    assert rows["regret"].to_numpy().tobytes() == ROWS["regret"].to_numpy().tobytes()
    assert rows.drop(columns="regret").to_dict("list") == ROWS.drop(columns="regret").to_dict("list")
    assert [store.holds(key, tmp_path) for key in (KEY, OTHER)] == [True, False]
    assert store.read(OTHER, tmp_path) is None


def test_a_file_under_the_name_of_another_counts_as_missing(file: Path, tmp_path: Path) -> None:
    place = store.file_of(OTHER, tmp_path)
    place.parent.mkdir(exist_ok=True)
    file.rename(place)
    assert store.read(OTHER, tmp_path) is None
    store.write(ROWS, OTHER, "5e77", "c0de", tmp_path)
    assert store.read(OTHER, tmp_path) is not None
    parquet.write(ROWS, place, parquet.Stamp("5e77", "c0de"))  # without a key, as of files from elsewhere
    assert store.read(OTHER, tmp_path) is None


def test_seconds_of_another_machine_are_left_out(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "here", lambda: "another machine")
    rows = store.read(KEY, tmp_path)
    assert rows is not None
    assert set(ROWS) - set(rows) == {"seconds", "seconds_projection"}
    assert rows["regret"].to_numpy().tobytes() == ROWS["regret"].to_numpy().tobytes()


def test_writers_and_readers_at_once_see_whole_files(tmp_path: Path) -> None:
    def work(number: int) -> None:
        for _ in range(10):
            store.write(ROWS.assign(horizon=number), KEY, "5e77", "c0de", tmp_path)
            rows = store.read(KEY, tmp_path)
            assert rows is not None
            assert rows["horizon"].nunique() == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{KEY}.parquet"]


def test_times_do_not_count_as_numbers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path, frame in zip(paths, (ROWS, ROWS.assign(seconds=0.2), ROWS.assign(regret=0.5)), strict=True):
        parquet.write(frame, path, parquet.Stamp("5e77", "c0de"))
    first, timed, other = map(parquet.Stamp.of, paths)
    assert (first.config, first.code) == ("5e77", "c0de")
    assert first.numbers == timed.numbers != other.numbers
    assert first.columns["seconds"] != timed.columns["seconds"]


@pytest.mark.parametrize("column", ["regret", "horizon", "stream", "tight", "seconds"])
def test_an_edited_column_is_refused_by_name(file: Path, column: str) -> None:
    table = pq.read_table(file)
    edited = table[column].take([1, 1, 2, 3, 4])
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, edited), file)
    with pytest.raises(parquet.StampError, match=rf"{KEY}.parquet: column {column} "):
        parquet.read(file)
    table.to_pandas().to_parquet(file)
    with pytest.raises(parquet.StampError):
        parquet.read(file, ["horizon"])
