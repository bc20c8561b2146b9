"""Finding classes by looking into a folder: what a new file defines is there without being listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def discover(package: str, base: Any, mark: str) -> dict[str, Any]:
    """All classes of a package's modules that derive from `base` and define `mark` themselves, sorted by name.

    mark: an attribute that holds the name, or something that has one (a card). Raises ValueError when two classes
    share a name.
    """
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        for item in vars(importlib.import_module(f"{package}.{module.name}")).values():
            if not (isinstance(item, type) and issubclass(item, base) and mark in vars(item)):
                continue
            marked = vars(item)[mark]
            name = marked if isinstance(marked, str) else marked.name
            if found.setdefault(name, item) is not item:
                raise ValueError(f"two classes of {package} are named {name}")
    return dict(sorted(found.items()))
