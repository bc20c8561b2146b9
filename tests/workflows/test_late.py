"""A library that is loaded at its first use, and the process that needs this: no plan loads pandas."""

import subprocess
import sys
from pathlib import Path

import pytest

from dpregret.workflows.plan.late import late


def test_a_late_library_is_loaded_at_its_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_library.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_library", raising=False)
    late("slow_library")
    import slow_library  # type: ignore[import-not-found]

    stands_for = sys.modules["slow_library"]
    assert slow_library is stands_for
    assert slow_library.value == 3
    assert vars(sys.modules["slow_library"])["value"] == 3
    with pytest.raises(AttributeError, match="other"):
        _ = slow_library.other
    late("slow_library")
    assert sys.modules["slow_library"] is not stands_for, "a loaded library stays"


def test_no_plan_loads_pandas() -> None:
    """It would be a fifth of what a plan takes."""
    script = """
import sys
from dpregret.workflows.plan.late import late
late("pandas")
from dpregret.workflows.plan.make import planned
assert planned({"profile": "quick"}, lambda where: None)["problems"] == []
assert not {"pandas.core", "pyarrow"} & sys.modules.keys(), "pandas was loaded"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
