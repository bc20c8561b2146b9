"""Keep generated tables of the documents equal to the committed reference: verdicts in README.md, table 1 of each paper
in its page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.paper_figs import formats
from dpregret.paper_figs.claims_files import ClaimsError, load_claims
from dpregret.paper_figs.errata import MEASURED
from dpregret.paper_figs.verdicts import NOT_RUN, ORDER

MARK: Final = "table-1"
SUMMARY: Final = "verdicts"
COLUMNS: Final = (
    "algorithm", "group", "eps / delta", "delivered eps", "operation counted", "draws", "T exponent", "n exponent",
    "d exponent", "(log2 d) exponent", "p exponent", "W exponent", "G exponent", "eps exponent", "regret", "excess",
    "errata",
)  # fmt: skip
"""Columns that the README shows, of those that the table has."""
REQUIRED: Final = ("algorithm", "group", "delivered eps", "errata")
GROUPS: Final = ("printed", "corrected", "corrected, practical constants", "derived", "previous", "baseline")
"""Groups of the table that the README shows; the whole table is linked."""


class ReadmeError(ValueError):
    """The README or the table does not have the expected form."""


def readme_text(readme: str, table: pd.DataFrame, mark: str = MARK) -> str:
    """Return `readme` with everything between its begin and end comments of `mark` replaced by a compact table.

    Raises ReadmeError when a marker is missing, doubled or out of order, or a column is missing.
    """
    missing = [name for name in REQUIRED if name not in table.columns]
    if missing:
        raise ReadmeError(f"the table lacks columns {', '.join(missing)}")
    shown = table.loc[table["group"].isin(GROUPS), [name for name in COLUMNS if name in table.columns]]
    return marked(readme, mark, formats.markdown(shown))


def marked(readme: str, mark: str, text: str) -> str:
    """`readme` with `text` between the two comments of `mark`; raises ReadmeError."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    if readme.count(begin) != 1 or readme.count(end) != 1 or readme.index(begin) > readme.index(end):
        raise ReadmeError(f"expected one {begin} before one {end}")
    before, rest = readme.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}{end}{after}"


def renew(page: Path, renewed: Callable[[str], str], check: bool = False) -> bool:
    """Rewrite a document by `renewed`; return whether nothing changed. `check` writes nothing."""
    old = page.read_text(encoding="utf-8")
    new = renewed(old)
    if new != old and not check:
        page.write_text(new, encoding="utf-8")
    return new == old


def verdict_table(reference: Path, papers: Path) -> pd.DataFrame:
    """One row per paper of the reference: claims by verdict, errata and how many of them were measured. No chapters.

    `papers` holds a folder for each paper, whose claims file knows how it is cited.
    """
    rows = []
    for file in sorted(reference.glob("*/claims.csv")):
        paper = file.parent.name
        texts = load_claims(papers / paper / "claims.yaml")
        if texts.chapter:
            continue
        counts = pd.read_csv(file)["verdict"].value_counts()
        errata = pd.read_csv(file.parent / "errata.csv")
        rows.append({
            "paper": f"[{texts.cite or paper}](docs/{paper}.md)", "claims": str(counts.sum()),
            **{verdict: str(counts.get(verdict, 0)) for verdict in ORDER if verdict != NOT_RUN},
            "errata": str(len(errata)), "with measured effect": str((errata["status"] == MEASURED).sum()),
        })  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame[[name for name in frame.columns if not (frame[name] == "0").all()]]


def update_verdicts(readme: Path, reference: Path, papers: Path, check: bool = False) -> bool:
    """Rewrite the README's table of verdicts; return whether it was up to date. `check` writes nothing."""
    table = formats.markdown(verdict_table(reference, papers))
    return renew(readme, lambda text: marked(text, SUMMARY, table), check)


def update_readme(readme: Path | str, table_csv: Path | str, check: bool = False, mark: str = MARK) -> bool:
    """Rewrite the README's table from `table_csv`; return whether it was up to date. `check` writes nothing."""
    table = pd.read_csv(table_csv, dtype=str, keep_default_na=False)
    return renew(Path(readme), lambda text: readme_text(text, table, mark), check)


def main(arguments: Sequence[str] | None = None) -> int:
    """Update a document, or with --check exit 1 when its table is stale."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.readme", description=__doc__)
    parser.add_argument("readme", type=Path)
    parser.add_argument("table", type=Path, help="results/reference/<paper>/table_1.csv, or results/reference")
    parser.add_argument("--mark", default=MARK, help="name in the two markers")
    parser.add_argument("--papers", type=Path, default=Path("workflows/papers"), help="folder of the papers' folders")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        if options.table.is_dir():
            current = update_verdicts(options.readme, options.table, options.papers, options.check)
        else:
            current = update_readme(options.readme, options.table, options.check, options.mark)
    except (ReadmeError, ClaimsError, OSError) as fault:
        print(f"readme: {fault}", file=sys.stderr)
        return 2
    if not current:
        print(f"{options.readme}: table {'is stale' if options.check else 'updated'}", file=sys.stderr)
    return int(options.check and not current)


if __name__ == "__main__":
    sys.exit(main())
