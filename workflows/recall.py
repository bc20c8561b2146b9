"""What the main process has learnt about learners and streams, kept for its jobs.

On a cluster every job starts Snakemake anew, twice. To import all learners costs each start as much CPU time as
Snakemake itself does, and a job needs of them only names and traits, which are here.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from dpregret.workflows.fingerprint import FOLDERS, ROOT, fingerprint
from dpregret.workflows.registry import Registry, load_registry

KEPT = Path(".snakemake") / "registry.pickle"


def _code() -> str:
    return fingerprint([ROOT / folder for folder in (*FOLDERS, "dpregret/core")])


def keep(registry: Registry, path: Path = KEPT) -> None:
    """Write the registry, less what builds things, for jobs that start in the same folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(pickle.dumps((_code(), registry.trusting())))
    os.replace(temporary, path)


def recall(path: Path = KEPT) -> Registry:
    """Return what was kept, or collect it anew where nothing was, or of other code."""
    try:
        code, registry = pickle.loads(path.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, TypeError, ValueError):
        return load_registry().trusting()
    return registry if code == _code() and isinstance(registry, Registry) else load_registry().trusting()
