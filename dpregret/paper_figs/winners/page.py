"""Keep the tables of docs/winners.md equal to the committed reference: `python -m dpregret.paper_figs.winners.page`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpregret.paper_figs.text.marked import ReadmeError, marked, renew

PARTS: Final = {
    "counts": "winners.md", "profiles": "winners/profiles.md", "pairs": "winners/pairs.md",
    "coverage": "winners/coverage.md",
}  # fmt: skip
"""Name of the two markers -> file below the reference."""


def page_text(page: str, reference: Path) -> str:
    """The page with every part renewed; raises ReadmeError for a marker that is missing, OSError for a file."""
    for name, file in PARTS.items():
        page = marked(page, name, (reference / file).read_text(encoding="utf-8"))
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Update the page, or with --check exit 1 when it is stale."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.winners.page", description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        current = renew(options.page, lambda text: page_text(text, options.reference), options.check)
    except (ReadmeError, OSError) as fault:
        print(f"winners: {fault}", file=sys.stderr)
        return 2
    if not current:
        print(f"{options.page}: tables {'are stale' if options.check else 'updated'}", file=sys.stderr)
    return int(options.check and not current)


if __name__ == "__main__":
    sys.exit(main())
