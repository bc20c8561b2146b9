"""Where every random number of the benchmark comes from."""

import zlib

import numpy as np


def generators(seed: int, purpose: str, runs: int) -> list[np.random.Generator]:
    """One generator a run, equal for all learners (common random numbers).

    purpose: what is drawn, e.g. 'noise' or 'data norm-kink ball 4'.
    """
    key = zlib.crc32(purpose.encode())
    return [np.random.default_rng(np.random.SeedSequence([seed, key, run])) for run in range(runs)]
