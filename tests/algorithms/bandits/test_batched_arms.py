"""K arms in batches: plays against the box in NumPy, the laws of arms and estimates, each step of the bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest
from drawn import generators
from scipy import stats

from dpregret.algorithms.bandits.base import BLOCK, BanditProblem, Given
from dpregret.algorithms.bandits.batched_arms import BatchedArms, draw_arm
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.noise import UnitNoise
from dpregret.core.losses import LossSource
from dpregret.datasets.bandit_streams import affine, make_bandit_stream
from dpregret.numerics.elementary import exp
from dpregret.numerics.random import Uniforms
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws

EPSILONS = (math.inf, 3.0, 1.0, 0.3, 0.07)


def make(epsilons: Sequence[float], horizon: int, size: int = 5, runs: int = 4, variant: str = "corrected") -> Any:
    problem = BanditProblem(make_set("simplex", size), horizon, 1.0, linear=True, arms=True)
    return BatchedArms(problem, [Budget(epsilon) for epsilon in epsilons], runs, variant)


def told(values: Any) -> LossSource:
    """Losses (rounds, K), the same for all runs."""
    table = np.asarray(values, dtype=float)
    rows = iter(range(len(table)))
    return lambda rounds: affine(np.array([list(islice(rows, rounds))]), table, np.zeros(len(table)), rounds)


def by_the_box(learner: Any, losses: LossSource, directions: Sequence[Any], noise: Sequence[Any]) -> list[np.ndarray]:
    """Total losses, clipped losses, S, arms and their chances after a play, with NumPy, round by round."""
    shape, everyone = (len(learner.budgets), learner.runs), np.arange(learner.runs)
    sums, arms = np.zeros((*shape, learner.size)), np.zeros(shape, dtype=np.int64)
    chances, heard, total, clipped = (np.zeros(shape) for _ in range(4))
    uniforms, laplace = Uniforms(directions), UnitNoise("laplace", noise, 1)
    for done in range(learner.horizon):
        if done % BLOCK == 0:
            coins, units = uniforms.draw(BLOCK), laplace(BLOCK)[..., 0].T
        now = done % BLOCK
        for setting in np.flatnonzero(done % learner.lengths == 0).tolist():
            least, mix = sums[setting].min(axis=-1, keepdims=True), learner.mixes[setting]
            weights = exp(-learner.etas[setting] * (sums[setting] - least))
            below = np.cumsum(weights, axis=-1)
            shares = (1 - mix) * (below / below[:, -1:]) + mix * (np.arange(1, learner.size + 1) / learner.size)
            drawn = np.minimum((shares <= coins[:, now, None]).sum(axis=-1), learner.size - 1)
            own = weights[everyone, drawn] / below[:, -1]
            arms[setting], chances[setting], heard[setting] = drawn, (1 - mix) * own + mix / learner.size, 0.0
        values = losses(1).value(np.eye(learner.size)[arms][:, :, None])[..., 0]
        kept = np.clip(values, 0.0, 1.0)
        total += values
        clipped += kept != values
        heard += kept
        for setting in np.flatnonzero((done + 1) % learner.lengths == 0).tolist():
            mean = heard[setting] / learner.lengths[setting] + learner.scales[setting] * units[:, now]
            sums[setting, everyone, arms[setting]] += mean / chances[setting]
    return [total, clipped / learner.horizon, sums, arms, chances]


@pytest.mark.parametrize(("variant", "ahead"), [("corrected", 7), ("every-round", 1), ("unmixed", BLOCK)])
def test_a_play_is_that_of_the_box(variant: str, ahead: int) -> None:
    """To the last bit, for batches that end anywhere, in pieces of any length; the last batch is short."""
    horizon, runs, stream = 623, 3, make_bandit_stream("arms", make_set("simplex", 5), gap=0.4)
    learner = make(EPSILONS, horizon, runs=runs, variant=variant)
    wanted = by_the_box(learner, stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2))
    learner.ahead = ahead
    record = learner.play(Given(stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2)))
    found = record.losses, record.clipped, learner.sums, learner.arms, learner.chances
    for compiled, defined in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(compiled, defined)
    assert (learner.sums != 0).any(axis=-1).all()


def test_losses_that_know_no_arm_are_refused() -> None:
    learner, cone = make([1.0], 9), make_bandit_stream("cone", make_set("simplex", 5))
    with pytest.raises(ValueError, match="batched-arms needs losses of a kind that has an arm_at"):
        learner.play(Given(cone.source(generators(4)), generators(4, 1), generators(4, 2)))


def test_arms_are_drawn_by_exponential_weights_with_exploration() -> None:
    runs = 40_000
    sums, work = np.array([4.0, -30.0, 0.0]), np.empty((2, 3))
    coins = np.random.default_rng(0).random(runs).tolist()
    drawn = [draw_arm(sums, 0.05, 0.2, coin, *work) for coin in coins]
    arms, chances = np.array([arm for arm, _ in drawn]), np.array([chance for _, chance in drawn])
    weights = np.exp(-0.05 * sums)
    wanted = 0.8 * weights / weights.sum() + 0.2 / 3
    np.testing.assert_allclose(chances, wanted[arms], rtol=1e-12)
    assert stats.chisquare(np.bincount(arms, minlength=3), runs * wanted).pvalue > 1e-6


def test_a_loss_enters_one_mean() -> None:
    """Estimates are without bias, and one loss, clipped to [0, 1], moves one of them by 1/(tau p)."""
    runs, means = 3000, np.array([0.2, 0.9])
    learner = make([0.4], 4, 2, runs)  # batches of three rounds, and a short one that is never learnt from
    learner.play(Given(told(np.tile(means, (4, 1))), generators(runs, 1), generators(runs, 2)))
    found = learner.sums[0]
    assert (np.abs(found.mean(axis=0) - means) < 5 * found.std(axis=0) / math.sqrt(runs)).all()
    ends = []
    for end in (-1e6, 1e6):
        losses = np.full((30, 2), 0.5)
        losses[7] = end
        learner = make([0.4], 30, 2, 1)
        learner.etas = np.zeros(1)
        record = learner.play(Given(told(losses), generators(1, 1), generators(1, 2)))
        assert record.clipped.tolist() == [[1 / 30]]
        ends.append(learner.sums[0, 0])
    assert sorted((ends[1] - ends[0]).tolist()) == pytest.approx([0.0, 1 / 3 / 0.5])
    assert learner.ledger()[0].sensitivity == pytest.approx(1 / 3)
    assert learner.delivered_epsilon() == [pytest.approx(0.4)]
    assert learner.pure


@pytest.mark.parametrize("epsilon", [2.0, 1.0, 0.3])
def test_every_step_of_the_proof_holds(epsilon: float) -> None:
    """E ln( sum of q exp(-eta estimate) ) <= -eta <q, m> + eta^2 c K/(1 - gamma), by quadrature over Laplace noise."""
    learner = make([epsilon], 4000, 4)
    constants = learner.etas, learner.mixes, learner.squares, learner.scales
    eta, mix, square, scale = (float(each[0]) for each in constants)
    generator = np.random.default_rng(5)
    grid = stats.laplace.ppf((np.arange(20_000) + 0.5) / 20_000, scale=scale)
    for sharp in (0.0, 1.0, 30.0):  # from even weights to all on one arm
        weights, losses = generator.standard_exponential(4) ** (1 + sharp), generator.random(4)
        q = weights / weights.sum()
        p = (1 - mix) * q + mix / 4
        steps = [np.log1p(q[arm] * np.expm1(-eta * (losses[arm] + grid) / p[arm])).mean() for arm in range(4)]
        assert p @ steps <= -eta * q @ losses + eta**2 * square * 4 / (1 - mix) + 1e-9
    assert eta * scale * 4 / mix < 1  # so that the exponential moment of the noise is finite


def test_the_bound_is_the_least_of_its_kind() -> None:
    """Over k and eta; without noise it is that of EXP3, sqrt(2 K T ln K)."""
    size, horizon = 6, 10**5
    learner = make(EPSILONS, horizon, size)
    found = learner.bound()
    assert found[0] == pytest.approx(math.sqrt(2 * size * horizon * math.log(size)))
    shares, etas = np.arange(1, 100)[:, None] / 100, np.geomspace(1e-5, 1e-2, 3000)[None]
    for bound, length, scale in zip(found[1:], learner.lengths[1:], learner.scales[1:], strict=True):
        batches = math.ceil(horizon / length)
        mix = etas * scale * size / shares
        tried = math.log(size) / etas + (etas * (0.5 + scale**2 / (1 - shares**2)) * size + mix) * batches
        assert bound <= length * tried[:, etas[0] > 0].min() * (1 + 1e-4)  # which leaves out the factor 1 - gamma
        assert bound <= 3.87 * length * math.sqrt(size * batches * math.log(size))
    assert np.isnan(make([0.3], horizon, size, variant="unmixed").bound()).all()
    assert make([1e-9], 50, size).bound() == [50.0]


def test_exploration_is_what_holds_the_noise() -> None:
    """At a fixed gap: without exploration above the bound of losses with the same second moment, with it below."""
    horizon, runs, regret = 2**15, 24, {}
    stream = make_bandit_stream("arms", make_set("simplex", 2), gap=0.5)
    for variant in ("corrected", "unmixed"):
        learner = make([0.25], horizon, 2, runs, variant)
        losses = learner.play(
            Given(stream.source(generators(runs, 3)), generators(runs, 1), generators(runs, 2))
        ).losses[0]
        regret[variant] = (losses - stream.comparator(generators(runs, 3), horizon).losses).mean()
    moment = 4 * 2 * math.sqrt(1.5 * 2 * horizon / 4 * math.log(2))
    assert regret["corrected"] < moment < regret["unmixed"]


def test_a_stream_that_is_aimed_makes_a_cell_an_epsilon() -> None:
    family: Any = FAMILIES["bandits"]
    settings = family.experiment.model_validate({
        "family": "bandits", "title": "t", "sweep": "none", "streams": ("hard-arms",), "set": "simplex", "runs": 3,
        "dimension": (4,), "horizon": (2048,), "epsilon": (math.inf, 0.25), "delta": 1e-6,
        "options": {"gap": 2.0}, "learners": {"batched-arms": ("corrected",)},
    })  # fmt: skip
    cells = list(family.cells(settings, BatchedArms.card))
    assert [cell.epsilon for cell in cells] == [math.inf, 0.25]
    gaps = []
    for cell in cells:
        problem = family.problem(cell, settings, Draws(1, 3))
        gaps.append(problem.stream.gap)
        learner = family.learner(BatchedArms, problem, cell, settings, "corrected")
        rows = family.play(learner, problem, cell, Draws(1, 3))
        assert rows["epsilon"].tolist() == [cell.epsilon] * 3
        assert (rows["trivial_regret"] > 0).all()
        assert (rows["regret"] <= rows["bound"]).all()
    assert gaps == pytest.approx([2 * math.sqrt(4 / 2048), 2 * math.sqrt(16 / 2048)])
