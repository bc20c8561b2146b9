"""An interrupt is one line and exit code 130, also while a command is imported or becomes another process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpregret import cli

GUARDED = "import os, signal\nfrom dpregret.core import interrupt\n"


@pytest.mark.parametrize(
    "work",
    [
        "interrupt.guard()\nraise KeyboardInterrupt",
        "interrupt.guard()\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass",
        # between two processes: the first is not interrupted any more, the second is not yet guarded
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\nos.kill(os.getpid(), signal.SIGINT)\n"
        "interrupt.go_on('this')",
    ],
)
def test_an_interrupt_is_one_line(work: str) -> None:
    done = subprocess.run([sys.executable, "-c", GUARDED + work], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dpregret: interrupted\n")


@pytest.mark.parametrize(("interrupted", "code"), [(True, 130), (False, 1)])
def test_a_module_that_answers_an_interrupt_by_a_failure_ends_with_130(
    tmp_path: Path, interrupted: bool, code: int
) -> None:
    work = "import os, signal, sys\n"
    work += "try:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\n" * interrupted
    (tmp_path / "mine.py").write_text(f"{work}sys.exit(1)\n")
    words = [sys.executable, "-m", "dpregret.core.interrupt", "mine"]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False)
    assert done.returncode == code, done.stderr


def test_other_errors_keep_their_traceback() -> None:
    work = "interrupt.guard()\nraise ValueError('mine')"
    done = subprocess.run([sys.executable, "-c", GUARDED + work], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: mine\n")


def test_a_parser_that_makes_a_number_of_an_interrupt_does_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "app", lambda **_: 130)
    with pytest.raises(KeyboardInterrupt):
        cli.parsed(["table"])
