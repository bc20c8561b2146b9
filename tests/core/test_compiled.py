"""Kernels give the same bits on every processor, and are kept on disk without going stale."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import make_checkout

ROOT = Path(__file__).resolve().parents[2]
PLAY = """
import hashlib, numpy as np
from dpregret.algorithms.catalogue import learners
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.streams import make_stream
def rngs(seed): return [np.random.default_rng([seed, run]) for run in range(3)]
found = hashlib.sha256()
for name, variant, place in (("wdp-cocop-gamma", "corrected", "ball"), ("wdp-cocol-gaussian", "practical", "simplex")):
    domain = make_set(place, 29)
    stream = make_stream("random-kink", domain, strong_convexity=0.7)
    problem = Problem(CountedSet(domain), 200, stream.lipschitz, 0.7, stream.smoothness)
    learner = learners("online")[name](problem, [Setting(16, Budget(4.0, 1e-6))], 3, variant)
    record = play(learner, stream.rounds(rngs(1), 200), rngs(2), [100, 200])
    for each in (learner.point, record.losses, record.noise_norms):
        found.update(each.tobytes())
print(found.hexdigest())
"""
COUNT = """
from dpregret.core import drawing, rounds
stats = [each.stats for each in (rounds.play, drawing.fill_normals)]
print(*(sum(sum(getattr(it, kind).values()) for it in stats) for kind in ("cache_misses", "cache_hits")))
"""


def run(code, root=ROOT, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(root), **environment}, cwd=root,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def plain():
    """What the plays said when all was compiled for a plain processor, and how to repeat them; kept as all kernels."""
    settings = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""} if platform.machine() == "x86_64" else {}
    return run(PLAY, **settings)[0], settings


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of one family")
def test_bits_do_not_depend_on_the_target(plain):
    """With and without vectors of four, and where a multiplication and an addition could be fused."""
    other = "haswell" if "avx2" in Path("/proc/cpuinfo").read_text() else "nehalem"
    assert run(PLAY, NUMBA_CPU_NAME=other, NUMBA_CPU_FEATURES="")[0] == plain[0]


def test_a_second_process_compiles_nothing(plain):
    """That a first one does stands below."""
    first, settings = plain
    second, missed, found = run(PLAY + COUNT, **settings)
    assert second == first
    assert int(missed) == 0
    assert int(found) > 0


def test_a_copy_of_the_tree_that_is_given_the_same_folder_compiles_nothing(tmp_path):
    code = (
        "import numpy as np\n"
        "from dpregret.core import drawing\n"
        "generators = [np.random.default_rng(1)]\n"
        "drawing.fill_normals(drawing.addresses(generators), np.empty((1, 3, 5)))\n"
        "stats = drawing.fill_normals.stats\n"
        "print(drawing.__file__, sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))"
    )
    made = [make_checkout(tmp_path / name).root for name in ("first", "second")]
    told = [run(code, root, NUMBA_CACHE_DIR=str(tmp_path / "kernels")) for root in made]
    assert [Path(file).is_relative_to(root) for (file, *_), root in zip(told, made, strict=True)] == [True, True]
    assert [counts for _, *counts in told] == [["1", "0"], ["0", "1"]]


def test_the_folder_of_compiled_code_is_named_after_the_kernels(tmp_path):
    code = (
        "import dpregret.core.compiled as it, pathlib\n"
        "print(it._cache().name)\n"
        "names = list(it.kernel_modules())\n"
        "assert 'dpregret.core.rounds' in names and 'dpregret.algorithms.privacy.noise' in names\n"
        "it.kernel_modules = lambda: iter(names[1:])\n"
        "print(it._cache().name)"
    )
    both = run(code)
    assert both[0] != both[1]
    assert len(both[0]) == 16


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions of POSIX")
def test_kernels_are_not_read_from_a_folder_that_is_open_to_others(tmp_path, monkeypatch):
    import dpregret.core.compiled as it

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = it._cache()
    assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="is open to others than the code is"):
        private = it._cache()
    assert (private.parent != tmp_path, private.stat().st_mode & 0o777) == (True, 0o700)
    private.rmdir()
