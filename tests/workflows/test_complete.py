"""The last word on a paper."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from dpregret.core import stamped
from dpregret.workflows.scripts import complete


def asked(tmp_path: Path, *status: str) -> SimpleNamespace:
    rows = pd.DataFrame({"experiment": "e", "learner": "l", "variant": "v", "stream": "s", "status": status})
    file = tmp_path / "l.v.parquet"
    stamped.write(rows, file, stamped.Stamp("c", "k"))
    return SimpleNamespace(paths=lambda key: [file], settings=None, output=tmp_path / "complete.txt")


def test_a_play_that_failed_fails_the_paper(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(complete, "check_run", lambda path, settings: None)  # of no configuration
    complete.main(asked(tmp_path, "ok", "ok"))
    assert (tmp_path / "complete.txt").read_text() == "1 jobs ended well\n"
    with pytest.raises(SystemExit):
        complete.main(asked(tmp_path, "ok", "failed: 0.5 outside its set"))
    assert caplog.messages[-1].endswith("\nl.v in e failed: 0.5 outside its set")
