"""Losses that are handed out some rounds at a time are those that come one by one."""

from itertools import chain

import numpy as np
import pytest

from dpregret.core.kernels import packed
from dpregret.core.losses import Rounds, Series
from dpregret.datasets.losses import DirectionKink, RidgeSquared

RNG = np.random.default_rng(3)
SERIES = {
    "vectors and an anchor": Series(DirectionKink, [RNG.normal(size=(7, 2, 3))], [np.ones(3), 0.5]),
    "vectors and labels of one sequence": Series(RidgeSquared, [RNG.normal(size=(7, 3)), RNG.normal(size=7)], [0.5]),
}


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_a_series_packs_as_its_losses_do(series: Series) -> None:
    together, single = packed(series[2:5], 3), packed(list(series)[2:5], 3)
    assert together is not None
    assert single is not None
    assert together.code == single.code
    for ours, theirs in zip(together[1:], single[1:], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rounds_are_taken_across_blocks_and_end_at_the_horizon() -> None:
    series = SERIES["vectors and an anchor"]
    rounds = Rounds([series, series], horizon=12)
    taken = [rounds.take(count) for count in (5, 4, 9, 1)]
    assert [len(each) for each in taken] == [5, 4, 3, 0]
    assert [isinstance(each, Series) for each in taken] == [True, False, True, False]
    expected = [*series, *series][:12]
    for ours, theirs in zip(chain(*taken), expected, strict=True):
        np.testing.assert_array_equal(ours.gradient(np.zeros(3)), theirs.gradient(np.zeros(3)))
