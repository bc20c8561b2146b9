"""Whatever a file of settings is, it is read or refused in one line; nothing is made larger than its bounds."""

import os
from pathlib import Path

import pytest
import yaml

from dpregret.core.errors import LONGEST, MOST_PROBLEMS, ConfigError, fault, raised
from dpregret.core.yaml_source import Bounds, read_source

LAUGHS = "a0: &a0 [x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 8)}]\n" for level in range(1, 20)
)
MERGED = LAUGHS.replace("[x, x, x, x]", "{x: 1}").replace("[", "{<<: [").replace("]", "]}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "more than 1,000 entries, those behind an alias counted each time"),
        (MERGED, "more than 1,000 entries"),
        ("a: [1" + ", 1" * 2000 + "]", "more than 1,000 entries"),
        ("a: " + "[" * 10**5, "nested more than 60 levels deep"),
        ("a:\n  " + "- " * 10**5 + "x", "nested more than 60 levels deep"),
        ("a: 1\n? [a, b]\n: c\n", "m.yaml:2: a key must be a short word"),
        ("a: 1\n? {a: b}\n: c\n", "m.yaml:2: a key must be a short word"),
        ("on: 1", "m.yaml:1: a key must be a short word, not 'on' (quotes make a word of it)"),
        ("a: {1.5: 2}", "m.yaml:1: a: a key must be a short word, not '1.5'"),
        ("a: b\nc: d\0", "m.yaml:2: is not valid YAML: control characters are not allowed (character 0)"),
        ("a: !!set {x, y}", "m.yaml:1: a: is not valid YAML here: set is neither word"),
        ("a: !!binary abc", "m.yaml:1: a: is not valid YAML here: binary"),
        ("a: 1\nb: !!bool maybe", "m.yaml:2: is not valid YAML: this is no bool"),
        ("a: !!int ''", "m.yaml:1: is not valid YAML: this is no int"),
        ("a: " + "9" * 10001, "m.yaml:1: a: a number of 10001 characters, at most 400 are read"),
        ("a: 0x" + "f" * 300, "m.yaml:1: is not valid YAML: too large a number"),
        ("a: 1" + ":1" * 10**4, "a number of 20001 characters"),
        ("a: &a {<<: *a}", "m.yaml:1: a.<<: contains itself"),
    ],
)
def test_a_file_is_refused_before_it_is_made(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_source(path, "m.yaml", Bounds(nodes=1000))
    (line,) = caught.value.problems
    assert message in line
    assert line.isprintable()


def test_dates_are_words_and_anchors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("a: 2020-13-45\nb: &b [1, 2^3]\nc: *b\n")
    assert read_source(path).data == {"a": "2020-13-45", "b": [1, "2^3"], "c": [1, "2^3"]}


def test_what_is_no_plain_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, said in (("pipe", "is no plain file"), ("loop", "symbolic links"), ("", "is a folder"), ("a\0b", "null")):
        with pytest.raises(ConfigError, match=f"cannot be read.*{said}"):
            read_source(tmp_path / name if name else tmp_path)
    with pytest.raises(ConfigError, match="is no plain file"):
        read_source(Path("/dev/zero"))


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.yaml"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ConfigError, match="is larger than 4 MB"):
        read_source(path)


def test_lines_are_short_printable_and_not_too_many() -> None:
    refused = ConfigError([f"x: {'y' * 10**5}\u202e\n" for _ in range(1000)])
    assert len(refused.problems) == MOST_PROBLEMS
    assert all(len(line) < LONGEST + 50 and line.isprintable() for line in refused.problems)
    assert refused.problems[-1] == f"... and {1001 - MOST_PROBLEMS} more"


def test_an_unforeseen_error_is_one_line_and_its_traceback_is_kept(tmp_path: Path) -> None:
    try:
        yaml.nothing  # type: ignore[attr-defined]  # noqa: B018
    except AttributeError as error:
        said, where = fault(error, tmp_path / "kept.txt"), raised(error)
    assert "\n" not in said
    assert "this is a fault of dpregret: please report it with" in said
    assert "Traceback" in (tmp_path / "kept.txt").read_text()
    assert where.startswith("AttributeError: ")
    assert "test_yaml_source.py:" in where
