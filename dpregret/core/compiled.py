"""Compiled loops: IEEE arithmetic in the order written, so that a kernel gives the same bits on every processor.

numba keeps compiled code on disk and asks for the age of one file alone: an edited helper in another would go unseen.
So the folder that it keeps is named after the text of every module that holds kernels: stale code is never found.
Within it, code lies by its place in the package: copies of one tree that are given one folder compile once.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite.ir import FunctionType, IntType, VectorType
from numba import types
from numba.core.caching import UserProvidedCacheLocator
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
_KERNELS: list[Any] = []
_READ: dict[str, int] = {}  # index of a kernel's code on disk -> its date when it was last read
_MARKS = ("from dpregret.core.compiled import ", "from numba.extending import ")


def kernel_modules() -> Iterator[str]:
    """Names of the modules that hold kernels, or parts of them, told by what they import."""
    for folder in ("core", "algorithms", "datasets", "workflows", "paper_figs"):
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8") if path.name != Path(__file__).name else ""
            if any(mark in text for mark in _MARKS):
                yield ".".join([PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts])


def warm() -> None:
    """Load every kernel that was imported with what is on disk of it: for a process that forks its workers."""
    for kernel in _KERNELS:
        _load(kernel)


def _load(kernel: Any) -> None:
    """Take over the code that other processes have put on disk since this was last called."""
    kept, target = kernel._cache, kernel.targetctx.codegen()
    file = getattr(kept, "_cache_file", None)  # None where no folder can be written
    written = os.stat(file._index_path).st_mtime_ns if file and os.path.exists(file._index_path) else None
    if file is None or written is None or _READ.get(file._index_path) == written:
        return
    _READ[file._index_path] = written
    for key in file._load_index():
        if key == kept._index_key(key[0], target):  # not of another processor, nor of older text
            kernel.compile(key[0])


def _cache() -> Path:
    """The folder of today's kernels: that of the user's choice, the checkout's, or the user's own."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in kernel_modules():
        digest.update((PACKAGE.parent / Path(*name.split("."))).with_suffix(".py").read_bytes())
    chosen, checkout = os.environ.get("NUMBA_CACHE_DIR"), PACKAGE.parent
    if chosen:
        root = Path(chosen)
    elif (checkout / "pyproject.toml").is_file() and os.access(checkout, os.W_OK):
        root = checkout / ".cache" / "kernels"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / PACKAGE.name
    folder = root / digest.hexdigest()[:16]
    if _open_to_others(folder):
        warnings.warn(f"{folder} is open to others than the code is: nothing is read from there or kept", stacklevel=2)
        return Path(tempfile.mkdtemp(prefix="kernels-"))
    return folder


def _open_to_others(folder: Path) -> bool:
    """Whether somebody may write to a folder of kernels who may not write to the code: to read one is to run it."""
    if not hasattr(os, "geteuid"):
        return False
    with contextlib.suppress(OSError):  # not to be made: numba looks elsewhere
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        code, kept = PACKAGE.stat(), folder.stat()
        open_to = kept.st_mode & ~code.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return bool(open_to) or kept.st_uid not in (os.geteuid(), code.st_uid, 0)
    return False


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where numba keeps the code of a file: in `_cache`, by the file's folder within the package."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The name of the folder; numba's own takes the absolute path."""
        folder = Path(py_file).resolve().parent
        if not folder.is_relative_to(PACKAGE.parent):
            return str(super().get_suitable_cache_subpath(py_file))
        return ".".join(folder.relative_to(PACKAGE.parent).parts)


numba.config.CACHE_DIR = str(_cache())
if not numba.config.CACHE_LOCATOR_CLASSES:  # numba's own come next, for a folder that cannot be written
    numba.config.CACHE_LOCATOR_CLASSES = (
        f"{__name__}.{Locator.__name__},InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"
    )


def compiled(function: Function) -> Function:
    """The function, compiled at its first call and kept on disk; no operation is reordered, fused or approximated."""
    kernel = numba.njit(cache=True, fastmath=False, error_model="numpy")(function)
    _KERNELS.append(kernel)
    return cast(Function, kernel)


def inlined(function: Function) -> Function:
    """The same for a small function that kernels call once a row: it becomes part of them."""
    return cast(Function, numba.njit(cache=True, fastmath=False, error_model="numpy", forceinline=True)(function))


def call_llvm(name: str, builder: Any, values: Any) -> Any:
    """A function of LLVM's, of numbers or of several side by side."""
    kind = values[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, VectorType) else "f64"
    function = FunctionType(kind, [kind] * len(values))
    return builder.call(get_or_insert_function(builder.module, function, f"llvm.{name}.{suffix}"), values)


def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once: fixed by IEEE 754, on processors without the instruction too. Of `core.lanes` as well."""
    kind = next((each for each in (a, b, c) if not isinstance(each, types.Number)), types.float64)
    return kind(kind, kind, kind), lambda target, builder, signature, values: call_llvm("fma", builder, values)


def _as_bits(context: Any, number: Any) -> Any:
    """The 64 bits of a number, as an integer."""
    return types.int64(types.float64), lambda target, builder, signature, values: builder.bitcast(
        values[0], IntType(64)
    )


fused, as_bits = (cast(Any, intrinsic(each)) for each in (_fused, _as_bits))


@inlined
def steps_to(divisor: float) -> int:
    """How many corrections a product with the divisor's inverse needs to be the quotient, rounded once.

    None for a power of two. One where the inverse is within half of its largest error: then the product is within one
    unit in the last place, and the correction is exact (Markstein 1990). Else a second one.
    """
    if as_bits(divisor) & 0xFFFFFFFFFFFFF == 0:
        return 0
    return 1 if abs(fused(-divisor, 1.0 / divisor, 1.0)) <= 2.0**-54 else 2


@inlined
def over(numbers: Any, divisor: Any, inverse: Any, steps: int) -> Any:
    """numbers / divisor, rounded as IEEE 754 says, from the inverse: divisions take four times as long.

    One number or `core.lanes`, above 1e-290. steps: those to the divisor, or 2.
    """
    found = numbers * inverse
    if steps > 1:
        found = fused(fused(0.0 - divisor, found, numbers), inverse, found)
    if steps > 0:
        found = fused(fused(0.0 - divisor, found, numbers), inverse, found)
    return found
