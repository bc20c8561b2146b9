"""The kinds of problems: one module of this folder for each, with everything in which they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpregret.core.discovery import discover
from dpregret.workflows.families.interface import Family

FAMILIES: Final[Mapping[str, Family[Any, Any, Any]]] = {
    name: family() for name, family in discover(__name__, Family, "name").items()
}
"""Name -> family."""
DEFAULT = "online"
"""The family of an experiment that names none."""
