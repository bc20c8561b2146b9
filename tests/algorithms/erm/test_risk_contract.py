"""What every learner of risks keeps, whatever it does inside; on the first risk and set that it takes."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import learners
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.risks import make_risk

EVERY = [(name, variant) for name, kind in learners("erm").items() for variant in kind.card.variants]
BUDGETS = [Budget(0.5, 1e-6), Budget(4.0, 1e-6), Budget(math.inf)]
PLACES = ["ball", "l1-ball", "grouped-l1", "nuclear"]
RISKS = {
    "stored": ["norm-kink-risk", "quadratic-risk", "logistic-risk", "hetero-consensus"],
    "fresh": ["quadratic-population", "lasso-population"],
}
SAMPLES = 65


def made(name: str, variant: str, runs: int, budgets: Sequence[Budget] = BUDGETS) -> Any:
    kind = learners("erm")[name]
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": 64, "MAX_SAMPLES": 64})
    kinds = [each for each in RISKS if not kind.reads or each in kind.reads]
    for risk, place in itertools.product(itertools.chain(*(RISKS[each] for each in kinds)), PLACES):
        try:
            domain = make_set(place, 9)
            data = make_risk(risk, domain, SAMPLES, generators(runs, 3))
            return short(ErmProblem(domain, data), budgets, runs, variant)
        except ValueError:
            continue
    raise AssertionError(f"{name} takes none of the risks")


@pytest.mark.parametrize(("name", "variant"), EVERY)
def test_points_lie_in_the_set_and_the_bound_covers_their_mean_excess(name: str, variant: str) -> None:
    runs = 16
    learner = made(name, variant, runs)
    points = learner.fit(generators(runs, 5))
    assert learner.domain.violation(points).max() <= 1e-9
    excess = learner.risk.value(points) - learner.risk.optimum()[0]
    assert (excess >= -1e-8).all()
    error = excess.std(axis=1, ddof=1) / math.sqrt(runs)
    bound = np.array(learner.bound())
    assert (np.isnan(bound) | (excess.mean(axis=1) <= bound + 3 * error)).all()
    if learner.card.private and variant not in ("printed", "kst"):  # a paper's own constants, or other neighbours
        assert all(a <= b.epsilon * (1 + 1e-6) for a, b in zip(learner.delivered_epsilon(), BUDGETS, strict=True))


REFUSED: list[tuple[str, str, str, str, Budget]] = [
    ("private-fw", "corrected", "hetero-consensus", "ball", BUDGETS[1]),  # no list of corners
    ("private-fw", "balanced", "hetero-consensus", "l1-ball", Budget(1.0)),
    ("fw", "plain", "norm-kink-risk", "l1-ball", BUDGETS[1]),
    ("noisy-eg", "corrected", "norm-kink-risk", "ball", BUDGETS[1]),
    ("noisy-gd-strong", "corrected", "norm-kink-risk", "ball", BUDGETS[1]),
    ("noisy-gd", "corrected", "norm-kink-risk", "ball", Budget(1.0)),
    ("noisy-sgd", "sampled", "norm-kink-risk", "ball", Budget(1.0)),
    ("objective-perturbation", "corrected", "quadratic-risk", "ball", BUDGETS[1]),
    ("objective-perturbation", "corrected", "logistic-risk", "ball", Budget(1.0)),
    ("chaudhuri", "plain", "quadratic-risk", "ball", BUDGETS[1]),
    ("output-perturbation", "corrected", "logistic-risk", "ball", BUDGETS[1]),
    ("projected-gradient", "plain", "norm-kink-risk", "ball", BUDGETS[1]),
    ("private-vr-fw", "balanced", "quadratic-population", "ball", BUDGETS[1]),
    ("private-vr-fw", "balanced", "lasso-population", "l1-ball", Budget(1.0)),
    ("phased-sgd", "corrected", "quadratic-risk", "ball", BUDGETS[1]),
    ("one-pass-ftrl", "root", "quadratic-risk", "ball", BUDGETS[1]),
]


@pytest.mark.parametrize(("name", "variant", "risk", "place", "budget"), REFUSED)
def test_what_a_learner_cannot_do_is_refused_before_it_is_played(
    name: str, variant: str, risk: str, place: str, budget: Budget
) -> None:
    kind = learners("erm")[name]
    domain = make_set(place, 9)
    data = make_risk(risk, domain, 80, generators(1, 3))
    with pytest.raises(ValueError, match=f"{name}|delta > 0|'{place}' has no"):
        kind(ErmProblem(domain, data), [budget], 1, variant)
