"""What commands print with --json is as the schema says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from dpregret import cli
from dpregret.core.boundary import as_json, plain

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "workflows" / "schemas" / "answers.schema.json").read_text(encoding="utf-8"))
NOISE = f"{ROOT / 'docs' / 'examples' / 'my_noise.py'}:right"
REFERENCE = str(ROOT / "results" / "reference")


@pytest.mark.parametrize(
    "words",
    [
        ["table", "lou"],
        ["table", "talwar", "--number", "2", "--all"],
        ["claims", "talwar"],
        ["claims", "lou", "--checks"],
        ["compare", REFERENCE, f"{REFERENCE}/ci"],
        ["audit", NOISE, "--rounds", "32"],
        ["audit", NOISE, "--rounds", "32", "--epsilon", "0.1"],
        ["advise", "--rounds", "1e5", "--dimension", "32", "--epsilon", "1", "--window", "1024"],
        ["advise", "--rounds", "1e5", "--dimension", "32", "--epsilon", "1", "--why"],
        ["check", "lou_cheung", "thm1-printed"],
        ["check", "lou_cheung", "lem2-eps", "--profile", "smoke"],
    ],
    ids=lambda words: " ".join(word.removeprefix(str(ROOT)) for word in words),
)
def test_an_answer_is_as_its_schema_says(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        cli.main([*words, "--json"])
    told = capfd.readouterr()
    answer = json.loads(told.out)
    command = words[0]
    schema = {**SCHEMA, "$ref": f"#/$defs/{command}"}
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(answer, schema)
    rows = answer.get("rows", answer.get("moved", answer.get("learners", answer.get("by_age", answer.get("cells")))))
    assert rows or command == "check"
    assert told.err == ""


def test_numbers_that_json_has_not_are_null() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [math.nan, 0.5]})
    found = plain({"frame": frame, "array": np.array([1.0, np.inf]), "flag": np.bool_(True), "path": Path("a/b")})
    assert found == {
        "frame": [{"a": 1, "b": None}, {"a": 2, "b": 0.5}], "array": [1.0, None], "flag": True, "path": "a/b",
    }  # fmt: skip
    assert json.loads(as_json(found)) == found
