"""What plays and noise cost: `make bench`. Members of a group do the same work; nothing asserts a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpregret as dp
from dpregret.algorithms.privacy import BLOCK, NoisePlan, PrefixSums, WindowBuffers, WindowRoot, WindowTree

PLAYS = {
    "wdp-cocop-gaussian": {"stream": "norm-kink", "dimension": 32, "rounds": 4096, "window": 256},
    "wdp-cocop-gamma": {"stream": "norm-kink", "dimension": 128, "rounds": 2048, "window": 256},
    "wdp-cocol-gaussian": {"stream": "norm-kink", "dimension": 16, "rounds": 2048, "window": 16, "set": "simplex"},
    "dp-ftrl": {"stream": "realizable-direction", "dimension": 8, "rounds": 4096},
    "ftal": {"stream": "norm-kink", "dimension": 32, "rounds": 4096},
    "sparse-vector": {"stream": "bernoulli", "dimension": 1024, "rounds": 2**16},
    "private-bandit-gaussian": {"stream": "linear", "dimension": 4, "rounds": 4096},
    "private-fw": {"stream": "hetero-consensus", "dimension": 64, "rounds": 2**14, "set": "l1-ball"},
}
"""Learners of every family, a fraction of a second each."""
RUNS, DIMENSION = 128, 32
MECHANISMS: dict[str, PrefixSums | None] = {
    "bare numbers": None, "plain tree": WindowTree(2**20), "window tree, W = 256": WindowTree(256),
    "window root, W = 256": WindowRoot(256), "window buffers, W = 256": WindowBuffers(256),
}  # fmt: skip


@pytest.mark.benchmark(group="plays")
@pytest.mark.parametrize("learner", PLAYS)
def test_play(benchmark: Any, small: bool, learner: str) -> None:
    """A whole play as a user asks for it, 16 runs: problem, losses, learner, comparator."""
    settings: dict[str, Any] = {**PLAYS[learner], **({"rounds": 256, "dimension": 4, "runs": 2} if small else {})}
    played = benchmark.pedantic(dp.play, (learner,), settings, rounds=5, warmup_rounds=1)
    assert np.isfinite(played.last["regret"]).all()


@pytest.mark.benchmark(group=f"noise of {BLOCK} rounds, {RUNS} runs, d = {DIMENSION}")
@pytest.mark.parametrize("name", MECHANISMS)
def test_noise(benchmark: Any, small: bool, name: str) -> None:
    """A block of the noise of a prefix sum, beside as many numbers of NumPy's generator that nothing is done with."""
    shape = (BLOCK, 2, 3) if small else (BLOCK, RUNS, DIMENSION)
    mechanism = MECHANISMS[name]
    if mechanism is None:
        generator = np.random.default_rng(0)
        drawn = benchmark(lambda: generator.standard_normal(shape))
    else:
        plan = NoisePlan("gaussian", [mechanism], [1.7], 1.0, shape[2])
        blocks = plan.blocks([np.random.default_rng(run) for run in range(shape[1])])
        for _ in range(8):  # until a window of 256 rounds has passed
            next(blocks)
        drawn = benchmark(lambda: next(blocks))
    assert np.asarray(drawn).size >= np.prod(shape)
