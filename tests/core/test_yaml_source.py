"""Whatever a file of settings is, it is read or refused in one line."""

import math
from pathlib import Path

import pytest
import yaml

from dpregret.core import errors
from dpregret.core.errors import LONGEST, MOST_PROBLEMS, ConfigError, fault, raised
from dpregret.core.yaml_source import read_source


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\n? {a: b}\n: c\n", ":2: "), ("a: {1.5: 2}", ":1: a: "), ("a: b\nc: d\0", ":2: "),
        ("a: !!set {x, y}", ":1: a: "), ("a: !!binary abc", ":1: a: "), ("a: 1\nb: !!bool maybe", ":2: "),
        ("a: !!int ''", ":1: "), ("a: " + "9" * 10001, ":1: "), ("a: 0x" + "f" * 300, ":1: "), ("", ""),
        ("a: {b: 1, b: 1}", ":1: a.b: "), ("a: &a [*a]", ""),
    ],
)  # fmt: skip
def test_a_file_is_refused_in_one_line(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_source(path, "m.yaml")
    (line,) = caught.value.problems
    assert line.startswith(f"m.yaml{place}")
    assert line.isprintable()


def test_dates_are_words_exponents_numbers_and_anchors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("a: 2020-13-45\nb: &b [1, 2^3]\nc: *b\nd: 1e-6\ne: .inf\n")
    assert read_source(path).data == {"a": "2020-13-45", "b": [1, "2^3"], "c": [1, "2^3"], "d": 1e-6, "e": math.inf}


def test_lines_are_short_printable_and_not_too_many() -> None:
    refused = ConfigError([f"x: {'y' * 10**5}\u202e\n" for _ in range(1000)])
    assert len(refused.problems) == MOST_PROBLEMS
    assert all(len(line) < LONGEST + 50 and line.isprintable() for line in refused.problems)
    assert f"{1001 - MOST_PROBLEMS}" in refused.problems[-1]


def test_an_unforeseen_error_is_one_line_and_its_traceback_is_kept(tmp_path: Path) -> None:
    try:
        yaml.nothing  # type: ignore[attr-defined]  # noqa: B018
    except AttributeError as error:
        said, where = fault(error, tmp_path / "kept.txt"), raised(error)
    assert "\n" not in said
    assert "Traceback" in (tmp_path / "kept.txt").read_text()
    assert where.startswith("AttributeError: ")
    assert "test_yaml_source.py:" in where


def test_the_innermost_line_of_the_study_is_named_not_that_of_a_library(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text("import json\n\ndef play():\n    json.loads('{')\n")
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    with pytest.raises(ValueError, match="Expecting") as outside:
        namespace["play"]()
    assert "mine.py" not in errors.location(outside.value)
    monkeypatch.setattr(errors.study, "FOLDER", tmp_path)
    assert errors.location(outside.value) == " (mine.py:4)"


def test_a_message_that_is_archived_names_no_folder_of_a_user(tmp_path, monkeypatch):
    monkeypatch.setattr(errors.study, "FOLDER", tmp_path / "my_study")
    monkeypatch.setenv("HOME", "/home/somebody")
    places = (tmp_path / "my_study" / "data" / "a.csv", errors.study.PACKAGE / "b.py", "/home/somebody/c.csv")
    for place, short in zip(places, ("data/a.csv", "dpregret/b.py", "~/c.csv"), strict=True):
        assert errors.as_text(OSError(f"no {place}")) == f"OSError: no {short}"


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{a: " * 100_000, "".join(f"{' ' * depth}a:\n" for depth in range(2000)), "- " * 20_000 + "x"],
    ids=["lists", "mappings", "blocks", "dashes"],
)
def test_a_file_nested_without_end_is_named(tmp_path: Path, text: str) -> None:
    """The compiled reader calls itself, and would end the process."""
    path = tmp_path / "deep.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="nested too deeply"):
        read_source(path)
