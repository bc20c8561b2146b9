"""What a run needs of this machine is said in one line before anything starts."""

import ctypes
import itertools
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpregret.core import machine
from dpregret.core.errors import ConfigError


@pytest.mark.parametrize("limit", [10**9, 3 * 10**9, resource.RLIM_INFINITY])
def test_too_few_addresses_are_refused(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer a job ends in the middle, and its log has no reason."""
    monkeypatch.setattr(resource, "getrlimit", {resource.RLIMIT_AS: (limit, limit)}.__getitem__)
    if limit == 10**9:
        with pytest.raises(ConfigError, match=re.escape("1 GB of addresses here (ulimit -v), and needs 3")):
            machine.check_addresses()
    else:
        machine.check_addresses()


def test_folders_that_cannot_be_written_are_refused_together(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    right, wrong = tmp_path / "new" / "folder", [tmp_path / "file" / name for name in "ab"]
    with pytest.raises(ConfigError) as refusal:
        machine.check_writable([right, *wrong])
    assert [line.partition(":")[0] for line in refusal.value.problems] == list(map(str, wrong))
    machine.check_writable([right])
    assert not right.parent.exists()


def test_a_limit_that_ends_at_once_leaves_no_timer_behind() -> None:
    for _ in range(20):
        with pytest.raises(machine.TooMuch), machine.bounded_time(1e-6):
            sum(1 for _ in itertools.count())
        timers = signal.ITIMER_PROF, signal.ITIMER_REAL
        assert [signal.getitimer(timer) for timer in timers] == [(0.0, 0.0)] * 2


ROUNDS = """
import resource
import numpy as np
from dpregret.core.machine import keep_freed_memory
keep_freed_memory()
for now in range(20):
    if now == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(2**17) for _ in range(16)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
"""Prints how many pages ten rounds take anew, each of 16 arrays of 1 MB: 4,096 a round where none is kept."""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_memory_that_a_round_frees_serves_the_next_one() -> None:
    answer = subprocess.run([sys.executable, "-c", ROUNDS], check=True, capture_output=True, text=True)
    assert int(answer.stdout) < 4096
