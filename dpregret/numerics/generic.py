"""Functions whose text is chosen by the class of their first argument, in Python and in compiled code alike.

    project = generic("project")

    @project.add
    def _(ball: Ball, x, scratch):  # plain loops over (d, runs)
        ...

Classes are NamedTuples of arrays and numbers. In Python a dictionary finds the text; numba finds it when it compiles
the caller, so a loop over rounds is compiled once for each combination of classes, with no call left in it.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

Text = TypeVar("Text", bound=Callable[..., Any])


class Generic:
    """The result of `generic`: called like a function; `add` gives it the text for one class; `kinds` are these."""

    __name__: str
    kinds: dict[type, Callable[..., Any]]

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the text for the class of `first`."""

    def add(self, function: Text) -> Text:
        """Take a function whose first parameter is annotated with the class that it is for."""
        raise NotImplementedError


GENERICS: list[Generic] = []
"""All that there are."""


def generic(name: str) -> Generic:
    """A function that is chosen by the class of its first argument."""
    kinds: dict[type, Callable[..., Any]] = {}

    def chosen(first: Any, *rest: Any) -> Any:
        return kinds[type(first)](first, *rest)

    def add(function: Text) -> Text:
        first = next(iter(typing.get_type_hints(function)))
        kind = typing.get_type_hints(function)[first]
        kinds[kind] = function
        # compiled code is known by module, name, types and a count within its process: code of two processes, loaded
        # from disk into one, must not meet under one name
        function.__name__ = function.__qualname__ = f"{name}_{kind.__name__}"
        return function

    chosen.__name__ = name
    overload(chosen, strict=False, jit_options={"error_model": "numpy"})(
        lambda first, *rest: kinds.get(getattr(first, "instance_class", type(None)))
    )
    found: Any = chosen
    found.add, found.kinds = add, kinds
    GENERICS.append(found)
    return typing.cast(Generic, found)
