"""The table of declared downloads in docs/data.md: `python -m dpregret.workflows.data_page [--check]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpregret.datasets.sources import Source, read_sources
from dpregret.paper_figs.text.marked import marked, renew

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"
MARK = "sources"


def table(sources: dict[str, Source]) -> str:
    """One line per declared download, and below it who vouches for its digest."""
    lines = ["| set | records x features | what a record becomes, before it is divided by its norm | licence | bytes |"]
    lines.append("|---|---|---|---|---|")
    for name, source in sources.items():
        size = "not declared" if source.bytes is None else f"{source.bytes:,}"
        shape = f"{source.rows:,} x {source.features}"
        lines.append(f"| [{name}]({source.url}) | {shape} | {source.how.says} | {source.licence} | {size} |")
    for name, source in sources.items():
        digest = f"`{source.sha256}`" if source.sha256 else f"`{source.sha256_content}` (decompressed)"
        lines += ["", f"**{name}**: SHA-256 {digest}. Vouched for by", ""]
        lines += [f"- {voucher}" for voucher in source.vouched_by]
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew the page; with --check only say whether it is current."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.workflows.data_page")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where the page differs")
    check = parser.parse_args(arguments).check
    same = renew(PAGE, lambda page: marked(page, MARK, table(read_sources())), check)
    return int(check and not same)


if __name__ == "__main__":
    sys.exit(main())
