"""A learner reads like its box: the lines that a docstring lists are marked in the code, and no others.

Lines of a box that hold an index or the end of a loop only are left out on both sides.
"""

import importlib
import inspect
import io
import re
import tokenize
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpregret.workflows.families import FAMILIES

LEARNERS: list[Any] = [each for family in FAMILIES.values() for each in family.learners.values()]
NUMBERS = re.compile(r"\blines? (\d+(?:, \d+)*)")


def text_of(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text()


def modules() -> list[ModuleType]:
    """Of all learners and of what they inherit from, within the folders of learners."""
    found = {base.__module__ for kind in LEARNERS for base in kind.__mro__}
    return [importlib.import_module(name) for name in sorted(found) if name.startswith("dpregret.algorithms.")]


def parts(module: ModuleType) -> dict[str, str]:
    """Sections of a docstring: a word at the margin, then indented text."""
    document = inspect.cleandoc(module.__doc__ or "")
    heads = re.split(r"^([A-Z][a-z]+) {2,}", document, flags=re.MULTILINE)[1:]
    return dict(zip(heads[::2], heads[1::2], strict=True))


def numbers(text: str) -> set[int]:
    return {int(number) for group in NUMBERS.findall(text) for number in group.split(", ")}


def listed(module: ModuleType) -> set[int]:
    return numbers(parts(module).get("Algorithm", ""))


def marked(module: ModuleType) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text_of(module)).readline)
    return {number for token in tokens if token.type == tokenize.COMMENT for number in numbers(token.string)}


def ancestors(module: ModuleType) -> list[ModuleType]:
    """Modules of the classes that a module's own classes inherit from."""
    own = [item for item in vars(module).values() if isinstance(item, type) and item.__module__ == module.__name__]
    names = {base.__module__ for item in own for base in item.__mro__ if base.__module__.startswith("dpregret.")}
    return [importlib.import_module(name) for name in names - {module.__name__}]


def loops(module: ModuleType) -> list[ModuleType]:
    """The loops that a learner hands its rounds to: what it imports of its folder that is no learner, and so on."""
    folder, learners = module.__name__.rpartition(".")[0], {kind.__module__ for kind in LEARNERS}
    named = re.findall(rf"^from ({re.escape(folder)}\.\w+) import", text_of(module), flags=re.MULTILINE)
    found = [importlib.import_module(name) for name in dict.fromkeys(named) if name not in learners]
    return [*found, *(each for one in found for each in loops(one))]


WITH_LINES = [module for module in modules() if listed(module) or marked(module)]


@pytest.mark.parametrize("module", WITH_LINES, ids=lambda module: module.__name__.removeprefix("dpregret.algorithms."))
def test_lines_of_the_box_are_those_of_the_code(module: ModuleType) -> None:
    """A line may be marked where the code is inherited from, or in the loop that plays it."""
    classes = [module, *ancestors(module)]
    called = [each for one in classes for each in loops(one)]
    inherited: set[int] = set().union(*(marked(each) for each in (*classes[1:], *called)))
    assert marked(module) | inherited, "lists lines, marks none"
    assert marked(module) <= listed(module)
    assert listed(module) <= marked(module) | inherited


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.card.name)
def test_algorithms_of_papers_list_their_lines(kind: Any) -> None:
    """Where a card names an algorithm by its number, the box is written out."""
    if "Alg." in kind.card.reference:
        module = importlib.import_module(kind.__module__)
        assert any(listed(each) for each in (module, *ancestors(module)))


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.card.name)
def test_docstrings_say_what_is_protected(kind: Any) -> None:
    """Algorithm, privacy and guarantee; privacy names its unit and its neighbours, or the module that does."""
    module = importlib.import_module(kind.__module__)
    found = parts(module)
    assert {"Algorithm", "Privacy", "Guarantee"} <= set(found)
    if kind.card.private:
        assert re.search("[Uu]nit", found["Privacy"])
        assert "neighbours" in found["Privacy"]
        assert "replaced" in found["Privacy"] or "replace" in found["Privacy"]
