"""An interrupt is one line and exit code 130, also while a command is imported or becomes another process."""

import subprocess
import sys

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


def test_other_errors_keep_their_traceback() -> None:
    work = "interrupt.guard()\nraise ValueError('mine')"
    done = subprocess.run([sys.executable, "-c", GUARDED + work], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: mine\n")


def test_a_parser_that_makes_a_number_of_an_interrupt_does_not_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "app", lambda **_: 130)
    with pytest.raises(KeyboardInterrupt):
        cli.parsed(["table"])
