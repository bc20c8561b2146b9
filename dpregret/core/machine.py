"""This machine: a description of it, its memory, and what a run needs of it before anything starts."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import multiprocessing
import os
import platform
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dpregret.core.errors import ConfigError

STARTED: Final = time.time()
"""When this process began to import what plays."""
GIGABYTE: Final = 2.0**30
LEAST_ADDRESSES: Final = 3.0  # GB that a process with all libraries maps, most of which it never touches
CHECK_SECONDS: Final = 30.0
CHECK_GB: Final = 1.0
"""Of CPU time and of memory: the most that an import, or making the problems of an experiment, may take."""
PLAY_MINUTES: Final = 120.0
"""The most that a play may take."""
MOST_RUNS: Final = 10**6
PATIENCE: Final = 12.0
"""Seconds that a block may wait for each of CPU time."""
BUFFERED: Final = 192
"""Rows of a product that OpenBLAS makes in all its threads and buffers."""
KEPT: Final = {-3: 2**25, -1: 2**26}
"""M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h, in bytes: the largest values of its own adaptation."""
CGROUPS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def machine() -> str:
    """Processor, cores and memory in one line, as far as the system reports them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
        memory = f", {_physical_gb():.0f} GiB"
    except (OSError, ValueError):
        memory = ""
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()}"


def machine_gb() -> float:
    """Gigabytes of memory that this machine, or the container that this process runs in, has."""
    gigabytes = _physical_gb()
    for file in CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            gigabytes = min(gigabytes, float(file.read_text(encoding="ascii")) / GIGABYTE)
    return gigabytes


def processors() -> int:
    """Processors that this process may use, by its affinity and by the quota of its container."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return min(count, -(-int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max"
        return count


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended, user and system, as the kernel counts them."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def keep_freed_memory() -> None:
    """Let glibc keep freed memory, in this process and in those that it forks; without glibc nothing changes.

    By default it returns the arrays of each block of rounds to the system, which has to clear new pages for the next
    block: up to 40 % of the CPU seconds of a play. At most 64 MB at the end of the heap are kept.
    """
    with contextlib.suppress(AttributeError):
        for option, size in KEPT.items():
            ctypes.CDLL(None).mallopt(option, size)


def _physical_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIGABYTE


@contextlib.contextmanager
def bounded_memory(gigabytes: float) -> Iterator[None]:
    """Bound the memory of the block beyond that in use: MemoryError above it. Not every system has such a bound."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if math.isfinite(gigabytes):
        _reserve_buffers()
    with contextlib.suppress(OSError, ValueError, OverflowError):  # of infinite numbers the latter
        in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * os.sysconf("SC_PAGE_SIZE")
        limit = in_use + int(gigabytes * GIGABYTE)
        if before[0] == resource.RLIM_INFINITY or limit < before[0]:  # a lower limit of the user's stays
            resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


_RESERVED: set[tuple[int, str]] = set()
"""Process, and library that holds its buffers there."""


def _reserve_buffers() -> None:
    """Let OpenBLAS take its buffers, which it keeps: where there is no memory for them its first call never returns.

    NumPy and SciPy have a copy each, with threads that a fork ends. Once a process: to check a plan, hundreds of blocks
    are bounded.
    """
    for name, multiply in (("numpy", "dot"), ("scipy.linalg.blas", "dgemm")):
        library, numpy = sys.modules.get(name), sys.modules.get("numpy")
        if library is not None and numpy is not None and (os.getpid(), name) not in _RESERVED:
            large = numpy.eye(BUFFERED)
            getattr(library, multiply)(*([1.0] if multiply == "dgemm" else []), large, large)
            _RESERVED.add((os.getpid(), name))


def lifted_by(limit: str, value: float) -> str:
    """How a limit of this name and value is lifted, in words."""
    more = f"{limit}:{6 * value:g}"
    return f"limit {limit}; to lift it: --limits {more}, or snakemake --config limits={more}"


class TooMuch(BaseException):
    """A block took more time than it may."""


@contextlib.contextmanager
def bounded_time(seconds: float) -> Iterator[None]:
    """Bound the time of the block: raises `TooMuch` after that much CPU time, or `PATIENCE` times as much of any.

    A block that catches what is raised is stopped again each second. In a child of `core/child.py`, whose end harms
    nobody, it ends the process at the third time, and the system ends one that never returns to Python. Outside of the
    main thread nothing is bounded.
    """
    if not math.isfinite(seconds) or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_child, strikes = multiprocessing.parent_process() is not None, itertools.count(1)

    def stop(*_: object) -> None:
        if is_child and next(strikes) > 2:
            os._exit(1)
        raise TooMuch

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE * seconds)}
    handlers = {number: signal.signal(number, stop) for number in timers}
    before = {timer: signal.getitimer(timer) for timer, _ in timers.values()}
    most = resource.getrlimit(resource.RLIMIT_CPU)
    try:
        if is_child:
            until = math.ceil(time.process_time() + 2 * seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (until if most[0] < 0 else min(until, most[0]), most[1]))
        for timer, after in timers.values():  # within: the first may end at once
            signal.setitimer(timer, after, 1.0)
        yield
    finally:
        for timer, old in before.items():
            signal.setitimer(timer, *old)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_CPU, most)


def check_addresses() -> None:
    """Raise `ConfigError` where the limit on addresses is such that libraries fail, or hang, while they are loaded."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESSES * 1e9:
        message = f"a process may have {limit / 1e9:.3g} GB of addresses here (ulimit -v)"
        raise ConfigError(f"{message}, and needs {LEAST_ADDRESSES:g}")


def check_writable(folders: Iterable[str | Path]) -> None:
    """Raise `ConfigError`, one line a folder, where a file cannot be made in a folder or in what would hold it."""
    problems = []
    for folder in folders:
        existing = Path(folder).absolute()
        while not os.path.lexists(existing) and existing != existing.parent:
            existing = existing.parent
        try:
            with tempfile.TemporaryFile(dir=existing):
                pass
        except OSError as error:
            problems.append(f"{folder}: cannot be written by this user: {error.strerror} ({existing})")
    if problems:
        raise ConfigError(problems)
