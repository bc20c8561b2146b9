"""Requirements of a run on the machine, checked before anything starts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from dpregret.core.errors import ConfigError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

LEAST_ADDRESSES = 3.0  # GB that a process with all libraries maps, most of which it never touches


def check_addresses() -> None:
    """Raise `ConfigError` where the limit on addresses is such that libraries fail, or hang, while they are loaded."""
    if resource is None:
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESSES * 1e9:
        raise ConfigError(
            f"a process may have {limit / 1e9:.3g} GB of addresses here (ulimit -v), and needs {LEAST_ADDRESSES:g}"
        )


def check_writable(folders: Iterable[str | Path]) -> None:
    """Raise `ConfigError`, one line a folder, where a file cannot be made in a folder or in what would hold it."""
    problems = []
    for folder in folders:
        place = Path(folder).absolute()
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        try:
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            problems.append(f"{folder}: cannot be written by this user: {error.strerror} ({place})")
    if problems:
        raise ConfigError(problems)
