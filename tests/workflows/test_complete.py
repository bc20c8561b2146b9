"""The last word on a paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpregret.workflows.scripts import complete
from dpregret.workflows.task import Asked


def asked(tmp_path: Path, *status: str) -> Asked:
    rows = pd.DataFrame({"experiment": "e", "learner": "l", "variant": "v", "stream": "s", "status": status})
    rows.to_parquet(tmp_path / "l.v.parquet")
    return Asked("complete", {"runs": [str(tmp_path / "l.v.parquet")], "output": [str(tmp_path / "complete.txt")]})


def test_a_play_that_failed_fails_the_paper(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    complete.main(asked(tmp_path, "ok", "ok"))
    assert (tmp_path / "complete.txt").read_text() == "1 jobs ended well\n"
    with pytest.raises(SystemExit):
        complete.main(asked(tmp_path, "ok", "failed: 0.5 outside its set"))
    assert caplog.messages[-1].endswith("\nl.v in e failed: 0.5 outside its set")
