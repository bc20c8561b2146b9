"""Numbers in short: `2^17` is a power, `2^8..2^17` the ten powers from 2^8 to 2^17, `4^6..4^11` powers of four."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

POWER = re.compile(r"([0-9]+)\^(-?[0-9]+)")
RANGE = re.compile(rf"{POWER.pattern}\.\.{POWER.pattern}")
MEANT = frozenset("-^. 0123456789")
LARGEST = 1023  # exponents beyond are not numbers
LONGEST = 40  # characters


def expand(value: object) -> object:
    """Return a setting with powers and ranges as numbers; a range alone is a list, in a list it adds its numbers.

    Mappings are expanded value by value. Raises ValueError for what looks like a range and is none.
    """
    if isinstance(value, Mapping):
        return {key: expand(each) for key, each in value.items()}
    if isinstance(value, list):
        return [number for each in value for number in (numbers(each) if _is_range(each) else [expand(each)])]
    if not _is_range(value):
        return value
    found = numbers(value)
    return found if ".." in str(value) else found[0]


def numbers(text: object) -> list[int | float]:
    """The numbers of a power or a range."""
    if len(str(text)) > LONGEST:
        raise ValueError(f"{str(text)[:LONGEST] + '...'!r} is no number of a setting")
    single, several = POWER.fullmatch(str(text)), RANGE.fullmatch(str(text))
    if single:
        base, first, last = int(single[1]), int(single[2]), int(single[2])
    elif several and several[1] == several[3] and int(several[2]) < int(several[4]):
        base, first, last = int(several[1]), int(several[2]), int(several[4])
    else:
        raise ValueError(f"a range is written 2^8..2^17, with one base and a growing exponent, not {text!r}")
    if base < 2 or max(-first, last) > LARGEST / math.log2(base):
        raise ValueError(f"{text!r} is no number of a setting")
    return [base**power if power >= 0 else 1 / base**-power for power in range(first, last + 1)]


def _is_range(value: object) -> bool:
    return isinstance(value, str) and ("^" in value or ".." in value) and set(value) <= MEANT
