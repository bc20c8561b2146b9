"""The commands `dpregret new ./my_study`, which writes an example study, and `dpregret gate ./my_study`.

The example runs as it stands. It is laid out like the tree (`dpregret/study.py`): a learner, a loss with its stream,
records in a CSV file with their public constants, experiments and claims. Exit code 0: written; 2: a wrong name, or
there is such a folder.

The gate says whether a change has moved the regret, the verdicts or the privacy of a study. Four steps: `test`
(contracts), `run`, a comparison of the tables of this run with `reference/` of the study, `audit` (private learners on
neighbouring inputs). An exit code alone is no success: a test or an audit answers at its end, and a run leaves its
mark. A step that was killed, crashed or ended early could not be judged. Exit code 0: all is as in the reference;
1: a step found something; 2: a step could not be judged, the study is wrong, or there is no reference yet. The last
line says which, for whoever reads the output alone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from dpregret import study
from dpregret.core import child
from dpregret.core.errors import ConfigError
from dpregret.core.files import remove
from dpregret.paper_figs.compare import gate as tables_gate
from dpregret.paper_figs.judge.result_tables import FILES, JOBS
from dpregret.workflows.plan.config import bound_imports
from dpregret.workflows.run import questions

TEMPLATE: Final = Path(__file__).with_name("templates") / "study"
HIDDEN: Final = "gitignore"
"""A file that no package would carry under its own name, which begins with a dot."""
REFERENCE: Final = "reference"
MARK: Final = "complete.txt"
"""The file of a run of which no play failed."""
TABLES: Final = (*FILES.values(), JOBS)
"""What is compared with the reference, in the folder of the study's results."""
STEPS: Final[Mapping[str, str]] = {
    "test": "dpregret.workflows.run.contracts:main",
    "audit": "dpregret.workflows.run.audit_learners:in_gate",
}
"""Step that calls code of the study in this interpreter's children -> its command."""
COMMAND: Final = (sys.executable, "-P", "-m", "dpregret")
ENDS: Final = ("gate: passed", "gate: something was found", "gate: could not be judged")
"""The last line, by exit code."""


def write(folder: Path, printed: bool = False) -> None:
    """Copy the example. Raises ConfigError for a name that no study may have, FileExistsError where the folder is."""
    check_name(folder)
    without = shutil.ignore_patterns("__pycache__", *([] if printed else ["printed.yaml"]))
    shutil.copytree(TEMPLATE, folder, ignore=without, copy_function=shutil.copyfile)
    (folder / HIDDEN).rename(folder / f".{HIDDEN}")


def check_name(folder: Path) -> None:
    """Raise ConfigError for a name that no study may have."""
    name = folder.resolve().name
    if name in study.targets():
        raise ConfigError(f"{name!r} is not a name for a study: a run has a rule of this name")
    if not re.fullmatch(study.NAME, name) or (study.PACKAGE / "workflows" / "papers" / name).exists():
        raise ConfigError(f"{name!r} is not a name for a study: small letters, digits and _, and no paper of dpregret")


def new(
    folder: Path,
    data: Path | None = None,
    label: str | None = None,
    encoding: str | None = None,
    header: str | None = None,
    printed: bool = False,
) -> int:
    """The command `dpregret new`: write a study, and say what to type next."""
    typed = str(folder) if "/" in str(folder) else f"./{folder}"
    if data is not None:
        if printed:
            raise ConfigError("new: --printed: is for the example: leave out --data, or --printed")
        check_name(folder)
        _check_absent(folder)
        written = questions.write(folder, data, label, encoding, header)
        print(f"wrote {typed}\n  give values in {typed}/{study.DATA}: {', '.join(written.open_keys)}")
        for column, why in written.dropped.items():
            print(f"  leaves out {column!r}: {why}")
        for column, remark in written.levels.items():
            print(f"  levels of {column!r} are read off the records, and must be public{remark and f': {remark}'}")
        print(f"  dpregret data {typed}\n  dpregret advise --data {typed} --epsilon 1\n  dpregret run {typed}")
        return 0
    options = {"label": label, "encoding": encoding, "header": header}
    if unused := [name for name, value in options.items() if value is not None]:
        raise ConfigError(f"new: --{unused[0]}: describes a file: name it too, as in --data my.csv")
    check_name(folder)
    _check_absent(folder)
    write(folder, printed)
    print(f"wrote {typed}\n  dpregret run {typed}\n  dpregret test {typed}\n  dpregret audit {typed}")
    return 0


def _check_absent(folder: Path) -> None:
    if folder.exists():
        raise ConfigError(f"{folder}: exists: give the name of a folder that is not there")


def gate(profile: str, cores: int | None = None, no_audit: bool = False, keep: bool = False) -> int:
    """The command `dpregret gate`; the exit code is 1 where a step found something, else that of the worst."""
    codes = list(_codes(profile, cores, no_audit, keep))
    code = 1 if 1 in codes else max(codes)
    print(ENDS[code])
    return code


def _codes(profile: str, cores: int | None, no_audit: bool, keep: bool) -> Iterator[int]:
    """The exit codes of the steps, in their order: 0, 1 or 2."""
    tested = _answered("test")
    yield tested
    if tested == 2:
        return
    folder = study.FOLDER or Path.cwd()
    name = Path(profile).stem
    tables = Path("results") / ("" if name == "full" else name) / folder.name
    finished = _run(folder.name, tables, profile, cores)
    yield 0 if finished else 2
    if not all((tables / name).is_file() for name in TABLES):
        print("gate: this run left no tables: nothing is compared", file=sys.stderr)
        return
    if keep and finished:
        Path(REFERENCE).mkdir(exist_ok=True)
        for name in TABLES:
            shutil.copyfile(tables / name, Path(REFERENCE) / name)
        print(f"gate: wrote {folder / REFERENCE}: commit it")
    elif keep:
        print(f"gate: {REFERENCE}: not written", file=sys.stderr)
    elif not Path(REFERENCE).is_dir():
        print(f"gate: no reference yet: look at the report, then `dpregret gate {folder} --keep`", file=sys.stderr)
        yield 2
    else:
        yield tables_gate.main(tables, Path(REFERENCE))
    if not no_audit:
        yield _answered("audit")


def _answered(step: str) -> int:
    """The answer of a step that calls code of the study; 2 and a line where it ended without an answer."""

    def taken(on_progress: child.OnProgress) -> object:
        bound_imports()
        return resolve_name(STEPS[step])()

    answer, fault = child.call(taken)
    if fault or answer not in (0, 1, 2):
        print(f"gate: {step}: could not be judged: {fault or f'it answered {answer!r}'}", file=sys.stderr)
        return 2
    return int(answer)


def _run(paper: str, results: Path, profile: str, cores: int | None) -> bool:
    """Whether a run finished, with all plays and tables of the study.

    Its mark and tables under these names are removed first, and again if it dies: there is nothing to compare. A run
    that says itself that it failed (exit code 1) leaves tables that name the failed plays; these are compared.
    """
    names = (MARK, *TABLES)
    _remove(results, names)
    words = ["run", paper, "--profile", profile, *(["--cores", str(cores)] if cores else [])]
    code = subprocess.run([*COMMAND, *words], check=False).returncode
    missing = [name for name in names if not (results / name).is_file()]
    if not (code or missing):
        return True
    fault = child.ending(code) if code else f"it ended without {results / missing[0]}"
    print(f"gate: run: could not be judged: {fault}", file=sys.stderr)
    if code != 1:
        _remove(results, names)
    return False


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        remove(folder / name)
