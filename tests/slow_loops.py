"""Loops whose first call takes long, as that of a loop to be compiled does."""

from time import process_time
from types import ModuleType
from typing import Any

import pytest

LONG = 0.5
"""CPU seconds of a first call."""


def slow_at_first(module: ModuleType, patch: pytest.MonkeyPatch) -> set[Any]:
    """From now on the first call of each loop that the module specialises takes LONG; they are listed as they come."""
    real, called = module.specialised, set[Any]()

    def specialised(function: Any, *kinds: Any) -> Any:
        made = real(function, *kinds)

        class Loop:
            def __hash__(self) -> int:
                return hash(made)

            def __eq__(self, other: object) -> bool:
                return hash(self) == hash(other)

            def __call__(self, *arguments: Any) -> Any:
                until = process_time() + (LONG if made not in called else 0.0)
                called.add(made)
                while process_time() < until:
                    pass
                return made(*arguments)

        return Loop()

    patch.setattr(module, "specialised", specialised)
    return called
