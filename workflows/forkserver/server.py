"""The server of a run: imports what jobs import, then forks a process for each job that a client asks for.

One thread, one loop: new clients, words of clients, ended jobs, and the standard input, whose end means that the run
has ended. A client that vanishes takes its job with it; when the server ends, so do its jobs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from dpregret.workflows.forkserver.client import PARENT_DEATH_SIGNAL, ROOT, STREAMS

SOURCES = ("algorithms", "datasets", "paper_figs", "workflows", os.path.join("dpregret", "core"))
SUFFIXES = (".py", ".yaml")
SECONDS_TO_ASK = 10.0  # for a client that has knocked
Stamp = dict[str, tuple[int, int, int]]


def sources(root: str = ROOT) -> Stamp:
    """What tells an edited file from the one that was imported: date, size and number of every source file."""

    def below(folder: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in ("__pycache__", "cache"):
                        yield from below(entry.path)
                elif entry.name.endswith(SUFFIXES):
                    yield entry

    found: Stamp = {}
    for folder in SOURCES:
        for entry in below(os.path.join(root, folder)):
            told = entry.stat()
            found[entry.path] = told.st_mtime_ns, told.st_size, told.st_ino
    return found


class Server:
    """Serves until its standard input ends or it is asked to end.

    listener: a listening Unix socket. place: its folder, removed at the end.
    """

    def __init__(self, listener: socket.socket, place: Path) -> None:
        self.listener, self.place = listener, place
        self.known = sources()
        self.jobs: dict[int, socket.socket | None] = {}  # process -> who asked; None: nobody waits for it any more
        self.selector = selectors.DefaultSelector()
        self.prctl = getattr(ctypes.CDLL(None), "prctl", None)

    def serve(self) -> None:
        """Serve until the end."""
        wake, waker = socket.socketpair()
        for end in (wake, waker):
            end.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # the byte on `wake` tells
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for source in (self.listener, wake, 0):
            self.selector.register(source, selectors.EVENT_READ)
        try:
            while True:
                for key, _ in self.selector.select():
                    if key.fileobj == 0 or (key.fileobj is wake and signal.SIGTERM in wake.recv(4096)):
                        return
                    if key.fileobj is self.listener:
                        self.answer()
                    elif isinstance(key.fileobj, socket.socket) and key.data is not None:
                        self.hear(key.fileobj, key.data)
                self.reap()
        finally:
            self.end()

    def answer(self) -> None:
        """Take a client's request, and start its job."""
        client, _ = self.listener.accept()
        streams: list[int] = []
        try:
            client.settimeout(SECONDS_TO_ASK)
            message, streams, _, _ = socket.recv_fds(client, 1 << 16, len(STREAMS))
            while len(message) < (end := 8 + int.from_bytes(message[:8], "big")):
                part = client.recv(1 << 16)
                if not part:
                    raise OSError("a client has vanished")
                message += part
            folder, count, *rest = [os.fsdecode(part) for part in message[8:end].split(b"\0")]
            words, environment = rest[: int(count)], dict(each.split("=", 1) for each in rest[int(count) :])
            if len(streams) != len(STREAMS) or not self.ready(words):
                client.close()
                return
            process = os.fork()
            if process == 0:
                self.become(client, streams, folder, words, environment)
            with contextlib.suppress(OSError):
                os.setpgid(process, process)
            self.jobs[process] = client
            self.selector.register(client, selectors.EVENT_READ, process)
            for number in message[end:]:
                self.kill(process, number)
        except (OSError, ValueError):
            traceback.print_exc()
            if client not in self.jobs.values():
                client.close()
        finally:
            for stream in streams:
                os.close(stream)

    def ready(self, words: list[str]) -> bool:
        """Import what the job imports. False: the sources have changed, or an import has left a thread."""
        if sources() != self.known:
            return False
        from dpregret.workflows.task import prepare

        try:
            prepare(words)
        except BaseException:  # sys.exit too; the job will meet the same fault and tell it in its log
            traceback.print_exc()
        gc.freeze()  # what all jobs share stays shared
        threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
        if threads > 1:
            print(f"{threads} threads after the imports of {words[0]}: the job has to begin by itself", flush=True)
        return threads == 1

    def become(
        self, client: socket.socket, streams: list[int], folder: str, words: list[str], environment: dict[str, str]
    ) -> NoReturn:
        """In the new process: be the job, then end."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setpgid(0, 0)
            server = os.getppid()
            if self.prctl is not None:
                self.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != server:
                os._exit(1)
            for target, stream in zip(STREAMS, streams, strict=True):
                os.dup2(stream, target)
            self.selector.close()
            for other in (self.listener, client, *filter(None, self.jobs.values())):
                other.close()
            for stream in streams:
                os.close(stream)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            from dpregret.workflows.task import perform

            code = perform(words)
        except KeyboardInterrupt:
            code = 128 + signal.SIGINT
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def hear(self, client: socket.socket, process: int) -> None:
        """Pass on the signals that a client got; where it has vanished, end its job."""
        try:
            signals = client.recv(64) or None
        except OSError:
            signals = None
        if self.jobs.get(process) is not client:
            return
        if signals is None:
            self.jobs[process] = None
            self.forget(client)
        for number in signals if signals is not None else [signal.SIGKILL]:
            self.kill(process, number)

    def kill(self, process: int, number: int) -> None:
        """Send a signal to a job and to what it has started."""
        with contextlib.suppress(OSError):
            os.killpg(process, number)

    def reap(self) -> None:
        """Tell clients what has become of their jobs."""
        while self.jobs:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            process = ended.si_pid
            self.kill(process, signal.SIGKILL)  # what it has left in its group, while nobody else can have its number
            _, status = os.waitpid(process, 0)
            client = self.jobs.pop(process, None)
            if client is not None:
                with contextlib.suppress(OSError):
                    client.sendall(status.to_bytes(4, "big"))
                self.forget(client)

    def forget(self, client: socket.socket) -> None:
        """Hear a client no more."""
        self.selector.unregister(client)
        client.close()

    def end(self) -> None:
        """End what is left, and leave nothing."""
        self.listener.close()
        for process in self.jobs:
            self.kill(process, signal.SIGKILL)
        shutil.rmtree(self.place, ignore_errors=True)


def main() -> None:
    """Serve on the listening socket whose number and folder the command line tells."""
    number, place = sys.argv[1:]
    with socket.socket(fileno=int(number)) as listener:
        Server(listener, Path(place).resolve()).serve()


if __name__ == "__main__":
    main()
