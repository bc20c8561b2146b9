"""One live run per folder: a second one is told by whom; locks of dead runs are cleared, of live ones not."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpregret.core.errors import ConfigError
from dpregret.workflows.locking import BusyError, enter, works
from dpregret.workflows.surroundings import check_addresses, check_names, check_writable

HOLD = "import sys, time, pathlib; from dpregret.workflows.locking import enter\n"
HOLD += "print(enter(['--cores', '1'], pathlib.Path(sys.argv[1])), flush=True); time.sleep(60)"
Owner = subprocess.Popen[str]


@pytest.fixture
def hold() -> Iterator[Callable[[Path], Owner]]:
    owners: list[Owner] = []

    def start(folder: Path) -> Owner:
        process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
        owners.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        return process

    yield start
    for process in owners:
        with process:
            process.kill()


def test_a_live_run_is_told_and_keeps_its_locks_until_it_dies(tmp_path: Path, hold: Callable[[Path], Owner]) -> None:
    folder = tmp_path / ".snakemake"
    owner = hold(folder)
    lock = folder / "locks" / "0.output.lock"
    lock.write_text("results/x\n")
    busy = (
        rf"another run is at work in this folder: process {owner.pid} on \S+ since \d{{4}}-.* \(snakemake --cores 1\)"
    )
    with pytest.raises(BusyError, match=f"^{busy}"):
        enter(["--cores", "2"], folder)
    with pytest.raises(BusyError, match=f"^nothing was unlocked: {busy}"):
        enter(["--unlock"], folder)
    assert not enter(["--dry-run", "--cores", "1"], folder), "reading goes on beside a run"
    assert lock.exists()
    shutil.rmtree(folder)
    with pytest.raises(BusyError, match=r"its record in \.snakemake has been removed"):
        enter(["--cores", "2"], folder)
    owner.kill()
    owner.wait()
    lock.parent.mkdir()
    lock.write_text("results/x\n")
    assert not enter(["--summary"], folder)
    assert list(lock.parent.iterdir()) == []
    hold(folder)  # what only reads has let go


def test_two_clones_are_independent(tmp_path: Path, hold: Callable[[Path], Owner]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        hold(tmp_path / name / ".snakemake")


@pytest.mark.parametrize(
    ("words", "expected"),
    [("--cores 1", True), ("-nq --cores 1", False), ("--report x.html", False), ("--lint", False), ("--unl", True),
     ("--report x.html --report-after-run", True), ("--cores 1 --touch all", True), ("--no-such-option", True)],
)  # fmt: skip
def test_which_commands_work(words: str, expected: bool) -> None:
    assert works(words.split()) is expected


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_writable([tmp_path / "not" / "there" / "yet"])
    assert os.listdir(tmp_path) == ["file"]
    told = f"{tmp_path}/file/x: cannot be written by this user: Not a directory"
    with pytest.raises(ConfigError, match=re.escape(told)):
        check_writable([tmp_path, tmp_path / "file" / "x"])


def test_a_file_that_hides_a_library_is_told(tmp_path: Path) -> None:
    for name in ("mine", "numpy", "json"):
        (tmp_path / f"{name}.py").touch()
    with pytest.raises(ConfigError) as told:
        check_names(tmp_path)
    assert [line.split(": hides the library ")[1] for line in told.value.problems] == [
        "json from jobs: rename it", "numpy from jobs: rename it",
    ]  # fmt: skip


def test_a_limit_under_which_libraries_cannot_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    check_addresses()
    monkeypatch.setattr("resource.getrlimit", lambda _: (512_000_000, 512_000_000))
    with pytest.raises(ConfigError, match=r"may have 0.512 GB of addresses here \(ulimit -v\), and needs 3$"):
        check_addresses()
