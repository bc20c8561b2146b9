"""Imports of ours that every tool follows, and what a checkout without symbolic links is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def without_links(tmp_path: Path) -> Path:
    """What git leaves where core.symlinks is false: a text file that holds the target."""
    (tmp_path / "dpregret").mkdir()
    for name in ("__init__.py", "py.typed"):
        shutil.copy(ROOT / "dpregret" / name, tmp_path / "dpregret")
    (tmp_path / "dpregret" / "algorithms").write_text("../algorithms")
    shutil.copy(ROOT / "Makefile", tmp_path)
    return tmp_path


def test_import_without_links_is_one_clear_sentence(without_links: Path) -> None:
    command = [sys.executable, "-c", "import dpregret.algorithms.learner"]
    here = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # the folder comes first
    done = subprocess.run(command, cwd=without_links, env=here, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: dpregret/algorithms is no folder: ")


def test_setup_without_links_is_one_clear_sentence(without_links: Path) -> None:
    (without_links / "requirements").mkdir()
    for name in ("bootstrap.txt", "base.txt"):
        (without_links / "requirements" / name).touch()
    done = subprocess.run(["make", "setup"], cwd=without_links, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.splitlines()[0].startswith("dpregret/algorithms is no folder: ")
    assert not (without_links / ".venv").exists()


@pytest.mark.skipif(shutil.which("basedpyright", path=str(Path(sys.executable).parent)) is None, reason="not installed")
def test_an_import_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import dpregret.core.arrays\nimport dpregret.algorithms.nowhere\n")
    settings = f'{{"extraPaths": ["{ROOT}"], "typeCheckingMode": "off", "reportMissingImports": "error"}}'
    (tmp_path / "pyrightconfig.json").write_text(settings)
    command = [str(Path(sys.executable).parent / "basedpyright"), str(tmp_path)]
    done = subprocess.run([*command, "-p", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "dpregret.algorithms.nowhere" in done.stdout
    assert "arrays" not in done.stdout
