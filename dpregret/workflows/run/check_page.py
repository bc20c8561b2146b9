"""The command `dpregret check PAPER CLAIM`: one claim, decided by what it needs and nothing else.

Printed are the statement, its place in the paper, the numbers, the verdict, and where its figure is. Exit code 0: the
claim is decided, whatever the verdict; 2: it could not be, in one line.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from dpregret.core import boundary
from dpregret.core.answers import as_json
from dpregret.core.text import printable
from dpregret.workflows.run.check import FIGURES, find


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, draw, print."""
    parser = boundary.Parser(prog="dpregret check", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paper", help="a paper, or the beginning of its name")
    parser.add_argument("claim", help="a claim or check of it, as `dpregret claims PAPER` lists them")
    parser.add_argument("--profile", "-p", default="full", help="whose experiment is played (default: full)")
    parser.add_argument("--figure", type=Path, help=f"the PNG to draw (default: {FIGURES}/PAPER/CLAIM.png)")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")
    options = parser.parse_args(arguments)
    logging.disable(logging.ERROR)  # a learner that fails is told by the verdict
    try:
        asked = find(options.paper, options.claim)
        found = asked.measure(options.profile, options.figure or FIGURES / asked.paper / f"{asked.id}.png")
    finally:
        logging.disable(logging.NOTSET)
    print(as_json(found).rstrip("\n") if options.json else printable(str(found)))
    return 0


if __name__ == "__main__":
    boundary.end(main)
