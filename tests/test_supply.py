"""What the project is made of: actions by digest, nothing that unpickles, no predictable file."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import yaml

from dpregret.workflows.run.stages import job_log

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.yml"))
PINNED = r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
MODULES = sorted((ROOT / "dpregret").rglob("*.py"))


WRITES = {
    ("release.yml", "publish"): {"id-token"}, ("release.yml", "announce"): {"contents"},
    ("release.yml", "pages"): {"pages", "id-token"}, ("pages.yml", "deploy"): {"pages", "id-token"},
    ("speed.yml", "keep"): {"contents"},
}  # fmt: skip
"""What a job may write; all others read."""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_digest_and_may_write_what_it_publishes_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    own = r"\./\.github/(?:actions/\w+|workflows/\w+\.yml)"
    assert [each for each in used if not re.fullmatch(rf"{PINNED}|{own}", each)] == []
    assert re.findall(r"github\.(?:event|head_ref|actor)|secrets\.", text) == []  # no stranger's word reaches a shell
    found = yaml.safe_load(text)
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        writes = {what for what, how in job.get("permissions", {}).items() if how == "write"}
        assert writes == WRITES.get((path.name, name), set())
        assert not writes or "pull_request" not in found[True]  # YAML 1.1 reads the key "on" as true
        assert re.fullmatch(r"(?:\S+@sha256:[0-9a-f]{64})?", job.get("container", ""))
        for step in job.get("steps", []):
            assert not writes or not step.get("run", "").startswith("make")  # no code of the tree where one may write
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_words_of_a_caller_reach_an_action_as_data_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [each for each in re.findall(r"uses: (.*)", text) if not re.fullmatch(PINNED, each)] == []
    found = yaml.safe_load(text)
    scripts = [step for step in found["runs"]["steps"] if "run" in step]
    assert scripts
    for step in scripts:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    passed = {word for step in found["runs"]["steps"] for word in re.findall(r"inputs\.(\w+)", str(step.get("env")))}
    passed |= {word for step in found["runs"]["steps"] for word in re.findall(r"inputs\.(\w+)", str(step.get("with")))}
    assert passed | {"python"} == set(found["inputs"])  # an input that nothing reads would be ignored in silence


def test_no_module_unpickles_or_names_a_shared_temporary_file() -> None:
    text = {path: path.read_text(encoding="utf-8") for path in MODULES}
    modules = r"\b(c?pickle|cloudpickle|joblib|dill|shelve|marshal)\b|allow_pickle=True|read_pickle"
    bad = rf"{modules}|gettempdir|mktemp\b|[\"']/tmp"
    assert len(text) > 200
    assert {path.name: found for path, each in text.items() if (found := re.findall(bad, each))} == {}


def test_no_name_is_a_word_of_the_shell() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dpregret/workflows/rules").glob("*.smk"))
    commands = re.findall(r"shell:\n\s+(.*)", text)
    assert commands
    assert [word for each in commands for word in re.findall(r"{[^{}]*(?<!:q)}", each)] == []


def test_logs_of_jobs_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    try:
        with pytest.raises(SystemExit), job_log(tmp_path / "log.txt"):
            raise ValueError("a\x1b]0;title\x07b\u202e\ud800")
    finally:
        logging.getLogger().handlers[-1].close()
        logging.getLogger().handlers[:] = before
        logging.captureWarnings(False)
    text = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert "\nValueError: a\\x1b]0;title\\x07b\\u202e\\ud800\n" in text
    assert all(each.isprintable() or each == "\n" for each in text)
