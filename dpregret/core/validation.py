"""Data checked against a pydantic model: every mistake is one line with file, line, key, value and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.yaml_source import KeyPath, Located

Model = TypeVar("Model", bound=BaseModel)
MESSAGES: Final = {
    "missing": "this key is missing",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "string_type": "must be a word",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "tuple_type": "must be a list",
    "literal_error": "must be one of {expected}",
}
"""Type of a pydantic error -> what is printed."""
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9_-]*$"


def validate(
    model: type[Model],
    source: Located,
    renamed: Mapping[str, str] | None = None,
    further: Mapping[int, Sequence[str]] | None = None,
    error: type[ConfigError] = ConfigError,
    elsewhere: Mapping[str, str] | None = None,
) -> Model:
    """Return the data as a model; raise `error` with a line per mistake, in the order of the files.

    ``renamed`` names keys that have another name now, ``further`` of keys that the reader of the file took out
    before, by the depth at which they are allowed, ``elsewhere`` what to add where an unknown key is known elsewhere.
    """
    try:
        return model.model_validate(source.data)
    except ValidationError as fault:
        problems = dict(_problems(fault, model, source, renamed or {}, further or {}, elsewhere or {}))
        raise error(in_order([f"{where}: {message}" for where, message in problems.items()])) from None


def in_order(problems: Sequence[str]) -> list[str]:
    """Problems by file and line, each once."""
    return sorted(set(problems), key=lambda line: (*_place(line), line))


def _place(problem: str) -> tuple[str, int]:
    name, _, rest = problem.partition(":")
    number = rest.partition(":")[0]
    return name, int(number) if number.isdigit() else 0


def _problems(
    fault: ValidationError,
    model: type[BaseModel],
    source: Located,
    renamed: Mapping[str, str],
    further: Mapping[int, Sequence[str]],
    elsewhere: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    for detail in reversed(fault.errors(include_url=False)):  # of several at one place the first stays
        kind, context = detail["type"], detail.get("ctx", {})
        if kind == "too_short" and detail["input"]:
            continue  # counts only the right items: the wrong ones have their own line
        where, shape = _follow(model, detail["loc"][: -1 if kind == "extra_forbidden" else None])
        if kind == "extra_forbidden":
            key = str(detail["loc"][-1])
            allowed = [*keys(shape), *further.get(len(where), ())]
            where = (*where, key)
            if renamed.get(key) in allowed:
                message = f"is called {renamed[key]!r} now"
            else:
                message = f"unknown key, allowed: {', '.join(allowed)}{nearest(key, allowed)}{elsewhere.get(key, '')}"
        elif kind == "union_tag_invalid":
            key = str(context["discriminator"]).strip("'").removesuffix("()").removesuffix("_of")
            given = detail["input"].get(key) if isinstance(detail["input"], dict) else detail["input"]
            where = (*where, key)
            message = not_allowed(key, given, re.findall(r"'<?([^'<>]+)>?'", context["expected_tags"]))
        else:
            message = _message(kind, detail, context, bool(keys(shape)))
        yield source.at(where), message


def _message(kind: str, detail: Any, context: Mapping[str, Any], whole_entry: bool) -> str:
    said = str(detail["msg"]).removeprefix("Value error, ")
    if kind == "string_pattern_mismatch" and context["pattern"] == NAME_PATTERN:
        said = "may hold small letters, digits, - and _ only"
    elif kind in MESSAGES:
        said = MESSAGES[kind].format(**context)
    if kind == "missing" or (kind == "value_error" and whole_entry):
        return said
    hint = nearest(detail["input"], re.findall(r"'([^']+)'", context["expected"])) if kind == "literal_error" else ""
    return f"{said}, not {_short(detail['input'])}{hint}"


def _short(value: object) -> str:
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def keys(shape: Any) -> list[str]:
    """The keys of a model as a file spells them."""
    if not (isinstance(shape, type) and issubclass(shape, BaseModel)):
        return []
    return [field.alias or name for name, field in shape.model_fields.items()]


def _follow(model: Any, location: Sequence[str | int]) -> tuple[KeyPath, Any]:
    """A pydantic location as a path of the data, without the tags of unions, and the model that is there."""
    shape, path = _bare(model), []
    for part in location:
        shape, shown = _step(shape, part)
        path += [part] if shown else []
    return tuple(path), _only_model(shape)


def _step(shape: Any, part: str | int) -> tuple[Any, bool]:
    """One part further: what is there, and whether the part is one of the data."""
    if part == "[key]":
        return shape, False
    if get_origin(shape) in (Union, UnionType):
        choices = [each for each in get_args(shape) if each is not NoneType]
        chosen = next((each for each in choices if part in _tags(each)), None)
        if chosen is not None:
            return _bare(chosen), False
        if len(choices) > 1 and isinstance(part, str) and not any(part in keys(_bare(each)) for each in choices):
            return shape, not all(_is_leaf(_bare(each)) for each in choices)
        shape = next((_bare(each) for each in choices if part in keys(_bare(each))), _bare(choices[0]))
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in shape.model_fields.items()}
        return _bare(fields.get(str(part))), True
    arguments = get_args(shape)
    if get_origin(shape) is dict:
        return _bare(arguments[1]), True
    return (_bare(arguments[0]) if arguments else None), True


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _is_leaf(shape: Any) -> bool:
    return shape in (int, float, str, bool) or get_origin(shape) is Literal


def _tags(choice: Any) -> set[str]:
    """Names of union members in a location: its tag, or the one value of its discriminating field."""
    if get_origin(choice) is Annotated:
        named = {each.tag for each in choice.__metadata__ if isinstance(each, Tag)}
        return named | _tags(get_args(choice)[0])
    if isinstance(choice, type) and issubclass(choice, BaseModel):
        literals = [each.annotation for each in choice.model_fields.values() if get_origin(each.annotation) is Literal]
        return {str(get_args(each)[0]) for each in literals if len(get_args(each)) == 1}
    return set()


def _only_model(shape: Any) -> Any:
    """The model of an optional one."""
    models = [_bare(each) for each in get_args(shape) if each is not NoneType] if get_origin(shape) in (
        Union, UnionType) else [shape]  # fmt: skip
    return models[0] if len(models) == 1 else shape
