"""The commands `dpregret new ./my_study`, which writes an example study, and `dpregret gate ./my_study`.

The example runs as it stands. It is laid out like the tree (`dpregret/study.py`): a learner, a loss with its stream,
records in a CSV file with their public constants, experiments and claims. Exit code 0: written; 2: a wrong name, or
there is such a folder.

The gate says whether a change has moved the regret, the verdicts or the privacy of a study. Four steps, each a command
of its own: `test` (contracts), `run`, a comparison of the tables with `reference/` of the study, `audit` (private
learners on neighbouring inputs). Exit code 0: all is as in the reference; 1: a step found
something; 2: the study is wrong, or there is no reference yet.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpregret import study
from dpregret.core import boundary
from dpregret.core.errors import ConfigError
from dpregret.paper_figs.compare.gate import main as compared
from dpregret.paper_figs.judge.result_tables import FILES, JOBS

TEMPLATE: Final = Path(__file__).with_name("templates") / "study"
HIDDEN: Final = "gitignore"
"""A file that no package would carry under its own name, which begins with a dot."""
REFERENCE: Final = "reference"


def write(folder: Path, printed: bool = False) -> None:
    """Copy the example. Raises ConfigError for a name that no study may have, FileExistsError where the folder is."""
    name = folder.resolve().name
    if not re.fullmatch(study.NAME, name) or (study.PACKAGE / "workflows" / "papers" / name).exists():
        raise ConfigError(f"{name!r} is not a name for a study: small letters, digits and _, and no paper of dpregret")
    without = shutil.ignore_patterns("__pycache__", *([] if printed else ["printed.yaml"]))
    shutil.copytree(TEMPLATE, folder, ignore=without, copy_function=shutil.copyfile)
    (folder / HIDDEN).rename(folder / f".{HIDDEN}")


def new(arguments: Sequence[str] | None = None) -> int:
    """Write it, and say what to type next."""
    parser = boundary.Parser(prog="dpregret new", description="Write an example study, which runs as it stands.")
    parser.add_argument("folder", type=Path, help="the folder to write; its name is the name of the study")
    parser.add_argument("--printed", action="store_true", help="with printed.yaml, a table as a paper prints it")
    options = parser.parse_args(arguments)
    write(options.folder, options.printed)
    shown = str(options.folder) if "/" in str(options.folder) else f"./{options.folder}"
    print(f"wrote {shown}\n  dpregret run {shown}\n  dpregret test {shown}\n  dpregret audit {shown}")
    return 0


def gate(arguments: Sequence[str] | None = None) -> int:
    """Take the steps; the exit code is that of the worst."""
    description = "Has a change moved the regret, the verdicts or the privacy of a study?"
    parser = boundary.Parser(prog="dpregret gate", description=description)
    parser.add_argument("--profile", "-p", default=study.PROFILE, help="what is run (default: all experiments)")
    parser.add_argument("--cores", "-c", type=int, help="how many (default: all)")
    parser.add_argument("--no-audit", action="store_true", help="leave out the audit")
    parser.add_argument("--keep", action="store_true", help=f"write the tables of this run to {REFERENCE}/")
    options = parser.parse_args(arguments)
    folder = study.FOLDER or Path.cwd()
    results = Path("results") / Path(options.profile).stem / folder.name
    cores = ["--cores", str(options.cores)] if options.cores else []
    codes = [_step("test")]
    if codes == [2]:
        return 2
    codes.append(_step("run", folder.name, "--profile", options.profile, *cores))
    if not (results / JOBS).is_file():
        print("gate: the study did not run: nothing is compared", file=sys.stderr)
        return max(codes)
    if options.keep:
        Path(REFERENCE).mkdir(exist_ok=True)
        for name in (*FILES.values(), JOBS):
            shutil.copyfile(results / name, Path(REFERENCE) / name)
        print(f"gate: wrote {folder / REFERENCE}: commit it")
    elif not Path(REFERENCE).is_dir():
        print(f"gate: no reference yet: look at the report, then `dpregret gate {folder} --keep`", file=sys.stderr)
        codes.append(2)
    else:
        codes.append(compared([str(results), REFERENCE]))
    if not options.no_audit:
        codes.append(_step("audit"))
    return 1 if 1 in codes else max(codes)


def _step(*arguments: str) -> int:
    """The exit code of a command on this study."""
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "dpregret", *arguments]
    return min(2, subprocess.run(command, env=dict(os.environ), check=False).returncode)
