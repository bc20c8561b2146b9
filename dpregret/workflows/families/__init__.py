"""The kinds of problems, found by looking into this folder: one module each, everything in which they differ."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dpregret.core.discovery import discover
from dpregret.workflows.families.base import Family

FAMILIES: Mapping[str, Family[Any, Any, Any]] = MappingProxyType(
    {name: family() for name, family in discover(__name__, Family, "name").items()}
)
"""Name -> family."""
DEFAULT = "online"
"""The family of an experiment that names none."""
