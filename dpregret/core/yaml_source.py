"""Reading a YAML file together with the line of every key, so that a mistake can be pointed at."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import yaml

from dpregret.core.errors import ConfigError
from dpregret.core.files import opened

KeyPath = tuple[str | int, ...]
LARGEST_BITS: Final = 1024  # of a whole number: every one can be a float
LONGEST_NUMBER: Final = 400  # characters
TAG: Final = "tag:yaml.org,2002:"
PLAIN: Final = frozenset(TAG + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null"))
KEYS: Final = frozenset(TAG + kind for kind in ("str", "int"))


class Bounds(NamedTuple):
    """How much a file may hold: megabytes, nodes (those behind an alias count each time), lists in lists."""

    megabytes: float = 4.0
    nodes: float = 100_000
    depth: int = 60


USUAL: Final = Bounds()


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe loader that reads ``1e-6`` as a number (YAML 1.2), where YAML 1.1 sees a word; compiled where it can be.

    Dates are words, `<<` is a key like any other. What cannot be made of a node is a fault of the file, with its line.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Raises ConstructorError for what is not a number, and for one too large to be a float."""
        try:
            made = super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, ArithmeticError):
            kind = node.tag.removeprefix(TAG)
            raise yaml.constructor.ConstructorError(None, None, f"this is not a {kind}", node.start_mark) from None
        if isinstance(made, int) and made.bit_length() > LARGEST_BITS:
            raise yaml.constructor.ConstructorError(None, None, "too large a number", node.start_mark)
        return made


_Loader.yaml_implicit_resolvers = {  # not the shared table
    first: [(tag, pattern) for tag, pattern in each if tag in PLAIN]
    for first, each in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


class Located(Protocol):
    """Data, and where each part of it stands."""

    @property
    def data(self) -> object:
        """A YAML file as read."""

    def at(self, path: KeyPath) -> str:
        """Return ``file:line: key`` of a part."""


@dataclass(frozen=True)
class Source:
    """The data of one YAML file and the line on which each key path starts."""

    name: str
    data: object
    lines: dict[KeyPath, int]

    def at(self, path: KeyPath) -> str:
        """Return ``file:line: a.b[0]`` for the deepest part of the path that the file holds; entries go by their id."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known)
        where = self.name if line is None else f"{self.name}:{line}"
        return f"{where}: {dotted(self._named(path))}" if path else where

    def _named(self, path: KeyPath) -> KeyPath:
        node, named = self.data, list(path)
        for position, part in enumerate(path):
            try:
                node = node[part]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                break
            if isinstance(part, int) and isinstance(node, dict) and isinstance(node.get("id"), str):
                named[position] = f"[{node['id']}]"
        return tuple(named)


@dataclass(frozen=True)
class Expanded:
    """Data put together from parts of files: ``places`` holds the place of each part, and of the whole."""

    data: object
    places: Mapping[KeyPath, tuple[Source, KeyPath]]

    def at(self, path: KeyPath) -> str:
        """Return ``file:line: key`` in the terms of the file that holds the part."""
        known = path
        while known not in self.places:
            known = known[:-1]
        source, start = self.places[known]
        return source.at((*start, *path[len(known) :]))


def dotted(path: KeyPath) -> str:
    """Write a key path as a person would: ``papers.x.epsilon[1]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text and not str(part).startswith("[") else str(part)
    return text


def shown(path: Path) -> str:
    """Return a path as messages name it, from the working folder on."""
    try:
        return str(Path(os.path.realpath(path)).relative_to(os.path.realpath(".")))
    except (ValueError, OSError):
        return str(path)


def read_source(path: Path, name: str | None = None, bounds: Bounds = USUAL) -> Source:
    """Read one YAML file.

    Raises `ConfigError` for what is missing, no file, unreadable, malformed, too large, nested too deeply or repeated,
    and for what is neither a number, a word, true, false, nothing, a list nor a mapping.
    """
    name = name or str(path)
    text = _text(path, name, bounds)
    try:
        _check_events(text, bounds)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise ConfigError([f"{name}: is empty"])
        walk = _Walk(name, bounds)
        walk.visit(node, (), frozenset())
        if walk.problems:
            raise ConfigError(walk.problems)
        return Source(name, loader.construct_document(node), walk.lines)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise ConfigError([f"{name}{line}: is not valid YAML: {error.problem}"]) from None
    except yaml.reader.ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            [f"{name}:{number}: is not valid YAML: {error.reason} (character {error.character})"]
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError([f"{name}: is not valid YAML: {' '.join(str(error).split())}"]) from None


def _text(path: Path, name: str, bounds: Bounds) -> str:
    """The text of a file, never of a pipe or a device, which may have no end."""
    try:
        if path.is_dir():
            raise ConfigError([f"{name}: cannot be read (is a folder)"])
        with opened(path) as file:  # some plain files never end either
            most = int(min(bounds.megabytes, 1024) * 2**20)
            content = file.read(most + 1) or b""
        if len(content) > most:
            raise ConfigError([f"{name}: is larger than {most / 2**20:g} MB"])
        return content.decode("utf-8")
    except ConfigError:
        raise
    except FileNotFoundError:
        raise ConfigError([f"{name}: there is no such file"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"{name}: is not UTF-8 text (byte {error.start})"]) from None
    except (OSError, ValueError) as error:
        raise ConfigError([f"{name}: cannot be read ({getattr(error, 'strerror', error)})"]) from None


def _check_events(text: str, bounds: Bounds) -> None:
    """Refuse what is nested too deeply or too long, before nodes are made by a recursion in C, which would crash."""
    depth, nodes = 0, 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        nodes += isinstance(event, yaml.NodeEvent)
        if problem := _excess(depth, nodes, bounds):
            mark: Any = event.start_mark
            raise yaml.constructor.ConstructorError(None, None, problem, mark)


def _excess(depth: int, nodes: int, bounds: Bounds) -> str:
    if depth > bounds.depth:
        return f"nested more than {bounds.depth} levels deep"
    return (
        f"more than {bounds.nodes:,} entries, those behind an alias counted each time" if nodes > bounds.nodes else ""
    )


class _Walk:
    """Looks at every node: the line of every key, and a problem for each key or value that a file may not hold."""

    def __init__(self, name: str, bounds: Bounds) -> None:
        self.name, self.bounds = name, bounds
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[str] = []
        self.nodes = 0

    def visit(self, node: yaml.Node, path: KeyPath, above: frozenset[int]) -> None:
        """Go below a node; raises ConstructorError where aliases make too much of it."""
        self.nodes += 1
        line = node.start_mark.line + 1
        if problem := _excess(len(above), self.nodes, self.bounds):
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        if id(node) in above:
            self._note(line, path, "contains itself")
            return
        self.lines.setdefault(path, line)
        inside = above | {id(node)}
        if node.tag not in PLAIN:
            kind = node.tag.removeprefix(TAG)
            self._note(line, path, f"is not valid YAML here: {kind} is neither word, number, list nor mapping")
        elif isinstance(node, yaml.MappingNode):
            self._mapping(node, path, inside)
        elif isinstance(node, yaml.SequenceNode):
            for position, item in enumerate(node.value):
                self.visit(item, (*path, position), inside)
        elif node.tag in (f"{TAG}int", f"{TAG}float") and len(node.value) > LONGEST_NUMBER:
            self._note(line, path, f"a number of {len(node.value)} characters, at most {LONGEST_NUMBER} are read")

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, inside: frozenset[int]) -> None:
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag not in KEYS or len(key.value) > LONGEST_NUMBER:
                said = f"{key.value!r}" if isinstance(key, yaml.ScalarNode) else "this one"
                self._note(line, path, f"a key must be a short word, not {said} (quotes make a word of it)")
                continue
            here = (*path, str(key.value))
            if key.value in seen:
                self._note(line, here, f"repeated key (first on line {seen[key.value]})")
            seen[str(key.value)] = line
            self.lines[here] = line
            self.visit(value, here, inside)

    def _note(self, line: int, path: KeyPath, message: str) -> None:
        place = f"{dotted(path)}: " if path else ""
        self.problems.append(f"{self.name}:{line}: {place}{message}")
