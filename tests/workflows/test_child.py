"""A call in a process of its own: whatever it does, the caller gets an answer or one sentence, and nothing is left."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dpregret.workflows.run.child import Bounds, Say, call

MOST = 30  # seconds within which a busy machine ends a call that does nothing


@pytest.fixture(autouse=True)
def nothing_left() -> Any:
    yield
    assert psutil.Process().children(recursive=True) == []


def test_an_answer_comes_back() -> None:
    answer = {"a": [1, 2.5, None, "é\n"], "long": "x" * 10**7}
    assert call(lambda say: answer) == (answer, "")
    assert call(lambda say: None) == (None, "")


class MutedError(BaseException):
    def __str__(self) -> str:
        raise ValueError


def raising(fault: BaseException) -> Callable[[Say], None]:
    def throw(say: Say) -> None:
        raise fault

    return throw


def signalled(number: int) -> Callable[[Say], None]:
    return lambda say: os.kill(os.getpid(), number)


def crash(say: Say) -> None:
    faulthandler.disable()  # that of the tests
    os.kill(os.getpid(), signal.SIGSEGV)


def unwritten(say: Say) -> Any:
    return object()


def closed(say: Say) -> None:
    os.closerange(3, 256)
    sys.stdout.close()


ENDS: dict[str, tuple[Callable[[Say], Any], str]] = {
    "raises": (raising(ZeroDivisionError("two\nlines")), "ZeroDivisionError: two lines"),
    "raises what has no words": (raising(MutedError()), "MutedError"),
    "is interrupted": (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    "exits with 0": (lambda say: sys.exit(0), "SystemExit"),
    "leaves with 0": (lambda say: os._exit(0), "exit code 0"),
    "leaves with 3": (lambda say: os._exit(3), "exit code 3"),
    "crashes": (crash, "SIGSEGV"),
    "is killed": (signalled(signal.SIGKILL), "SIGKILL"),
    "gets a signal without a name": (signalled(signal.SIGRTMIN + 3), str(signal.SIGRTMIN + 3)),
    "has an answer that cannot be told": (unwritten, "exit code 1"),
    "closes everything": (closed, "exit code"),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_of_another_kind_is_one_sentence(end: str) -> None:
    function, word = ENDS[end]
    answer, fault = call(function)
    assert answer is None
    assert word in fault
    assert "\n" not in fault


@pytest.mark.parametrize("end", ["raises", "is killed"])
def test_the_sentence_has_the_last_that_was_said(end: str) -> None:
    def function(say: Say) -> Any:
        for part in range(1000):
            say(f"at part {part} of 1000")
        return ENDS[end][0](say)

    assert call(function).fault.endswith("at part 999 of 1000")
    assert call(lambda say: say("in words" * 10**5) or os._exit(0)).fault.count("in words") < 100


def endless(say: Say) -> None:
    say("in the loop")
    while True:
        pass


def deaf(say: Say) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Event().wait()


@pytest.mark.parametrize("function", [endless, deaf])
def test_what_does_not_end_is_ended(function: Callable[[Say], None]) -> None:
    began = time.monotonic()
    answer, fault = call(function, Bounds(minutes=0.01, names=("most_time", "most_room")))
    assert time.monotonic() - began < MOST
    assert answer is None
    assert "most_time" in fault
    assert ("in the loop" in fault) == (function is endless)


def test_memory_is_bounded_beyond_what_is_held() -> None:
    held = np.ones(2**25)  # a quarter of a gigabyte, counted to nobody
    bounds = Bounds(gigabytes=0.125, names=("most_time", "most_room"))
    assert call(lambda say: float(np.ones(2**22).sum()), bounds) == (2**22, "")
    answer, fault = call(lambda say: [say("at the list"), float(np.ones(2**25).sum())], bounds)
    assert answer is None
    assert "most_room" in fault
    assert "at the list" in fault
    assert held.size == np.ones(2**25).size, "the bound is the child's"
    assert "MemoryError" in call(raising(MemoryError())).fault


def ended(process: int) -> None:
    """Wait for a process that is nobody's child any more."""
    began = time.monotonic()
    while psutil.pid_exists(process) and psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() - began < MOST
        time.sleep(0.05)


@pytest.mark.parametrize("leave", [False, True])
def test_what_a_call_has_started_ends_with_it(leave: bool) -> None:
    def function(say: Say) -> None:
        threading.Thread(target=threading.Event().wait).start()
        if (grandchild := os.fork()) == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
            os._exit(0)
        say(f"{grandchild}")
        if leave:
            os._exit(0)
        raise ZeroDivisionError

    began = time.monotonic()
    ended(int(call(function).fault.split()[-1]))
    assert time.monotonic() - began < MOST


def test_what_is_printed_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def function(say: Say) -> str:
        for number in range(50_000):
            print("much ado", number)
        print("\ud800 at the end", end="")
        return "done"

    assert call(function, log=tmp_path / "log") == ("done", "")
    printed = (tmp_path / "log").read_text().splitlines()
    assert len(printed) == 50_001
    assert printed[-1].endswith("at the end")
    assert "SIGSEGV" in call(signalled(signal.SIGSEGV), log=tmp_path / "log").fault
    assert "test_child.py" in (tmp_path / "log").read_text()
    assert capfd.readouterr().out == ""


def test_a_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = f"""
import os, pathlib, time
from dpregret.workflows.run.child import call
def function(say):
    pathlib.Path({str(tmp_path / "part")!r}).write_text(str(os.getpid()))
    os.rename({str(tmp_path / "part")!r}, {str(tmp_path / "pid")!r})
    time.sleep(600)
call(function)
"""
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        began = time.monotonic()
        while not (tmp_path / "pid").exists():
            assert time.monotonic() - began < MOST
            time.sleep(0.05)
        parent.kill()
    ended(int((tmp_path / "pid").read_text()))
