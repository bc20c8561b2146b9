"""Where a run was made: the commit of its code, the system and the machine, as the manifest of a run records it.

No name of a user, host or folder is in it.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from dpregret.paper_figs.report.provenance import git, machine
from dpregret.workflows.fingerprint import ROOT


def origin(root: Path = ROOT) -> dict[str, Any]:
    """Commit and machine of this moment; what cannot be known is None.

    dirty: whether files that git follows differ from the commit. kernels: the linear algebra that NumPy and SciPy use,
    whose rounding depends on the processor.
    """
    top = git(root, "rev-parse", "--show-toplevel")
    own = top is not None and Path(top).resolve() == root  # not a repository that this folder happens to lie in
    changed = git(root, "status", "--porcelain", "--untracked-files=no") if own else None
    return {
        "commit": git(root, "rev-parse", "HEAD") if own else None,
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
