"""Imports of ours: none loads a module twice, and none loads a library before it is used."""

import os
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


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("dpregret", "numpy pandas pydantic"),
        ("dpregret.cli", "numpy pandas yaml pydantic snakemake rich"),  # help and completion wait for none
        ("dpregret.cli, dpregret.workflows.plan.make, dpregret.workflows.run.job", "seaborn matplotlib cvxpy"),
    ],
)
def test_no_library_is_loaded_before_it_is_used(modules: str, heavy: str) -> None:
    program = f"import sys, {modules}; print(sorted({set(heavy.split())} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
