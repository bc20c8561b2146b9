"""The JSON schema of configuration files: the models, with what a file may leave out, take away or write in short."""

from __future__ import annotations

import json
from typing import Any, Final

from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.load import LISTED

RANGE: Final = {"type": "string", "pattern": r"^\d+\^-?\d+(\.\.\d+\^-?\d+)?$"}
WORD: Final = {"type": "string"}
ONLY: Final = {"anyOf": [{"const": LISTED}, {"type": "array", "items": WORD, "minItems": 1}]}
DEFAULTS: Final = {"type": "object"}


def file_schema() -> dict[str, Any]:
    """Return the schema of a profile, complete or on top of another one."""
    schema: dict[str, Any] = _in_short(Config.model_json_schema())
    schema["properties"] |= {"extends": WORD, "only": ONLY, "defaults": DEFAULTS}
    schema["required"] = ["profile"]
    for name, model in schema["$defs"].items():
        model.pop("required", None)
        model["properties"] = {key: _or_null(each) for key, each in model["properties"].items()}
        if name == "Paper":
            model["properties"] |= {"only": ONLY, "defaults": DEFAULTS}
    paper = schema["$defs"]["Paper"]["properties"]["experiments"]["anyOf"][0]
    paper["patternProperties"] = {key: {"anyOf": [*each["anyOf"], {"type": "null"}]}
                                  for key, each in paper["patternProperties"].items()}  # fmt: skip
    for key in ("audit", "validation", "papers"):
        schema["properties"][key] = _or_null(schema["properties"][key])
    return schema


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _in_short(schema: Any) -> Any:
    """Grids of numbers may be ranges, and hold powers and ranges."""
    if isinstance(schema, list):
        return [_in_short(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {("anyOf" if key == "oneOf" else key): _in_short(each) for key, each in schema.items()}
    if changed.get("type") == "array" and any(name in str(changed["items"]) for name in ("integer", "number")):
        return {"anyOf": [{**changed, "items": {"anyOf": [changed["items"], RANGE]}}, RANGE]}
    return changed


if __name__ == "__main__":
    print(json.dumps(file_schema(), indent=2))
