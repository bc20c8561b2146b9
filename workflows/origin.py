"""Where a run was made: the commit of its code, the system and the machine, as the manifest of a run records it.

No name of a user, host or folder is in it.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from dpregret.paper_figs.report.provenance import machine
from dpregret.workflows.fingerprint import ROOT


def origin(root: Path = ROOT) -> dict[str, Any]:
    """Commit and machine of this moment; what cannot be known is None.

    dirty: whether files that git follows differ from the commit. kernels: the linear algebra that NumPy and SciPy use,
    whose rounding depends on the processor.
    """
    top = _git(root, "rev-parse", "--show-toplevel")
    own = top is not None and Path(top).resolve() == root  # not a repository that this folder happens to lie in
    changed = _git(root, "status", "--porcelain", "--untracked-files=no") if own else None
    return {
        "commit": _git(root, "rev-parse", "HEAD") if own else None,
        "dirty": None if changed is None else bool(changed),
        "system": platform.platform(),
        "machine": machine(),
        "kernels": _kernels(),
    }


def _kernels() -> list[str]:
    import scipy.linalg  # noqa: F401 - it brings its own library, and NumPy's

    found = [each for each in threadpool_info() if each.get("user_api") == "blas"]
    return sorted(
        {f"{each['internal_api']} {each['version']} {each.get('architecture', '')}".strip() for each in found}
    )


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
