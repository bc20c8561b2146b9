"""Files that end nothing, or everything, when they are imported: one line that names the module, within bounds."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpregret import study
from dpregret.core import child, discovery, machine
from dpregret.core.errors import ConfigError
from dpregret.core.machine import TooMuch, bounded_time


class Found:
    name: str


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[object, str]]:
    """What a child answers that imports a file of a study, with its fault."""
    (tmp_path / "planted_package").mkdir()
    monkeypatch.setattr(study, "FOLDER", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(discovery, "limits", {"check_seconds": 0.3, "check_gb": 0.25})
    monkeypatch.setattr(machine, "PATIENCE", 4.0)

    def call(text: str) -> tuple[object, str]:
        (tmp_path / "planted_package" / "planted_file.py").write_text(text)

        def work(say: child.Say) -> object:
            try:
                return sorted(discovery.discover("planted_package", Found, "name"))
            except ConfigError as error:
                return error.problems

        answer, fault = child.call(work)
        assert "planted_package" not in sys.modules
        return answer, fault

    return call


def test_a_file_that_ends_is_read(imported: Callable[..., tuple[object, str]]) -> None:
    assert imported(f"from {__name__} import Found\nclass Mine(Found): name = 'mine'\n") == (["mine"], "")


SLOW = {
    "a loop": "while True: pass",
    "a wait": "import time; time.sleep(600)",
    "a lock": "import threading; threading.Lock().acquire() and threading.Event().wait()",
    "a pipe": "import os; os.read(os.pipe()[0], 1)",
    "a loop that passes over Exception": "while True:\n try:\n  while True: pass\n except Exception: pass",
}
DEAF = {
    "a loop that passes over all": "while True:\n try:\n  while True: pass\n except BaseException: pass",
    "a wait that passes over all": "import time\nwhile True:\n try: time.sleep(600)\n except BaseException: pass",
    "a number without end": "x = 7 ** 10 ** 9",
    "a loop in C": "import itertools, collections; collections.deque(itertools.repeat(0), maxlen=0)",
}
ENDS = {
    "leaves": ("import os; os._exit(0)", "exit code 0"),
    "is killed": (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", "SIGKILL"),
}


@pytest.mark.parametrize("name", SLOW)
def test_an_import_that_does_not_end_is_one_line(name: str, imported: Callable[..., tuple[object, str]]) -> None:
    (line,), fault = imported(SLOW[name])  # type: ignore[misc]
    assert fault == ""
    assert "planted_package.planted_file cannot be imported: it takes more than 0.3 s (limit check_seconds)" in line
    assert "planted_file.py:" in line


@pytest.mark.parametrize("name", DEAF)
def test_an_import_that_cannot_be_stopped_ends_its_process(
    name: str, imported: Callable[..., tuple[object, str]]
) -> None:
    answer, fault = imported(DEAF[name])
    assert "planted_package.planted_file" in (fault if answer is None else str(answer))
    assert "its process" in fault or "check_seconds" in str(answer)


@pytest.mark.parametrize("name", ENDS)
def test_an_import_that_ends_its_process_is_named(name: str, imported: Callable[..., tuple[object, str]]) -> None:
    text, word = ENDS[name]
    answer, fault = imported(text)
    assert answer is None
    assert word in fault
    assert "planted_package.planted_file" in fault


def test_an_import_that_takes_memory_is_one_line(imported: Callable[..., tuple[object, str]]) -> None:
    (line,), _ = imported("held = [bytearray(2**26) for _ in range(64)]")  # type: ignore[misc]
    assert "more than 0.25 GB (limit check_gb)" in line


def test_an_input_at_import_has_an_end(imported: Callable[..., tuple[object, str]]) -> None:
    (line,), _ = imported("input()")  # type: ignore[misc]
    assert "EOFError" in line


def test_bounds_leave_what_was_there() -> None:
    before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with bounded_time(100.0), bounded_time(50.0):
        assert signal.getitimer(signal.ITIMER_PROF)[0] < 60.0
    assert before == (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL))
    with pytest.raises(TooMuch), bounded_time(0.05):
        sum(1 for _ in iter(int, 1))
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
