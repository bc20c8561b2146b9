"""Commands that the documents name exist: targets of make, rules and papers, modules, commands of ours."""

from __future__ import annotations

import importlib.util
import re
from itertools import pairwise
from pathlib import Path

import pytest

from dpregret.cli import app, targets

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:make|snakemake|dpregret|python -m)(?: [^`]+)?)`")
PLACEHOLDER = re.compile(r"[A-Z]+$|\.\.\.$|.*[/=].*")


def commands(page: str) -> list[list[str]]:
    """What a page tells to type, in words: lines of shell blocks, lines after a prompt, code within sentences."""
    found = []
    for kind, block in FENCED.findall(page):
        found += block.splitlines() if kind == "sh" else re.findall(r"^\$ (.*)", block, re.MULTILINE)
    lines = (re.sub(r" #.*", "", line) for line in [*found, *INLINE.findall(FENCED.sub("", page))])
    parts = (part for line in lines for part in re.split(r"&&|\||; ", line))
    words = ([word for word in part.split() if not re.match(r"[A-Z_]+=", word)] for part in parts)
    return [each for each in words if each]


def known(command: str) -> set[str] | None:
    """What may follow it; None where that is not ours to know."""
    if command == "make":
        return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    if command == "snakemake":
        return set(targets())
    if command == "dpregret":
        return {each.name or each.callback.__name__ for each in app.registered_commands if each.name or each.callback}
    return None


def unknown(words: list[str]) -> str:
    """The word of a command that leads nowhere, empty where there is none."""
    if words[:2] == ["python", "-m"] and len(words) > 2 and words[2].startswith("dpregret"):
        return "" if importlib.util.find_spec(words[2]) else words[2]
    allowed = known(words[0])
    if allowed is None:
        return ""
    given = [word for before, word in pairwise(words) if not before.startswith("-")]
    given = [word for word in given if not word.startswith("-") and not PLACEHOLDER.match(word)]
    return next((word for word in (given[:1] if words[0] == "dpregret" else given) if word not in allowed), "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_document_exist(page: Path) -> None:
    found = {" ".join(words): unknown(words) for words in commands(page.read_text(encoding="utf-8"))}
    assert {command: wrong for command, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("command", "wrong"),
    [("make reproduc", "reproduc"), ("snakemake --cores 8 lou_chung", "lou_chung"), ("dpregret tables lou", "tables"),
     ("python -m dpregret.advice --rounds 5", "dpregret.advice"), ("make setup && make X=1 tset", "tset")],
)  # fmt: skip
def test_planted_mistakes_are_seen(command: str, wrong: str) -> None:
    assert [unknown(words) for words in commands(f"Say\n\n```sh\n{command}  # so\n```\n")][-1] == wrong
