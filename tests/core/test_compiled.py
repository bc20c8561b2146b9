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
domain = make_set("ball", 29)
stream = make_stream("random-kink", domain, strong_convexity=0.7)
problem = Problem(CountedSet(domain), 200, stream.lipschitz, 0.7, stream.smoothness)
learner = learners("online")["wdp-cocop-gamma"](problem, [Setting(16, Budget(4.0, 1e-6))], 3, "corrected")
record = play(learner, stream.rounds(rngs(1), 200), rngs(2), [100, 200])
for each in (learner.point, record.losses, record.noise_norms):
    found.update(each.tobytes())
print(found.hexdigest())
"""
COUNT = """
from dpregret.core import ball_rounds, drawing
stats = [each.stats for each in (ball_rounds.play_on_ball, drawing.fill_normals)]
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
def played():
    """What the play said when all was compiled for this processor; kept as all kernels."""
    return run(PLAY)[0]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a processor of one family")
def test_bits_do_not_depend_on_the_target(played):
    """Nor on what this processor has beyond a plain one: vectors of four and more, fused products and sums.

    One play: a gamma mechanism, a tree, rounds on the ball. `make processors` compares all kernels of the ci profile.
    """
    assert run(PLAY, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")[0] == played


def test_a_second_process_compiles_nothing(played):
    """That a first one does stands below."""
    second, missed, found = run(PLAY + COUNT)
    assert second == played
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
