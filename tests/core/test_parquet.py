"""A file of rows is read only as long as it is what was written."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpregret.core import parquet

ROWS = pd.DataFrame(
    {"x": [0.5, float("nan")], "n": [1, 2], "name": ["a", "b"], "ok": [True, False], "seconds": [0.1, 0.3]}
)


def test_equal_content_has_equal_hashes_and_times_do_not_count_as_numbers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path, frame in zip(paths, (ROWS, ROWS.assign(seconds=0.2), ROWS.assign(x=[0.5, 1.0])), strict=True):
        parquet.write(frame, path, parquet.Stamp("5e77", "c0de"))
        pd.testing.assert_frame_equal(parquet.read(path), frame)
    first, timed, other = map(parquet.Stamp.of, paths)
    assert (first.config, first.code) == ("5e77", "c0de")
    assert first.numbers == timed.numbers != other.numbers
    assert first.columns["seconds"] != timed.columns["seconds"]


@pytest.mark.parametrize("column", list(ROWS))
def test_an_edited_column_is_refused_by_name(tmp_path: Path, column: str) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    parquet.write(ROWS, path, parquet.Stamp("", ""))
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, table[column].take([1, 1])), path)
    with pytest.raises(parquet.StampError, match=rf"a.parquet: column {column} is not what was written"):
        parquet.read(path)
    table.to_pandas().to_parquet(path)
    with pytest.raises(parquet.StampError, match="does not say what it was made with"):
        parquet.read(path, ["n"])
