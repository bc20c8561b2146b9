"""Which experiments have been checked already, by the very code that would check them again.

Checking builds every learner, some of which tune themselves: seconds in front of every command, for an answer that
only an edit of the code, of a library or of the experiment can change.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import sys
from pathlib import Path

from pydantic import BaseModel

from dpregret.core.files import keep, kept
from dpregret.workflows.fingerprint import code_fingerprint

KEPT = Path(".snakemake") / "checked.json"
LIBRARIES = ("numpy", "scipy", "pydantic", "dp-accounting")


class Checked:
    """What a check has found without fault, kept in a file that may be missing, spoilt or of other code."""

    def __init__(self, path: Path = KEPT) -> None:
        self.path = path
        self.code = " ".join([code_fingerprint(), sys.version, *map(importlib.metadata.version, LIBRARIES)])
        before = kept(path)
        self.known = set[str](before["faultless"] if before and before["code"] == self.code else ())
        self.new: set[str] = set()

    def knows(self, *content: object) -> bool:
        """Whether this was checked before."""
        return _digest(content) in self.known

    def add(self, *content: object) -> None:
        """Note what has no fault."""
        self.new.add(_digest(content))

    def save(self) -> None:
        """Keep what is new; a full disk is no reason to stop."""
        if not self.new:
            return
        with contextlib.suppress(OSError):
            keep(self.path, {"code": self.code, "faultless": sorted(self.known | self.new)})


def _digest(content: tuple[object, ...]) -> str:
    parts = [each.model_dump_json() if isinstance(each, BaseModel) else each for each in content]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
