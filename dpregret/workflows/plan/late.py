"""Libraries that a process loads at their first use, though files that it imports name them at their top."""

import importlib
import sys
from types import ModuleType
from typing import Any


class _Late(ModuleType):
    """Stands for a library; whatever is looked up in it is looked up in the library, which is imported then."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def late(library: str) -> None:
    """Load a library at its first use: for a process that imports most of this project and uses little of it.

    `importlib.util.LazyLoader` is no help: in Python 3.11 the next `import` of the name loads the library.
    """
    sys.modules.setdefault(library, _Late(library))
