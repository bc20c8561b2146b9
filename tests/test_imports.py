"""Imports of ours that every tool follows, and none that loads a module twice."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("folder", ["algorithms", "datasets", "paper_figs", "workflows"])
def test_no_bare_import_loads_a_second_copy(folder: str) -> None:
    """The links at the top of a clone lie on the path of whoever starts Python there."""
    command = [sys.executable, "-c", f"import {folder}"]
    here = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # the folder comes first
    done = subprocess.run(command, cwd=ROOT, env=here, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: import dpregret.{folder}: ")


@pytest.mark.skipif(shutil.which("basedpyright", path=str(Path(sys.executable).parent)) is None, reason="not installed")
def test_an_import_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import dpregret.numerics.arrays\nimport dpregret.algorithms.nowhere\n")
    settings = f'{{"extraPaths": ["{ROOT}"], "typeCheckingMode": "off", "reportMissingImports": "error"}}'
    (tmp_path / "pyrightconfig.json").write_text(settings)
    command = [str(Path(sys.executable).parent / "basedpyright"), str(tmp_path)]
    done = subprocess.run([*command, "-p", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "dpregret.algorithms.nowhere" in done.stdout
    assert "arrays" not in done.stdout
