"""Known mistakes of `mistakes.yaml`, and what it takes to plant one in a private copy of this tree.

A mistake is an edit by name: `old` becomes `new` within one function, class, constant or module, so that it outlives
what changes around it.
"""

from __future__ import annotations

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

import yaml

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mistakes.yaml")
KERNELS = Path(os.environ.get("NUMBA_CACHE_DIR") or ROOT / ".cache" / "kernels")
HANGS = 600  # seconds after which a test counts as hanging


class MistakeError(Exception):
    """A mistake that cannot be planted or judged; names it."""


@dataclass(frozen=True)
class Mistake:
    """what: what is wrong, in a sentence; test: must fail; where: `module:Class.method`, `module:NAME` or `module:`."""

    name: str
    what: str
    test: str
    where: str
    old: str
    new: str

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
    """A copy, outside of the repository, of what git knows or would add of this tree: links and dates are kept."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    with tempfile.TemporaryDirectory(prefix="mistakes-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder).resolve()
        for path in (ROOT / name for name in filter(None, names)):
            beyond = any(above.is_symlink() for above in path.parents)  # known to git from before it became a link
            if (path.is_symlink() or path.is_file()) and not beyond:
                (copy / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy / path.relative_to(ROOT), follow_symlinks=False)
        yield copy


def environment(copy: Path) -> dict[str, str]:
    """Of a command in a copy: its own code, kernels that are compiled already, one thread."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**kept, **threads, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(KERNELS), "COLUMNS": "200"}


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
            [sys.executable, "-m", *words], cwd=copy, env=environment(copy), timeout=HANGS, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise MistakeError(f"{mistake.name}: no end of {mistake.test} within {HANGS} s") from None
    if done.returncode not in (0, 1):
        raise MistakeError(f"{mistake.name}: pytest ended with {done.returncode}: {done.stdout.strip()[-500:]}")
    told = re.findall(r"^(?:FAILED|ERROR) (.+)$", done.stdout, re.M)
    return (told or ["a test without a name"])[0] if done.returncode else ""
