"""The boxes in the pages of the papers, from cards and docstrings: `python -m dpregret.workflows.boxes_page [--check]`.

A box is a numbered algorithm of a paper. Its lines stand in the docstring of a module, and as comments in its code.
"""

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

import pandas as pd

from dpregret.algorithms.learner import BaseLearner
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import plain
from dpregret.paper_figs.text.marked import marked, renew
from dpregret.workflows.families import FAMILIES

ROOT: Final = Path(__file__).resolve().parents[2]
MARK: Final = "boxes"
SECTION: Final = re.compile(r"^Algorithm {2,}(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
Kind = type[BaseLearner]


def learners_of(paper: str) -> list[Kind]:
    """The learners whose cards name the paper of a folder such as `lou_cheung_2020`, by their place in the paper."""
    author, year = paper.split("_")[0], paper.split("_")[-1]
    kinds: list[Kind] = [kind for family in FAMILIES.values() for kind in family.learners.values()]
    own = [kind for kind in kinds if re.match(rf"{author}\b.* {year}$", kind.card.paper, re.IGNORECASE)]
    return sorted(own, key=lambda kind: (place(kind), kind.card.name))


def place(kind: Kind) -> str:
    """Where the paper has it, without options and theorems: `Alg. 1`."""
    return kind.card.reference.split(",")[0]


def boxes(kind: Kind) -> list[ModuleType]:
    """The modules that list lines of the learner's box: its own, and those of the classes that it derives from."""
    modules = dict.fromkeys(inspect.getmodule(base) for base in kind.__mro__)
    return [module for module in modules if module is not None and "line 1" in algorithm(module)]


def algorithm(module: ModuleType) -> str:
    """The section `Algorithm` of a module's docstring, empty where there is none."""
    found = SECTION.search(inspect.cleandoc(module.__doc__ or "") if module.__name__.startswith("dpregret.") else "")
    return textwrap.dedent(" " * 12 + found[1]).rstrip() if found else ""


def box(module: ModuleType) -> str:
    """What is said before the first line, and the lines as they stand in the docstring."""
    lines = algorithm(module).splitlines()
    first = next(number for number, line in enumerate(lines) if re.match(r"lines? \d", line))
    after = (n for n, line in enumerate(lines[first:], first) if not re.match(r"lines? \d| ", line))
    last = next(after, len(lines))
    said = plain(re.sub(r" +", " ", " ".join(lines[:first])))
    return f"{said}\n\n```text\n" + "\n".join(lines[first:last]) + "\n```\n"


def source(module: ModuleType) -> str:
    """A link from a page of docs to a module."""
    path = Path(inspect.getfile(module)).resolve().relative_to(ROOT)
    return f"[`{path}`](../{path})"


def sections(paper: str) -> Iterator[str]:
    """A section for each place in the paper: its learners, their variants, and the lines of the box where first met."""
    own, told = learners_of(paper), set[ModuleType]()
    for where in dict.fromkeys(map(place, own)):
        here = [kind for kind in own if place(kind) == where]
        yield f"### {where.replace('Alg.', 'Algorithm').replace('Thm', 'Theorem')}\n\n{_learners(here)}"
        modules = dict.fromkeys(module for kind in here for module in reversed(boxes(kind)))
        yield from (f"{source(module)}. {box(module)}" for module in modules if module not in told)
        again = [source(module) for module in modules if module in told]
        alone = (inspect.getmodule(kind) for kind in here if not boxes(kind))
        again += dict.fromkeys(source(module) for module in alone if module is not None)
        if again:
            yield f"See also {' and '.join(again)}.\n"
        told.update(modules)


def _learners(kinds: Sequence[Kind]) -> str:
    """A table of learners, then what their variants are."""
    rows = [
        {"learner": f"`{kind.card.name}`", "in the paper": kind.card.reference, "class": f"`{kind.__name__}`"}
        for kind in kinds
    ]
    variants = dict.fromkeys(item for kind in kinds for item in kind.card.variants.items())
    listed = "".join(f"- `{name}`: {plain(says)}\n" for name, says in variants)
    return f"{formats.markdown(pd.DataFrame(rows), raw=('learner', 'class'))}\n{listed}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew the pages of all papers; with --check only say whether they are current."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.workflows.boxes_page")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page differs")
    check = parser.parse_args(arguments).check
    pages = {paper: page for page in ROOT.glob("docs/*_2*.md") if learners_of(paper := page.stem)}
    same = [
        renew(page, lambda text, paper=paper: marked(text, MARK, "\n".join(sections(paper))), check)  # type: ignore[misc]
        for paper, page in sorted(pages.items())
    ]
    return int(check and not all(same))


if __name__ == "__main__":
    sys.exit(main())
