"""Renew the tables and figures of the pages with proofs: `python -m dpregret.workflows.proof_pages [--check]`.

Between <!-- NAME:begin --> and <!-- NAME:end --> of a page stands what the function of that name makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from dpregret.core import boundary
from dpregret.paper_figs.text.formats import filled, renew
from dpregret.workflows.audit import frank_wolfe_page, range_page
from dpregret.workflows.mechanisms import window_figure


class ProofPage(NamedTuple):
    """A page, what is between its marks, and what draws its figure."""

    path: Path
    parts: Mapping[str, Callable[[], str]]
    draw: Callable[[], None]

    def renew(self, check: bool = False) -> bool:
        """Renew the parts and the figure; return whether no part changed. `check` writes nothing."""
        current = renew(self.path, lambda text: filled(text, self.parts), check)
        if not check:
            self.draw()
        return current


PAGES: Final = {
    "frank_wolfe_privacy": ProofPage(frank_wolfe_page.PAGE, frank_wolfe_page.PARTS, frank_wolfe_page.figure),
    "noisy_min_range": ProofPage(range_page.PAGE, range_page.PARTS, range_page.figure),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew all pages; with --check only say whether they are current."""
    parser = boundary.Parser(prog="python -m dpregret.workflows.proof_pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page differs")
    check = parser.parse_args(arguments).check
    current = [page.renew(check) for page in PAGES.values()]
    if not check:
        window_figure.figure()
    return int(check and not all(current))


if __name__ == "__main__":
    boundary.end(main)
