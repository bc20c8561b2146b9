"""Compiled loops: IEEE arithmetic in the order written, so that a kernel gives the same bits on every processor.

Modules that hold kernels are imported where a kernel is wanted, not at the top: numba takes a quarter of a second.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function, compiled at its first call and kept on disk; no operation is reordered, fused or approximated."""
    return cast(Function, numba.njit(cache=True, fastmath=False, error_model="numpy")(function))
