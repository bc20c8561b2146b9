"""Exact losses: laws and formulas against quadrature, brute force and draws; the claims and pages that they decide."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from competing import (
    INFORMATION,
    WIDEST,
    choice_scores,
    choice_slopes,
    distance,
    equal_pair_range,
    failing_epsilon,
    pair_ranges,
    proved_epsilon,
    purely_proved_scale,
    random_pairs,
    ranged_scale,
    refuted_scale,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from dpregret.algorithms.erm.objective_perturbation import ObjectivePerturbation
from dpregret.algorithms.online.wdp_cocol import WdpCocolGamma
from dpregret.algorithms.online.wdp_cocop import WdpCocopGamma
from dpregret.algorithms.privacy import Budget, gaussian_epsilon
from dpregret.algorithms.privacy.selection import RANGES, Selection, calibrate_selection
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.read_claims import load_claims
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.workflows.audit import exact_losses as exact
from dpregret.workflows.audit.erm import AuditedRisk
from dpregret.workflows.audit.neighbours import Special, generators, table_epsilon
from dpregret.workflows.audit.online import AuditedLast
from dpregret.workflows.plan.read import PAPERS, papers

DELTA = 1e-6
MANY = 10**6
PROOFS = Path(__file__).resolve().parents[2] / "docs" / "proofs"
FIVE = np.array([0.0, 0.0, WIDEST, WIDEST, WIDEST])


def law(scores: Array) -> Array:
    return choice_scores(scores, np.zeros(len(scores)))[0]


def test_formulas_1_and_2_are_the_range() -> None:
    for pair in random_pairs(60, 1):
        assert 2 * (2 - pair.z()) == pytest.approx(pair_ranges(pair.scores)[0, 1], abs=1e-9)


def test_the_linear_form_is_a_lower_bound_of_z() -> None:
    """Formula (3) in its three cases; an equation where lam <= 1."""
    cases = set()
    for pair in random_pairs(200, 2):
        exact = pair.first * pair.z()
        if pair.lam < 1:
            assert pair.linear(at_zero=False) == pytest.approx(exact, abs=1e-9)
        else:
            assert pair.linear(at_zero=False) <= exact + 1e-9
        if pair.lam >= 1 and pair.splice_at_zero_is_allowed():
            assert pair.linear(at_zero=True) <= exact + 1e-9
            cases.add("at zero")
        cases.add(pair.lam < 1)
    assert cases == {True, False, "at zero"}


def test_closed_form_of_five_scores() -> None:
    for offset in (0.0, 0.05, WIDEST, 0.7):
        scores = np.repeat([0.0, offset], [2, 3])
        assert equal_pair_range(offset) == pytest.approx(pair_ranges(scores)[0, 1], abs=1e-12)
        assert equal_pair_range(offset) <= equal_pair_range(WIDEST)
    assert equal_pair_range(0.0) == 75 / 32
    assert equal_pair_range(WIDEST) == pytest.approx(2.3477957231, abs=1e-10)
    assert pair_ranges(FIVE).max() == pytest.approx(2.3477957231, abs=1e-10)
    assert pair_ranges(np.zeros(2)).max() == pytest.approx(2)
    assert pair_ranges(np.zeros(4)).max() == pytest.approx(7 / 3)


def spread_of(first: Array, second: Array) -> float:
    losses = np.log(law(first)) - np.log(law(second))
    return float(losses.max() - losses.min())


@settings(max_examples=100)
@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=7),
    st.lists(st.floats(-1, 1) | st.sampled_from([-1.0, 1.0]), min_size=7, max_size=7),
    st.floats(0.01, 3.0),
    st.floats(1.01, 40.0),
)
def test_neighbouring_choices_keep_the_range_and_its_price(
    scores: list[float], moves: list[float], sensitivity: float, order: float
) -> None:
    """Exact laws of a choice: range within Theorem B, Renyi divergence within the ledger; half of both one-sided."""
    first, move = np.array(scores), np.array(moves[: len(scores)])
    line = Selection("laplace", 1.0, sensitivity, 1)
    one, two = law(first), law(first + sensitivity * move)
    assert spread_of(first, first + sensitivity * move) <= RANGES["laplace"] * sensitivity + 1e-9
    divergence = logsumexp(order * np.log(one) + (1 - order) * np.log(two)) / (order - 1)
    assert divergence <= order * line.rho() + 1e-9
    one_way = spread_of(first, first + sensitivity * (1 + move) / 2)
    assert one_way <= RANGES["laplace"] / 2 * sensitivity + 1e-9


@pytest.mark.parametrize("sensitivity", [1e-3, 1e-2])
def test_no_smaller_range_than_the_lower_bound_is_charged(sensitivity: float) -> None:
    """The worst small move of the five scores; what is charged is more, by less than a twentieth."""
    slopes = choice_slopes(FIVE)
    move = sensitivity / 2 * np.sign(slopes[0] - slopes[1])
    found = spread_of(FIVE + move, FIVE - move)
    assert found == pytest.approx(2.3477957 * sensitivity, rel=1e-4)
    assert found < RANGES["laplace"] * sensitivity < 1.05 * found


@pytest.mark.parametrize("gap", [0.0, 0.15, 1.0, 4.0])
def test_the_raised_pair_is_chosen_as_quadrature_says(gap: float) -> None:
    def standing(place: float) -> float:
        density, tails = 0.5 * math.exp(-abs(place - gap)), []
        for apart in (place - gap, place):
            tails.append(0.5 * math.exp(-apart) if apart > 0 else 1 - 0.5 * math.exp(apart))
        return 2 * density * tails[0] * tails[1] ** 2

    found = sum(quad(standing, low, high, epsabs=1e-13)[0] for low, high in ((-60, 0), (0, gap), (gap, gap + 60)))
    assert exact.raised_pair(gap) == pytest.approx(found, abs=1e-12)
    probability, _ = choice_scores(np.array([gap, gap, 0.0, 0.0]), np.zeros(4))
    assert probability[:2].sum() == pytest.approx(found, abs=1e-12)
    assert probability.sum() == pytest.approx(1, abs=1e-12)


def test_theorem_5_4_is_violated_by_the_exact_loss() -> None:
    """The printed Laplace scale of Algorithm 4; at eps = 1 it takes a smaller delta."""
    for epsilon, rounds, lost in ((1, 100, 0.917), (3, 100, 3.034), (4, 100, 4.175), (8, 100, 9.292), (16, 100, 21.53),
                                  (4, 10**4, 4.269)):  # fmt: skip
        scale = exact.printed_scale(Budget(epsilon, DELTA), rounds)
        found = exact.wolfe_epsilon(scale, rounds, DELTA)
        assert found == pytest.approx(lost, abs=6e-3)
        assert found < Selection("laplace", scale, 1.0, rounds - 1).epsilon(DELTA)
    tiny = Budget(1.0, 1e-10)
    assert exact.wolfe_epsilon(exact.printed_scale(tiny, 10**4), 10**4, 1e-10) > 1.008
    assert exact.raised_pair(2 / exact.printed_scale(Budget(4.0, DELTA), 100)) == pytest.approx(0.455795, abs=1e-6)


def test_with_decreasing_steps_the_point_tells_less() -> None:
    """A few rounds against all sequences of choices; the numbers of the page."""
    probability, weights = exact.raised_pair(2 / 1.5), np.arange(2, 7)
    turns = np.array(list(itertools.product([0, 1], repeat=5)))
    laws = []
    for chance in (0.5, probability):
        masses = np.zeros(weights.sum() + 1)
        np.add.at(masses, turns @ weights, chance ** turns.sum(axis=1) * (1 - chance) ** (5 - turns.sum(axis=1)))
        laws.append(masses)
    assert exact.decreasing_epsilon(1.5, 6, 1e-3) == pytest.approx(table_epsilon(*laws, 1e-3), rel=1e-9)
    for epsilon, lost in ((4, 3.61), (8, 7.97), (16, 18.3)):
        found = exact.decreasing_epsilon(exact.printed_scale(Budget(epsilon, DELTA), 100), 100, DELTA)
        assert found == pytest.approx(lost, rel=2e-3)
        assert found < exact.wolfe_epsilon(exact.printed_scale(Budget(epsilon, DELTA), 100), 100, DELTA)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_the_printed_scale_fails_beyond_the_failing_epsilon(delta: float) -> None:
    edge = failing_epsilon(delta)
    for epsilon, fails in ((edge * 1.02, True), (edge * 0.98, False)):
        scale = exact.printed_scale(Budget(epsilon, delta), 10**6)
        assert (exact.wolfe_epsilon(scale, 10**6, delta) > epsilon) == fails


def test_scales_are_ordered_and_attain_what_they_say() -> None:
    for epsilon, rounds in itertools.product((0.5, 4.0), (10, 1000)):
        budget = Budget(epsilon, DELTA)
        refuted, proved = refuted_scale(budget, rounds), calibrate_selection("laplace", budget, 1.0, rounds - 1)
        assert exact.wolfe_epsilon(refuted, rounds, DELTA) == pytest.approx(epsilon, rel=1e-6)
        assert refuted < ranged_scale(budget, rounds, 2.35) <= proved
        assert proved <= purely_proved_scale(budget, rounds) * (1 + 2e-15)  # that keeps no last bits back
        line = Selection("laplace", proved, 1.0, rounds - 1)
        assert line.epsilon(DELTA) == pytest.approx(epsilon, rel=1e-6)


def test_the_printed_scale_is_proved_up_to_an_epsilon() -> None:
    edge = proved_epsilon(DELTA)
    assert edge == pytest.approx(0.388, abs=1e-3)
    assert edge < failing_epsilon(DELTA)

    def enough(epsilon: float, rounds: int) -> bool:
        budget = Budget(epsilon, DELTA)
        return calibrate_selection("laplace", budget, 1.0, rounds - 1) <= exact.printed_scale(budget, rounds)

    for share, rounds in itertools.product(np.geomspace(1e-3, 0.99, 12), (3, 40, 10**6)):
        assert enough(edge * float(share), rounds)
    assert not enough(1.01 * edge, 10**6)


def test_two_against_two_tell_most() -> None:
    """Fisher information 49/36 in units of (s / b)^2; neither other numbers, nor uneven scores, tell more."""

    def information(scores: Array, moves: Array) -> float:
        probability, slope = choice_scores(scores, moves)
        return float(probability @ np.square(slope))

    even = information(np.zeros(4), np.array([1.0, 1, -1, -1]))
    assert even == pytest.approx(INFORMATION, abs=1e-12)
    assert information(np.zeros(2), np.array([1.0, -1])) == pytest.approx(1, abs=1e-12)
    generator = np.random.default_rng(3)
    for count in (2, 3, 5, 12):
        for _ in range(20):
            scores, moves = generator.normal(size=count), generator.choice([-1.0, 1.0], size=count)
            assert information(scores * generator.choice([0, 0.2, 1]), moves) <= even + 1e-12


def test_slopes_of_a_choice_are_derivatives() -> None:
    scores, moves, small = np.array([0.3, -0.4, 0.0, 1.2]), np.array([1.0, -0.5, 0.25, -1.0]), 1e-5
    probability, slope = choice_scores(scores, moves)
    ahead, behind = (choice_scores(scores + sign * small * moves, moves)[0] for sign in (1, -1))
    assert slope == pytest.approx((np.log(ahead) - np.log(behind)) / (2 * small), abs=1e-7)
    assert probability @ slope == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "bend"), [(1.0, -3.65), (2.0, -2.0), (0.5, 1.0)])
def test_the_curved_loss_against_quadrature(epsilon: float, bend: float) -> None:
    """Densities of theta itself, integrated; units L / n = lambda / n = 1."""
    ridge, deviation = 2 / epsilon, exact.original_deviation(Budget(epsilon, DELTA))
    start = (1 - bend * deviation) / ridge

    def excess(theta: float) -> float:
        slope = min(max(theta - start - 1, -1), 1)
        curved = norm.pdf((slope + ridge * theta) / deviation) * (ridge + (0 < theta - start < 2))
        straight = norm.pdf((1 + ridge * theta) / deviation) * ridge
        return float(max(0.0, curved - math.exp(epsilon) * straight) / deviation)

    far = 12 * deviation / ridge
    ends = sorted({-far, *np.linspace(start - far, start + 2, 200), start, start + 2, start + far})
    found = sum(quad(excess, low, high, epsabs=1e-13)[0] for low, high in itertools.pairwise(ends))
    assert exact.curved_delta(epsilon, ridge, deviation, bend) == pytest.approx(found, rel=1e-3, abs=1e-10)


def test_objective_perturbation_loses_more_than_it_claims() -> None:
    budget = Budget(1.0, DELTA)
    original, printed = exact.original_deviation(budget), exact.printed_deviation(budget)
    assert exact.objective_epsilon(budget, original) == pytest.approx(1.0211, abs=2e-4)
    assert exact.objective_epsilon(budget, printed) == pytest.approx(1.857, abs=1e-3)
    assert exact.curved_delta(1.0, 2.0, original, -3.7) == pytest.approx(1.56e-6, rel=1e-2)
    for deviation in (original, printed):  # linear losses tell less
        assert exact.objective_epsilon(budget, deviation) > gaussian_epsilon(2 / deviation, DELTA)
    assert exact.objective_epsilon(Budget(4.0, DELTA), exact.original_deviation(Budget(4.0, DELTA))) < 4


def test_every_exact_loss_that_a_claim_names_is_known_and_refutes() -> None:
    found = exact.exact_losses()
    named = {claim.exact for paper in papers() for claim in load_claims(PAPERS / paper / "claims.yaml").claims} - {""}
    assert named == set(found)
    assert all(loss.refutes == loss.released for loss in found.values())
    assert not ExactLoss(1.0, 1.0, "nowhere").refutes
    assert not ExactLoss(1.0, 2.0, "inside", released=False).refutes


def test_a_claim_that_a_paper_prints_is_decided_by_what_is_released() -> None:
    """The loss of noise before a projection or an oracle bounds that of the points from above, and refutes nothing."""
    found = exact.exact_losses()
    for paper in papers():
        for claim in load_claims(PAPERS / paper / "claims.yaml").claims:
            assert not (claim.refutable and claim.exact) or found[claim.exact].released, claim.id


@pytest.mark.parametrize(
    ("event", "learner", "variant", "brought"),
    [
        (exact.leaves_the_end, WdpCocopGamma, "printed-noise", lambda points: (points[1:3] > 1 - 1e-9).all(axis=0)),
        (exact.goes_down, WdpCocolGamma, "paper", lambda points: (points[2] > 0) & (points[2] < points[1])),
    ],
)
def test_events_about_released_points_have_their_probability(event, learner, variant, brought) -> None:  # type: ignore[no-untyped-def]
    """The running learner on the two inputs: shares of 4000 runs, within five standard deviations."""
    budget, runs = Budget(2.0), 4000
    audited = AuditedLast(learner, variant, budget, Special(), (1,))
    assert audited.exact == pytest.approx(2.5)
    for turned, probability in zip((3, 0), event(budget), strict=True):
        losses = audited.played(audited._sides(turned))
        points = audited._points(audited.make(runs), losses, generators((turned,), runs))[..., 0]
        given = brought(points)
        assert given.mean() > 0.5
        share, counted = (points[3] < points[2] - 1e-9)[given].mean(), given.sum()
        assert share == pytest.approx(probability, abs=5 * math.sqrt(probability / counted))
    likely, rare = event(budget)
    assert math.log(likely / rare) == pytest.approx(2.5)


def test_pftal_with_two_rounds_loses_twice() -> None:
    """P(x_2 = -1, x_3 < 1), z_1 and z_2 Laplace of scale 1, from draws."""
    draws = np.random.default_rng(5).laplace(size=(2, 400_000))
    for side, probability in zip((-1.0, 1.0), exact.never_up(Budget(2.0)), strict=True):
        first = np.clip(-(exact.pull(side, 0.0) + draws[0]) / exact.MU, -1, 1)
        slopes = exact.pull(side, 0.0) + exact.pull(1.0, -1.0)
        second = np.clip((first - (slopes + draws[1]) / exact.MU) / 2, -1, 1)
        share = ((first == -1) & (second < 1)).mean()
        assert share == pytest.approx(probability, abs=5 * math.sqrt(probability / 400_000))


def tables(page: str) -> list[list[list[str]]]:
    """The cells of all tables of a page, without their heads."""
    paragraphs = (PROOFS / f"{page}.md").read_text(encoding="utf-8").split("\n\n")
    rows = [each.strip().splitlines()[2:] for each in paragraphs if each.startswith("|")]
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in table] for table in rows]


def test_the_page_says_what_the_printed_scale_loses() -> None:
    rows, _ = tables("frank_wolfe_privacy")
    assert len(rows) == 11
    for delta, claimed, *told in rows:
        budget = Budget(float(claimed), float(delta))
        lost = [
            exact.wolfe_epsilon(exact.printed_scale(budget, rounds), rounds, budget.delta)
            for rounds in (100, 10**4, MANY)
        ]
        lost.append(gaussian_epsilon(distance(budget), budget.delta))
        assert told == [f"**{each:.4g}**" if each > budget.epsilon else f"{each:.4g}" for each in lost]


def test_the_page_says_from_where_the_printed_scale_fails() -> None:
    _, ((_, *proved), (_, *fails)) = tables("frank_wolfe_privacy")
    deltas = (1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)
    assert proved == [f"{proved_epsilon(delta):.3g}" for delta in deltas]
    assert fails == [f"{failing_epsilon(delta):.3g}" for delta in deltas]


def test_the_page_says_what_a_range_costs() -> None:
    conjecture = equal_pair_range(WIDEST)
    ranges = (4.0, 3.0, RANGES["laplace"], conjecture, RANGES["gumbel"])
    _, rows = tables("noisy_min_range")
    for spread, (_, told, price, *scales) in zip(ranges, rows, strict=True):
        assert (told, price) == (f"{spread:.7g} s/b", f"{spread**2 / 8:.5f} (s/b)²")
        for epsilon, scale in zip((0.1, 1.0, 4.0, 16.0), scales, strict=True):
            budget = Budget(epsilon, DELTA)
            assert scale == f"{ranged_scale(budget, MANY, spread) / exact.printed_scale(budget, MANY):.3f}"


def test_audited_objective_perturbation_knows_its_exact_loss() -> None:
    for variant, lost in (("printed", 8.381), ("kst", 3.928), ("corrected", 3.332)):
        audited = AuditedRisk(ObjectivePerturbation, variant, Budget(4.0, DELTA), Special(), (1,))
        assert audited.exact == pytest.approx(lost, abs=1e-3)
        assert audited.exact < audited.accounted
