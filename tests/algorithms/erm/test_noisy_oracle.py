"""Mirror descent with a noisy gradient oracle: its noise, its number of steps, its guarantee."""

import math

import numpy as np
import pytest
from tiny_risks import NormKink, generators

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.noisy_oracle import NoisyOracle
from dpregret.algorithms.geometry import gaussian_width, make_set
from dpregret.algorithms.privacy import Budget

FREE = [Budget(math.inf)]


def learner(variant: str, samples: int, runs: int, dimension: int = 7) -> NoisyOracle:
    domain = make_set("l1-ball", dimension)
    return NoisyOracle(ErmProblem(domain, NormKink(domain.target(), samples)), FREE, runs, variant)


@pytest.mark.parametrize("variant", ["isotropic", "fading"])
def test_variances_fade_over_the_coordinates_from_the_same_largest_one(variant: str) -> None:
    drawn = learner(variant, 50, 40)._units(generators(40))
    noise = np.concatenate([drawn.take(200) for _ in range(20)]).reshape(-1, 7)
    expected = 1 / np.arange(1.0, 8) if variant == "fading" else np.ones(7)
    np.testing.assert_allclose(noise.var(axis=0), expected, rtol=6 * math.sqrt(2 / len(noise)))
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=6 / math.sqrt(len(noise)))


def test_a_step_a_record_and_no_privacy() -> None:
    oracle = learner("isotropic", 137, 2)
    assert oracle.iterations() == [137]
    assert oracle.ledger() == []
    assert oracle.delivered_epsilon() == [math.inf]
    assert not oracle.gaussian


@pytest.mark.parametrize("variant", ["isotropic", "fading"])
@pytest.mark.parametrize("samples", [45, 720])
def test_mean_excess_is_below_the_bound_of_the_corollary(variant: str, samples: int) -> None:
    oracle = learner(variant, samples, 60)
    excess = oracle.risk.value(oracle.fit(generators(60))[0])
    width, _ = gaussian_width(oracle.domain)
    second = 1 + oracle.SPREAD**2 * (width**2 + 1)
    assert oracle.bound()[0] == pytest.approx(2 * math.sqrt(math.log(14) * second / samples))
    assert excess.mean() + 4 * excess.std() / math.sqrt(60) < oracle.bound()[0]
