"""Where a run was made: the commit of its code, the system and the machine. No name of a user, host or folder."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import dpregret
from dpregret.core.files import checksum
from dpregret.core.machine import machine
from dpregret.paper_figs.report.provenance import git
from dpregret.workflows.run.fingerprint import ROOT, code_fingerprint
from dpregret.workflows.run.unpack import LOCK


def origin(profile: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """Commit and machine of this moment, and the key of each published name; what cannot be known is None.

    dirty: whether files that git follows differ from the commit. kernels: the linear algebra that NumPy and SciPy use,
    whose rounding depends on the processor.
    """
    import scipy.linalg  # noqa: F401 - it brings its own library, and NumPy's

    top = git(ROOT, "rev-parse", "--show-toplevel")
    own = top is not None and Path(top).resolve() == ROOT  # not a repository that this folder happens to lie in
    changed = git(ROOT, "status", "--porcelain", "--untracked-files=no") if own else None
    blas = [each for each in threadpool_info() if each.get("user_api") == "blas"]
    return {
        "profile": profile,
        "commit": git(ROOT, "rev-parse", "HEAD") if own else None,
        "dirty": None if changed is None else bool(changed),
        "dpregret": dpregret.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": machine(),
        "kernels": sorted({f"{e['internal_api']} {e['version']} {e.get('architecture', '')}".strip() for e in blas}),
        "code": code_fingerprint(),
        "lock": lock(),
        "keys": dict(sorted(keys.items())),
    }


def lock(root: Path = ROOT) -> str | None:
    """SHA-256 of the lock below a folder, that of this code where none is given; None where there is no lock."""
    return checksum(root / LOCK) if (root / LOCK).is_file() else None
