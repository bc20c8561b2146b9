"""The decoded window tree against generalised least squares on all finished nodes, and against its stated variances."""

from __future__ import annotations

import numpy as np
import pytest

from dpregret.algorithms.privacy import NoisePlan
from dpregret.algorithms.privacy.audit import materialise, protected_nodes
from dpregret.algorithms.privacy.trees import DecodedWindowTree


def least_variance(window: int, now: int) -> float:
    """Of unbiased estimates of the items of the window before and this one, from nodes that are finished at `now`.

    Items up to now - window have expired and are known; node noises have variance 1.
    """
    start = (now - 1) // window * window  # items before this block
    rows = []
    for block in (start - window, start):
        size = window
        while size:
            for begin in range(block, block + window, size):
                if begin >= 0 and begin + size <= now:
                    rows.append([float(begin <= item < begin + size) for item in range(now)])
            size //= 2
    unknown = np.array(rows)[:, max(0, now - window) :]
    gram = np.linalg.pinv(unknown.T @ unknown)
    wanted = np.ones(unknown.shape[1])
    return float(wanted @ gram @ wanted)


@pytest.mark.parametrize("window", [1, 2, 4, 8, 16])
def test_decoding_is_least_squares_on_all_finished_nodes(window: int) -> None:
    found = DecodedWindowTree(window).noisy_nodes(3 * window)
    assert found == pytest.approx([least_variance(window, now) for now in range(1, 3 * window + 1)])


@pytest.mark.parametrize("window", [1, 2, 4, 32, 64, 128, 512])
def test_running_code_has_the_stated_variances_and_the_price_of_the_tree(window: int) -> None:
    mechanism, rounds = DecodedWindowTree(window), max(3 * window, 192)
    noise = materialise(mechanism, rounds)
    assert np.square(noise).sum(axis=1) == pytest.approx(mechanism.noisy_nodes(rounds))
    if window <= 128:
        assert protected_nodes(noise, window) <= mechanism.nodes_per_item * (1 + 1e-9)


@pytest.mark.parametrize("window", [4, 64, 256])
def test_any_noise_and_any_batch(window: int) -> None:
    def noise(windows: list[int], runs: int) -> np.ndarray:
        plan = NoisePlan("gamma", [DecodedWindowTree(each) for each in windows], [1.0] * len(windows), 1.0, 2)
        stream = plan.blocks([np.random.default_rng([5, run]) for run in range(runs)])
        return np.concatenate([next(stream) for _ in range(12)])

    assert np.array_equal(noise([window], 1)[:, 0], noise([1, window, 16], 3)[:, 1, :1])
