"""Read a YAML file together with the line of every key, so that messages can name it.

Numbers may be written in short: `2^17` is a power, `2^8..2^17` the ten powers from 2^8 to 2^17, `4^6..4^11` powers of
four. Data are checked against a pydantic model: a mistake is one line with file, line, key, value and what is allowed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, Field, Tag, ValidationError

from dpregret.core.errors import (
    ID_PATTERN,
    ID_RULE,
    LONGEST_NAME,
    NAME_PATTERN,
    NAME_RULE,
    ConfigError,
    among,
    nearest,
    not_allowed,
)
from dpregret.core.files import opened

KeyPath = tuple[str | int, ...]
LARGEST_POWER: Final = 1023  # of two: every number can be a float
TAG: Final = "tag:yaml.org,2002:"
PLAIN: Final = frozenset(TAG + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null"))
KEYS: Final = frozenset(TAG + kind for kind in ("str", "int"))
MOST: Final = 100_000
"""Entries of a file; what is behind an alias counts each time."""
DEEPEST: Final = 100
"""Lists and mappings inside each other."""
RANGE: Final = re.compile(r"([0-9]+)\^(-?[0-9]+)(?:\.\.([0-9]+)\^(-?[0-9]+))?")
MEANT: Final = frozenset("-^. 0123456789")
NONE: Final[Mapping[Any, Any]] = MappingProxyType({})
Model = TypeVar("Model", bound=BaseModel)
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=LONGEST_NAME)]
"""Of a profile, a paper, an experiment, a learner, a variant, a stream or a set."""
MESSAGES: Final = {
    "missing": "this key is missing",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_too_short": "must not be empty",
    "string_too_long": "may have at most {max_length} characters",
    "too_short": "must not be empty",
    "too_long": "may have at most {max_length} values",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "tuple_type": "must be a list",
}
"""Type of a pydantic error -> what is printed instead of its message."""
RULES: Final = {NAME_PATTERN: NAME_RULE, ID_PATTERN: ID_RULE}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe loader with the words and numbers of YAML 1.2; compiled where it can be.

    YAML 1.1 sees a word in ``1e-6``, true in ``yes`` and ``on``, 8 in ``010`` and 90 in ``1:30``. Here the first is a
    number and the others are words, so that none is read as another value than the one in the file. Dates are words,
    `<<` is a key like any other.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Raises ConstructorError, with the line, for what is not a number, and for one too large to be a float."""
        try:
            value = super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, ArithmeticError):
            kind = node.tag.removeprefix(TAG)
            raise yaml.constructor.ConstructorError(None, None, f"this is not a {kind}", node.start_mark) from None
        if isinstance(value, int) and value.bit_length() > LARGEST_POWER + 1:
            raise yaml.constructor.ConstructorError(None, None, "too large a number", node.start_mark)
        return value


_Loader.yaml_implicit_resolvers = {  # not the shared table
    first: [(tag, pattern) for tag, pattern in resolvers if tag == TAG + "null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _kind, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*\.[0-9_]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
):
    _Loader.add_implicit_resolver(TAG + _kind, re.compile(_pattern), list(_first))


@dataclass(frozen=True)
class Source:
    """The data of one YAML file and the line on which each key path starts."""

    name: str
    data: Any
    lines: dict[KeyPath, int]

    def at(self, path: KeyPath) -> str:
        """Return ``file:line: a.b[0]`` for the deepest part of the path in the file; entries by their id."""
        prefix = path
        while prefix and prefix not in self.lines:
            prefix = prefix[:-1]
        line = self.lines.get(prefix)
        where = self.name if line is None else f"{self.name}:{line}"
        return f"{where}: {dotted(self._named(path))}" if path else where

    def _named(self, path: KeyPath) -> KeyPath:
        node, named = self.data, list(path)
        for position, part in enumerate(path):
            try:
                node = node[part]
            except (KeyError, IndexError, TypeError):
                break
            if isinstance(part, int) and isinstance(node, dict) and isinstance(node.get("id"), str):
                named[position] = f"[{node['id']}]"
        return tuple(named)


@dataclass(frozen=True)
class Expanded:
    """Data put together from parts of files: ``locations`` holds the location of each part, and of the whole."""

    data: Any
    locations: Mapping[KeyPath, tuple[Source | Expanded, KeyPath]]

    def at(self, path: KeyPath) -> str:
        """Return ``file:line: key`` in the terms of the file that holds the part."""
        prefix = path
        while prefix not in self.locations:
            prefix = prefix[:-1]
        source, start = self.locations[prefix]
        return source.at((*start, *path[len(prefix) :]))


Located = Source | Expanded
"""Data, and the location of each part."""


def dotted(path: KeyPath) -> str:
    """Write a key path as a person would: ``papers.x.epsilon[1]``."""
    parts = [f"[{part}]" if isinstance(part, int) else str(part) for part in path]
    return ".".join(parts).replace(".[", "[")


def display_path(path: Path) -> str:
    """Return a path as messages name it, from the working folder on."""
    try:
        return str(Path(os.path.realpath(path)).relative_to(os.path.realpath(".")))
    except (ValueError, OSError):
        return str(path)


def read_source(path: Path, name: str | None = None) -> Source:
    """Read one YAML file.

    Raises `ConfigError` for what is missing, no plain file, unreadable, malformed or repeated, and for what is neither
    a number, a word, true, false, nothing, a list nor a mapping.
    """
    name = name or str(path)
    try:
        with opened(path) as file:
            text = file.read().decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}: cannot be read ({getattr(error, 'strerror', error)})") from None
    data, lines = _parsed(name, text)
    return Source(name, deepcopy(data), lines)  # who reads it may change it


@lru_cache(maxsize=64)
def _parsed(name: str, text: str) -> tuple[Any, dict[KeyPath, int]]:
    """The data of a text and the line of each key; a plan reads most files several times."""
    lines: dict[KeyPath, int] = {}
    try:
        _check_depth(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            problems = [f"{name}: is empty"]
        else:
            problems = [
                f"{name}:{line}: {f'{dotted(where)}: ' * bool(where)}{message}"
                for line, where, message in _read_lines(node, (), lines)
            ]
        data = None if problems else loader.construct_document(node)
    except RecursionError:
        raise ConfigError(f"{name}: is nested too deeply, or contains itself") from None
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise ConfigError(f"{name}{line}: is not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = f":{text.count(chr(10), 0, error.position) + 1}"
        raise ConfigError(f"{name}{line}: is not valid YAML: {error.reason} (character {error.character})") from None
    except ValueError as error:
        raise ConfigError(f"{name}: cannot be read ({error})") from None
    if problems:
        raise ConfigError(problems)
    return data, lines


def _check_depth(text: str) -> None:
    """Raise RecursionError before a file is composed that is nested so deeply that this would end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise RecursionError


def entries(path: Path, fields: str) -> dict[str, Expanded]:
    """The entries of a file of names, each a mapping of these fields. Raises ConfigError."""
    source = read_source(path, display_path(path))
    if not isinstance(source.data, dict):
        raise ConfigError(f"{source.name}: expected names, each with {fields}")
    for name, entry in source.data.items():
        if not isinstance(entry, dict):
            raise ConfigError(f"{source.at((name,))}: expected {fields}")
    return {str(name): Expanded(entry, {(): (source, (name,))}) for name, entry in source.data.items()}


def _read_lines(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> Iterator[tuple[int, KeyPath, str]]:
    """Note the line of every key; yield (line, key, message) for each key or value that a file may not hold."""
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if len(lines) > MOST:
        raise yaml.constructor.ConstructorError(None, None, f"more than {MOST:,} entries", node.start_mark)
    if node.tag not in PLAIN:
        kind = node.tag.removeprefix(TAG)
        yield line, path, f"is not valid YAML here: {kind} is neither word, number, list nor mapping"
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield from _read_lines(item, (*path, position), lines)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag not in KEYS or _is_switch(key):
                text = f"{key.value!r}" if isinstance(key, yaml.ScalarNode) else "this one"
                yield line, path, f"a key must be a word, not {text} (quotes make a word of it)"
                continue
            here = (*path, str(key.value))
            if key.value in seen:
                yield line, here, f"repeated key (first on line {seen[key.value]})"
            seen[str(key.value)] = lines[here] = line
            yield from _read_lines(value, here, lines)


def _is_switch(key: yaml.ScalarNode) -> bool:
    """Whether a key is a word that other readers of YAML take for true or false."""
    return not key.style and key.value.lower() in ("yes", "no", "on", "off")


def expand(value: object) -> object:
    """Return a setting with powers and ranges as numbers; a range alone is a list, in a list it adds its numbers.

    Mappings are expanded value by value. Raises ValueError for what looks like a range and is none.
    """
    if isinstance(value, Mapping):
        return {key: expand(item) for key, item in value.items()}
    if isinstance(value, list):
        return [number for item in value for number in (_numbers(item) if _is_range(item) else [expand(item)])]
    if not _is_range(value):
        return value
    numbers = _numbers(value)
    return numbers if ".." in str(value) else numbers[0]


def _numbers(text: object) -> list[int | float]:
    """The numbers of a power or a range."""
    match = RANGE.fullmatch(str(text))
    if match is None or (match[3] and (match[1] != match[3] or int(match[2]) >= int(match[4]))):
        raise ValueError("a range is written 2^8..2^17, with one base and a growing exponent")
    base, first, last = int(match[1]), int(match[2]), int(match[4] or match[2])
    if base < 2 or max(-first, last) > LARGEST_POWER / math.log2(base):
        raise ValueError("powers of 2 and more, as far as a float can hold them, are numbers of a setting")
    return [base**power if power >= 0 else 1 / base**-power for power in range(first, last + 1)]


def _is_range(value: object) -> bool:
    return isinstance(value, str) and ("^" in value or ".." in value) and set(value) <= MEANT


def validate(
    model: type[Model],
    source: Located,
    further: Mapping[int, Sequence[str]] = NONE,
    error: type[ConfigError] = ConfigError,
    elsewhere: Mapping[str, str] = NONE,
    deciding: Sequence[str] = (),
) -> Model:
    """Return the data as a model; raise `error` with a line per mistake, in the order of the files.

    ``further`` names keys that the reader of the file took out before, by the depth at which they are allowed,
    ``elsewhere`` what to add where an unknown key is known elsewhere, ``deciding`` keys by which all others are read:
    where one of these is misspelt, nothing else is a mistake yet.
    """
    try:
        return model.model_validate(source.data)
    except ValidationError as raised:
        fault = raised
    problems: dict[str, str] = {}
    misread: dict[str, str] = {}
    details = fault.errors(include_url=False)
    misspelt = _misspelt(details)
    for detail in reversed(details):  # of several at one place the first stays
        kind, context, size = detail["type"], detail.get("ctx", {}), len(detail["loc"])
        if kind == "missing" and detail["loc"][:-1] in misspelt:
            continue
        if kind == "too_short" and any(other["loc"][:size] == detail["loc"] != other["loc"] for other in details):
            continue  # counts only the right items: the wrong ones have their own line
        *above, last = detail["loc"] or ("",)
        where = _path(source.data, detail["loc"])
        if kind in ("missing", "extra_forbidden"):
            where = (*_path(source.data, above), str(last))
        if kind == "extra_forbidden":
            key, allowed = str(last), [*_keys(model, above), *further.get(len(where) - 1, ())]
            message = f"unknown key{among(key, allowed)}{elsewhere.get(key, '')}"
            if (hint := nearest(key, allowed)) and hint == nearest(key, deciding):
                misread[source.at(where)] = message
        elif kind == "union_tag_invalid":
            key = str(context["discriminator"]).strip("'").removesuffix("()").removesuffix("_of")
            value = detail["input"].get(key) if isinstance(detail["input"], dict) else detail["input"]
            where = (*where, key)
            message = not_allowed(key, value, re.findall(r"'<?([^'<>]+)>?'", context["expected_tags"]))
        else:
            message = _message(kind, detail, context, bool(_keys(model, detail["loc"])))
        problems[source.at(where)] = message
    raise error(in_order([f"{where}: {message}" for where, message in (misread or problems).items()]))


def _misspelt(details: Sequence[Any]) -> set[tuple[str | int, ...]]:
    """Entries with an unknown key that is meant to be a missing one: its own line says so."""
    missing: dict[tuple[str | int, ...], list[str]] = {}
    for detail in details:
        if detail["type"] == "missing":
            missing.setdefault(detail["loc"][:-1], []).append(str(detail["loc"][-1]))
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    return {above for *path, key in unknown if nearest(key, missing.get(above := tuple(path), []))}


def in_order(problems: Sequence[str]) -> list[str]:
    """Problems by file and line, each once."""

    def order(line: str) -> tuple[str, int, str]:
        name, _, rest = line.partition(":")
        number = rest.partition(":")[0]
        return name, int(number) if number.isdigit() else 0, line

    return sorted(set(problems), key=order)


def _message(kind: str, detail: Any, context: Mapping[str, Any], whole_entry: bool) -> str:
    text = str(detail["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if kind == "string_pattern_mismatch" and context["pattern"] in RULES:
        text = RULES[context["pattern"]]
    elif kind == "too_short" and context["min_length"] > 1:
        text = f"must have at least {context['min_length']} values"
    elif kind in MESSAGES:
        text = MESSAGES[kind].format(**context)
    text = re.sub(r"\d{20,}(\.0+)?|0\.0{10,}\d+", lambda number: f"{float(number[0]):g}", text)
    if kind == "missing" or (kind == "value_error" and whole_entry):
        return text
    if kind == "literal_error":  # the nearest word before the list
        allowed = re.findall(r"'([^']+)'", context["expected"]) or [context["expected"]]
        return f"unknown word {_short(detail['input'])}{among(detail['input'], allowed)}"
    return f"{text}, not {_short(detail['input'])}"


def _short(value: object) -> str:
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _path(data: Any, location: Sequence[str | int]) -> KeyPath:
    """A pydantic location as a path of the data: without the names of types, which are no keys of it."""
    path: list[str | int] = []
    for part in location:
        if isinstance(data, Mapping):
            inside = part in data
        else:
            inside = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if inside:
            path.append(part)
            data = data[part]
    return tuple(path)


def _keys(model: Any, location: Sequence[str | int]) -> list[str]:
    """The keys, as a file spells them, of the model at a location."""
    return [field.alias or name for kind in _models(model, location) for name, field in kind.model_fields.items()]


def _models(shape: Any, location: Sequence[str | int]) -> Iterator[type[BaseModel]]:
    """The models that a location below a type may hold; a part that begins with < is the tag of a union."""
    kind, inner = get_origin(shape), get_args(shape)
    if kind is Annotated:
        tags = {tag.tag for tag in shape.__metadata__ if isinstance(tag, Tag)}
        if not tags or not str(*location[:1]).startswith("<"):
            yield from _models(inner[0], location)
        elif location[0] in tags:
            yield from _models(inner[0], location[1:])
    elif kind in (Union, UnionType):
        for member in inner:
            yield from _models(member, location)
    elif not location:
        yield from [shape] if hasattr(shape, "model_fields") else []
    elif hasattr(shape, "model_fields"):
        for name, field in shape.model_fields.items():
            if location[0] == (field.alias or name):
                yield from _models(field.annotation, location[1:])
    else:
        for member in inner[1:] if kind is dict else inner[:1]:
            yield from _models(member, location[1:])
