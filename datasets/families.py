"""Families of losses and risks by name: how one is built, and what is said of a wrong name or option."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpregret.core.errors import not_allowed


def build(
    noun: str,
    families: Mapping[str, Callable[..., Any]],
    name: str,
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> Any:
    """Call the family with its leading arguments and its options.

    Raises ValueError, naming the nearest and the allowed, for an unknown name or option and a missing option.
    """
    family = families.get(name)
    if family is None:
        raise ValueError(not_allowed(noun, name, families))
    parameters = list(inspect.signature(family).parameters.values())[len(arguments) :]
    known = [parameter.name for parameter in parameters]
    for option in options:
        if option not in known:
            raise ValueError(f"{noun} {name!r} has no option {option!r}; allowed: {', '.join(known) or 'none'}")
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.name not in options:
            raise ValueError(f"{noun} {name!r} needs the option {parameter.name!r}")
    return family(*arguments, **options)
