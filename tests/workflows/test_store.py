"""Files of rows are read only as what was written; in the store of plays, anything else counts as missing."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpregret.core import parquet
from dpregret.workflows.run import store

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
