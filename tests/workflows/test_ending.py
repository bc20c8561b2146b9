"""A run that is asked to end does so with its jobs; a job without a server ends with its run."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dpregret.workflows import ending
from dpregret.workflows.forkserver import client

PROGRAM = """
import subprocess, sys, time
from dpregret.workflows import ending
child = subprocess.Popen(["sh", "-c", sys.argv[1] + " echo; exec sleep 60"], stdout=subprocess.PIPE)
child.stdout.readline()
ending.end_on_signals()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt as asked:
    print(asked, flush=True)
    print(child.wait(), flush=True)
"""


@contextlib.contextmanager
def started(shell: str) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen([sys.executable, "-c", PROGRAM, shell], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


@pytest.mark.parametrize("number", ending.SIGNALS)
def test_a_signal_ends_the_jobs_and_then_the_run(number: signal.Signals) -> None:
    with started("") as process:
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
    assert said.split() == [number.name, str(-signal.SIGTERM)]


def test_a_second_signal_kills_jobs_that_do_not_listen() -> None:
    with started("trap '' TERM;") as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "SIGTERM\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0].split() == [str(-signal.SIGKILL)]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = {number: signal.getsignal(number) for number in ending.SIGNALS}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        ending.end_on_signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert callable(signal.getsignal(signal.SIGTERM))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_client_that_was_asked_to_end_does_not_become_the_job(tmp_path: Path) -> None:
    """The server ends before it has answered, as it does when the whole run is asked to end."""
    address = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        command = [sys.executable, "-I", "-S", client.__file__, "gate", "--log", str(tmp_path / "log" / "x.log")]
        process = subprocess.Popen(command, env={**os.environ, client.ADDRESS: address})
        server, _ = listener.accept()
        with server:
            while b"gate" not in server.recv(1 << 16, socket.MSG_PEEK):
                pass
            time.sleep(0.2)  # for its handlers of signals
            process.terminate()
            process.poll()
            time.sleep(0.2)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not (tmp_path / "log").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell children")
def test_a_run_ends_with_make() -> None:
    """Though make's shell, which is killed here, passes nothing on."""
    program = PROGRAM.replace("ending.end_on_signals()", "ending.end_on_signals(); ending.end_with_make()")
    shell = '"$@" & read line; kill -9 $$'
    with subprocess.Popen(
        ["bash", "-c", shell, "bash", sys.executable, "-c", program, ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env={**os.environ, "MAKELEVEL": "1"},
    ) as make:  # fmt: skip
        assert make.stdout is not None
        assert make.stdout.readline() == "ready\n"
        said, _ = make.communicate("\n", timeout=60)
    assert said.split() == ["SIGTERM", str(-signal.SIGTERM)]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell children")
def test_a_job_without_a_server_ends_with_its_run(tmp_path: Path) -> None:
    place = tmp_path / "workflows" / "forkserver"
    for folder in (place, tmp_path / "dpregret" / "workflows"):
        folder.mkdir(parents=True)
    shutil.copy(client.__file__, place)
    (tmp_path / "dpregret" / "workflows" / "task.py").write_text(
        "import time; print('job', flush=True); time.sleep(60)"
    )
    program = "import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', sys.argv[1]])"
    own = {name: value for name, value in os.environ.items() if name not in (client.ADDRESS, "PYTHONPATH")}
    command = [sys.executable, "-c", program, str(place / "client.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "job\n"
        (job,) = psutil.Process(run.pid).children()
        run.kill()
    assert psutil.wait_procs([job], timeout=30)[1] == []
