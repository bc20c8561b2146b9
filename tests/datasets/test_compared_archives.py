"""Runs compared from an archive or an address: right, too large, damaged, edited, none; nothing is left behind."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import pytest
from local_server import Handler, Place

from dpregret.workflows.run import archive, load_run
from dpregret.workflows.run.archive import lock

ROOT = Path(__file__).resolve().parents[2]
PAPER = "lou_cheung_2020"
KEPT = ROOT / "results" / "reference" / "ci" / PAPER


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder of results: lines of one paper, and the list of them."""
    results = tmp_path / "run"
    shutil.copytree(KEPT, results / PAPER, ignore=lambda _, names: {*names} - {"claims.csv", "checks.csv"})
    archive.write_sums(results, [PAPER], {"lock": lock()})
    return results


def packed(results: Path) -> Path:
    path = results.parent / "run.tar.gz"
    archive.write(results, path)
    return path


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_folder_its_archive_and_the_address_of_that_are_one_run(
    run: Path, place: Place, scratch: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packed(run)
    monkeypatch.setitem(Handler.files, "run.tar.gz", file.read_bytes())
    url = f"{place.url}/moved/run.tar.gz"
    for one, other in ((run, file), (file, url)):
        assert load_run.main(str(one), str(other)) == 0
        told = capsys.readouterr()
    assert told.err == f"{url}: {file.stat().st_size} bytes, sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}\n"
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("how", ["edited", "huge", "endless", "truncated", "page", "wrong", "missing"])
def test_what_is_no_whole_archive_is_refused_in_one_line(
    how: str,
    run: Path,
    place: Place,
    scratch: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if how == "edited":  # after its list was written
        path = run / PAPER / "claims.csv"
        path.write_text(path.read_text().replace("reproduced", "violated", 1))
    monkeypatch.setattr(load_run, "MOST_BYTES", 500_000)
    monkeypatch.setitem(Handler.files, "run.tar.gz", packed(run).read_bytes())
    assert load_run.main(str(KEPT), f"{place.url}/{how}/run.tar.gz") == 2
    told = capsys.readouterr()
    assert (told.err.count("\n"), told.out) == (1, "")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("address", ["ftp://host/run.tar.gz", "file:///etc/passwd", "nowhere"])
def test_only_folders_files_and_addresses_of_the_web_are_read(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_run.main(str(KEPT), address) == 2
    assert capsys.readouterr().err.count("\n") == 1
