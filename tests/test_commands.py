"""Commands that the documents name exist: targets of make, rules and papers, modules and their options."""

from __future__ import annotations

import importlib.util
import re
import shlex
from functools import cache
from itertools import dropwhile, pairwise
from pathlib import Path

import pytest

from dpregret.cli import app
from dpregret.workflows.plan.profiles import papers, short_names

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:make|snakemake|dpregret|python -m)(?: [^`]+)?)`")
HEREDOC = re.compile(r"^(.*?) ?<<'?(\w+)'?\n.*?^\2$", re.MULTILINE | re.DOTALL)
ELSEWHERE = {"cat", "cd", "conda", "docker", "git", "pip", "podman", "sbatch", "."}
"""Commands that are not ours; a file that they are given by -r or -f is."""
SNAKEMAKE = {"--cores", "--config", "--profile", "--group-components", "--sdm", "--set-resources", "--unlock", "-n"}
PLACEHOLDER = re.compile(r"[A-Z]+$|\.\.\.$|.*\.py:[\w]+$")


def commands(page: str) -> list[str]:
    """What a page tells to type: blocks of shell, lines after a prompt, and code within sentences."""
    found = []
    for kind, block in FENCED.findall(page):
        if kind == "sh":
            found += HEREDOC.sub(r"\1", block).replace("\\\n", " ").splitlines()
        found += re.findall(r"^\$ (.*)", block, re.MULTILINE)
    return [*filter(None, found), *INLINE.findall(FENCED.sub("", page))]


def complaint(command: str) -> str:
    """What is wrong with a command, empty where nothing is."""
    words = shlex.split(command, comments=True)
    if "&&" in words or "|" in words:
        cut = next(at for at, word in enumerate(words) if word in ("&&", "|"))
        return complaint(shlex.join(words[:cut])) or complaint(shlex.join(words[cut + 1 :]))
    words = list(dropwhile(lambda word: re.match(r"[A-Z_]+=", word), words))
    if not words or words[0] in ELSEWHERE or (ROOT / words[0]).is_file():
        given = (file for flag, file in pairwise(words) if flag in ("-r", "-f"))
        return next((f"no file {file}" for file in given if not (ROOT / file).exists()), "")
    check = {"make": made, "snakemake": asked, "python": started, "dpregret": ordered}.get(words[0])
    return check(words[1:]) if check else f"no command of ours: {words[0]}"


def made(words: list[str]) -> str:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets, names = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE)), set(re.findall(r"\$\(([A-Z]+)", text))
    for word in words:
        name, given, _ = word.partition("=")
        if name not in (names if given else targets):
            return f"make has no {'variable' if given else 'target'} {name}"
    return ""


@cache
def targets() -> set[str]:
    rules = (
        path.read_text(encoding="utf-8") for path in [ROOT / "Snakefile", *(ROOT / "workflows/rules").glob("*.smk")]
    )
    found = {name for text in rules for name in re.findall(r"^rule (\w+):", text, re.MULTILINE)}
    return found | set(papers()) | set(short_names(papers()).values())


def asked(words: list[str]) -> str:
    place = ""
    for word in words:
        if word.startswith("-"):
            if word not in SNAKEMAKE:
                return f"snakemake is not known to take {word}"
            place = word
        elif place == "--config":
            if "=" not in word:
                return f"{word} stands after --config: a target goes before it"
        elif place in ("--cores", "--profile", "--group-components", "--sdm"):
            place = ""
        elif not ("/" in word or place == "--set-resources" or PLACEHOLDER.match(word) or word in targets()):
            return f"no paper or rule {word}"
    return ""


def sources(module: str) -> str:
    """The text of a module, or of the main module of a package, and of the modules of ours that it imports from."""
    spec = importlib.util.find_spec(module)
    spec = importlib.util.find_spec(f"{module}.__main__") if spec and spec.submodule_search_locations else spec
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    text = Path(spec.origin).read_text(encoding="utf-8")
    return text + "".join(
        Path(found.origin).read_text(encoding="utf-8")
        for name in re.findall(r"^from (dpregret\.[\w.]+) import", text, re.MULTILINE)
        if (found := importlib.util.find_spec(name)) and found.origin
    )


def unknown_option(words: list[str], text: str) -> str:
    for word in words:
        if word.startswith("--") and not re.search(rf"{word.partition('=')[0]}\b(?!-)", text):
            return f"no option {word}"
    return ""


def started(words: list[str]) -> str:
    if words[0] != "-m":
        return "" if (ROOT / words[0]).exists() else f"no file {words[0]}"
    if words[1] == "pytest":
        return next((f"no file {word}" for word in words[2:] if "/" in word and not (ROOT / word).exists()), "")
    try:
        return unknown_option(words[2:], sources(words[1]))
    except ModuleNotFoundError:
        return f"no module {words[1]}"


def ordered(words: list[str]) -> str:
    commands = [each for each in app.registered_commands if not each.hidden]
    names = {each.name or each.callback.__name__ for each in commands if each.name or each.callback}
    if not words or words[0].startswith("-"):
        return "" if words in ([], ["--help"], ["--version"], ["--install-completion"]) else f"no option {words[0]}"
    if words[0] not in names:
        return f"dpregret has no command {words[0]}"
    text = (ROOT / "dpregret/cli.py").read_text(encoding="utf-8")
    handed = re.search(rf'handed\("{words[0]}", "([\w.]+)"', text)
    return unknown_option(
        words[1:], sources(f"dpregret.{handed[1]}") if handed else text + sources("dpregret.paper_figs.tables.show")
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_document_exist(page: Path) -> None:
    found = {command: complaint(command) for command in commands(page.read_text(encoding="utf-8"))}
    assert {command: wrong for command, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("make reproduc", "make has no target reproduc"),
        ("make report PROFIL=ci", "make has no variable PROFIL"),
        ("snakemake --cores 8 --config profile=ci audit", "audit stands after --config: a target goes before it"),
        ("snakemake --cores 8 lou_chung", "no paper or rule lou_chung"),
        ("python -m dpregret.advice --rounds 5", "no module dpregret.advice"),
        ("dpregret advise --round 5", "no option --round"),
        ("make setup && snakmake", "no command of ours: snakmake"),
        ("pip install -r requirements/bases.txt", "no file requirements/bases.txt"),
        ("dpregret tables lou", "dpregret has no command tables"),
    ],
)
def test_planted_mistakes_are_seen(command: str, wrong: str) -> None:
    assert complaint(command) == wrong
    assert commands(f"Say\n\n```sh\n{command}  # so\n```\n") == [f"{command}  # so"]
