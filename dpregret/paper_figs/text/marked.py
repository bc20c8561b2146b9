"""Parts of documents between two marks, kept equal to what they are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path


class ReadmeError(ValueError):
    """A document, or the table that it shows, does not have the expected form."""


def marked(page: str, mark: str, text: str) -> str:
    """`page` with `text` between the two comments of `mark`; raises ReadmeError."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ReadmeError(f"expected one {begin} before one {end}")
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}{end}{after}"


def renew(page: Path, renewed: Callable[[str], str], check: bool = False) -> bool:
    """Rewrite a document by `renewed`; return whether nothing changed. `check` writes nothing."""
    old = page.read_text(encoding="utf-8")
    new = renewed(old)
    if new != old and not check:
        page.write_text(new, encoding="utf-8")
    return new == old


def filled(page: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """`page` with every part, by the name of its mark, made again; raises ReadmeError where a mark is missing."""
    for mark, make in parts.items():
        page = marked(page, mark, f"{make().strip()}\n")
    return page
