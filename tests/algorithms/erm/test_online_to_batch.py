"""Online-to-batch against plain arithmetic: points, sums, what a record moves, regret and risk, every learner."""

import math
from collections.abc import Sequence
from time import process_time
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from drawn import generators
from slow_loops import LONG, slow_at_first
from tiny_risks import Bowls

from dpregret.algorithms import learner as online_rounds
from dpregret.algorithms.erm.erm_learner import ErmProblem
from dpregret.algorithms.erm.one_pass_ftrl import OnePassLeader
from dpregret.algorithms.erm.online_to_batch import CHOICES, Choice, OnlineToBatch
from dpregret.algorithms.erm.phased_sgd import PhasedSgd
from dpregret.algorithms.geometry import CountedSet, make_set
from dpregret.algorithms.learner import Learner, learners
from dpregret.algorithms.privacy import Budget, gaussian_mu, prefix_sums, unit_noise
from dpregret.datasets.risks import make_risk
from dpregret.workflows.families.erm import facing

BUDGETS = (Budget(math.inf, 1e-6), Budget(4.0, 1e-6))
DIMENSION, RUNS = 3, 2


def made(variant: str, risk: Any, budgets: Sequence[Budget] = BUDGETS, place: str = "ball") -> OnlineToBatch:
    return OnlineToBatch(ErmProblem(make_set(place, DIMENSION), risk), budgets, RUNS, variant)


def watched(learner: OnlineToBatch, patch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    """Points of the online learner and what it is charged, as they come in `fit`."""
    points, slopes, real = [], [], learner.learner

    def following() -> Learner:
        online = real()
        observe = online.observe

        def observed(loss: Any, gradient: Any, noise: Any) -> None:
            points.append(online.point.copy())
            slopes.append(loss.slope.copy())
            observe(loss, gradient, noise)

        online.observe = observed  # type: ignore[method-assign]
        return online

    patch.setattr(learner, "learner", following)
    return points, slopes


@pytest.mark.parametrize("variant", CHOICES)
@pytest.mark.parametrize("samples", [1, 2, 9])
def test_what_is_released_is_a_weighted_mean_and_what_is_charged_a_sum(
    variant: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x_n = sum t w_t / sum t, over n - 1 charges and the last answer; charges by the definition of delta."""
    risk = Bowls(samples, DIMENSION, RUNS)
    learner = made(variant, risk, BUDGETS[:1])
    points, slopes = watched(learner, monkeypatch)
    released = learner.fit(generators(RUNS, 3))
    assert len(points) == samples - 1
    assert make_set("ball", DIMENSION).violation(released).max() <= 1e-12
    total, before, mean = np.zeros((1, RUNS, DIMENSION)), None, np.zeros((1, RUNS, DIMENSION))
    for t, (played, slope) in enumerate(zip(points, slopes, strict=True), start=1):
        before, mean = mean, (mean * (t * (t - 1) / 2) + t * played) / (t * (t + 1) / 2)
        record = risk.records[:, :, t - 1]
        total += t * risk.gradients(mean, record) - (t - 1) * risk.gradients(before, record)
        assert slope * learner.units[0] == pytest.approx(total, abs=1e-9)
    if samples > 1:
        left = released * (samples * (samples + 1) / 2) - mean * (samples * (samples - 1) / 2)
        assert make_set("ball", DIMENSION).violation(left / samples).max() <= 1e-9, "the last answer"


@pytest.mark.parametrize("t", [1, 2, 5, 1000])
def test_a_record_moves_its_item_by_the_same_whatever_its_place(t: int) -> None:
    """The steepest smooth losses, points as far apart as weights t allow: |delta| up to L + (t-1)/(t+1) 2 beta D <= M.

    Two such records are 2 M apart; without the subtraction they would be 2 t L apart.
    """
    learner = made("descent", Bowls(3, 1, 1))
    steep, beta, worst = learner.risk.lipschitz, learner.risk.smoothness, 0.0
    for start in np.linspace(-1, 1, 21):
        for answer in np.linspace(-1, 1, 21):
            now = start + 2 / (t + 1) * (answer - start)
            ends = [max(-steep, min(steep, end)) for end in (steep, steep - beta * abs(now - start))]
            worst = max(worst, abs(t * ends[0] - (t - 1) * ends[1]))  # slope L now, as much less before as beta allows
    assert worst == pytest.approx(steep + (t - 1) / (t + 1) * 2 * beta * 2.0)
    assert worst <= learner.moved
    assert learner.ledger()[1].sensitivity == 2 * learner.moved


@pytest.mark.parametrize("place", [0, 4, 7, 8])
def test_a_record_is_known_from_the_next_charge_on(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same noise, one record replaced: charges before its round are the same; the last record is never used."""
    seen = []
    for side in (0.0, 0.5):
        risk = Bowls(9, DIMENSION, RUNS)
        risk.records[:, :, place, :DIMENSION] += side
        learner = made("descent", risk)
        points, slopes = watched(learner, monkeypatch)
        seen.append((learner.fit(generators(RUNS, 3)), np.array(slopes), np.array(points)))
    (first, slopes, points), (second, others, elsewhere) = seen
    assert np.array_equal(slopes[:place], others[:place])
    assert np.array_equal(points[: place + 1], elsewhere[: place + 1])
    assert np.array_equal(first, second) == (place == 8)
    assert place == 8 or not np.array_equal(slopes[place], others[place])


PROVED = [name for name, choice in CHOICES.items() if choice.proved]


@pytest.mark.parametrize("variant", PROVED)
def test_regret_on_noisy_charges_stays_below_what_the_bound_adds_up(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charges as large as the bound lets them be in mean square, in the units of the learner: growing like t."""
    risk = Bowls(60, DIMENSION, RUNS)
    learner = made(variant, risk, BUDGETS[1:])
    points, slopes = watched(learner, monkeypatch)
    learner.fit(generators(RUNS, 4))
    total = np.sum(slopes, axis=0)
    regret = np.sum([np.sum(a * b, axis=-1) for a, b in zip(slopes, points, strict=True)], axis=0)
    regret += np.linalg.norm(total, axis=-1)
    allowed = learner.learner().bound(60)[:, -1] + 0.5 * 60 * learner.ridge * learner.radius**2
    assert (regret.mean(axis=1) <= allowed).all()
    sizes = np.sqrt(np.mean(np.sum(np.square(np.array(slopes) * learner.units[0]), axis=-1), axis=(1, 2)))
    assert (sizes <= 1.3 * learner._sizes()[0, :59]).all()
    assert np.sqrt(np.square(learner._sizes()).mean()) == pytest.approx(learner.units[0])


UNSERVED = {"quadratic", "quadratic-sums"}
ONLINE = sorted(name for name, kind in learners("online").items() if not UNSERVED & kind.card.needs)
"""All but learners of squared losses with features, or of losses whose sums are quadratic forms."""


@pytest.mark.parametrize("name", ONLINE)
def test_every_online_learner_is_served(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found, not listed: points of the set that do better than the first one, or one line that says what is missing."""
    kind = learners("online")[name]
    choice = Choice(kind, "-", next(iter(kind.card.variants)))
    monkeypatch.setattr(OnlineToBatch, "choices", classmethod(lambda cls: MappingProxyType({"descent": choice})))
    domain, samples = make_set("ball", 2), 512
    risk = make_risk("quadratic-population", domain, samples, generators(RUNS, 5))
    problem = ErmProblem(domain, risk)
    if "best-loss" in kind.card.needs:
        with pytest.raises(ValueError, match=f"{name} needs a bound"):
            OnlineToBatch(problem, [Budget(math.inf)], RUNS, "descent")
        return
    learner = OnlineToBatch(problem, [Budget(math.inf)], RUNS, "descent")
    released = learner.fit(generators(RUNS, 6))
    assert domain.violation(released).max() <= 1e-9
    excess = (risk.value(released) - risk.optimum()[0]).mean()
    trivial = (risk.value(np.zeros((RUNS, 2))) - risk.optimum()[0]).mean()
    assert excess < 0.5 * trivial or name in {"stay", "adaptive-sampled"}


@pytest.mark.parametrize("variant", ["shrinking", "implicit", "oracle"])
def test_compiling_is_no_cost_of_a_fit(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is what prices an oracle; and nothing is played in that time."""
    wanted = made(variant, Bowls(9, DIMENSION, RUNS)).fit(generators(RUNS, 3))
    loops = slow_at_first(online_rounds, monkeypatch)
    learner, began = made(variant, Bowls(9, DIMENSION, RUNS)), process_time()
    np.testing.assert_array_equal(learner.fit(generators(RUNS, 3)), wanted)
    assert loops
    assert learner.apart >= LONG * len(loops)
    assert process_time() - began - learner.apart < LONG


THREE = [Budget(math.inf), Budget(8.0, 1e-6), Budget(0.5, 1e-6)]
SAMPLES = 37


def populated(kind: Any, variant: str, risk: str, place: str = "ball", dimension: int = 5, **sizes: Any) -> Any:
    sizes = {"samples": SAMPLES, "runs": RUNS, **sizes}
    domain, runs, samples = make_set(place, dimension), sizes.pop("runs"), sizes.pop("samples")
    made = facing(make_risk(risk, domain, samples, generators(runs, 1), **sizes), THREE)
    return kind(ErmProblem(CountedSet(domain), made), THREE, runs, variant)


def test_phased_sgd_line_by_line() -> None:
    """Phases of 18, 9, 4, 2 and 1 of 37 records, one run and setting at a time."""
    learner = populated(PhasedSgd, "corrected", "quadratic-population", beta=2.0)
    records, noises = learner.fresh.stream().take(SAMPLES), unit_noise("gaussian", generators(RUNS, 2), 5, 5)
    released = learner.fit(generators(RUNS, 2))
    for place, (budget, eta) in enumerate(zip(THREE, learner.steps, strict=True)):
        for run in range(RUNS):
            point, begun = learner.domain.center(), 0
            for phase, length in enumerate([18, 9, 4, 2, 1], 1):
                step, total = eta / 4**phase, np.zeros(5)
                for record in records[0, run, begun : begun + length]:
                    total += point
                    point = learner.domain.project(point - step * 2.0 * (point - record))
                begun += length
                noise = 2 * learner.fresh.lipschitz * step / gaussian_mu(budget) * noises[phase - 1, run]
                point = learner.domain.project(total / length + noise)
            assert released[place, run] == pytest.approx(point, abs=1e-12)


@pytest.mark.parametrize("variant", OnePassLeader.card.variants)
def test_ftrl_line_by_line(variant: str) -> None:
    learner = populated(OnePassLeader, variant, "quadratic-population")
    assert [line.sensitivity for line in learner.ledger()] == [2 * learner.fresh.lipschitz] * 3
    assert learner.delivered_epsilon() == pytest.approx([math.inf, 8.0, 0.5])
    records, released = learner.fresh.stream().take(SAMPLES), learner.fit(generators(RUNS, 2))
    noise = next(learner.noise_plan.blocks(generators(RUNS, 2)))
    for place, weight in enumerate(learner.regularisation):
        for run in range(RUNS):
            point, gradients, played = learner.domain.center(), np.zeros(5), []
            for record, own in zip(records[0, run], noise[:, place, run], strict=False):
                played.append(point)
                gradients = gradients + point - record
                point = learner.domain.project(learner.domain.center() - (gradients + own) / weight)
            assert released[place, run] == pytest.approx(np.mean(played, axis=0), abs=1e-12)


def test_the_guarantee_of_phased_sgd_is_the_one_of_its_box() -> None:
    """n a power of two: 4 D0^2 / (eta n) + eta L^2 (1/6 + 16 p / (mu^2 n)) and what is smaller by n; eta is best."""
    learner = populated(PhasedSgd, "corrected", "linear-population", samples=2**14, dimension=16)
    for budget, bound, eta, line in zip(THREE, learner.bound(), learner.steps, learner.ledger(), strict=True):
        mu, n = gaussian_mu(budget), 2.0**14
        assert bound == pytest.approx(4 * math.sqrt(1 / (6 * n) + 16 * 16 / (mu * n) ** 2), rel=2e-3)
        assert bound <= 1.64 / math.sqrt(n) + 16 * 4 / (mu * n)
        assert line.mu() == pytest.approx(mu)
        start, drift = learner._guarantee(1 / mu)
        assert all(start / other + drift * other >= bound for other in (0.9 * eta, 1.1 * eta))
    assert learner.delivered_epsilon() == pytest.approx([math.inf, 8.0, 0.5])
    smooth = populated(PhasedSgd, "corrected", "quadratic-population", samples=16, beta=50.0)
    assert smooth.steps.max() <= 8 / 50


def test_the_guarantee_of_ftrl_is_a_regret_over_n() -> None:
    learner = populated(OnePassLeader, "root", "linear-population", samples=101)
    root = np.sqrt(learner.noise_plan.mechanisms[0].noisy_nodes(100) * 5)  # sqrt(V_t) of unit noise
    for place, scale in enumerate(learner.noise_plan.scales):
        drift = 101 / 2 + scale * root.sum()
        assert learner.bound()[place] == pytest.approx(math.sqrt(2 * drift) / 101)
    assert isinstance(learner.noise_plan.mechanisms[0], prefix_sums.PrefixSums)
