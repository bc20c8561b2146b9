"""What a paper's tables are made again from."""

from pathlib import Path

import pytest

from dpregret.core.errors import ConfigError
from dpregret.workflows.run.again import rewrite_tables


def test_tables_are_not_judged_without_the_plan_of_their_run(tmp_path: Path) -> None:
    """The plan says which claims were confirmed, on which profile."""
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"plan\.json: not a plan of this version: make the run again"):
        rewrite_tables("lou_cheung_2020", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
