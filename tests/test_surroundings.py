"""What make does about paths, home folders and a user's own settings of Python."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def make(folder: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run make in a folder that has the Makefile, the locks and a package, and nothing else."""
    for name in ("requirements", "dpregret/algorithms"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in (
        "Makefile",
        "pyproject.toml",
        "requirements/bootstrap.txt",
        "requirements/run.txt",
        "requirements/dev.txt",
    ):
        shutil.copy(ROOT / name, folder / name)
    own = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    return subprocess.run(
        ["make", *words], cwd=folder, env={**own, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("letter", ["$", "\n"])
def test_a_path_that_no_environment_can_hold_is_told(tmp_path: Path, letter: str) -> None:
    done = make(tmp_path / f"a{letter}b", "setup")
    assert done.returncode != 0
    assert done.stderr.startswith("the path of this clone holds a double quote, dollar sign,")
    assert not list(tmp_path.glob("*/.venv"))


def test_other_paths_are_fine(tmp_path: Path) -> None:
    done = make(tmp_path / "-a b 'c' é" / ("long" * 50), "links")
    assert (done.returncode, done.stderr) == (0, "")


def test_tools_are_called_as_modules(tmp_path: Path) -> None:
    """The first line of a script in .venv/bin cannot name an interpreter whose path holds a space."""
    said = make(tmp_path, "-n", "reproduce", "test", "lint", "lock", "unlock", "ci-check").stdout
    assert set(re.findall(r"\.venv/bin/(\S+)", said)) == {"python"}
    assert "-m snakemake --config profile=full --cores" in said


def test_settings_of_the_user_do_not_reach_the_tools(tmp_path: Path) -> None:
    """Nor does a home folder matter that cannot be written."""
    show = ("--eval", "show: ; @env", "show")
    done = make(tmp_path, *show, PYTHONOPTIMIZE="2", PYTHONHOME="/x", SNAKEMAKE_PROFILE="y", HOME="/proc")
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert not {"PYTHONOPTIMIZE", "PYTHONHOME", "SNAKEMAKE_PROFILE", "PYTHONPATH"} & set(told)
    assert told["PYTHONSAFEPATH"] == "1"
    assert told["XDG_CACHE_HOME"] == f"{tmp_path}/.cache"
    kept = make(tmp_path, *show, HOME=str(tmp_path / "home"))
    assert "XDG_CACHE_HOME" not in kept.stdout
