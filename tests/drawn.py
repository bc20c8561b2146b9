"""Generators of a play's runs, and whether what was drawn has its exact law."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pytest
from scipy import stats


def generators(runs: int | Sequence[int], seed: int = 0) -> list[np.random.Generator]:
    """One a run; runs: how many, or which."""
    return [np.random.default_rng([seed, run]) for run in (range(runs) if isinstance(runs, int) else runs)]


def p_value(found: Counter[Hashable], wanted: Mapping[Hashable, float]) -> float:
    """Chi-square of counts against probabilities that add up to one; cells below 8 expected counts are pooled."""
    assert set(found) <= set(wanted)
    assert sum(wanted.values()) == pytest.approx(1, abs=1e-9)
    total = found.total()
    large = [cell for cell, chance in wanted.items() if chance * total >= 8]
    counts = [found[cell] for cell in large]
    expected = [wanted[cell] * total for cell in large]
    if total - sum(expected) > 1e-6 * total:
        counts, expected = [*counts, total - sum(counts)], [*expected, total - sum(expected)]
    return float(stats.chisquare(counts, expected).pvalue)
