"""Results, archives and tables with damaged bytes: refused in words, or read as they were written."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzzing import check_words, damage, fuzz, refusal
from hypothesis import given
from hypothesis import strategies as st

from dpregret.core import parquet
from dpregret.datasets import examples
from dpregret.paper_figs.compare import compare, gate
from dpregret.paper_figs.judge.result_tables import FILES, JOBS
from dpregret.paper_figs.judge.runs import RunsError, read_runs
from dpregret.paper_figs.tables import show
from dpregret.paper_figs.validation.simulate import Sweep
from dpregret.workflows.run import archive, store
from dpregret.workflows.run.archive import lock

pytestmark = pytest.mark.filterwarnings("default")
PAPER = (*FILES.values(), JOBS)
KEPT = Path(__file__).resolve().parents[2] / "results" / "reference" / "ci" / "lou_cheung_2020"
ROWS = Sweep(lambda checkpoints, value: checkpoints**0.5, runs=2, horizon=64).frame()


def called(main: Callable[[list[str]], int], *words: object) -> tuple[int, str]:
    """Exit code of a command and all that it says; code 0 or 1: about what was read, 2: it cannot be read."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = main([str(word) for word in words])
    said = told.getvalue()
    assert "Traceback" not in said
    assert code == 0 or said.strip()
    assert code != 2 or all(len(line) < 2000 for line in said.splitlines())
    return code, said


@fuzz(30)
@given(data=st.data())
def test_damaged_results_are_refused_or_as_written(data: st.DataObject, tmp_path: Path) -> None:
    """In the store, what is refused counts as missing."""
    key = store.key_of("some")
    path = store.file_of(key, tmp_path)
    store.write(ROWS, key, "5e77", "c0de", tmp_path)
    whole = store.read(key, tmp_path)
    path.write_bytes(data.draw(damage(path.read_bytes())))
    found: list[pd.DataFrame] = []
    said = refusal(lambda path: found.append(parquet.read(path, most=10**6)), path, parquet.StampError)
    check_words(said, path.name)
    if not said:
        pd.testing.assert_frame_equal(found[0], ROWS, check_exact=True)
    kept = store.read(key, tmp_path)
    if kept is not None and whole is not None:
        pd.testing.assert_frame_equal(kept, whole[list(kept)], check_exact=True)
        assert all(name.startswith("seconds") for name in set(whole) - set(kept))
    check_words(refusal(parquet.Stamp.of, path, parquet.StampError), path.name)
    check_words(refusal(read_runs, path.parent, RunsError), path.name)


@fuzz(30)
@given(data=st.data())
def test_damaged_examples_are_refused_or_as_written(data: st.DataObject, tmp_path: Path) -> None:
    path, features, labels = tmp_path / "tiny.npz", np.eye(3) / 2, np.array([1.0, -1.0, 0.5])
    path.unlink(missing_ok=True)
    examples.save(path, features=features, labels=labels)
    path.write_bytes(data.draw(damage(path.read_bytes())))
    found: list[examples.Examples] = []
    said = refusal(lambda path: found.append(examples.read(path)), path, ValueError)
    check_words(said, "tiny.npz")
    if not said:
        np.testing.assert_array_equal(found[0].features, features)
        np.testing.assert_array_equal(found[0].labels, labels)


def shortened(folder: Path) -> None:
    """A kept paper with a few lines of each table: the header, and what follows it."""
    folder.mkdir(parents=True)
    for name in (*PAPER, "table_1.csv"):
        lines = (KEPT / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:8]), encoding="utf-8")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two equal folders of results, of one paper."""
    made = [tmp_path_factory.mktemp(name) for name in ("now", "kept")]
    for side in made:
        shortened(side / KEPT.name)
    return made[0], made[1]


@pytest.mark.parametrize("name", [*PAPER, "table_1.csv"])
@fuzz(7)
@given(data=st.data())
def test_a_damaged_table_is_refused_or_told(name: str, data: st.DataObject, sides: tuple[Path, Path]) -> None:
    """The gate refuses a damaged table or tells what is different; only numbers that moved less than they may pass."""
    now, kept = sides
    for side in sides:
        file = side / KEPT.name / name
        whole = file.read_bytes()
        spoilt = data.draw(damage(whole))
        file.write_bytes(spoilt)
        try:
            code, _ = called(gate.main, now, kept)
            if code == 0 and name in PAPER:
                lines = [gate.Tables.read(gate.papers(each)) for each in sides]
                for frame in ("lines", "jobs"):
                    assert len(getattr(lines[0], frame)) == len(getattr(lines[1], frame))
                assert lines[0].lines["verdict"].tolist() == lines[1].lines["verdict"].tolist()
            assert called(compare.main, now, kept)[0] in (0, 2)
            assert called(show.main, KEPT.name, "--results", side)[0] in (0, 2)
        finally:
            file.write_bytes(whole)


TABLE, RUN = f"{KEPT.name}/claims.csv", f"{KEPT.name}/runs/horizon/ftal.plain.parquet"


def finished(root: Path) -> Path:
    """A finished run: rows, a table, and the list of both."""
    (root / TABLE).parent.mkdir(parents=True, exist_ok=True)
    (root / TABLE).write_text("a,b\n1,2\n")
    parquet.write(ROWS, root / RUN, parquet.Stamp("5e77", "c0de"))
    archive.write_sums(root, [KEPT.name], {"profile": "mine", "lock": lock()})
    return root


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("name", [archive.SUMS, archive.ORIGIN, TABLE, RUN])
@fuzz(15)
@given(data=st.data())
def test_no_damaged_byte_of_a_run_is_as_listed(name: str, data: st.DataObject, run: Path) -> None:
    whole = (run / name).read_bytes()
    spoilt = data.draw(damage(whole))
    (run / name).write_bytes(spoilt)
    try:
        code, _ = called(archive.main, run)
        assert (code == 0) == (spoilt == whole)
        assert code != 2 or name == archive.SUMS
    finally:
        (run / name).write_bytes(whole)


@pytest.fixture(scope="module")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("packed") / "a.tar.gz"
    archive.write(run, path)
    return path.read_bytes()


@pytest.mark.parametrize("inside", [False, True])
@fuzz(15)
@given(data=st.data())
def test_a_damaged_archive_is_refused_or_as_packed(
    inside: bool, data: st.DataObject, packed: bytes, run: Path, tmp_path: Path
) -> None:
    """inside: the damage was done before it was compressed, so that no checksum of gzip tells."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(
        gzip.compress(data.draw(damage(gzip.decompress(packed))), 1) if inside else data.draw(damage(packed))
    )
    if called(archive.main, path)[0] == 0:
        with archive.opened(path) as (folder, _):
            found = {name: (folder / name).read_bytes() for name in archive.listed(folder)}
        assert found == {name: (run / name).read_bytes() for name in archive.listed(run)}
