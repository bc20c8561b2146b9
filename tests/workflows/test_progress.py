"""Progress reaches the log, that of long jobs the terminal, and never ends a job."""

import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpregret.workflows.progress import progress


def test_log_gets_a_line_every_tenth_and_a_summary(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), progress(1000, "horizon/ftal.plain") as advance:
        for _ in range(250):
            advance(4)
    assert [message for message in caplog.messages if "100 %" in message and "rounds/s" in message]
    assert 10 <= len(caplog.messages) <= 12
    assert caplog.messages[-1].startswith("horizon/ftal.plain: 1000 rounds in ")


def test_total_may_be_a_bad_guess(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), progress(0, "x") as advance:
        advance(5)
    assert "100 %" in caplog.messages[0]


def test_failure_of_the_job_passes_through() -> None:
    def fail() -> None:
        with progress(10, "x") as advance:
            advance(1)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()


def test_long_jobs_tell_the_terminal_and_a_closed_one_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 20))  # twenty seconds a call
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with progress(100, "horizon/ftal.plain") as advance:
        for _ in range(4):
            advance(5)
    assert capsys.readouterr().err.splitlines() == [
        "horizon/ftal.plain  10 % 0 rounds/s", "horizon/ftal.plain  20 % 0 rounds/s",
    ]  # fmt: skip
    with (Path("/dev/null")).open() as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    with progress(100, "x") as advance:
        for _ in range(4):
            advance(5)


def test_job_log_keeps_warnings_and_the_traceback(tmp_path: Path) -> None:
    script = "import warnings; from dpregret.workflows.job_log import job_log\n"
    script += "with job_log('job.log'):\n    warnings.warn('careful')\n    1 / 0\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    text = (tmp_path / "job.log").read_text()
    assert "careful" in text
    assert "ZeroDivisionError" in text
