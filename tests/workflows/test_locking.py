"""Locks of dead runs are cleared, locks of live ones are not."""

import signal
import subprocess
import sys
from pathlib import Path

from dpregret.workflows.locking import clear_stale_locks

HOLD = "import sys, time, pathlib; from dpregret.workflows.locking import clear_stale_locks as clear\n"
HOLD += "print(clear(pathlib.Path(sys.argv[1])), flush=True); time.sleep(60)"


def hold(folder: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_locks_survive_as_long_as_their_owner_and_not_longer(tmp_path: Path) -> None:
    folder = tmp_path / ".snakemake"
    owner = hold(folder)
    lock = folder / "locks" / "0.output.lock"
    lock.write_text("results/x\n")
    try:
        assert not clear_stale_locks(folder)
        assert lock.exists()
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
    # this very process has been counted as alive by now, so a third one has to look
    third = subprocess.run([sys.executable, "-c", HOLD.replace("60", "0"), str(folder)], capture_output=True, text=True)
    assert third.stdout == "False\n"
    assert lock.exists()


def test_locks_of_a_killed_owner_are_cleared(tmp_path: Path) -> None:
    owner = hold(tmp_path)
    (tmp_path / "locks" / "0.input.lock").write_text("results/x\n")
    owner.kill()
    owner.communicate()
    assert clear_stale_locks(tmp_path)
    assert list((tmp_path / "locks").iterdir()) == []
