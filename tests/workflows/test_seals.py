"""What a job made is used again only as long as it is what the job left, of what was asked, from what is there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpregret.core import stamped
from dpregret.core.files import checksum
from dpregret.paper_figs.runs import RunsError, empty_row
from dpregret.workflows import results, seals
from dpregret.workflows.config import Config, Job, load_config

ASKED = ["5e77", "c0de"]
LOG = Path("results/mine/log/paper/tables.log")
RUN, TABLE, FIGURES = (Path("results/mine/paper") / name for name in ("runs/a.parquet", "claims.csv", "figures"))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table and a folder of figures that a job has made from a run, and sealed."""
    monkeypatch.chdir(tmp_path)
    for path in (RUN, TABLE, FIGURES / "one.png", FIGURES / seals.MARK):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    seals.seal(LOG, ASKED, [RUN], [TABLE, FIGURES])
    return tmp_path


def fault(asked: list[str] = ASKED, log: Path = LOG, outputs: tuple[Path, ...] = (TABLE, FIGURES)) -> str | None:
    found = seals.fault(log, asked, outputs, seals.Checksums(None))
    return found[0] if found else None


def test_what_is_as_it_was_made_is_used(made: Path) -> None:
    for path in made.rglob("*"):
        os.utime(path, (1, 1))
    (FIGURES / seals.MARK).write_text("later")
    assert fault() is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: TABLE.write_text("y"), seals.CHANGED),
        (lambda: (FIGURES / "one.png").unlink(), seals.CHANGED),
        (lambda: (FIGURES / "two.png").write_text("x"), seals.CHANGED),
        (lambda: RUN.write_text("y"), seals.FROM_OTHERS),
        (lambda: seals.place_of(LOG)[0].unlink(), seals.UNSEALED),
        (lambda: seals.place_of(LOG)[0].write_text('{"format": 1, "asked": 5'), seals.UNSEALED),
        (lambda: seals.place_of(LOG)[0].write_text('{"format": 2}'), seals.UNSEALED),
    ],
)
def test_what_is_not_is_made_again(made: Path, change: Any, why: str) -> None:
    change()
    assert fault() == why


def test_other_settings_or_code_make_it_again_in_a_copied_folder_too(made: Path) -> None:
    shutil.copytree("results/mine", "results/other")
    log, *outputs = (Path("results/other") / path.relative_to("results/mine") for path in (LOG, TABLE, FIGURES))
    assert fault(log=log, outputs=tuple(outputs)) is None, "the same content under another name"
    assert fault(["5e77", "other"], log, tuple(outputs)) == seals.OTHERWISE
    assert fault(["other", "c0de"]) == seals.OTHERWISE


def test_nothing_is_said_of_what_is_not_there(made: Path) -> None:
    shutil.rmtree("results/mine/paper")
    assert fault() is None


def test_an_edit_that_keeps_size_and_date_is_seen(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "JUST_NOW", 0)
    kept = made / "sums.json"
    first = seals.Checksums(kept)
    first(TABLE)
    first.save()
    monkeypatch.setattr(seals.files, "checksum", lambda path: pytest.fail("read again"))
    assert seals.Checksums(kept)(TABLE) == first(TABLE)
    monkeypatch.undo()
    os.chdir(made)
    told = TABLE.stat()
    TABLE.write_text("y")
    os.utime(TABLE, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert seals.Checksums(kept)(TABLE) == checksum(TABLE) != first(TABLE)


@pytest.fixture
def config(settings: dict[str, Any], write: Any) -> Config:
    return load_config(write(settings), check=False)


def run_of(config: Config, root: Path, learner: str = "ftal", variant: str = "plain") -> Path:
    job = Job("lou_cheung_2020", "horizon", learner, variant)
    modules = results.recall().modules("online", learner, config.experiment(*job[:2]).streams)
    path = root / job.paper / "runs" / job.experiment / f"{learner}.{variant}.parquet"
    stamped.write(empty_row(), path, results.stamp_of(config, job, modules))
    return path


def test_a_table_refuses_by_name_runs_that_are_not_asked_for(config: Config, tmp_path: Path) -> None:
    path = run_of(config, tmp_path)
    linked = results.link_files([path], tmp_path / "linked", config)
    assert [each.name for each in linked.rglob("*.parquet")] == [path.name]
    with pytest.raises(RunsError, match=r"ftal.plain.parquet: made with other config \("):
        results.check_run(path, config.model_copy(update={"seed": 8}))
    other = run_of(config, tmp_path, "wdp-cocop-gamma", "corrected")
    path.write_bytes(other.read_bytes())
    with pytest.raises(RunsError, match=r"ftal.plain.parquet: the result of .*gamma.corrected, not of .*ftal.plain"):
        results.check_run(path, config)


def test_other_code_is_refused_by_name(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run_of(config, tmp_path)
    monkeypatch.setattr(results, "learner_fingerprint", lambda *_: "other")
    with pytest.raises(RunsError, match=r"ftal.plain.parquet: made with other code \(\w+, now other\)"):
        results.check_run(path, config)


ROWS = pd.DataFrame(
    {"x": [0.5, float("nan")], "n": [1, 2], "name": ["a", "b"], "ok": [True, False], "seconds": [0.1, 0.3]}
)


def test_equal_content_has_equal_hashes_and_times_do_not_count_as_numbers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path, frame in zip(paths, (ROWS, ROWS.assign(seconds=0.2), ROWS.assign(x=[0.5, 1.0])), strict=True):
        stamped.write(frame, path, stamped.Stamp("5e77", "c0de"))
        pd.testing.assert_frame_equal(stamped.read(path), frame)
    first, timed, other = map(stamped.Stamp.of, paths)
    assert (first.config, first.code) == ("5e77", "c0de")
    assert first.numbers == timed.numbers != other.numbers
    assert first.columns["seconds"] != timed.columns["seconds"]


@pytest.mark.parametrize("column", list(ROWS))
def test_an_edited_column_is_refused_by_name(tmp_path: Path, column: str) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    stamped.write(ROWS, path, stamped.Stamp("", ""))
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, table[column].take([1, 1])), path)
    with pytest.raises(stamped.StampError, match=rf"a.parquet: column {column} is not what was written"):
        stamped.read(path)
    table.to_pandas().to_parquet(path)
    with pytest.raises(stamped.StampError, match="does not say what it was made with"):
        stamped.read(path, ["n"])
