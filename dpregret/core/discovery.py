"""Find the classes that the files of a folder define: a new file is found without being listed anywhere."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from dpregret import study
from dpregret.core import machine
from dpregret.core.errors import NAME_PATTERN, NAME_RULE, ConfigError
from dpregret.core.machine import CHECK_GB, CHECK_SECONDS, TooMuch, bounded_memory, bounded_time, lifted_by, machine_gb

limits = {"check_seconds": CHECK_SECONDS, "check_gb": CHECK_GB}
"""The most that the import of a file may take; those of a profile, where one is read (`workflows/plan/load.py`)."""
WATCHED: Final = ("builtins", "json", "math", "numpy", "numpy.linalg", "numpy.random", "os", "pandas", "sys")
"""Modules whose functions no file of a study may replace: plays and verdicts rest on them."""
announce: list[Callable[[str], None]] = []
"""Told the module that is imported next, and "" after it: an import can end the process."""


def discover(package: str, base: Any, mark: str) -> dict[str, Any]:
    """All classes of a package's modules that derive from `base` and define `mark` themselves, sorted by name.

    mark: an attribute that holds the name, or something that has one (a card). Raises ConfigError when two classes
    share a name, for a file that cannot be imported, or that ends or changes the process when it is, and
    for a name or a variant that breaks the rule of names.
    """
    classes: dict[str, Any] = {}
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        for item in vars(_imported(f"{package}.{module.name}")).values():
            if not (isinstance(item, type) and issubclass(item, base) and mark in vars(item)):
                continue
            home = sys.modules.get(item.__module__)
            if home is None or all(value is not item for value in vars(home).values()):
                item.__module__ = f"{package}.{module.name}"  # made by a function, which is elsewhere
            marked = vars(item)[mark]
            name = marked if isinstance(marked, str) else marked.name
            for word in (name, *getattr(marked, "variants", ())):
                if not re.fullmatch(NAME_PATTERN, word):
                    raise ConfigError(f"{_file_of(item)}: {item.__name__}: {word!r} {NAME_RULE}")
            if (other := classes.setdefault(name, item)) is not item:
                raise ConfigError(f"{_file_of(item)}: {item.__name__}: {name!r} is the name of {_file_of(other)} too")
    return dict(sorted(classes.items()))


def _file_of(item: type) -> str:
    """File and line of a class; its module where it has no file."""
    try:
        return f"{inspect.getsourcefile(item)}:{inspect.getsourcelines(item)[1]}"
    except (OSError, TypeError):
        return item.__module__


@contextlib.contextmanager
def unchanged_inputs(name: str) -> Iterator[None]:
    """Put back what the block replaces in `WATCHED`. Raises ConfigError where it has replaced a function or a class.

    name: of whoever runs in the block.
    """
    before = {module: dict(vars(sys.modules[module])) for module in WATCHED if module in sys.modules}
    changed, failure = [], None
    try:
        yield
    except Exception as error:
        failure = error
    finally:
        for module, values in before.items():
            now = vars(sys.modules[module])
            for key, value in values.items():
                if callable(value) and now.get(key) is not value and not key.endswith("hook"):  # of tracebacks
                    changed.append(f"{module}.{key}")
                    now[key] = value
    if changed:
        message = f"{name} replaces {', '.join(changed)}: plays and verdicts rest on libraries as they are"
        raise ConfigError(message) from failure
    if failure is not None:
        raise failure


def _file_of_study(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    origin = spec.origin if spec else None
    return study.FOLDER is not None and origin is not None and Path(origin).is_relative_to(study.FOLDER)


@contextlib.contextmanager
def _watched(name: str) -> Iterator[None]:
    """Bound the memory of a study's file, which leaves libraries as they are.

    What our own files import maps more memory on a machine of many cores.
    """
    if not _file_of_study(name):
        yield
        return
    with unchanged_inputs(name), bounded_memory(min(limits["check_gb"], machine_gb() / 2)):
        yield


def _imported(name: str) -> ModuleType:
    """A module whose import has changed neither the working folder nor how warnings are shown."""
    folder = os.getcwd()
    for tell in announce:
        tell(name)
    try:
        with warnings.catch_warnings(), bounded_time(limits["check_seconds"]), _watched(name):
            return importlib.import_module(name)
    except ConfigError:
        raise
    except BaseException as fault:  # sys.exit too
        steps: list[traceback.FrameSummary] = traceback.extract_tb(fault.__traceback__)
        ours = ("importlib", machine.__file__)  # the latter stops what takes too long
        steps = [step for step in steps if not any(name in step.filename for name in ours)]
        own = [step for step in steps if study.FOLDER and Path(step.filename).is_relative_to(study.FOLDER)]
        frames = [f"{step.filename}:{step.lineno}" for step in own or steps]
        message = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
        if isinstance(fault, SyntaxError):  # no step of the file was taken
            message, frames = f"{type(fault).__name__}: {fault.msg}", [f"{fault.filename}:{fault.lineno}"]
        elif isinstance(fault, TooMuch):
            most = limits["check_seconds"]
            message = f"it takes more than {most:g} s ({lifted_by('check_seconds', most)})"
        elif isinstance(fault, MemoryError):
            message = f"it takes more than {limits['check_gb']:g} GB ({lifted_by('check_gb', limits['check_gb'])})"
        raise ConfigError(f"{name} cannot be imported: {message} ({frames[-1]})") from fault
    finally:
        os.chdir(folder)
        for tell in announce:
            tell("")
