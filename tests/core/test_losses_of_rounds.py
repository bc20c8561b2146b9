"""Losses of consecutive rounds: laid out for loops, or handed out one by one, they are the same."""

import numpy as np
import pytest

from dpregret.core.losses import Losses, Rounds, together
from dpregret.datasets.losses import DirectionKink, NormKink, RidgeSquared

RNG = np.random.default_rng(3)
SERIES = {
    "vectors and an anchor": Losses(DirectionKink, [RNG.normal(size=(7, 2, 3))], [np.ones(3), 0.5]),
    "vectors and labels of one sequence": Losses(RidgeSquared, [RNG.normal(size=(7, 3)), RNG.normal(size=7)], [0.5]),
}


@pytest.mark.parametrize("losses", SERIES.values(), ids=SERIES)
def test_what_is_laid_out_is_what_single_losses_hold(losses: Losses) -> None:
    part = losses[2:5]
    for laid, own in zip(part.laid(), part.kind.own, strict=True):
        for now, one in enumerate(part):
            held = np.asarray(getattr(one, own))
            np.testing.assert_array_equal(laid[now].reshape(held.shape), held)


def test_rounds_end_with_a_block_and_at_the_horizon() -> None:
    losses = SERIES["vectors and an anchor"]
    rounds = Rounds([losses, losses], horizon=12)
    taken = [rounds.take(count) for count in (5, 4, 9, 1)]
    assert [len(each) for each in taken] == [5, 2, 5, 0]
    expected = [*losses, *losses][:12]
    for ours, theirs in zip((each for part in taken for each in part), expected, strict=True):
        np.testing.assert_array_equal(ours.gradient(np.zeros(3)), theirs.gradient(np.zeros(3)))


def test_one_loss_in_all_rounds_is_laid_out_once() -> None:
    one = NormKink(np.ones(3), 1.0, 0.5)
    found = together([one] * 4)
    assert found is not None
    assert (len(found), [each.shape for each in found.laid()]) == (4, [(1, 1, 3)])
    two = DirectionKink(np.eye(3), np.ones(3), 0.5)
    alike = together([two] * 4)
    assert alike is not None
    assert [each.shape for each in alike.laid()] == [(1, 3, 3)]
    assert together([one, two]) is None


def test_points_and_losses_broadcast() -> None:
    """A point for all losses, losses of many rounds, and as many columns as fill no tile."""
    direction, anchor = RNG.normal(size=(5, 30, 4)), RNG.normal(size=4)
    loss, point = DirectionKink(direction, anchor, 0.5), RNG.normal(size=4)
    expected = np.abs(direction @ (point - anchor)) + 0.25 * np.sum((point - anchor) ** 2)
    value, gradient = loss.value_and_gradient(point)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    assert gradient.shape == (5, 30, 4)
