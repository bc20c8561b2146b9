"""Exact losses that decide claims: the laws against quadrature, brute force and draws, and the verdicts they give."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpregret.algorithms.privacy import Budget, gaussian_epsilon
from dpregret.algorithms.privacy.selection import Selection
from dpregret.paper_figs.judge.claims import load_claims
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.workflows.audit import exact_choice
from dpregret.workflows.audit import exact_frank_wolfe as wolfe
from dpregret.workflows.audit import exact_objective as objective
from dpregret.workflows.audit.erm import AuditedRisk
from dpregret.workflows.audit.exact_losses import exact_losses
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.paper_names import PAPERS, papers
from dpregret.workflows.proof_pages import PAGES

DELTA = 1e-6


@pytest.mark.parametrize("gap", [0.0, 0.15, 1.0, 4.0])
def test_the_raised_pair_is_chosen_as_quadrature_says(gap: float) -> None:
    def standing(place: float) -> float:
        density, tails = 0.5 * math.exp(-abs(place - gap)), []
        for apart in (place - gap, place):
            tails.append(0.5 * math.exp(-apart) if apart > 0 else 1 - 0.5 * math.exp(apart))
        return 2 * density * tails[0] * tails[1] ** 2

    found = sum(quad(standing, low, high, epsabs=1e-13)[0] for low, high in ((-60, 0), (0, gap), (gap, gap + 60)))
    assert wolfe.raised_pair(gap) == pytest.approx(found, abs=1e-12)
    probability, _ = exact_choice.choice_scores(np.array([gap, gap, 0.0, 0.0]), np.zeros(4))
    assert probability[:2].sum() == pytest.approx(found, abs=1e-12)
    assert probability.sum() == pytest.approx(1, abs=1e-12)


def test_theorem_5_4_is_violated_by_the_exact_loss() -> None:
    """The printed Laplace scale of Algorithm 4; at eps = 1 it takes a smaller delta."""
    for epsilon, rounds, lost in ((1, 100, 0.917), (3, 100, 3.034), (4, 100, 4.175), (8, 100, 9.292), (16, 100, 21.53),
                                  (4, 10**4, 4.269)):  # fmt: skip
        scale = wolfe.printed_scale(Budget(epsilon, DELTA), rounds)
        found = wolfe.attained_epsilon(scale, rounds, DELTA)
        assert found == pytest.approx(lost, abs=6e-3)
        assert found < Selection("laplace", scale, 1.0, rounds - 1).epsilon(DELTA)
    tiny = Budget(1.0, 1e-10)
    assert wolfe.attained_epsilon(wolfe.printed_scale(tiny, 10**4), 10**4, 1e-10) > 1.008
    assert wolfe.raised_pair(2 / wolfe.printed_scale(Budget(4.0, DELTA), 100)) == pytest.approx(0.455795, abs=1e-6)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_the_printed_scale_fails_beyond_the_failing_epsilon(delta: float) -> None:
    edge = wolfe.failing_epsilon(delta)
    for epsilon, fails in ((edge * 1.02, True), (edge * 0.98, False)):
        scale = wolfe.printed_scale(Budget(epsilon, delta), 10**6)
        assert (wolfe.attained_epsilon(scale, 10**6, delta) > epsilon) == fails


def test_scales_are_ordered_and_attain_what_they_say() -> None:
    for epsilon, rounds in itertools.product((0.5, 4.0), (10, 1000)):
        budget = Budget(epsilon, DELTA)
        refuted, proved = wolfe.refuted_scale(budget, rounds), wolfe.proved_scale(budget, rounds)
        assert wolfe.attained_epsilon(refuted, rounds, DELTA) == pytest.approx(epsilon, rel=1e-6)
        assert refuted < wolfe.ranged_scale(budget, rounds, 2.35) <= proved <= wolfe.purely_proved_scale(budget, rounds)
        line = Selection("laplace", proved, 1.0, rounds - 1)
        assert line.epsilon(DELTA) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("rounds", [2, 3, 4, 9, 40])
def test_the_released_point_tells_every_choice(rounds: int) -> None:
    """In exact arithmetic; for few rounds also that no two sequences lead to one point."""
    corners, step = [(1, 0), (-1, 0), (0, 1), (0, -1)], Fraction(1, rounds + 2)

    def released(sequence: list[tuple[int, ...]]) -> tuple[Fraction, ...]:
        point = [Fraction(0), Fraction(0)]
        for corner in sequence:
            point = [(1 - step) * old + step * new for old, new in zip(point, corner, strict=True)]
        return tuple(point)

    generator = np.random.default_rng(rounds)
    for _ in range(20):
        sequence = [corners[each] for each in generator.integers(4, size=rounds - 1)]
        assert wolfe.choices_told(released(sequence), rounds) == sequence
    if rounds <= 4:
        every = [list(each) for each in itertools.product(corners, repeat=rounds - 1)]
        assert len({released(each) for each in every}) == len(every)


def test_the_printed_scale_is_proved_up_to_an_epsilon() -> None:
    edge = wolfe.proved_epsilon(DELTA)
    assert edge == pytest.approx(0.388, abs=1e-3)
    assert edge < wolfe.failing_epsilon(DELTA)

    def enough(epsilon: float, rounds: int) -> bool:
        budget = Budget(epsilon, DELTA)
        return wolfe.proved_scale(budget, rounds) <= wolfe.printed_scale(budget, rounds)

    for share, rounds in itertools.product(np.geomspace(1e-3, 0.99, 12), (3, 40, 10**6)):
        assert enough(edge * float(share), rounds)
    assert not enough(1.01 * edge, 10**6)


def test_two_against_two_tell_most() -> None:
    """Fisher information 49/36 in units of (s / b)^2; neither other numbers, nor uneven scores, tell more."""
    even = exact_choice.information(np.zeros(4), np.array([1.0, 1, -1, -1]))
    assert even == pytest.approx(wolfe.INFORMATION, abs=1e-12)
    assert exact_choice.information(np.zeros(2), np.array([1.0, -1])) == pytest.approx(1, abs=1e-12)
    generator = np.random.default_rng(3)
    for count in (2, 3, 4, 5, 7, 12):
        for _ in range(20):
            scores, moves = generator.normal(size=count), generator.choice([-1.0, 1.0], size=count)
            assert exact_choice.information(scores * generator.choice([0, 0.2, 1]), moves) <= even + 1e-12


def test_slopes_of_a_choice_are_derivatives() -> None:
    scores, moves, small = np.array([0.3, -0.4, 0.0, 1.2]), np.array([1.0, -0.5, 0.25, -1.0]), 1e-5
    probability, slope = exact_choice.choice_scores(scores, moves)
    ahead, behind = (exact_choice.choice_scores(scores + sign * small * moves, moves)[0] for sign in (1, -1))
    assert slope == pytest.approx((np.log(ahead) - np.log(behind)) / (2 * small), abs=1e-7)
    assert probability @ slope == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "bend"), [(1.0, -3.65), (2.0, -2.0), (0.5, 1.0)])
def test_the_curved_loss_against_quadrature(epsilon: float, bend: float) -> None:
    """Densities of theta itself, integrated; units L / n = lambda / n = 1."""
    ridge, deviation = 2 / epsilon, objective.original_deviation(Budget(epsilon, DELTA))
    start = (1 - bend * deviation) / ridge

    def excess(theta: float) -> float:
        slope = min(max(theta - start - 1, -1), 1)
        curved = norm.pdf((slope + ridge * theta) / deviation) * (ridge + (0 < theta - start < 2))
        straight = norm.pdf((1 + ridge * theta) / deviation) * ridge
        return float(max(0.0, curved - math.exp(epsilon) * straight) / deviation)

    far = 12 * deviation / ridge
    ends = sorted({-far, *np.linspace(start - far, start + 2, 200), start, start + 2, start + far})
    found = sum(quad(excess, low, high, epsabs=1e-13)[0] for low, high in itertools.pairwise(ends))
    assert objective.curved_delta(epsilon, ridge, deviation, bend) == pytest.approx(found, rel=1e-3, abs=1e-10)


def test_objective_perturbation_loses_more_than_it_claims() -> None:
    budget = Budget(1.0, DELTA)
    original, printed = objective.original_deviation(budget), objective.printed_deviation(budget)
    assert objective.attained_epsilon(budget, original) == pytest.approx(1.0211, abs=2e-4)
    assert objective.attained_epsilon(budget, printed) == pytest.approx(1.857, abs=1e-3)
    assert objective.curved_delta(1.0, 2.0, original, -3.7) == pytest.approx(1.56e-6, rel=1e-2)
    for deviation in (original, printed):  # linear losses tell less
        assert objective.attained_epsilon(budget, deviation) > gaussian_epsilon(2 / deviation, DELTA)
    assert objective.attained_epsilon(Budget(4.0, DELTA), objective.original_deviation(Budget(4.0, DELTA))) < 4


def test_every_exact_loss_that_a_claim_names_is_known_and_refutes() -> None:
    found = exact_losses()
    named = {claim.exact for paper in papers() for claim in load_claims(PAPERS / paper / "claims.yaml").claims} - {""}
    assert named == set(found)
    assert all(loss.refutes for loss in found.values())
    assert not ExactLoss(1.0, 1.0, "nowhere").refutes


def test_the_page_is_current() -> None:
    assert PAGES["frank_wolfe_privacy"].renew(check=True)


def test_audited_objective_perturbation_knows_its_exact_loss() -> None:
    for variant, lost in (("printed", 8.381), ("kst", 3.928), ("corrected", 3.332)):
        audited = AuditedRisk(FAMILIES["erm"].learners["objective-perturbation"], variant, 4.0, DELTA, (1,))
        assert audited.exact == pytest.approx(lost, abs=1e-3)
        assert audited.exact < audited.accounted
