"""What learners release that choose and add no noise to sums: their choices have the law that the ledger prices.

Laws are computed here from the scale in the ledger. Algorithm 1 of experts is in experts/test_lazy_learners.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from drawn import p_value
from released import Flat, generators
from scipy import integrate, stats
from scipy.special import softmax

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.polytope_frank_wolfe import CornerFrankWolfe
from dpregret.algorithms.experts.adaptive import AdaptiveExperts, Phases
from dpregret.algorithms.experts.base import ExpertProblem
from dpregret.algorithms.experts.counters import TreeCounterExperts
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Problem, Setting, play
from dpregret.algorithms.online.private_switching import NetExperts
from dpregret.algorithms.privacy import Budget
from dpregret.datasets.losses import Quadratic
from dpregret.workflows.audit.experts import Table, chain, halting, law, restless
from dpregret.workflows.families import FAMILIES

RUNS, RARE = 4000, 1e-6
BUDGET = Budget(4.0, 1e-6)


def choice_law(distribution: str, scores: np.ndarray) -> np.ndarray:
    """P(each is the smallest) of scores in units of the noise."""
    if distribution == "gumbel":
        return np.asarray(softmax(-scores))

    def chance(place: int) -> float:
        others = np.delete(scores, place) - scores[place]
        kinks = sorted({0.0, *others})

        def density(noise: float) -> float:
            return float(stats.laplace.pdf(noise) * stats.laplace.sf(noise - others).prod())

        return float(integrate.quad(density, -40, 40, points=kinks, limit=200)[0])

    return np.array([chance(place) for place in range(len(scores))])


@pytest.mark.parametrize("variant", CornerFrankWolfe.card.variants)
def test_every_choice_of_frank_wolfe_has_noise_of_its_own_and_of_the_ledgers_scale(variant: str) -> None:
    """Scores that stay the same: choices of all rounds have one law, and those of two rounds are independent."""
    rounds, dimension = 4, 3
    short = type("Short", (CornerFrankWolfe,), {"MAX_ITERATIONS": rounds + 1})
    risk = Flat(np.zeros(dimension))
    learner = short(ErmProblem(make_set("l1-ball", dimension), risk), [BUDGET], RUNS, variant)
    (line,) = learner.ledger()
    assert line.calls == rounds
    risk.slope = line.scale * np.array([0.9, -0.3, 0.1])
    wanted = choice_law(line.distribution, learner.corners.scores(risk.slope) / line.scale)
    chosen: list[np.ndarray] = []
    learner.corners.step = lambda points, taken, step: chosen.append(taken.copy())  # type: ignore[method-assign]
    learner.fit(generators(7, "noise", RUNS))
    assert len(chosen) == rounds
    for now in chosen:
        assert p_value(Counter(now.tolist()), dict(enumerate(wanted))) > RARE
    pairs = {(a, b): p * q for a, p in enumerate(wanted) for b, q in enumerate(wanted)}
    for lag in range(1, rounds):
        both = zip(chosen[0].tolist(), chosen[lag].tolist(), strict=True)
        assert p_value(Counter(both), pairs) > RARE, f"rounds 1 and {1 + lag} share their noise"


def test_a_counter_has_the_noise_of_its_ledger() -> None:
    """Two rounds, two experts, a threshold of about the noise: the law of total loss and draws."""
    losses = np.array([[0.7, 0.2], [0.05, 0.6]])
    learner = TreeCounterExperts(ExpertProblem(np.ones(2), 2), Budget(2.0), RUNS, "single")
    learner.threshold, learner.draw_scale = 0.5 * learner.scale, 0.4
    wanted: dict[Hashable, float] = defaultdict(float)
    again = softmax(-losses[0] / learner.draw_scale)
    for first in (0, 1):
        leaves = float(stats.laplace.sf(learner.threshold - losses[0, first], scale=learner.scale))
        wanted[round(losses[0, first] + losses[1, first], 6), 0.0] += (1 - leaves) / 2
        for then in (0, 1):
            wanted[round(losses[0, first] + losses[1, then], 6), 1.0] += leaves * again[then] / 2
    record = learner.play([Table(losses[:, None])], generators(7, "noise", RUNS))
    assert p_value(Counter(zip(record.losses.round(6).tolist(), record.draws.tolist(), strict=True)), wanted) > RARE


def test_released_losses_of_a_guess_have_the_noise_of_their_ledger() -> None:
    """Algorithm 2: a drawn expert's loss plus Laplace(K/e), against the guess and the slack; the law of phases."""
    losses = np.array([[0.7, 0.2], [0.3, 0.6]])
    learner = AdaptiveExperts(ExpertProblem(np.ones(2), 2), Budget(60.0), RUNS, "cold")
    learner.phases = Phases(5, 15.0, 1.0)
    made, scale, slack = learner.plan, 0.8, 0.3
    vars(learner).update(
        plan=lambda guess, epsilon=None: restless(made(guess, epsilon)), release_scale=scale, slack=slack
    )
    wanted: dict[Hashable, float] = defaultdict(float)
    for events, chance in law(restless(made(1.0)), losses).items():  # no loss exceeds a guess: draws are alike in all
        laws = {1: chance}
        for now, drawn in events[1:]:
            after: dict[int, float] = defaultdict(float)
            for phase, share in laws.items():
                doubles = float(stats.laplace.sf(2.0 ** (phase - 1) + slack - losses[:now, drawn].sum(), scale=scale))
                after[phase + 1] += share * doubles
                after[phase] += share * (1 - doubles)
            laws = after
        for phase, share in laws.items():
            wanted[float(phase), float(len(events) - 1)] += share
    record = learner.play([Table(losses[:, None])], generators(7, "noise", RUNS))
    assert record.phases is not None
    assert p_value(Counter(zip(record.phases.tolist(), record.draws.tolist(), strict=True)), wanted) > RARE


def test_switching_over_a_net_has_the_law_of_algorithm_1() -> None:
    """Points of three rounds, for losses that differ: the test of a round sees the losses before it, and no more."""
    rounds = 3
    problem = Problem(make_set("ball", 1), rounds, 2.0, 1.0, 1.0, best_loss=0.0)
    learner = NetExperts(problem, [Setting(rounds, Budget(16.0))], RUNS, "pure")
    learner.plans = [restless(plan) for plan in learner.plans]
    given: list[Any] = [Quadratic(np.array([place]), 1.0) for place in (0.9, -0.8, 0.2)]
    table = np.array([[float(each.value(point)) / learner.unit for point in learner.net] for each in given])
    assert table.max() <= 1
    (plan,), wanted = learner.plans, defaultdict[Hashable, float](float)

    def go_on(played: tuple[int, ...], draws: int, probability: float) -> None:
        start, expert = len(played), played[-1]  # a test that opens in a round is first asked for the next one
        held = [table[start - 1 : now, expert].sum() for now in range(start, rounds)] if draws < plan.switches else []
        *halts, never = halting(plan.threshold_epsilon, plan.threshold, tuple(map(float, held)))
        wanted[(*played, *[expert] * (rounds - start))] += probability * never
        for now, chance in zip(range(start, rounds), halts, strict=False):
            weights = softmax(-plan.eta * np.maximum(table[:now].sum(axis=0), plan.best_loss) / 2)
            for drawn, weight in enumerate(weights):
                go_on((*played, *[expert] * (now - start), drawn), draws + 1, probability * chance * float(weight))

    for expert in range(len(learner.net)):
        go_on((expert,), 0, 1 / len(learner.net))
    watched = [Watched(each) for each in given]
    play(learner, watched, generators(7, "noise", RUNS), [rounds])
    places = [np.abs(each.points[:, :1] - learner.net[:, 0]).argmin(axis=1).tolist() for each in watched]
    assert p_value(Counter(zip(*places, strict=True)), wanted) > RARE


class Watched:
    """A loss that keeps the points that were played, (runs, d)."""

    def __init__(self, loss: Any):
        self.loss, self.points = loss, np.empty(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loss, name)

    def value_and_gradient(self, points: np.ndarray) -> Any:
        self.points = points[0].copy()
        return self.loss.value_and_gradient(points)


CHAINS = [(name, variant) for name, kind in FAMILIES["experts"].learners.items() if kind.exact
          for variant in kind.card.variants]  # fmt: skip


@pytest.mark.parametrize(("name", "variant"), CHAINS)
def test_hedge_is_charged_by_the_chain_that_is_audited(name: str, variant: str) -> None:
    """Odd rounds: the expected loss of the play is that of the Markov chain, by its marginals before each loss."""
    losses = np.random.default_rng(5).random((21, 2))
    learner = FAMILIES["experts"].learners[name](ExpertProblem(np.ones(2), 21, 3.0), BUDGET, 1, variant)
    start, moves, shown = chain(learner, losses)
    marginal, total = start, 0.0
    for now, loss in enumerate(losses):
        total += float(marginal @ loss[shown])
        marginal = marginal @ moves[now] if now < len(moves) else marginal
    assert learner.play([Table(losses[:, None])], generators(7, "noise", 1)).losses == pytest.approx(total, rel=1e-12)
