"""A call in a process of its own: whatever it does, the caller gets an answer or one sentence, and nothing is left."""

import copy
import errno
import faulthandler
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
from plays import NO_CODE, part_of, plan_of

from dpregret.algorithms.bandits.bandit_learner import BanditLearner, Given, Record
from dpregret.algorithms.erm.trivial import StayAtZero
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.privacy import Release
from dpregret.core import child
from dpregret.core.child import Bounds, OnProgress, call
from dpregret.core.errors import ConfigError
from dpregret.core.learner_output import LearnerFault, check_violation
from dpregret.core.machine import cpu_seconds
from dpregret.paper_figs.judge.runs import RunsError, first_fault
from dpregret.workflows.plan import keys
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.run.job import play_experiment

MOST = 30  # seconds within which a busy machine ends a call that does nothing


@pytest.fixture(autouse=True)
def nothing_left() -> Any:
    yield
    assert psutil.Process().children(recursive=True) == []


def test_an_answer_comes_back() -> None:
    answer = {"a": [1, 2.5, None, "é\n"], "long": "x" * 10**7}
    assert call(lambda on_progress: answer) == (answer, "")
    assert call(lambda on_progress: None) == (None, "")


class MutedError(BaseException):
    def __str__(self) -> str:
        raise ValueError


def throwing(fault: BaseException) -> Callable[[OnProgress], None]:
    def throw(on_progress: OnProgress) -> None:
        raise fault

    return throw


def signalled(number: int) -> Callable[[OnProgress], None]:
    return lambda on_progress: os.kill(os.getpid(), number)


def crash(on_progress: OnProgress) -> None:
    faulthandler.disable()  # that of the tests
    os.kill(os.getpid(), signal.SIGSEGV)


def unwritten(on_progress: OnProgress) -> Any:
    return object()


def closed(on_progress: OnProgress) -> None:
    os.closerange(3, 256)
    sys.stdout.close()


ENDS: dict[str, tuple[Callable[[OnProgress], Any], str]] = {
    "raises": (throwing(ZeroDivisionError("two\nlines")), "ZeroDivisionError: two lines"),
    "raises what has no words": (throwing(MutedError()), "MutedError"),
    "is interrupted": (throwing(KeyboardInterrupt()), "KeyboardInterrupt"),
    "exits with 0": (lambda on_progress: sys.exit(0), "SystemExit"),
    "leaves with 3": (lambda on_progress: os._exit(3), "exit code 3"),
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


def shapeless(on_progress: OnProgress) -> None:
    child.json = None  # type: ignore[attr-defined]
    os._exit = lambda code: None  # type: ignore[assignment,misc]


@pytest.mark.parametrize("end", [lambda: None, lambda: os._exit(3), lambda: os.kill(os.getpid(), signal.SIGKILL)])
def test_cpu_time_of_a_child_counts_however_it_ends(end: Callable[[], None]) -> None:
    def spend(on_progress: OnProgress) -> None:
        while time.process_time() < spent:
            pass
        end()

    spent, before = 0.1, cpu_seconds()  # a fork begins without CPU time
    call(spend)
    assert cpu_seconds() - before >= 0.1


def test_an_answer_does_not_rest_on_what_the_code_replaced() -> None:
    assert call(shapeless) == (None, "")


@pytest.mark.parametrize("sent", [b"{}", b'{"answer": 0}', b'{"answer": 0, "fault": "", "more": 1}', b"[0]", b"{"])
def test_a_message_of_another_form_is_no_answer(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def forged(function: object, writer: Any, *_: object) -> None:
        writer.send_bytes(sent)
        os._exit(0)

    monkeypatch.setattr(child, "_be", forged)
    answer, fault = call(lambda on_progress: 0)
    assert answer is None
    assert "exit code 0" in fault


def test_what_is_written_to_a_descriptor_is_no_part_of_the_answer(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> tuple[int, list[str]]:
        print("printed")
        os.write(1, b"keeps its contracts\n")
        return 1, ["the answer"]

    assert child.judged(work, "test") == 1
    out, err = capfd.readouterr()
    assert out == "the answer\n"
    assert "keeps its contracts" in err


@pytest.mark.parametrize("end", ["raises", "is killed"])
def test_the_sentence_has_the_last_that_was_said(end: str) -> None:
    def function(on_progress: OnProgress) -> Any:
        for part in range(1000):
            on_progress(f"at part {part} of 1000")
        return ENDS[end][0](on_progress)

    assert call(function).fault.endswith("at part 999 of 1000")
    assert call(lambda on_progress: on_progress("in words" * 10**5) or os._exit(0)).fault.count("in words") < 100


def endless(on_progress: OnProgress) -> None:
    on_progress("in the loop")
    while True:
        pass


def deaf(on_progress: OnProgress) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Event().wait()


@pytest.mark.parametrize("function", [endless, deaf])
def test_what_does_not_end_is_ended(function: Callable[[OnProgress], None]) -> None:
    began = time.monotonic()
    answer, fault = call(function, Bounds(minutes=0.01, names=("most_time", "most_room")))
    assert time.monotonic() - began < MOST
    assert answer is None
    assert "most_time" in fault
    assert ("in the loop" in fault) == (function is endless)


def test_memory_is_bounded_beyond_what_is_held() -> None:
    held = np.ones(2**25)  # a quarter of a gigabyte, counted to nobody
    bounds = Bounds(gigabytes=0.125, names=("most_time", "most_room"))
    assert call(lambda on_progress: float(np.ones(2**22).sum()), bounds) == (2**22, "")
    answer, fault = call(lambda on_progress: [on_progress("at the list"), float(np.ones(2**25).sum())], bounds)
    assert answer is None
    assert "most_room" in fault
    assert "at the list" in fault
    assert held.size == np.ones(2**25).size, "the bound is the child's"
    assert "MemoryError" in call(throwing(MemoryError())).fault


def test_an_import_that_outgrows_a_call_names_the_limit_of_the_call() -> None:
    fault = ConfigError("x cannot be imported: it takes more than 1 GB (limit check_gb)")
    fault.__cause__ = MemoryError()
    assert "0.5 GB (limit most_room)" in child.outgrown(fault, Bounds(gigabytes=0.5, names=("most_time", "most_room")))
    for bounds in (Bounds(), Bounds(gigabytes=2.0)):  # the limit of the import was the smaller one
        assert child.outgrown(fault, bounds) == ""


def test_too_little_memory_ends_the_first_product_of_a_process() -> None:
    """OpenBLAS takes its buffers before the bound: without memory for them its first product never returns."""
    code = """
import numpy as np
from dpregret.core.child import Bounds, call
for size in (300, 3):
    square = np.eye(size)
    print(*call(lambda on_progress: float(np.dot(square, square).trace()), Bounds(0.1, 1e-4)))
"""
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "out of memory" in lines[0]
    assert lines[1].split() == ["3.0"]


def wait(happened: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < MOST
        time.sleep(0.05)


def ended(process: int) -> None:
    """Wait for a process that is nobody's child any more."""
    wait(lambda: not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.parametrize("leave", [False, True])
def test_what_a_call_has_started_ends_with_it(leave: bool) -> None:
    def function(on_progress: OnProgress) -> None:
        threading.Thread(target=threading.Event().wait).start()
        if (grandchild := os.fork()) == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
            os._exit(0)
        on_progress(f"{grandchild}")
        if leave:
            os._exit(0)
        raise ZeroDivisionError

    began = time.monotonic()
    ended(int(call(function).fault.split()[-1]))
    assert time.monotonic() - began < MOST


def test_what_is_printed_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def function(on_progress: OnProgress) -> str:
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
from dpregret.core.child import call
def function(on_progress):
    pathlib.Path({str(tmp_path / "part")!r}).write_text(str(os.getpid()))
    os.rename({str(tmp_path / "part")!r}, {str(tmp_path / "pid")!r})
    time.sleep(600)
call(function)
"""
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        wait((tmp_path / "pid").exists)
        parent.kill()
    ended(int((tmp_path / "pid").read_text()))


# Whatever a learner says or does, its job leaves a row that says so, and no number; the others are played


PAPER = "lou_cheung_2020"
CARD = Card("liar", "Liar", "none", "-", {"plain": "-"}, private=False, convex=True, anytime=False)
PRIVATE = Card("liar", "Liar", "none", "-", {"plain": "-"}, convex=True, anytime=False)


class Online(Learner):
    """Projected gradient steps."""

    card = CARD

    def observe(self, loss: Any, gradient: Any, noise: Any) -> None:
        self.point = self.domain.project(self.point - gradient / self.round)


class Bandit(BanditLearner):
    """The center, all rounds at once."""

    card = CARD

    def play(self, given: Given) -> Record:
        shape = len(self.budgets), self.runs
        center = np.tile(self.domain.center(), (*shape, 1, 1))
        total = given.losses(self.horizon).value(center).sum(axis=-1)
        given.advance(self.horizon)
        return Record(total, np.zeros(shape), np.zeros(len(self.budgets)), 0.0)


HEDGE = type("Hedge", (ExactHedge,), {"eta": 1.0})
HONEST: dict[str, Any] = {"online": Online, "erm": StayAtZero, "bandits": Bandit, "experts": HEDGE}
COMMON = {"title": "-", "sweep": "horizon", "epsilon": [1.0], "delta": 1e-6, "runs": 3, "learners": {"liar": ["plain"]}}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "online": {"set": "ball", "streams": ["norm-kink"], "dimension": [2], "horizon": [40], "window": [4]},
    "erm": {"sweep": "samples", "set": "ball", "risks": ["norm-kink-risk"], "dimension": [2], "samples": [64]},
    "bandits": {"set": "ball", "streams": ["cone"], "dimension": [2], "horizon": [64]},
    "experts": {"streams": ["bernoulli"], "experts": [4], "horizon": [64]},
}


def late(action: Callable[[Any], Any]) -> Callable[..., None]:
    """An `observe` that does as the honest learner, and from round 20 on something else too."""

    def observe(self: Any, loss: Any, gradient: Any, noise: Any) -> None:
        Online.observe(self, loss, gradient, noise)
        if self.round >= 20:
            self.given = loss, gradient
            action(self)

    return observe


def moved(change: Callable[[Any], Any]) -> Callable[..., None]:
    return late(lambda self: setattr(self, "point", change(self.point)))


def raising(fault: BaseException) -> Callable[..., None]:
    def throw(_: Any) -> None:
        raise fault

    return late(throw)


def instead(family: str, **lies: Any) -> Callable[..., Any]:
    """The honest play with some of what it leaves replaced: a method `fit` or `play`."""

    def play(self: Any, *given: Any) -> Any:
        honest = HONEST[family].play(self, *given)
        return type(honest)(**{**vars(honest), **{name: lie(vars(honest)[name]) for name, lie in lies.items()}})

    return play


def fitted(change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda self, generators: change(self, StayAtZero.fit(self, generators))


def asks(rounds: int, points: Callable[[Any], Any] = lambda points: points) -> Callable[..., Any]:
    def play(self: Any, given: Given) -> Any:
        total = given.losses(rounds).value(points(np.tile(self.domain.center(), (1, self.runs, 1, 1)))).sum(axis=-1)
        return Record(total, np.zeros((1, self.runs)), np.zeros(1), 0.0)

    return play


def says(value: Any) -> Callable[..., Any]:
    return lambda self, *_: value


def spoilt(self: Any, points: Any) -> Any:
    self.risk.lipschitz *= 2
    return points


SHAPES: dict[str, Callable[[Any], Any]] = {
    "outside": lambda x: x + 1e6,
    "a little outside": lambda x: x * 0 + [0.0, 1.0001],
    "nan": lambda x: x * math.nan,
    "a run for all": lambda x: x[:, :1],
    "objects": lambda x: x.astype(object),
    "complex": lambda x: x + 0j,
    "a list": lambda x: x.tolist(),
}
ACTIONS: dict[str, Callable[[Any], Any]] = {
    "a gradient written": lambda self: self.given[1].fill(0),
    "a loss written": lambda self: setattr(self.given[0], "strong_convexity", 0.0),
    "a set widened": lambda self: vars(self.domain.inner).update(radius=1e9),
    "global state of NumPy": lambda self: np.random.rand(),  # noqa: NPY002
    "global state of Python": lambda self: random.random(),
}
LIES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: ("online", {"observe": moved(change)}) for name, change in SHAPES.items()},
    **{name: ("online", {"observe": late(action)}) for name, action in ACTIONS.items()},
    "exit": ("online", {"observe": raising(SystemExit(0))}),
    "crash": ("online", {"observe": late(lambda self: os.kill(os.getpid(), signal.SIGKILL))}),
    "no memory": ("online", {"observe": raising(MemoryError())}),
    "no file": ("online", {"observe": raising(FileNotFoundError(errno.ENOENT, "nowhere"))}),
    "no bound": ("online", {"bound": lambda self, rounds: np.full((1, rounds), math.inf)}),
    "short bound": ("online", {"bound": lambda self, rounds: np.zeros((1, 3))}),
    "nan epsilon": ("online", {"card": PRIVATE, "delivered_epsilon": says([math.nan])}),
    "negative epsilon": ("online", {"delivered_epsilon": says([-1.0])}),
    "epsilon below its ledger": (
        "online",
        {"delivered_epsilon": says([0.5]), "ledger": says([Release("laplace", 1.0, 2.0, 1)])},
    ),
    "nan noise": ("online", {"ledger": says([Release("laplace", math.nan, 1.0, 1)])}),
    "two lines": ("online", {"ledger": says([Release("laplace", 1.0, 1.0, 1)] * 2)}),
    "a point outside": ("erm", {"fit": fitted(lambda self, points: points + 1e6)}),
    "runs left out": ("erm", {"fit": fitted(lambda self, points: points[:, :1])}),
    "a risk changed": ("erm", {"fit": fitted(spoilt)}),
    "too many rounds": ("bandits", {"play": asks(65)}),
    "too few rounds": ("bandits", {"play": asks(63)}),
    "asks outside": ("bandits", {"play": asks(64, lambda x: x + 1e6)}),
    "violation told": ("bandits", {"play": instead("bandits", violation=lambda _: 1.8e8)}),
    "invented losses": ("bandits", {"play": instead("bandits", losses=lambda losses: losses - 1e6)}),
    "one loss for all": ("bandits", {"play": instead("bandits", losses=lambda losses: losses[0, 0])}),
    "negative losses": ("experts", {"play": instead("experts", losses=lambda losses: -losses)}),
    "a scalar": ("experts", {"play": instead("experts", losses=lambda losses: losses[0])}),
}


KEY = "0" * 64


@pytest.fixture
def play(
    settings: dict[str, Any], write: Callable[[Any], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., pd.DataFrame]:
    """The rows that a job leaves of an honest learner with some methods replaced."""
    monkeypatch.chdir(tmp_path)

    def run(family: str, minutes: float = 9, **methods: Any) -> pd.DataFrame:
        module: Any = ModuleType("liar")
        module.Liar = type("Liar", (HONEST[family],), {"card": CARD, **methods})
        monkeypatch.setitem(sys.modules, "liar", module)
        wanted = copy.deepcopy(settings) | {"allow_few_cells": True, "limits": {"play_minutes": minutes, "play_gb": 2}}
        wanted["papers"][PAPER]["experiments"] = {"lies": COMMON | {"family": family} | EXPERIMENTS[family]}
        config = load_config(write(wanted), check=False).to_json()
        output = tmp_path / "rows.parquet"
        part = part_of(output, "lies", [["liar", "plain", "liar", NO_CODE, KEY]])
        plan = plan_of(tmp_path, config=config, parts={PAPER: {"0123": part}})
        play_experiment(plan, plan.parts[PAPER]["0123"], output)
        rows = pd.read_parquet(output)
        failed = set(rows["status"]) != {"ok"}
        assert keys.holds(KEY) != failed
        keys.file_of(KEY).unlink(missing_ok=True)
        return rows

    return run


@pytest.mark.parametrize("family", HONEST)
def test_the_honest_learner_passes(play: Callable[..., pd.DataFrame], family: str) -> None:
    rows = play(family)
    assert set(rows["status"]) == {"ok"}
    assert first_fault(rows) is None


@pytest.mark.parametrize(("family", "methods"), LIES.values(), ids=LIES)
def test_a_lie_is_a_failed_row(play: Callable[..., pd.DataFrame], family: str, methods: dict[str, Any]) -> None:
    rows = play(family, **methods)
    (status,) = rows["status"]
    assert status.startswith("failed: ")
    assert ("T = 40" in status) == (family == "online"), "which cell"
    assert rows["regret"].isna().all()


def test_a_learner_that_hangs_is_a_failed_row(play: Callable[..., pd.DataFrame]) -> None:
    (status,) = play("online", minutes=0.02, observe=late(lambda self: time.sleep(600)))["status"]
    assert "play_minutes" in status


def test_a_full_disk_is_no_fault_of_a_learner(play: Callable[..., pd.DataFrame], tmp_path: Path) -> None:
    """Nor is a store that cannot be written: the job fails, and leaves nothing behind."""
    with pytest.raises(RunsError):
        play("online", observe=raising(OSError(errno.ENOSPC, "full")))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "store").touch()
    with pytest.raises(RunsError):
        play("online")
    assert {path.name for path in tmp_path.iterdir()} == {"given.json", "mine.yaml", "results"}


def mischief(self: Any) -> None:
    """What a learner may do to its process without any effect on its numbers."""
    os.chdir("/")
    os.environ["OMP_NUM_THREADS"] = "7"
    print("much ado" * 1000)
    warnings.simplefilter("error")
    threading.Thread(target=threading.Event().wait).start()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "600"])


def test_mischief_changes_no_number(play: Callable[..., pd.DataFrame]) -> None:
    """Folder, environment, threads and processes that would outlive the job."""
    honest, rows = play("online"), play("online", observe=late(mischief))
    times = [name for name in honest if name.startswith("seconds")]
    pd.testing.assert_frame_equal(rows.drop(columns=times), honest.drop(columns=times), check_exact=True)


def test_tolerance_is_relative_to_the_set() -> None:
    class Wide:
        name, diameter = "wide", 1e4

        def violation(self, points: Any) -> Any:
            return points

    check_violation(5e-3, Wide())
    with pytest.raises(LearnerFault, match="wide"):
        check_violation(2e-2, Wide())
    check_violation(2e-2, Wide(), beyond=0.02)
