"""Reading a YAML file together with the line of every key, so that a mistake can be pointed at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import yaml

from dpregret.core.errors import ConfigError

KeyPath = tuple[str | int, ...]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe loader that reads ``1e-6`` as a number (YAML 1.2), where YAML 1.1 sees a word; compiled where it can be."""


_Loader.yaml_implicit_resolvers = dict(yaml.SafeLoader.yaml_implicit_resolvers)  # not the shared table
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


class Located(Protocol):
    """Data, and where each part of it stands."""

    @property
    def data(self) -> object:
        """What was read."""

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
    """Data put together from parts of files: ``places`` knows of each part, and of the whole, where it stands."""

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


def read_source(path: Path, name: str | None = None) -> Source:
    """Read one YAML file; raise `ConfigError` for a missing, unreadable, malformed or repeated thing."""
    name = name or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError([f"{name}: there is no such file"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"{name}: is not UTF-8 text (byte {error.start})"]) from None
    except OSError as error:
        raise ConfigError([f"{name}: cannot be read ({error.strerror})"]) from None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise ConfigError([f"{name}: is empty"])
        lines: dict[KeyPath, int] = {}
        problems = _walk(node, (), lines, name, set())
        if problems:
            raise ConfigError(problems)
        return Source(name, loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise ConfigError([f"{name}{line}: is not valid YAML: {error.problem}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError([f"{name}: is not valid YAML: {' '.join(str(error).split())}"]) from None


def _walk(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], name: str, above: set[int]) -> list[str]:
    """Note the line of every key and return a problem for each key that a mapping repeats."""
    if id(node) in above:
        return [f"{name}:{node.start_mark.line + 1}: {dotted(path)}: contains itself"]
    lines.setdefault(path, node.start_mark.line + 1)
    problems: list[str] = []
    inside = above | {id(node)}
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            here, line = (*path, str(key.value)), key.start_mark.line + 1
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                problems.append(f"{name}:{line}: {dotted(here)}: repeated key (first on line {seen[key.value]})")
            seen[str(key.value)] = line
            lines[here] = line
            problems += _walk(value, here, lines, name, inside)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            problems += _walk(item, (*path, position), lines, name, inside)
    return problems
