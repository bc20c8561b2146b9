"""The command `dpregret new my_study`: write an example study, which runs as it stands.

The folder is laid out like the tree (`dpregret/study.py`): a learner, a loss with its stream, records in a CSV file
with their public constants, experiments and claims. Exit code 0: written; 2: a wrong name, or there is such a folder.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpregret import study
from dpregret.core import boundary
from dpregret.core.errors import ConfigError

TEMPLATE: Final = Path(__file__).with_name("templates") / "study"
HIDDEN: Final = "gitignore"
"""A file that no package would carry under its own name, which begins with a dot."""
PRINTED: Final = "printed.yaml"


def write(folder: Path, printed: bool = False) -> None:
    """Copy the example. Raises ConfigError for a name that no study may have, FileExistsError where the folder is."""
    name = folder.resolve().name
    if not re.fullmatch(study.NAME, name) or (study.PACKAGE / "workflows" / "papers" / name).exists():
        raise ConfigError(f"{name!r} is not a name for a study: small letters, digits and _, and no paper of dpregret")
    without = shutil.ignore_patterns("__pycache__", *([] if printed else [PRINTED]))
    shutil.copytree(TEMPLATE, folder, ignore=without, copy_function=shutil.copyfile)
    (folder / HIDDEN).rename(folder / f".{HIDDEN}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write it, and say what to type next."""
    parser = boundary.Parser(prog="dpregret new", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder to write; its name is the name of the study")
    parser.add_argument("--printed", action="store_true", help="with printed.yaml, a table as a paper prints it")
    given = parser.parse_args(arguments)
    write(given.folder, given.printed)
    shown = str(given.folder) if "/" in str(given.folder) else f"./{given.folder}"
    print(f"wrote {shown}\n  dpregret run {shown}\n  dpregret test {shown}\n  dpregret audit {shown}")
    return 0


if __name__ == "__main__":
    boundary.end(main)
