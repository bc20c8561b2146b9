"""The committed test vectors are those of this code and fit their schema."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpregret.workflows.mechanisms import vectors as module


@pytest.fixture(scope="module")
def kept() -> Any:
    return json.loads(module.TARGET.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """The vectors are computed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "make", functools.cache(module.make))
        yield


def test_vectors_are_current(kept: Any) -> None:
    assert list(module.differences(kept, module.make())) == []


def test_vectors_fit_their_schema(kept: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(module.TARGET.with_name("test_vectors.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(kept)
    for spoil in (lambda made: made.pop("root"), lambda made: made["windows"][0].update(charged=-1.0)):
        spoiled = copy.deepcopy(kept)
        spoil(spoiled)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate(spoiled)


def test_a_wrong_number_is_named(kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoiled = copy.deepcopy(kept)
    spoiled["gaussian_mu"][3]["mu"] *= 1.0001
    spoiled["root"]["coefficients"][2] = 0.5
    del spoiled["lower_bounds"]["window"]["16"]
    lines = list(module.differences(spoiled, kept))
    assert len(lines) == 3
    assert any(line.startswith(".root.coefficients[2]: 0.5, should be 0.375") for line in lines)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(spoiled), encoding="utf-8")
    assert module.main(["--check", str(path)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 3
    path.write_text("[1, 2", encoding="utf-8")
    assert module.main(["--check", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
