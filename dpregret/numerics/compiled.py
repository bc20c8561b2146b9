"""Compiled loops: IEEE arithmetic in the order written, so that a kernel gives the same bits on every processor.

numba keeps compiled code on disk and checks the age of one file alone: an edited helper in another would go unseen.
So the folder of a function's code is named after all that decides it: its bytecode, that of the functions that it
names, however indirectly, and the constants in them. Stale code is never found, and an edit compiles again only what
uses it. Copies of one tree that are given one folder compile once.
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
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, UserProvidedCacheLocator
from numba.core.errors import NumbaError
from numba.core.extending import _Intrinsic
from numba.extending import overload

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = {Path(folder).resolve() for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))}
_KERNELS: list[Any] = []
_SPECIAL: dict[tuple[Any, ...], Any] = {}
_READ: dict[str, int] = {}  # index of a kernel's code on disk -> its date when it was last read
_UFUNCS: list[Callable[[], Any]] = []


def warm() -> None:
    """Load every kernel that was imported with what is on disk of it: for a process that forks its workers."""
    for ufunc in _UFUNCS:
        ufunc()
    for kernel in _KERNELS:
        _load(kernel)


def _load(kernel: Any) -> None:
    """Take over the code that other processes have put on disk since this was last called."""
    cache, target = kernel._cache.of(), kernel.targetctx.codegen()
    file = getattr(cache, "_cache_file", None)  # None where no folder can be written
    written = os.stat(file._index_path).st_mtime_ns if file and os.path.exists(file._index_path) else None
    if file is None or written is None or _READ.get(file._index_path) == written:
        return
    _READ[file._index_path] = written
    for key in file._load_index():
        if key == cache._index_key(key[0], target):  # not of another processor, nor of older text
            kernel.compile(key[0])


def _cache() -> Path:
    """The folder of kernels: NUMBA_CACHE_DIR's, the checkout's, or one in the user's cache."""
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
    """Whether somebody who may not write to the code may write to its kernels: to load one is to run it."""
    if not hasattr(os, "geteuid"):
        return False
    with contextlib.suppress(OSError):  # cannot be created: numba looks elsewhere
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        code_status, status = PACKAGE.stat(), folder.stat()
        open_to = status.st_mode & ~code_status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return bool(open_to) or status.st_uid not in (os.geteuid(), code_status.st_uid, 0)
    return False


class _Text:
    """What decides the compiled code of a function for arguments of some classes, in `lines`.

    That is its bytecode without its documentation, the constants that it names, the same of all functions that it
    names, and of each generic function the implementations for these classes, and for those that are named on the way.
    """

    def __init__(self, function: Any, kinds: Iterable[type]):
        self.lines: list[str] = []
        self._numbers: dict[int, str] = {}
        self._generics: list[Any] = []
        self._kinds: list[type] = []
        self._inside: list[str] = []  # modules that are being written down
        self._of(function)
        for kind in kinds:
            self._of(kind)
        done: set[tuple[Any, type]] = set()
        while todo := [pair for pair in product(self._generics, self._kinds) if pair not in done]:
            for dispatcher, kind in todo:
                if kind in dispatcher.kinds:
                    self.lines.append(f"{dispatcher.__name__} {kind.__qualname__}: {self._of(dispatcher.kinds[kind])}")
            done.update(todo)

    def _of(self, value: Any, names: Sequence[str] = ()) -> str:
        """A constant; of a function or class the number under which it is written down. names: see `_module`."""
        if isinstance(value, np.ndarray):
            return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            return repr(value)
        if isinstance(value, tuple) and type(value) is tuple:
            return f"({', '.join(map(self._of, value))})"
        if isinstance(value, ModuleType):
            return self._module(value, names)
        if (number := self._numbers.get(id(value))) is None:
            number = self._numbers[id(value)] = f"#{len(self._numbers)}"
            self.lines.append(f"{number} = {self._described(value)}")
        return number

    def _described(self, value: Any) -> str:
        named = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
        if hasattr(value, "py_func"):
            return f"{value.targetoptions} {self._of(value.py_func)}"
        if hasattr(value, "kinds"):
            self._generics.append(value)
        elif isinstance(value, FunctionType):
            captured = [value.__defaults__, *(cell.cell_contents for cell in value.__closure__ or ())]
            return f"{named} {self._code(value.__code__, value)} {[*map(self._of, captured)]}"
        elif isinstance(value, type) and (fields := getattr(value, "_fields", None)):
            self._kinds.append(value)
            operator = getattr(value, "compiled", None)  # of `Divisor`: what an operator of it is compiled as
            return f"{named} {fields} {self._of(value.__new__.__defaults__)} {self._of(operator)}"
        elif isinstance(value, _Intrinsic):  # what it stands beside has no names in code: operators of its types
            return f"{named} {hashlib.sha256(Path(inspect.getfile(value._defn)).read_bytes()).hexdigest()}"
        elif isinstance(value, tuple):
            return f"{self._of(type(value))} {self._of(tuple(value))}"
        return named if callable(value) else f"{named} {value!r}"  # an address in it compiles anew: never stale

    def _code(self, code: CodeType, function: FunctionType) -> str:
        constants = code.co_consts[1:] if code.co_consts[:1] == (function.__doc__,) else code.co_consts
        inner = [self._code(item, function) if isinstance(item, CodeType) else self._of(item) for item in constants]
        known = function.__globals__
        names = [f"{name}: {self._of(known[name], code.co_names)}" for name in code.co_names if name in known]
        shape = code.co_flags, code.co_argcount, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_names
        return f"{code.co_code.hex()} {code.co_exceptiontable.hex()} {shape} {inner} {names}"

    def _module(self, module: ModuleType, names: Sequence[str]) -> str:
        """Its name; where it is not installed, what the code that names it may take out of it, too."""
        file = Path(getattr(module, "__file__", None) or sys.executable)
        if not file.is_relative_to(PACKAGE) and any(map(file.is_relative_to, _INSTALLED)):
            return module.__name__
        if module.__name__ in self._inside:
            return module.__name__
        self._inside.append(module.__name__)
        contents = [self._of(vars(module)[name], names) for name in names if name in vars(module)]
        self._inside.pop()
        return f"{module.__name__} {contents}"


def _digest(function: Any, kinds: Iterable[type]) -> str:
    return hashlib.sha256("\n".join(_Text(function, kinds).lines).encode()).hexdigest()[:16]


def _named(function: Any, kinds: Iterable[type]) -> Any:
    """The same function, named after what decides its code for arguments of these classes.

    Compiled code is known by module, name, types and a count within its process: code of two processes, loaded from
    disk into one, must not meet under one name.
    """
    digest = _digest(function, kinds)
    name = f"{function.__name__}_{digest}"
    code, known, defaults, cells = function.__code__, function.__globals__, function.__defaults__, function.__closure__
    renamed: Any = FunctionType(code, known, name, defaults, cells)
    renamed.__qualname__, renamed.digest = name, digest
    return renamed


class Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where numba keeps the code of a function: in `_cache`, in a folder named after what decides the code."""

    def __init__(self, function: Any, file: str):
        super().__init__(function, file)
        digest = getattr(function, "digest", None) or _digest(function, ())
        self._cache_path = os.path.join(numba.config.CACHE_DIR, f"{Path(file).stem}-{digest}")

    def get_disambiguator(self) -> str:
        """Nothing further: the folder's name identifies the function."""
        return ""

    def get_source_stamp(self) -> Any:
        """Nor its text."""
        return 0


class _KernelCache:
    """The cache of a kernel: one of numba's for each combination of argument classes, opened at its first use."""

    def __init__(self, function: Any):
        self._function = function
        self._caches: dict[tuple[type, ...], Any] = {}

    def of(self, *kinds: type) -> Any:
        """For arguments of these classes."""
        if kinds not in self._caches:
            self._caches[kinds] = FunctionCache(_named(self._function, kinds))
        return self._caches[kinds]

    def load_overload(self, signature: Any, target: Any) -> Any:
        """As numba's."""
        return self.of(*_classes(signature)).load_overload(signature, target)

    def save_overload(self, signature: Any, result: Any) -> None:
        """As numba's."""
        self.of(*_classes(signature)).save_overload(signature, result)

    @property
    def cache_path(self) -> Any:
        """The folder of all."""
        return numba.config.CACHE_DIR


def _classes(signature: Any) -> list[type]:
    """The classes of NamedTuples in a signature, in its order."""
    classes = [signature.instance_class] if isinstance(signature, numba.types.BaseNamedTuple) else []
    inner = getattr(signature, "args", signature)
    for item in inner if isinstance(inner, tuple | numba.types.BaseTuple) else ():
        classes += _classes(item)
    return list(dict.fromkeys(classes))


numba.config.CACHE_DIR = str(_cache())
if not numba.config.CACHE_LOCATOR_CLASSES:  # numba's own come next, for a folder that cannot be written
    numba.config.CACHE_LOCATOR_CLASSES = (
        f"{__name__}.{Locator.__name__},InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"
    )


def compiled(function: Function) -> Function:
    """The function, compiled at its first call and stored on disk; no operation is reordered, fused or approximated."""
    kernel = _kernel(function)
    _KERNELS.append(kernel)
    return cast(Function, kernel)


def inlined(function: Function) -> Function:
    """The same for a small function that kernels call once a row: it becomes part of them."""
    return cast(Function, _kernel(function, forceinline=True))


def by_element(types: str, shapes: str = "") -> Callable[[Any], Callable[..., Any]]:
    """A ufunc of numba: the function on every element of arrays, or (with shapes) on their last axes.

    It is loaded at its first call: numba takes half a second to get ready, and most imports call nothing.
    """

    def decorate(function: Any) -> Callable[..., Any]:
        @functools.cache
        def ufunc() -> Any:
            make = numba.guvectorize([types], shapes, cache=True) if shapes else numba.vectorize([types], cache=True)
            return make(function)

        @functools.wraps(function)
        def called(*arrays: Any) -> Any:
            return ufunc()(*arrays)

        _UFUNCS.append(ufunc)
        return called

    return decorate


def _kernel(function: Any, **options: bool) -> Any:
    kernel = numba.njit(fastmath=False, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    kernel._cache = _KernelCache(function)
    return kernel


class Generic:
    """The result of `generic`: called like a function; `add` gives it the code for one class; `kinds` are these."""

    __name__: str
    kinds: dict[type, Callable[..., Any]]

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the implementation for the class of `first`."""

    def add(self, function: Function) -> Function:
        """Take a function whose first parameter is annotated with the class that it is for."""
        raise NotImplementedError


GENERICS: list[Generic] = []
"""All generic functions."""


def generic(name: str) -> Generic:
    """A function whose code is chosen by the class of its first argument, in Python and in compiled code alike.

        project = generic("project")

        @project.add
        def _(ball: Ball, x, scratch):  # plain loops over (d, runs)
            ...

    Classes are NamedTuples of arrays and numbers. In Python a dictionary finds the implementation; numba finds it when
    it compiles the caller: a loop over rounds is compiled once for each combination of classes, from implementations
    that are compiled once each.
    """
    kinds: dict[type, Callable[..., Any]] = {}

    def chosen(first: Any, *rest: Any) -> Any:
        return kinds[type(first)](first, *rest)

    def add(function: Function) -> Function:
        first = next(iter(typing.get_type_hints(function)))
        kind = typing.get_type_hints(function)[first]
        kinds[kind] = function
        function.__name__ = function.__qualname__ = f"{name}_{kind.__name__}"
        return function

    chosen.__name__ = name

    def implementation_for(first: Any, *rest: Any) -> Any:
        implementation = kinds.get(getattr(first, "instance_class", type(None)))
        return implementation and _named(implementation, _classes((first, *rest)))

    options = {"error_model": "numpy", "no_cfunc_wrapper": True, "cache": True}
    overload(chosen, strict=False, jit_options=options)(implementation_for)
    dispatcher: Any = chosen
    dispatcher.add, dispatcher.kinds = add, kinds
    GENERICS.append(dispatcher)
    return cast(Generic, dispatcher)


def specialised(function: Any, *kinds: Any) -> Any:
    """The function, compiled for arguments of these classes, whose implementations (`generic`) are part of it."""
    if (kernel := _SPECIAL.get((function, *kinds))) is not None:
        return kernel
    implementations = [each for dispatcher in GENERICS for kind, each in dispatcher.kinds.items() if kind in kinds]
    kernel = _kernel(FunctionType(function.__code__, function.__globals__, function.__name__))
    return _SPECIAL.setdefault((function, *kinds), _Explained(kernel, implementations))


def kinds_of(data: Any) -> list[type[Any]]:
    """The class of a NamedTuple and of those within it: what a loop over it is `specialised` for."""
    kinds = [type(data)] if hasattr(data, "_fields") else []
    for item in data if isinstance(data, tuple) else ():
        kinds += kinds_of(item)
    return list(dict.fromkeys(kinds))


class Uncompilable(TypeError):  # noqa: N818  (what an implementation is; the message is one line with its place)
    """Code that numba cannot compile: its file, its line and the reason."""


class _Explained:
    """A kernel whose implementations a user may have written: a failed compilation is reported in one line."""

    def __init__(self, kernel: Any, implementations: Sequence[Any]):
        self.kernel, self.implementations = kernel, implementations

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.kernel(*arguments)
        except NumbaError as error:
            raise Uncompilable(_in_one_line(str(error), self.implementations)) from error


def _in_one_line(message: str, implementations: Sequence[Any]) -> str:
    """The innermost line of one of the implementations that numba's message names, and its reason."""
    reasons = re.findall(
        r"^ *(?:\w+Error: (?!Failed in)|Unknown attribute|Cannot unify|Use of unsupported|Invalid use).*$",
        message,
        re.MULTILINE,
    )
    reason = " ".join((reasons or message.splitlines())[-1].split())[:200]
    files = {
        implementation.__code__.co_filename: implementation.__code__.co_firstlineno
        for implementation in implementations
    }
    found = [(file, int(line)) for file, line in re.findall(r"at (\S+\.py) \((\d+)\)", message) if file in files]
    for word in re.findall(r"name '(\w+)'", reason):  # numba gives no line for these
        for implementation in implementations:
            lines, first = inspect.getsourcelines(implementation)
            found += [(implementation.__code__.co_filename, first + k) for k, line in enumerate(lines) if word in line]
    where = "{}, line {}: ".format(*(found or list(files.items()))[-1]) if files else ""
    return f"{where}numba cannot compile this: {reason}"
