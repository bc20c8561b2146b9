"""The command `dpregret confirm` on a paper of the profile smoke: it resumes, and depends on no number of cores."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly
WORDS = ("confirm", "prefix", "--profile", "smoke", "--seeds", "2")


def called(folder: Path, cores: int) -> str:
    command = [sys.executable, "-P", "-m", "dpregret", *WORDS, "--cores", str(cores)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def files(folder: Path) -> dict[str, bytes]:
    results = folder / "results" / "smoke"
    found = [*(results / "confirmation").rglob("*.csv"), *(results / "made").rglob("*.csv")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def test_a_confirmation_resumes_and_depends_on_no_number_of_cores(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir(), second.mkdir()
    assert called(first, 2).count(" judged ") == 3
    made = files(first)
    assert len(made) == 5  # three seeds, the table, the data of the figure
    assert " judged " not in called(first, 1), "nothing is done again"
    (damaged,) = (first / "results").rglob("20201214/prefix_sums.csv")
    damaged.write_bytes(damaged.read_bytes()[:-20])
    assert called(first, 1).count(" judged ") == 1
    called(second, 1)
    assert files(first) == files(second) == made
