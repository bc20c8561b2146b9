"""Compiled loops: IEEE arithmetic in the order written, so that a kernel gives the same bits on every processor.

numba keeps compiled code on disk and checks the age of one file alone: an edited helper in another would go unseen.
So the folder of a module's code is named after the text of all that the module imports, and code that is compiled for
certain classes after the text of these, too: stale code is never found, and an edit compiles again only what uses it.
Copies of one tree that are given one folder compile once.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import re
import stat
import sys
import sysconfig
import tempfile
import typing
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, TypeVar, cast

import numba
from numba.core.caching import UserProvidedCacheLocator
from numba.core.errors import NumbaError
from numba.extending import overload

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = {Path(each).resolve() for each in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))}
_KERNELS: list[Any] = []
_SPECIAL: dict[tuple[Any, ...], Any] = {}
_READ: dict[str, int] = {}  # index of a kernel's code on disk -> its date when it was last read
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w., ]+))", re.MULTILINE
)


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
    """The folder of kernels: that of the user's choice, the checkout's, or the user's own."""
    chosen, checkout = os.environ.get("NUMBA_CACHE_DIR"), PACKAGE.parent
    if chosen:
        folder = Path(chosen) / PACKAGE.name
    elif (checkout / "pyproject.toml").is_file() and os.access(checkout, os.W_OK):
        folder = checkout / ".cache" / "kernels"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / PACKAGE.name
    if _open_to_others(folder):
        warnings.warn(f"{folder} is open to others than the code is: nothing is read from there or kept", stacklevel=2)
        return Path(tempfile.mkdtemp(prefix="kernels-"))
    return folder


def _open_to_others(folder: Path) -> bool:
    """Whether a user may write to a folder of kernels who may not write to the code: to read one is to run it."""
    if not hasattr(os, "geteuid"):
        return False
    with contextlib.suppress(OSError):  # not to be made: numba looks elsewhere
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        code, kept = PACKAGE.stat(), folder.stat()
        open_to = kept.st_mode & ~code.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return bool(open_to) or kept.st_uid not in (os.geteuid(), code.st_uid, 0)
    return False


@functools.cache
def imports_of(path: Path) -> frozenset[Path]:
    """The files that a file imports: of the package, and of whoever is neither installed nor Python's own."""
    found: set[Path] = set()
    for base, names, plain in _IMPORT.findall(path.read_text(encoding="utf-8")):
        members = (
            [base, *(f"{base}.{each}" for each in re.findall(r"\w+", names))] if base else re.split(r"[ ,]+", plain)
        )
        found |= {file for file in map(_file_of, members) if file is not None}
    return frozenset(found)


def _file_of(module: str) -> Path | None:
    """Where a module of ours, or of a user's, lies; None for what is installed."""
    if module.partition(".")[0] == PACKAGE.name:
        path = PACKAGE.parent.joinpath(*module.split("."))
        for each in (path.with_suffix(".py"), path / "__init__.py"):
            if each.is_file():
                return each  # else of a study, whose files are imported as if they lay here
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not file.endswith(".py") or any(Path(file).is_relative_to(each) for each in _INSTALLED):
        return None
    return Path(file).resolve()


@functools.cache
def _texts_of(path: Path) -> frozenset[Path]:
    """A file, and all that it imports, however indirectly."""
    found, todo = {path}, [path]
    while todo:
        new = imports_of(todo.pop()) - found
        found |= new
        todo += new
    return frozenset(found)


def _digest(*paths: Path) -> str:
    """Of the text that decides what code of these files does."""
    digest = hashlib.sha256()
    for path in sorted(set().union(*map(_texts_of, paths))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where numba keeps the code of a file: in `_cache`, in a folder named after its text."""

    beside: ClassVar[tuple[Path, ...]] = ()
    """Files of the classes that code is being compiled for."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The name of the folder; numba's own takes the absolute path."""
        path = Path(py_file).resolve()
        return f"{path.stem}-{_digest(path, *cls.beside)}"

    def get_source_stamp(self) -> Any:
        """Nothing further: the folder's name identifies the text."""
        return 0


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


class Generic:
    """The result of `generic`: called like a function; `add` gives it the text for one class; `kinds` are these."""

    __name__: str
    kinds: dict[type, Callable[..., Any]]

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the text for the class of `first`."""

    def add(self, function: Function) -> Function:
        """Take a function whose first parameter is annotated with the class that it is for."""
        raise NotImplementedError


GENERICS: list[Generic] = []
"""All that there are."""


def generic(name: str) -> Generic:
    """A function whose text is chosen by the class of its first argument, in Python and in compiled code alike.

        project = generic("project")

        @project.add
        def _(ball: Ball, x, scratch):  # plain loops over (d, runs)
            ...

    Classes are NamedTuples of arrays and numbers. In Python a dictionary finds the text; numba finds it when it
    compiles the caller: a loop over rounds is compiled once for each combination of classes, with no call left in it.
    """
    kinds: dict[type, Callable[..., Any]] = {}

    def chosen(first: Any, *rest: Any) -> Any:
        return kinds[type(first)](first, *rest)

    def add(function: Function) -> Function:
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
    return cast(Generic, found)


def specialised(function: Any, *kinds: Any) -> Any:
    """The function, compiled for arguments of these classes, whose texts (`generic`) are part of it."""
    if (found := _SPECIAL.get((function, *kinds))) is not None:
        return found
    texts = [text for each in GENERICS for kind, text in each.kinds.items() if kind in kinds]
    modules = {each.__module__ for each in (*kinds, *texts)}
    Locator.beside = tuple(sorted(file for file in map(_file_of, modules) if file is not None))
    try:
        found = compiled(FunctionType(function.__code__, function.__globals__, function.__name__))
    finally:
        Locator.beside = ()
    return _SPECIAL.setdefault((function, *kinds), _Explained(found, texts))


def kinds_of(data: Any) -> list[type[Any]]:
    """The class of a NamedTuple, and those of the ones in it: what a loop over it is `specialised` for."""
    found = [type(data)] if hasattr(data, "_fields") else []
    for each in data if isinstance(data, tuple) else ():
        found += kinds_of(each)
    return list(dict.fromkeys(found))


class Uncompilable(TypeError):  # noqa: N818  (what a text is; the message is one line with its place)
    """Text that numba cannot compile: its file, its line and the reason."""


class _Explained:
    """A kernel whose texts may be anybody's: a failed compilation is reported in one line."""

    def __init__(self, kernel: Any, texts: Sequence[Any]):
        self.kernel, self.texts = kernel, texts

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.kernel(*arguments)
        except NumbaError as error:
            raise Uncompilable(_in_one_line(str(error), self.texts)) from error


def _in_one_line(said: str, texts: Sequence[Any]) -> str:
    """The innermost place in one of the texts that numba names, and what it says of it."""
    reasons = re.findall(
        r"^ *(?:\w+Error: (?!Failed in)|Unknown attribute|Cannot unify|Use of unsupported|Invalid use).*$",
        said,
        re.MULTILINE,
    )
    reason = " ".join((reasons or said.splitlines())[-1].split())[:200]
    files = {text.__code__.co_filename: text.__code__.co_firstlineno for text in texts}
    places = [(file, int(line)) for file, line in re.findall(r"at (\S+\.py) \((\d+)\)", said) if file in files]
    for word in re.findall(r"name '(\w+)'", reason):  # of which numba tells no line
        for text in texts:
            lines, first = inspect.getsourcelines(text)
            places += [(text.__code__.co_filename, first + k) for k, line in enumerate(lines) if word in line]
    where = "{}, line {}: ".format(*(places or list(files.items()))[-1]) if files else ""
    return f"{where}numba cannot compile this: {reason}"


def inlined(function: Function) -> Function:
    """The same for a small function that kernels call once a row: it becomes part of them."""
    return cast(Function, numba.njit(cache=True, fastmath=False, error_model="numpy", forceinline=True)(function))
