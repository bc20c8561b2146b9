"""Known mistakes can be planted as they are listed (here), and the test that names the concept sees each (nightly)."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from planting import ROOT, Mistake, MistakeError, copied, environment, failure, mistakes, planted

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


# A change that only a play shows fails the gate, which names the learner that it moved

PAPER = "lou_cheung_2020"
TABLES = ("claims.csv", "checks.csv", "jobs.csv")
PROFILE = f"profile: kept\nextends: ci\nonly: listed\npapers: {{{PAPER}: {{experiments: {{window: {{}}}}}}}}\n"
MOVED = [
    (
        Mistake("mu-too-large", "mu times 1.01", "", "dpregret.algorithms.privacy.budget:gaussian_mu",
                "return largest_within(", "return 1.01 * largest_within("),
        f"{PAPER} wdp-cocop-gaussian.corrected in window: ", "scale of the noise",
    ),
    (
        Mistake("noise-halved", "half of the noise that the ledger counts", "",
                "dpregret.algorithms.privacy.noise:UnitNoise.__call__", "return drawn.swapaxes(0, 1)",
                "drawn *= 0.5\n        return drawn.swapaxes(0, 1)"),
        f"{PAPER} wdp-cocop-gaussian.corrected in window: ", "level",
    ),
    (
        Mistake("tree-level-missing", "a level less than an item lies in", "",
                "dpregret.algorithms.privacy.trees:WindowTree.nodes_per_item",
                "return self.window.bit_length()", "return max(1, self.window.bit_length() - 1)"),
        f"{PAPER} wdp-cocop-gaussian.corrected in window: ", "scale of the noise",
    ),
]  # fmt: skip


def snakemake(copy: Path, *words: str) -> int:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "profile=kept.yaml", "--quiet", "all"]
    return subprocess.run([*command, "--", *words], cwd=copy, env=environment(copy), check=False).returncode


@pytest.fixture(scope="module")
def kept() -> Iterator[Path]:
    """A copy of this tree with a reference of its own."""
    with copied() as copy:
        (copy / "kept.yaml").write_text(PROFILE)
        results, reference = (copy / "results" / place / PAPER for place in ("kept", "reference/kept"))
        assert snakemake(copy, *(f"results/kept/{PAPER}/{name}" for name in TABLES)) == 0
        reference.mkdir(parents=True)
        for name in TABLES:
            shutil.copy(results / name, reference)
        yield copy


@pytest.mark.nightly
def test_an_unchanged_tree_passes(kept: Path) -> None:
    assert snakemake(kept, "gate") == 0


@pytest.mark.nightly
@pytest.mark.parametrize(("mistake", "line", "what"), MOVED, ids=[each[0].name for each in MOVED])
def test_a_mistake_in_the_noise_fails_with_its_line(mistake: Mistake, line: str, what: str, kept: Path) -> None:
    with planted(mistake, kept):
        assert snakemake(kept, "gate") != 0
    told = [each for each in (kept / "results/kept/log/gate.log").read_text().splitlines() if each.startswith(line)]
    assert any(what in each for each in told), told
