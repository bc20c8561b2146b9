"""Every learner at the edges: tiny and huge epsilon, one round, one run, one dimension, losses all alike or nil.

Either the learner says in one sentence what it needs, or its numbers are finite and its points in the set. Warnings are
errors here as everywhere.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.bandits.bandit_learner import BanditProblem, Given
from dpregret.algorithms.bandits.noisy_leader import NoisyLeader
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.online_to_batch import OnlineToBatch
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.expert_streams import ExpertBlock
from dpregret.datasets.losses import DirectionSquare
from dpregret.workflows.audit.bandits import by_text
from dpregret.workflows.audit.erm import DIMENSION, SAMPLES, LinearRisk, LinearSample
from dpregret.workflows.audit.neighbours import Special, generators
from dpregret.workflows.audit.online import LINE, LOSSES
from dpregret.workflows.audit.plan import load_settings
from dpregret.workflows.families import FAMILIES

SETTINGS = load_settings().learners
pytestmark = pytest.mark.parametrize("epsilon", [1e-3, pytest.param(1e3, marks=pytest.mark.nightly), math.inf])


def every(family: str, records: str = "") -> list[tuple[str, str]]:
    """Names and variants; records: of those that can do with them."""
    return [
        (name, variant)
        for name, kind in FAMILIES[family].learners.items()
        if not records or not kind.reads or records in kind.reads
        for variant in kind.card.variants
    ]


def at(epsilon: float) -> Budget:
    """Without privacy delta is nil, which no formula may need then."""
    return Budget(epsilon, 0.0 if math.isinf(epsilon) else 1e-6)


def started(make: Callable[[], Any], *refusals: str) -> Any:
    """The learner, or None where it says one of these sentences."""
    try:
        return make()
    except ValueError as refusal:
        if not any(words in str(refusal) for words in refusals):
            raise
        return None


def _square(side: float) -> DirectionSquare:
    return DirectionSquare(np.ones(1), np.full(1, side), 1.0)


@pytest.mark.parametrize(("name", "variant"), every("online"))
def test_online(name: str, variant: str, epsilon: float) -> None:
    """One run on an interval; the optimum is an end of it, inside it, or everywhere."""
    kind = FAMILIES["online"].learners[name]
    needs = kind.card.needs
    usual = "squared" if "quadratic" in needs else "quadratic" if "smooth" in needs else "kink"
    special = SETTINGS.get(name, Special())
    losses = LOSSES[special.losses if special.losses != "kink" else usual]
    make = _square if "quadratic-sums" in needs else partial(losses.make, LINE)  # which needs a quadratic form
    for rounds, window in ((1, 1), (2, 1), (64, 16)):
        problem = Problem(
            make_set("ball", 1), rounds, losses.lipschitz, losses.strong_convexity, losses.smoothness, float(rounds)
        )
        for pull in ([1.0] * rounds, [0.0] * rounds, [(-1.0) ** now for now in range(rounds)]):
            setting, refusal = Setting(window, at(epsilon)), "needs a horizon of at least 2"
            learner = started(lambda: kind(problem, [setting], 1, variant), refusal)  # noqa: B023
            if learner is None:
                assert rounds == 1
                assert variant.startswith("printed")
                continue
            record = play(learner, [make(side) for side in pull], generators((1,), 1), [rounds])
            assert np.isfinite(record.losses).all()
            assert (record.violation < 1e-9).all()
            assert not (learner.bound(rounds) < 0).any()
            assert (learner.displacement(rounds) >= 0).all()


@pytest.mark.parametrize(("name", "variant"), every("experts"))
def test_experts(name: str, variant: str, epsilon: float) -> None:
    """Two experts that never lose, one that always does, and both in turn."""
    kind = FAMILIES["experts"].learners[name]
    for rounds in (1, 2, 40):
        worse = np.tile([1.0, 0.0], (rounds, 1))
        turns = np.where(np.arange(rounds)[:, None] % 2, [0.0, 1.0], [1.0, 0.0])
        for losses in (worse, 0 * worse, turns):
            problem = ExpertProblem(np.ones(2), rounds, 0.0)
            refusals = ("leaves no switch", "needs batches of", "the paper needs p < 1/2")
            learner = started(lambda: kind(problem, at(epsilon), 1, variant), *refusals)  # noqa: B023
            if learner is None:
                assert epsilon == 1e-3 or variant.startswith(("printed", "balanced"))
                continue
            found = learner.play([ExpertBlock(losses[:, None], len(losses))], generators((1,), 1))
            assert np.isfinite(found.losses).all()
            assert (found.losses >= 0).all()
            assert (found.losses <= rounds).all()
            assert learner.delivered_epsilon()[0] >= 0


@pytest.mark.parametrize(("name", "variant"), every("bandits"))
def test_bandits(name: str, variant: str, epsilon: float) -> None:
    """Observed numbers that are nil, or far outside their range."""
    kind = FAMILIES["bandits"].learners[name]
    arms, played = "arms" in kind.card.needs, 0
    for rounds, size in ((1, 1), (4, 2), (256, 1), (1024, 2)):
        for number in (0.0, 1e6):
            domain = make_set("simplex", size + 1) if arms else make_set("ball", size)
            problem = BanditProblem(domain, rounds, 1.0, linear=True, arms=arms)
            refusals = ("longer horizon than", "a horizon of at least")
            learner = started(lambda: kind(problem, [at(epsilon)], 1, variant), *refusals)  # noqa: B023
            if learner is None:
                assert rounds < 256
                continue
            played += 1
            losses = by_text(np.full(rounds, number), domain.dimension)
            found = learner.play(Given(losses, generators((1,), 1), generators((2,), 1)))
            assert np.isfinite(found.losses).all()
            assert found.violation < 1e-9
            if isinstance(learner, NoisyLeader) and variant != "printed":  # whose bound nobody knows
                assert not np.isnan(learner.bound()).any()
    assert played >= 4


@pytest.mark.parametrize(("name", "variant"), every("erm", "stored"))
def test_risks(name: str, variant: str, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum is a vertex (or an end), or every point; one data set, one run."""
    kind = FAMILIES["erm"].learners[name]
    for most in ("MAX_ITERATIONS", "MAX_SAMPLES"):
        monkeypatch.setattr(kind, most, 64, raising=False)
    domain = make_set(kind.natural_set, DIMENSION)
    ridge = 0.5 if "strongly-convex" in kind.card.needs else 0.0
    for slope in (0.0, 1.0):
        slopes = np.zeros((SAMPLES, DIMENSION))
        slopes[:, 0] = slope
        problem = ErmProblem(domain, LinearRisk(slopes, domain, ridge))
        learner = started(lambda: kind(problem, [at(epsilon)], 1, variant), "proves no epsilon below")  # noqa: B023
        if learner is None:
            assert (variant, epsilon) == ("sampled", 1e-3)
            continue
        points = learner.fit(generators((3,), 1))
        assert np.isfinite(points).all()
        assert domain.violation(points).max() < 1e-9
        if (name, variant) == ("noisy-smd", "printed"):  # whose bound nobody knows
            assert np.isnan(learner.bound()).all()
        else:
            assert all(each >= 0 for each in learner.bound())


class Pull(LinearSample):
    """Few records that all pull to one side, or not at all, or to both sides in turn."""

    def __init__(self, pull: str, samples: int, dimension: int, bend: float):
        slopes = np.zeros((samples, dimension))
        slopes[:, 0] = {"along": 1.0, "nil": 0.0, "turns": (-1.0) ** np.arange(samples)}[pull]
        super().__init__(slopes, 1)
        self.samples, self.dimension = samples, dimension
        self.smoothness = self.curvature = bend  # larger than need be, or none


@pytest.mark.parametrize(("name", "variant"), every("erm", "fresh"))
@pytest.mark.parametrize("pull", ["along", "nil", "turns"])
def test_populations(name: str, variant: str, epsilon: float, pull: str) -> None:
    """Fresh records, few of them, with a mean of length 1 or 0; one run. The bound is one on the excess risk."""
    kind = FAMILIES["erm"].learners[name]
    unproved = kind is OnlineToBatch and not OnlineToBatch.choices()[variant].proved
    for samples, dimension, bend in itertools.product((1, 2, 3, 7, 37), (1, 4), (0.0, 0.0625)):
        domain = make_set(kind.natural_set, dimension)
        problem = ErmProblem(domain, Pull(pull, samples, dimension, bend))  # type: ignore[arg-type]
        refusals = ("needs at least", "needs losses that are linear")
        learner = started(lambda: kind(problem, [at(epsilon)], 1, variant), *refusals)  # noqa: B023
        if learner is None:
            assert samples == 1 or (name == "pol" and bend > 0)
            continue
        points = learner.fit(generators((3,), 1))
        assert points.shape == (1, 1, dimension)
        assert np.isfinite(points).all()
        assert domain.violation(points).max() < 1e-9
        (bound,) = learner.bound()
        assert math.isnan(bound) if unproved else 0 <= bound < math.inf
        excess = 1 + points[0, 0, 0] if pull == "along" else 0.0
        assert not (math.isinf(epsilon) and excess > bound)  # nothing is random
