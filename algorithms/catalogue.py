"""Discovery of learners: a new file in a folder of learners is picked up by itself."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def collect(package: ModuleType, kind: Any) -> dict[str, Any]:
    """All classes of a package's modules that derive from `kind` and have a card of their own, by the card's name.

    Raises ValueError when two learners share a name.
    """
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        for item in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            if not (isinstance(item, type) and issubclass(item, kind) and "card" in vars(item)):
                continue
            name = vars(item)["card"].name
            if found.setdefault(name, item) is not item:
                raise ValueError(f"two learners are named {name}")
    return dict(sorted(found.items()))
