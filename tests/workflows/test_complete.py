"""The last word on a paper."""

from pathlib import Path

import pandas as pd
import pytest
from plays import NO_CODE, part_of, plan_of, run_stage

from dpregret.core import parquet


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("failed: 0.5 outside its set", 1)])
def test_a_play_that_failed_fails_the_paper(tmp_path: Path, status: str, code: int) -> None:
    rows = pd.DataFrame({"experiment": "e", "learner": "l", "variant": ["v", "w"], "status": ["ok", status]})
    parquet.write(rows, tmp_path / "e.parquet", parquet.Stamp("c", "k"))
    output = tmp_path / "complete" / "p.0123.txt"
    parts = {"p": {"0123": part_of(tmp_path / "e.parquet")}}
    plan = plan_of(tmp_path, parts=parts, made={"complete/p": [str(output), ["runs/p"], NO_CODE]})
    found, log = run_stage(plan, "complete/p")
    assert found == code
    assert output.exists() == (code == 0)
    assert ("l.w" in log, "l.v" in log) == (code == 1, False)
    assert [*output.parent.iterdir()] == [output] * (code == 0)
