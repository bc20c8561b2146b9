"""The store of plays: what is there under its name is what was written, and anything else counts as missing."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
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


def restamped(file: Path) -> None:
    """A stamp without a key, as of files from elsewhere."""
    parquet.write(ROWS, file, parquet.Stamp("5e77", "c0de"))


def test_a_flipped_bit_is_seen_or_changes_nothing(file: Path, tmp_path: Path) -> None:
    whole, right, seen = file.read_bytes(), store.read(KEY, tmp_path), 0
    assert right is not None
    for place in range(0, len(whole), max(1, len(whole) // 200)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        rows = store.read(KEY, tmp_path)
        seen += rows is None
        if rows is not None:
            pd.testing.assert_frame_equal(rows, right[list(rows)])
            assert set(right) - set(rows) <= {"seconds", "seconds_projection"}
    assert seen > 20


def test_a_file_under_the_name_of_another_counts_as_missing(file: Path, tmp_path: Path) -> None:
    place = store.file_of(OTHER, tmp_path)
    place.parent.mkdir(exist_ok=True)
    file.rename(place)
    assert store.read(OTHER, tmp_path) is None
    store.write(ROWS, OTHER, "5e77", "c0de", tmp_path)
    assert store.read(OTHER, tmp_path) is not None
    restamped(place)
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
