"""Files that end nothing, or everything, when they are imported: one line that names the module, within bounds."""

import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
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

        def work(on_progress: child.OnProgress) -> object:
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
NIGHTLY = {"a lock", "a pipe", "a wait that passes over all"}
"""Waits as "a wait"; what passes over all, as the loop that does: every night."""
ENDS = {
    "leaves": ("import os; os._exit(0)", "exit code 0"),
    "is killed": (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", "SIGKILL"),
}


def usual(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.nightly) if name in NIGHTLY else name for name in names]


@pytest.mark.parametrize("name", usual(SLOW))
def test_an_import_that_does_not_end_is_one_line(name: str, imported: Callable[..., tuple[object, str]]) -> None:
    (line,), fault = imported(SLOW[name])  # type: ignore[misc]
    assert fault == ""
    assert "planted_package.planted_file cannot be imported: it takes more than 0.3 s (limit check_seconds; " in line
    assert "to lift it: --limits check_seconds:1.8" in line
    assert "planted_file.py:" in line


@pytest.mark.parametrize("name", usual(DEAF))
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


def test_an_import_that_takes_memory_is_one_line(
    imported: Callable[..., tuple[object, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(discovery.limits, "check_seconds", 30.0)  # beside other work memory takes long to fill
    (line,), _ = imported("held = [bytearray(2**26) for _ in range(64)]")  # type: ignore[misc]
    assert "more than 0.25 GB (limit check_gb; to lift it: --limits check_gb:1.5" in line


TWIN = f"from {__name__} import Found\nclass Mine(Found): name = 'mine'\n"


@pytest.mark.parametrize(
    "twin", ["class Twin(Found): name = 'mine'", "Twin = type('Twin', (Found,), {'name': 'mine'})"]
)
def test_two_classes_of_one_name_are_named_with_their_places(
    twin: str, imported: Callable[..., tuple[object, str]]
) -> None:
    (line,), fault = imported(f"{TWIN}{twin}\n")  # type: ignore[misc]
    assert fault == ""
    assert "Twin: 'mine' is the name of" in line
    assert line.endswith("planted_file.py:2 too")


@pytest.mark.parametrize("home", ["", "'__module__': 'nowhere', ", "'__module__': 'math', "])
def test_a_class_without_a_line_is_found(home: str, imported: Callable[..., tuple[object, str]]) -> None:
    made = f"Made = type('Made', (Found,), {{{home}'name': 'made'}})\n"
    assert imported(TWIN + made) == (["made", "mine"], "")


@pytest.mark.parametrize("name", [
    "builtins.open", "json.dumps", "math.sqrt", "numpy.array_equal", "numpy.random.default_rng", "os._exit", "sys.exit",
    "pandas.DataFrame",
])  # fmt: skip
def test_a_file_that_replaces_a_function_of_a_library_is_refused(
    name: str, imported: Callable[..., tuple[object, str]]
) -> None:
    module, _, function = name.rpartition(".")
    planted = f"{TWIN}import {module}\n{module}.{function} = lambda *a, **k: True\n{module}.new = len\n"
    (line,), fault = imported(planted)  # type: ignore[misc]
    assert fault == ""
    assert line.startswith(f"planted_package.planted_file replaces {name}: ")
    answer, fault = imported(f"{planted}raise ValueError\n")
    assert f"replaces {name}: " in str(answer)


def test_what_was_replaced_for_a_while_is_put_back() -> None:
    before = np.allclose
    with pytest.raises(ConfigError, match=r"a file replaces numpy\.allclose: "), discovery.unchanged_inputs("a file"):
        np.allclose = sum  # type: ignore[assignment]
    assert np.allclose is before


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
