"""A change that only a play shows fails the gate, which names the learner that it moved."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from planting import KERNELS, Mistake, copied, planted

PAPER = "lou_cheung_2020"
TABLES = ("claims.csv", "checks.csv", "jobs.csv")
PROFILE = f"profile: kept\nextends: ci\nonly: listed\npapers: {{{PAPER}: {{experiments: {{window: {{}}}}}}}}\n"
MISTAKES = [
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
    own = {
        "PYTHONPATH": str(copy),
        "NUMBA_CACHE_DIR": str(KERNELS),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "profile=kept.yaml", "--quiet", "all"]
    return subprocess.run([*command, "--", *words], cwd=copy, env={**os.environ, **own}, check=False).returncode


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
@pytest.mark.parametrize(("mistake", "line", "what"), MISTAKES, ids=[each[0].name for each in MISTAKES])
def test_a_mistake_in_the_noise_fails_with_its_line(mistake: Mistake, line: str, what: str, kept: Path) -> None:
    with planted(mistake, kept):
        assert snakemake(kept, "gate") != 0
    told = [each for each in (kept / "results/kept/log/gate.log").read_text().splitlines() if each.startswith(line)]
    assert any(what in each for each in told), told
