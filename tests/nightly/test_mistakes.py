"""Known mistakes can be planted as they are listed (here), and the test that names the concept sees each (nightly)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from planting import ROOT, Mistake, MistakeError, copied, failure, mistakes, planted

ALL = pytest.mark.parametrize("mistake", mistakes(), ids=lambda each: each.name)
KNOWN = Mistake("a-slip", "w", "tests/test_layout.py::test_x", "dpregret.core.errors:", "old", "new")
SOURCE = """LIMIT = 1


class Sum:
    @property
    def value(self):
        return 1 + LIMIT


def value():
    return 1 + LIMIT
"""


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    with copied() as root:
        yield root


@ALL
def test_every_mistake_can_be_planted(mistake: Mistake) -> None:
    text = mistake.file(ROOT).read_text(encoding="utf-8")
    wrong = mistake.edited(text)
    assert wrong != text
    compile(wrong, mistake.name, "exec")
    file, _, test = mistake.test.partition("::")
    assert f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.nightly
@ALL
def test_every_mistake_is_caught_by_the_test_of_its_concept(mistake: Mistake, copy: Path) -> None:
    assert failure(mistake, copy) == ""
    with planted(mistake, copy):
        assert failure(mistake, copy), f"{mistake.name} is missed: {mistake.what}"


@pytest.mark.parametrize(
    ("place", "old", "new", "line"),
    [
        ("Sum.value", "1 + LIMIT", "2 + LIMIT", 7),
        ("Sum.value", "@property", "@staticmethod", 5),
        ("value", "1 + LIMIT", "2 + LIMIT", 11),
        ("LIMIT", "1", "2", 1),
        ("", "LIMIT = 1", "LIMIT = 2", 1),
    ],
)
def test_an_edit_stays_within_its_place(place: str, old: str, new: str, line: int) -> None:
    wrong = replace(KNOWN, where=KNOWN.where + place, old=old, new=new).edited(SOURCE).splitlines()
    moved = [at for at, pair in enumerate(zip(SOURCE.splitlines(), wrong, strict=True), 1) if pair[0] != pair[1]]
    assert moved == [line]


@pytest.mark.parametrize(("place", "old"), [("Sum.gone", "1"), ("value", "3"), ("", "1 + LIMIT")])
def test_a_mistake_that_no_longer_fits_is_an_error_with_its_name(place: str, old: str) -> None:
    with pytest.raises(MistakeError, match=r"a-slip: .*, not once"):
        replace(KNOWN, where=KNOWN.where + place, old=old).edited(SOURCE)


def test_no_two_mistakes_have_one_name() -> None:
    assert len({mistake.name for mistake in mistakes()}) == len(mistakes())
