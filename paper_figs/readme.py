"""Keep a results table of README.md equal to a committed table_1.csv."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.paper_figs import formats

MARK: Final = "table-1"
BEGIN: Final = f"<!-- {MARK}:begin -->"
END: Final = f"<!-- {MARK}:end -->"
COLUMNS: Final = (
    "algorithm", "group", "eps / delta", "delivered eps", "operation counted", "draws", "T exponent", "n exponent",
    "d exponent", "(log2 d) exponent", "p exponent", "W exponent", "G exponent", "eps exponent", "regret", "excess",
    "errata",
)  # fmt: skip
"""Columns that the README shows, of those that the table has."""
REQUIRED: Final = ("algorithm", "group", "delivered eps", "errata")
GROUPS: Final = ("printed", "corrected", "corrected, practical constants", "derived", "previous", "bracket")
"""Groups of the table that the README shows; the whole table is linked."""


class ReadmeError(ValueError):
    """The README or the table does not have the expected form."""


def readme_text(readme: str, table: pd.DataFrame, mark: str = MARK) -> str:
    """Return `readme` with everything between its begin and end comments of `mark` replaced by a compact table.

    Raises ReadmeError when a marker is missing, doubled or out of order, or a column is missing.
    """
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    missing = [name for name in REQUIRED if name not in table.columns]
    if missing:
        raise ReadmeError(f"the table lacks columns {', '.join(missing)}")
    if readme.count(begin) != 1 or readme.count(end) != 1 or readme.index(begin) > readme.index(end):
        raise ReadmeError(f"expected one {begin} before one {end}")
    before, rest = readme.split(begin)
    after = rest.split(end)[1]
    shown = table.loc[table["group"].isin(GROUPS), [name for name in COLUMNS if name in table.columns]]
    return f"{before}{begin}\n{formats.markdown(shown)}{end}{after}"


def update_readme(readme: Path | str, table_csv: Path | str, check: bool = False, mark: str = MARK) -> bool:
    """Rewrite the README's table from `table_csv`; return whether it was up to date. `check` writes nothing."""
    path = Path(readme)
    old = path.read_text(encoding="utf-8")
    new = readme_text(old, pd.read_csv(table_csv, dtype=str, keep_default_na=False), mark)
    if new != old and not check:
        path.write_text(new, encoding="utf-8")
    return new == old


def main(arguments: Sequence[str] | None = None) -> int:
    """Update README.md, or with --check exit 1 when its table is stale."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.readme", description=__doc__)
    parser.add_argument("readme", type=Path)
    parser.add_argument("table", type=Path, help="results/reference/<paper>/table_1.csv")
    parser.add_argument("--mark", default=MARK, help="name in the two markers")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        current = update_readme(options.readme, options.table, options.check, options.mark)
    except (ReadmeError, OSError) as fault:
        print(f"readme: {fault}", file=sys.stderr)
        return 2
    if not current:
        print(f"{options.readme}: table {'is stale' if options.check else 'updated'}", file=sys.stderr)
    return int(options.check and not current)


if __name__ == "__main__":
    sys.exit(main())
