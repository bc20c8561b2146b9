"""Streams and risks by name: how they are found, how one is built, and what is said of a wrong name or option."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dpregret.core.discovery import discover
from dpregret.core.errors import not_allowed


class UnreadDataError(ValueError):
    """The data of a stream or risk lie in a file, and no folder was given in which to look."""


def sources(base: Any) -> dict[str, Any]:
    """All named classes of this package that derive from `base`, by their names."""
    return _sources(base)


@cache
def _sources(base: Any) -> dict[str, Any]:
    return discover(__package__ or "", base, "name")


@cache
def _parameters(maker: type[Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(maker).parameters.values())


def build(
    noun: str,
    base: Any,
    name: str,
    arguments: Sequence[object],
    options: Mapping[str, object],
    data_dir: str | Path | None,
) -> Any:
    """Make the stream or risk of a name from its leading arguments and its options.

    base: the class that all of them derive from. data_dir: the folder of prepared data, for those that read some.
    Raises ValueError, naming the nearest and the allowed, for an unknown name or option and a missing option;
    `UnreadDataError` where everything fits but there is no folder.
    """
    known = sources(base)
    maker = known.get(name)
    if maker is None:
        raise ValueError(not_allowed(noun, name, known))
    parameters = {each.name: each for each in _parameters(maker)[len(arguments) :]}
    reads = parameters.pop("data_dir", None) is not None
    for option in options:
        if option not in parameters:
            raise ValueError(f"{noun} {name!r} has no option {option!r}; allowed: {', '.join(parameters) or 'none'}")
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and option not in options:
            raise ValueError(f"{noun} {name!r} needs the option {option!r}")
    if not reads:
        return maker(*arguments, **options)
    if data_dir is None:
        raise UnreadDataError(f"{noun} {name!r} needs the option 'data_dir'")
    return maker(*arguments, data_dir=data_dir, **options)
