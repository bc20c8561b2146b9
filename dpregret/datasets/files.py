"""Reading prepared arrays, with errors that name the damaged file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpregret.core.files import opened


def read_arrays(path: Path, what: str, *names: str) -> list[np.ndarray[Any, Any]]:
    """Arrays of an .npz by name. Raises ValueError that names the file and `what` it should hold."""
    try:
        with opened(path) as file, np.load(file, allow_pickle=False) as archive:
            return [np.asarray(archive[name]) for name in names]
    except Exception as error:  # a damaged archive raises whatever its damage looks like
        raise ValueError(f"{path}: not a readable .npz of {what} ({error})") from error
