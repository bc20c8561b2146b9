"""Realistic mistakes, one patch each, and what it takes to plant them in a copy of this tree.

A mutant is `tests/mutants/NAME.patch`: a line `What:` that says in one sentence what is wrong, a line `Concept:` with
the test that names the concept (`tests/.../test_x.py::test_y`), then a unified diff.
"""

from __future__ import annotations

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

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
HANG = 300  # seconds after which a test is taken to hang


class MutantError(Exception):
    """A mutant that cannot be planted or judged, by name."""


@dataclass(frozen=True)
class Mutant:
    """One mistake: what is wrong, the test that names the concept, the changed files."""

    patch: Path
    what: str
    concept: str
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.patch.stem

    @property
    def folder(self) -> str:
        """The tests beside the first changed file: the deepest folder of tests/ that mirrors its own."""
        wanted = Path("tests") / Path(self.files[0]).parent
        return str(next(each for each in (wanted, *wanted.parents) if (ROOT / each).is_dir()))


def read(patch: Path) -> Mutant:
    """One mutant. Raises MutantError where a line is missing or the concept is no `file::test` of this tree."""
    text = patch.read_text(encoding="utf-8")
    lines = {key: re.findall(rf"^{key}: (.+)$", text.partition("\n--- ")[0], re.M) for key in ("What", "Concept")}
    files = tuple(re.findall(r"^\+\+\+ b/(\S+)", text, re.M))
    for key, found in lines.items():
        if len(found) != 1:
            raise MutantError(f"{patch.name}: one line '{key}: ...' is wanted before the diff, {len(found)} found")
    if not files:
        raise MutantError(f"{patch.name}: no file is changed")
    concept = lines["Concept"][0].strip()
    file, _, test = concept.partition("::")
    name = test.partition("[")[0].split("::")[-1]
    source = ROOT / file
    if not name or not source.is_file() or f"def {name}(" not in source.read_text(encoding="utf-8"):
        raise MutantError(f"{patch.name}: there is no test {concept!r}")
    return Mutant(patch, lines["What"][0].strip(), concept, files)


def mutants(*names: str) -> list[Mutant]:
    """The named mutants, or all. Raises MutantError for a name that is not there."""
    there = {patch.stem: patch for patch in sorted(HERE.glob("*.patch"))}
    for name in names:
        if name not in there:
            raise MutantError(f"there is no mutant {name!r} in {HERE.relative_to(ROOT)}")
    return [read(there[name]) for name in names or there]


def git(*words: str, tree: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run git in a tree; a copy is no part of any repository around it."""
    apart = {} if tree == ROOT else {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
    return subprocess.run(
        ["git", *words], cwd=tree, capture_output=True, text=True, check=False, env={**os.environ, **apart}
    )


def rotating(found: list[Mutant], number: int, turn: int | None = None) -> list[Mutant]:
    """So many of the mutants, others at the next turn, all in the end; a turn is a run of CI, or a commit."""
    if turn is None:
        turn = int(os.environ.get("GITHUB_RUN_NUMBER") or git("rev-list", "--count", "HEAD").stdout or 0)
    first = turn * number % len(found)
    return (found + found)[first : first + min(number, len(found))]


def applies(mutant: Mutant) -> str:
    """Why a patch does not apply to this tree; empty where it does."""
    return git("apply", "--check", str(mutant.patch)).stderr.strip()


@dataclass(frozen=True)
class Copy:
    """A private copy of this tree. kernels: where its compiled loops are kept."""

    root: Path
    kernels: Path

    def run(self, *words: str, limit: int = HANG) -> tuple[int, str]:
        """Exit code and output of `python -m WORDS` in the copy. Raises MutantError after `limit` seconds."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        own = {**threads, "COLUMNS": "240", "PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(self.kernels)}
        try:
            done = subprocess.run(
                [sys.executable, "-m", *words], cwd=self.root, env={**os.environ, **own}, timeout=limit, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise MutantError(f"{' '.join(words)}: no end within {limit} s") from None
        return done.returncode, done.stdout

    def failing(self, *tests: str, limit: int = HANG) -> str:
        """The first of some tests that fails, with its message; empty where all pass.

        Raises MutantError where pytest could not judge: nothing collected, an import that fails, a hang.
        """
        code, output = self.run(
            "pytest", "-x", "--tb=line", "-p", "no:xdist", "--benchmark-disable", *tests, limit=limit
        )
        if code not in (0, 1):
            raise MutantError(f"{' '.join(tests)}: pytest ended with {code}: {output.strip()[-300:]}")
        failed = re.findall(r"^(?:FAILED|ERROR) (.+)$", output, re.M)
        return (failed[0] if failed else "a test without a name") if code else ""

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[Copy]:
        """This copy with a mistake in it, for as long as it lasts. Raises MutantError where the patch does not apply.

        Code is compiled apart where the mistake is in a compiled loop, else shared (see core/compiled.py).
        """
        kept = {name: (self.root / name).stat() for name in mutant.files}
        done = git("apply", str(mutant.patch), tree=self.root)
        if done.returncode:
            raise MutantError(f"{mutant.name}: the patch no longer applies: {done.stderr.strip()}")
        try:
            in_loop = any("core.compiled import" in (self.root / name).read_text("utf-8") for name in mutant.files)
            yield Copy(self.root, self.root / ".cache" / "kernels") if in_loop else self
        finally:
            git("apply", "-R", str(mutant.patch), tree=self.root)
            for name, before in kept.items():  # compiled code is found by date
                os.utime(self.root / name, ns=(before.st_atime_ns, before.st_mtime_ns))

    @contextmanager
    def again(self) -> Iterator[Copy]:
        """A copy of this copy, dates included."""
        with private_folder() as root:
            shutil.copytree(self.root, root, symlinks=True, dirs_exist_ok=True)
            yield Copy(root, self.kernels)


@contextmanager
def private_folder() -> Iterator[Path]:
    """An own folder outside the repository, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@contextmanager
def copied(*further: str) -> Iterator[Copy]:
    """A copy of what git knows or would add of this tree, and of further ignored folders, dates included."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout.split("\0")
    with private_folder() as root:
        for name in filter(None, listed):
            if (ROOT / name).is_symlink() or (ROOT / name).is_file():  # not one that is deleted
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
        for name in further:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, root / name, symlinks=True, dirs_exist_ok=True)
        yield Copy(root, Path(os.environ.get("NUMBA_CACHE_DIR") or ROOT / ".cache" / "kernels"))
