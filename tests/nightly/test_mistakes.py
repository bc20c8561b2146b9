"""Known mistakes can be planted as they are listed (here), and the test that names the concept sees each (nightly).

A mistake is an edit by name: `old` becomes `new` within one function, class, constant or module, so that it outlives
what changes around it. It is planted in a private copy of this tree.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numba
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mistakes.yaml")
HANGS = 600  # seconds after which a test counts as hanging


class MistakeError(Exception):
    """A mistake that cannot be planted or judged; names it."""


@dataclass(frozen=True)
class Mistake:
    """what: what is wrong, in a sentence; test: must fail; where: `module:Class.method`, `module:NAME` or `module:`.

    moved: what the gate says of it, where only a play shows it.
    """

    name: str
    what: str
    where: str
    old: str
    new: str
    test: str = ""
    moved: str = ""

    def file(self, tree: Path) -> Path:
        """Its module in a tree. Raises MistakeError where there is none."""
        base = tree.joinpath(*self.where.partition(":")[0].split("."))
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                return file
        raise MistakeError(f"{self.name}: there is no module {self.where.partition(':')[0]}")

    def edited(self, text: str) -> str:
        """The module's text with the mistake. Raises MistakeError where its place is gone, or `old` is not there once.

        Decorators belong to their function.
        """
        lines = text.splitlines(keepends=True)
        first, last, body = 0, len(lines), ast.parse(text).body
        for part in filter(None, self.where.partition(":")[2].split(".")):
            found = [each for each in body if part in _names(each)]
            if len(found) != 1:
                raise MistakeError(f"{self.name}: {self.where} is there {len(found)} times, not once ({part!r})")
            first = min(each.lineno for each in (found[0], *getattr(found[0], "decorator_list", []))) - 1
            last, body = found[0].end_lineno or last, getattr(found[0], "body", [])
        inside = "".join(lines[first:last])
        if inside.count(self.old) != 1:
            raise MistakeError(f"{self.name}: {self.where} holds {self.old!r} {inside.count(self.old)} times, not once")
        return "".join([*lines[:first], inside.replace(self.old, self.new), *lines[last:]])


def _names(statement: ast.stmt) -> set[str]:
    """What a function, class or assignment is called."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def mistakes() -> list[Mistake]:
    """All of the list."""
    return [Mistake(**entry) for entry in yaml.safe_load(LIST.read_text(encoding="utf-8"))]


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of this tree, outside of the repository, without what was made here: links and dates are kept.

    But with its compiled loops: each lies under what decides it.
    """
    ignored = shutil.ignore_patterns(".*", "build", "made", "store", "__pycache__", "*.egg-info")
    with tempfile.TemporaryDirectory(prefix="mistakes-", ignore_cleanup_errors=True) as folder:
        copy = shutil.copytree(ROOT, Path(folder).resolve() / "copy", symlinks=True, ignore=ignored)
        (copy / ".cache").mkdir()
        (copy / ".cache" / "kernels").symlink_to(numba.config.CACHE_DIR)
        yield copy


def environment(copy: Path) -> dict[str, str]:
    """Of a command in a copy: its own code and folder of kernels, one thread."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NUMBA_CACHE_DIR"))}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**kept, **threads, "PYTHONPATH": str(copy), "COLUMNS": "200"}


@contextmanager
def planted(mistake: Mistake, copy: Path) -> Iterator[None]:
    """A copy with a mistake in it, for as long as this lasts."""
    file = mistake.file(copy)
    text = file.read_text(encoding="utf-8")
    file.write_text(mistake.edited(text), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")


def failure(mistake: Mistake, copy: Path) -> str:
    """How the test of a mistake fails in a copy; empty where it passes.

    Raises MistakeError where it could not be judged: nothing collected, an import that fails, a hang.
    """
    words = ["pytest", "-x", "--tb=line", "-p", "no:xdist", "--benchmark-disable", mistake.test]
    try:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=copy,
            env=environment(copy),
            timeout=HANGS,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except subprocess.TimeoutExpired:
        raise MistakeError(f"{mistake.name}: no end of {mistake.test} within {HANGS} s") from None
    if done.returncode not in (0, 1):
        raise MistakeError(f"{mistake.name}: pytest ended with {done.returncode}: {done.stdout.strip()[-500:]}")
    told = re.findall(r"^(?:FAILED|ERROR) (.+)$", done.stdout, re.M)
    return (told or ["a test without a name"])[0] if done.returncode else ""


ALL, TESTED, MOVED = (
    pytest.mark.parametrize("mistake", [each for each in mistakes() if getattr(each, key)], ids=lambda each: each.name)
    for key in ("name", "test", "moved")
)


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with copied() as root:
        yield root


@ALL
def test_every_mistake_can_be_planted(mistake: Mistake) -> None:
    text = mistake.file(ROOT).read_text(encoding="utf-8")
    wrong = mistake.edited(text)
    assert wrong != text
    compile(wrong, mistake.name, "exec")
    file, _, test = mistake.test.partition("::")
    assert mistake.moved or f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.nightly
@TESTED
def test_every_mistake_is_caught_by_the_test_of_its_concept(mistake: Mistake, copy: Path) -> None:
    assert failure(mistake, copy) == ""
    with planted(mistake, copy):
        assert failure(mistake, copy), f"{mistake.name} is missed: {mistake.what}"


def test_no_two_mistakes_have_one_name() -> None:
    assert len({mistake.name for mistake in mistakes()}) == len(mistakes())


# A change that only a play shows fails the gate, which names the learner that it moved

PAPER = "lou_cheung_2020"
TABLES = ("claims.csv", "checks.csv", "jobs.csv")
PROFILE = f"profile: kept\nextends: ci\nonly: listed\npapers: {{{PAPER}: {{experiments: {{window: {{}}}}}}}}\n"


def snakemake(copy: Path, *words: str) -> int:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "profile=kept.yaml", "--quiet", "all"]
    return subprocess.run([*command, "--", *words], cwd=copy, env=environment(copy), check=False).returncode


@pytest.fixture(scope="module")
def kept() -> Iterator[Path]:
    """A copy of this tree with a reference of its own."""
    with copied() as copy:
        (copy / "kept.yaml").write_text(PROFILE)
        results, reference = (copy / "results" / place / PAPER for place in ("kept", "reference/kept"))
        assert snakemake(copy, *(f"results/kept/{PAPER}/{name}" for name in TABLES)) == 0
        reference.mkdir(parents=True)
        for name in TABLES:
            shutil.copy(results / name, reference)
        yield copy


@pytest.mark.nightly
def test_an_unchanged_tree_passes(kept: Path) -> None:
    assert snakemake(kept, "gate") == 0


@pytest.mark.nightly
@MOVED
def test_a_mistake_in_the_noise_fails_with_its_line(mistake: Mistake, kept: Path) -> None:
    with planted(mistake, kept):
        assert snakemake(kept, "gate") != 0
    line = f"{PAPER} wdp-cocop-gaussian.corrected in window: "
    told = [each for each in (kept / "results/kept/log/gate.log").read_text().splitlines() if each.startswith(line)]
    assert any(mistake.moved in each for each in told), told
