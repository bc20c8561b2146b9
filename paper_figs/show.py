"""Print the comparison table of a paper on the terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dpregret.core.errors import not_allowed
from dpregret.paper_figs import formats
from dpregret.paper_figs.readme import COLUMNS


def find_paper(name: str, results: Path) -> Path:
    """The folder of a paper by its name or the beginning of it: `lou`, `lou_cheung`, `lou_cheung_2020`.

    Raises LookupError in one line that names what there is.
    """
    papers = sorted(path.parent.name for path in results.glob("*/claims.csv"))
    found = [paper for paper in papers if paper == name] or [paper for paper in papers if paper.startswith(name)]
    if len(found) == 1 and name:
        return results / found[0]
    raise LookupError(f"{results}: {not_allowed('paper with results', name, papers)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print table NUMBER of PAPER from the first of the folders that has it; exit code 2 when none does."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.show", description=__doc__)
    parser.add_argument("paper", help="a paper by its name or the beginning of it")
    parser.add_argument("--results", type=Path, nargs="+", default=[Path("results"), Path("results/reference")])
    parser.add_argument("--number", type=int, default=1, help="table of the paper, 1 by default")
    parser.add_argument("--all", action="store_true", help="all columns")
    options = parser.parse_args(arguments)
    faults = []
    for results in options.results:
        try:
            file = find_paper(options.paper, results) / f"table_{options.number}.csv"
            table = pd.read_csv(file, dtype=str, keep_default_na=False)
        except (LookupError, OSError, ValueError) as fault:
            faults.append(str(fault))
            continue
        shown = table if options.all else table[[name for name in COLUMNS if name in table.columns]]
        print(formats.terminal(shown, str(file)))
        return 0
    print("show: " + "\nshow: ".join(faults), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
