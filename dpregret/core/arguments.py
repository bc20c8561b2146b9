"""Numbers that a caller hands over from Python: NumPy's and Python's own are the same, and none is reinterpreted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpregret.core.errors import ConfigError


def plain(value: Any) -> Any:
    """The value with Python's own numbers, words and lists in place of NumPy's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def printable_value(value: object) -> str:
    """A value as it is written in Python, which refuses to write thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return f"a {type(value).__name__} too long to be shown"
    except Exception:  # of a class of the caller
        return f"a {type(value).__name__} that cannot be shown"


MOST: Final = 2**53
"""Largest whole number of a call, but for seeds: beyond it floats have gaps."""


def whole(where: str, value: Any, low: int = 1, most: int | None = MOST) -> int:
    """A whole number, also one that is written as 1e3; most None: of any size. Raises ConfigError."""
    number = plain(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or number < low:
        raise ConfigError(f"{where}: must be a whole number, {low} or more, not {printable_value(value)}")
    if most is not None and number > most:
        digits = 1 + math.floor(math.log10(number))
        raise ConfigError(f"{where}: must be a whole number of at most {most}, not one of {digits} digits")
    return number


def truth(where: str, value: Any) -> bool:
    """True or false. Raises ConfigError."""
    answer = plain(value)
    if not isinstance(answer, bool):
        raise ConfigError(f"{where}: must be True or False, not {printable_value(value)}")
    return answer


def path(where: str, value: Any) -> Path:
    """The path of a file or a folder. Raises ConfigError."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ConfigError(f"{where}: must be a path, not {printable_value(value)}")
    return Path(value)


def real(where: str, value: Any) -> float:
    """A number, infinite ones included. Raises ConfigError."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number:
        raise ConfigError(f"{where}: must be a number, not {printable_value(value)}")
    try:
        return float(number)
    except OverflowError:
        raise ConfigError(f"{where}: too large a number") from None
