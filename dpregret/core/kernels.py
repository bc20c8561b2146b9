"""Sets as numbers, for the compiled loops of descents (core/rounds.py).

A class that names a kernel says that the kernel does what its plain methods do. A subclass does not inherit it: what it
changes would go unnoticed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpregret.numerics.arrays import Array

BALL, SIMPLEX, L1_BALL, BOX = range(4)


@dataclass(frozen=True)
class SetKernel:
    """A set in rounds.py, and its constants: names of attributes, or numbers."""

    code: int
    constants: tuple[str | float, ...]

    def numbers(self, domain: Any) -> Array:
        """The constants of one set."""
        return np.array([getattr(domain, each) if isinstance(each, str) else each for each in self.constants])


def kernel_of(thing: Any) -> Any:
    """What the class itself names, None where only a parent does."""
    return vars(type(thing)).get("kernel")
