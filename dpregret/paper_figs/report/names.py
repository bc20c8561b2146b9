"""Displayed names of learners: names come as a plain mapping, identifiers replace missing names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Names = Mapping[str, str]
"""Identifier -> what people write; the identifiers are `learner`, `learner.variant`, `stream:name` and `set:name`."""
NOBODY: Final[Names] = MappingProxyType({})


def learner_name(names: Names, learner: str, variant: str) -> str:
    """The displayed name of a learner in a variant, or in all variants that match a pattern with `*`."""
    plain = names.get(learner, learner)
    if "*" in variant:
        return plain
    return names.get(f"{learner}.{variant}", plain if variant == "plain" else f"{plain} {variant}")
