"""The list of mistakes is up to date, and a few of them, others at each commit, are caught."""

from pathlib import Path

import pytest
from planting import Copy, Mutant, MutantError, applies, copied, mutants, read, rotating

FEW = 3


@pytest.mark.parametrize("mutant", mutants(), ids=lambda each: each.name)
def test_every_mistake_can_be_planted(mutant: Mutant) -> None:
    assert applies(mutant) == ""


def test_a_few_mistakes_are_caught_by_the_tests_that_name_their_concepts() -> None:
    """`make mutants` plants all of them."""
    few = rotating(mutants(), FEW)
    with copied() as copy:
        assert copy.failing(*(each.concept for each in few)) == ""  # without a mistake
        for each in few:
            with copy.planted(each) as wrong:
                assert wrong.failing(each.concept), f"{each.name} is missed: {each.what}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Concept: tests/test_layout.py::test_x\n--- a/x\n+++ b/x\n", "one line 'What: ...' is wanted"),
        (
            "What: w\nConcept: tests/test_layout.py::test_x\n--- a/x\n+++ b/x\n",
            "there is no test 'tests/test_layout.py::test_x'",
        ),
        ("What: w\nConcept: tests/test_layout.py::test_x\n", "no file is changed"),
    ],
)
def test_what_is_no_mutant_is_an_error_with_its_name(text: str, said: str, tmp_path: Path) -> None:
    patch = tmp_path / "odd.patch"
    patch.write_text(text)
    with pytest.raises(MutantError, match=f"odd.patch: {said}"):
        read(patch)


def test_a_patch_that_no_longer_applies_is_an_error_with_its_name(tmp_path: Path) -> None:
    patch = tmp_path / "stale.patch"
    patch.write_text("--- a/file\n+++ b/file\n@@ -1 +1 @@\n-before\n+after\n")
    (tmp_path / "file").write_text("another\n")
    stale = Mutant(patch, "w", "tests/test_x.py::test_y", ("file",))
    with (
        pytest.raises(MutantError, match="stale: the patch no longer applies"),
        Copy(tmp_path, tmp_path).planted(stale),
    ):
        pass
    assert (tmp_path / "file").read_text() == "another\n"


def test_turns_take_every_mistake() -> None:
    every = mutants()
    turns = -(-len(every) // 10)
    assert {each.name for turn in range(turns) for each in rotating(every, 10, turn)} == {each.name for each in every}
