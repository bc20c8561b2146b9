"""Commands in processes of their own."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path


def ran(words: Iterable[object], folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command said and its exit code; in a folder, with more in its environment."""
    own = os.environ | environment
    command = list(map(str, words))
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=1800)
