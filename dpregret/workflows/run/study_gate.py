"""The command `dpregret gate ./my_study`: has a change moved the regret, the verdicts or the privacy of a study?

Four steps, each a command of its own: `test` (contracts), `run`, a comparison of the tables with `reference/` of the
study, `audit` (private learners on neighbouring inputs). Exit code 0: all is as in the reference; 1: a step found
something; 2: the study is wrong, or there is no reference yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpregret import study
from dpregret.core import boundary
from dpregret.paper_figs.compare import gate
from dpregret.paper_figs.judge.result_tables import FILES, JOBS

REFERENCE: Final = "reference"
KEPT: Final = (*FILES.values(), JOBS)
"""Tables that a reference consists of."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the steps; the exit code is that of the worst."""
    parser = boundary.Parser(prog="dpregret gate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--profile", "-p", default=study.PROFILE, help="what is run (default: all experiments)")
    parser.add_argument("--cores", "-c", type=int, help="how many (default: all)")
    parser.add_argument("--no-audit", action="store_true", help="leave out the audit")
    parser.add_argument("--keep", action="store_true", help=f"write the tables of this run to {REFERENCE}/")
    given = parser.parse_args(arguments)
    folder = study.FOLDER or Path.cwd()
    results = Path("results") / Path(given.profile).stem / folder.name
    cores = ["--cores", str(given.cores)] if given.cores else []
    codes = [_step("test")]
    if codes == [2]:
        return 2
    codes.append(_step("run", folder.name, "--profile", given.profile, *cores))
    if not (results / JOBS).is_file():
        print("gate: the study did not run: nothing is compared", file=sys.stderr)
        return max(codes)
    if given.keep:
        Path(REFERENCE).mkdir(exist_ok=True)
        for name in KEPT:
            shutil.copyfile(results / name, Path(REFERENCE) / name)
        print(f"gate: wrote {folder / REFERENCE}: commit it")
    elif not Path(REFERENCE).is_dir():
        print(f"gate: no reference yet: look at the report, then `dpregret gate {folder} --keep`", file=sys.stderr)
        codes.append(2)
    else:
        codes.append(gate.main([str(results), REFERENCE]))
    if not given.no_audit:
        codes.append(_step("audit"))
    return 1 if 1 in codes else max(codes)


def _step(*words: str) -> int:
    """The exit code of a command on this study."""
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "dpregret", *words]
    return min(2, subprocess.run(command, env=dict(os.environ), check=False).returncode)


if __name__ == "__main__":
    boundary.end(main)
