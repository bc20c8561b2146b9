"""Starting the server of a run; it ends with the process that started it, however that ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from dpregret.workflows.forkserver.client import ADDRESS, ROOT

WAITING = 128  # clients that may knock while the server imports
PREFIX = "jobs-"
ONE_THREAD = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "GOTO")},
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""What keeps libraries from starting threads when they are imported: a process with threads must not fork."""
SECONDS_TO_END = 10.0


def forget() -> None:
    """No job of this process and its children asks a server that an outer process has started."""
    os.environ.pop(ADDRESS, None)


def launch(folder: Path = Path(".snakemake")) -> subprocess.Popen[bytes] | None:
    """Start a server and tell the jobs of this process where it is; None where there cannot be one.

    It listens in a fresh folder of `folder` that only this user can enter, and ends when its standard input does: when
    this process ends, also by force. The address is relative, as sockets allow a hundred characters: jobs start in the
    working folder of this process.
    """
    if not (hasattr(os, "fork") and hasattr(socket, "AF_UNIX") and sys.platform != "darwin"):
        return None  # forking after Apple's libraries were loaded is not safe
    for left in folder.glob(f"{PREFIX}*"):  # of a run that was killed together with its server
        shutil.rmtree(left, ignore_errors=True)
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    place = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
        with socket.socket(socket.AF_UNIX) as listener, (folder / "jobs.log").open("wb") as log:
            listener.bind(str(place / "s"))
            listener.listen(WAITING)
            server = subprocess.Popen(
                [sys.executable, "-Pm", "dpregret.workflows.forkserver.server", str(listener.fileno()), str(place)],
                stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=[listener.fileno()], start_new_session=True,
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            )  # fmt: skip
    except OSError:  # no such sockets on this file system, or a path too long for one
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return None
    os.environ[ADDRESS] = str(place / "s")
    atexit.register(end, server)
    return server


def end(server: subprocess.Popen[bytes]) -> None:
    """End a server and what it still does."""
    forget()
    with contextlib.suppress(OSError):
        if server.stdin is not None:
            server.stdin.close()
    try:
        server.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
