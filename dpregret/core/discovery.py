"""Find the classes that the files of a folder define: a new file is found without being listed anywhere."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpregret.core.errors import NAME_PATTERN, NAME_RULE, ConfigError

announce: list[Callable[[str], None]] = []
"""Told the module that is imported next: an import can end the process."""


def discover(package: str, base: Any, mark: str) -> dict[str, Any]:
    """All classes of a package's modules that derive from `base` and define `mark` themselves, sorted by name.

    mark: an attribute that holds the name, or something that has one (a card). Raises ValueError when two classes
    share a name, ConfigError for a file that cannot be imported, or that ends or changes the process when it is, and
    for a name or a variant that breaks the rule of names.
    """
    classes: dict[str, Any] = {}
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        for item in vars(_imported(f"{package}.{module.name}")).values():
            if not (isinstance(item, type) and issubclass(item, base) and mark in vars(item)):
                continue
            if all(value is not item for value in vars(sys.modules[item.__module__]).values()):
                item.__module__ = f"{package}.{module.name}"  # made by a function, which is elsewhere
            marked = vars(item)[mark]
            name = marked if isinstance(marked, str) else marked.name
            for word in (name, *getattr(marked, "variants", ())):
                if not re.fullmatch(NAME_PATTERN, word):
                    raise ConfigError(f"{_file_of(item)}: {item.__name__}: {word!r} {NAME_RULE}")
            if classes.setdefault(name, item) is not item:
                raise ValueError(f"two classes of {package} are named {name}")
    return dict(sorted(classes.items()))


def _file_of(item: type) -> str:
    """File and line of a class; its module where it has no file."""
    try:
        return f"{inspect.getsourcefile(item)}:{inspect.getsourcelines(item)[1]}"
    except (OSError, TypeError):
        return item.__module__


def _imported(name: str) -> ModuleType:
    """A module whose import has changed neither the working folder nor how warnings are shown."""
    folder = os.getcwd()
    for tell in announce:
        tell(name)
    try:
        with warnings.catch_warnings():
            return importlib.import_module(name)
    except BaseException as fault:  # sys.exit too
        steps = traceback.extract_tb(fault.__traceback__)
        frames = [f"{step.filename}:{step.lineno}" for step in steps if "importlib" not in step.filename]
        message = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
        if isinstance(fault, SyntaxError):  # no step of the file was taken
            message, frames = f"{type(fault).__name__}: {fault.msg}", [f"{fault.filename}:{fault.lineno}"]
        raise ConfigError(f"{name} cannot be imported: {message} ({frames[-1]})") from fault
    finally:
        os.chdir(folder)
