"""The printed noise of ApolySFW on one pair: laws against enumeration, the ledger and the running learner."""

import itertools
import math

import numpy as np
import pytest
from competing import choice_scores

from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.one_sample_frank_wolfe import OneSampleFrankWolfe
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.workflows.audit.erm import LinearSample
from dpregret.workflows.audit.exact_losses import raised_pair
from dpregret.workflows.audit.neighbours import generators, table_epsilon
from dpregret.workflows.mechanisms import corner_choices


@pytest.mark.parametrize("count", [1, 2, 3, 16])
def test_the_raised_half_is_chosen_as_quadrature_says(count: int) -> None:
    for gap in (0.0, 0.15, 1.0, 4.0):
        (found,) = corner_choices.raised_half(np.array([gap]), count)
        probability, _ = choice_scores(np.repeat([gap, 0.0], count), np.zeros(2 * count))
        assert found == pytest.approx(probability[:count].sum(), abs=1e-12)
        if count == 2:
            assert found == pytest.approx(raised_pair(gap), abs=1e-14)


@pytest.mark.parametrize("samples", [11, 64])
def test_moves_are_those_of_the_ledger(samples: int) -> None:
    """Slopes turn by 2: the worst record's moves over scales, squared, are what the ledger counts."""
    learner = corner_choices.printed(samples, 8.0)
    (plan,) = learner.plans
    moves = [corner_choices.moves(learner, record) for record in range(plan.steps + 1)]
    found = [np.square(2 * moved / plan.scales).sum() for moved in moves]
    assert max(found) == pytest.approx(learner._squares(plan))


@pytest.mark.parametrize(("epsilon", "record"), [(1.0, 1), (8.0, 0), (8.0, 1), (64.0, 2)])
def test_lower_bounds_are_below_the_loss_of_all_choices(epsilon: float, record: int) -> None:
    """n = 17, all signs of nine choices: close to it, and never above; the ledger is above."""
    learner = corner_choices.printed(17, epsilon, dimension=2)
    rare = corner_choices.signs(learner, record)
    turns = np.array(list(itertools.product([0, 1], repeat=len(rare))))
    laws = [np.where(turns, chance, 1 - chance).prod(axis=1) for chance in (rare, 1 - rare)]
    exact = table_epsilon(*laws, corner_choices.DELTA)
    found = corner_choices.choices_lose(learner, record)
    assert 0.999 * exact < found <= exact < learner.delivered_epsilon()[0]
    sums = turns @ learner.plans[0].kept[::-1]
    ends = [(laws[1][sums >= end].sum(), laws[0][sums >= end].sum()) for end in np.unique(sums)]
    lines = max(math.log(max(p - corner_choices.DELTA, 1e-300) / q) for p, q in ends)
    assert 0.99 * lines < corner_choices.point_loses(learner, record) <= lines * (1 + 1e-12) <= exact * (1 + 1e-9)


def test_the_running_learner_draws_these_signs() -> None:
    """The mean sum of coordinates of released points, of 2000 runs, for the record of either half."""
    runs, samples, dimension, domain = 2000, 37, 4, make_set("l1-ball", 4)
    for record in (0, 18):
        slopes = np.zeros((samples, dimension))
        slopes[record] = 1.0
        sample = LinearSample(slopes, runs)
        sample.smoothness = 0.0
        learner = OneSampleFrankWolfe(ErmProblem(domain, sample), [Budget(8.0, 1e-6)], runs, "printed")  # type: ignore[arg-type]
        (plan,) = learner.plans
        sums = learner.fit(generators((3,), runs))[0].sum(axis=1)
        rare = corner_choices.signs(learner, 0 if record == 0 else record - plan.first + 1)
        expected = -plan.eta * plan.kept[::-1] @ (1 - 2 * rare)
        assert abs(sums.mean() - expected) < 5 * sums.std() / math.sqrt(runs)
        assert abs(expected) > 3 * sums.std() / math.sqrt(runs)


def test_the_printed_scale_keeps_its_promise() -> None:
    """One row of the table: the pair loses most of what the ledger proves, and both are within what is stated."""
    learner = corner_choices.printed(64, 8.0)
    proved, lost = learner.delivered_epsilon()[0], corner_choices.choices_lose(learner, 1)
    assert 0.7 * proved < lost < proved < 8.0
    assert corner_choices.point_loses(learner, 8) < lost
