"""Bring claims files of an earlier version into the present form, each in its place and with its comments.

`origin` of a claim becomes a heading above the claims that share it, and `bound: explicit`, which the types `below` and
`stated` imply, goes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
import yaml

from dpregret.core import boundary
from dpregret.core.files import atomic_write
from dpregret.paper_figs.judge.claims import HEADINGS, IMPLY_BOUND, ORIGIN

PAPER = "paper"
"""The origin of claims above the first heading."""
Edit = tuple[int, int, str]
"""First and last place of a text, and what takes the place of what is between."""


def rewritten(text: str) -> str:
    """The text of a claims file in the present form; one that has it stays as it is."""
    edits = sorted(_edits(text, yaml.compose(text, yaml.SafeLoader)))
    for first, last, new in reversed(edits):
        text = text[:first] + new + text[last:]
    return text


def _edits(text: str, root: yaml.Node | None) -> Iterator[Edit]:
    items: list[yaml.Node] = next((value.value for key, value in _pairs(root) if key.value == "claims"), [])
    current = PAPER
    for item in items:
        keys = {key.value: value.value for key, value in _pairs(item)}
        if set(keys) <= HEADINGS:
            current = keys.get(ORIGIN, current)
            continue
        if (origin := keys.get(ORIGIN, current if _has_headings(items) else PAPER)) != current:
            place = _above_comments(text, text.rindex("\n", 0, item.start_mark.index) + 1)
            indent = " " * (item.start_mark.column - 2)
            yield place, place, f"{indent}- {ORIGIN}: {origin}\n"
            current = origin
        implied = keys.get("type") in IMPLY_BOUND
        gone = [ORIGIN, "bound"] if implied else [ORIGIN]
        yield from _without(text, item, gone)


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _has_headings(items: Sequence[yaml.Node]) -> bool:
    return any(ORIGIN in (keys := {key.value for key, _ in _pairs(item)}) and keys <= HEADINGS for item in items)


def _above_comments(text: str, place: int) -> int:
    """The beginning of the comment lines that stand directly above a line."""
    while place:
        before = text.rfind("\n", 0, place - 1) + 1
        if not text[before:place].lstrip().startswith("#"):
            break
        place = before
    return place


def _without(text: str, item: yaml.Node, names: Sequence[str]) -> Iterator[Edit]:
    """Take keys out of a mapping, whether it is written over lines or in braces; keys in a row are one edit."""
    pairs = _pairs(item)
    kept = [index for index, (key, _) in enumerate(pairs) if key.value not in names]
    for index in range(len(pairs)):
        if index in kept or (index and index - 1 not in kept):
            continue
        after = next((other for other in kept if other > index), None)
        if after is not None:
            yield pairs[index][0].start_mark.index, pairs[after][0].start_mark.index, ""
        elif index:
            ended, last = pairs[index - 1][1].end_mark.index, pairs[-1][1].end_mark.index
            if text[ended - 1] == "\n":  # a folded text ends with its line
                ended -= 1
            yield ended, last, ""


def main(files: Annotated[list[Path], typer.Argument(help="claims.yaml of a study or of a paper.")]) -> int:
    """Rewrite claims files of an earlier version in the present form, each in its place; one line for each."""
    for file in files:
        try:
            old = file.read_text(encoding="utf-8")
            new = rewritten(old)
        except (OSError, ValueError, yaml.YAMLError) as fault:
            print(f"rewrite: {file}: {' '.join(str(fault).split())}", file=sys.stderr)
            return 2
        if new != old:
            with atomic_write(file) as temporary:
                temporary.write_text(new, encoding="utf-8")
        print(f"{file}: {'rewritten' if new != old else 'has the present form'}")
    return 0


if __name__ == "__main__":
    boundary.run(main)
